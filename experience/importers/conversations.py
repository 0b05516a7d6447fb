"""Conversations out of a file of chat messages, whichever interface they were made for.

A file holds one conversation, or many, as messages, as objects with messages, or as recorded requests with their
responses; each request repeats the conversation so far, so that the last of them tells all. OpenAI's and Anthropic's
formats are this with another way to be known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from experience.episode import Cost
from experience.importers.chat import is_item, is_message, turn_of
from experience.importers.documents import documents
from experience.importers.lenient import count, digest, fields, finite, items, known, moment, text, total
from experience.importers.session import COURSE_STEP, COURSE_TURNS, Session, Trouble
from experience.importers.source import Source
from experience.importers.turns import session_of
from experience.importers.verdicts import of_reward

_NAMES = ("id", "conversation_id", "session_id", "thread_id", "trajectory_id", "instance_id", "task_id", "trial")
"""Keys of an object whose values tell its conversation from others."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, and what stands around them."""

    messages: list[Any]
    around: dict[str, Any] = field(default_factory=dict)
    """The object that held them."""
    recorded: bool = False
    """Whether it was a request with its response."""
    reply: str = ""
    """The id of the first response, where it has one."""
    tokens: int | None = None

    @property
    def opening(self) -> list[str]:
        """What the conversation begins with, up to the first that the agent says or calls, as texts."""
        found: list[str] = []
        for message in self.messages:
            turn = turn_of(message)
            found += [turn.who, turn.text]
            for call in turn.calls:
                given = fields(call.arguments).items()
                plain = [f"{key}={value}" for key, value in given if isinstance(value, str | int | float)]
                found += [call.id, call.name, *plain[:20]]
            if turn.who == "agent":
                break
        return found

    def goes_on_from(self, earlier: "Conversation") -> bool:
        """Whether this repeats the earlier one and adds to it."""
        if len(self.messages) <= len(earlier.messages):
            return False
        return [_said(one) for one in earlier.messages[:-1]] == [
            _said(one) for one in self.messages[: len(earlier.messages) - 1]
        ]


def _said(message: Any) -> tuple[str, str]:
    """What a message says; a call is sent back with its arguments spaced otherwise."""
    turn = turn_of(message)
    return turn.who, turn.text


def sessions(source: Source) -> Iterator[Session | Trouble]:
    """Reads a file; a recorded request that goes on from the one before it is the same session."""
    waiting: Conversation | None = None
    loose: list[Any] = []
    for document in documents(source):
        if isinstance(document, Trouble):
            yield document
            continue
        if document.line is not None and is_message(document.value):
            loose.append(document.value)
            continue
        for found in _found_in(document.value):
            if isinstance(found, str):
                yield Trouble(document.line, found)
            elif waiting and found.recorded and waiting.recorded and found.goes_on_from(waiting):
                waiting = replace(found, reply=waiting.reply, tokens=total((waiting.tokens, found.tokens)))
            else:
                if waiting:
                    yield _session(waiting)
                waiting = found
    for last in (waiting, Conversation(loose) if loose else None):
        if last:
            yield _session(last)


def _found_in(value: Any) -> Iterator[Conversation | str]:
    """The conversations of a document, or why it holds none."""
    if isinstance(value, list) and value and all(map(is_item, value)):
        yield Conversation(value)
    elif isinstance(value, list):
        for one in value:
            yield from _found_in(one) if isinstance(one, dict) else ["an item that is no object, where messages belong"]
    elif not isinstance(value, dict):
        yield "no object and no list, where messages belong"
    elif isinstance(value.get("request"), dict):
        yield _recorded(value["request"], fields(value.get("response")), value)
    elif any(isinstance(value.get(key), list) for key in ("messages", "traj", "input", "output")):
        answered = fields(value.get("response")) or (value if {"choices", "output"} & value.keys() else {})
        yield _recorded(value, answered, value)
    else:
        yield "an object without messages"


def _recorded(request: dict[str, Any], response: dict[str, Any], around: dict[str, Any]) -> Conversation:
    given: Any = next((request[key] for key in ("messages", "traj", "input") if key in request), [])
    messages = given if isinstance(given, list) else [{"role": "user", "content": text(given)}]
    above = request.get("system") or request.get("instructions")
    answered = [{"role": "system", "content": above}] * bool(above) + messages + list(_replied(response))
    usage = fields(response.get("usage"))
    tokens = total(usage.get(key) for key in ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"))
    return Conversation(answered, {**request, **around}, "request" in around, text(response.get("id")), tokens)


def _replied(response: dict[str, Any]) -> Iterator[Any]:
    """The messages of a response: a choice's, a message by itself, or the items of an output."""
    if isinstance(response.get("choices"), list):
        yield from [fields(one).get("message") for one in response["choices"][:1]]
    elif isinstance(response.get("output"), list):
        yield from response["output"]
    elif isinstance(response.get("message"), dict):
        yield response["message"]
    elif response.get("role") == "assistant":
        yield response


def _session(conversation: Conversation) -> Session:
    around = conversation.around
    opening = [conversation.reply] if conversation.reply else conversation.opening
    names = [f"{key}={around[key]}" for key in _NAMES if isinstance(around.get(key), str | int)]
    turns = list(map(turn_of, conversation.messages))
    course = "".join(digest(turn.who, turn.text)[:COURSE_STEP] for turn in turns[:COURSE_TURNS])
    made = session_of(
        digest(*names, *opening),
        turns,
        finding=of_reward(around.get("reward")),
        started_at=moment(around.get("created_at")) or moment(around.get("timestamp")),
        cost=lambda steps: Cost(steps=steps, tokens=conversation.tokens),
        meta=known(
            model=text(around.get("model")),
            reward=finite(around.get("reward")),
            transcript_id=next(
                (str(around[key])[:200] for key in _NAMES if isinstance(around.get(key), str | int)), ""
            ),
            trial=count(around.get("trial")),
            course=course,
        ),
    )
    return made if items(conversation.messages) else replace(made, id=digest(*names, "empty"))
