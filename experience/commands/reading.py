"""`recall`, `list`, `show`, `info`, `demo`: what only looks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import (
    Settings,
    choosing,
    count,
    filters,
    print_json,
    print_record,
    refresh_with_bar,
    remark,
    text_from,
    wants_json,
    width,
    write_exactly,
)
from experience.protocols import Filter

if TYPE_CHECKING:
    from experience.choosing import Answer, Wishes


@click.command()
@click.argument("situation")
@click.option("-k", type=click.IntRange(min=0), default=3, show_default=True, help="How many at most.")
@choosing
@filters
@wants_json
@click.pass_obj
def recall(settings: Settings, /, situation: str, k: int, wishes: "Wishes", **parts: Any) -> None:
    """Recall past runs similar to SITUATION, best first; - reads it from standard input."""
    from experience import printing

    with settings.memory() as memory:
        refresh_with_bar(memory)
        answer = memory.ask(text_from(situation), k, Filter(**parts), **wishes)
    if settings.json:
        print_json([printing.match_json(match) for match in answer.matches])
    else:
        for rank, match in enumerate(answer.matches, 1):
            click.echo(printing.match_block(rank, match, width()))
    for line in _left_out(answer, wishes):
        remark(line)


def _left_out(answer: "Answer", wishes: "Wishes") -> Iterator[str]:
    """What a recall found besides, in remarks."""
    missed, least = answer.near_misses, wishes.get("min_score")
    if missed and least is not None:
        yield f"{count(missed, 'run')} scored less than {least:g}, the best {answer.best_miss:.3f}"
    elif missed:
        found = "" if answer.matches else "nothing similar was found; "
        yield f"{found}{count(missed, 'near miss', 'near misses')}, the best {answer.best_miss:.3f} (--no-floor shows all)"
    elif not answer.matches and not answer.failures:
        yield "nothing similar was found"
    if answer.failures:
        yield f"nothing similar has worked yet; {count(answer.failures, 'similar run')} failed (--failure shows)"
    elif wishes.get("prefer_success") and answer.nothing_worked:
        yield "nothing similar has worked yet"


@click.command("list")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many at most.")
@filters
@wants_json
@click.pass_obj
def list_(settings: Settings, /, limit: int, **parts: Any) -> None:
    """List recorded runs, the last recorded first, with the day each started (or was recorded)."""
    from experience import printing

    where = Filter(**parts)
    with settings.store() as store:
        records = store.records(where, limit)
        total = store.count(where)
    if settings.json:
        print_json([printing.record_json(record) for record in records])
        return
    for found in records:
        click.echo(printing.record_line(found, width()))
    if total > len(records):
        remark(f"{len(records)} of {total}; --limit shows more")


@click.command()
@click.argument("id", type=int)
@click.option("--text", is_flag=True, help="Print the stable text, and nothing else.")
@wants_json
@click.pass_obj
def show(settings: Settings, /, id: int, text: bool) -> None:
    """Show everything about run ID."""
    with settings.store() as store:
        if text:
            rendered = store.get(id).episode.render()
            write_exactly(rendered + "\n")
        else:
            print_record(settings, store, id)


@click.command()
@wants_json
@click.pass_obj
def info(settings: Settings, /) -> None:
    """Say what the store holds."""
    from experience import printing
    from experience.overview import overview

    with settings.store() as store:
        found = overview(store)
    if settings.json:
        print_json(found)
    else:
        click.echo(printing.pairs((name.replace("_", " "), _plain(value)) for name, value in found.items()))


@click.command()
@click.pass_obj
def demo(settings: Settings, /) -> None:
    """Show the main job on a packaged sample, in a store that is thrown away."""
    from experience.demo import show_demo

    show_demo(settings.encoder, click.echo, refresh_with_bar, width())


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {part}" for key, part in value.items()) or "none"
    return "none yet" if value is None else value
