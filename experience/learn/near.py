"""Which vectors are near which, without multiplying each with all when there are many.

Up to 20,000 every pair is looked at. Beyond, k-means on the sphere (Lloyd, 1982; Dhillon and Modha, 2001) parts them into
about sqrt(n) cells, and a vector is compared with what lies in the 12 cells whose centres are nearest to it (an inverted
file, Sivic and Zisserman, 2003). A pair is found when either looks where the other lies, so some pairs are missed: the
shares are in docs/performance.md. Nothing is left to chance: the same rows in the same order give the same neighbours.
It knows nothing of runs; what else two rows must have in common comes in as a function.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
Alike = Callable[[Rows, Rows], NDArray[np.bool_]]
"""Of rows, and of as many others: whether each may be a neighbour of the one beside it."""

EXACT_UP_TO = 20_000
"""Rows up to which every pair is looked at."""
_PROBES = 12
_ROUNDS = 8  # of k-means
_SAMPLE = 32  # rows for each cell that k-means looks at
_ROOM = 1 << 22  # cosines that are held at once
_LISTED = 128  # neighbours of a row that are kept; those of a row with more are worked out when they are asked for


class Near:
    """The neighbours of each row: how many (`density`, counted by weight, itself included), and which (`of`)."""

    def __init__(
        self, vectors: Vectors, weights: Rows, least: float, alike: Alike | None = None, cells: int | None = None
    ) -> None:
        """Neighbours have a cosine of `least` or more and are `alike`.

        `vectors` are unit vectors of shape (n, width), `weights` how many each stands for, of shape (n,). `cells` into
        which they are parted: None for what their number asks for, 1 for the exact answer.
        """
        self._vectors, self._weights, self._least, self._alike = vectors, weights, np.float32(least), alike
        count = len(vectors)
        self._cells = cells or (1 if count <= EXACT_UP_TO else isqrt(count))
        self._probes = probes(vectors, self._cells)
        self._home = self._probes[:, 0]
        self.density = np.zeros(count, dtype=np.int64)
        self._held = np.zeros(count, dtype=np.int64)
        self._starts, self._lists = self._listed()

    def of(self, row: int) -> Rows:
        """The neighbours of a row, in no order; itself among them."""
        if self._held[row] <= _LISTED:
            return np.asarray(self._lists[self._starts[row] : self._starts[row + 1]], dtype=np.int64)
        looks = np.zeros(self._cells, dtype=bool)
        looks[self._probes[row]] = True
        others = np.flatnonzero(looks[self._home] | (self._probes == self._home[row]).any(axis=1))
        return np.asarray(others[self._pairs(np.array([row]), others)[1]])

    def _listed(self) -> tuple[Rows, NDArray[np.int32]]:
        """Count all neighbours, and keep those of the rows that have few: where each list starts, and the lists."""
        found = []
        for left, right in self._all_pairs():
            self.density += np.bincount(left, self._weights[right], len(self._held)).astype(np.int64)
            self._held += np.bincount(left, minlength=len(self._held))
            few = self._held[left] <= _LISTED
            found.append((left[few].astype(np.int32), right[few].astype(np.int32)))
        lefts, rights = (np.concatenate(side) for side in zip(*found, strict=True))
        del found
        few = self._held[lefts] <= _LISTED
        lefts, rights = lefts[few], rights[few]
        starts = np.concatenate([[0], np.bincount(lefts, minlength=len(self._held)).cumsum()])
        return starts, rights[np.argsort(lefts, kind="stable")]

    def _all_pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Every pair that is found, once from each of its sides."""
        places = np.arange(len(self._home))
        homes = _sorted_by(self._home, places, self._cells)
        seekers = _sorted_by(self._probes.ravel(), np.repeat(places, self._probes.shape[1]), self._cells)
        for columns, looking in zip(homes, seekers, strict=True):
            if not len(columns):
                continue
            back = np.zeros((len(columns), self._cells), dtype=bool)
            back[np.arange(len(columns))[:, None], self._probes[columns]] = True
            step = max(1, _ROOM // len(columns))
            for rows in (looking[at : at + step] for at in range(0, len(looking), step)):
                row, column = self._pairs(rows, columns)
                left, right = rows[row], columns[column]
                yield left, right
                unseen = ~back[column, self._home[left]]  # the other side does not look here, so this one tells it
                yield right[unseen], left[unseen]

    def _pairs(self, rows: Rows, columns: Rows) -> tuple[Rows, Rows]:
        """Which of the rows and which of the columns are neighbours, as positions in what was given."""
        others = self._vectors if len(columns) == len(self._vectors) else self._vectors[columns]
        found = np.flatnonzero(self._vectors[rows] @ others.T >= self._least)
        row, column = np.divmod(found, len(columns))
        if self._alike is not None:
            too = self._alike(rows[row], columns[column])
            row, column = row[too], column[too]
        return row, column


def probes(vectors: Vectors, cells: int) -> NDArray[np.int32]:
    """The cells nearest to each vector, its own first: shape (n, at most 12)."""
    if cells == 1:
        return np.zeros((len(vectors), 1), dtype=np.int32)
    centres = _centres(vectors, cells)
    most = min(_PROBES, cells)
    nearest = []
    for at in range(0, len(vectors), _ROOM // cells):
        cosines = vectors[at : at + _ROOM // cells] @ centres.T
        best = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
        order = np.argsort(-np.take_along_axis(cosines, best, axis=1), axis=1, kind="stable")
        nearest.append(np.take_along_axis(best, order, axis=1).astype(np.int32))
    return np.concatenate(nearest)


def _centres(vectors: Vectors, cells: int) -> Vectors:
    """Unit vectors of shape (cells, width): k-means over a sample that is spread evenly over the rows, as its seeds are."""
    sample = vectors[np.linspace(0, len(vectors) - 1, min(len(vectors), _SAMPLE * cells)).astype(np.int64)]
    centres = sample[np.linspace(0, len(sample) - 1, cells).astype(np.int64)]
    for _ in range(_ROUNDS):
        home = (sample @ centres.T).argmax(axis=1)
        order = np.argsort(home, kind="stable")
        filled, starts = np.unique(home[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        centres = centres.copy()
        centres[filled] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-12))
    return centres


def _sorted_by(keys: NDArray[np.int32], values: Rows, count: int) -> list[Rows]:
    """The values of each key from 0 to count - 1."""
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(keys[order], np.arange(count + 1))
    return [values[order[start:end]] for start, end in pairwise(ends)]
