"""`export`: a store's records in a file that other tools read, or that another store takes in."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from experience.commands.common import Settings, count, remark
from experience.commands.putting import is_of_store, is_stream, placed, written

if TYPE_CHECKING:
    from experience.store import SqliteStore

FORMATS = ("jsonl", "atif", "csv", "llm-collection", "datasette-metadata")


@click.command()
@click.argument("path", type=click.Path(allow_dash=True, dir_okay=False), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl can be imported again and loses nothing; the others are for other tools.",
)
@click.option("--raw", is_flag=True, help="CSV as it is, also what a spreadsheet would take for a formula.")
@click.pass_obj
def export(settings: Settings, /, path: str, form: str, *, raw: bool) -> None:
    """Write every record of the namespace to PATH, by default as JSON Lines to standard output.

    Superseded versions are among them, but for llm-collection, which has what can be recalled; expired records are not.
    """
    if raw and form != "csv":
        raise click.UsageError(f"--raw is for --format csv; {form} has no formulas")
    if is_of_store(settings.db, path):
        name = "standard output" if path == "-" else path
        raise click.UsageError(f"{name} is the store itself; name another file")
    with settings.store() as store:
        if form == "llm-collection":
            _collection(settings, store, path)
        elif form == "datasette-metadata":
            _metadata(settings, path)
        else:
            with written(path) as file:
                number = sum(bool(file.write(line.encode())) for line in _lines(store, form, raw=raw))
            remark(f"exported {count(number - (form == 'csv'), 'record')}")


def _lines(store: "SqliteStore", form: str, *, raw: bool) -> Iterator[str]:
    """The file's lines, each with its end; CSV begins with a header."""
    if form == "csv":
        from experience.exporting.table import csv_lines

        return csv_lines(store, raw=raw)
    if form == "atif":
        from experience.exporting.atif import atif_lines

        return (f"{line}\n" for line in atif_lines(store))
    from experience.transfer import export_lines

    return (f"{line}\n" for line in export_lines(store))


def _collection(settings: Settings, store: "SqliteStore", path: str) -> None:
    from experience.exporting.llm_collection import write_collection

    if path == "-" or is_stream(path):
        raise click.UsageError("llm-collection is a SQLite file; name a PATH for it")
    with placed(path) as file:
        done = write_collection(store, file, settings.encoder)
    remark(f"exported {count(done.vectors, 'vector')} to the collection {store.namespace} of the model {done.model}")
    if done.without:
        remark(f"{count(done.without, 'episode')} had no vector yet and are not in it; experience refresh makes them")


def _metadata(settings: Settings, path: str) -> None:
    from experience.exporting.datasette_page import metadata

    with written(path) as file:
        file.write(json.dumps(metadata(settings.db.stem), ensure_ascii=False, indent=2).encode() + b"\n")
    file_name = "metadata.json" if path == "-" else path
    remark(
        f"show it with: datasette {settings.db} -m {file_name}; that serves the whole file, every namespace and what has expired "
        "too, to whoever reaches its port"
    )
