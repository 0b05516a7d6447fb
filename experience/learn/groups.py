"""Which runs are of one kind: alike in situation, and with tools in common.

Star clustering (Aslam, Pelekhov and Rus, 1999): the run with most neighbours takes them all, then the next of those that
are left. A group is never wider than its centre's neighbourhood, so that likeness is not passed on from hand to hand. It
is done in an order that only content decides, so that the same runs make the same groups however they came in. Arrays in,
groups out; no store.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experience.episode import Episode

LEAST_ALIKE = 0.7
"""Cosine of two situations from which on they are of one kind; measured in docs/decisions.md."""
LEAST_TOOLS = 0.4
"""Weighted Jaccard of their tools, rare tools weighing more."""
_BLOCK = 1024  # rows of the similarity matrix that are held at once
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
) -> list[Group]:
    """Every run in one group, the densest first. `vectors` are unit vectors, a row a run; `tools` also asks for tools in
    common.
    """  # noqa: D205
    if not episodes:
        return []
    order = np.array(sorted(range(len(episodes)), key=lambda at: content_key(episodes[at])))
    kin = _Kin([episodes[at] for at in order], vectors[order], tools=tools, alike=alike)
    free = np.ones(len(order), dtype=bool)
    groups = []
    for centre in np.lexsort((np.arange(len(order)), -kin.densities())):
        if free[centre]:
            members = np.flatnonzero(kin.of(slice(centre, centre + 1))[0] & free)
            free[members] = False
            free[centre] = False
            groups.append(Group(int(order[centre]), tuple(sorted({int(order[centre]), *map(int, order[members])}))))
    return groups


def content_key(episode: Episode) -> tuple[object, ...]:
    """What decides among equals: what happened, and not when it was recorded."""
    return (episode.situation, episode.tools, episode.outcome, episode.skills, episode.tags, repr(episode.success))


class _Kin:
    """Who is of one kind with whom, asked for a few rows at a time."""

    def __init__(self, episodes: Sequence[Episode], vectors: NDArray[np.float32], *, tools: bool, alike: float) -> None:
        self._vectors, self._alike = np.ascontiguousarray(vectors, dtype=np.float32), alike
        self._tools = _weights(episodes) if tools else None

    def of(self, rows: slice) -> NDArray[np.bool_]:
        """A row for each of `rows`, a column for every run."""
        kin = np.round(self._vectors[rows] @ self._vectors.T, DECIMALS) >= self._alike
        if self._tools is not None:
            marks, weights, sums = self._tools
            both = (marks[rows] * weights) @ marks.T
            either = sums[rows, None] + sums[None] - both
            kin &= both >= LEAST_TOOLS * either - 1e-6  # two runs without tools have theirs in common
        return np.asarray(kin)

    def densities(self) -> NDArray[np.int64]:
        """How many are of one kind with each."""
        blocks = range(0, len(self._vectors), _BLOCK)
        return np.concatenate([self.of(slice(at, at + _BLOCK)).sum(axis=1) for at in blocks])


def _weights(
    episodes: Sequence[Episode],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Which run used which tool (0 or 1), what each tool weighs, and the sum of each run's."""
    spread = Counter(tool for episode in episodes for tool in set(episode.tools))
    columns = {tool: at for at, tool in enumerate(sorted(spread))}
    marks = np.zeros((len(episodes), len(columns)), dtype=np.float32)
    for row, episode in enumerate(episodes):
        marks[row, [columns[tool] for tool in set(episode.tools)]] = 1
    weights = np.array([np.log1p(len(episodes) / spread[tool]) for tool in columns], dtype=np.float32)
    return marks, weights, marks @ weights
