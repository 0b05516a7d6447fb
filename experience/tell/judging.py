"""What is decided about one text: what it is, the least it can be brought to, and what is left of it within a share.

Pure: a store is asked what its hint would be, and written by whoever carries the decision out. It knows nothing of other
texts and of how a budget is parted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from experience.tell import marks
from experience.tell.budget import Count
from experience.tell.content import detect, detect_founding
from experience.tell.kinds import Content
from experience.tell.offload import ATTACHMENT_CAP, OFFLOAD_MIN_BYTES, ContentStore, under_hint
from experience.tell.shorten import Cut, Keep, MustOffload, Plan, Strategy, least, plan, shorten, size_of


class Shares(StrEnum):
    """How a budget is parted among texts."""

    EVEN = "even"
    """Each gets as much, whatever it needs."""
    FAIR = "fair"
    """What cannot be cut is taken off first, and what small texts leave is handed on."""


class Fate(StrEnum):
    """What happened to a text that was too long for its share."""

    CUT = "cut"
    OFFLOADED = "offloaded"
    WHOLE = "whole"
    """It stayed as it is: half of it would read as something else, and there was no store or no room for a hint."""


@dataclass(frozen=True, slots=True)
class CompactPolicy:
    """How texts are judged, measured and cut."""

    detect: Callable[[str], Content] = detect
    shares: Shares = Shares.FAIR
    count: Count = size_of
    """What a text costs, in the unit of the budget."""
    plan: Callable[[Content, int, int], Plan] = plan


DEFAULT = CompactPolicy()
FOUNDING = CompactPolicy(detect=detect_founding, shares=Shares.EVEN)
"""What the founding system did, to the byte."""


class Left(NamedTuple):
    """What is left of a text."""

    text: str
    dropped: int = 0
    """Bytes of it that are missing."""
    fate: Fate | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A text, what it is, and what would be done with it if it were too long."""

    text: str
    cost: int
    size: int
    content: Content
    plan: Plan
    hint: str
    """What a substitute of it ends with: its own where it is one, else the store's; empty where it is not to be stored."""

    @property
    def is_substitute(self) -> bool:
        """Whether it stands in for a text that was stored before."""
        return bool(self.hint) and self.text.endswith(self.hint)

    @property
    def must_leave(self) -> bool:
        """Whether it is not to be cut."""
        return isinstance(self.plan, MustOffload)

    def least_cost(self, count: Count) -> int:
        """The least that can be left of it, as the budget counts."""
        if isinstance(self.plan, Keep):
            return self.cost
        if count is size_of and not self.hint:
            return self.size if self.must_leave else least(self.text)
        shortest = _within(self, self._least_bytes())
        return self.cost if shortest is None else min(self.cost, count(shortest.text))

    def cap_cost(self, count: Count) -> int:
        """What its substitute costs where that is as long as one may be."""
        longest = _within(self, ATTACHMENT_CAP)
        return self.cost if longest is None else min(self.cost, count(longest.text))

    def left(self, share: int, policy: CompactPolicy) -> "Left":
        """What is left of it at a cost of at most `share`, or else as little as possible."""
        if isinstance(policy.plan(self.content, self.cost, share), Keep):
            return Left(self.text)
        limit = share if policy.count is size_of else self._limit(share, policy.count)
        found = _within(self, limit)
        if found is None or policy.count(found.text) >= self.cost:
            return Left(self.text, fate=Fate.WHOLE)
        return found

    def _least_bytes(self) -> int:
        if self.is_substitute or self.must_leave:
            return size_of(self.hint)
        return least(self.text)

    def _limit(self, share: int, count: Count) -> int:
        """A limit in bytes at which what is left costs `share` or, where no limit does, as much below it as need be."""
        low, high = self._least_bytes(), self.size
        middle = self.size * share // self.cost
        while high - low > 1:
            middle = min(max(middle, low + 1), high - 1)
            found = _within(self, middle)
            cost = share + 1 if found is None else count(found.text)
            if cost == share:
                return middle
            low, high = (middle, high) if cost < share else (low, middle)
            middle = (low + high) // 2
        return low


def judged(text: str, cost: int, policy: CompactPolicy, store: ContentStore | None) -> Judged:
    """What a text is and what may become of it."""
    size, content, hint = size_of(text), policy.detect(text), marks.hint_of(text)
    decided = policy.plan(content, cost, 0)
    worth_it = size >= OFFLOAD_MIN_BYTES and decided != Cut(Strategy.SECTIONS)
    if store and not hint and (worth_it or isinstance(decided, MustOffload)):
        hint = store.hint(text)
    return Judged(text, cost, size, content, decided, hint)


def _within(one: Judged, limit: int) -> Left | None:
    """What is left of a text in so many bytes; None where it can only stay whole."""

    def fits(limit: int) -> bool:
        return bool(one.hint) and size_of(one.hint) <= limit

    if one.is_substitute:
        body = one.text.removesuffix(one.hint)
        return Left(*under_hint(body, one.hint, limit), Fate.CUT) if fits(limit) else None
    if one.must_leave:
        limit = min(limit, ATTACHMENT_CAP, one.size - 1)
        return Left(*under_hint(one.text, one.hint, limit), Fate.OFFLOADED) if fits(limit) else None
    if fits(limit) and limit < one.size:
        return Left(*under_hint(one.text, one.hint, limit), Fate.OFFLOADED)
    if not isinstance(one.plan, Cut):
        return None
    short = shorten(one.text, one.plan.strategy, limit)
    return Left(short.text, short.dropped, Fate.CUT)
