"""Whether a run worked, by a command of the user's own: handed the episode, it answers with its exit code.

The command is run as it is written, without a shell, once an episode. What it prints is not read, but for its last line on
standard error, which is kept as the reason.
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from experience.episode import Episode
from experience.programs import LAST_WORDS, run, words_of
from experience.screen import visible


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
    words = words_of(command, "reads an episode and says by its exit code whether it worked", timeout)

    def judge(episode: Episode) -> Verdict:
        try:
            ran = run(words, json.dumps(episode.to_json(), ensure_ascii=False).encode(), timeout)
        except (OSError, ValueError) as error:
            return Verdict(None, f"{words[0]} cannot be run: {error}")
        if ran.code is None:
            return Verdict(None, f"no answer in {timeout:g} s")
        reason = _last_line(ran.complained)
        return Verdict({0: True, 1: False}.get(ran.code), reason or f"exit code {ran.code}")

    return judge


def _last_line(complained: bytes) -> str:
    if len(complained) >= LAST_WORDS:  # it may begin in the middle of a word, which may be a secret
        complained = b"".join(complained.split(maxsplit=1)[1:])
    text = complained.decode(errors="replace")
    lines = [line.strip() for line in text.replace("\0", "").splitlines() if line.strip()]
    return visible(lines[-1]) if lines else ""
