"""Where a command's output goes: a file that is whole or not there, or a stream as it is.

It knows nothing of what is written. Links are followed, and stay. What ends the process while a file is written, but for
SIGKILL, leaves nothing beside it.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from types import FrameType
from typing import IO, NoReturn

_MOST_LINKS = 40
_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def written(path: str) -> Iterator[IO[bytes]]:
    """A file to write to, its owner's alone, which stands at `path`, or where a link there leads, only once it is whole.

    A dash is standard output; what is no regular file, such as a pipe, and what this process has open (/dev/stdout,
    /dev/fd/3) is written to as it is.
    """
    if path == "-":
        yield sys.stdout.buffer
    elif (descriptor := open_already(path)) is not None:
        if sys.stdout is not None:
            sys.stdout.flush()
        with open(os.dup(descriptor), "wb") as file:  # noqa: PTH123 (it has no path)
            yield file
    elif is_stream(path):
        with Path(path).open("wb") as file:
            yield file
    else:
        with placed(path) as temporary, temporary.open("wb") as file:
            yield file


@contextmanager
def placed(path: str) -> Iterator[Path]:
    """A fresh file to fill, its owner's alone, which is put at `path`, or where a link there leads, once that is done.

    Not when it fails or is ended, by SIGTERM and SIGHUP too; then nothing is left of it.
    """
    target = os.path.realpath(path)  # which a link that leads to itself does not stop
    with _ended_in_order():
        try:
            descriptor, name = mkstemp(dir=Path(target).parent, prefix=".experience-")
        except OSError as error:
            error.filename = path  # what was asked for, not what stands in for it meanwhile
            raise
        temporary = Path(name)
        try:
            os.close(descriptor)
            yield temporary
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def is_stream(path: str) -> bool:
    """Whether something stands at a path that no file can take the place of: a device, a pipe, what is open already."""
    return open_already(path) is not None or (Path(path).exists() and not Path(path).is_file())


def open_already(path: str) -> int | None:
    """The descriptor of this process that a path leads to, such as 1 for /dev/stdout; None for any other path."""
    at = Path(path)
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(at.parent)
        if folder in {f"/proc/{os.getpid()}/fd", "/dev/fd"}:
            return int(at.name) if at.name.isdecimal() and at.exists() else None
        if not at.is_symlink():
            return None
        at = Path(folder) / at.readlink()
    return None


def is_of_store(store: Path, path: str) -> bool:
    """Whether writing to a path writes into a store's file, or one that SQLite keeps beside it, by whatever name."""
    at = Path("/dev/stdout" if path == "-" else path)
    real, target = (os.path.realpath(one) for one in (store, at))
    own = [Path(f"{real}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
    return Path(target) in own or any(file.exists() and at.exists() and file.samefile(at) for file in own)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Makes of a signal to end an exception, so that what was begun is cleaned up; those that are ignored stay so."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = {number: handler for number in _ENDS if (handler := signal.getsignal(number)) is signal.SIG_DFL}
    try:
        for number in before:
            signal.signal(number, _end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    for other in _ENDS:
        signal.signal(other, signal.SIG_IGN)  # cleaning up is not interrupted
    raise SystemExit(128 + number)  # as a shell reports it
