"""`record`, `label`, `delete`: what changes the store by hand."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import (
    Settings,
    count,
    masks,
    moment,
    print_record,
    remark,
    remark_masked,
    says,
    text_from,
    verdict,
)

if TYPE_CHECKING:
    from experience.hygiene import Masking


@click.command()
@click.argument("situation")
@click.option("--outcome", required=True, help="How it ended; - reads it from standard input.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="A tool that was called; repeatable, in order.")
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="A skill that was followed; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag; repeatable.")
@verdict("It worked.", "It did not.  [default: nobody has said]")
@click.option("--run-id", help="The run's own name: recording it twice is recording it once.")
@click.option("--supersede", is_flag=True, help="Take the place of an older version of the same run.")
@click.option("--started-at", callback=moment, metavar="TIME", help="When the run began (ISO 8601, UTC).")
@says
@click.option("--expires-in", type=click.IntRange(0, 1_000_000), metavar="DAYS", help="Forget it after so many days.")
@masks
@click.pass_obj
def record(settings: Settings, /, situation: str, expires_in: int | None, masking: "Masking", **given: Any) -> None:
    """Record a run. SITUATION is what was asked; - reads it from standard input.

    Secrets are masked first. Prints the episode's id.
    """
    from experience.echoes import without_recalled
    from experience.episode import Episode
    from experience.store import unmasked

    if situation == given["outcome"] == "-":
        raise click.UsageError("only one of SITUATION and --outcome can be read from standard input")
    statement = {name: given.pop(name) for name in ("supersede", "kind", "by", "evidence")}
    episode = Episode(text_from(situation), text_from(given.pop("outcome")), **given)
    told = without_recalled(episode)
    clean, counts = masking.episode(told)
    statement["evidence"] = masking.text(statement["evidence"])
    with settings.store(create=True) as store:
        expires_at = None if expires_in is None else store.now() + timedelta(days=expires_in)
        id = store.record(clean, expires_at=expires_at, unmasked=unmasked(told, clean), **statement).id
    remark_masked(counts)
    if told is not episode:
        remark("a recalled block was taken out: a run does not learn its own brief")
    click.echo(json.dumps({"id": id}) if settings.json else id)


@click.command()
@click.argument("id", type=int, required=False)
@click.option("--run-id", help="The run by its own name, instead of ID: the newest record of it.")
@verdict("It worked.", "It did not.")
@click.option("--withdraw", is_flag=True, help="Take back the label that counts, or --label.")
@click.option("--label", "label_id", type=int, metavar="NUMBER", help="With --withdraw: which one (see show).")
@says
@masks
@click.pass_obj
def label(
    settings: Settings,
    /,
    id: int | None,
    run_id: str | None,
    success: bool | None,
    withdraw: bool,
    label_id: int | None,
    masking: "Masking",
    **said: Any,
) -> None:
    """Say whether run ID worked, now that it is known; or take a label back.

    The latest label of the best class counts: verifier, human, host, exit_code, self_claim.
    """
    if (success is not None) + withdraw != 1:
        raise click.UsageError("say one of --success, --failure and --withdraw")
    if label_id is not None and not withdraw:
        raise click.UsageError("--label goes with --withdraw")
    if (id is None) == (run_id is None):
        raise click.UsageError("say which run: ID or --run-id")
    said["evidence"] = masking.text(said["evidence"])
    with settings.store() as store:
        chosen = store.get_run(run_id).id if id is None and run_id is not None else id or 0
        if success is None:
            store.withdraw(chosen, label_id, by=said["by"], evidence=said["evidence"])
        else:
            store.add_label(chosen, success, **said)
        print_record(settings, store, chosen)


@click.command()
@click.argument("ids", type=int, nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Delete the whole namespace; asks twice.")
@click.option("--expired", is_flag=True, help="Delete what has expired, and is hidden already.")
@click.option("--confirm", metavar="NAMESPACE", help="With --all: the namespace's name, instead of being asked.")
@click.pass_obj
def delete(settings: Settings, /, ids: tuple[int, ...], everything: bool, expired: bool, confirm: str | None) -> None:
    """Delete runs for good: rows, older versions, index entries, vectors, labels, and their traces in the file."""
    if (bool(ids) + everything + expired) != 1:
        raise click.UsageError("say which: ids, --all, or --expired")
    if confirm is not None and not everything:
        raise click.UsageError("--confirm goes with --all")
    with settings.store() as store:
        if everything:
            _ask_twice(settings.namespace, store.total(), confirm)
            gone = store.delete_namespace()
        elif expired:
            gone = store.delete_expired()
        else:
            gone = len(store.delete(*ids))
        emptied = store.compact()
    remark(f"deleted {count(gone, 'record')}")
    if not emptied:
        remark("another process is reading: traces stay in the file's log until it has ended and delete runs again")


def _ask_twice(namespace: str, total: int, confirm: str | None) -> None:
    if confirm is None:
        click.confirm(f"Delete all {count(total, 'record')} of the namespace {namespace!r}?", abort=True, err=True)
        confirm = click.prompt("This cannot be undone. Type the namespace's name", err=True)
    if confirm != namespace:
        raise click.ClickException(f"got {confirm!r}, which is not the namespace {namespace!r}; nothing was deleted")
