"""What the commands about skills share: where skills lie, which language model to ask, who decides."""

import getpass
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from experience.commands.common import Settings, print_json, refresh_with_bar
from experience.errors import InvalidInput

if TYPE_CHECKING:
    from experience.learn.distill import Complete
    from experience.learn.folder import SkillFolder
    from experience.learn.health import SkillHealth
    from experience.learn.library import SkillLibrary
    from experience.memory import Memory
    from experience.store import SqliteStore

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


def memory_with_vectors(settings: Settings) -> "Memory":
    """The memory, with vectors of what was recorded."""
    if settings.backend == "keyword":
        raise InvalidInput("this needs vectors of situations; use the backend hybrid or embedding")
    memory = settings.memory()
    refresh_with_bar(memory)
    return memory


def library_of(store: "SqliteStore") -> "SkillLibrary":
    """The skills of a store."""
    from experience.learn.library import SkillLibrary

    return SkillLibrary(store)


def print_health(settings: Settings, found: "Sequence[SkillHealth]") -> None:
    """How skills do, as JSON or in lines."""
    from experience.learn import reports

    if settings.json:
        print_json([reports.health_json(one) for one in found])
        return
    for one in found:
        for line in reports.health_lines(one):
            click.echo(line)
