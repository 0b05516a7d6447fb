"""Spaces: what one encoder makes of one namespace, kept apart from whatever another makes of it."""

from typing import NamedTuple

import numpy as np

from experience.backends.matrix import Vectors, stacked
from experience.errors import EncoderError
from experience.store import SqliteStore


class Space(NamedTuple):
    """What one encoder makes of one namespace."""

    id: int
    width: int


def known(store: SqliteStore, encoder: str, width: int) -> Space | None:
    """The space of an encoder in the store's namespace, if there is one. Raises EncoderError when its width is another."""
    found = store.read("SELECT id, width FROM spaces WHERE namespace = ? AND encoder = ?", (store.namespace, encoder))
    if found and found[0][1] != width:
        raise EncoderError(
            f"the store has vectors by {encoder} of width {found[0][1]}, and it makes them of width {width} now; whatever "
            "changes a vector must change its encoder's name"
        )
    return Space(*found[0]) if found else None


def made(store: SqliteStore, encoder: str, width: int) -> Space:
    """The same, begun where there is none; for whoever is writing already. Raises EncoderError as `known` does."""
    if (space := known(store, encoder, width)) is not None:
        return space
    sql = "INSERT INTO spaces (namespace, encoder, width) VALUES (?, ?, ?)"
    with store.write() as db:
        return Space(int(db.execute(sql, (store.namespace, encoder, width)).lastrowid or 0), width)


def sample(store: SqliteStore, space: Space, count: int) -> Vectors:
    """Unit vectors of at most `count` episodes, evenly spread over their ids; the same ones each time. A row each."""
    with store.snapshot():
        [(low, high)] = store.read("SELECT min(episode_id), max(episode_id) FROM vectors WHERE space = ?", (space.id,))
        if low is None:
            return np.empty((0, space.width), dtype=np.float32)
        sql = "SELECT id FROM vectors WHERE space = ? AND episode_id >= ? ORDER BY episode_id LIMIT 1"
        steps = dict.fromkeys(np.linspace(low, high, count, dtype=np.int64).tolist())
        chosen = sorted({id for step in steps for (id,) in store.read(sql, (space.id, step))})
        blobs = [blob for id in chosen for (blob,) in store.read("SELECT vector FROM vectors WHERE id = ?", (id,))]
    return stacked(blobs, space.width)
