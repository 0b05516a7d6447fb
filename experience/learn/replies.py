"""What becomes of a proposed learning: each answer a value that says itself in a sentence.

To answer "noted" to everything would teach the one who proposes nothing, so every outcome has a reply of its own.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taken:
    """New, and told from now on."""

    id: int

    def __str__(self) -> str:
        return f"taken as learning {self.id}: it is told from the next run on, and lapses unless it is found again"


@dataclass(frozen=True, slots=True)
class Echo:
    """It was told already; nothing changes, not even the wording."""

    id: int

    def __str__(self) -> str:
        return (
            f"learning {self.id} says this already, and repeating what one was told proves nothing. If it is wrong or "
            f"incomplete, correct learning {self.id} instead"
        )


@dataclass(frozen=True, slots=True)
class Rediscovered:
    """Found again by a run that was not told it."""

    id: int
    proposals: int

    def __str__(self) -> str:
        return f"this is learning {self.id}, found again without being told ({self.proposals} proposals by now)"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Found again often enough: it stays."""

    id: int

    def __str__(self) -> str:
        return f"this is learning {self.id}, found again so often that it is established from now on"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A learning that stands from now on in the place of the one it corrects."""

    id: int
    corrects: int

    def __str__(self) -> str:
        return (
            f"taken as learning {self.id}: it is told in the place of learning {self.corrects}, which comes back if the "
            "correction lapses or is rejected"
        )


@dataclass(frozen=True, slots=True)
class Outdated:
    """A claim that was corrected since."""

    id: int
    by: int

    def __str__(self) -> str:
        return f"this is learning {self.id}, which learning {self.by} has corrected; if it holds after all, correct {self.by}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A person has rejected this claim for good."""

    id: int

    def __str__(self) -> str:
        return f"this is learning {self.id}, which a person has rejected; it is not taken again in any wording"


@dataclass(frozen=True, slots=True)
class Malformed:
    """Blank, too long, or no change at all."""

    reason: str

    def __str__(self) -> str:
        return f"not taken: {self.reason}"


@dataclass(frozen=True, slots=True)
class Unacceptable:
    """The screen does not let it through."""

    kind: str
    """As in `experience.learn.claims.Objection`."""
    reason: str

    def __str__(self) -> str:
        return f"not taken: {self.reason}"


@dataclass(frozen=True, slots=True)
class NotActive:
    """What nobody is told cannot be corrected."""

    id: int
    state: str

    def __str__(self) -> str:
        return f"learning {self.id} is {self.state}, so nobody is told it; propose what is so as a learning of its own"


Reply = Taken | Echo | Rediscovered | Confirmed | Corrected | Outdated | Refused | Malformed | Unacceptable | NotActive
"""Whatever `propose` and `correct` answer. Echo, Outdated, Refused, Malformed, Unacceptable and NotActive write nothing."""


def writes(reply: Reply) -> bool:
    """Whether the store holds something after it that it did not hold before."""
    return isinstance(reply, Taken | Rediscovered | Confirmed | Corrected)
