"""`record`, `label`, `delete`: what changes the store by hand."""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import Settings, moment, print_record, remark, says, text_from

if TYPE_CHECKING:
    from experience.memory import Memory


@click.command()
@click.argument("situation")
@click.option("--outcome", required=True, help="How it ended; - reads it from standard input.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="A tool that was called; repeatable, in order.")
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="A skill that was followed; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag; repeatable.")
@click.option("--success/--failure", default=None, help="Whether it worked.  [default: nobody has said]")
@click.option("--run-id", help="The run's own name: recording it twice is recording it once.")
@click.option("--supersede", is_flag=True, help="Take the place of an older version of the same run.")
@click.option("--started-at", callback=moment, metavar="TIME", help="When the run began (ISO 8601, UTC).")
@says
@click.option("--expires-in", type=click.FloatRange(min=0), metavar="DAYS", help="Forget it after so many days.")
@click.pass_obj
def record(settings: Settings, /, situation: str, expires_in: float | None, **given: Any) -> None:
    """Record a run. SITUATION is what was asked; - reads it from standard input.

    Prints the episode's id.
    """
    from experience.episode import Episode
    from experience.recalled import without_recalled

    if situation == given["outcome"] == "-":
        raise click.UsageError("only one of SITUATION and --outcome can be read from standard input")
    statement = {name: given.pop(name) for name in ("supersede", "kind", "by", "evidence")}
    episode = Episode(text_from(situation), text_from(given.pop("outcome")), **given)
    expires_at = None if expires_in is None else datetime.now(UTC) + timedelta(days=expires_in)
    with settings.open(create=True, backend="keyword") as memory:
        id = memory.record(episode, expires_at=expires_at, **statement)
    if without_recalled(episode) is not episode:
        remark("a recalled block was taken out: a run does not learn its own brief")
    click.echo(json.dumps({"id": id}) if settings.json else id)


@click.command()
@click.argument("id", type=int)
@click.option("--success", "said", flag_value="success", help="It worked.")
@click.option("--failure", "said", flag_value="failure", help="It did not.")
@click.option("--withdraw", "said", flag_value="withdraw", help="Take back the label that counts, or --label.")
@click.option("--label", "label_id", type=int, metavar="NUMBER", help="With --withdraw: which one (see show).")
@says
@click.pass_obj
def label(
    settings: Settings, /, id: int, said: str | None, label_id: int | None, kind: str, by: str, evidence: str
) -> None:
    """Say whether run ID worked, now that it is known; or take a label back.

    The latest label of the best class counts: verifier, human, host, exit_code, self_claim.
    """
    if said is None:
        raise click.UsageError("say --success, --failure or --withdraw")
    if label_id is not None and said != "withdraw":
        raise click.UsageError("--label goes with --withdraw")
    with settings.open(backend="keyword") as memory:
        if said == "withdraw":
            memory.withdraw(id, label_id, by=by, evidence=evidence)
        else:
            memory.label(id, said == "success", kind=kind, by=by, evidence=evidence)
        print_record(settings, memory, id)


@click.command()
@click.argument("ids", type=int, nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Delete the whole namespace; asks twice.")
@click.option("--expired", is_flag=True, help="Delete what has expired, and is hidden already.")
@click.option("--confirm", metavar="NAMESPACE", help="With --all: the namespace's name, instead of being asked.")
@click.pass_obj
def delete(settings: Settings, /, ids: tuple[int, ...], everything: bool, expired: bool, confirm: str | None) -> None:
    """Delete runs for good: rows, index entries, vectors, labels, and their traces in the file."""
    if (bool(ids) + everything + expired) != 1:
        raise click.UsageError("say which: ids, --all, or --expired")
    with settings.open(backend="keyword") as memory:
        if everything:
            _ask_twice(settings.namespace, memory.count(), confirm)
            gone = memory.store.delete_namespace()
        elif expired:
            gone = memory.store.delete_expired()
        else:
            gone = _delete_ids(memory, ids)
        memory.store.compact()
    remark(f"deleted {gone} episodes")


def _delete_ids(memory: "Memory", ids: tuple[int, ...]) -> int:
    """Delete all of them or, when one is not there, none."""
    gone: set[int] = set()
    with memory.store.write():
        for id in ids:
            if id not in gone:
                gone.update(memory.delete(id))
    return len(gone)


def _ask_twice(namespace: str, count: int, confirm: str | None) -> None:
    if confirm is None:
        click.confirm(f"Delete all {count} episodes of the namespace {namespace!r}?", abort=True, err=True)
        confirm = click.prompt("This cannot be undone. Type the namespace's name", err=True)
    if confirm != namespace:
        raise click.ClickException(f"got {confirm!r}, which is not the namespace {namespace!r}; nothing was deleted")
