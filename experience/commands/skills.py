"""`skills` and what is under it: drafts, versions and their health."""

from dataclasses import asdict
from typing import Any

import click

from experience.commands import deciding
from experience.commands.common import Settings, count, print_json, remark, wants_json, width
from experience.commands.options import folder_from, library_of, memory_with_vectors, print_health, skills_folder
from experience.errors import NotFound
from experience.screen import visible


@click.group()
def skills() -> None:
    """Look at skills and drafts, and decide about them."""


@skills.command("list")
@click.option("--retired", is_flag=True, help="Retired ones too.")
@skills_folder
@wants_json
@click.pass_obj
def list_(settings: Settings, /, *, retired: bool, **named: Any) -> None:
    """List skills, of the store and of the folder, and how both agree."""
    from experience.learn import reports
    from experience.learn.oversight import standings

    folder = folder_from(**named)
    with settings.store() as store:
        found = standings(library_of(store), folder, retired=retired)
    for problem in folder.scan().problems:
        remark(f"{problem.folder}: {problem.message}")
    if settings.json:
        print_json([reports.standing_json(one) for one in found])
        return
    for one in found:
        click.echo(reports.standing_line(one, width()))
    if not found:
        remark(f"no skills, neither in the store nor in {folder.root}")


@skills.command()
@click.argument("which", metavar="NAME|DRAFT")
@skills_folder
@wants_json
@click.pass_obj
def show(settings: Settings, /, which: str, **named: Any) -> None:
    """Show a draft by its number, or a skill by its name."""
    from experience.learn import reports
    from experience.learn.oversight import standing

    with settings.store() as store:
        library = library_of(store)
        if which.isdecimal() and any(str(draft.id) == which for draft in library.drafts(None)):
            draft = library.draft(int(which))
            if settings.json:
                print_json(reports.draft_json(draft))
            else:
                click.echo(reports.draft_page(draft))
            return
        found = standing(library, folder_from(**named), which)
    if settings.json:
        print_json({**reports.standing_json(found), "text": found.text})
    else:
        known = reports.version_line(found.version) if found.version else "   -"
        remark(f"{known}  ({found.state})")
        click.echo(visible(found.text), nl=False)


@skills.command()
@click.option("--all", "every", is_flag=True, help="Those decided about too.")
@wants_json
@click.pass_obj
def drafts(settings: Settings, /, *, every: bool) -> None:
    """List drafts that wait."""
    from experience.learn import reports

    with settings.store() as store:
        found = library_of(store).drafts(None if every else "waiting")
    if settings.json:
        print_json([reports.draft_json(draft) for draft in found])
        return
    for draft in found:
        click.echo(reports.draft_line(draft))
    if not found:
        remark("no draft waits; experience distill makes them")


@skills.command()
@click.argument("name")
@wants_json
@click.pass_obj
def history(settings: Settings, /, name: str) -> None:
    """List the versions of the skill NAME."""
    from experience.learn import reports

    with settings.store() as store:
        versions = library_of(store).history(name)
    if settings.json:
        print_json([reports.version_json(version, text=True) for version in versions])
        return
    for version in versions:
        click.echo(reports.version_line(version))


@skills.command()
@click.argument("name")
@click.argument("old", type=int, required=False)
@click.argument("new", type=int, required=False)
@wants_json
@click.pass_obj
def diff(settings: Settings, /, name: str, old: int | None, new: int | None) -> None:
    """Show what changed between two versions of NAME: the last two, OLD and the newest, or OLD and NEW."""
    from experience.learn.versions import diff_text

    with settings.store() as store:
        library = library_of(store)
        newest = library.history(name)[-1]
        second = newest if new is None else library.version(name, new)
        first = library.version(name, old) if old is not None else library.version(name, max(1, second.number - 1))
    text = diff_text(first.content, second.content, f"{name} version {first.number}", f"{name} version {second.number}")
    if settings.json:
        print_json({"skill": name, "old": first.number, "new": second.number, "diff": text})
    else:
        click.echo(visible(text), nl=False)
        if not text:
            only = first.number == second.number
            remark(
                f"{name} has one version"
                if only
                else f"versions {first.number} and {second.number} of {name} are the same"
            )


@skills.command()
@wants_json
@click.pass_obj
def stale(settings: Settings, /) -> None:
    """List skills, drafts and flags built on runs of which another thing is said now."""
    from experience.learn.oversight import stale as find_stale

    with settings.store() as store:
        found = find_stale(store)
    if settings.json:
        print_json([asdict(one) for one in found])
        return
    for one in found:
        which = f"version {one.version}" if one.version else f"draft {one.draft}"
        click.echo(visible(f"{one.what} {one.skill} ({which}): run {one.episode} {one.was}, now {one.now}"))
    if not found:
        remark("nothing is stale")


@skills.command()
@skills_folder
@wants_json
@click.pass_obj
def lint(settings: Settings, /, **named: Any) -> None:
    """Look for what keeps the folder's skills from being found or followed; exit code 1 on errors."""
    from experience.learn.lint import lint as lint_one
    from experience.learn.lint import lint_together

    found = folder_from(**named).scan()
    findings = [finding for skill in found.skills for finding in lint_one(skill)]
    findings += lint_together(found.skills)
    rows = [{"skill": p.folder, "rule": "E0", "severity": "error", "message": p.message} for p in found.problems]
    rows += [finding._asdict() for finding in findings]
    if settings.json:
        print_json(rows)
    for row in [] if settings.json else rows:
        click.echo(visible(f"{row['severity']:<8} {row['rule']}  {row['skill']}: {row['message']}"))
    if not rows and not settings.json:
        remark(f"{count(len(found.skills), 'skill')}, nothing to say")
    if any(row["severity"] == "error" for row in rows):
        raise click.exceptions.Exit(1)


@skills.command()
@click.argument("name", required=False)
@skills_folder
@wants_json
@click.pass_obj
def health(settings: Settings, /, name: str | None, **named: Any) -> None:
    """Say how each skill does (or only NAME), from the runs that followed it, the most suspect first."""
    from experience.learn.oversight import health_of_skills

    with memory_with_vectors(settings) as memory:
        found = health_of_skills(memory, folder_from(**named))
    chosen = [one for one in found if name in (None, one.skill)]
    if name is not None and not chosen:
        raise NotFound(f"no run has followed a skill {name!r}")
    print_health(settings, chosen)
    if not chosen and not settings.json:
        remark("no run has followed a skill")


for _command in (deciding.approve, deciding.reject, deciding.rollback, deciding.retire, deciding.export):
    skills.add_command(_command)
