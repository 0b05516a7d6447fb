"""Standard input and output as the protocol's two streams.

The package's own reader waits for a line on a thread that nothing can interrupt, so that Ctrl-C would not end the server, and
says nothing to a line that it cannot read, so that whoever sent it would wait for ever. Here each line is waited for on a
thread that is left behind when the server ends, and a line that is no message is answered with what is wrong with it. This
module needs the extra `mcp` to be imported.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from io import BufferedReader, FileIO
from threading import Thread
from typing import Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from experience.errors import InvalidInput


@asynccontextmanager
async def streams() -> AsyncIterator[tuple[Any, Any]]:
    """What comes in and where answers go. Raises InvalidInput where there is no standard input or output."""
    if sys.stdin is None or sys.stdout is None:
        raise InvalidInput("standard input or output is closed; the server speaks there, or with --http at a port")
    # Never closed: that would wait for whoever reads it.
    source = BufferedReader(FileIO(sys.stdin.fileno(), closefd=False))
    answers: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    lines = cast("anyio.AsyncFile[str]", _messages(source, answers))
    async with stdio_server(lines) as (read, write):
        answers.set_result(write)
        yield read, write


def refusal(line: str) -> JSONRPCError | None:
    """What a line is answered that is no message; None for one that is, and for one that expects no answer."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
    else:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, f"the line is no JSON: {why}")
    if not isinstance(said, dict):
        return _error(None, INVALID_REQUEST, f"the line is {type(said).__name__}; it needs an object that is a message")
    if "id" not in said or "method" not in said:
        return None
    id = said["id"]
    plain = isinstance(id, int | str) and not isinstance(id, bool) and str(id).isprintable()
    return _error(id if plain else None, PARSE_ERROR, f"the message cannot be read: {why}")


def _error(id: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))


async def _messages(source: BinaryIO, answers: "asyncio.Future[Any]") -> AsyncIterator[str]:
    while data := await _line(source):
        line = data.decode(errors="replace")
        if (wrong := refusal(line)) is None:
            yield line
            continue
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server ends just now
            await (await answers).send(SessionMessage(wrong))


async def _line(source: BinaryIO) -> bytes:
    """The next line; nothing at the end. A daemon reads it, whom nobody waits for."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bytes] = loop.create_future()

    def give(line: bytes) -> None:
        if not found.done():
            found.set_result(line)

    def read() -> None:
        line = b""
        with suppress(OSError, ValueError):  # a terminal that has gone, or closed as the server ended
            line = source.readline()
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(give, line)

    Thread(target=read, daemon=True).start()
    return await found
