"""`distill`, `flags`, `revise`: what is learned from runs."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from experience.commands.common import Settings, count, print_json, remark, wants_json
from experience.commands.options import (
    folder_from,
    library_of,
    memory_with_vectors,
    model_from,
    models,
    print_health,
    skills_folder,
    whoever,
)

if TYPE_CHECKING:
    from experience.learn.batch import Report
    from experience.learn.folder import SkillFolder
    from experience.learn.library import SkillLibrary


@click.command()
@click.option("--min-support", type=click.IntRange(min=1), default=2, show_default=True, help="Successes of one kind.")
@click.option("--trust-self-claim", is_flag=True, help="Count successes that only the agent itself claims.")
@models
@click.option("--approve", is_flag=True, help="Approve the new drafts at once, but for those with hazards.")
@skills_folder
@wants_json
@click.pass_obj
def distill(settings: Settings, /, min_support: int, *, trust_self_claim: bool, approve: bool, **named: Any) -> None:
    """Draft skills from all runs that worked; the drafts wait until they are approved."""
    from experience.learn.batch import distill_all
    from experience.learn.gate import DistillPolicy

    folder = folder_from(named["skills"], named["agent"])
    complete = model_from(named["model"], named["llm"], named["timeout"])
    policy = DistillPolicy(min_support=min_support, trust_self_claim=trust_self_claim)
    found = folder.scan()
    for problem in found.problems:
        remark(f"{problem.folder} is left out: {problem.message}")
    with memory_with_vectors(settings) as memory:
        with click.progressbar(length=0, label="distilling", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

            def advance(done: int, total: int) -> None:
                bar.length = total
                bar.update(done - bar.pos)

            report = distill_all(memory, policy, complete, existing=found.skills, progress=advance)
        library = library_of(memory.store)
        approved = _approve(library, report, folder) if approve else []
        waiting = len(library.drafts())
        report = replace(report, drafts=tuple(library.draft(draft.id) for draft in report.drafts))  # as decided
    _tell(settings, report, approved, waiting)


def _approve(library: "SkillLibrary", report: "Report", folder: "SkillFolder") -> list[str]:
    """Approve what has no hazard; what somebody else was faster with is told, and keeps waiting."""
    from experience.errors import SkillConflict

    approved = []
    for draft in report.drafts:
        if draft.hazards:
            continue
        try:
            approved.append(library.approve(draft.id, folder, by=whoever()).name)
        except SkillConflict as error:
            remark(f"not approved: {error}")
    return approved


def _tell(settings: Settings, report: "Report", approved: list[str], waiting: int) -> None:
    from experience.learn import reports

    if settings.json:
        print_json({**reports.report_json(report), "approved": approved})
    else:
        click.echo(_headline(report))
        for line in reports.report_lines(report):
            click.echo(line)
        if approved:
            remark(f"approved: {', '.join(approved)}")
        if waiting:
            remark(
                f"{count(waiting, 'draft')} waiting; read one: experience skills show DRAFT; then: experience skills approve DRAFT"
            )
    for error in report.errors:
        remark(f"Error: {error}")
    if report.errors:
        raise click.exceptions.Exit(1)


def _headline(report: "Report") -> str:
    if report.nothing_new:
        return "Nothing has changed since the last time."
    successes = count(report.successes, "success", "successes")
    return f"{count(report.runs, 'run')}, {successes} of {count(report.groups, 'kind')}."


@click.command()
@skills_folder
@wants_json
@click.pass_obj
def flags(settings: Settings, /, **named: Any) -> None:
    """Name the skills that runs convict of doing harm, and what their failures look like."""
    from experience.learn.health import HealthPolicy
    from experience.learn.health import flags as flagged
    from experience.learn.oversight import health_of_skills

    with memory_with_vectors(settings) as memory:
        health = health_of_skills(memory, folder_from(**named))
    convicted = flagged(health)
    print_health(settings, convicted)
    if not convicted and not settings.json:
        most = HealthPolicy().false_discovery_rate
        closest = (
            f"; the closest is {health[0].skill}, q {health[0].q_value:.2f}, where at most {most} convicts"
            if health
            else ""
        )
        remark(f"no flag; {count(len(health), 'skill')} followed by some run{closest}")


@click.command()
@click.argument("name")
@click.option("--episode", type=int, metavar="ID", help="A run that shows the fault; then no flag is needed.")
@click.option("--complaint", default="", metavar="TEXT", help="What is wrong with the skill, in your words.")
@models
@skills_folder
@wants_json
@click.pass_obj
def revise(settings: Settings, /, name: str, episode: int | None, complaint: str, **named: Any) -> None:
    """Propose a revision of the skill NAME, which waits until it is approved."""
    from experience.learn import reports
    from experience.learn.oversight import propose
    from experience.learn.versions import Draft

    folder = folder_from(named["skills"], named["agent"])
    complete = model_from(named["model"], named["llm"], named["timeout"])
    with memory_with_vectors(settings) as memory:
        made = propose(memory, folder, name, complete=complete, episode=episode, complaint=complaint)
    if settings.json:
        print_json(reports.draft_json(made) if isinstance(made, Draft) else {"refused": reports.reason_json(made)})
    elif isinstance(made, Draft):
        click.echo(reports.draft_page(made))
        remark(f"approve it: experience skills approve {made.id}")
    else:
        remark(f"not revised: {made}")
    if not isinstance(made, Draft):
        raise click.exceptions.Exit(1)
