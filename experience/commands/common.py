"""What the commands share: the group's settings, options that recur, and how things are printed.

Nothing here imports numpy, SQLite or an encoder: that is left to the command that needs them.
"""

import functools
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from experience.errors import ExperienceError, InvalidInput
from experience.protocols import LABEL_CLASSES
from experience.screen import visible, visible_json

if TYPE_CHECKING:
    from experience.memory import Memory
    from experience.protocols import Progress
    from experience.store import SqliteStore

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Settings:
    """What the group's options say."""

    db: Path
    backend: str
    encoder: str | None
    namespace: str
    json: bool

    def memory(self) -> "Memory":
        """The store with its backend, for the commands that rank."""
        from experience.memory import Memory

        return Memory.open(self.db, self.backend, self.encoder, self.namespace, create=False)

    def store(self, *, create: bool = False) -> "SqliteStore":
        """The store alone; commands that only look at it do not make one."""
        from experience.store import SqliteStore

        return SqliteStore(self.db, self.namespace, create=create)


def remark(text: str) -> None:
    """Something for people, on standard error."""
    click.echo(visible(text), err=True)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun: 1 episode, 2 episodes."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def wants_json(function: F) -> F:
    """`--json` behind the command, where people write it, as well as before it."""

    def join(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            ctx.obj = replace(ctx.obj, json=True)

    option = click.option("--json", is_flag=True, expose_value=False, callback=join, help="Print JSON instead of text.")
    return option(function)


def moment(_ctx: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """Reads an option's time."""
    from experience.episode import moment_from

    try:
        return None if value is None else moment_from(value, parameter.name or "")
    except ExperienceError as error:
        raise click.BadParameter(str(error)) from error


def verdict(yes: str, no: str) -> Callable[[F], F]:
    """`--success` and `--failure`, which the command gets as `success`: True, False or None; both at once are refused."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def merged(*args: Any, success: bool, failure: bool, **kwargs: Any) -> object:
            if success and failure:
                raise click.UsageError("say --success or --failure, not both")
            return function(*args, success=True if success else False if failure else None, **kwargs)

        calling: Callable[..., object] = merged
        options = click.option("--failure", is_flag=True, help=no), click.option("--success", is_flag=True, help=yes)
        for option in options:
            calling = option(calling)
        return cast("F", calling)

    return decorate


def filters(function: F) -> F:
    """The options that make a Filter, which the command gets as keywords."""
    options = (
        click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only runs that used it; repeatable."),
        click.option(
            "--skill", "skills", multiple=True, metavar="NAME", help="Only runs that followed it; repeatable."
        ),
        click.option("--tag", "tags", multiple=True, metavar="NAME", help="Only runs with this tag; repeatable."),
        click.option(
            "--since", callback=moment, metavar="TIME", help="Only runs that started then or later (ISO 8601, UTC)."
        ),
        click.option("--until", callback=moment, metavar="TIME", help="Only runs that started before (ISO 8601, UTC)."),
    )
    for option in reversed(options):
        function = option(function)
    return verdict("Only runs that worked.", "Only runs that failed.")(function)


def choosing(function: F) -> F:
    """The options for what is wanted beside likeness, which the command gets as `wishes`."""
    options = (
        click.option("--min-score", type=click.FloatRange(-2, 2), metavar="N", help="Leave out what scores less, whatever the store's own floor."),
        click.option("--no-floor", is_flag=True, help="Leave out nothing, however little alike it is."),
        click.option("--diverse", is_flag=True, help="Show near copies once."),
        click.option("--prefer-success", is_flag=True, help="Among about equally similar runs, show what worked first."),
        click.option("--half-life", type=click.FloatRange(min=0, min_open=True), metavar="DAYS", help="Prefer fresh runs a little: by half as much after so many days."),
    )  # fmt: skip

    @functools.wraps(function)
    def gathered(
        *args: Any, min_score: float | None, no_floor: bool, diverse: bool, prefer_success: bool, half_life: float | None, **kwargs: Any
    ) -> object:  # fmt: skip
        if no_floor and min_score is not None:
            raise click.UsageError("say --no-floor or --min-score, not both")
        wishes = {"min_score": min_score, "floor": not no_floor, "diverse": diverse, "prefer_success": prefer_success, "half_life": half_life}  # fmt: skip
        return function(*args, wishes=wishes, **kwargs)

    calling: Callable[..., object] = gathered
    for option in reversed(options):
        calling = option(calling)
    return cast("F", calling)


def says(function: F) -> F:
    """The options for who says whether a run worked."""
    options = (
        click.option(
            "--kind", type=click.Choice(LABEL_CLASSES), default="human", show_default=True, help="Who says so."
        ),
        click.option("--by", default="", metavar="NAME", help="The name of who says so."),
        click.option("--evidence", default="", metavar="TEXT", help="Why."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def masks(function: F) -> F:
    """The options for what is masked, which the command gets as `masking`."""
    options = (
        click.option("--no-mask", is_flag=True, help="Store secrets as they are, byte for byte; recalled blocks are taken out all the same."),
        click.option("--mask-personal", is_flag=True, help="Also mask emails, phone, card and account numbers, addresses."),
        click.option("--scan", type=click.Choice(["detect-secrets"]), help="Also look with this scanner (pip install 'hardwon[secrets]')."),
    )  # fmt: skip

    @functools.wraps(function)
    def decided(*args: Any, no_mask: bool, mask_personal: bool, scan: str | None, **kwargs: Any) -> object:
        from experience.hygiene import Masking

        if no_mask and (mask_personal or scan):
            raise click.UsageError("--no-mask masks nothing; leave it out, or --mask-personal and --scan")
        return function(*args, masking=Masking(not no_mask, mask_personal, scan), **kwargs)

    calling: Callable[..., object] = decided
    for option in reversed(options):
        calling = option(calling)
    return cast("F", calling)


def remark_masked(counts: "Mapping[str, int]", path: str = "") -> None:
    """Say how many values were masked, by kind; nothing when none was."""
    if total := sum(counts.values()):
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts))
        remark(f"{path}{count(total, 'value')} masked before storing: {kinds} (--no-mask keeps them)")


def text_from(value: str) -> str:
    """The argument itself, or standard input where it is a dash."""
    if value != "-":
        return value
    if sys.stdin is None:
        raise click.UsageError("there is no standard input to read")
    try:
        return sys.stdin.read().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"standard input is not UTF-8: {error.reason} at byte {error.start}") from error


def text_of(data: bytes, name: str, most: int, repair: str) -> str:
    """The text in the bytes of a file, without a byte order mark; `most` is how many it may have. Raises InvalidInput."""
    if len(data) > most:
        raise InvalidInput(f"{name} has more than {most} bytes; {repair}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8: {error.reason} at byte {error.start}; convert it first") from error


def width() -> int:
    """Columns to lay text out on."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def write_exactly(text: str) -> None:
    """Byte for byte, where it goes to a program; a terminal gets its escapes spelled out."""
    if sys.stdout is None:
        raise click.UsageError("there is no standard output to write to")
    if sys.stdout.isatty():
        click.echo(visible(text), nl=False)
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()


def print_json(data: object) -> None:
    """Data for programs, on standard output."""
    click.echo(visible_json(json.dumps(data, ensure_ascii=False, indent=2)))


def print_record(settings: Settings, store: "SqliteStore", id: int) -> None:
    """Everything about one run."""
    from experience import printing

    found, labels = store.get(id), store.labels(id)
    if settings.json:
        print_json({**printing.record_json(found), "labels": [printing.label_json(label) for label in labels]})
    else:
        click.echo(printing.record_page(found, labels))


def refresh_with_bar(memory: "Memory") -> int:
    """Refresh, with a bar on a terminal."""
    if not memory.backend.pending():
        return memory.refresh()
    with progress_bar("embedding") as going_on:
        return memory.refresh(going_on)


@contextmanager
def progress_bar(label: str) -> Iterator["Progress"]:
    """What to call with how much is done, and of how much: a bar on a terminal, nothing elsewhere."""
    with click.progressbar(length=1, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

        def going_on(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield going_on
