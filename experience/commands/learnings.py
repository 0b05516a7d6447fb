"""`learn` and what is under it: single sentences that runs found to be so."""

from typing import TYPE_CHECKING, Any, TypeVar

import click

from experience.commands.common import Settings, print_json, remark, text_from, wants_json
from experience.commands.options import whoever
from experience.screen import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from experience.learn.learnings import Learnings
    from experience.learn.replies import Reply
    from experience.store import SqliteStore

F = TypeVar("F", bound="Callable[..., object]")


def proposing(function: F) -> F:
    """The options of whoever proposes or corrects."""
    options = (
        click.option("--agent", default="", envvar="EXPERIENCE_AGENT", metavar="NAME", help="Whose learning.  [default: every agent's]"),
        click.option("--impact", type=click.Choice(["low", "medium", "high"]), default="medium", show_default=True, help="How much it matters."),
        click.option("--run-id", metavar="NAME", help="The run that found it: what it was not told is no echo."),
        click.option("--by", default="", metavar="NAME", help="Who says so."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def deciding(function: F) -> F:
    """The options of whoever confirms or rejects."""
    options = (
        click.option("--by", metavar="NAME", help="Who decides.  [default: you]"),
        click.option("--note", default="", metavar="TEXT", help="Why."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group()
def learn() -> None:
    """Propose what a run found to be so, and decide about it."""


@learn.command()
@click.argument("text")
@proposing
@wants_json
@click.pass_obj
def propose(settings: Settings, /, text: str, **said: Any) -> None:
    """Propose a learning: one sentence; - reads it from standard input. Exit code 1 when it is refused."""
    with settings.store(create=True) as store:
        _unknown_run(store, said["run_id"])
        _answer(settings, _learnings(store).propose(text_from(text), **said))


@learn.command()
@click.argument("which")
@click.argument("text")
@proposing
@wants_json
@click.pass_obj
def correct(settings: Settings, /, which: str, text: str, **said: Any) -> None:
    """Say what is so in the place of a learning: WHICH is its id or its words. Exit code 1 when it is refused."""
    with settings.store() as store:
        _unknown_run(store, said["run_id"])
        _answer(settings, _learnings(store).correct(which, text_from(text), **said))


@learn.command()
@click.argument("id", type=int)
@deciding
@wants_json
@click.pass_obj
def confirm(settings: Settings, /, id: int, by: str | None, note: str) -> None:
    """Let learning ID be told for good."""
    with settings.store() as store:
        _learnings(store).confirm(id, by=whoever() if by is None else by, note=note)
        _show(settings, store, id)


@learn.command()
@click.argument("id", type=int)
@deciding
@wants_json
@click.pass_obj
def reject(settings: Settings, /, id: int, by: str | None, note: str) -> None:
    """Let learning ID never be told again, in any wording."""
    with settings.store() as store:
        _learnings(store).reject(id, by=whoever() if by is None else by, note=note)
        _show(settings, store, id)


@learn.command("list")
@click.option("--agent", metavar="NAME", help="What this agent is told: its own and those for all.  [default: all]")
@click.option("--all", "everything", is_flag=True, help="Also those that nobody is told any more.")
@wants_json
@click.pass_obj
def list_(settings: Settings, /, agent: str | None, *, everything: bool) -> None:
    """List learnings, with how the runs ended that were told them."""
    from experience.learn import listing
    from experience.learn.counts import Counts, told_learnings

    with settings.store() as store:
        found = [one for one in _learnings(store).all(agent) if everything or one.active]
        counts = told_learnings(store)
    if settings.json:
        print_json([listing.learning_json(one, counts.get(one.id, Counts())) for one in found])
        return
    for one in found:
        click.echo(listing.learning_line(one, counts.get(one.id, Counts())))
    if not found:
        remark("nothing was learned yet" if everything else "nothing is told; --all shows what lapsed or was rejected")


@learn.command()
@click.argument("id", type=int)
@wants_json
@click.pass_obj
def history(settings: Settings, /, id: int) -> None:
    """Show everything that happened to learning ID, oldest first."""
    from experience.learn import listing

    with settings.store() as store:
        events = _learnings(store).history(id)
    if settings.json:
        print_json([listing.event_json(event) for event in events])
        return
    for event in events:
        click.echo(listing.event_line(event))


def _learnings(store: "SqliteStore") -> "Learnings":
    from experience.learn.learnings import Learnings

    return Learnings(store)


def _unknown_run(store: "SqliteStore", run_id: str | None) -> None:
    if run_id is not None and not _learnings(store).was_told_anything(run_id):
        remark(f"there is no receipt of the run {run_id}, so whatever is told counts as told to it")


def _answer(settings: Settings, reply: "Reply") -> None:
    from experience.learn import listing
    from experience.learn.replies import Echo, Outdated, writes

    accepted = writes(reply) or isinstance(reply, Echo | Outdated)
    if settings.json:
        print_json(listing.reply_json(reply))
    elif accepted:
        click.echo(visible(str(reply)))
    else:
        remark(str(reply))
    if not accepted:
        raise click.exceptions.Exit(1)


def _show(settings: Settings, store: "SqliteStore", id: int) -> None:
    from experience.learn import listing
    from experience.learn.counts import Counts, told_learnings

    learning = _learnings(store).get(id)
    counts = told_learnings(store).get(id, Counts())
    if settings.json:
        print_json(listing.learning_json(learning, counts))
    else:
        click.echo(listing.learning_line(learning, counts))
