"""One exchange brought within a budget, with an exact account of what is missing and where it is.

One decision function, used wherever an exchange is compacted, so that a rebuild comes to the same bytes. Nothing is
dropped silently: what cannot be cut stays whole, or leaves whole into a store that the text left behind names. It knows
no wire format and no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from experience.errors import InvalidInput
from experience.tell.budget import fair_shares
from experience.tell.exchange import Exchange, texts_of, with_texts
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
    """Bytes of the text that are missing in what is left."""
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
    changes: tuple[Change, ...] = ()
    """Of every text that was too long for its share, in order."""

    @property
    def fits(self) -> bool:
        """Whether the texts are within the budget now."""
        return self.after <= self.budget


def compact(
    exchange: Exchange, budget: int, policy: CompactPolicy = DEFAULT, store: ContentStore | None = None
) -> Compacted:
    """The exchange with its texts and results cut to a budget in the unit that the policy counts, bytes by default.

    Thinking, calls, images and empty texts are neither touched nor counted. An exchange within its budget is given back
    as it is. The result is within the budget whenever the texts that may be cut, or stored, can make it so; where they
    cannot, they are cut to what would be theirs if all could be. The same input gives the same bytes. Raises InvalidInput for a negative budget, StoreError when the store cannot be written.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"the budget is {budget!r}; it needs to be a whole number, 0 or more")
    texts = texts_of(exchange)
    costs = {at: policy.count(text) for at, text in enumerate(texts) if text}
    total = sum(costs.values())
    if total <= budget:
        return Compacted(exchange, budget, total, total)
    found = {at: judged(texts[at] or "", cost, policy, store) for at, cost in costs.items()}
    changes, after = [], 0
    for (at, one), left in zip(found.items(), _left(list(found.values()), budget, policy), strict=True):
        if left.fate:
            changes.append(_change(exchange, at, one, left, _kept(one, left, store)))
        after += one.cost if left.text is one.text else policy.count(left.text)
        texts[at] = left.text
    return Compacted(with_texts(exchange, texts), budget, total, after, tuple(changes))


def _left(found: Sequence[Judged], budget: int, policy: CompactPolicy) -> list[Left]:
    if policy.shares is Shares.EVEN:
        return [one.left(budget // len(found), policy) for one in found]
    plain = fair_shares([one.cost for one in found], budget)
    given = _fairly(found, budget, policy)
    left = [one.left(share, policy) for one, share in zip(found, given, strict=True)]
    return [
        Left(one.text, fate=Fate.WHOLE) if now.fate is None and one.cost > share and _stays(one, policy) else now
        for one, now, share in zip(found, left, plain, strict=True)
    ]


def _stays(one: Judged, policy: CompactPolicy) -> bool:
    return one.must_leave and one.least_cost(policy.count) == one.cost


def _fairly(found: Sequence[Judged], budget: int, policy: CompactPolicy) -> list[int]:
    """A share for each: no less than it can be brought to, and no more than it needs."""
    floors = [one.least_cost(policy.count) for one in found]
    needs = [one.cost for one in found]
    staying = {at for at, one in enumerate(found) if one.must_leave and floors[at] < one.cost}
    while True:
        shares = _above(floors, needs, budget)
        late = sorted((at for at in staying if shares[at] < needs[at]), key=lambda at: (-needs[at], at))
        if not late:
            return shares
        for at in late[: -(-len(late) // 2)]:  # the bigger half leaves; with what that frees, others may stay
            needs[at] = max(floors[at], min(needs[at] - 1, found[at].cap_cost(policy.count)))
            staying.remove(at)


def _above(floors: Sequence[int], needs: Sequence[int], budget: int) -> list[int]:
    """Fair shares, but none below its floor.

    Where the floors alone are more than the budget, nothing is sacrificed in vain: each gets what it would if all of them
    could be cut.
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
    if store is None or not one.hint or one.is_substitute or left.fate is Fate.WHOLE:
        return None
    return store.put(encoded(one.text))


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
