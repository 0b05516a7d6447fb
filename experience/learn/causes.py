"""What a skill's failures look like: it is wrong, was not followed, was in the wrong place, or the world has changed.

Each answer is a way to part the runs that followed the skill without looking at how they ended: not at all, by whether
they did what it says, by whether their situation is of its usual kind, by a moment in time. How well a parting explains
which runs failed is its marginal likelihood (rates unknown beforehand, the suspected part failing more often); with equal
prior odds that gives the probability of each. Values in, numbers out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from experience.learn.statistics import evidence_of_one_rate, evidence_of_two_rates

SKILL_WRONG = "skill_wrong"
NOT_FOLLOWED = "not_followed"
WRONG_SITUATION = "wrong_situation"
ENVIRONMENT_CHANGED = "environment_changed"

VERDICTS = {
    SKILL_WRONG: "the skill itself is wrong: runs that followed it fail wherever and whenever",
    NOT_FOLLOWED: "it was not really followed: the runs that failed left out what it says",
    WRONG_SITUATION: "it was used in the wrong situation: other kinds of task than its usual ones fail",
    ENVIRONMENT_CHANGED: "the environment changed: it worked until some day, and fails since",
}
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Following:
    """One run that followed a skill and whose end is known."""

    worked: bool
    at: datetime
    kind: int
    """The number of its kind of situation; below 0 for one that is like no other."""
    tools: frozenset[str]


def causes(runs: Sequence[Following], says: frozenset[str]) -> dict[str, float]:
    """The probability of each verdict that can be judged, the likeliest first; they add up to 1.

    `says` are the tools that the skill names: without any, whether it was followed cannot be told, and that verdict is left
    out. So are partings that leave one side empty.
    """
    evidence = {SKILL_WRONG: evidence_of_one_rate(*_counts(runs))}
    usual = _usual_kind(runs)
    for verdict, suspected in (
        (NOT_FOLLOWED, (lambda run: len(run.tools & says) <= _HALF * len(says)) if says else None),
        (WRONG_SITUATION, (lambda run: run.kind != usual) if usual is not None else None),
    ):
        if suspected and (found := _parted(runs, suspected)) is not None:
            evidence[verdict] = found
    if (found := _changed(runs)) is not None:
        evidence[ENVIRONMENT_CHANGED] = found
    best = max(evidence.values())
    weights = {verdict: math.exp(value - best) for verdict, value in evidence.items()}
    total = sum(weights.values())
    return {
        verdict: weight / total
        for verdict, weight in sorted(weights.items(), key=lambda pair: (-pair[1], list(VERDICTS).index(pair[0])))
    }


def _parted(runs: Sequence[Following], suspected: Callable[[Following], bool]) -> float | None:
    first, second = [run for run in runs if suspected(run)], [run for run in runs if not suspected(run)]
    return evidence_of_two_rates(_counts(first), _counts(second)) if first and second else None


def _changed(runs: Sequence[Following]) -> float | None:
    """Averaged over every moment between two runs at which it may have happened."""
    ordered = sorted(runs, key=lambda run: run.at)
    moments = [at for at in range(1, len(ordered)) if ordered[at].at > ordered[at - 1].at]
    if not moments:
        return None
    found = [evidence_of_two_rates(_counts(ordered[at:]), _counts(ordered[:at])) for at in moments]
    best = max(found)
    return best + math.log(sum(math.exp(value - best) for value in found) / len(found))


def _usual_kind(runs: Sequence[Following]) -> int | None:
    """The kind of situation that most runs are of, if there is one that at least a third is."""
    kinds = [run.kind for run in runs if run.kind >= 0]
    if not kinds:
        return None
    usual = min(set(kinds), key=lambda kind: (-kinds.count(kind), kind))
    return usual if 3 * kinds.count(usual) >= len(runs) else None


def _counts(runs: Sequence[Following]) -> tuple[int, int]:
    worked = sum(run.worked for run in runs)
    return worked, len(runs) - worked
