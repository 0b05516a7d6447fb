"""Which episodes pass a filter, asked in the two ways that a ranking asks: of some it has found, and of all there are.

Of a few thousand candidates each is looked up. When few pass, it is cheaper to have all that do: they are read off the
rarest condition that has an index. What an index holds is live by itself, so nothing here looks whether a run was
superseded; what has expired is always left out.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experience import rows
from experience.backends.ranking import Ids
from experience.episode import moment_text
from experience.protocols import Filter
from experience.store import SqliteStore


def passing(store: SqliteStore, where: Filter, ids: Ids) -> NDArray[np.bool_]:
    """Which of these episodes of the store's namespace pass, expired ones not; shape of `ids`."""
    live = np.ones(len(ids), dtype=bool)
    if len(gone := expired(store)):
        live &= ~np.isin(ids, gone)
    if where.ids is not None:
        live &= np.isin(ids, np.array(where.ids, dtype=np.int64))
    parts, parameters = _conditions(store, replace(where, ids=None), "asked.value")
    if parts:
        sql = f"SELECT asked.value FROM json_each(?) asked WHERE {' AND '.join(parts)}"
        live[live] = np.isin(ids[live], _ids(store.read(sql, [json.dumps(ids[live].tolist()), *parameters])))
    return live


def all_passing(store: SqliteStore, where: Filter, most: int) -> Ids | None:
    """All episodes that pass, ascending; None when they are more than `most`.

    For whoever looks for them in an index of the store's namespace: superseded ones may be among them, and of other
    namespaces, which no such index holds.
    """
    chosen, parameters = _driven(store, where)
    found = store.read(f"{chosen} LIMIT ?", [*parameters, most + 1])
    return None if len(found) > most else np.setdiff1d(_ids(found), expired(store))


def expired(store: SqliteStore) -> Ids:
    """What has expired in the store's namespace and is still there: few, they go at the next clean-up."""
    sql = "SELECT id FROM episodes WHERE namespace = ? AND expires_at <= ?"
    return _ids(store.read(sql, (store.namespace, moment_text(store.now()))))


def _driven(store: SqliteStore, where: Filter) -> tuple[str, list[Any]]:
    """The query for all that pass, which begins at the condition that fewest meet."""
    begins = list(_beginnings(store, where))
    source, start = min(begins, key=lambda begin: _extent(store, *begin)) if len(begins) > 1 else begins[0]
    parts, parameters = _conditions(store, where, "first.id")
    return f"SELECT first.id FROM ({source}) first WHERE {' AND '.join(parts) or '1'}", [*start, *parameters]


def _conditions(store: SqliteStore, where: Filter, id: str) -> tuple[list[str], list[Any]]:
    """The filter's conditions on an id, without a look at its episode unless time is asked for."""
    time = f"(SELECT coalesce(started_at, recorded_at) FROM episodes WHERE id = {id})"
    return rows.conditions(store.namespace, where, id=id, time=time)


def _beginnings(store: SqliteStore, where: Filter) -> list[tuple[str, list[Any]]]:
    """For each condition with an index, the query of the ids that meet it; or for all of the namespace."""
    found: list[tuple[str, list[Any]]] = []
    if where.ids is not None:
        found.append(("SELECT value AS id FROM json_each(?)", [json.dumps(where.ids)]))
    sql = "SELECT episode_id AS id FROM names WHERE namespace = ? AND kind = ? AND name = ?"
    found += [(sql, [store.namespace, kind, name]) for kind, names in rows.named(where) for name in names]
    if where.since is not None or where.until is not None:
        sql = "SELECT id FROM episodes WHERE namespace = ? AND coalesce(started_at, recorded_at) >= ? AND coalesce(started_at, recorded_at) < ?"
        bounds = [moment_text(where.since) if where.since else "", moment_text(where.until) if where.until else "~"]
        found.append((sql, [store.namespace, *bounds]))
    if where.success is not None:
        found.append(("SELECT episode_id AS id FROM verdicts WHERE success = ?", [int(where.success)]))
    return found or [("SELECT id FROM episodes WHERE namespace = ?", [store.namespace])]


_ENOUGH = 2_000  # rows that are counted at most, to find the condition that fewest meet


def _extent(store: SqliteStore, source: str, parameters: Sequence[Any]) -> int:
    [(count,)] = store.read(f"SELECT count(*) FROM ({source} LIMIT ?)", [*parameters, _ENOUGH])
    return int(count)


def _ids(found: Sequence[tuple[Any, ...]]) -> Ids:
    return np.fromiter((id for (id,) in found), dtype=np.int64, count=len(found))
