"""Recall by meaning: exact cosine over unit vectors that lie in the store's own file.

Vectors are pulled by `refresh`, in the order of ids and a transaction a batch, so that what is missing is always what
comes after the last one: a killed refresh goes on where it stopped. Each vector stands beside its encoder's name, and one
encoder's vectors are never compared with another's. In memory they form one matrix, which follows the file: new rows
are appended, and when something was deleted (by whichever process) what is left is looked at again.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experience.backends.threads import one_thread
from experience.episode import moment_text
from experience.errors import EncoderError
from experience.protocols import Encoder, Filter, Hit, Progress, check_k
from experience.store import SqliteStore
from experience.tokens import has_words

_BATCH = 512  # texts handed to the encoder and written in one transaction; enough for MiniLM to turn to torch
_SMALL_BATCH = 32  # the same while no more than _BATCH are missing: progress can be seen, and MiniLM stays with numpy
_CATCH_UP = 64  # texts that a recall embeds by itself before it answers
_DECIMALS = 6  # of a score: beyond them equal texts differ by the position of their rows in the matrix


class EmbeddingBackend:
    """Cosine between the situation asked about and the situations recorded."""

    def __init__(self, store: SqliteStore, encoder: Encoder) -> None:
        self.encoder = encoder
        self._store = store
        self._columns = _Columns(encoder.width)
        self._removals = -1

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits, best first, equal scores newest first; the score is the cosine, from -1 to 1.

        Takes in up to 64 missing vectors first; with more missing it warns, since what has no vector cannot be found.
        """
        check_k(k)
        if k == 0 or not has_words(situation):
            return []
        self._catch_up()
        # A question may hold half a character, which no episode can and no tokenizer takes.
        query = self._encode([situation.encode(errors="replace").decode()])[0]
        with self._store.alone(), one_thread():
            self._follow()
            ids, scores = self._columns.ids.copy(), self._columns.scores(query)
            allowed = self._allowed(ids, where)
        if allowed is not None:
            ids, scores = ids[allowed], scores[allowed]
        best = _best(ids, scores, k)
        return [Hit(int(ids[at]), float(scores[at]), f"embedding {rank}") for rank, at in enumerate(best, 1)]

    def pending(self) -> int:
        """How many episodes have no vector of this encoder yet."""
        sql, parameters = self._missing("count(*)", self._last())
        return int(self._store.read(sql, parameters)[0][0])

    def refresh(self, progress: Progress | None = None) -> int:
        """Embed what has no vector of this encoder yet, and make it the store's encoder once nothing is missing."""
        total, done = self.pending(), 0
        while taken := self._pull(_SMALL_BATCH if total <= _BATCH else _BATCH):
            done += taken
            if progress:
                progress(done, max(total, done))
        if self._store.setting("encoder") != self.encoder.name:
            self._store.set_setting("encoder", self.encoder.name)
        return done

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The episodes that can be found, ascending, and their unit vectors, a row each; what has none yet is left out."""
        with self._store.alone():
            self._follow()
            ids, rows = self._columns.ids.copy(), self._columns.rows()
            live = self._ids(*self._store.selection(indexed=True))
        order = np.argsort(ids)
        order = order[np.isin(ids[order], live)]
        return ids[order], rows[order]

    def _catch_up(self) -> None:
        taken = self._pull(_CATCH_UP)
        if taken == _CATCH_UP and (missing := self.pending()):
            warnings.warn(
                f"{missing} episodes have no vector yet and cannot be found by embedding; run refresh()", stacklevel=4
            )
        elif taken and self._store.setting("encoder") is None:
            self._store.set_setting("encoder", self.encoder.name)

    def _pull(self, most: int) -> int:
        """Embed the next missing texts, at most so many, in one transaction; how many there were."""
        last = self._last()
        sql, parameters = self._missing("e.id, e.situation", last)
        found = self._store.read(f"{sql} ORDER BY e.id LIMIT ?", (*parameters, most))
        if not found:
            return 0
        vectors = self._encode([situation for _, situation in found]).astype("<f4")
        name, width = self.encoder.name, self.encoder.width
        rows = [(self._store.namespace, name, width, vector.tobytes()) for vector in vectors]
        selection, parameters = self._store.selection()
        sql = f"""INSERT OR IGNORE INTO vectors (namespace, encoder, width, vector, episode_id)
            SELECT ?, ?, ?, ?, id FROM ({selection} AND e.id = ?)"""
        with self._store.write() as db:
            # In the meantime an episode may have gone, or another process may have embedded it, or dropped what came before:
            # then these must not become the last that have a vector, and are embedded again in their turn.
            if overtaken := self._last() < last:
                rows = []
            db.conn.executemany(
                sql, [(*row, *parameters, id) for row, (id, _) in zip(rows, found, strict=not overtaken)]
            )
        return self._pull(most) if overtaken else len(found)

    def _missing(self, columns: str, last: int) -> tuple[str, list[object]]:
        """Vectors are made in the order of ids, so what is missing are the ids after the last one that has one."""
        selection, parameters = self._store.selection()
        return f"SELECT {columns} FROM episodes e WHERE e.id IN ({selection} AND e.id > ?)", [*parameters, last]

    def _last(self) -> int:
        """The last episode that has a vector."""
        sql = "SELECT coalesce(max(episode_id), 0) FROM vectors WHERE namespace = ? AND encoder = ?"
        return int(self._store.read(sql, (self._store.namespace, self.encoder.name))[0][0])

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(self.encoder.encode(texts), dtype=np.float32)
        if vectors.shape != (len(texts), self.encoder.width):
            raise EncoderError(
                f"the encoder {self.encoder.name} gave shape {vectors.shape} for {len(texts)} texts; it needs "
                f"({len(texts)}, {self.encoder.width})"
            )
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.allclose(lengths, 1, atol=1e-3):  # not a number is not close to 1 either
            raise EncoderError(
                f"the encoder {self.encoder.name} gave vectors of length {lengths.min()} to {lengths.max()}; they need to be 1"
            )
        return vectors

    def _follow(self) -> None:
        """Bring the matrix to where the file is."""
        space = (self._store.namespace, self.encoder.name)
        removals = self._store.read("SELECT stamp FROM removals WHERE namespace = ?", space[:1])
        stamp = int(removals[0][0]) if removals else 0
        # The plus keeps SQLite to the primary key, which knows what comes after an id; by its other index it would walk all.
        sql = "SELECT id, episode_id, vector FROM vectors WHERE +namespace = ? AND +encoder = ? AND id > ? ORDER BY id"
        found = self._store.read(sql, (*space, self._columns.last))
        if any(len(blob) != 4 * self.encoder.width for _, _, blob in found):
            raise EncoderError(
                f"the store has vectors by {self.encoder.name} of another width than {self.encoder.width}; whatever changes "
                "a vector must change its encoder's name"
            )
        self._columns.append(found)
        if stamp != self._removals:
            self._columns.keep(self._ids("SELECT id FROM vectors WHERE namespace = ? AND encoder = ?", space))
            self._removals = stamp

    def _allowed(self, ids: NDArray[np.int64], where: Filter) -> NDArray[np.bool_] | None:
        """Which of these episodes may be in the answer, or None for all of them."""
        if where:
            return np.isin(ids, self._ids(*self._store.selection(where, indexed=True)))
        # Without a filter only expired ones may not, and those are few: they go at the next clean-up.
        sql = "SELECT id FROM episodes WHERE namespace = ? AND expires_at <= ?"
        expired = self._ids(sql, [self._store.namespace, moment_text(self._store.now())])
        return ~np.isin(ids, expired) if len(expired) else None

    def _ids(self, sql: str, parameters: Sequence[object]) -> NDArray[np.int64]:
        found = self._store.read(sql, parameters)
        return np.fromiter((id for (id,) in found), dtype=np.int64, count=len(found))

    def sample(self, count: int) -> NDArray[np.float32]:
        """Unit vectors of at most so many episodes that can be found, evenly over their ids: the same ones every time."""
        _, vectors = self.vectors()
        if len(vectors) <= count:
            return vectors
        return vectors[np.arange(count) * len(vectors) // count]


class _Columns:
    """A matrix that grows: a float32 vector a column, with its own id and its episode's, and the last vector id seen.

    Vectors stand in columns because the product of a query with them is then three times as fast as with rows.
    """

    def __init__(self, width: int) -> None:
        self._count = 0
        self._vectors = np.empty((width, 0), dtype=np.float32)
        self._room = np.empty((2, 0), dtype=np.int64)  # ids of vectors, ids of episodes
        self.last = 0

    @property
    def ids(self) -> NDArray[np.int64]:
        """The episode of each column."""
        return self._room[1, : self._count]

    def append(self, found: Sequence[tuple[int, int, bytes]]) -> None:
        """Add (vector id, episode id, blob), the vector ids ascending."""
        if not found:
            return
        width = len(self._vectors)
        vectors = np.frombuffer(b"".join(blob for _, _, blob in found), dtype="<f4").reshape(-1, width)
        end = self._count + len(found)
        room = self._room.shape[1]
        if end > room:
            more = max(end, 2 * room) - room  # doubling: adding one must not copy all the others
            self._vectors = np.pad(self._vectors, ((0, 0), (0, more)))
            self._room = np.pad(self._room, ((0, 0), (0, more)))
        self._vectors[:, self._count : end] = vectors.T
        self._room[:, self._count : end] = np.array([row[:2] for row in found], dtype=np.int64).T
        self._count, self.last = end, found[-1][0]

    def keep(self, ids: NDArray[np.int64]) -> None:
        """Drop all other vectors; an episode may have got a new one in place of an old one."""
        kept = np.flatnonzero(np.isin(self._room[0, : self._count], ids))
        if len(kept) < self._count:
            self._vectors, self._room, self._count = self._vectors[:, kept], self._room[:, kept], len(kept)

    def rows(self) -> NDArray[np.float32]:
        """A copy, a vector a row."""
        return np.ascontiguousarray(self._vectors[:, : self._count].T)

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of each column with the query."""
        return np.round(query @ self._vectors[:, : self._count], _DECIMALS)


def _best(ids: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k highest scores, best first, equal ones by descending id."""
    among = np.arange(len(scores))
    if k < len(scores):
        # The k-th score decides, and all that equal it stay in until their ids have been compared.
        among = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
    order = np.lexsort((-ids[among], -scores[among]))
    return np.asarray(among[order][:k])
