"""Recall by meaning: cosine over unit vectors that lie in the store's own file.

Vectors are pulled by `refresh`, in the order of ids and a transaction a batch, so that what is missing is always what
comes after the last one: a killed refresh goes on where it stopped. Each vector belongs to the space of its encoder and
namespace, and is never compared with one of another. Equal texts are embedded once. How the nearest are found is the
business of `nearest`.
"""

import hashlib
import json
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experience.backends import codes, spaces
from experience.backends.matrix import stacked
from experience.backends.nearest import Nearest
from experience.backends.threads import one_thread
from experience.episode import moment_text
from experience.errors import EncoderError
from experience.protocols import Encoder, Filter, Hit, Progress, check_k
from experience.store import SqliteStore
from experience.tokens import has_words

_BATCH = 2048  # texts handed to the encoder and written in one transaction; the more, the better they sort by length
_SMALL_BATCH = 64  # the same while few are missing, so that progress can be seen
_FEW = 512
_TOLERANCE = 1e-3  # of a vector's length
_CATCH_UP = 64  # texts that a recall embeds by itself before it answers


class EmbeddingBackend:
    """Cosine between the situation asked about and the situations recorded."""

    def __init__(self, store: SqliteStore, encoder: Encoder) -> None:
        self.encoder = encoder
        self._store = store
        self._caught_up: object = None
        self._asked: tuple[str | None, NDArray[np.float32]] = None, np.empty(0, dtype=np.float32)
        self._nearest = Nearest(store, encoder.name, encoder.width)

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits, best first, equal scores newest first; the score is the cosine, from -1 to 1.

        Takes in up to 64 missing vectors first; with more missing it warns, since what has no vector cannot be found.
        """
        check_k(k)
        if k == 0 or not has_words(situation):
            return []
        self._catch_up()
        query = self.question(situation)
        with self._store.alone(), one_thread():
            ids, scores = self._nearest.to(query, k, where)
        found = zip(ids.tolist(), scores.tolist(), strict=True)
        return [Hit(id, score, f"embedding {rank}") for rank, (id, score) in enumerate(found, 1)]

    def question(self, situation: str) -> NDArray[np.float32]:
        """The question's vector; that of the last one is remembered, since whoever looks at an answer may ask again."""
        asked = self._asked
        if asked[0] != situation:
            # It may hold half a character, which no episode can and no tokenizer takes.
            self._asked = asked = situation, self.encoded([situation.encode(errors="replace").decode()])[0]
        return asked[1]

    def encoded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """What the encoder makes of them, a row each. Raises EncoderError for anything but unit vectors of its width."""
        vectors = np.asarray(self.encoder.encode(texts), dtype=np.float32)
        if vectors.shape != (len(texts), self.encoder.width):
            raise EncoderError(
                f"the encoder {self.encoder.name} gave shape {vectors.shape} for {len(texts)} texts; it needs "
                f"({len(texts)}, {self.encoder.width})"
            )
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        if not (abs(lengths - 1) < _TOLERANCE).all():  # not a number is not close to 1 either
            raise EncoderError(
                f"the encoder {self.encoder.name} gave vectors of length {lengths.min()} to {lengths.max()}; they need to be 1"
            )
        return vectors

    def pending(self) -> int:
        """How many episodes have no vector of this encoder yet."""
        sql, parameters = self._missing("count(*)", self._last())
        return int(self._store.read(sql, parameters)[0][0])

    def refresh(self, progress: Progress | None = None) -> int:
        """Embed what has no vector of this encoder yet, and make it the store's encoder once nothing is missing."""
        total, done = self.pending(), 0
        while taken := self._pull(_SMALL_BATCH if total <= _FEW else _BATCH):
            done += taken
            if progress:
                progress(done, max(total, done))
        if self._store.setting("encoder") != self.encoder.name:
            self._store.set_setting("encoder", self.encoder.name)
        if (space := self._space()) is not None:
            codes.fold(self._store, space)
        return done

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The episodes that can be found, ascending, and their unit vectors, a row each; what has none yet is left out."""
        sql = """
            SELECT v.episode_id, v.vector FROM vectors v JOIN episodes e ON e.id = v.episode_id
            WHERE v.space = ? AND (e.expires_at IS NULL OR e.expires_at > ?) ORDER BY v.episode_id
        """
        space = self._space()
        found = self._store.read(sql, (space.id, moment_text(self._store.now()))) if space else []
        ids = np.fromiter((id for id, _ in found), dtype=np.int64, count=len(found))
        return ids, stacked([vector for _, vector in found], self.encoder.width)

    def sample(self, count: int) -> NDArray[np.float32]:
        """Unit vectors of at most `count` episodes, evenly spread over their ids, the same ones each time; a row each."""
        space = self._space()
        return (
            spaces.sample(self._store, space, count) if space else np.empty((0, self.encoder.width), dtype=np.float32)
        )

    def _space(self) -> spaces.Space | None:
        return spaces.known(self._store, self.encoder.name, self.encoder.width)

    def _catch_up(self) -> None:
        if (version := self._store.version()) == self._caught_up:
            return
        taken = self._pull(_CATCH_UP)
        if taken == _CATCH_UP and (missing := self.pending()):
            warnings.warn(
                f"{missing} episodes have no vector yet and cannot be found by embedding; run refresh()", stacklevel=4
            )
        elif taken and self._store.setting("encoder") is None:
            self._store.set_setting("encoder", self.encoder.name)
        elif not taken:
            self._caught_up = version  # what comes later will have changed the file

    def _pull(self, most: int) -> int:
        """Embed the next missing texts, at most so many, in one transaction; how many there were."""
        last = self._last()
        sql, parameters = self._missing("e.id, e.situation", last)
        found = self._store.read(f"{sql} ORDER BY e.id LIMIT ?", (*parameters, most))
        if not found:
            return 0
        vectors = self._vectors_of([situation for _, situation in found])
        selection, parameters = self._store.selection()
        sql = f"""INSERT OR IGNORE INTO vectors (space, text, vector, episode_id)
            SELECT ?, ?, ?, id FROM ({selection} AND e.id = ?)"""
        with self._store.write() as db:
            # In the meantime an episode may have gone, or another process may have embedded it, or dropped what came before:
            # then these must not become the last that have a vector, and are embedded again in their turn.
            overtaken = self._last() < last
            if not overtaken:
                space = spaces.made(self._store, self.encoder.name, self.encoder.width)
                rows = [(space.id, _hash(text), vectors[text], *parameters, id) for id, text in found]
                db.conn.executemany(sql, rows)
        return self._pull(most) if overtaken else len(found)

    def _vectors_of(self, texts: Sequence[str]) -> dict[str, bytes]:
        """The vector of each text as the store keeps it; what has been embedded before is not embedded again."""
        known: dict[str, bytes] = {}
        if (space := self._space()) is not None:
            sql = """
                SELECT e.situation, v.vector FROM vectors v JOIN episodes e ON e.id = v.episode_id
                WHERE v.space = ? AND v.text IN (SELECT value FROM json_each(?))
            """
            known = dict(self._store.read(sql, (space.id, json.dumps([_hash(text) for text in texts]))))
        new = [text for text in dict.fromkeys(texts) if text not in known]
        vectors = self.encoded(new).astype("<f4") if new else ()
        return known | {text: vector.tobytes() for text, vector in zip(new, vectors, strict=True)}

    def _missing(self, columns: str, last: int) -> tuple[str, list[object]]:
        """Vectors are made in the order of ids, so what is missing are the ids after the last one that has one."""
        selection, parameters = self._store.selection()
        return f"SELECT {columns} FROM episodes e WHERE e.id IN ({selection} AND e.id > ?)", [*parameters, last]

    def _last(self) -> int:
        """The last episode that has a vector."""
        sql = """SELECT coalesce(max(episode_id), 0) FROM vectors
            WHERE space = (SELECT id FROM spaces WHERE namespace = ? AND encoder = ?)"""
        return int(self._store.read(sql, (self._store.namespace, self.encoder.name))[0][0])


def _hash(text: str) -> int:
    """64 bits that equal texts have in common; whoever goes by them compares the texts as well."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)
