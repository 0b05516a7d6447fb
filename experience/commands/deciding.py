"""`skills approve`, `reject`, `rollback`, `retire`, `export`: what a person decides about skills."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import Settings, print_json, remark, wants_json
from experience.commands.options import folder_from, library_of, skills_folder, whoever
from experience.errors import NotFound
from experience.screen import visible

if TYPE_CHECKING:
    from experience.learn.folder import SkillFolder
    from experience.learn.library import SkillLibrary
    from experience.learn.versions import Draft

by_option = click.option("--by", default=whoever, show_default="the user", metavar="NAME", help="Who decides.")


def _waiting(library: "SkillLibrary", which: str) -> "Draft":
    """The draft of this number, or the one that waits for a skill of this name."""
    if which.isdecimal() and len(which) < 19:  # noqa: PLR2004 (what SQLite can hold)
        return library.draft(int(which))
    if draft := library.waiting(which):
        return draft
    raise NotFound(f"no draft waits for {which!r}; see: experience skills drafts")


@click.command()
@click.argument("which", nargs=-1, required=True, metavar="DRAFT...")
@click.option("--despite-hazards", is_flag=True, help="Also where the screen has found something; read it first.")
@by_option
@skills_folder
@wants_json
@click.pass_obj
def approve(settings: Settings, /, which: tuple[str, ...], *, despite_hazards: bool, by: str, **named: Any) -> None:
    """Make drafts the newest versions of their skills, and write them into the folder."""
    from experience.learn import reports

    folder = folder_from(**named)
    made = []
    with settings.store() as store:
        library = library_of(store)
        for one in which:
            version = library.approve(_waiting(library, one).id, folder, by=by, despite_hazards=despite_hazards)
            made.append(reports.version_json(version))
            remark(f"{version.name} version {version.number} is in {folder.path(version.name)}")
    if settings.json:
        print_json(made)


@click.command()
@click.argument("which", metavar="DRAFT")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept.")
@by_option
@skills_folder
@wants_json
@click.pass_obj
def reject(settings: Settings, /, which: str, reason: str, by: str, **named: Any) -> None:
    """Refuse a draft for good; it is not made again from the same runs."""
    from experience.learn import reports

    with settings.store() as store:
        library = library_of(store)
        draft = library.reject(_waiting(library, which).id, reason, by=by, folder=folder_from(**named))
    if settings.json:
        print_json(reports.draft_json(draft))
    else:
        remark(f"draft {draft.id} ({draft.name}) is rejected")


@click.command()
@click.argument("name")
@click.argument("version", type=int, required=False)
@click.option("--note", default="", metavar="TEXT", help="Why; it is kept.")
@by_option
@skills_folder
@wants_json
@click.pass_obj
def rollback(settings: Settings, /, name: str, version: int | None, note: str, by: str, **named: Any) -> None:
    """Bring back VERSION of the skill NAME, by default the one that the newest came from."""
    from experience.learn import reports

    folder = folder_from(**named)
    with settings.store() as store:
        made = library_of(store).rollback(name, folder, by=by, number=version, note=note)
    if settings.json:
        print_json(reports.version_json(made))
    else:
        remark(f"{name} is as in version {made.parent} again, as version {made.number}")


@click.command()
@click.argument("name")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept.")
@by_option
@skills_folder
@wants_json
@click.pass_obj
def retire(settings: Settings, /, name: str, reason: str, by: str, **named: Any) -> None:
    """Take the skill NAME out of the folder; its history stays, and rollback brings it back."""
    from experience.learn import reports

    folder = folder_from(**named)
    with settings.store() as store:
        made = library_of(store).retire(name, folder, by=by, reason=reason)
    if settings.json:
        print_json(reports.version_json(made))
    else:
        remark(f"{name} is retired; experience skills rollback {name} brings it back")


@click.command()
@click.argument("name", nargs=-1)
@skills_folder
@click.option("--user", is_flag=True, help="Where the agent looks in every project, below your home.")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The project's folder.  [default: where you are]",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Remove files of retired skills, where they are as this store wrote them; never a link.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would become of each.")
@wants_json
@click.pass_obj
def export(settings: Settings, /, name: tuple[str, ...], *, prune: bool, dry_run: bool, **where: Any) -> None:
    """Write the newest versions of all skills in use (or of NAME) where an agent reads them.

    Nothing but files that this store wrote is touched, and only as it wrote them; no link within the folder is
    written through or removed. Exit code 1 when a skill in use was left alone; a retired one does not count.
    """
    from experience.learn.placing import LEFT, place

    folder = _export_folder(**where)
    with settings.store() as store:
        placed = place(library_of(store), folder, name, prune=prune, dry_run=dry_run)
    if settings.json:
        print_json([{"skill": one.skill, "state": one.state, "path": str(one.path), "why": one.why} for one in placed])
    for one in [] if settings.json else placed:
        click.echo(visible(f"{one.state:<10}  {one.path}{f': {one.why}' if one.why else ''}"))
    if dry_run:
        remark("nothing was changed: this is what would be")
    elif not placed:
        remark("no skill is in use; experience distill drafts them, experience skills approve takes them into use")
    if any(one.state == LEFT and one.wanted for one in placed):
        raise click.exceptions.Exit(1)


def _export_folder(skills: Path | None, agent: str | None, *, user: bool, project: Path | None) -> "SkillFolder":
    """The folder that these options name, in a project or below the user's home."""
    from experience.learn.folder import SkillFolder

    if sum((skills is not None, user, project is not None)) > 1:
        raise click.UsageError("say one of --skills, --user and --project")
    if skills is not None:
        return folder_from(skills, agent)
    return SkillFolder.of_agent(agent or "agents", project or ".", home=Path.home() if user else None)
