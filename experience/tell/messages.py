"""Messages of a chat, as providers' interfaces take them, in and out without loss.

Of a list of messages only what an exchange is made of is read: what assistants said, and what tools answered. It is
put back in its place, and everything else, known or unknown, stays the very object it was. It sends nothing and knows
no model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from experience.errors import InvalidInput, shown
from experience.tell.blocks import (
    Block,
    Exchange,
    Image,
    RedactedThinking,
    Said,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    texts_of,
)
from experience.tell.budget import Count
from experience.tell.shorten import size_of

JsonPath = tuple[str | int, ...]
"""Where something stands: keys and indexes, from the outside in."""

_NEEDED = 'a list of {"role": ..., "content": ...}, or an object with such a list under "messages"'
_CARRIED: dict[Any, type[Thinking | RedactedThinking | ToolUse | Image]] = {
    "thinking": Thinking,
    "redacted_thinking": RedactedThinking,
    "tool_use": ToolUse,
    "image": Image,
    "image_url": Image,
}


class Placed(NamedTuple):
    """A block of an exchange and the place of its text in the messages; None where it has none to put back."""

    block: Block
    text_at: JsonPath | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages and what of them can be compacted; make one with `Conversation.of`.

    It holds the messages it was given, not a copy, and never changes them.
    """

    data: Any
    """The messages, in the shape in which they came."""
    placed: tuple[Placed, ...]
    """Their blocks in order, without those of calls that are not all answered yet."""
    held: tuple[Placed, ...]
    """The blocks of the messages from the first such call on, which are left alone."""
    waiting: int
    """How many messages these are; they stand at the end."""

    @classmethod
    def of(cls, data: Any) -> "Conversation":
        """Read messages: of either interface, in a list or in an object under `messages`.

        Calls of the last turn of an assistant that are not all answered yet are left alone, and what was answered of
        them: a wave is compacted when it has landed. Calls of an earlier turn never will be answered. Raises
        InvalidInput for what is no list of messages, and for a message that breaks the form.
        """
        messages, at = _messages_of(data)
        placed: list[Placed] = []
        wave = _Wave()
        starts: list[int] = []
        for number, message in enumerate(messages):
            starts.append(len(placed))
            blocks = list(_blocks(message, number, (*at, number)))
            wave.see(number, message, [one.block for one in blocks])
            placed += blocks
        landed = len(messages) if wave.begun is None else wave.begun
        upto = len(placed) if wave.begun is None else starts[wave.begun]
        return cls(data, tuple(placed[:upto]), tuple(placed[upto:]), len(messages) - landed)

    def waiting_cost(self, count: Count = size_of) -> int:
        """What the texts cost that are left alone because calls wait, in bytes or as counted."""
        held = [one.block for one in self.held if one.text_at is not None]
        texts = [
            block.text if isinstance(block, Text) else block.content
            for block in held
            if isinstance(block, Text | ToolResult)
        ]
        return sum(count(text) for text in texts if text)

    def exchange(self) -> Exchange:
        """All that assistants said and tools answered, as one exchange."""
        said: list[Said] = []
        results: list[ToolResult] = []
        for block, _ in self.placed:
            if isinstance(block, ToolResult):
                results.append(block)
            else:
                said.append(block)
        return Exchange(tuple(said), tuple(results))

    def with_exchange(self, exchange: Exchange) -> Any:
        """The messages with the texts of this exchange, in the shape in which they came.

        What did not change is shared with the messages that came in. Raises InvalidInput when the exchange has not the
        blocks of `exchange()`, in texts only different.
        """
        mine = self.exchange()
        if _shape(exchange) != _shape(mine):
            raise InvalidInput("the exchange has other blocks than these messages; compact the one they gave")
        ordered = [one for one in self.placed if not isinstance(one.block, ToolResult)]
        ordered += [one for one in self.placed if isinstance(one.block, ToolResult)]
        edits: dict[str | int, Any] = {}
        for (_, path), then, now in zip(ordered, texts_of(mine), texts_of(exchange), strict=True):
            if now == then:
                continue
            if path is None:
                raise InvalidInput("a result without text got one; compact the exchange that these messages gave")
            inner = edits
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = now
        return _edited(self.data, edits)


class _Wave:
    """Which calls of the last turn wait for their results, read message by message.

    Messages of an assistant that follow each other are one turn. The next turn ends the wave, as does what a person
    says, or what an assistant says without a call: calls that were not answered by then never will be.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[str | None, int]] = []
        self._answered = False
        """Whether something came after what the assistant said last."""

    @property
    def begun(self) -> int | None:
        """The first message that waits for a result."""
        return min((number for _, number in self._waiting), default=None)

    def see(self, number: int, message: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        calls = [block.id for block in blocks if isinstance(block, ToolUse)]
        answers = _answers(message, blocks)
        says = not calls and not answers and message["role"] in ("user", "assistant")
        if says or (message["role"] == "assistant" and self._answered):
            self._waiting.clear()
        self._answered = message["role"] != "assistant"
        self._waiting += [(call, number) for call in calls]
        for answer in answers:
            found = next((one for one in self._waiting if one[0] == answer), None)
            if found is not None:
                self._waiting.remove(found)


def _answers(message: Mapping[str, Any], blocks: Iterable[Block]) -> list[str | None]:
    """Which calls a message answers, each once."""
    if message["role"] == "tool":
        return [_id(message.get("tool_call_id"))]
    found = dict.fromkeys(block.tool_use_id for block in blocks if isinstance(block, ToolResult))
    return list(found)


def _messages_of(data: Any) -> tuple[Sequence[Mapping[str, Any]], JsonPath]:
    at: JsonPath = ()
    if isinstance(data, dict) and "messages" in data:
        data, at = data["messages"], ("messages",)
    if not isinstance(data, list):
        raise InvalidInput(f"these are no messages: got {_kind(data)}; give {_NEEDED}")
    if not data:
        raise InvalidInput(f"there are no messages in the list; give {_NEEDED}")
    if all(isinstance(one, dict) and {"request", "response"} <= one.keys() for one in data):
        raise InvalidInput(
            "these are recorded requests with their responses; give the messages of the last request, its .request"
        )
    for number, message in enumerate(data):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InvalidInput(f"message {number} has no role: got {_kind(message)}; give {_NEEDED}")
        if not isinstance(message.get("content"), str | list | None):
            raise InvalidInput(
                f"the content of message {number} is {_kind(message['content'])}; it is to be text, null or a list"
            )
    return data, at


def _blocks(message: Mapping[str, Any], number: int, at: JsonPath) -> Iterator[Placed]:
    role, content = message["role"], message.get("content")
    if role == "assistant":
        yield from _said(content, (*at, "content"))
        yield from _calls(message.get("tool_calls"), number)
    elif role == "tool":
        yield from _answered(_id(message.get("tool_call_id")), content, False, (*at, "content"))
    elif role == "user" and isinstance(content, list):
        for index, part in enumerate(content):
            if _type(part) == "tool_result":
                here = (*at, "content", index, "content")
                yield from _answered(
                    _id(part.get("tool_use_id")), part.get("content"), part.get("is_error") is True, here
                )


def _said(content: Any, at: JsonPath) -> Iterator[Placed]:
    if isinstance(content, str):
        yield Placed(Text(content), at)
    for index, part in enumerate(content if isinstance(content, list) else ()):
        kind = _type(part)
        if kind == "text" and isinstance(part.get("text"), str):
            yield Placed(Text(part["text"]), (*at, index, "text"))
        elif kind in _CARRIED:
            yield Placed(_CARRIED[kind](part), None)


def _calls(calls: Any, number: int) -> Iterator[Placed]:
    if not isinstance(calls, list | None):
        raise InvalidInput(f"the tool_calls of message {number} are {_kind(calls)}; they are to be a list")
    yield from (Placed(ToolUse(call), None) for call in calls or ())


def _answered(id: str | None, content: Any, failed: bool, at: JsonPath) -> Iterator[Placed]:
    """One result for each text of an answer; what is no text goes with the first."""
    if isinstance(content, str):
        yield Placed(ToolResult(id, content, failed), at)
        return
    items = content if isinstance(content, list) else ()
    texts = [index for index, part in enumerate(items) if _type(part) == "text" and isinstance(part.get("text"), str)]
    others = tuple(part for index, part in enumerate(items) if index not in set(texts))
    if not texts:
        yield Placed(ToolResult(id, "", failed, others), None)
    for nth, index in enumerate(texts):
        result = ToolResult(id, items[index]["text"], failed, () if nth else others)
        yield Placed(result, (*at, index, "text"))


def _type(part: Any) -> str | None:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else None


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(map(shown, list(map(str, value))[:5])) or 'nothing in it'}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return {"list": "a list", "NoneType": "null"}.get(type(value).__name__, shown(str(value)))


def _shape(exchange: Exchange) -> tuple[object, ...]:
    said = [type(block) if isinstance(block, Text) else (type(block), block.raw) for block in exchange.assistant]
    return (said, [(one.tool_use_id, one.is_error, one.attachments) for one in exchange.results])


def _edited(data: Any, edits: dict[str | int, Any]) -> Any:
    """The data with some texts in it replaced; only what stands around them is copied."""
    if not edits:
        return data
    copied: Any = dict(data) if isinstance(data, dict) else list(data)
    for key, edit in edits.items():
        copied[key] = _edited(data[key], edit) if isinstance(edit, dict) else edit
    return copied
