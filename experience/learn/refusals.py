"""Why nothing was distilled, each reason with its numbers. A refusal is a value: nothing went wrong."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotSuccessful:
    """The run failed, nobody said that it worked, or only the agent itself did."""

    success: bool | None
    kind: str | None = None
    """The class of the label that counts."""

    def __str__(self) -> str:
        if self.success and self.kind == "self_claim":
            return "only the agent itself says that it worked"
        return "it failed" if self.success is False else "nobody said that it worked"


@dataclass(frozen=True, slots=True)
class TooFewToolCalls:
    """There is little to learn from so few."""

    got: int
    need: int

    def __str__(self) -> str:
        return f"{self.got} tool calls; {self.need} are needed"


@dataclass(frozen=True, slots=True)
class TooFewDistinctTools:
    """One tool over and over is no procedure."""

    got: int
    need: int

    def __str__(self) -> str:
        return f"{self.got} different tools; {self.need} are needed"


@dataclass(frozen=True, slots=True)
class SituationTooShort:
    """It does not say when the skill would apply."""

    got: int
    need: int

    def __str__(self) -> str:
        return f"a situation of {self.got} characters; {self.need} are needed"


@dataclass(frozen=True, slots=True)
class DuplicateSkill:
    """A skill that is there, or a draft that waits, is about the same."""

    existing: str
    similarity: float
    threshold: float

    def __str__(self) -> str:
        return f"{self.existing} is about the same ({self.similarity:.2f}, from {self.threshold:.2f} on)"


@dataclass(frozen=True, slots=True)
class NameTaken:
    """A model gave the draft a name that another skill has."""

    name: str

    def __str__(self) -> str:
        return f"there is a skill {self.name} already"


@dataclass(frozen=True, slots=True)
class TooFewSightings:
    """It worked too seldom to be more than luck."""

    got: int
    need: int

    def __str__(self) -> str:
        return f"{self.got} confirmed success{'' if self.got == 1 else 'es'} of its kind; {self.need} are needed"


@dataclass(frozen=True, slots=True)
class NothingShared:
    """The runs are alike, but no words or tools are common to them that are not names or values."""

    runs: int

    def __str__(self) -> str:
        return f"{self.runs} runs with nothing in common to write down"


@dataclass(frozen=True, slots=True)
class Covered:
    """A skill was built on these runs, or they followed it, and they show nothing that it lacks."""

    existing: str

    def __str__(self) -> str:
        return f"{self.existing} says it already"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A draft of these runs waits to be decided about."""

    draft: int
    existing: str

    def __str__(self) -> str:
        return f"draft {self.draft} ({self.existing}) waits to be approved or rejected"


@dataclass(frozen=True, slots=True)
class DecidedBefore:
    """A draft of these runs was rejected, or a skill of theirs retired."""

    existing: str
    reason: str

    def __str__(self) -> str:
        return f"{self.existing} was turned down: {self.reason}"


Refusal = (
    NotSuccessful
    | TooFewToolCalls
    | TooFewDistinctTools
    | SituationTooShort
    | DuplicateSkill
    | NameTaken
    | TooFewSightings
    | NothingShared
    | Covered
    | Waiting
    | DecidedBefore
)
