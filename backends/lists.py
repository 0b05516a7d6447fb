"""The keyword index as a ranking reads it: for each word the documents it stands in, and how often.

What segments hold of words is read when it is asked for; the episodes and lengths of all documents are kept as two arrays.
Documents that are in no segment yet, a thousand at most, are kept word by word. All of it follows the file: segments by
their numbers, which are never given twice, new documents by their positions, and when something was deleted (by whichever
process) the last thousand are looked at again. It knows no scores.
"""

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experience import postings
from experience.store import SqliteStore
from experience.wordlists import MOST_OFTEN, Block, found, weights_of

if TYPE_CHECKING:
    from experience.backends.ranking import Ids
    from experience.sqlite_file import Version

Places = NDArray[np.intp]


class Postings(NamedTuple):
    """Where some words stand, one word after another."""

    places: Places
    """Indices into `ids` and `lengths`, each once for a word, in no order."""
    weights: NDArray[np.uint8]
    """How often the word is said there, in halves, from 1 to 255."""
    counts: tuple[int, ...]
    """For each word, in how many documents it stands."""


class Index:
    """The words of one store's namespace. Use it inside one snapshot of the store."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._version: Version | None = None
        self._state: tuple[object, ...] = ()  # the stamp of deletions, the space, and the numbers of its segments
        self._space = -1
        self._firsts: dict[int, int] = {}  # segment: the index that its block's first place would have
        self._begins: dict[int, tuple[int, int]] = {}  # segment: where its documents lie, from and to
        self._tail = _Tail(0)
        self._counts = 0, 0
        self.ids: Ids = np.zeros(postings.SEGMENT, dtype=np.int64)
        """The episode of each document; 0 where there is none."""
        self.lengths: NDArray[np.float32] = np.zeros(postings.SEGMENT, dtype=np.float32)
        """How many tokens each has that are no stop words."""

    @property
    def documents(self) -> int:
        """How many there are."""
        return self._counts[0] + len(self._tail.documents)

    @property
    def tokens(self) -> int:
        """How many tokens they have together that are no stop words."""
        return self._counts[1] + self._tail.tokens

    def follow(self) -> None:
        """Bring what is kept to where the file is."""
        if (version := self._store.version()) == self._version:
            return
        if self._version and version.undone != self._version.undone:
            self._state, self._begins = (), {}  # what was seen has been undone, and its numbers may come again
        space = self._store.read("SELECT number FROM word_spaces WHERE namespace = ?", (self._store.namespace,))
        self._space = int(space[0][0]) if space else -1
        sql = "SELECT number, first, room, living, tokens FROM segments WHERE space = ? ORDER BY first"
        segments = self._store.read(sql, (self._space,))
        self._counts = sum(row[3] for row in segments), sum(row[4] for row in segments)
        state = (self._store.removals(), self._space, *(row[0] for row in segments))
        if state[1:] != self._state[1:]:  # in another space the same episodes may stand elsewhere
            self._load(segments)
        end = segments[-1][1] + segments[-1][2] if segments else 0
        if state != self._state:
            self._look_again(end)
        self._read_on(max(end, self._tail.last + 1))
        self._state, self._version = state, version

    def of(self, words: Sequence[str]) -> Postings:
        """Where these words stand, in their order."""
        sql = """
            SELECT w.value, s.number, p.first, p.last, p.words, p.ends, p.places, p.weights
            FROM segments s CROSS JOIN json_each(?) w CROSS JOIN postings p ON p.segment = s.number
            AND p.first = (SELECT max(first) FROM postings WHERE segment = s.number AND first <= w.value)
            WHERE s.space = ? AND p.last >= w.value
        """
        lists: dict[str, list[tuple[int, bytes, bytes]]] = {word: [] for word in words}
        for word, number, *block in self._store.read(sql, (json.dumps(words), self._space)):
            if (here := found(Block(*block), word)) is not None:
                lists[word].append((self._firsts[number], *here))
        for word in words:
            if word in self._tail.words:
                lists[word].append(self._tail.of(word))
        rows = [row for word in words for row in lists[word]]
        places = np.repeat(np.array([row[0] for row in rows], dtype=np.intp), [len(row[2]) for row in rows])
        places += np.frombuffer(b"".join(row[1] for row in rows), dtype="<u2")
        weights = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.uint8)
        return Postings(places, weights, tuple(sum(len(row[2]) for row in lists[word]) for word in words))

    def _load(self, segments: Sequence[tuple[int, int, int, int, int]]) -> None:
        """Arrange the documents of these segments one after another, and leave room for those in none."""
        total = sum(room for _, _, room, _, _ in segments)
        ids, lengths = (
            np.zeros(total + postings.SEGMENT, dtype=np.int64),
            np.zeros(total + postings.SEGMENT, dtype=np.float32),
        )
        firsts, begins, at = {}, {}, 0
        for number, first, room, _, _ in segments:
            here = slice(at, at + room)
            if number in self._begins:
                there = slice(*self._begins[number])
                ids[here], lengths[here] = self.ids[there], self.lengths[there]
            else:
                sql = "SELECT ids, lengths FROM segment_documents WHERE segment = ?"
                [(their_ids, their_lengths)] = self._store.read(sql, (number,))
                ids[here], lengths[here] = np.frombuffer(their_ids, "<i8"), np.frombuffer(their_lengths, "<u4")
            firsts[number], begins[number] = at - first % postings.BLOCK, (at, at + room)
            at += room
        self.ids, self.lengths, self._firsts, self._begins = ids, lengths, firsts, begins
        self._tail = _Tail(total)

    def _look_again(self, end: int) -> None:
        """Let go of documents that are no longer where they were; what is new comes after all that are."""
        sql = "SELECT position, episode_id FROM words WHERE space = ? AND position >= ?"
        now = dict(self._store.read(sql, (self._space, end)))
        for position in [at for at, kept in self._tail.documents.items() if now.get(at) != kept.id]:
            self._tail.remove(position)
        self._tail.last = max(self._tail.documents, default=-1)

    def _read_on(self, first: int) -> None:
        sql = "SELECT position, episode_id, situation, outcome, names FROM words WHERE space = ? AND position >= ? ORDER BY position"
        for position, id, *words in self._store.read(sql, (self._space, first)):
            place, length = self._tail.add(position, id, (words[0], words[1], words[2]))
            self.ids[place], self.lengths[place] = id, length


class _Document(NamedTuple):
    id: int
    words: tuple[str, ...]
    length: int


class _Tail:
    """Documents in no segment, by position, and the words they have. All of them lie within one thousand positions."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.documents: dict[int, _Document] = {}
        self.words: dict[str, dict[int, int]] = {}
        self.tokens = 0
        self.last = -1

    def add(self, position: int, id: int, words: tuple[str, str, str]) -> tuple[int, int]:
        """Take a document in; its place and its length."""
        weights, length = weights_of(words)
        at = position % postings.SEGMENT
        for word, weight in weights.items():
            self.words.setdefault(word, {})[at] = min(weight, MOST_OFTEN)
        self.documents[position] = _Document(id, tuple(weights), length)
        self.tokens, self.last = self.tokens + length, position
        return self.begin + at, length

    def of(self, word: str) -> tuple[int, bytes, bytes]:
        """The list of a word that is there: what its places count from, the places and the weights."""
        here = self.words[word]
        return self.begin, struct.pack(f"<{len(here)}H", *here), bytes(here.values())

    def remove(self, position: int) -> None:
        """Let a document go."""
        gone = self.documents.pop(position)
        self.tokens -= gone.length
        for word in gone.words:
            left = self.words[word]
            del left[position % postings.SEGMENT]
            if not left:
                del self.words[word]
