"""`export`, `refresh`: what moves many runs at once."""

from pathlib import Path

import click

from experience.commands.common import Settings, count, refresh_with_bar, remark, written


@click.command()
@click.argument("path", type=click.Path(allow_dash=True, dir_okay=False), default="-")
@click.pass_obj
def export(settings: Settings, /, path: str) -> None:
    """Write every record of the namespace as JSON Lines to PATH, by default to standard output.

    Superseded versions are among them; expired records are not.
    """
    from experience.transfer import export_lines

    if path != "-" and Path(path).resolve() == settings.db.resolve():
        raise click.UsageError(f"{path} is the store itself; name another file")
    with settings.store() as store, written(path) as file:
        number = sum(bool(file.write(line.encode() + b"\n")) for line in export_lines(store))
    remark(f"exported {count(number, 'record')}")


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
