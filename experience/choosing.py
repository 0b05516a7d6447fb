"""Which of the runs that look alike are told, and in what order: copies folded, and what a run needs weighed in.

Pure functions over matches; nothing here knows a store, an encoder or how a score came about. What is weighed in is bounded,
so that a clear difference in likeness always stands: every preference is off unless it is asked for.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite, isnan
from typing import TypedDict

from experience.errors import InvalidInput
from experience.protocols import Match
from experience.tokens import tokens

STANDING_WEIGHT = 0.1
"""What a confirmed success is given before a failure; who is ahead by more in likeness stays ahead. Unknown: half of it."""
FRESH_WEIGHT = 0.05
"""What a run of this moment is given before one of long ago; it halves with every half-life."""
NEAR_COPY = 0.7
"""The share of their words (Jaccard 1912) from which two situations are near copies."""
_DAY = 86_400.0


class Wishes(TypedDict, total=False):
    """What a recall can be asked for beside likeness, as keywords."""

    min_score: float | None
    floor: bool
    diverse: bool
    prefer_success: bool
    half_life: float | None


@dataclass(frozen=True, slots=True)
class Choosing:
    """What is asked for beside likeness."""

    min_score: float | None = None
    """Only what scores as much, instead of the store's own floor."""
    floor: bool = True
    """Leave out what does not reach the store's own floor."""
    diverse: bool = False
    """Near copies once, as the best of them."""
    prefer_success: bool = False
    """Of about equally similar runs first those that are confirmed to have worked, then unknown ones, then failed ones."""
    half_life: float | None = None
    """Days in which what a run's freshness counts for halves; None: its age does not count."""

    def __post_init__(self) -> None:
        if self.min_score is not None and isnan(self.min_score):
            raise InvalidInput("min_score is not a number; it needs one, about 0.2 to leave out what is foreign")
        if self.half_life is not None and not (isfinite(self.half_life) and self.half_life > 0):
            raise InvalidInput(f"half_life is {self.half_life!r}; it needs days above 0, or None to let age not count")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recall found, and what it left out."""

    matches: tuple[Match, ...] = ()
    """At most as many as were asked for, best first."""
    near_misses: int = 0
    """How many of the runs that would have been in it are left out, because they are too little alike."""
    best_miss: float | None = None
    """The best score among those."""
    failures: int = 0
    """When only runs that worked were asked for and there is none: how many similar ones failed, at most as many as were asked for."""

    @property
    def nothing_worked(self) -> bool:
        """There are similar runs, and nobody says of any of them that it worked."""
        return bool(self.matches or self.failures) and not any(match.episode.success for match in self.matches)


def in_order(matches: Sequence[Match], choosing: Choosing, now: datetime) -> list[Match]:
    """The matches by likeness and what was asked for beside it; equals stay as they came.

    A score is given up to 0.1 for how the run ended and up to 0.05 for how fresh it is, so the order of two whose scores
    are further apart than that never changes.
    """
    weighed = {match.id: match.score + _given(match, choosing, now) for match in matches}
    return sorted(matches, key=lambda match: -weighed[match.id])


def distinct(matches: Iterable[Match], *, diverse: bool, most: int) -> list[Match]:
    """The first so many that are no copies of an earlier one; `diverse`: no near copies either.

    Copies have the same content. Near copies share seven tenths of the words of their situations and have the same
    result: that the same task failed and worked is two things to know.
    """
    taken: list[Match] = []
    seen: set[tuple[object, ...]] = set()
    repeats = _near_copies() if diverse else lambda _: False
    for match in matches:
        content = match.episode.content
        if content not in seen and not repeats(match):
            taken.append(match)
        seen.add(content)
        if len(taken) == most:
            break
    return taken


def _given(match: Match, choosing: Choosing, now: datetime) -> float:
    given = 0.0
    if choosing.prefer_success:
        given += STANDING_WEIGHT * {True: 1.0, None: 0.5, False: 0.0}[match.record.ended]
    if choosing.half_life is not None:
        age = max((now - match.record.began).total_seconds() / _DAY, 0.0)
        given += FRESH_WEIGHT * 0.5 ** min(age / choosing.half_life, 1000.0)
    return given


def _near_copies() -> Callable[[Match], bool]:
    """Tells of each match in turn whether it is a near copy of one before it that was none."""
    kept: list[tuple[bool | None, frozenset[str]]] = []

    def repeats(match: Match) -> bool:
        words = frozenset(tokens(match.episode.situation))
        if any(match.episode.success is success and _alike(words, others) for success, others in kept):
            return True
        kept.append((match.episode.success, words))
        return False

    return repeats


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= NEAR_COPY * len(one | other)
