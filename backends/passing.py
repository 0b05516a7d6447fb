"""Which episodes pass a filter: of some, and of all there are."""

import numpy as np
from numpy.typing import NDArray

from experience.protocols import Filter
from experience.store import SqliteStore

Ids = NDArray[np.int64]


def passing(store: SqliteStore, where: Filter, ids: Ids) -> NDArray[np.bool_]:
    """Which of these episodes of the store's namespace pass, expired ones not; shape of `ids`."""
    selection, parameters = store.selection(where, indexed=True)
    marks = ", ".join("?" * len(ids))
    return np.isin(ids, _ids(store.read(f"{selection} AND e.id IN ({marks})", [*parameters, *ids.tolist()])))


def all_passing(store: SqliteStore, where: Filter, most: int) -> Ids | None:
    """The episodes of the store's namespace that pass, ascending; None when they are more than `most`."""
    selection, parameters = store.selection(where, indexed=True)
    found = store.read(f"{selection} LIMIT ?", [*parameters, most + 1])
    return None if len(found) > most else np.unique(_ids(found))


def _ids(found: list[tuple[int]]) -> Ids:
    return np.fromiter((id for (id,) in found), dtype=np.int64, count=len(found))
