"""A namespace's vectors as a collection of embeddings of the package `llm`, in a SQLite file of their own.

`llm` makes the tables itself, by its own migrations, so that every release of it reads its own schema; only the rows are
ours. Vectors are copied as they are (little-endian float32 is what both keep) and none is made: what has no vector yet is
counted.
"""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from experience.errors import InvalidInput, MissingPackage
from experience.protocols import Record
from experience.store import SqliteStore

if TYPE_CHECKING:
    from sqlite_utils import Database

_PAGE = 500
_PLUGIN = "sentence-transformers"
_OURS = {"all-MiniLM-L6-v2-bf16": "all-MiniLM-L6-v2"}  # ours in other numbers, for whoever embeds a question
_INSERT = """
    INSERT INTO embeddings (collection_id, id, embedding, content, content_hash, metadata, updated) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class Collected(NamedTuple):
    """What was written."""

    vectors: int
    without: int
    """Episodes that could be recalled and have no vector of this encoder."""
    model: str
    """The model's id, by which `llm` embeds a question."""


def write_collection(store: SqliteStore, path: Path, encoder: str | None = None) -> Collected:
    """Write the collection, called like the namespace, into an empty file at `path`.

    What can be recalled is in it, by the encoder of this name (whole, or up to its `@`), by default the store's own. An entry's
    id is the episode's, its content the situation. Raises InvalidInput when there is no such encoder's vector, MissingPackage.
    """
    named = _encoder(store, encoder)
    model = model_id(named)
    with closing(_with_tables(store.namespace, path, model)) as db:
        [(collection,)] = db.execute("SELECT id FROM collections").fetchall()
        with db.atomic():
            vectors = _fill(store, db, collection, named)
    return Collected(vectors, store.count() - vectors, model)


def model_id(encoder: str) -> str:
    """What the plugin llm-sentence-transformers calls the model behind an encoder's name."""
    model = encoder.rpartition("@")[0] or encoder
    return f"{_PLUGIN}/{_OURS.get(model, model)}"


def _encoder(store: SqliteStore, wanted: str | None) -> str:
    sql = "SELECT encoder FROM spaces WHERE namespace = ? AND EXISTS (SELECT 1 FROM vectors WHERE space = spaces.id) ORDER BY id"
    known = [name for (name,) in store.read(sql, (store.namespace,))]
    wanted = wanted or store.setting("encoder") or (known[0] if len(known) == 1 else None)
    found = [name for name in known if wanted in {name, name.rpartition("@")[0]}]
    if not found and known:
        raise InvalidInput(
            f"the namespace {store.namespace!r} has vectors of {', '.join(known)}, and none of {wanted or 'one encoder alone'}; "
            "name one of those with --encoder, or run: experience refresh"
        )
    if not found:
        raise InvalidInput(f"the namespace {store.namespace!r} has no vectors yet; run: experience refresh")
    return str(found[-1])


def _with_tables(namespace: str, path: Path, model: str) -> "Database":
    try:
        import llm
    except ImportError as error:
        raise MissingPackage("pip install 'hardwon[llm]'") from error
    from sqlite_utils import Database

    db = Database(path, execute_plugins=False)
    db.execute("PRAGMA journal_mode = MEMORY")  # nothing of it beside the file
    named = SimpleNamespace(model_id=model)  # all that is asked of it
    llm.Collection(namespace, db, model=cast("Any", named))
    return db


def _fill(store: SqliteStore, db: "Database", collection: int, encoder: str) -> int:
    selection, parameters = store.selection()
    sql = f"""
        SELECT v.episode_id, v.vector FROM vectors v
        WHERE v.space = (SELECT id FROM spaces WHERE namespace = ? AND encoder = ?) AND v.episode_id > ?
        AND EXISTS ({selection} AND e.id = v.episode_id) ORDER BY v.episode_id LIMIT ?
    """
    last, written, updated = 0, 0, int(store.now().timestamp())
    while page := store.read(sql, (store.namespace, encoder, last, *parameters, _PAGE)):
        records = store.get_many([id for id, _ in page])
        rows = [_row(collection, records[id], vector, updated) for id, vector in page if id in records]
        db.conn.executemany(_INSERT, rows)
        written += len(rows)
        last = page[-1][0]
    return written


def _row(collection: int, record: Record, vector: bytes, updated: int) -> tuple[object, ...]:
    episode = record.episode
    told = {
        "uid": record.uid,
        "run_id": episode.run_id,
        "success": episode.success,
        "tools": list(episode.tools),
        "outcome": episode.outcome,
    }
    content = episode.situation
    # MD5 is what llm goes by to know a content again.
    digest = hashlib.md5(content.encode(), usedforsecurity=False).digest()
    return collection, str(record.id), vector, content, digest, json.dumps(told, ensure_ascii=False), updated
