"""What a store holds, in numbers: for `experience info`, and for whoever wonders why something is not found."""

import sqlite3
from typing import Any

from experience.episode import moment_text
from experience.protocols import Filter
from experience.store import SqliteStore


def overview(store: SqliteStore) -> dict[str, Any]:
    """Counts of one namespace, the size of the file, and the versions at work.

    `episodes` is `success` + `failure` + `unknown`; `superseded` and `expired` are those that are kept but hidden;
    `skills` counts those that ever had a version, `drafts` those that wait, `learnings` those that were ever proposed;
    `vectors` counts by encoder.
    """
    episodes, success, failure = store.count(), store.count(Filter(success=True)), store.count(Filter(success=False))
    sql = "SELECT count(*) FROM episodes WHERE namespace = ? AND expires_at <= ?"
    [(expired,)] = store.read(sql, (store.namespace, moment_text(store.now())))
    vectors = store.read(
        "SELECT encoder, count(*) FROM vectors v JOIN spaces s ON s.id = v.space WHERE namespace = ? GROUP BY encoder",
        (store.namespace,),
    )
    sql = "SELECT count(DISTINCT name) FROM skill_versions WHERE namespace = ?"
    [(skills,)] = store.read(sql, (store.namespace,))
    sql = "SELECT count(*) FROM skill_drafts WHERE namespace = ? AND state = 'waiting'"
    [(drafts,)] = store.read(sql, (store.namespace,))
    return {
        "db": str(store.path),
        "namespace": store.namespace,
        "episodes": episodes,
        "success": success,
        "failure": failure,
        "unknown": episodes - success - failure,
        "confirmed": _confirmed(store),
        "superseded": store.total() - expired - episodes,
        "expired": expired,
        "skills": skills,
        "drafts": drafts,
        "learnings": _rows(store, "learnings"),
        "receipts": _rows(store, "receipts"),
        "encoder": store.setting("encoder"),
        "vectors": dict(vectors),
        "bytes": store.size_on_disk(),
        "sqlite": sqlite3.sqlite_version,
    }


def _rows(store: SqliteStore, table: str) -> int:
    return int(store.read(f"SELECT count(*) FROM {table} WHERE namespace = ?", (store.namespace,))[0][0])


def _confirmed(store: SqliteStore) -> int:
    selection, parameters = store.selection(Filter(success=True))
    sql = f"""SELECT count(*) FROM verdicts v JOIN labels l ON l.id = v.label_id
        WHERE l.class <> 'self_claim' AND v.episode_id IN ({selection})"""
    return int(store.read(sql, parameters)[0][0])
