"""Language models from outside: any command that reads a prompt and answers, or one that the package `llm` knows.

Both make a `Complete`, a function from prompt to answer. A command is run as it is written, without a shell.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO

from experience.errors import InvalidInput, MissingPackage, ModelError, shown
from experience.learn.distill import Complete

_LONGEST_ANSWER = 1_000_000  # bytes
_LONGEST_WAIT = 24 * 60 * 60 + 1  # seconds
_PATIENCE = 1.0  # seconds for what a command has said to arrive once it has ended


def command_model(command: str | Sequence[str], timeout: float = 120.0) -> Complete:
    """The model behind a command that reads a prompt on standard input and answers on standard output.

    `timeout` is in seconds. What it makes raises ModelError when the command cannot be run, fails, says nothing or takes
    too long; it and whatever it has started are then ended. Raises InvalidInput for a command that cannot be read.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise InvalidInput(
            f"the command {shown(str(command))} cannot be read: {error}; quote it as for a shell"
        ) from error
    if not words:
        raise InvalidInput("the model's command is empty; name a program that reads a prompt and answers")
    if not 0 < timeout < _LONGEST_WAIT:
        raise InvalidInput(f"the time limit is {timeout!r}; it needs a number of seconds above 0, a day at most")

    def complete(prompt: str) -> str:
        with tempfile.TemporaryFile() as asked:
            asked.write(prompt.encode())
            asked.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 (the user's own command)
                    words, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
                )
            except (OSError, ValueError) as error:
                raise ModelError(f"the model {shown(words[0])} cannot be run: {error}; check --model") from error
        out, err = _Reader(process, process.stdout), _Reader(process, process.stderr, only_end=True)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"the model {shown(words[0])} has not answered in {timeout:g} s; allow it more time"
            ) from error
        finally:
            _end(process)
        for reader in (out, err):
            reader.join(_PATIENCE)
        return _answer(words[0], process.returncode, out, err)

    return complete


def llm_model(name: str) -> Complete:
    """A model of the package `llm`, by its name or alias there. Raises MissingPackage, ModelError."""
    try:
        import llm
    except ImportError as error:
        raise MissingPackage("pip install 'hardwon[llm]'") from error
    try:
        model = llm.get_model(name)
    except llm.UnknownModelError as error:
        raise ModelError(f"the package llm knows no model {name!r}; see: llm models") from error

    def complete(prompt: str) -> str:
        try:
            return str(model.prompt(prompt).text())
        except Exception as error:  # each provider has errors of its own
            raise ModelError(f"the model {name} failed: {type(error).__name__}: {error}") from error

    return complete


class _Reader(threading.Thread):
    """Reads what a process says as it comes, and ends the process when it says too much.

    What the process leaves running may hold the pipe open; what was said until then is there all the same.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", stream: IO[bytes] | None, *, only_end: bool = False) -> None:
        super().__init__(daemon=True)
        self._process, self._stream, self._only_end = process, stream, only_end
        self.said = b""
        self.start()

    def run(self) -> None:
        """Until the end, or more than is read at most; of `only_end` the last of it."""
        if self._stream is None:
            return
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 65536):
                self.said += chunk
                if self._only_end:
                    self.said = self.said[-65536:]
                elif len(self.said) > _LONGEST_ANSWER:
                    _end(self._process)
                    return


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the command and what it has started, but for what has left its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _answer(command: str, code: int, out: _Reader, err: _Reader) -> str:
    if len(out.said) > _LONGEST_ANSWER:
        raise ModelError(f"the model {shown(command)} answers without end; {_LONGEST_ANSWER} bytes are read at most")
    if code:
        said = err.said.decode(errors="replace").strip().split("\n")[-1]
        raise ModelError(f"the model {shown(command)} failed with exit code {code}: {shown(said)}")
    answer = out.said.decode(errors="replace").strip()
    if not answer:
        raise ModelError(f"the model {shown(command)} answered nothing")
    return answer
