"""`import`, `export`, `refresh`: what moves many runs at once."""

from typing import TYPE_CHECKING

import click

from experience.commands.common import Settings, print_json, refresh_with_bar, remark, wants_json
from experience.protocols import LABEL_CLASSES

if TYPE_CHECKING:
    from experience.transfer import Imported

_SHOWN = 20  # bad lines; the rest are counted


@click.command("import")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="PATH..."
)
@click.option("--strict", is_flag=True, help="Refuse a whole file because of one bad line.")
@click.option("--lenient", is_flag=True, help="Read text of the founding format too, and say what was guessed.")
@click.option("--supersede", is_flag=True, help="Let a line take the place of an older version of its run.")
@click.option(
    "--kind",
    type=click.Choice(LABEL_CLASSES),
    default="host",
    show_default=True,
    help="Class of the success that lines state.",
)
@wants_json
@click.pass_obj
def import_(
    settings: Settings, /, paths: tuple[str, ...], strict: bool, lenient: bool, supersede: bool, kind: str
) -> None:
    """Record what stands in files: JSON Lines, or one episode in the stable text; - reads standard input.

    Bad lines are left out, counted, and named. Importing a file twice records it once.
    """
    from experience.transfer import Imported, import_file

    total = Imported()
    with settings.open(create=True, backend="keyword") as memory:
        for path in paths:
            with click.open_file(path, "rb") as file:
                done = import_file(memory.store, file, strict=strict, lenient=lenient, supersede=supersede, kind=kind)
            _report(path, done)
            total += done
    if settings.json:
        bad = [{"line": line.number, "reason": line.reason} for line in total.bad]
        print_json(
            {"new": total.new, "known": total.known, "stripped": total.stripped, "guesses": total.guesses, "bad": bad}
        )


@click.command()
@click.argument("path", type=click.Path(allow_dash=True), default="-")
@click.pass_obj
def export(settings: Settings, /, path: str) -> None:
    """Write every record of the namespace as JSON Lines to PATH, by default to standard output."""
    from experience.transfer import export_lines

    count = 0
    with (
        settings.open(backend="keyword") as memory,
        click.open_file(path, "w", encoding="utf-8", atomic=path != "-") as file,
    ):
        for line in export_lines(memory.store):
            file.write(line + "\n")
            count += 1
    remark(f"exported {count} records")


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the keyword index and the vectors anew from the records.")
@click.pass_obj
def refresh(settings: Settings, /, rebuild: bool) -> None:
    """Embed what has no vector yet, so that recall by embedding finds it."""
    with settings.open() as memory:
        if rebuild:
            remark(f"rebuilt the keyword index of {memory.store.rebuild()} episodes")
        done = refresh_with_bar(memory)
    remark(f"embedded {done} episodes")


def _report(path: str, done: "Imported") -> None:
    parts = [f"{done.new} new", f"{done.known} known already", f"{len(done.bad)} bad lines left out"]
    if done.stripped:
        parts.append(f"{done.stripped} recalled blocks taken out")
    remark(f"{path}: {', '.join(parts)}")
    for line in done.bad[:_SHOWN]:
        remark(f"  line {line.number}: {line.reason}")
    if len(done.bad) > _SHOWN:
        remark(f"  and {len(done.bad) - _SHOWN} more")
    for guess in done.guesses:
        remark(f"  guessed: {guess}")
