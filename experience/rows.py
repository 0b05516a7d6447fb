"""Values to rows and back: the SQL that reads a record, and what a `Filter` is in SQL.

Pure functions of their arguments; nothing here opens, reads or writes anything.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any

from experience.echoes import STRIPPED
from experience.episode import Cost, Episode, moment_from, moment_text
from experience.hygiene import MASKED
from experience.protocols import LABEL_CLASSES, Filter, Label, Record, Withdrawal

_SUPERSEDED = """(e.run_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM episodes later WHERE later.namespace = e.namespace AND later.run_id = e.run_id AND later.id > e.id))"""

SELECT_RECORD = f"""
    SELECT e.id, e.uid, e.run_id, e.situation, e.outcome, e.tools, e.skills, e.tags, e.started_at,
           e.steps, e.tokens, e.seconds, e.money, e.meta, e.recorded_at, e.expires_at, {_SUPERSEDED},
           l.id, l.value, l.class, l.by, l.evidence, l.at, NULL, NULL, NULL
    FROM episodes e LEFT JOIN verdicts v ON v.episode_id = e.id LEFT JOIN labels l ON l.id = v.label_id
"""

SELECT_LABELS = """
    SELECT l.episode_id, l.id, l.value, l.class, l.by, l.evidence, l.at, w.by, w.evidence, w.at
    FROM labels l LEFT JOIN labels w ON w.withdraws = l.id
    WHERE l.episode_id IN (SELECT value FROM json_each(?)) AND l.value IS NOT NULL ORDER BY l.at, l.id
"""

# Conditions in one pair of brackets: SQLite takes an expression a thousand deep, and each AND is one deeper.
_TOGETHER = 100

_RANK = " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(LABEL_CLASSES))
INSERT_VERDICT = f"""
    INSERT INTO verdicts (episode_id, success, label_id)
    SELECT episode_id, value, id FROM labels l
    WHERE episode_id = ? AND value IS NOT NULL AND NOT EXISTS (SELECT 1 FROM labels w WHERE w.withdraws = l.id)
    ORDER BY CASE class {_RANK} END, at DESC, id DESC LIMIT 1
"""


def record_from(row: Sequence[Any]) -> Record:
    """The record in a row of SELECT_RECORD."""
    id, uid, run_id, situation, outcome, tools, skills, tags, started_at = row[:9]
    label = None if row[17] is None else label_from(row[17:26])
    episode = Episode(
        situation=situation,
        outcome=outcome,
        tools=_names(tools),
        skills=_names(skills),
        tags=_names(tags),
        success=None if label is None else label.value,
        run_id=run_id,
        started_at=_moment(started_at),
        cost=Cost(*row[9:13]),
        meta=json.loads(row[13]) if row[13] != "{}" else {},
    )
    return Record(
        id=id,
        episode=episode,
        uid=uid,
        recorded_at=moment_from(row[14], "recorded_at"),
        label=label,
        expires_at=_moment(row[15]),
        superseded=bool(row[16]),
    )


def _names(written: str) -> tuple[str, ...]:
    return tuple(json.loads(written)) if written != "[]" else ()


def label_from(row: Sequence[Any]) -> Label:
    """The label in a row of SELECT_LABELS, the episode's id aside."""
    id, value, kind, by, evidence, at, taken_by, taken_because, taken_at = row
    withdrawal = None if taken_at is None else Withdrawal(taken_by, taken_because, moment_from(taken_at, "at"))
    return Label(id, bool(value), kind, by, evidence, moment_from(at, "at"), withdrawal)


def columns_of(episode: Episode) -> dict[str, object]:
    """What the episode itself puts into a row. Its success is not among it: that is what labels say."""
    return {
        "run_id": episode.run_id,
        "situation": episode.situation,
        "outcome": episode.outcome,
        "tools": _names_json(episode.tools),
        "skills": _names_json(episode.skills),
        "tags": _names_json(episode.tags),
        "started_at": None if episode.started_at is None else moment_text(episode.started_at),
        "steps": episode.cost.steps,
        "tokens": episode.cost.tokens,
        "seconds": episode.cost.seconds,
        "money": episode.cost.money,
        "meta": json.dumps(dict(episode.meta), ensure_ascii=False, separators=(",", ":")) if episode.meta else "{}",
        "digest": digest_of(episode),
    }


def digest_of(episode: Episode) -> str:
    """SHA-256 of what happened and `meta`, in a fixed order: equal digests, the same run recorded again.

    Not of success, which is what labels say, nor of when it began and what it cost: a run that is recorded a second time
    is seldom measured to the same microsecond.
    """
    content = {name: getattr(episode, name) for name in ("situation", "tools", "skills", "tags", "outcome")}
    content["meta"] = {key: value for key, value in episode.meta.items() if key not in (STRIPPED, MASKED)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def selection(namespace: str, now: datetime, where: Filter, *, indexed: bool) -> tuple[str, list[Any]]:
    """A query, and its parameters, for the ids of a namespace that are neither superseded nor expired and pass `where`.

    It ends in a condition on `e.id`'s row, so that more conditions may follow with AND. With `indexed` it does not look
    whether a row is superseded: those are in no index.
    """
    parts = ["e.namespace = ?", "(e.expires_at IS NULL OR e.expires_at > ?)"]
    if not indexed:
        parts.append(f"NOT {_SUPERSEDED}")
    passing, parameters = conditions(namespace, where)
    return f"SELECT e.id FROM episodes e WHERE {' AND '.join([*parts, *passing])}", [
        namespace,
        moment_text(now),
        *parameters,
    ]


def conditions(
    namespace: str, where: Filter, *, id: str = "e.id", time: str = "coalesce(e.started_at, e.recorded_at)"
) -> tuple[list[str], list[Any]]:
    """What an episode of a namespace has to meet to pass a filter: SQL conditions, and the parameters of all of them.

    `id` and `time` are the expressions that give the episode's; by default from a row `e` of `episodes`.
    """
    parts: list[str] = []
    parameters: list[Any] = []
    if where.success is not None:
        parts.append(f"(SELECT success FROM verdicts WHERE episode_id = {id}) = ?")
        parameters.append(int(where.success))
    for column, names in named(where):
        one = (
            f"EXISTS (SELECT 1 FROM names WHERE namespace = ? AND kind = '{column}' AND name = ? AND episode_id = {id})"
        )
        parts += [
            f"({' AND '.join([one] * len(names[at : at + _TOGETHER]))})" for at in range(0, len(names), _TOGETHER)
        ]
        parameters += [part for name in names for part in (namespace, name)]
    for sign, moment in ((">=", where.since), ("<", where.until)):
        if moment is not None:
            parts.append(f"{time} {sign} ?")
            parameters.append(moment_text(moment))
    if where.ids is not None:
        parts.append(f"{id} IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(where.ids))
    return parts, parameters


def named(where: Filter) -> list[tuple[str, tuple[str, ...]]]:
    """The names that a filter asks for, by the column they stand in."""
    return [("tools", where.tools), ("skills", where.skills), ("tags", where.tags)]


def _names_json(names: Sequence[str]) -> str:
    return f"[{','.join(map(encode_basestring, names))}]" if names else "[]"


def _moment(text: str | None) -> datetime | None:
    return None if text is None else moment_from(text, "time")
