"""Vectors in memory, and the exact product of a question with all of them. Knows no store and no filter."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experience.backends.ranking import Ids
from experience.errors import EncoderError

Vectors = NDArray[np.float32]

_DECIMALS = 6  # of a score: beyond them equal texts differ by the position of their rows in the matrix


class Matrix:
    """A matrix that grows: a float32 vector a column, with its own id and its episode's, and the last vector id seen.

    Vectors stand in columns because the product of a query with them is then three times as fast as with rows.
    """

    def __init__(self, width: int, last: int = 0) -> None:
        self.last = last
        self._count = 0
        self._columns = np.empty((width, 0), dtype=np.float32)
        self._room = np.empty((2, 0), dtype=np.int64)  # ids of vectors, ids of episodes

    def __len__(self) -> int:
        return self._count

    @property
    def episodes(self) -> Ids:
        """The episode of each vector."""
        return self._room[1, : self._count]

    def append(self, found: Sequence[tuple[int, int, bytes]]) -> None:
        """Add (vector id, episode id, blob), the vector ids ascending. Raises EncoderError for blobs of another width."""
        if not found:
            return
        vectors = stacked([blob for _, _, blob in found], len(self._columns))
        end = self._count + len(found)
        room = self._room.shape[1]
        if end > room:
            more = max(end, 2 * room) - room  # doubling: adding one must not copy all the others
            self._columns = np.pad(self._columns, ((0, 0), (0, more)))
            self._room = np.pad(self._room, ((0, 0), (0, more)))
        self._columns[:, self._count : end] = vectors.T
        self._room[:, self._count : end] = np.array([row[:2] for row in found], dtype=np.int64).T
        self._count, self.last = end, found[-1][0]

    def keep(self, ids: Ids) -> None:
        """Drop all other vectors; an episode may have got a new one in place of an old one."""
        kept = np.flatnonzero(np.isin(self._room[0, : self._count], ids))
        if len(kept) < self._count:
            self._columns, self._room, self._count = self._columns[:, kept], self._room[:, kept], len(kept)

    def scores(self, query: Vectors) -> Vectors:
        """The cosine of each vector with the query."""
        return rounded(query @ self._columns[:, : self._count])


def stacked(blobs: Sequence[bytes], width: int) -> Vectors:
    """Vectors as the store keeps them, a row each. Raises EncoderError when one has another width."""
    if any(len(blob) != 4 * width for blob in blobs):
        raise EncoderError(
            f"the store has vectors of another width than {width} by this encoder; whatever changes a vector must change its "
            "encoder's name"
        )
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, width)


def rounded(scores: Vectors) -> Vectors:
    """Scores as they are told and compared."""
    return np.round(scores, _DECIMALS)
