"""From runs of one kind that worked to a draft of a skill, or the reason why there is none.

Nothing is stored or written here; `batch` does it for all that a store has.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from experience.episode import Episode
from experience.learn.drafting import assembled, replied, unknown_tools, written
from experience.learn.evidence import Evidence
from experience.learn.gate import DistillPolicy, Known, duplicate, gate
from experience.learn.prompts import distill_prompt
from experience.learn.refusals import NameTaken, NothingShared, Refusal, TooFewDistinctTools
from experience.learn.skill import Skill
from experience.learn.words import Casing
from experience.protocols import Record

Complete = Callable[[str], str]
"""All that is needed of a language model: a prompt in, its answer out. Raises ModelError when there is none."""

BY_MODEL = "a model filled the fields"


@dataclass(frozen=True, slots=True)
class Drafted:
    """A skill that nobody has approved yet, and what it was made from."""

    skill: Skill
    evidence: Evidence
    note: str = ""
    """What whoever approves it should know."""


def distill(
    runs: Record | Episode | Sequence[Record | Episode],
    existing: Iterable[Skill | Known] = (),
    policy: DistillPolicy = DistillPolicy(),
    complete: Complete | None = None,
    *,
    failed: Sequence[Record | Episode] = (),
    casing: Casing | None = None,
    taken: Collection[str] = (),
) -> Drafted | Refusal:
    """A draft from one run that worked, or several of one kind, or why there is none.

    `failed` are like runs that failed, for contrast. An `Episode` is taken at its word, a `Record` by the label that
    counts. A refusal by the gate costs no call of the model; a draft costs one. Raises BadReply, ModelError, InvalidSkill.
    """
    evidence_of = list(runs) if isinstance(runs, Sequence) else [runs]
    known = [skill if isinstance(skill, Known) else Known.of(skill) for skill in existing]
    if refusal := gate(evidence_of, known, policy):
        return refusal
    evidence = Evidence.of(evidence_of, failed, casing)
    names = {*taken, *(skill.name for skill in known)}
    fields = written(evidence, names)
    shared = " ".join(phrase.text for phrase in evidence.phrases)
    if refusal := duplicate(f"{fields.name.replace('-', ' ')} {shared}", known, policy) or (
        None if complete else _too_little(evidence, policy)
    ):
        return refusal
    note = ""
    if complete is not None:
        fields = replied(complete(distill_prompt(evidence, policy, sorted(names))), evidence)
        if fields.name in names:
            return NameTaken(fields.name)
        unknown = unknown_tools(fields, evidence)
        note = BY_MODEL + (f"; no run called {', '.join(unknown)}" if unknown else "")
    skill = assembled(fields, evidence)
    said = f"{skill.name.replace('-', ' ')} {skill.description}"
    return duplicate(said, known, policy) or Drafted(skill, evidence, note)


def _too_little(evidence: Evidence, policy: DistillPolicy) -> Refusal | None:
    """Why the evidence alone makes no skill."""
    if not (evidence.phrases or evidence.example) or not evidence.steps:
        return NothingShared(len(evidence.worked))
    if len(evidence.steps) < policy.min_distinct_tools:
        return TooFewDistinctTools(len(evidence.steps), policy.min_distinct_tools)
    return None
