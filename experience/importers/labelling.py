"""Whether a run worked, by a command of the user's own: handed the episode, it answers with its exit code.

The command is run as it is written, without a shell, once an episode. What it prints is not read, but for its last line on
standard error, which is kept as the reason.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

from experience.episode import Episode
from experience.errors import InvalidInput, shown
from experience.screen import visible

_READ = 4096  # bytes from the end of standard error
_LONGEST_WAIT = 24 * 60 * 60 + 1  # seconds


class Verdict(NamedTuple):
    """What a command says about a run."""

    success: bool | None
    evidence: str


Judge = Callable[[Episode], Verdict]


def command_judge(command: str | Sequence[str], timeout: float = 60.0) -> Judge:
    """A judge that runs a command with the episode's JSON on standard input.

    Exit code 0 says that it worked, 1 that it failed, anything else nothing; nor does one that takes longer than `timeout`
    (seconds) or that cannot be run. Raises InvalidInput for a command that cannot be read.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise InvalidInput(
            f"the command {shown(str(command))} cannot be read: {error}; quote it as for a shell"
        ) from error
    if not words:
        raise InvalidInput("the command that labels is empty; name a program that reads an episode")
    if not 0 < timeout < _LONGEST_WAIT:
        raise InvalidInput(f"the time limit is {timeout!r}; it needs a number of seconds above 0, a day at most")

    def judge(episode: Episode) -> Verdict:
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
            asked.write(json.dumps(episode.to_json(), ensure_ascii=False).encode())
            asked.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 (the user's own command)
                    words, stdin=asked, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
                )
            except (OSError, ValueError) as error:
                return Verdict(None, f"{words[0]} cannot be run: {error}")
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                return Verdict(None, f"no answer in {timeout:g} s")
            finally:
                _end(process)
            said.seek(max(said.seek(0, os.SEEK_END) - _READ, 0))
            reason = _last_line(said.read().decode(errors="replace"))
        return Verdict({0: True, 1: False}.get(code), reason or f"exit code {code}")

    return judge


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.replace("\0", "").splitlines() if line.strip()]
    return visible(lines[-1]) if lines else ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the command and what it has started, but for what has left its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
