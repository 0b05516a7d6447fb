"""Language models from outside: any command that reads a prompt and answers, or one that the package `llm` knows.

Both make a `Complete`, a function from prompt to answer. A command is run as it is written, without a shell.
"""

from collections.abc import Sequence

from experience.errors import MissingPackage, ModelError, shown
from experience.learn.distill import Complete
from experience.programs import Ran, run, words_of

_LONGEST_ANSWER = 1_000_000  # bytes


def command_model(command: str | Sequence[str], timeout: float = 120.0) -> Complete:
    """The model behind a command that reads a prompt on standard input and answers on standard output.

    `timeout` is in seconds. What it makes raises ModelError when the command cannot be run, fails, says nothing or takes
    too long; it and whatever it has started are then ended. Raises InvalidInput for a command that cannot be read.
    """
    words = words_of(command, "reads a prompt and answers", timeout)

    def complete(prompt: str) -> str:
        try:
            ran = run(words, prompt.encode(), timeout, _LONGEST_ANSWER)
        except (OSError, ValueError) as error:
            raise ModelError(f"the model {shown(words[0])} cannot be run: {error}; check --model") from error
        return _answer(words[0], ran, timeout)

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


def _answer(command: str, ran: Ran, timeout: float) -> str:
    if len(ran.said) > _LONGEST_ANSWER:
        raise ModelError(f"the model {shown(command)} answers without end; {_LONGEST_ANSWER} bytes are read at most")
    if ran.code is None:
        raise ModelError(f"the model {shown(command)} has not answered in {timeout:g} s; allow it more time")
    if ran.code:
        said = ran.complained.decode(errors="replace").strip().split("\n")[-1]
        raise ModelError(f"the model {shown(command)} failed with exit code {ran.code}: {shown(said)}")
    answer = ran.said.decode(errors="replace").strip()
    if not answer:
        raise ModelError(f"the model {shown(command)} answered nothing")
    return answer
