"""Sessions that Claude Code has written: one line an event, in files of one session or, where one was resumed, of several.

What a line is, its `type` and its marks say. A sub-agent whose lines name it (`agentId`) is a session of its own, under its
parent's name; one whose lines are only marked as a side chain is a part of its parent's, which called it and has its answer.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from experience.importers.draft import NO_ANSWER, Draft, LastNames
from experience.importers.lenient import text as word
from experience.importers.lenient import words
from experience.importers.naming import says_it_failed
from experience.importers.session import Format, Leftover, Session, SkillUse, Trouble
from experience.importers.source import Source
from experience.importers.wrappers import begins_with, element, without

TWICE = "said twice: the same line again"
CLOSED = "of a session that was closed to make room for others"
SIDE_CHAIN = "side chain: a sub-agent's own turns"

_SPOKEN = {"user", "assistant"}
_TYPES = {*_SPOKEN, "system", "attachment", "progress", "summary"}
_NOTES = {
    "summary": "summary of a session, for a list",
    "file-history-snapshot": "snapshot of files",
    "queue-operation": "queue of requests",
    "progress": "progress of a tool",
    "last-prompt": "note for the program's own lists",
    "custom-title": "note for the program's own lists",
    "ai-title": "note for the program's own lists",
    "agent-name": "note for the program's own lists",
    "pr-link": "note for the program's own lists",
    "permission-mode": "note for the program's own lists",
    "mode": "note for the program's own lists",
}
_INJECTED = (
    "system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "user-prompt-submit-hook",
    "task-notification", "teammate-message", "local-command-caveat", "session-start-hook",
)  # fmt: skip
_LOCAL = (
    "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr",
    "user-memory-input",
)  # fmt: skip
_BUILT_IN = set(
    "add-dir agents allowed-tools bashes bug clear color compact config context continue cost doctor effort exit export"
    " extra-usage fast feedback fork help hooks ide install-github-app keybindings login logout mcp memory model"
    " output-style permissions plan plugin plugins privacy-settings quit release-notes reload-plugins rename resume rewind"
    " sandbox skills stats status statusline tasks terminal-setup theme todos upgrade usage vim".split()
)
"""Commands to the program itself, which ask the agent for nothing."""
_INTERRUPTED = "[Request interrupted by user"
_CONTINUED = "This session is being continued from a previous conversation"
_HANDED_OVER = "Base directory for this skill: "
_AT_ONCE = 500  # sessions of one file that are open at a time


def _recognises(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    if isinstance(value.get("sessionId"), str):
        return kind in _TYPES or kind in _NOTES
    return (kind == "summary" and "leafUuid" in value) or (kind == "file-history-snapshot" and "messageId" in value)


def _sessions(source: Source) -> Iterator[Session | Trouble | Leftover]:
    reader = _Reader()
    for item in source.objects():
        if isinstance(item, Trouble):
            yield item
        else:
            yield from reader.take(item[1])
    yield from reader.rest()


FORMAT = Format("claude_code", "Claude Code session", _recognises, _sessions)


class _Reader:
    """The sessions of one file, as its lines come."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Draft] = OrderedDict()
        self._last: Draft | None = None
        self._early: Counter[str] = Counter()
        self._lines = LastNames()
        self._closed = LastNames()

    def take(self, line: dict[str, Any]) -> Iterator[Session | Leftover]:
        """One line; what comes out are sessions that have to be closed to make room."""
        session = line.get("sessionId")
        if not isinstance(session, str) or not session.strip():
            reason = _noted(line)
            if self._last is None:
                self._early[reason] += 1
            else:
                self._last.drop(reason)
            return
        agent = line.get("agentId")
        own = isinstance(agent, str) and bool(agent) and line.get("isSidechain") is True
        name = f"{session}/{agent}" if own else session
        if name in self._closed:
            yield Leftover({CLOSED: 1})
            return
        draft = self._last = self._draft(name, session if own else None)
        if not self._lines.add(line.get("uuid")):
            draft.drop(TWICE)
        elif line.get("isSidechain") is True and not own:
            draft.drop(SIDE_CHAIN)
        else:
            _take(draft, line)
        if len(self._open) > _AT_ONCE:
            closed, oldest = self._open.popitem(last=False)
            self._closed.add(closed)
            yield oldest.finished()

    def rest(self) -> Iterator[Session | Leftover]:
        """The sessions that are open still."""
        for draft in self._open.values():
            yield draft.finished()
        if self._early:
            yield Leftover(dict(self._early))

    def _draft(self, id: str, parent: str | None) -> Draft:
        if (draft := self._open.get(id)) is None:
            draft = self._open[id] = Draft(id, agent="claude-code", **({"parent": parent} if parent else {}))
            for reason, turns in self._early.items():
                draft.drop(reason, turns)
            self._early.clear()
        else:
            self._open.move_to_end(id)
        return draft


def _noted(line: Mapping[str, Any]) -> str:
    kind = word(line.get("type"))
    return _NOTES.get(kind) or f"unknown kind of line: {kind[:40]}"


def _take(draft: Draft, line: dict[str, Any]) -> None:
    kind, message = word(line.get("type")), line.get("message")
    draft.began(line.get("timestamp"))
    if kind in _SPOKEN and isinstance(message, dict):
        if "cwd" not in draft.meta:
            draft.note(cwd=line.get("cwd"), version=line.get("version"), branch=line.get("gitBranch"))
        if kind == "user":
            _take_user(draft, line, message)
        else:
            _take_assistant(draft, line, message)
    elif kind == "attachment":
        _take_attachment(draft, line)
    elif kind == "system":
        compacted = word(line.get("subtype")) in {"compact_boundary", "microcompact_boundary"}
        draft.drop("boundary of a compaction" if compacted else "note of the program (system)")
    elif kind in _NOTES:
        draft.drop(_NOTES[kind])
    else:
        draft.drop_unknown(kind)


def _take_assistant(draft: Draft, line: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    model, id = message.get("model"), message.get("id")
    if line.get("isApiErrorMessage") is True or model == "<synthetic>":
        draft.drop("message of the program in the agent's place")
        return
    draft.note(model=model)
    name = id if isinstance(id, str) else str(line.get("uuid"))
    draft.spent(name, _tokens(message.get("usage")))
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    told, thought = False, False
    for block in content if isinstance(content, list) else ():
        kind = word(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text" and isinstance(block.get("text"), str):
            draft.say(block["text"], name)
            told = True
        elif kind.endswith("tool_use") and isinstance(block.get("name"), str):
            draft.call(block.get("id") if isinstance(block.get("id"), str) else None, block["name"], block.get("input"))
            told = True
        elif kind.endswith("tool_result"):
            told = draft.answer(block.get("tool_use_id"), _worked(block)) or told
        else:
            thought = True
    if told:
        draft.keep()
    else:
        draft.drop("thinking" if thought else "message without content")


def _take_user(draft: Draft, line: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    if results := [block for block in blocks if block.get("type") == "tool_result"]:
        answered = [draft.answer(block.get("tool_use_id"), _worked(block)) for block in results]
        if any(answered):
            draft.keep()
        else:
            draft.drop(NO_ANSWER)
        return
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if line.get("isMeta") is True:
        if skill := _skill_in("\n".join(texts)):
            draft.skill(skill)
        draft.drop("injected by the program (meta)")
        return
    if line.get("isCompactSummary") is True:
        draft.drop("summary of a compaction")
        return
    request, reason = _request("\n".join(texts))
    if not request and any(word(block.get("type")) in {"image", "document"} for block in blocks):
        draft.drop("picture or document without words")
    elif not request:
        draft.drop(reason)
    else:
        _ask(draft, request, line)


def _take_attachment(draft: Draft, line: Mapping[str, Any]) -> None:
    attached = line.get("attachment")
    if (
        isinstance(attached, dict)
        and attached.get("type") == "queued_command"
        and isinstance(attached.get("prompt"), str)
    ):
        request, reason = _request(attached["prompt"])
        if request and attached.get("commandMode", "prompt") == "prompt":
            _ask(draft, request, line)
            return
        draft.drop(reason if not request else "injected by the program (attachment)")
        return
    draft.drop("injected by the program (attachment)")


def _ask(draft: Draft, request: str, line: Mapping[str, Any]) -> None:
    parent = line.get("parentUuid")
    key = parent if isinstance(parent, str) and line.get("type") == "user" else None
    if key is not None:
        draft.take_back_to(key)
    draft.ask(request, key)
    draft.keep()


def _request(text: str) -> tuple[str, str]:
    """What a person asked in a text, or else why it is nothing of that."""
    text = text.strip()
    if begins_with(text, _LOCAL):
        return "", "local command, or what it printed"
    if text.startswith(_INTERRUPTED):
        return "", "interruption"
    if text.startswith(_CONTINUED):
        return "", "summary of a compaction"
    if begins_with(text, ("command-name", "command-message", "command-args")):
        name = (element(text, "command-name") or "").removeprefix("/")
        if not name or name in _BUILT_IN:
            return "", "command to the program itself"
        return f"/{name} {element(text, 'command-args') or ''}".strip(), ""
    return without(text, _INJECTED), "injected by the program (wrapped)" if text else "message without content"


def _skill_in(text: str) -> SkillUse | None:
    """A skill whose text the program handed to the agent, whoever called for it."""
    if not text.startswith(_HANDED_OVER):
        return None
    folder = text[len(_HANDED_OVER) :].split("\n", 1)[0].strip()
    name = folder.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return SkillUse(name, f"handed over: {folder}/SKILL.md") if name else None


def _worked(result: Mapping[str, Any]) -> bool | None:
    """Whether a call worked, by its own mark; without one, an answer that begins as only a failure does says that it failed."""
    error = result.get("is_error")
    if isinstance(error, bool):
        return not error
    return False if says_it_failed(words(result.get("content"))) else None


def _tokens(usage: object) -> int:
    if not isinstance(usage, dict):
        return 0
    parts = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(value for part in parts if type(value := usage.get(part)) is int and value > 0)
