"""What a skill's failures look like: it is wrong, was not followed, was in the wrong place, or the world has changed.

Each answer is a way to part the runs that followed the skill without looking at how they ended: not at all, by whether
they did what it says, by whether their situation is of one kind, by a moment in time. How well a parting explains
which runs failed is its marginal likelihood (rates unknown beforehand, the suspected part failing more often; averaged
over every kind and every moment that it may be). That the skill is wrong is beforehand as probable as all else together.
Values in, numbers out.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

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
_MOST_MOMENTS = 100  # that are tried; of more every so many


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
    if says:
        _add(evidence, NOT_FOLLOWED, [_parted(runs, lambda run: len(run.tools & says) <= _HALF * len(says))])
    # Which kind of situation is the right one is not known: each that comes up more than once may be.
    counts = Counter(run.kind for run in runs if run.kind >= 0)
    kinds = sorted(kind for kind, number in counts.items() if number > 1)
    _add(evidence, WRONG_SITUATION, [_parted(runs, partial(_elsewhere, kind)) for kind in kinds])
    ordered = sorted(runs, key=lambda run: run.at)
    moments = [at for at in range(1, len(ordered)) if ordered[at].at > ordered[at - 1].at]
    moments = moments[:: 1 + len(moments) // _MOST_MOMENTS]
    changed = [evidence_of_two_rates(_counts(ordered[at:]), _counts(ordered[:at])) for at in moments]
    _add(evidence, ENVIRONMENT_CHANGED, changed)
    evidence[SKILL_WRONG] += math.log(max(1, len(evidence) - 1))  # as probable beforehand as all others together
    best = max(evidence.values())
    weights = {verdict: math.exp(value - best) for verdict, value in evidence.items()}
    total = sum(weights.values())
    return {
        verdict: weight / total
        for verdict, weight in sorted(weights.items(), key=lambda pair: (-pair[1], list(VERDICTS).index(pair[0])))
    }


def _add(evidence: dict[str, float], verdict: str, ways: Sequence[float | None]) -> None:
    """A verdict's evidence: the mean over the ways in which it may be meant, if there are any."""
    found = [value for value in ways if value is not None]
    if found:
        best = max(found)
        evidence[verdict] = best + math.log(sum(math.exp(value - best) for value in found) / len(found))


def _parted(runs: Sequence[Following], suspected: Callable[[Following], bool]) -> float | None:
    first, second = [run for run in runs if suspected(run)], [run for run in runs if not suspected(run)]
    return evidence_of_two_rates(_counts(first), _counts(second)) if first and second else None


def _elsewhere(kind: int, run: Following) -> bool:
    return run.kind != kind


def _counts(runs: Sequence[Following]) -> tuple[int, int]:
    worked = sum(run.worked for run in runs)
    return worked, len(runs) - worked
