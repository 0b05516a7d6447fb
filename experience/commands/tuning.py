"""`tune`: learn on the store's own history how much words should weigh beside meaning."""

from typing import TYPE_CHECKING

import click

from experience.commands.common import Settings, count, print_json, progress_bar, refresh_with_bar, remark, wants_json
from experience.errors import InvalidInput

if TYPE_CHECKING:
    from experience.backends.tuning import Tuned


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would come of it.")
@click.option("--forget", is_flag=True, help="Go back to what every store begins with.")
@wants_json
@click.pass_obj
def tune(settings: Settings, /, dry_run: bool, forget: bool) -> None:
    """Learn on runs that share tools, skills or tags how much words should weigh in recall."""
    from dataclasses import asdict

    if dry_run and forget:
        raise click.UsageError("say --dry-run or --forget, not both")
    if settings.backend != "hybrid":
        raise InvalidInput(f"the backend is {settings.backend}; only hybrid has something to tune")
    with settings.memory() as memory:
        from experience.backends.hybrid import HybridBackend
        from experience.backends.tuning import keep, tuned

        assert isinstance(memory.backend, HybridBackend)  # noqa: S101 (the settings say so)
        if forget:
            was = memory.backend.lean()
            keep(memory.store, memory.backend, 0.0)
            if settings.json:
                print_json({"lean": 0.0, "was": was, "kept": True})
            remark("words weigh what they weigh in every store")
            return
        refresh_with_bar(memory)
        with progress_bar("asking") as going_on:
            found = tuned(memory.store, memory.backend, going_on)
        kept = found.better and not dry_run
        if kept:
            keep(memory.store, memory.backend, found.lean)
    if settings.json:
        print_json({**asdict(found), "gain": list(found.gain), "better": found.better, "kept": kept})
    else:
        _say(found, kept=kept)


def _say(found: "Tuned", *, kept: bool) -> None:
    if not found.asked:
        remark("too few runs share tools, skills or tags with others; nothing to learn from, nothing changed")
        return
    low, high = found.gain
    click.echo(f"held-out nDCG@10  {found.before:.3f} before, {found.after:.3f} after ({low:+.3f} to {high:+.3f})")
    click.echo(
        f"lean to words     {found.was:+.2f} before, {found.lean:+.2f} after, learned from {count(found.asked, 'run')}"
    )
    if found.better:
        remark("kept" if kept else "would be kept")
    else:
        remark("not better by more than chance; nothing changed")
