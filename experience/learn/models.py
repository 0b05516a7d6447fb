"""Language models from outside: any command that reads a prompt and answers, or one that the package `llm` knows.

Both make a `Complete`, a function from prompt to answer. A command is run as it is written, without a shell.
"""

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence

from experience.errors import InvalidInput, MissingPackage, ModelError, shown
from experience.learn.distill import Complete

_LONGEST_ANSWER = 1_000_000  # bytes


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
    if not timeout > 0:
        raise InvalidInput(f"the time limit is {timeout!r}; it needs a number of seconds above 0")

    def complete(prompt: str) -> str:
        try:
            process = subprocess.Popen(  # noqa: S603 (the user's own command)
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise ModelError(f"the model {shown(words[0])} cannot be run: {error.strerror}; check --model") from error
        with process:
            try:
                out, err = process.communicate(prompt.encode(), timeout=timeout)
            except subprocess.TimeoutExpired as error:
                _end(process)
                raise ModelError(
                    f"the model {shown(words[0])} has not answered in {timeout:g} s; allow it more time"
                ) from error
            except BaseException:
                _end(process)
                raise
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


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the command and what it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _answer(command: str, code: int, out: bytes, err: bytes) -> str:
    if code:
        said = err.decode(errors="replace").strip().split("\n")[-1]
        raise ModelError(f"the model {shown(command)} failed with exit code {code}: {shown(said)}")
    if len(out) > _LONGEST_ANSWER:
        raise ModelError(f"the model {shown(command)} answered {len(out)} bytes; {_LONGEST_ANSWER} are read at most")
    answer = out.decode(errors="replace").strip()
    if not answer:
        raise ModelError(f"the model {shown(command)} answered nothing")
    return answer
