"""Which runs are of one kind: alike in situation, and with tools in common.

Star clustering (Aslam, Pelekhov and Rus, 1999): the run with most neighbours takes them all, then the next of those that
are left. A group is never wider than its centre's neighbourhood, so that likeness is not passed on from hand to hand. It
is done in an order that only content decides, so that the same runs make the same groups however they came in. Arrays in,
groups out; no store.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experience.episode import Episode
from experience.learn.near import Near, Rows

LEAST_ALIKE = 0.7
"""Cosine of two situations from which on they are of one kind; measured in docs/decisions.md."""
LEAST_TOOLS = 0.4
"""Weighted Jaccard of their tools, rare tools weighing more."""
DECIMALS = 5
"""Of a cosine: what lies beyond depends on how a product was cut into blocks."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of one kind, as positions in what was given; the members ascending, the centre among them."""

    centre: int
    members: tuple[int, ...]


def group(
    episodes: Sequence[Episode],
    vectors: NDArray[np.float32],
    *,
    tools: bool = True,
    alike: float = LEAST_ALIKE,
    cells: int | None = None,
) -> list[Group]:
    """Every run in one group, the densest first. `vectors` are unit vectors, a row a run; `tools` also asks for tools in
    common. Of more than 20,000 different runs a few pairs of kin may be missed (see `near`); `cells` is for measuring that.
    """  # noqa: D205
    if not episodes:
        return []
    order = sorted(range(len(episodes)), key=lambda at: content_key(episodes[at]))
    copies = _copies(episodes, vectors, order)
    first = [same[0] for same in copies]
    counts = np.array([len(same) for same in copies])
    shared = Tools(episodes, first).shared if tools else None
    near = Near(
        np.ascontiguousarray(vectors[first], dtype=np.float32), counts, alike - 0.5 / 10**DECIMALS, shared, cells
    )
    free = np.ones(len(first), dtype=bool)
    groups = []
    for centre in np.lexsort((np.arange(len(first)), -near.density)):
        if free[centre]:
            kin = near.of(int(centre))
            members = {int(centre), *map(int, kin[free[kin]])}
            free[list(members)] = False
            groups.append(Group(first[centre], tuple(sorted(at for member in members for at in copies[member]))))
    return groups


def content_key(episode: Episode) -> tuple[object, ...]:
    """What decides among equals: what happened, and not when it was recorded."""
    return (episode.situation, episode.tools, episode.outcome, episode.skills, episode.tags, repr(episode.success))


def _copies(episodes: Sequence[Episode], vectors: NDArray[np.float32], order: Sequence[int]) -> list[list[int]]:
    """Runs with the same vector and the same tools, which have the same kin; all in the order given."""
    same: dict[tuple[bytes, frozenset[str]], list[int]] = {}
    for at in order:
        vector = hashlib.sha256(vectors[at].tobytes()).digest()  # all of them as they are would be kept a second time
        same.setdefault((vector, frozenset(episodes[at].tools)), []).append(at)
    return list(same.values())


class Tools:
    """Which runs have tools in common. Runs with the same tools are one row, since there are fewer sets than runs."""

    def __init__(self, episodes: Sequence[Episode], first: Sequence[int]) -> None:
        """Of the runs that are `first`; how rare a tool is counts over all."""
        sets: dict[frozenset[str], int] = {}
        self._set = np.array([sets.setdefault(frozenset(episodes[at].tools), len(sets)) for at in first])
        spread = Counter(tool for episode in episodes for tool in set(episode.tools))
        columns = {tool: at for at, tool in enumerate(sorted(spread))}
        self._marks = np.zeros((len(sets), len(columns)), dtype=np.float32)
        for row, used in enumerate(sets):
            self._marks[row, [columns[tool] for tool in used]] = 1
        self._weights = np.array([np.log1p(len(episodes) / spread[tool]) for tool in columns], dtype=np.float32)
        self._sums = self._marks @ self._weights

    def shared(self, left: Rows, right: Rows) -> NDArray[np.bool_]:
        """Of each run of `left` and the one of `right` beside it."""
        rows, row = self._sets(left)
        columns, column = self._sets(right)
        both = (self._marks[rows] * self._weights) @ self._marks[columns].T
        either = self._sums[rows, None] + self._sums[columns] - both
        alike = both >= LEAST_TOOLS * either - 1e-6  # two runs without tools have theirs in common
        return np.asarray(alike[row, column])

    def _sets(self, runs: Rows) -> tuple[Rows, Rows]:
        """The different sets of these runs, and where each run's is among them."""
        sets = np.flatnonzero(np.bincount(self._set[runs], minlength=len(self._marks)))
        place = np.empty(len(self._marks), dtype=np.int64)
        place[sets] = np.arange(len(sets))
        return sets, place[self._set[runs]]
