"""`compact`: messages, or one text, brought within a budget, by hand or in a pipe."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from experience.commands.common import Settings, count, remark, text_of, wants_json, write_exactly
from experience.errors import InvalidInput
from experience.screen import visible_json

if TYPE_CHECKING:
    from experience.tell.exchange import Change, Compacted
    from experience.tell.messages import Conversation

_MOST_BYTES = 64 * 2**20
_MOST_LINES = 20  # of a report for people
_TOO_DEEP = "the JSON is nested too deep to be messages"


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-", metavar="[FILE|-]")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="N",
    help="What all texts may cost together, in bytes.  [default: 32768, or 8192 tokens]",
)
@click.option("--tokens", is_flag=True, help="Count tokens, as estimated, instead of bytes.")
@click.option(
    "--policy",
    type=click.Choice(["default", "founding"]),
    default="default",
    show_default=True,
    help="How texts are judged and the budget is parted; founding is what the founding system did.",
)
@click.option(
    "--offload",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep what is cut, and what cannot be cut, in this folder, and name it in the text.",
)
@wants_json
@click.pass_obj
def compact(
    settings: Settings, /, file: str, budget: int | None, tokens: bool, policy: str, offload: str | None
) -> None:
    """Cut what assistants said and tools answered to a budget, and say exactly what is missing.

    FILE, or standard input, holds messages as JSON, in the form of OpenAI or Anthropic, or plain text, which is cut
    as one. The same comes out on standard output, the report on standard error. Questions, calls, thinking and
    pictures are never changed, and calls that are not all answered yet are left alone.
    """
    from experience.tell.blocks import Exchange, Text
    from experience.tell.exchange import EXCHANGE_BUDGET_BYTES, EXCHANGE_BUDGET_TOKENS
    from experience.tell.exchange import compact as compacted
    from experience.tell.offload import ContentStore

    if sys.stdout is None:
        raise click.UsageError("there is no standard output to write to")
    store = None if offload is None else ContentStore(offload)
    text = _read(file)
    messages = _messages(text)
    done = compacted(
        messages.exchange() if messages else Exchange((Text(text),)),
        budget if budget is not None else EXCHANGE_BUDGET_TOKENS if tokens else EXCHANGE_BUDGET_BYTES,
        how := _policy(policy, tokens=tokens),
        store,
        messages.waiting_cost(how.count) if messages else 0,
    )
    report = Report(done, messages, tokens=tokens, stored=store is not None)
    [said] = done.exchange.assistant if not messages else (None,)
    result = messages.with_exchange(done.exchange) if messages else said.text if isinstance(said, Text) else ""
    if settings.json:
        _print({"result": result, "report": report.data()})
        return
    if messages:
        _print(result)
    else:
        write_exactly(f"{result}\n" if sys.stdout.isatty() else result)
    for line in report.lines():
        remark(line)


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file != "-":
        with Path(file).open("rb") as opened:
            yield opened
    elif sys.stdin is None:
        raise click.UsageError("there is no standard input to read")
    else:
        yield sys.stdin.buffer


def _read(file: str) -> str:
    with _opened(file) as opened:
        text = text_of(opened.read(_MOST_BYTES + 1), "the input", _MOST_BYTES, "compact it in parts")
    if not text.strip():
        raise InvalidInput("the input is empty; give messages as JSON, or text")
    return text


def _messages(text: str) -> "Conversation | None":
    """The messages that a text is the JSON of; None for plain text, refused where it is JSON of something else."""
    from experience.tell.content import Content, detect
    from experience.tell.literal import parsed
    from experience.tell.messages import Conversation

    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        data = parsed(text)
    except json.JSONDecodeError as error:
        if detect(text) is Content.STRUCTURED:
            raise InvalidInput(
                f"the input begins like JSON and is none: {error.msg} in line {error.lineno}, column {error.colno}"
            ) from error
        return None
    except RecursionError as error:
        raise InvalidInput(_TOO_DEEP) from error
    return Conversation.of(data)


def _policy(name: str, *, tokens: bool) -> Any:
    from dataclasses import replace

    from experience.tell.budget import estimate_tokens
    from experience.tell.exchange import DEFAULT, FOUNDING

    policy = FOUNDING if name == "founding" else DEFAULT
    return replace(policy, count=estimate_tokens) if tokens else policy


def _print(data: object) -> None:
    from experience.tell.literal import written

    try:
        click.echo(visible_json(written(data)))
    except RecursionError as error:
        raise InvalidInput(_TOO_DEEP) from error


class Report:
    """What is said about a compaction, to people in lines and to programs as data."""

    def __init__(self, done: "Compacted", messages: "Conversation | None", *, tokens: bool, stored: bool) -> None:
        self._done, self._messages, self._stored = done, messages, stored
        self._unit = "tokens" if tokens else "bytes"
        self._held = messages.waiting if messages else 0

    def data(self) -> dict[str, Any]:
        """All of it, as JSON holds it."""
        return {
            "unit": self._unit,
            "budget": self._done.budget,
            "before": self._done.before,
            "after": self._done.after,
            "fits": self._done.fits,
            "waiting": self._held,
            "not_counted": self._done.not_counted,
            "changes": [
                {
                    "side": "result" if change.result else "assistant",
                    "block": change.block,
                    "tool_use_id": change.tool_use_id,
                    "content": change.content.value,
                    "fate": change.fate.value,
                    "before": change.before,
                    "after": change.after,
                    "dropped": change.dropped,
                    "locator": change.locator or None,
                    "path": change.path or None,
                }
                for change in self._done.changes
            ],
        }

    def lines(self) -> list[str]:
        """What people read: a line for each text that was too long, not too many, and how it came out."""
        changes = self._done.changes
        lines = [_line(change, one_text=self._messages is None) for change in changes[:_MOST_LINES]]
        if len(changes) > _MOST_LINES:
            lines.append(f"and {count(len(changes) - _MOST_LINES, 'more text')}; --json names all of them")
        if self._held:
            were = "was" if self._held == 1 else "were"
            lines.append(
                f"{count(self._held, 'message')} at the end {were} left alone, {self._done.not_counted} {self._unit} that are "
                "not counted: not every call is answered yet"
            )
        lines.append(f"{self._done.before} {self._unit} before, {self._done.after} after, budget {self._done.budget}")
        if not self._done.fits:
            lines.append(f"this is over the budget: {self._repair()}")
        return lines

    def _repair(self) -> str:
        from experience.tell.exchange import Fate

        if self._done.after <= self._done.budget:
            return "what was left alone is more than there is room for; answer the calls, then compact again"
        if not self._stored and any(change.fate is Fate.WHOLE for change in self._done.changes):
            return "--offload DIR stores what had to stay whole"
        return "give it more; nothing more can be cut"


def _line(change: "Change", *, one_text: bool) -> str:
    from experience.tell.exchange import Fate

    name = f" ({change.tool_use_id})" if change.tool_use_id else ""
    where = "the text" if one_text else f"{'result' if change.result else 'assistant'} {change.block}{name}"
    if change.fate is Fate.WHOLE:
        return f"{where}: {change.content.value}, {change.before} bytes, had to stay whole"
    stored = f"; kept at {change.path}" if change.path else ""
    return (
        f"{where}: {change.content.value}, {change.fate.value} from {change.before} bytes to {change.after}, "
        f"{change.dropped} dropped{stored}"
    )
