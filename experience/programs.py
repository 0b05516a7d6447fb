"""A program of the user's own: run once, as it is written and without a shell, and told something on standard input.

Whatever it has started ends with it. It knows neither what is asked nor what an answer means.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, NamedTuple

from experience.errors import InvalidInput, shown

_LONGEST_WAIT = 24 * 60 * 60 + 1  # seconds
_PATIENCE = 1.0  # seconds for what a program has said to arrive once it has ended
LAST_WORDS = 65_536
"""Bytes of its standard error that are kept, the last ones."""


class Ran(NamedTuple):
    """What became of a run."""

    code: int | None
    """The exit code; None when it took too long and was ended."""
    said: bytes
    """Its standard output; more than the most that was asked for when it was ended for that."""
    complained: bytes
    """The end of its standard error."""


def words_of(command: str | Sequence[str], purpose: str, timeout: float) -> list[str]:
    """The program and its arguments. Raises InvalidInput for a command that cannot be read, and a time that cannot be.

    `purpose` goes into the message: what an empty command should have named.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise InvalidInput(
            f"the command {shown(str(command))} cannot be read: {error}; quote it as for a shell"
        ) from error
    if not words:
        raise InvalidInput(f"the command is empty; name a program that {purpose}")
    if not 0 < timeout < _LONGEST_WAIT:
        raise InvalidInput(f"the time limit is {timeout!r}; it needs a number of seconds above 0, a day at most")
    return words


def run(words: Sequence[str], told: bytes, timeout: float, most: int | None = None) -> Ran:
    """Run a program for `timeout` seconds at most; of its output `most` bytes are read, or none of it.

    Raises OSError and ValueError when it cannot be run.
    """
    with tempfile.TemporaryFile() as asked:
        asked.write(told)
        asked.seek(0)
        output = subprocess.DEVNULL if most is None else subprocess.PIPE
        process = subprocess.Popen(  # noqa: S603 (the user's own command)
            words, stdin=asked, stdout=output, stderr=subprocess.PIPE, start_new_session=True
        )
    out, err = _Reader(process, process.stdout, most), _Reader(process, process.stderr, None)
    code: int | None = None
    try:
        process.wait(timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        pass
    finally:
        _end(process)
    for reader in (out, err):
        reader.join(_PATIENCE)
    return Ran(code, out.said, err.said)


class _Reader(threading.Thread):
    """Reads what a process says as it comes: until it is more than the most, which ends the process, or the last of it.

    What the process leaves running may hold the pipe open; what was said until then is there all the same.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", stream: IO[bytes] | None, most: int | None) -> None:
        super().__init__(daemon=True)
        self._process, self._stream, self._most = process, stream, most
        self.said = b""
        self.start()

    def run(self) -> None:
        """Until the end, or more than is read at most."""
        if self._stream is None:
            return
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 65536):
                self.said += chunk
                if self._most is None:
                    self.said = self.said[-LAST_WORDS:]
                elif len(self.said) > self._most:
                    _end(self._process)
                    return


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the program and what it has started, but for what has left its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
