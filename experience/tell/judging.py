"""What is decided about one text: what it is, the least it can be brought to, and what is left of it within a share.

Pure: a store is asked what its hint would be, and written by whoever carries the decision out. It knows nothing of
other texts and of how a budget is parted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from experience.tell.budget import Count
from experience.tell.content import detect, detect_founding
from experience.tell.kinds import Content
from experience.tell.offload import ATTACHMENT_CAP, OFFLOAD_MIN_BYTES, ContentStore, substitute
from experience.tell.shorten import Strategy, least, plan, shorten, size_of


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
    offload_from: int = 1
    """Bytes from which on a text that is cut is stored as well, where there is a store."""
    carry: bool = True
    """Whether a text that was cut before is cut as what it was, so that its marker counts all that is missing."""


DEFAULT = CompactPolicy()
FOUNDING = CompactPolicy(detect=detect_founding, shares=Shares.EVEN, offload_from=OFFLOAD_MIN_BYTES, carry=False)
"""What the founding system did in the window, to the byte."""


class Left(NamedTuple):
    """What is left of a text."""

    text: str
    dropped: int = 0
    """Bytes of it that are missing, with those that were missing before."""
    fate: Fate | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A text, what it is, and what would be done with it if it were too long."""

    text: str
    cost: int
    size: int
    whole: str
    """What it stands in for, where it is a substitute of ours; else itself."""
    content: Content
    strategy: Strategy | None
    """How it is cut; None where it must leave whole or stay whole."""
    hint: str
    """What a substitute of it ends with; empty where it is not to be stored."""
    carry: bool

    @property
    def must_leave(self) -> bool:
        """Whether it is not to be cut."""
        return self.strategy is None

    def least_cost(self, count: Count) -> int:
        """The least that can be left of it, as the budget counts."""
        if count is size_of:
            return self._least_bytes()
        shortest = _within(self, self._least_bytes())
        return self.cost if shortest is None else min(self.cost, count(shortest.text))

    def cap_cost(self, count: Count) -> int:
        """What its substitute costs where that is as long as one may be."""
        longest = _within(self, ATTACHMENT_CAP)
        return self.cost if longest is None else min(self.cost, count(longest.text))

    def left(self, share: int, count: Count) -> Left:
        """What is left of it at a cost of at most `share`, or else as little as possible."""
        if self.cost <= share:
            return Left(self.text)
        found = _within(self, share if count is size_of else self._limit(share, count))
        if found is None or count(found.text) >= self.cost:
            return Left(self.text, fate=Fate.WHOLE)
        return found

    def _least_bytes(self) -> int:
        if self.strategy is None:
            return min(self.size, size_of(self.hint)) if self.hint else self.size
        return min(self.size, least(self.whole, self.strategy, carry=self.carry))

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
    whole = (store.original(text) if store else None) or text
    content, size = policy.detect(whole), size_of(text)
    decided = plan(content, cost, 0)
    strategy = decided if isinstance(decided, Strategy) else None
    to_store = store and (strategy is None or whole is not text or size >= policy.offload_from)
    hint = store.hint(whole) if store and to_store else ""
    return Judged(text, cost, size, whole, content, strategy, hint, policy.carry)


def _within(one: Judged, limit: int) -> Left | None:
    """What is left of a text in so many bytes; None where it can only stay whole."""
    limit = min(limit, one.size - 1)
    if one.strategy is None:
        found = substitute(one.whole, one.hint, min(limit, ATTACHMENT_CAP)) if one.hint else None
        return Left(*found, Fate.OFFLOADED) if found else None
    room = size_of(one.hint)
    hint = one.hint if 2 * room <= limit else ""
    short = shorten(one.whole, one.strategy, limit - (room if hint else 0), carry=one.carry)
    return Left(short.text + hint, short.dropped, Fate.OFFLOADED if hint else Fate.CUT)
