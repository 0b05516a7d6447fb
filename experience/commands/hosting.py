"""`install`, `uninstall`, `hook`: the library inside the programs in which agents run."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from experience.commands.common import Settings, remark
from experience.errors import ExperienceError, InvalidInput
from experience.hosts import claude_code
from experience.screen import visible

if TYPE_CHECKING:
    from experience.hosts.settings import Change

_PATIENCE = 2.0  # seconds that a session is held up at most by somebody else who writes the store
_TROUBLE = (ExperienceError, OSError, ImportError, ValueError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError)  # fmt: skip

F = TypeVar("F", bound=Callable[..., object])


def where(function: F) -> F:
    """Which settings are meant, and whether they are only looked at."""
    options = (
        click.option("--project", "scope", flag_value="project", default=True, help="The project's .claude/settings.json (the default)."),
        click.option("--user", "scope", flag_value="user", help="~/.claude/settings.json, for every project."),
        click.option("--settings", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH", help="Another file of settings, such as .claude/settings.local.json."),
        click.option("--dry-run", is_flag=True, help="Only show what would change."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@click.group()
def install() -> None:
    """Let a host call this library by itself."""


@install.command("claude-code")
@where
@click.option("--on-prompt", is_flag=True, help="Also tell of similar runs whenever something is asked.")
@click.option("--mcp", is_flag=True, help="Also add the server to .mcp.json, for this project.")
@click.pass_obj
def install_claude_code(
    given: Settings, /, scope: str, settings: Path | None, *, dry_run: bool, on_prompt: bool, mcp: bool
) -> None:  # fmt: skip
    """Write hooks into Claude Code's settings: a brief at a session's start, its import at the end. Nothing else changes."""
    path = _settings_path(scope, settings)
    command = _command(given)
    if mcp and scope == "user":
        raise click.UsageError(
            "--mcp is for a project; for all of yours let Claude Code add it: "
            f"claude mcp add --scope user {claude_code.SERVER} -- {shlex.join([*command, 'mcp'])}"
        )
    names = ["session-start", "session-end", *(["user-prompt-submit"] if on_prompt else [])]
    commands = {claude_code.EVENTS[name]: shlex.join([*command, "hook", name]) for name in names}
    changes = [_planned(path, lambda text: claude_code.with_hooks(text, commands, str(path)))]
    servers = Path(".mcp.json")
    if mcp:
        changes.append(
            _planned(
                servers,
                lambda text: claude_code.with_server(text, command[0], [*command[1:], "mcp"], str(servers)),
            )
        )
        if find_spec("mcp") is None:
            remark("the server will not start before its package is there: pip install 'hardwon[mcp]'")
    _carry_out(changes, dry_run=dry_run)
    _remark_earlier(changes[0], names, None if mcp or scope == "user" else servers, [*command, "mcp"])


@click.group()
def uninstall() -> None:
    """Take this library out of a host's settings again."""


@uninstall.command("claude-code")
@where
def uninstall_claude_code(scope: str, settings: Path | None, *, dry_run: bool) -> None:
    """Take our hooks out of Claude Code's settings, and our server out of .mcp.json. Nothing else changes."""
    path, servers = _settings_path(scope, settings), Path(".mcp.json")
    changes = [_planned(path, lambda text: None if text is None else claude_code.without_hooks(text, str(path)))]
    if scope == "project":
        changes.append(
            _planned(servers, lambda text: None if text is None else claude_code.without_server(text, str(servers)))
        )
    _carry_out(changes, dry_run=dry_run)


@click.group()
def hook() -> None:
    """What a host calls: each reads the host's JSON on standard input, and never fails the host's session."""


@hook.command("session-start")
@click.pass_obj
def session_start(settings: Settings, /) -> None:
    """Print the brief for a session that begins, as its host takes it."""
    from experience.hosts.hooks import at_session_start

    # A folder's name has no meaning to embed, and a session should not wait for a model.
    _tell(settings, "keyword", at_session_start)


@hook.command("user-prompt-submit")
@click.pass_obj
def user_prompt_submit(settings: Settings, /) -> None:
    """Print the brief for a prompt, as its host takes it; nothing when nothing similar is known."""
    from experience.hosts.hooks import at_prompt

    _tell(settings, settings.backend, at_prompt)


@hook.command("session-end")
@click.pass_obj
def session_end(settings: Settings, /) -> None:
    """Import the transcript of a session that has ended."""
    from experience.hosts.hooks import at_session_end

    with _never_failing():
        said = _heard()
        with settings.store(create=True) as store:
            at_session_end(store, said)


def _tell(settings: Settings, backend: str, telling: Callable[..., dict[str, Any] | None]) -> None:
    from experience.memory import Memory

    with _never_failing():
        said = _heard()
        if not settings.db.exists():
            remark(f"there is no store at {settings.db} yet, so there is nothing to tell of earlier runs")
            return
        with Memory.open(settings.db, backend, settings.encoder, settings.namespace, create=False) as memory:
            memory.store.wait_at_most(_PATIENCE)
            answer = telling(memory, said, shlex.join(_command(settings)))
        if answer is not None:
            click.echo(json.dumps(answer))


def _heard() -> Mapping[str, Any]:
    """What the host says. Raises InvalidInput."""
    from experience.hosts.hooks import heard

    if sys.stdin is None:
        raise InvalidInput("the hook was told nothing, since standard input is closed; it is for a host to call")
    return heard(sys.stdin.buffer.read())


@contextmanager
def _never_failing() -> Iterator[None]:
    """Say what is wrong on standard error, and let the host's session go on."""
    try:
        yield
    except _TROUBLE as error:
        remark(f"the hook did nothing: {error if str(error) else type(error).__name__}")


def _command(settings: Settings) -> list[str]:
    """How this very installation is called from anywhere, for the same store.

    -P, since a folder called `experience` of the project that a host works in must not be run in our place.
    """
    chosen = ["--db", str(settings.db.absolute()), "--namespace", settings.namespace]
    chosen += ["--backend", settings.backend] if settings.backend != "hybrid" else []
    chosen += ["--encoder", settings.encoder] if settings.encoder is not None else []
    return [sys.executable, "-P", "-m", "experience", *chosen]


def _settings_path(scope: str, named: Path | None) -> Path:
    if named is not None:
        if scope == "user":
            raise click.UsageError("say --user or --settings, not both")
        return named
    return (Path.home() if scope == "user" else Path()) / ".claude" / "settings.json"


def _remark_earlier(change: "Change", names: list[str], servers: Path | None, command: list[str]) -> None:
    """What an earlier installation wrote and this one took out, or left although it is for another store."""
    if change.before is not None and (gone := claude_code.installed(change.before, str(change.path)) - set(names)):
        remark(f"{change.path}: the earlier hook {', '.join(sorted(gone))} goes, as it was not asked for again")
    with suppress(ExperienceError):  # what is no list of servers starts none of ours
        text = None if servers is None else _planned(servers, lambda text: text).before
        started = None if text is None else claude_code.served(text, str(servers))
        if started is not None and started != command:
            remark(f"{servers}: still starts the server as {shlex.join(started)}; install with --mcp to change that")


def _planned(path: Path, change: Callable[[str | None], str | None]) -> "Change":
    from experience.hosts.settings import planned

    return planned(path, change)


def _carry_out(changes: "list[Change]", *, dry_run: bool) -> None:
    """All changes, once all are known to be possible; what they are goes to standard output in a dry run."""
    from experience.hosts.settings import carry_out

    if not dry_run:
        carry_out(*changes)
    for change in changes:
        if change.before == change.after:
            remark(f"{change.path}: nothing to change")
        elif dry_run:
            click.echo(visible(change.diff()), nl=False)
        else:
            remark(f"{change.path}: {'removed' if change.after is None else 'written'}")
