"""How a file is opened: with care, and at this release's schema.

What the file is gets decided before a byte of it changes: a path typed wrongly must not turn somebody's other
database into ours. What SQLite says when something is wrong becomes one sentence that says what to do. Nobody keeps
anything here.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from experience import postings, schema
from experience.errors import NewerSchema, StoreError

_APPLICATION_ID = 0x68776F6E  # "hwon"
_BUSY_SECONDS = 30.0
_PAGE = 8192  # bytes; five vectors of 384 numbers fill one, where of 4096 bytes two would leave a quarter empty
IN_MEMORY = ":memory:"
"""The path of a store that is no file."""


def connect(path: Path | str, *, create: bool) -> Database:
    """The database at `path`, at this release's schema. Raises StoreError in one sentence that says what to do.

    The connection may be used from any thread, by one at a time.
    """
    name = str(path)
    if name != IN_MEMORY:
        _prepare(Path(path), create=create)
    try:
        made = connection(name)
    except sqlite3.Error as error:
        raise StoreError(f"cannot open {name}: {error}; choose a file in a folder that can be written to") from error
    try:
        return opened(Database(made, execute_plugins=False), name)
    except sqlite3.Error as error:
        made.close()
        raise StoreError(why(name, error)) from error
    except StoreError:
        made.close()
        raise


def connection(name: str) -> sqlite3.Connection:
    """A connection of the module sqlite3, as every other one here."""
    # isolation_level None: no statement begins a transaction unless we say so, and we say BEGIN IMMEDIATE.
    return sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _prepare(path: Path, *, create: bool) -> None:
    """Make an empty file where there is none, readable by its owner alone: what is recorded may be private."""
    try:
        directory, there = path.is_dir(), path.exists()
        if create and not there:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot make {path}: {error}; choose a place that can be written to") from error
    if directory:
        raise StoreError(f"{path} is a directory; name a file in it, such as {path / 'experience.db'}")
    if not create and not there:
        raise StoreError(f"there is no store at {path}; record or import something first, or name another file")


def opened(db: Database, name: str) -> Database:
    """The same database with our settings, at this release's schema. Raises StoreError."""
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("BEGIN")  # one view of both, while another process may be making the tables
    [(tables,)] = db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    [(application,)] = db.execute("PRAGMA application_id").fetchall()
    db.execute("COMMIT")
    if tables and application != _APPLICATION_ID:
        raise StoreError(f"{name} is a SQLite database of another program; name a file of its own for the store")
    if tables and (names := schema.newer(db)):
        raise NewerSchema(f"{name} was written by a newer release (it has {names[-1]}); run: pip install -U hardwon")
    if not tables:
        db.execute(f"PRAGMA page_size = {_PAGE}")
    _use_wal(db)
    if schema.pending(db):
        with transaction(db):
            schema.migrate(db)
            postings.catch_up(db)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    return db


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """All of it or nothing."""
    # IMMEDIATE: a transaction that reads first and writes later fails at once when another has written in between.
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.conn.in_transaction:
            db.execute("ROLLBACK")
        raise


def _use_wal(db: Database) -> None:
    # The switch to WAL does not wait for other connections as statements do, so the waiting is done here.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


_SENTENCES = {
    "not a database": "{name} is not a SQLite database; name another file for the store",
    "readonly": "{name} lies in a read-only place; copy it to one that can be written to",
    "read-only": "{name} lies in a read-only place; copy it to one that can be written to",
    "malformed": "{name} is damaged ({said}); restore it from a copy or an export",
    "closed database": "{name} was closed, or left to the parent by a fork, in the middle of a transaction; open it again",
    "locked": "{name} is being written by another process, for longer than it is waited for; try again",
    "full": "there is no room left for {name}; nothing was changed; free some and try again",
    "": "cannot use {name}: {said}; check that the file and its folder can be read and written",
}


def why(name: str, error: sqlite3.Error) -> str:
    """What SQLite says of a file, as a sentence that says what to do."""
    said = str(error)
    return next(sentence for word, sentence in _SENTENCES.items() if word in said).format(name=name, said=said)
