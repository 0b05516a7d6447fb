"""`mcp`: the store as a server for agents."""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import click
from click.core import ParameterSource

from experience.commands.common import Settings, remark
from experience.errors import InvalidInput
from experience.protocols import LABEL_CLASSES


@click.command()
@click.option(
    "--http", is_flag=True, help="Serve streamable HTTP at /mcp of a port, instead of standard input and output."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="With --http; 0 takes a free one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --http: who brings the token in this file is let in.  [default: EXPERIENCE_MCP_TOKEN]",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="With --http: another name that clients reach it by; repeatable.",
)
@click.option(
    "--trust",
    type=click.Choice(LABEL_CLASSES),
    default="self_claim",
    show_default=True,
    help="The class of what report_outcome says.",
)
@click.option(
    "--agent",
    default="",
    envvar="EXPERIENCE_AGENT",
    metavar="NAME",
    help="Whose learnings are told and proposed.  [default: every agent's]",
)
@click.pass_context
def mcp(
    ctx: click.Context, /, http: bool, host: str, port: int, token_file: Path | None, names: tuple[str, ...], trust: str, agent: str
) -> None:  # fmt: skip
    """Serve the store to agents over the Model Context Protocol, until the client hangs up or you interrupt it."""
    from experience.memory import Memory
    from experience.serving import running
    from experience.serving.server import make_server

    if not http:
        _refuse(ctx, "host", "port", "token_file", "names")
    token = running.read_token(token_file, os.environ.get("EXPERIENCE_MCP_TOKEN") or None) if http else None
    host = host.strip("[]")
    if http:
        running.may_listen(host, token)
    for name in names:
        running.checked_host(name)
    settings: Settings = ctx.obj
    try:
        with Memory.open(settings.db, settings.backend, settings.encoder, settings.namespace) as memory:
            server = make_server(memory, trust=trust, agent=agent)
            if not http:
                running.run_stdio(server, memory)
                return
            with _listening(host, port) as listening:
                bound, free = listening.getsockname()[:2]
                remark(f"serving http://{f'[{host}]' if ':' in host else host}:{free}/mcp")
                remark(f"for clients that call it {', '.join(running.allowed_hosts(bound, free, names))}")
                running.run_http(server, memory, listening, token=token, names=names)
    except KeyboardInterrupt:  # which is how one ends it
        _leave()


def _leave() -> None:
    """End here and now, the store being closed: Python would wait for the thread that still embeds."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed already, or never there
            stream.flush()
    os._exit(0)


def _refuse(ctx: click.Context, *names: str) -> None:
    """Options of HTTP that somebody gave without it."""
    given = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    options = [one.opts[0] for one in ctx.command.params if one.name in given]
    if options:
        raise click.UsageError(f"{', '.join(options)} would do nothing without --http")


def _listening(host: str, port: int) -> socket.socket:
    """A socket bound to an address of this machine. Raises InvalidInput."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInput(f"cannot listen on {host} port {port}: {error.strerror or error}; choose another") from error
