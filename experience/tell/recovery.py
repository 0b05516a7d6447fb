"""Whether work that was interrupted is started again by itself, and why not. A refusal is a value: nothing went wrong.

What a human stopped is never started again; what crashes each time is not started for ever. It starts nothing and counts
nothing: how often a piece of work was tried is told to it.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from experience.errors import InvalidInput, shown

Kind = Literal["supervisor_restart", "timeout", "crashed", "kill_switch"]
Policy = Literal["automatic", "manual", "never"]

_LARGEST_COUNT = 2**63 - 1  # what a column holds
_EXIT_CODES = range(-(2**31), 2**32)  # a signal as a negative number, and what 32 bits hold
_WHY: dict[Kind, str] = {
    "supervisor_restart": "the supervisor of the runs was restarted",
    "timeout": "it ran out of time",
    "crashed": "it crashed",
    "kill_switch": "a human stopped it with the kill switch",
}


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why a run stopped before it was done."""

    kind: Kind
    exit_code: int | None = None
    """Of a crash, where it is known: -2**31 to 2**32 - 1."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidInput(f"the interruption is {shown(str(self.kind))}; it needs one of {', '.join(_WHY)}")
        if self.exit_code is None:
            return
        if self.kind != "crashed":
            raise InvalidInput(f"exit_code stands with {self.kind}; only what crashed has one, so leave it out")
        if type(self.exit_code) is not int or self.exit_code not in _EXIT_CODES:
            raise InvalidInput(
                f"exit_code is {shown(repr(self.exit_code))}; it needs a whole number of 32 bits, or None"
            )

    def __str__(self) -> str:
        return _WHY[self.kind] + (f" with exit code {self.exit_code}" if self.exit_code is not None else "")


@dataclass(frozen=True, slots=True)
class Recovery:
    """The work may be done again, as this attempt."""

    attempt: int


@dataclass(frozen=True, slots=True)
class NotRetryable:
    """A human wanted it to end."""

    interruption: Interruption

    def __str__(self) -> str:
        return f"{self.interruption}, so it is not started again"


@dataclass(frozen=True, slots=True)
class NotByPolicy:
    """Nobody is to start it again, or not without being asked to."""

    policy: Policy

    def __str__(self) -> str:
        if self.policy == "manual":
            return "the policy is manual: a human has to start it again"
        return f"the policy is {self.policy}: it is not started again"


@dataclass(frozen=True, slots=True)
class NoAttemptsLeft:
    """It was tried often enough."""

    attempts: int
    max: int

    def __str__(self) -> str:
        times = f"{self.attempts} time{'' if self.attempts == 1 else 's'}"
        return f"it was tried {times}; {self.max} {'is' if self.max == 1 else 'are'} allowed"


RecoveryRefusal = NotRetryable | NotByPolicy | NoAttemptsLeft


def may_recover(
    interruption: Interruption, policy: Policy = "automatic", *, attempts: int, most: int
) -> Recovery | RecoveryRefusal:
    """Whether interrupted work is to be started again by itself, and as which attempt; otherwise why not.

    `attempts` counts the runs that were started for this work, the interrupted one among them (from 1 on), and `most` how
    many there may be. The first reason counts: the kill switch, then the policy, then the number. Raises InvalidInput.
    """
    if not isinstance(interruption, Interruption):
        raise InvalidInput(f"interruption is {type(interruption).__name__}; it needs an Interruption")
    if policy not in get_args(Policy):
        raise InvalidInput(f"the policy is {shown(str(policy))}; it needs one of {', '.join(get_args(Policy))}")
    check_count("attempts", attempts, 1)
    check_count("most", most, 1)
    if interruption.kind == "kill_switch":
        return NotRetryable(interruption)
    if policy != "automatic":
        return NotByPolicy(policy)
    return NoAttemptsLeft(attempts, most) if attempts >= most else Recovery(attempts + 1)


def check_count(name: str, value: object, least: int) -> None:
    """Raises InvalidInput unless the value is a whole number from `least` to 2**63 - 1."""
    if type(value) is not int or not least <= value <= _LARGEST_COUNT:
        raise InvalidInput(f"{name} is {value!r}; it needs a whole number from {least} on")
