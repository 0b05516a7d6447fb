"""Vectors of a large space in short, to find out which are worth a look.

Each vector is turned so that its pieces of four numbers say about as much each (Ge, He, Ke and Sun, "Optimized product
quantization", CVPR 2013, the parametric way), and each piece becomes the number of the nearest of sixteen (product
quantisation: Jégou, Douze and Schmid, IEEE TPAMI 33, 2011), 48 bytes for 384 numbers; the product of a question with all of
them is added up in registers (André, Kermarrec and Le Scouarnec, "Cache locality is not enough", VLDB 2015), which is what
the package faiss is for. What they find is looked at exactly, by others. Codes stand in the store, beside the vectors,
some thousand in a row: a row is written once, in a transaction, and changes only when vectors go. Where faiss is not
installed nothing is written and what is there is not read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experience.backends.matrix import Vectors, stacked
from experience.backends.ranking import Ids
from experience.backends.spaces import Space, sample
from experience.store import SqliteStore

LEAST = 20_000
"""Vectors from which on a space gets codes; fewer are looked through exactly in a fraction of a millisecond."""
CHUNK = 4096
"""Codes in a row."""
_PIECE = 4  # numbers
_RECIPE = "PQ of 4 numbers in 4 bits, turned"
_TRAINING = 20_000  # vectors that the turn and the sixteen are learned from
_RETRAIN = 4  # a space that grew so many times over gets a codebook of its own time

Packed = NDArray[np.uint8]  # (vectors, pieces / 2), two codes a byte, the first in the low half


class Codebook(NamedTuple):
    """What codes are made with: float32 both."""

    turn: Vectors
    """An orthogonal matrix, (width, width); a vector is multiplied with it, from its left."""
    centres: Vectors
    """(pieces, 16, 4)"""

    @classmethod
    def read(cls, blob: bytes, width: int) -> "Codebook":
        """As it was written: the turn, then the centres."""
        numbers = np.frombuffer(blob, dtype="<f4")
        return cls(numbers[: width * width].reshape(width, width), numbers[width * width :].reshape(-1, 16, _PIECE))

    def written(self) -> bytes:
        """As the store keeps it."""
        return b"".join(part.astype("<f4").tobytes() for part in self)


class Codes:
    """The codes of a space in memory, with ids ascending."""

    def __init__(
        self, space: Space, begin: int, codebook: Codebook, vectors: Ids, episodes: Ids, packed: Packed
    ) -> None:
        self.space, self.begin, self.last = space, begin, int(vectors[-1])
        self.vectors, self.episodes = vectors, episodes
        self._codebook, self._packed = codebook, packed
        self._in_order = bool(np.all(episodes[1:] > episodes[:-1]))
        self._index = _index(codebook.centres, packed)

    def __len__(self) -> int:
        return len(self.vectors)

    def nearest(self, query: Vectors, count: int) -> NDArray[np.intp]:
        """Positions of about the `count` nearest, best first."""
        _, [found] = self._index.search((query @ self._codebook.turn)[None], count)
        return np.asarray(found[found >= 0], dtype=np.intp)

    def nearest_among(self, query: Vectors, positions: NDArray[np.intp], count: int) -> NDArray[np.intp]:
        """About the `count` nearest of those at `positions`, best first."""
        turned = (query @ self._codebook.turn).reshape(-1, _PIECE)
        products = np.einsum("pcn,pn->pc", self._codebook.centres, turned)
        # The two codes of a byte together: byte = first + 16 * second.
        pairs = (products[1::2, :, None] + products[0::2, None, :]).reshape(-1, 256)
        scores = pairs[np.arange(len(pairs)), self._packed[positions]].sum(axis=1)
        return positions[np.argsort(-scores, kind="stable")[:count]]

    def positions(self, episodes: Ids) -> NDArray[np.intp]:
        """Where these episodes stand (ascending ids), as far as they do."""
        if not self._in_order:
            return np.flatnonzero(np.isin(self.episodes, episodes))
        at = np.searchsorted(self.episodes, episodes)
        found: NDArray[np.intp] = at[self.episodes[np.minimum(at, len(self) - 1)] == episodes]
        return found


def available() -> bool:
    """Whether codes can be made and read."""
    return _faiss() is not None


def ends(store: SqliteStore, space: Space) -> tuple[int, int]:
    """What the first row of a space's codes is known by, and the last vector that has one; zeros when it has none."""
    here = "codes WHERE space = (SELECT space FROM codebooks WHERE space = ?1 AND recipe = ?2)"
    first, last = (
        f"SELECT id FROM {here} ORDER BY first LIMIT 1",
        f"SELECT last FROM {here} ORDER BY first DESC LIMIT 1",
    )
    [(begin, end)] = store.read(f"SELECT coalesce(({first}), 0), coalesce(({last}), 0)", (space.id, _RECIPE))
    return int(begin), int(end)


def count(store: SqliteStore, space: Space) -> int:
    """How many vectors of a space have codes."""
    [(size,)] = store.read("SELECT coalesce(sum(length(vectors)), 0) / 8 FROM codes WHERE space = ?", (space.id,))
    return int(size)


def load(store: SqliteStore, space: Space) -> Codes | None:
    """The codes of a space, or None when it has none or faiss is not there."""
    with store.snapshot():
        book = store.read("SELECT codebook FROM codebooks WHERE space = ? AND recipe = ?", (space.id, _RECIPE))
        if not book or not available():
            return None
        found = store.read("SELECT vectors, episodes, codes FROM codes WHERE space = ? ORDER BY first", (space.id,))
        begin, _ = ends(store, space)
    if not found:
        return None
    vectors, episodes, packed = (b"".join(part) for part in zip(*found, strict=True))
    return Codes(
        space,
        begin,
        Codebook.read(book[0][0], space.width),
        np.frombuffer(vectors, dtype="<i8"),
        np.frombuffer(episodes, dtype="<i8"),
        np.frombuffer(packed, dtype=np.uint8).reshape(len(vectors) // 8, -1),
    )


def fold(store: SqliteStore, space: Space) -> None:
    """Give codes to the vectors that have none, by full rows of them; and new ones to all when the space has grown.

    Safe to kill and to run twice. Does nothing for a small space, a width that is no multiple of 8, or without faiss.
    """
    sql = "SELECT trained_on, codebook FROM codebooks WHERE space = ? AND recipe = ?"
    book = store.read(sql, (space.id, _RECIPE))
    if space.width % (2 * _PIECE) or not (book or _more_than(store, space, LEAST)) or not available():
        return
    with _one_thread():
        if not book or count(store, space) >= _RETRAIN * book[0][0]:
            _renew(store, space)
        else:
            _continue(store, space, book[0][1])


def _continue(store: SqliteStore, space: Space, codebook: bytes) -> None:
    _, last = ends(store, space)
    for row in _rows(store, space, Codebook.read(codebook, space.width), last):
        with store.write():
            book = store.read("SELECT 1 FROM codebooks WHERE space = ? AND codebook = ?", (space.id, codebook))
            if not book or ends(store, space)[1] != last:
                return  # another process has been here, or has dropped it all
            _insert(store, space, row)
        last = row.last


class _Row(NamedTuple):
    first: int
    last: int
    vectors: Ids
    episodes: Ids
    packed: Packed


def _renew(store: SqliteStore, space: Space) -> None:
    codebook = _learned(sample(store, space, _TRAINING))
    rows = list(_rows(store, space, codebook, 0))
    with store.write() as db:
        if not store.read("SELECT 1 FROM spaces WHERE id = ?", (space.id,)):
            return
        db.execute("DELETE FROM codebooks WHERE space = ?", (space.id,))
        trained_on = sum(len(row.vectors) for row in rows)
        db.execute("INSERT INTO codebooks VALUES (?, ?, ?, ?)", (space.id, _RECIPE, trained_on, codebook.written()))
        for row in rows:
            _insert(store, space, row)


def _insert(store: SqliteStore, space: Space, row: _Row) -> None:
    """Write a row, without what has gone since it was made; none when all of it has."""
    found = store.read("SELECT id FROM vectors WHERE space = ? AND id BETWEEN ? AND ?", (space.id, row.first, row.last))
    live = np.isin(row.vectors, np.array([id for (id,) in found], dtype=np.int64))
    if not live.any():
        return
    blobs = (part[live].tobytes() for part in (row.vectors, row.episodes, row.packed))
    sql = "INSERT INTO codes (space, first, last, vectors, episodes, codes) VALUES (?, ?, ?, ?, ?, ?)"
    with store.write() as db:
        db.execute(sql, (space.id, row.first, row.last, *blobs))


def _rows(store: SqliteStore, space: Space, codebook: Codebook, after: int) -> Iterator[_Row]:
    quantizer = _quantizer(codebook.centres)
    sql = "SELECT id, episode_id, vector FROM vectors WHERE space = ? AND id > ? ORDER BY id LIMIT ?"
    while len(found := store.read(sql, (space.id, after, CHUNK))) == CHUNK:
        vectors, episodes = np.array([row[:2] for row in found], dtype="<i8").T
        packed = quantizer.compute_codes(stacked([blob for *_, blob in found], space.width) @ codebook.turn)
        yield _Row(found[0][0], after := found[-1][0], vectors, episodes, packed)


def _more_than(store: SqliteStore, space: Space, count: int) -> bool:
    # Ids tell at once that a small space is small; of others so many are walked through.
    low, high = (f"(SELECT {end}(id) FROM vectors WHERE space = ?1)" for end in ("min", "max"))
    [(first, last)] = store.read(f"SELECT {low}, {high}", (space.id,))
    if last is None or last - first < count:
        return False
    return bool(store.read("SELECT 1 FROM vectors WHERE space = ? LIMIT 1 OFFSET ?", (space.id, count)))


def _learned(vectors: Vectors) -> Codebook:
    """The turn that spreads these vectors evenly over their pieces, and the centres of each piece; vectors a row each."""
    turn = _turn(np.cov(vectors.T))
    quantizer = _quantizer(None, vectors.shape[1])
    quantizer.train(vectors @ turn)
    centres = _faiss().vector_to_array(quantizer.centroids)
    return Codebook(turn, centres.reshape(-1, 16, _PIECE))


def _turn(covariance: NDArray[np.float64]) -> Vectors:
    """The main directions, dealt out so that the product of the variances is about the same in each piece."""
    variances, directions = np.linalg.eigh(covariance)
    pieces: list[list[int]] = [[] for _ in range(len(covariance) // _PIECE)]
    least = variances[-1] * 1e-9  # directions in which nothing lies at all
    logarithms = np.log(np.maximum(variances, least) / least) if least > 0 else variances
    said = [0.0] * len(pieces)
    for direction in reversed(range(len(covariance))):
        at = min((at for at, piece in enumerate(pieces) if len(piece) < _PIECE), key=said.__getitem__)
        pieces[at].append(direction)
        said[at] += logarithms[direction]
    order = [direction for piece in pieces for direction in piece]
    return np.ascontiguousarray(directions[:, order], dtype=np.float32)


@lru_cache(maxsize=1)
def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError:
        return None
    return faiss


@contextmanager
def _one_thread() -> Iterator[None]:
    """Faiss on one thread, as everything here: on a busy machine its threads wait for each other most of the time."""
    before = _faiss().omp_get_max_threads()
    _faiss().omp_set_num_threads(1)
    try:
        yield
    finally:
        _faiss().omp_set_num_threads(before)


def _quantizer(centres: Vectors | None, width: int = 0) -> Any:
    """Faiss's quantizer with these centres, or an untrained one for vectors of a width."""
    pieces = width // _PIECE if centres is None else len(centres)
    made = _faiss().ProductQuantizer(pieces * _PIECE, pieces, 4)
    if centres is not None:
        _faiss().copy_array_to_vector(centres.ravel(), made.centroids)
    return made


def _index(centres: Vectors, packed: Packed) -> Any:
    """Faiss's index over codes that are there already."""
    faiss, pieces = _faiss(), len(centres)
    plain = faiss.IndexPQ(pieces * _PIECE, pieces, 4, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(centres.ravel(), plain.pq.centroids)
    faiss.copy_array_to_vector(packed.ravel(), plain.codes)
    plain.ntotal, plain.is_trained = len(packed), True
    return faiss.IndexPQFastScan(plain)
