"""`import`, `refresh`: what takes in many runs at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import (
    Settings,
    count,
    masks,
    print_json,
    refresh_with_bar,
    remark,
    remark_masked,
    wants_json,
)
from experience.errors import InvalidEpisode
from experience.protocols import LABEL_CLASSES

if TYPE_CHECKING:
    from experience.transfer import Imported

_SHOWN = 20  # bad lines; the rest are counted


@click.command("import")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="PATH..."
)
@click.option("--strict", is_flag=True, help="Refuse a whole file because of one bad line.")
@click.option(
    "--lenient",
    is_flag=True,
    help="Also read text that escapes nothing, as older writers left it, and say what was guessed.",
)
@click.option(
    "--foreign", is_flag=True, help="Do not believe labels, times and ids that lines bring from another store."
)
@click.option("--supersede", is_flag=True, help="Let a line take the place of an older version of its run.")
@click.option(
    "--kind",
    type=click.Choice(LABEL_CLASSES),
    default="host",
    show_default=True,
    help="Class of the success that lines state.",
)
@masks
@wants_json
@click.pass_obj
def import_(settings: Settings, /, paths: tuple[str, ...], **how: Any) -> None:
    """Record what stands in files: JSON Lines, or one episode in the stable text; - reads standard input.

    Secrets are masked, but not in lines that `experience export` wrote. Bad lines are left out, counted, and named. Importing a file twice records it once. A file of nothing but bad lines is an
    error.
    """
    from experience.transfer import import_file

    reports = {}
    with settings.store(create=True) as store:
        for path in paths:
            with click.open_file(path, "rb") as file, _named(path):
                done = import_file(store, file, **how)
            _report(path, done)
            reports[path] = done
    if settings.json:
        print_json([{"path": path, **_as_json(done)} for path, done in reports.items()])
    if any(done.bad and not done.new + done.known for done in reports.values()):
        raise click.exceptions.Exit(1)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """What is wrong with one of several files names it."""
    try:
        yield
    except InvalidEpisode as error:
        raise InvalidEpisode(f"{path}: {error}") from error


def _as_json(done: "Imported") -> dict[str, Any]:
    bad = [{"line": line.number, "reason": line.reason} for line in done.bad]
    return {
        "new": done.new,
        "known": done.known,
        "stripped": done.stripped,
        "masked": done.masked,
        "guesses": done.guesses,
        "bad": bad,
    }


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the keyword index and the vectors anew from the records.")
@click.pass_obj
def refresh(settings: Settings, /, rebuild: bool) -> None:
    """Embed what has no vector yet, so that recall by embedding finds it."""
    with settings.memory() as memory:
        if rebuild:
            remark(f"rebuilt the keyword index of {count(memory.store.rebuild(), 'episode')}")
        done = refresh_with_bar(memory)
    remark(f"embedded {count(done, 'episode')}")


def _report(path: str, done: "Imported") -> None:
    parts = [f"{done.new} new", f"{done.known} known already", f"{count(len(done.bad), 'bad line')} left out"]
    if done.stripped:
        parts.append(f"{count(done.stripped, 'recalled block')} taken out")
    remark(f"{path}: {', '.join(parts)}")
    remark_masked(done.masked, "  ")
    for line in done.bad[:_SHOWN]:
        remark(f"  line {line.number}: {line.reason}")
    if len(done.bad) > _SHOWN:
        remark(f"  and {len(done.bad) - _SHOWN} more")
    for guess in done.guesses:
        remark(f"  guessed: {guess}")
