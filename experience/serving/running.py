"""The server behind a pair of pipes or a port, and who may reach the port.

In pipes standard output belongs to the protocol: whatever else is said goes to standard error. A port is for this machine
alone unless there is a token; a request has to name the host that the server was started as, so that no page of a browser
reaches it by a name of its own, and one that comes from a page of another origin is refused.
"""

import hmac
import ipaddress
import logging
import re
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experience.errors import ExperienceError, InvalidInput, shown
from experience.memory import Memory
from experience.screen import visible

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

LARGEST_BODY = 2**20
"""Bytes of a request."""
SHORTEST_TOKEN = 16
"""Characters of a token."""

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (only compared with)
_PATIENCE = 5  # seconds for answers that are being given when the server ends

_PLAIN_PORT = 80
_PORT = re.compile(r":\d{1,5}\Z")
_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")

_log = logging.getLogger(__name__)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there; a name other than localhost may lead anywhere."""
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host.lower() == "localhost"


def read_token(file: Path | None, variable: str | None) -> str | None:
    """The token in a file or, where none is named, in an environment's variable; None where there is neither.

    Raises InvalidInput for one that is too short or could not stand in a header, OSError for a file that cannot be read.
    """
    if file is None and variable is None:
        return None
    token = (file.read_bytes().decode(errors="replace") if file else variable or "").strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(
            f"the token has {len(token)} characters; it needs at least {SHORTEST_TOKEN}, printable ASCII without spaces: "
            'python -c "import secrets; print(secrets.token_urlsafe())"'
        )
    return token


def may_listen(host: str, token: str | None) -> None:
    """Raise InvalidInput where others could reach the server and nothing would keep them out."""
    if token is None and not is_loopback(host):
        raise InvalidInput(
            f"the host {host!r} can be reached from elsewhere; set a token (--token-file, or EXPERIENCE_MCP_TOKEN), or listen "
            "on 127.0.0.1"
        )


def run_stdio(server: "MCPServer[Any]", memory: Memory) -> None:
    """Serve one client over standard input and output until it hangs up."""
    _log_to_stderr()
    with suppress(BrokenPipeError):  # the client hung up before it had read everything
        _run(server.run_stdio_async, memory)


def run_http(
    server: "MCPServer[Any]",
    memory: Memory,
    listening: socket.socket,
    *,
    token: str | None = None,
    names: Sequence[str] = (),
) -> None:
    """Serve any number of clients at a socket that is bound already, until interrupted.

    Of Host headers those of the socket's own address are taken, for a loopback one also localhost, for 0.0.0.0 the loopback's, and `names`
    (NAME or NAME:PORT). Raises InvalidInput as `may_listen`.
    """
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    host, port = listening.getsockname()[:2]
    may_listen(host, token)
    _log_to_stderr()
    hosts = allowed_hosts(host, port, names)
    origins = [*(f"http://{one}" for one in hosts), *(f"https://{one}" for one in names)]  # a proxy may have added TLS
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app: Any = server.streamable_http_app(transport_security=security, max_request_body_size=LARGEST_BODY)
    config = uvicorn.Config(
        app if token is None else with_token(app, token),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    _run(partial(uvicorn.Server(config).serve, sockets=[listening]), memory)


def allowed_hosts(host: str, port: int, names: Sequence[str] = ()) -> list[str]:
    """What a Host header may say to a server that listens there."""
    own = f"[{host}]" if ":" in host else host
    names = list(
        dict.fromkeys(one for name in names for one in (name.lower(), name))
    )  # not every client writes it small
    here = [own, *(["localhost"] if is_loopback(host) else [])]
    if host in _EVERYWHERE:  # every address of the machine, so those of the loopback too
        here += ["localhost", "127.0.0.1", *(["[::1]"] if ":" in host else [])]
    bare = here if port == _PLAIN_PORT else []  # which no client names
    served = [
        *(f"{one}:{port}" for one in here),
        *bare,
        *(one if _PORT.search(one) else f"{one}:{port}" for one in names),
    ]
    return list(dict.fromkeys([*served, *names]))


def checked_host(name: str) -> str:
    """A name that a Host header may have: NAME, NAME:PORT, or an address, in brackets where it has colons. Raises InvalidInput."""
    if not _HOST.fullmatch(name):
        raise InvalidInput(
            f"the host is {shown(name)}; it needs NAME or NAME:PORT as clients call it, such as box.example.org, without a "
            "scheme, a path or *"
        )
    return name


def with_token(app: "ASGIApp", token: str) -> "ASGIApp":
    """The same application for those who bring the token, `Authorization: Bearer TOKEN`; 401 for all others."""
    wanted = token.encode()

    async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.responses import PlainTextResponse

        given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        scheme, _, brought = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        # The comparison takes as long whatever was brought, so that no token can be found out letter by letter.
        right = hmac.compare_digest(brought.strip(), wanted) and scheme.lower() == b"bearer"
        if scope["type"] == "lifespan" or right:
            await app(scope, receive, send)
        else:
            refusal = PlainTextResponse("a token is needed", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)

    return guarded


def _run(serve: Callable[[], Any], memory: Memory) -> None:
    """Serve, and meanwhile embed what was recorded before, so that no question has to wait for it."""
    import anyio

    async def serving() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(anyio.to_thread.run_sync, partial(_catch_up, memory), abandon_on_cancel=True))
            await serve()
            tasks.cancel_scope.cancel()

    try:
        anyio.run(serving)
    except BaseExceptionGroup as errors:
        _, others = errors.split((anyio.BrokenResourceError, anyio.ClosedResourceError))
        if others is not None:  # without others it has ended in the middle of a message
            raise _innermost(others) from errors


def _innermost(error: BaseException) -> BaseException:
    """What went wrong first, out of the groups that tasks put it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _catch_up(memory: Memory) -> None:
    try:
        if memory.backend.pending():
            memory.refresh()
    except ExperienceError as error:
        _log.warning("what was recorded before could not be embedded: %s", error)


class _OneLine(logging.Formatter):
    """Who says what, and of an error its kind, its words and where it came from, however many lines those have."""

    def format(self, record: logging.LogRecord) -> str:
        said = f"{record.name}: {record.getMessage().strip()}"
        if record.exc_info and (error := record.exc_info[1]) is not None:
            error = _innermost(error)
            frames = traceback.extract_tb(error.__traceback__)
            place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
            said += f": {type(error).__name__}: {error}{place}"
        return visible(" ".join(said.split()))


def _log_to_stderr() -> None:
    """One line for each problem, in the place of what the protocol's package has set up as the server was made."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
