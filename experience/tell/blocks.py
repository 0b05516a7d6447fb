"""One exchange of a run: what the assistant said and what its tools answered, as values that never change.

Only texts and the contents of results can be cut. Everything else is carried as it came, because its bytes are signed,
matched or shown by somebody else. It knows no wire format and no budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from experience.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Text:
    """What the assistant said."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the assistant thought, signed by its provider."""

    raw: Any


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """The same, unreadable to us."""

    raw: Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool."""

    raw: Any

    @property
    def id(self) -> str | None:
        """What the result of this call names; None where the call has no id."""
        found = self.raw.get("id") if isinstance(self.raw, dict) else None
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    raw: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered, or one text of it where it answered several."""

    tool_use_id: str | None
    content: str
    is_error: bool = False
    attachments: tuple[Any, ...] = ()
    """What came with it and is no text, as it came."""


Said = Text | Thinking | RedactedThinking | ToolUse | Image
Block = Said | ToolResult
_SAID = (Text, Thinking, RedactedThinking, ToolUse, Image)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the assistant said and what its tools answered, each in order.

    Raises InvalidInput for a block that is on the wrong side.
    """

    assistant: tuple[Said, ...] = ()
    results: tuple[ToolResult, ...] = ()

    def __post_init__(self) -> None:
        for block in self.assistant:
            if not isinstance(block, _SAID):
                raise InvalidInput(f"the assistant cannot say a {type(block).__name__}; put it into the results")
        for result in self.results:
            if not isinstance(result, ToolResult):
                raise InvalidInput(f"a {type(result).__name__} is no ToolResult; give it to the assistant")

    def with_assistant(self, *blocks: Said) -> "Exchange":
        """The exchange with these blocks after what the assistant said before."""
        return replace(self, assistant=(*self.assistant, *blocks))

    def with_result(self, block: ToolResult) -> "Exchange":
        """The exchange with one more result."""
        return replace(self, results=(*self.results, block))


def texts_of(exchange: Exchange) -> list[str | None]:
    """The text of every block in order, the assistant's first; None where there is none that could be cut."""
    said = [block.text if isinstance(block, Text) else None for block in exchange.assistant]
    return [*said, *(result.content for result in exchange.results)]


def with_texts(exchange: Exchange, texts: Sequence[str | None]) -> Exchange:
    """The exchange with other texts, as many and in the same order as `texts_of` gives them."""
    said, answered = texts[: len(exchange.assistant)], texts[len(exchange.assistant) :]
    assistant = [
        Text(text) if isinstance(block, Text) and text is not None and text != block.text else block
        for block, text in zip(exchange.assistant, said, strict=True)
    ]
    results = [
        result if text is None or text == result.content else replace(result, content=text)
        for result, text in zip(exchange.results, answered, strict=True)
    ]
    return Exchange(tuple(assistant), tuple(results))
