"""The keyword index as it lies in the file: which words a document has, and which documents have a word.

A document is an episode that can be recalled; it gets the next position of its namespace. A thousand positions that
are full become a segment in the transaction that fills them: for each word the places where it stands, and how often.
Eight segments of a size become one; places count from the start of a block of 65,536 positions, no segment reaches over its
block's end, and so to merge is to put bytes one behind the other (log-structured merging: O'Neil et al., "The
Log-Structured Merge-Tree", Acta Informatica 1996). What is deleted is cut out of the bytes of its words at once: how many
documents have a word is always the length of its list, and no word outlives its last document. Ranking happens elsewhere.
"""

import json
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlite_utils import Database

from experience.wordlists import Block, Lists, Words, blocks, inverted, joined, merged, weights_of, without

SEGMENT = 1024
"""Positions in the smallest segment; fewer documents than these are in none yet."""
BLOCK = 65_536
"""Positions in the largest segment: so many places can be told apart by two bytes."""
_FACTOR = 8  # segments of one size that are merged: a document is written three times at most
_NO_END = 1 << 62

_NEXT = """
    SELECT max(coalesce((SELECT max(position) + 1 FROM words WHERE space = {space}), 0),
        coalesce((SELECT first + room FROM segments WHERE space = {space} ORDER BY first DESC LIMIT 1), 0))
"""


class _Segment(NamedTuple):
    number: int
    first: int
    room: int
    living: int
    tokens: int


def add(db: Database, namespace: str, documents: Sequence[tuple[int, Words]]) -> None:
    """Make episodes documents. Every thousandth of a namespace takes some 30 ms, since it closes a segment."""
    sql = f"SELECT number, ({_NEXT.format(space='word_spaces.number')}) FROM word_spaces WHERE namespace = ?"
    found = db.execute(sql, (namespace,)).fetchone()
    if found is None:
        found = db.execute("INSERT INTO word_spaces (namespace) VALUES (?)", (namespace,)).lastrowid, 0
    space, position = map(int, found)
    at = 0
    while at < len(documents):
        end = at + SEGMENT - position % SEGMENT
        placed = [(id, space, place, *words) for place, (id, words) in enumerate(documents[at:end], position)]
        db.conn.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?, ?)", placed)
        at, position = end, position + len(placed)
        _close(db, space, position - 1)


def remove(db: Database, ids: Iterable[int]) -> None:
    """Take documents out, with every trace of their words; ids that are no documents are passed over."""
    gone = json.dumps(list(ids))
    sql = """
        SELECT s.number, s.living, w.episode_id FROM words w JOIN segments s ON s.space = w.space AND s.first = (
            SELECT max(first) FROM segments WHERE space = w.space AND first <= w.position)
        WHERE w.position < s.first + s.room AND w.episode_id IN (SELECT value FROM json_each(?))
    """
    going: dict[tuple[int, int], list[int]] = {}
    for number, living, id in db.execute(sql, (gone,)):
        going.setdefault((number, living), []).append(id)
    for (number, living), among in going.items():
        if len(among) == living:
            _drop(db, number)
        else:
            _cut_out(db, number, among)
    db.execute("DELETE FROM words WHERE episode_id IN (SELECT value FROM json_each(?))", (gone,))


def clear(db: Database, namespace: str) -> None:
    """Take out every document of a namespace, whatever state its segments are in."""
    of_it = "space IN (SELECT number FROM word_spaces WHERE namespace = ?)"
    for (number,) in db.execute(f"SELECT number FROM segments WHERE {of_it}", (namespace,)).fetchall():
        _drop(db, number)
    db.execute(f"DELETE FROM words WHERE {of_it}", (namespace,))
    db.execute("DELETE FROM word_spaces WHERE namespace = ?", (namespace,))


def tidy(db: Database, namespace: str) -> bool:
    """Do one piece of work that recording leaves undone, of a second or so; whether there was any.

    That is to merge a block that is full, or to move what is left in a segment of which half has gone to the end.
    """
    space = _space(db, namespace)
    if space is None:
        return False
    segments = _segments(db, space, 0, _NO_END)
    for segment in segments:
        if 2 * segment.living < segment.room:
            _move_to_end(db, space, segment)
            return True
    full = segments[-1].first + segments[-1].room if segments else 0
    return any(_merge(db, space, first, BLOCK) for first in range(0, full - BLOCK + 1, BLOCK))


def catch_up(db: Database) -> None:
    """Close the segments of documents that were put into the table from elsewhere."""
    sql = f"""
        SELECT DISTINCT w.space, w.position / {SEGMENT} FROM words w WHERE NOT EXISTS (
            SELECT 1 FROM segments s WHERE s.space = w.space AND w.position BETWEEN s.first AND s.first + s.room - 1)
        ORDER BY 1, 2
    """
    for space, at in db.execute(sql).fetchall():
        if (at + 1) * SEGMENT <= _next(db, space):
            _close(db, space, (at + 1) * SEGMENT - 1)


def _space(db: Database, namespace: str) -> int | None:
    """The number that stands for a namespace, where it has documents."""
    found = db.execute("SELECT number FROM word_spaces WHERE namespace = ?", (namespace,)).fetchone()
    return int(found[0]) if found else None


def _next(db: Database, space: int) -> int:
    """The position after every one that is taken or lies in a segment."""
    return int(db.execute(_NEXT.format(space=":space"), {"space": space}).fetchone()[0])


def _close(db: Database, space: int, position: int) -> None:
    """Make the segment that this position fills, and of eight segments one."""
    end = position + 1
    if end % SEGMENT == 0:
        _fold(db, space, end - SEGMENT)
        room = SEGMENT * _FACTOR
        if end % room == 0:
            _merge(db, space, end - room, room)


def _fold(db: Database, space: int, first: int) -> None:
    """Turn the documents of a thousand positions into a segment."""
    sql = "SELECT position, episode_id, situation, outcome, names FROM words WHERE space = ? AND position >= ? AND position < ?"
    found = db.execute(f"{sql} ORDER BY position", (space, first, first + SEGMENT)).fetchall()
    lists, sizes = inverted([row[2:] for row in found], [row[0] % BLOCK for row in found])
    ids, lengths = bytearray(8 * SEGMENT), bytearray(4 * SEGMENT)
    for (position, id, *_), size in zip(found, sizes, strict=True):
        struct.pack_into("<q", ids, 8 * (position - first), id)
        struct.pack_into("<I", lengths, 4 * (position - first), size)
    _insert(db, space, _Segment(0, first, SEGMENT, len(found), sum(sizes)), (ids, lengths), lists)


def _merge(db: Database, space: int, first: int, room: int) -> bool:
    """Make one segment of those within a stretch of positions; False when there are fewer than two."""
    segments = _segments(db, space, first, first + room)
    if len(segments) <= 1:
        return False
    ids, lengths = bytearray(8 * room), bytearray(4 * room)
    parts = []
    for segment in segments:
        at, end = segment.first - first, segment.first - first + segment.room
        sql = "SELECT ids, lengths FROM segment_documents WHERE segment = ?"
        [(ids[8 * at : 8 * end], lengths[4 * at : 4 * end])] = db.execute(sql, (segment.number,))
        sql = "SELECT first, last, words, ends, places, weights FROM postings WHERE segment = ? ORDER BY first"
        parts.append(joined([Block(*row) for row in db.execute(sql, (segment.number,))]))
        _drop(db, segment.number)
    one = _Segment(0, first, room, sum(old.living for old in segments), sum(old.tokens for old in segments))
    _insert(db, space, one, (ids, lengths), merged(parts))
    return True


def _segments(db: Database, space: int, first: int, end: int) -> list[_Segment]:
    sql = "SELECT number, first, room, living, tokens FROM segments WHERE space = ? AND first >= ? AND first < ? ORDER BY first"
    return [_Segment(*row) for row in db.execute(sql, (space, first, end))]


def _insert(db: Database, space: int, segment: _Segment, documents: tuple[bytearray, bytearray], lists: Lists) -> None:
    sql = "INSERT INTO segments (space, first, room, living, tokens) VALUES (?, ?, ?, ?, ?)"
    number = int(db.execute(sql, (space, *segment[1:])).lastrowid or 0)
    db.execute("INSERT INTO segment_documents VALUES (?, ?, ?)", (number, *map(bytes, documents)))
    sql = "INSERT INTO postings VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
    db.conn.executemany(sql, ((number, *block) for block in blocks(lists)))


def _drop(db: Database, number: int) -> None:
    for table, column in (("postings", "segment"), ("segment_documents", "segment"), ("segments", "number")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (number,))


def _move_to_end(db: Database, space: int, segment: _Segment) -> None:
    """Undo a segment; its documents get new positions."""
    sql = "SELECT episode_id FROM words WHERE space = ? AND position >= ? AND position < ? ORDER BY position"
    left = db.execute(sql, (space, segment.first, segment.first + segment.room)).fetchall()
    end = _next(db, space)
    _drop(db, segment.number)
    for position, (id,) in enumerate(left, end):
        db.execute("UPDATE words SET position = ? WHERE episode_id = ?", (position, id))
        _close(db, space, position)


def _cut_out(db: Database, number: int, ids: Sequence[int]) -> None:
    """Take some of a segment's documents out of the lists of their words."""
    sql = """
        SELECT position, situation, outcome, names FROM words
        WHERE episode_id IN (SELECT value FROM json_each(?)) ORDER BY position
    """
    places: dict[str, list[int]] = {}
    tokens = 0
    for position, *words in db.execute(sql, (json.dumps(ids),)):
        weights, length = weights_of((words[0], words[1], words[2]))
        tokens += length
        for word in weights:
            places.setdefault(word, []).append(position % BLOCK)
    for id, block, among in _blocks_with(db, number, sorted(places)):
        left = without(block, {word: places[word] for word in among})
        if left is None:
            db.execute("DELETE FROM postings WHERE id = ?", (id,))
        elif left.first == block.first:  # what is indexed stays, and so need not be written
            sql = "UPDATE postings SET last = ?, words = ?, ends = ?, places = ?, weights = ? WHERE id = ?"
            db.execute(sql, (*left[1:], id))
        else:
            sql = "UPDATE postings SET first = ?, last = ?, words = ?, ends = ?, places = ?, weights = ? WHERE id = ?"
            db.execute(sql, (*left, id))
    sql = "UPDATE segments SET living = living - ?, tokens = tokens - ? WHERE number = ?"
    db.execute(sql, (len(ids), tokens, number))


def _blocks_with(db: Database, number: int, words: Sequence[str]) -> Iterator[tuple[int, Block, list[str]]]:
    """The blocks of a segment that hold some of these words, which are sorted; with each those that it may hold."""
    sql = """
        SELECT id, first, last, words, ends, places, weights FROM postings WHERE segment = ? AND first <= ?
        ORDER BY first DESC LIMIT 1
    """
    at = 0
    while at < len(words):
        row = db.execute(sql, (number, words[at])).fetchone()
        to = bisect_right(words, row[2]) if row else at
        if to > at:
            yield row[0], Block(*row[1:]), list(words[at:to])
        at = max(to, at + 1)
