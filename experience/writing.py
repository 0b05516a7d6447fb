"""The statements that change rows: an episode, its labels, and what recall reads of them.

Functions of an open transaction and of values. They decide nothing (that is the store's part) and commit nothing.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from sqlite_utils import Database

from experience import postings, rows
from experience.episode import Episode, checked_text, moment_text
from experience.protocols import Label, Withdrawal
from experience.tokens import cut
from experience.wordlists import Words

_NAMED = ("tools", "skills", "tags")
_NAMES = " UNION ALL ".join(
    f"SELECT e.namespace, '{kind}', n.value, e.id FROM episodes e, json_each(e.{kind}) n WHERE e.id BETWEEN ? AND ?"
    for kind in _NAMED
)
"""The rows of `names` that belong to episodes, from one id to another; each kind asks for both (see `_span`)."""
_INSERT_NAMES = f"INSERT OR IGNORE INTO names {_NAMES}"

_LARGEST_WISH = 2**53  # ids go on above a wished-for one; one near the end of the range would leave no room

_INSERT_LABEL = "INSERT INTO labels (episode_id, value, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_TELLINGS = """
    INSERT OR IGNORE INTO tellings (learning_id, event_id, namespace, run_id, at)
    SELECT l.id, (SELECT max(id) FROM learning_events WHERE learning_id = l.id), r.namespace, r.run_id, ?
    FROM json_each(?) run JOIN receipts r ON r.namespace = ? AND r.run_id = run.value
    JOIN json_each(r.contents, '$.learnings') told
    JOIN learnings l ON l.id = json_extract(told.value, '$.id') AND l.namespace = r.namespace
    ORDER BY run.key, l.id
"""


def insert_episodes(
    db: Database, values: Sequence[dict[str, object]], words: Sequence[Words], wanted: Sequence[int | None]
) -> list[int]:
    """Write rows of one namespace that have the same columns, and the index's rows with them; their ids, ascending.

    Each gets the id that it wants, if that is above every id ever given, and else the next one.
    """
    if not values:
        return []
    ids = _free_ids(db, wanted)
    sql = f"INSERT INTO episodes (id, {', '.join(values[0])}) VALUES (?{', ?' * len(values[0])})"
    db.conn.executemany(sql, [(id, *row.values()) for id, row in zip(ids, values, strict=True)])
    postings.add(db, str(values[0]["namespace"]), list(zip(ids, words, strict=True)))
    db.execute(_INSERT_NAMES, _span(ids[0], ids[-1]))  # no other row is among them: they are above all that were there
    return ids


def _free_ids(db: Database, wanted: Sequence[int | None]) -> list[int]:
    given = "SELECT seq FROM sqlite_sequence WHERE name = 'episodes' UNION ALL SELECT max(id) FROM episodes"
    [(last,)] = db.execute(f"SELECT coalesce(max(seq), 0) FROM ({given})").fetchall()
    ids = []
    for wish in wanted:
        last = wish if wish is not None and last < wish <= _LARGEST_WISH else last + 1
        ids.append(last)
    return ids


def drop(db: Database, namespace: str, ids: Sequence[int], now: datetime) -> None:
    """Delete episodes and all that hangs on them; that there was one, and when, is noted."""
    unindex(db, namespace, ids)
    chosen, gone = "id IN (SELECT value FROM json_each(?))", json.dumps(list(ids))
    sql = f"SELECT run_id, max(coalesce(min(expires_at, ?), ?)) FROM episodes WHERE {chosen} AND run_id IS NOT NULL GROUP BY run_id"
    runs = db.execute(sql, (moment_text(now), "9999", gone)).fetchall()
    sql = f"INSERT INTO tombstones SELECT id, namespace, recorded_at, ? FROM episodes WHERE {chosen}"
    db.execute(sql, (moment_text(now), gone))
    db.conn.executemany("DELETE FROM episodes WHERE id = ?", [(id,) for id in ids])
    for run, until in runs:
        if not db.execute("SELECT 1 FROM episodes WHERE namespace = ? AND run_id = ?", (namespace, run)).fetchone():
            _forget_run(db, namespace, run, until)


def _forget_run(db: Database, namespace: str, run_id: str, until: str) -> None:
    """A run has gone: what it was told goes with it, and it stays counted where it was told something, without its name.

    What was told under its name after it had expired (`until`) was told to another run.
    """
    db.execute("DELETE FROM receipts WHERE namespace = ? AND run_id = ? AND at <= ?", (namespace, run_id, until))
    for table, column in (("tellings", "namespace = ?"), ("learning_events", "learning_id IN (SELECT id FROM learnings WHERE namespace = ?)")):  # fmt: skip
        sql = f"UPDATE {table} SET run_id = NULL WHERE {column} AND run_id = ? AND at <= ?"
        db.execute(sql, (namespace, run_id, until))


def drop_expired(db: Database, namespace: str, now: datetime, condition: str = "1", *parameters: object) -> int:
    """Delete what has expired (among those that meet the condition), and with it older versions; how many records."""
    sql = f"SELECT id FROM episodes WHERE namespace = ? AND expires_at <= ? AND {condition}"
    ids = [id for (id,) in db.execute(sql, (namespace, moment_text(now), *parameters))]
    if not ids:
        return 0
    gone = with_older_versions(db, namespace, ids)
    drop(db, namespace, gone, now)
    return len(gone)


def with_older_versions(db: Database, namespace: str, ids: Sequence[int]) -> list[int]:
    """These ids and, for each that is the newest of its run, those of the older versions; ascending."""
    sql = """
        SELECT older.id FROM episodes newest JOIN episodes older USING (namespace, run_id)
        WHERE newest.namespace = ? AND newest.id IN (SELECT value FROM json_each(?)) AND newest.id = (
            SELECT max(id) FROM episodes WHERE namespace = newest.namespace AND run_id = newest.run_id)
    """
    older = db.execute(sql, (namespace, json.dumps(list(ids))))
    return sorted({*ids, *(id for (id,) in older)})


def words_of(episode: Episode) -> Words:
    """What the keyword index keeps of an episode. To be cut before a transaction begins: long texts take their time."""
    names = " ".join((*episode.tools, *episode.skills, *episode.tags))
    return cut(episode.situation), cut(episode.outcome), cut(names)


def index(db: Database, namespace: str, id: int, words: Words) -> None:
    """Let an episode be found, by its words and by the names of its tools, skills and tags."""
    postings.add(db, namespace, [(id, words)])
    db.execute(_INSERT_NAMES, _span(id, id))


def _span(first: int, last: int) -> tuple[int, ...]:
    return (first, last) * len(_NAMED)


def unindex(db: Database, namespace: str, ids: Sequence[int]) -> None:
    """Take episodes out of everything that recall reads."""
    if ids:
        postings.remove(db, ids)
        each = [(id,) for id in ids]
        named = [name for id in ids for name in db.execute(_NAMES, _span(id, id))]
        db.conn.executemany("DELETE FROM names WHERE namespace = ? AND kind = ? AND name = ? AND episode_id = ?", named)
        _drop_codes(db, ids)
        db.conn.executemany("DELETE FROM vectors WHERE episode_id = ?", each)
        db.execute("INSERT OR REPLACE INTO removals VALUES (?, random() & 0x7fffffffffffffff)", (namespace,))


def _drop_codes(db: Database, ids: Sequence[int]) -> None:
    """Take the codes of these episodes' vectors out of the rows that hold them."""
    sql = """
        SELECT c.id, v.id FROM vectors v JOIN codes c ON c.id = (
            SELECT id FROM codes WHERE space = v.space AND first <= v.id ORDER BY first DESC LIMIT 1)
        WHERE v.episode_id IN (SELECT value FROM json_each(?)) AND v.id <= c.last
    """
    leaving: dict[int, set[int]] = {}
    for row, vector in db.execute(sql, (json.dumps(list(ids)),)):
        leaving.setdefault(row, set()).add(vector)
    for row, gone in leaving.items():
        [found] = db.execute("SELECT vectors, episodes, codes FROM codes WHERE id = ?", (row,)).fetchall()
        vectors = array("q", found[0])
        kept = [at for at, vector in enumerate(vectors) if vector not in gone]
        each = (len(blob) // len(vectors) for blob in found)
        left = [
            b"".join(blob[at * size : at * size + size] for at in kept) for blob, size in zip(found, each, strict=True)
        ]
        db.execute("UPDATE codes SET vectors = ?, episodes = ?, codes = ? WHERE id = ?", (*left, row))
    db.execute("DELETE FROM codes WHERE vectors = x''")


def note_told(db: Database, namespace: str, run_ids: Sequence[str], now: datetime) -> None:
    """Runs have been recorded: write, in their order, that each was told what its receipts say, each learning once."""
    db.execute(_INSERT_TELLINGS, (moment_text(now), json.dumps(run_ids, ensure_ascii=False), namespace))


def insert_label(db: Database, episode_id: int, label: Label) -> int:
    """Write a statement; its number. `settle` is still to be called."""
    return int(db.execute(_INSERT_LABEL, _label_row(episode_id, label)).lastrowid or 0)


def insert_first_labels(db: Database, said: Iterable[tuple[int, Sequence[Label]]]) -> None:
    """Write what is said of episodes of which nothing was said before, in their order, and work out which label counts."""
    for alone, group in groupby(said, lambda item: len(item[1]) == 1 and item[1][0].withdrawal is None):
        if alone:
            _insert_only_labels(db, [(id, label) for id, [label] in group])
        else:
            for id, labels in group:
                insert_missing_labels(db, id, (), labels)


def _insert_only_labels(db: Database, said: Sequence[tuple[int, Label]]) -> None:
    """The only statement about an episode is the one that counts."""
    [(last,)] = db.execute("SELECT coalesce(max(id), 0) FROM labels").fetchall()
    db.conn.executemany(_INSERT_LABEL, [_label_row(id, label) for id, label in said])
    sql = "INSERT INTO verdicts (episode_id, success, label_id) SELECT episode_id, value, id FROM labels WHERE id > ?"
    db.execute(sql, (last,))


def insert_withdrawal(db: Database, episode_id: int, label_id: int, kind: str, withdrawal: Withdrawal) -> None:
    """Write that a statement is taken back. `settle` is still to be called."""
    by, evidence = checked_text("by", withdrawal.by), checked_text("evidence", withdrawal.evidence)
    row = (episode_id, label_id, kind, by, evidence, moment_text(withdrawal.at))
    db.execute("INSERT INTO labels (episode_id, withdraws, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)", row)


def insert_missing_labels(db: Database, episode_id: int, have: Iterable[Label], labels: Iterable[Label]) -> None:
    """Write the statements, and the withdrawals of statements, that the episode does not have yet."""
    known = {_statement(label): label for label in have}
    for label in labels:
        old = known.get(_statement(label)) or replace(label, id=insert_label(db, episode_id, label), withdrawal=None)
        if label.withdrawal and not old.withdrawal:
            insert_withdrawal(db, episode_id, old.id, label.kind, label.withdrawal)
            old = replace(old, withdrawal=label.withdrawal)
        known[_statement(label)] = old
    settle(db, episode_id)


def settle(db: Database, episode_id: int) -> None:
    """Work out anew which label counts."""
    db.execute("DELETE FROM verdicts WHERE episode_id = ?", (episode_id,))
    db.execute(rows.INSERT_VERDICT, (episode_id,))


def _label_row(episode_id: int, label: Label) -> tuple[object, ...]:
    return episode_id, int(label.value), label.kind, label.by, label.evidence, moment_text(label.at)


def _statement(label: Label) -> tuple[object, ...]:
    return label.value, label.kind, label.by, label.evidence, label.at
