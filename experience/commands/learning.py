"""`distill`, `flags`, `revise`: what is learned from runs."""

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experience.commands.common import Settings, print_json, refresh_with_bar, remark, wants_json
from experience.errors import InvalidInput

if TYPE_CHECKING:
    from experience.learn.batch import Report
    from experience.learn.distill import Complete
    from experience.learn.folder import SkillFolder
    from experience.memory import Memory

F = TypeVar("F", bound=Callable[..., object])


def skills_folder(function: F) -> F:
    """Where skills lie: `--skills DIR`, or where an agent looks for them."""
    options = (
        click.option("--skills", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="The folder of skills.  [default: .agents/skills]"),
        click.option("--agent", metavar="NAME", help="The folder where this agent looks, such as claude-code."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def folder_from(skills: Path | None, agent: str | None) -> "SkillFolder":
    """The folder that these options name."""
    from experience.learn.folder import SkillFolder

    if skills is not None and agent is not None:
        raise click.UsageError("say --skills or --agent, not both")
    return SkillFolder(skills) if skills is not None else SkillFolder.of_agent(agent or "agents")


def models(function: F) -> F:
    """Which language model to ask, if any."""
    options = (
        click.option("--model", metavar="CMD", help="A command that reads a prompt on standard input and answers."),
        click.option("--llm", metavar="MODEL", help="A model of the package llm (pip install 'hardwon[llm]')."),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=120.0, show_default=True, help="Seconds that --model may take."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def model_from(model: str | None, llm: str | None, timeout: float) -> "Complete | None":
    """The model that these options name."""
    from experience.learn.models import command_model, llm_model

    if model is not None and llm is not None:
        raise click.UsageError("say --model or --llm, not both")
    return command_model(model, timeout) if model is not None else llm_model(llm) if llm is not None else None


def whoever() -> str:
    """The user's name, for the record; empty where the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return os.environ.get("USER", "")


def vectors(settings: Settings) -> "Memory":
    """The memory, with vectors of what was recorded."""
    if settings.backend == "keyword":
        raise InvalidInput("this needs vectors of situations; use the backend hybrid or embedding")
    memory = settings.memory()
    refresh_with_bar(memory)
    return memory


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
    with vectors(settings) as memory:
        with click.progressbar(length=0, label="distilling", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:

            def advance(done: int, total: int) -> None:
                bar.length = total
                bar.update(done - bar.pos)

            report = distill_all(memory, policy, complete, existing=found.skills, progress=advance)
        approved = _approve(memory, report, folder) if approve else []
    _tell(settings, report, approved)


def _approve(memory: "Memory", report: "Report", folder: "SkillFolder") -> list[str]:
    from experience.learn.library import SkillLibrary

    library = SkillLibrary(memory.store)
    clean = [draft for draft in report.drafts if not draft.hazards]
    return [library.approve(draft.id, folder, by=whoever()).name for draft in clean]


def _tell(settings: Settings, report: "Report", approved: list[str]) -> None:
    from experience.learn import reports

    if settings.json:
        print_json({**reports.report_json(report), "approved": approved})
    else:
        for line in reports.report_lines(report):
            click.echo(line)
        if approved:
            remark(f"approved: {', '.join(approved)}")
        if len(report.drafts) > len(approved):
            remark("read a draft: experience skills show ID; then: experience skills approve ID")
    for error in report.errors:
        remark(error)
    if report.errors:
        raise click.exceptions.Exit(1)


@click.command()
@skills_folder
@wants_json
@click.pass_obj
def flags(settings: Settings, /, **named: Any) -> None:
    """Name the skills that runs convict of doing harm, and what their failures look like."""
    from experience.learn import reports
    from experience.learn.oversight import health_of_skills

    with vectors(settings) as memory:
        health = health_of_skills(memory, folder_from(**named))
    convicted = [one for one in health if one.convicted]
    if settings.json:
        print_json([reports.health_json(one) for one in convicted])
        return
    for one in convicted:
        for line in reports.health_lines(one):
            click.echo(line)
    if not convicted:
        remark(f"no flag; {len(health)} skills were followed by some run")


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
    with vectors(settings) as memory:
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
