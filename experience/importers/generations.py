"""What a span of a model says: the request, the reply, the calls, by each name the conventions have had for them.

Now in `gen_ai.input.messages` and `gen_ai.output.messages`; before in events of a message each; before that in the
attributes `gen_ai.prompt` and `gen_ai.completion`, as JSON or numbered.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from experience.importers.chat import turn_of
from experience.importers.lenient import fields, items, parsed
from experience.importers.naming import says_it_failed
from experience.importers.spans import Event, Span
from experience.importers.turns import Answer, Called

_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(.{1,100})")
_NUMBERED_CALL = re.compile(r"tool_calls\.(\d{1,6})\.(id|name|arguments)")


class Told(NamedTuple):
    """What is held of what a span says."""

    asked: str = ""
    """The first message of a user."""
    said: str = ""
    calls: tuple[Called, ...] = ()
    answers: tuple[Answer, ...] = ()
    """Those of tools in the request, without their texts."""

    def with_more(self, more: "Told") -> "Told":
        """The same, with what it lacks out of another."""
        return Told(self.asked or more.asked, self.said or more.said, self.calls or more.calls,
                    (*self.answers, *more.answers))  # fmt: skip


def told_by(span: Span) -> Told:
    """What a span says in its attributes and events."""
    told = _of_attributes(span.attributes)
    for event in span.events:
        told = told.with_more(_of_attributes({**fields(event.body), **event.attributes}))
    inputs, outputs = [], []
    for event in span.events:
        if event.name == "gen_ai.choice":
            outputs.append(_message(event, "assistant"))
        elif event.name.startswith("gen_ai.") and event.name.endswith(".message"):
            inputs.append(_message(event, event.name.split(".")[1]))
    return told.with_more(_told(inputs, outputs))


def _of_attributes(has: dict[str, Any]) -> Told:
    inputs = _list(has.get("gen_ai.input.messages")) or _list(has.get("gen_ai.prompt"))
    outputs = _list(has.get("gen_ai.output.messages")) or _list(has.get("gen_ai.completion"))
    numbered = {"prompt": inputs, "completion": outputs}
    if not (inputs or outputs) and any(key.startswith(("gen_ai.prompt.", "gen_ai.completion.")) for key in has):
        for kind, message in _numbered(has):
            numbered[kind].append(message)
    return _told(inputs, [{"role": "assistant", **fields(one)} for one in outputs])


def _list(value: Any) -> list[Any]:
    """Messages out of a JSON text or as they are; a plain text is what a user said."""
    found = parsed(value)
    if isinstance(value, str) and not isinstance(found, list | dict):
        return [{"role": "user", "content": value}] if value.strip() else []
    return list(found) if isinstance(found, list) else [found] if isinstance(found, dict) else []


def _numbered(has: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages of attributes such as `gen_ai.prompt.0.content`, in the order of their numbers."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for key, value in has.items():
        if not (part := _NUMBERED.fullmatch(key)):
            continue
        message = found.setdefault((part[1], int(part[2])), {})
        if call := _NUMBERED_CALL.fullmatch(part[3]):
            message.setdefault("numbered", {}).setdefault(int(call[1]), {})[call[2]] = value
        else:
            message[part[3]] = value
    for (kind, _), message in sorted(found.items(), key=lambda one: one[0]):
        calls = message.pop("numbered", {})
        yield kind, {**message, "tool_calls": [calls[number] for number in sorted(calls)]}


def _message(event: Event, role: str) -> dict[str, Any]:
    """The message that an event carries: in its body, in JSON under one attribute, or in attributes of their own."""
    has = {
        **event.attributes,
        **fields(parsed(event.attributes.get("gen_ai.event.content"))),
        **fields(parsed(event.body)),
    }
    inner = fields(parsed(has.get("message")))
    message = {"role": role, **has, **inner}
    if isinstance(message["role"], str) and message["role"] not in (role, "assistant", "user", "tool", "system"):
        message["role"] = role
    message["tool_calls"] = items(parsed(message.get("tool_calls")))
    if role == "tool" and isinstance(message.get("id"), str):
        message.setdefault("tool_call_id", message["id"])
    return message


def _told(inputs: list[Any], outputs: list[Any]) -> Told:
    asked, answers = "", []
    for turn in map(turn_of, inputs):
        if turn.who == "user" and turn.text.strip():
            asked = asked or turn.text
        answers += [
            Answer(one.call, "", False if one.worked is False or says_it_failed(one.text) else one.worked)
            for one in turn.answers
        ]
    replies = [turn for turn in map(turn_of, outputs[:1]) if turn.who == "agent"]
    said = "\n".join(turn.text for turn in replies if turn.text)
    return Told(asked, said, tuple(call for turn in replies for call in turn.calls), tuple(answers))
