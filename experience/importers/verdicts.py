"""What a transcript's own scores say about success, by rules that stand here and nowhere else.

Only a plain yes or no counts. A share of something, a grade between the ends, a score of something other than being
right, or scores that contradict one another say nothing.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from experience.importers.lenient import text
from experience.importers.session import Finding
from experience.protocols import LABEL_CLASSES

_YES = frozenset({"pass", "passed", "correct", "success", "resolved"})
_NO = frozenset({"fail", "failed", "incorrect", "failure", "unresolved"})
_RIGHTNESS = frozenset({
    "correct", "correctness", "is_correct", "accuracy", "exact_match", "success", "task_success", "task_completion",
    "pass", "passed", "resolved", "goal_accuracy", "reward",
})  # fmt: skip


class Verdict(NamedTuple):
    """One score and what it says."""

    says: bool | None
    """None: neither yes nor no."""
    evidence: str
    kind: str = "verifier"
    """One of `protocols.LABEL_CLASSES`."""


def of_reward(reward: Any) -> Finding | None:
    """What a reward says: at least 1 is a success, 0 a failure, anything between nothing."""
    if type(reward) not in (int, float, bool) or reward != reward or not (reward >= 1 or reward == 0):  # noqa: PLR0124
        return None
    return Finding(bool(reward), "verifier", f"reward {reward}")


def of_number(value: Any) -> bool | None:
    """Yes for 1 and true, no for 0 and false."""
    return bool(value) if type(value) in (int, float, bool) and value in (0, 1) else None


def of_label(label: Any) -> bool | None:
    """What a score's label says: `pass` and `correct`, `fail` and `incorrect`, and the like."""
    word = text(label).strip().lower()
    return True if word in _YES else False if word in _NO else None


def is_of_rightness(name: Any) -> bool:
    """Whether a score of this name says that a run was right, rather than fluent, safe or short."""
    return text(name).strip().lower().replace(" ", "_").replace("-", "_") in _RIGHTNESS


def agreed(verdicts: Iterable[Verdict]) -> Finding | None:
    """What all verdicts say, in the class of the weakest of them. None where one of them says nothing or another thing."""
    all_of_them = list(verdicts)
    [said, *others] = {one.says for one in all_of_them} or {None}
    if said is None or others:
        return None
    weakest = max((one.kind for one in all_of_them), key=LABEL_CLASSES.index)
    return Finding(said, weakest, ", ".join(one.evidence for one in all_of_them))
