"""`brief`, `explain`: what earlier runs have to say, and what a run was told; and what `compose` shares with them."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experience.commands.common import (
    Settings,
    count,
    print_json,
    refresh_with_bar,
    remark,
    text_from,
    wants_json,
    write_exactly,
)
from experience.errors import ExperienceError
from experience.screen import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from experience.memory import Memory
    from experience.tell.brief import Brief, BriefPolicy
    from experience.tell.compose import Payload
    from experience.tell.contents import Contents

F = TypeVar("F", bound="Callable[..., object]")


def telling(function: F) -> F:
    """The options that a brief has, by itself or in a payload."""
    options = (
        click.option("--learn-tool", default="experience learn propose", show_default=True, metavar="NAME", help="What the run proposes learnings with."),
        click.option("--correct-tool", default="experience learn correct", show_default=True, metavar="NAME", help="What the run corrects them with."),
        click.option("--help-tool", metavar="NAME", help="What the run asks a person for help with; without it, help is not spoken of."),
        click.option("--blocker", "blockers", multiple=True, metavar="SLUG:TEXT", help="A kind of blocker to ask about, with --help-tool; repeatable.  [default: the six usual ones]"),
        click.option("--run-id", metavar="NAME", help="Keep a receipt for this run: this is what it is told, no preview."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def policy_from(
    budget: int, learn_tool: str, correct_tool: str, help_tool: str | None, blockers: tuple[str, ...]
) -> "BriefPolicy":
    """The policy that these options name."""
    from experience.tell.brief import BLOCKERS, Blocker, BriefPolicy

    if blockers and help_tool is None:
        raise click.UsageError("--blocker goes with --help-tool")
    kinds = tuple(Blocker(*map(str.strip, one.split(":", 1))) for one in blockers if ":" in one)
    if len(kinds) < len(blockers):
        raise click.UsageError(
            "--blocker needs a short name, a colon and what it means: access:a permission is missing"
        )
    policy = BriefPolicy(budget, learn_tool=learn_tool, correct_tool=correct_tool)
    return policy if help_tool is None else replace(policy, blockers=kinds or BLOCKERS, help_tool=help_tool)


def moment_then(_ctx: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """Reads a moment; a day alone means its end."""
    from experience.episode import moment_from

    if value is None:
        return None
    try:
        found = moment_from(value, parameter.name or "")
        day = datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC).date()
        return datetime.combine(day, time(), UTC) + timedelta(days=1, microseconds=-1)
    except ExperienceError as error:
        raise click.BadParameter(str(error)) from error
    except ValueError:
        return found


@click.command()
@click.argument("task")
@click.option(
    "--budget", type=click.IntRange(min=1), default=2000, show_default=True, help="Tokens that it may cost, estimated."
)
@click.option("--agent", default="", metavar="NAME", help="Whose learnings, beside those for all.")
@telling
@click.option(
    "--as-of", callback=moment_then, metavar="DATE", help="As it would have been told then; a day means its end."
)
@wants_json
@click.pass_obj
def brief(
    settings: Settings,
    /,
    task: str,
    budget: int,
    agent: str,
    *,
    run_id: str | None,
    as_of: datetime | None,
    **named: Any,
) -> None:
    """Tell what earlier runs say about TASK; - reads it from standard input."""
    from experience.tell.brief import brief as brief_for

    if run_id is not None and as_of is not None:
        raise click.UsageError("say --run-id or --as-of, not both: what would have been told is told to nobody")
    policy = policy_from(budget, **named)
    asked = text_from(task)
    with told_memory(settings, create=run_id is not None, as_of=as_of) as (memory, gone):
        found = brief_for(memory, asked, agent=agent, policy=policy)
        if run_id is not None:
            keep_receipt(memory, run_id, found)
    if settings.json:
        print_json(_brief_json(found, gone))
    else:
        write_exactly(found.text + "\n" if found.text else "")
        remark_left_out(found.contents)
    if gone:
        remark(f"{count(gone, 'run')} that {'were' if gone > 1 else 'was'} there then and deleted since: not in it")


@click.command()
@click.argument("run")
@wants_json
@click.pass_obj
def explain(settings: Settings, /, run: str) -> None:
    """Say line by line what a run was told: RUN is its run id or its episode's id."""
    from experience.tell.explain import explained, explanation_lines
    from experience.tell.receipts import Receipts

    with settings.store() as store:
        found = [explained(store, receipt) for receipt in Receipts(store).of(run)]
    if settings.json:
        print_json([one.to_json() for one in found])
        return
    for one in found:
        for line in explanation_lines(one):
            click.echo(visible(line))


@contextmanager
def told_memory(settings: Settings, *, create: bool, as_of: datetime | None = None) -> "Iterator[tuple[Memory, int]]":
    """The memory with its index up to date, or as it was; where there is no store yet, an empty one that is not kept.

    With it, how many runs it had then that it has no more.
    """
    from experience.backends import open_backend
    from experience.memory import Memory
    from experience.tell.past import gone_since, store_as_of

    if not settings.db.exists() and not create:
        remark(f"there is no store at {settings.db} yet, so there is nothing to tell of earlier runs")
        settings = replace(settings, db=Path(":memory:"))
    with Memory.open(settings.db, settings.backend, settings.encoder, settings.namespace, create=True) as memory:
        if as_of is None:
            refresh_with_bar(memory)
            yield memory, 0
            return
        with store_as_of(memory.store, as_of) as then:
            past = Memory(then, open_backend(settings.backend, then, settings.encoder))
            refresh_with_bar(past)
            yield past, gone_since(memory.store, as_of)


def keep_receipt(memory: "Memory", run_id: str, told: "Brief | Payload") -> None:
    """Keep what a run is told, and say how to tie the run to it."""
    from experience.tell.receipts import Receipts

    receipt = Receipts(memory.store).add(run_id, told)
    remark(f"kept as receipt {receipt.id} of the run {run_id}; record it under that run id")


def remark_left_out(contents: "Contents") -> None:
    """Say how much there was no room for."""
    if contents.left_out:
        remark(f"left out for want of room: {len(contents.left_out)}; --json names them")


def _brief_json(found: "Brief", gone: int) -> dict[str, Any]:
    from experience.tell.contents import text_hash

    return {
        "text": found.text,
        "hash": text_hash(found.text),
        "cost": found.cost,
        "gone": gone,
        **found.contents.to_json(),
    }
