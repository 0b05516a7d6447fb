"""Why nothing was distilled, or revised: each reason with its numbers. A refusal is a value: nothing went wrong."""

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


@dataclass(frozen=True, slots=True)
class EpisodeSucceeded:
    """The run that the skill is blamed for worked."""

    def __str__(self) -> str:
        return "the run succeeded, so it shows no fault"


@dataclass(frozen=True, slots=True)
class SkillNotUsedInEpisode:
    """The run did not follow the skill."""

    skill: str

    def __str__(self) -> str:
        return f"the run did not follow {self.skill}"


@dataclass(frozen=True, slots=True)
class LifetimeCapReached:
    """The skill was revised often enough for a lifetime; retire it, or rewrite it by hand."""

    revision: int
    max: int

    def __str__(self) -> str:
        return f"{self.revision} revisions were tried in its life; {self.max} are allowed: rewrite it by hand, or retire it"


@dataclass(frozen=True, slots=True)
class DailyCapReached:
    """The skill was revised often enough for a day."""

    today: int
    max: int
    date: str

    def __str__(self) -> str:
        return f"{self.today} revisions were tried on {self.date}; {self.max} a day are allowed"


@dataclass(frozen=True, slots=True)
class NotFlagged:
    """The runs do not convict the skill, and nobody named one that shows its fault."""

    skill: str
    followed: int
    failed: int
    q_value: float

    def __str__(self) -> str:
        return (
            f"{self.skill} is not flagged: {self.failed} of {self.followed} runs that followed it failed "
            f"(q {self.q_value:.2f}); name a run with --episode to revise it all the same"
        )


@dataclass(frozen=True, slots=True)
class NothingToChange:
    """The evidence supports no change, or the model sees the fault elsewhere."""

    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class LosesSteps:
    """The proposal no longer names tools that the runs behind the skill used, and does not say why."""

    tools: tuple[str, ...]

    def __str__(self) -> str:
        return f"the proposal drops {', '.join(self.tools)}, which the runs behind the skill used, and does not say why"


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The proposal has outgrown its bound."""

    got: int
    max: int

    def __str__(self) -> str:
        return f"the proposal has {self.got} characters; {self.max} are allowed"


RevisionRefusal = (
    EpisodeSucceeded
    | SkillNotUsedInEpisode
    | LifetimeCapReached
    | DailyCapReached
    | NotFlagged
    | NothingToChange
    | LosesSteps
    | TooLarge
)
