"""A store as it was at a moment: what was recorded, said, learned and approved by then.

Made as a copy in memory from which everything younger is taken, so that whatever reads a store reads the past the same
way. What has been deleted since is gone from it: a store that forgets does not remember on request. How many runs that
concerns is known, and nothing else of them.
"""

from datetime import datetime

from sqlite_utils import Database

from experience import rows, writing
from experience.episode import checked_moment, moment_text
from experience.store import SqliteStore


def store_as_of(store: SqliteStore, moment: datetime) -> SqliteStore:
    """A copy in memory of the store as it stood at a moment, its clock standing still there; close it.

    It takes as long, and as much memory, as a copy of the file. Raises InvalidInput for a time without offset.
    """
    then = checked_moment("the moment", moment)
    copy = SqliteStore(":memory:", store.namespace, clock=lambda: then)
    store.copy_into(copy)
    with copy.write() as db:
        _bring_back(db, moment_text(then))
        _forget_after(db, moment_text(then))
        _unlabel_after(db, moment_text(then))
    return copy


def gone_since(store: SqliteStore, moment: datetime) -> int:
    """How many runs of the namespace were there at a moment and have been deleted since."""
    sql = "SELECT count(*) FROM tombstones WHERE namespace = ? AND recorded_at <= ? AND deleted_at > ?"
    then = moment_text(checked_moment("the moment", moment))
    return int(store.read(sql, (store.namespace, then, then))[0][0])


def _forget_after(db: Database, then: str) -> None:
    """Take out what is younger, of every namespace."""
    young = list(db.execute("SELECT id, namespace FROM episodes WHERE recorded_at > ?", (then,)))
    for namespace in {namespace for _, namespace in young}:
        writing.unindex(db, namespace, [id for id, of in young if of == namespace])
    db.execute("DELETE FROM episodes WHERE recorded_at > ?", (then,))
    db.execute("DELETE FROM skill_versions WHERE at > ?", (then,))
    db.execute("DELETE FROM skill_drafts WHERE made_at > ?", (then,))
    undecided = "state = 'waiting', by = '', reason = '', decided_at = NULL"
    db.execute(f"UPDATE skill_drafts SET {undecided} WHERE decided_at > ?", (then,))
    db.execute("DELETE FROM tellings WHERE at > ?", (then,))
    db.execute("DELETE FROM learning_events WHERE at > ?", (then,))
    db.execute("DELETE FROM learning_corrections WHERE at > ?", (then,))
    db.execute("DELETE FROM skill_attempts WHERE at > ?", (then,))
    db.execute("DELETE FROM tombstones WHERE deleted_at > ?", (then,))
    db.execute("DELETE FROM learnings WHERE id NOT IN (SELECT learning_id FROM learning_events)")
    db.execute("DELETE FROM receipts WHERE at > ?", (then,))


def _unlabel_after(db: Database, then: str) -> None:
    """Take back what was said later, and let the label count again that counted then."""
    affected = db.execute("SELECT DISTINCT episode_id FROM labels WHERE at > ?", (then,)).fetchall()
    db.execute("DELETE FROM labels WHERE at > ?", (then,))
    for (id,) in affected:
        writing.settle(db, id)


def _bring_back(db: Database, then: str) -> None:
    """Let the versions of runs be found that were the newest then, of every namespace too."""
    sql = f"""
        {rows.SELECT_RECORD} WHERE e.run_id IS NOT NULL AND e.id = (
            SELECT max(id) FROM episodes WHERE namespace = e.namespace AND run_id = e.run_id AND recorded_at <= ?)
        AND e.id NOT IN (SELECT episode_id FROM words)
    """
    without_vector = []
    for row in db.execute(sql, (then,)).fetchall():
        record = rows.record_from(row)
        [(namespace,)] = db.execute("SELECT namespace FROM episodes WHERE id = ?", (record.id,)).fetchall()
        writing.index(db, namespace, record.id, writing.words_of(record.episode))
        # What a run was asked seldom changes as it grows, and then its later version has the same vector.
        sql = """
            INSERT OR IGNORE INTO vectors (episode_id, space, text, vector)
            SELECT older.id, v.space, v.text, v.vector FROM episodes older JOIN episodes later
            USING (namespace, run_id, situation) JOIN vectors v ON v.episode_id = later.id WHERE older.id = ?
        """
        if db.execute(sql, (record.id,)).rowcount == 0:
            without_vector.append(record.id)
    if without_vector:  # vectors are made in the order of ids: what lacks one before the last would never get it
        db.execute("DELETE FROM vectors WHERE episode_id >= ?", (min(without_vector),))
