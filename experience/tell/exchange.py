"""One exchange brought within a budget, with an exact account of what is missing and where it is.

One decision function, used wherever an exchange is compacted, so that a rebuild comes to the same bytes. Nothing is
dropped silently: what cannot be cut stays whole, or leaves whole into a store that the text left behind names. It knows
no wire format and no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from experience.tell.blocks import Exchange, texts_of, with_texts
from experience.tell.budget import checked, fair_shares
from experience.tell.judging import DEFAULT, FOUNDING, CompactPolicy, Fate, Judged, Left, Shares, judged
from experience.tell.kinds import Content
from experience.tell.offload import ContentStore, Stored
from experience.tell.shorten import encoded, size_of

__all__ = ["DEFAULT", "FOUNDING", "Change", "CompactPolicy", "Compacted", "Fate", "Shares", "compact"]

EXCHANGE_BUDGET_BYTES = 32_768
"""The default budget: 8,192 tokens of output, four bytes each."""
EXCHANGE_BUDGET_TOKENS = 8_192
"""The same, where tokens are counted."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one text that was too long."""

    block: int
    """Its place among the assistant's blocks or among the results, from 0."""
    result: bool
    """Whether it stands among the results."""
    tool_use_id: str | None
    content: Content
    fate: Fate
    before: int
    """In bytes, as are the next two."""
    after: int
    dropped: int
    """Bytes that are missing in what is left, with those that an earlier cut took."""
    locator: str = ""
    """Where the whole of it is kept; empty when it was not stored."""
    path: str = ""
    """A copy for reading."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """An exchange after compaction, and the account of it."""

    exchange: Exchange
    budget: int
    before: int
    """What all texts cost before, in the unit of the budget."""
    after: int
    not_counted: int = 0
    """What texts cost that are left alone besides, because calls wait for their results."""
    changes: tuple[Change, ...] = ()
    """Of every text that was too long for its share, in order."""

    @property
    def fits(self) -> bool:
        """Whether all texts are within the budget now, those too that are left alone."""
        return self.after + self.not_counted <= self.budget


def compact(
    exchange: Exchange,
    budget: int,
    policy: CompactPolicy = DEFAULT,
    store: ContentStore | None = None,
    not_counted: int = 0,
) -> Compacted:
    """The exchange with its texts and results cut to a budget in the unit that the policy counts, bytes by default.

    `not_counted` is what a conversation leaves alone besides (its `waiting_cost`): it takes nothing from the budget,
    and the account says it. Thinking, calls, images and empty texts are neither touched nor counted. An exchange
    within its budget is given back as it is. The result is within the budget whenever the texts that may be cut, or
    stored, can make it so; where they cannot, they are cut to what would be theirs if all could be. The same input
    gives the same bytes, and what came out is not changed again by the same budget (the founding policy does not
    promise that). Raises InvalidInput for a negative budget, StoreError when the store cannot be written.
    """
    checked(budget)
    texts = texts_of(exchange)
    costs = {at: policy.count(text) for at, text in enumerate(texts) if text}
    total = sum(costs.values())
    if total <= budget:
        return Compacted(exchange, budget, total, total, not_counted)
    lot = _Lot([text for text in texts if text], list(costs.values()), policy, store)
    changes, after = [], total
    for at, found in zip(costs, lot.left(budget), strict=True):
        if found and found[1].fate:
            one, left = found
            changes.append(_change(exchange, at, one, left, _kept(one, left, store)))
            after += policy.count(left.text) - one.cost
            texts[at] = left.text
    return Compacted(with_texts(exchange, texts), budget, total, after, not_counted, tuple(changes))


class _Lot:
    """The texts among which a budget is parted; only those that do not fit are judged, which takes the time."""

    def __init__(
        self, texts: Sequence[str], costs: Sequence[int], policy: CompactPolicy, store: ContentStore | None
    ) -> None:
        self._texts, self._costs, self._policy, self._store = texts, costs, policy, store
        self._judged: list[Judged | None] = [None] * len(texts)
        self._floors = [0] * len(texts)
        """The least that each can be brought to, as far as it was judged."""
        self._needs = list(costs)
        """What each is given at most: its cost, or that of its substitute once it is to leave."""
        self._staying: set[int] = set()
        """Those that must leave or stay whole, and stay so far."""

    def left(self, budget: int) -> list[tuple[Judged, Left] | None]:
        """What was judged and what is left of it, for each text in order; None for each that fits."""
        even = self._policy.shares is Shares.EVEN
        plain = self._even(budget) if even else fair_shares(self._costs, budget)
        given = plain if even else self._fair(budget)
        return [
            None if one is None else (one, self._whole_or_less(one, share, wish))
            for one, share, wish in zip(self._judged, given, plain, strict=True)
        ]

    def _even(self, budget: int) -> list[int]:
        share = budget // len(self._costs)
        for at, cost in enumerate(self._costs):
            if cost > share:
                self._judge(at)
        return [share] * len(self._costs)

    def _fair(self, budget: int) -> list[int]:
        """A share for each: no less than it can be brought to, and no more than it needs.

        The shares are always fair for the floors and needs known so far. A round judges texts, at least one that none
        judged before, or lets some leave that stayed; so the rounds end, at the latest when all are judged and none
        stays.
        """
        while True:
            shares = _above(self._floors, self._needs, budget)
            short = [at for at, share in enumerate(shares) if share < self._needs[at]]
            if not self._judge_near(min((shares[at] for at in short), default=None)) and not self._let_leave(short):
                return shares

    def _judge_near(self, level: int | None) -> bool:
        """Judge what the level of those that go short cuts, and what is a little below, so that a few rounds do."""
        if level is None:
            return False
        new = [at for at, need in enumerate(self._needs) if self._judged[at] is None and 2 * need > level]
        for at in new:
            one = self._judge(at)
            self._floors[at] = one.least_cost(self._policy.count)
            if one.must_leave and self._floors[at] < one.cost:
                self._staying.add(at)
        return bool(new)

    def _let_leave(self, short: Sequence[int]) -> bool:
        """Of those that stay and go short the bigger half leaves; then the others may find room."""
        late = sorted(self._staying.intersection(short), key=lambda at: (-self._needs[at], at))
        for at in late[: -(-len(late) // 2)]:
            cap = self._judge(at).cap_cost(self._policy.count)
            self._needs[at] = max(self._floors[at], min(self._needs[at] - 1, cap))
            self._staying.remove(at)
        return bool(late)

    def _judge(self, at: int) -> Judged:
        one = self._judged[at] or judged(self._texts[at], self._costs[at], self._policy, self._store)
        self._judged[at] = one
        return one

    def _whole_or_less(self, one: Judged, share: int, wish: int) -> Left:
        """What is left within a share; one that got all it needs because it cannot be cut is said to be whole."""
        left = one.left(share, self._policy.count)
        stays = left.fate is None and one.cost > wish and one.must_leave
        return Left(one.text, fate=Fate.WHOLE) if stays and one.least_cost(self._policy.count) == one.cost else left


def _above(floors: Sequence[int], needs: Sequence[int], budget: int) -> list[int]:
    """Fair shares, but none below its floor.

    Where the floors alone are more than the budget, nothing is sacrificed in vain: each gets what it would if all of
    them could be cut.
    """
    if sum(floors) > budget:
        return [max(pair) for pair in zip(floors, fair_shares(needs, budget), strict=True)]
    shares = list(floors)
    free = list(range(len(needs)))
    while free:
        rest = fair_shares([needs[at] for at in free], budget)
        short = {at for at, share in zip(free, rest, strict=True) if share < floors[at]}
        if not short:
            for at, share in zip(free, rest, strict=True):
                shares[at] = share
            break
        budget -= sum(floors[at] for at in short)
        free = [at for at in free if at not in short]
    return shares


def _kept(one: Judged, left: Left, store: ContentStore | None) -> Stored | None:
    """The whole text in the store, where it is to be there; also where its share did not hold a hint."""
    if store is None or not one.hint or left.fate is Fate.WHOLE:
        return None
    return store.put(encoded(one.whole))


def _change(exchange: Exchange, at: int, one: Judged, left: Left, kept: Stored | None) -> Change:
    said = len(exchange.assistant)
    result = exchange.results[at - said] if at >= said else None
    return Change(
        block=at - said if result else at,
        result=result is not None,
        tool_use_id=result.tool_use_id if result else None,
        content=one.content,
        fate=left.fate or Fate.WHOLE,
        before=one.size,
        after=size_of(left.text),
        dropped=left.dropped,
        locator=kept.locator if kept else "",
        path=str(kept.path) if kept else "",
    )
