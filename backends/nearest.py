"""The nearest vectors of a space among those that pass a filter, however many there are and however few pass.

What has codes is found by them and then looked at exactly, by the vectors in the store; the others lie in a matrix and are
looked through. Both follow the file: new vectors are appended to the matrix. A vector that has gone is dropped from the
matrix at once, and of those found by codes it is missed when it is looked up, so that a delete counts from the
moment of its commit, in every process.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experience.backends import codes, spaces
from experience.backends.codes import Codes
from experience.backends.matrix import Matrix, Vectors, rounded, stacked
from experience.backends.passing import all_passing, expired, passing
from experience.backends.ranking import Ids, best
from experience.backends.spaces import Space
from experience.protocols import Filter
from experience.store import SqliteStore

if TYPE_CHECKING:
    from experience.sqlite_file import Version

_LOOKED_AT, _LOOKED_AT_OF = 160, 25_000
"""Vectors found by codes that are looked at exactly, and one more for so many; of 10 nearest they hold more than 99 in 100."""
_MANY_LEFT = 0.9  # of the codes in memory; when fewer of them are still in the file, they are read again
_FEW = 20_000  # of so many it is cheaper to ask once which pass than to try the nearest first
_WORTH = 4
"""Of so many times the looks that finding enough without a list takes, all that pass may be, and are listed all the same."""
_MOST = 100_000  # episodes that pass a filter and are listed at most


class Nearest:
    """The vectors of one space, ready to be asked. To be used while the store is held."""

    def __init__(self, store: SqliteStore, encoder: str, width: int) -> None:
        self._store, self._encoder, self._width = store, encoder, width
        self._space: Space | None = None
        self._codes: Codes | None = None
        self._matrix = Matrix(width)
        self._removals = -1
        self._followed: Version | None = None
        self._listed: tuple[object, Ids | None] = (None, None)

    def to(self, query: Vectors, k: int, where: Filter) -> tuple[Ids, Vectors]:
        """The at most k nearest episodes, best first, equal ones by descending id; and their cosines."""
        self.follow()
        ids, scores = self._in_matrix(query, k, where)
        if self._codes is not None:
            more, their = self._by_codes(self._codes, query, k, where)
            ids, scores = np.concatenate([ids, more]), np.concatenate([scores, their])
        order = best(ids, scores, k)
        return ids[order], scores[order]

    def follow(self) -> None:
        """Bring what lies in memory to where the file is."""
        if (version := self._store.version()) == self._followed:
            return
        with self._store.snapshot():
            stamp = self._store.removals()
            space = spaces.known(self._store, self._encoder, self._width)
            undone = self._followed is not None and version.undone != self._followed.undone
            if space != self._space or undone or (space is not None and self._outdated(space, stamp)):
                self._load(space)
            if self._space is None:
                return
            after = "FROM vectors WHERE space = ? AND id > ?"
            new = self._store.read(
                f"SELECT id, episode_id, vector {after} ORDER BY id", (self._space.id, self._matrix.last)
            )
            self._matrix.append(new)
            if stamp != self._removals:
                live = self._store.read(f"SELECT id {after}", (self._space.id, self._codes.last if self._codes else 0))
                self._matrix.keep(np.array([id for (id,) in live], dtype=np.int64))
                self._removals = stamp
        self._followed = version

    def _load(self, space: Space | None) -> None:
        self._space = space
        self._codes = codes.load(self._store, space) if space else None
        self._matrix, self._removals = Matrix(self._width, self._codes.last if self._codes else 0), -1

    def _outdated(self, space: Space, stamp: int) -> bool:
        """Whether the file's codes are others than those in memory, and better to have."""
        begin, end = codes.ends(self._store, space)
        held = self._codes
        if held is None or begin != held.begin:
            return held is not None or (end > 0 and codes.available())
        full = len(self._matrix) > codes.LEAST
        if end > self._matrix.last or (full and end > held.last):
            return True
        return stamp != self._removals and codes.count(self._store, space) < _MANY_LEFT * len(held)

    def _in_matrix(self, query: Vectors, k: int, where: Filter) -> tuple[Ids, Vectors]:
        ids, scores = self._matrix.episodes, self._matrix.scores(query)
        at = self._passing(
            where, k, ids, lambda many: best(ids, scores, many), lambda listed: np.flatnonzero(np.isin(ids, listed))
        )
        return ids[at], scores[at]

    def _by_codes(self, held: Codes, query: Vectors, k: int, where: Filter) -> tuple[Ids, Vectors]:
        """What is nearest among the vectors that have codes, or had them when they were read."""
        wanted = count = max(_LOOKED_AT + len(held) // _LOOKED_AT_OF, 2 * k)
        while True:
            found, looked_at = self._looked_up(held, query, count, where)
            if len(found) >= wanted or looked_at < count:
                break
            count *= 2  # some have gone, and those that are left in their place lie further away
        vectors = stacked([vector for _, vector in found], self._width)
        return np.array([id for id, _ in found], dtype=np.int64), rounded(vectors @ query)

    def _looked_up(self, held: Codes, query: Vectors, count: int, where: Filter) -> tuple[list[tuple[int, bytes]], int]:
        """Episodes and vectors of the `count` nearest by their codes that are still there; how many were looked up."""
        at = self._passing(
            where,
            count,
            held.episodes,
            lambda many: held.nearest(query, many),
            lambda listed: _among(held, query, held.positions(listed), count),
        )
        # The plus keeps SQLite from looking up each id in the index of spaces first, which takes half as long again.
        sql = "SELECT episode_id, vector FROM vectors WHERE id IN (SELECT value FROM json_each(?)) AND +space = ?"
        found = self._store.read(sql, (json.dumps(np.sort(held.vectors[at]).tolist()), held.space.id))
        return [(id, vector) for id, vector in found], len(at)

    def _passing(
        self,
        where: Filter,
        count: int,
        ids: Ids,
        nearest: Callable[[int], NDArray[np.intp]],
        among: Callable[[Ids], NDArray[np.intp]],
    ) -> NDArray[np.intp]:
        """Positions of the nearest of `ids` that pass, at least `count` unless there are no more.

        The nearest are tried, as many as the share of those that passed so far lets expect. Where all that pass make a
        short list, they are listed, and the nearest looked for `among` them.
        """
        total = len(self._matrix) + len(self._codes or ())
        share, step = 1.0, (4 * count if where else count)
        found, passed, tried = nearest(min(16 * count if where else count, len(ids))), [np.empty(0, dtype=np.intp)], 0
        while True:
            if (
                where
                and (self._is_listed(where) or (share * total <= _FEW and share**2 * total <= _WORTH * count))
                and (listed := self._all_passing(where)) is not None
            ):
                return among(listed)
            if tried + step > len(found) < len(ids):
                found = nearest(min(4 * (tried + step), len(ids)))
            trying = found[tried : tried + step]
            passed.append(trying[passing(self._store, where, ids[trying])])
            tried, got = tried + len(trying), sum(map(len, passed))
            if got >= count or tried >= len(found):
                return np.concatenate(passed)[:count]
            share = max(got, 1) / tried
            step = int(1.25 * (count - got) / share) + 1

    def _all_passing(self, where: Filter) -> Ids | None:
        """All episodes that pass, or None when they are many; known again as long as the file stays as it is."""
        if not self._is_listed(where):
            self._listed = self._as_of(where), all_passing(self._store, where, _MOST)
        return self._listed[1]

    def _is_listed(self, where: Filter) -> bool:
        return self._listed[0] == self._as_of(where)

    def _as_of(self, where: Filter) -> tuple[object, ...]:
        return where, self._followed, expired(self._store).tobytes()


def _among(held: Codes, query: Vectors, positions: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The `count` nearest of those at `positions` (ascending), by whichever way looks at fewer."""
    if (many := 2 * count * len(held) // max(len(positions), 1)) < len(positions):
        tried = held.nearest(query, many)
        passed = tried[np.isin(tried, positions)]
        if len(passed) >= count:
            return passed[:count]
    return held.nearest_among(query, positions, count)
