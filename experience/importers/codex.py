"""Sessions that Codex has written: a rollout file is one session, an item a line, in its newer and its older shape.

The newer wraps each item (`type`, `payload`) and says what people and the agent said twice, as an item and as an event for
its screen. A command has failed where the call's own report says so (see `_worked`); what a program prints is not read.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from experience.importers.draft import NO_ANSWER, Draft
from experience.importers.lenient import text as word
from experience.importers.naming import says_it_failed
from experience.importers.session import Format, Leftover, Session, SkillUse, Trouble
from experience.importers.source import Source
from experience.importers.wrappers import begins_with, element

TWICE = "said twice: as an item and as an event"
HEADER = "header of the session"

_WRAPPED = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_BARE = {"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call"}
_INJECTED = (
    "environment_context", "user_instructions", "INSTRUCTIONS", "user_shell_command", "turn_aborted", "skill",
    "permissions instructions", "collaboration_mode", "apps_instructions", "skills_instructions", "subagent_notification",
    "model_switch", "personality_spec", "user_action",
)  # fmt: skip
_INJECTED_STARTS = ("# AGENTS.md instructions", "# Codex desktop context")
_FROM_EDITOR = "## My request for Codex:"
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,9})\s*$", re.MULTILINE)
_REPORT = 2_000  # characters of an answer in which the report stands, before what the program printed


def _recognises(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = word(value.get("type"))
    if isinstance(value.get("payload"), dict):
        return kind in _WRAPPED
    if "type" not in value:
        return value.get("record_type") == "state" or (
            isinstance(value.get("id"), str) and "timestamp" in value and ("instructions" in value or "git" in value)
        )
    content = value.get("content")
    if kind == "message":
        parts = content if isinstance(content, list) else []
        return any(isinstance(part, dict) and part.get("type") in {"input_text", "output_text"} for part in parts)
    return kind in _BARE and ("call_id" in value or (kind == "reasoning" and "summary" in value))


def _sessions(source: Source) -> Iterator[Session | Trouble | Leftover]:
    reader = _Reader()
    for item in source.objects():
        if isinstance(item, Trouble):
            yield item
        else:
            reader.take(item[1])
    if reader.lines:
        yield reader.draft.finished()


FORMAT = Format("codex", "Codex rollout", _recognises, _sessions)


class _Reader:
    """The session of one file, as its lines come."""

    def __init__(self) -> None:
        self.draft = Draft("", agent="codex")
        self.lines = 0
        self._named = False
        self._last: dict[str, tuple[str, bool]] = {}
        """What each side said last, and whether an event said it; blank once it was said the other way too."""

    def take(self, line: dict[str, Any]) -> None:
        """One line."""
        self.lines += 1
        if self.lines == 1:  # the name of a file that gives none itself: how it begins does not change as it grows
            self.draft.id = hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()[:32]
        self.draft.began(line.get("timestamp"))
        kind, payload = word(line.get("type")), line.get("payload")
        if not isinstance(payload, dict):
            self._take_bare(line)
        elif kind == "session_meta":
            self._take_header(payload)
        elif kind == "response_item":
            self._take_item(payload)
        elif kind == "event_msg":
            self._take_event(payload)
        elif kind == "turn_context":
            self.draft.note(model=payload.get("model"), cwd=payload.get("cwd"))
            self.draft.drop("context of a turn")
        elif kind == "compacted":
            self.draft.drop("compaction")
        else:
            self.draft.drop_unknown(line.get("type"))

    def _take_bare(self, line: dict[str, Any]) -> None:
        if "type" in line:
            self._take_item(line)
        elif isinstance(line.get("id"), str):
            self._take_header(line)
        else:
            self.draft.drop("state of the program")

    def _take_header(self, header: Mapping[str, Any]) -> None:
        id, source = header.get("id"), header.get("source")
        if self._named or not isinstance(id, str) or not id.strip():
            self.draft.drop("header of another session, which this one was begun from" if self._named else HEADER)
            return
        self._named = True
        self.draft.id = id
        git = header.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        self.draft.note(cwd=header.get("cwd"), version=header.get("cli_version"), branch=branch)
        self.draft.note(parent=_parent(source), forked_from=header.get("forked_from_id"))
        self.draft.began(header.get("timestamp"))
        self.draft.drop(HEADER)

    def _take_item(self, item: Mapping[str, Any]) -> None:
        kind = word(item.get("type"))
        if kind == "message":
            self._take_message(item)
        elif kind == "reasoning":
            self.draft.drop("thinking")
        elif kind.endswith("_call"):
            self._take_call(kind, item)
        elif kind.endswith("_output"):
            if self.draft.answer(item.get("call_id"), _worked(item.get("output"))):
                self.draft.keep()
            else:
                self.draft.drop(NO_ANSWER)
        else:
            self.draft.drop_unknown(f"item {kind}")

    def _take_call(self, kind: str, item: Mapping[str, Any]) -> None:
        name = item.get("name")
        given = item.get("arguments") if "arguments" in item else item.get("input", item.get("action"))
        id = item.get("call_id") or item.get("id")
        self.draft.call(
            id if isinstance(id, str) else None,
            name if isinstance(name, str) and name.strip() else kind.removesuffix("_call"),
            _arguments(given),
            False if item.get("status") == "failed" else None,
        )
        self.draft.steps += 1
        self.draft.keep()

    def _take_message(self, item: Mapping[str, Any]) -> None:
        role = word(item.get("role"))
        if role in {"developer", "system"}:
            self.draft.drop("instructions")
        elif role == "assistant":
            self._said("\n".join(_texts(item.get("content"))), by_event=False)
        else:
            self._asked(_texts(item.get("content")), by_event=False)

    def _take_event(self, event: Mapping[str, Any]) -> None:
        kind, message = word(event.get("type")), event.get("message")
        if kind == "user_message" and isinstance(message, str):
            self._asked([message], by_event=True)
        elif kind == "agent_message" and isinstance(message, str):
            self._said(message, by_event=True)
        elif kind == "thread_rolled_back" and type(event.get("num_turns")) is int:
            self.draft.take_back(event["num_turns"])
            self.draft.drop("conversation taken back")
        elif kind == "token_count":
            self.draft.tokens = _tokens(event.get("info")) or self.draft.tokens
            self.draft.drop("count of tokens")
        elif kind in {"agent_reasoning", "agent_reasoning_raw_content"}:
            self.draft.drop("thinking")
        else:
            self.draft.drop(f"event for the screen: {kind[:40]}")

    def _said(self, text: str, *, by_event: bool) -> None:
        if not text.strip():
            self.draft.drop("message without content")
        elif self._is_told("assistant", text, by_event=by_event):
            self.draft.drop(TWICE)
        else:
            self.draft.say(text)
            self.draft.keep()

    def _asked(self, texts: list[str], *, by_event: bool) -> None:
        for text in texts:
            if (skill := _skill_in(text)) is not None:
                self.draft.skill(skill)
        request = "\n".join(_of_editor(text) for text in texts if not _is_injected(text)).strip()
        if not request:
            self.draft.drop(
                "injected by the program" if any(text.strip() for text in texts) else "message without content"
            )
        elif self._is_told("user", request, by_event=by_event):
            self.draft.drop(TWICE)
        else:
            self.draft.ask(request)
            self.draft.keep()

    def _is_told(self, side: str, text: str, *, by_event: bool) -> bool:
        """Whether the same was said the other way just before."""
        text = text.strip()
        last, as_event = self._last.get(side, ("", by_event))
        twice = last == text and as_event != by_event
        self._last[side] = ("" if twice else text, by_event)
        return twice


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _is_injected(text: str) -> bool:
    return begins_with(text, _INJECTED) or text.lstrip().startswith(_INJECTED_STARTS)


def _of_editor(text: str) -> str:
    """The request in a text to which an editor has put its context."""
    return text.rpartition(_FROM_EDITOR)[2].strip() if _FROM_EDITOR in text else text


def _skill_in(text: str) -> SkillUse | None:
    """A skill whose text was handed to the agent because it was asked for by name."""
    if not begins_with(text, ("skill",)):
        return None
    name = element(text, "name")
    return SkillUse(name, f"handed over with the request: {element(text, 'path') or name}") if name else None


def _arguments(given: object) -> object:
    if not isinstance(given, str) or not given.startswith("{"):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _worked(output: object) -> bool | None:
    """Whether a call worked by its own report.

    That is `success`, or the exit code: `metadata.exit_code` or `exit_code` where the answer is a JSON object, else a line
    "Exit code: N" or "Process exited with code N" before "Output:". Without any of them an answer that begins as only a
    failure does says that it failed, and anything else says nothing.
    """
    if isinstance(output, dict):
        success = output.get("success")
        return success if isinstance(success, bool) else _worked(output.get("content"))
    if isinstance(output, list):
        texts = _texts(output)
        return _worked(texts[0]) if texts else None
    if not isinstance(output, str):
        return None
    if output.startswith("{") and '"exit_code"' in output:
        data = _arguments(output)
        inner = data.get("metadata", data) if isinstance(data, dict) else None
        code = inner.get("exit_code") if isinstance(inner, dict) else None
        return code == 0 if type(code) is int else None
    if found := _EXIT.search(f"\n{output[:_REPORT]}".partition("\nOutput:")[0]):
        return int(found[1]) == 0
    return False if says_it_failed(output) else None


def _parent(source: object) -> object:
    """The thread that has begun this one as its sub-agent."""
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if isinstance(source, dict) else None
    return source.get("parent_thread_id") if isinstance(source, dict) else None


def _tokens(info: object) -> int:
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    tokens = total.get("total_tokens") if isinstance(total, dict) else None
    return tokens if type(tokens) is int and tokens > 0 else 0
