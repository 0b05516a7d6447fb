"""The file: how it is opened, and the history of its schema.

Read the migrations top to bottom and you have the schema and how it came about. A released migration is never edited;
another is added. Opening decides what the file is before it changes a byte of it: a path typed wrongly must not turn
somebody's other database into ours.
"""

import os
import sqlite3
import time
from pathlib import Path

from sqlite_utils import Database, Migrations

from experience.errors import NewerSchema, StoreError

_APPLICATION_ID = 0x68776F6E  # "hwon"
_BUSY_SECONDS = 30.0
IN_MEMORY = ":memory:"

def m001_episodes_labels_and_indexes(db: Database) -> None:
    """Episodes are append-only; ids are never given twice, since skills and receipts cite them."""
    for statement in (
        """
        CREATE TABLE episodes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            uid TEXT NOT NULL,
            run_id TEXT,
            situation TEXT NOT NULL,
            outcome TEXT NOT NULL,
            tools TEXT NOT NULL,
            skills TEXT NOT NULL,
            tags TEXT NOT NULL,
            started_at TEXT,
            steps INTEGER,
            tokens INTEGER,
            seconds REAL,
            money REAL,
            meta TEXT NOT NULL,
            digest TEXT NOT NULL,
            recorded_at TEXT NOT NULL,
            expires_at TEXT,
            UNIQUE (namespace, uid)
        )
        """,
        "CREATE INDEX episodes_by_namespace ON episodes (namespace, id)",
        "CREATE INDEX episodes_by_run ON episodes (namespace, run_id, id) WHERE run_id IS NOT NULL",
        "CREATE INDEX episodes_by_expiry ON episodes (namespace, expires_at) WHERE expires_at IS NOT NULL",
        # A label is a statement (value) or takes one back (withdraws); neither is ever changed.
        """
        CREATE TABLE labels (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            value INTEGER CHECK (value IN (0, 1)),
            withdraws INTEGER UNIQUE REFERENCES labels (id) ON DELETE CASCADE,
            class TEXT NOT NULL CHECK (class IN ('verifier', 'human', 'host', 'exit_code', 'self_claim')),
            evidence TEXT NOT NULL,
            by TEXT NOT NULL,
            at TEXT NOT NULL,
            CHECK ((value IS NULL) = (withdraws IS NOT NULL))
        )
        """,
        "CREATE INDEX labels_by_episode ON labels (episode_id)",
        # Derived: the label that counts, kept so that a filter on success is one look-up.
        """
        CREATE TABLE verdicts (
            episode_id INTEGER PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
            success INTEGER NOT NULL,
            label_id INTEGER NOT NULL REFERENCES labels (id) ON DELETE CASCADE
        )
        """,
        # Derived: one row for each episode that can be recalled, cut by our own tokeniser and parted by spaces. The
        # ascii tokenizer takes every non-ASCII character as part of a word, and of ASCII what tokenchars names.
        """
        CREATE VIRTUAL TABLE terms USING fts5 (
            situation, outcome, names, tokenize = 'ascii tokenchars ''-._/\\:@~+#='''
        )
        """,
        # Derived: vectors, each beside the name and width of its encoder. Their ids grow in the order of commits, so
        # that a reader knows what is new by the last one it saw.
        """
        CREATE TABLE vectors (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            namespace TEXT NOT NULL,
            encoder TEXT NOT NULL,
            width INTEGER NOT NULL,
            vector BLOB NOT NULL,
            UNIQUE (namespace, encoder, episode_id)
        )
        """,
        "CREATE INDEX vectors_by_episode ON vectors (episode_id)",
        # How often vectors have gone from a namespace: a reader whose count is older looks again at what is left.
        "CREATE TABLE removals (namespace TEXT PRIMARY KEY, count INTEGER NOT NULL)",
        "CREATE TABLE settings (namespace TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (namespace, key))",
    ):
        db.execute(statement)


_HISTORY = (m001_episodes_labels_and_indexes,)

_migrations = Migrations("hardwon")
for _step in _HISTORY:
    _migrations()(_step)


def connect(path: Path | str, *, create: bool) -> Database:
    """The database at `path`, at this release's schema. Raises StoreError in one sentence that says what to do.

    The connection may be used from any thread, by one at a time.
    """
    name = str(path)
    if name != IN_MEMORY:
        _prepare(Path(path), create=create)
    try:
        # isolation_level None: no statement begins a transaction unless we say so, and we say BEGIN IMMEDIATE.
        connection = sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise StoreError(f"cannot open {name}: {error}; choose a file in a folder that can be written to") from error
    try:
        return _opened(Database(connection, execute_plugins=False), name)
    except sqlite3.Error as error:
        connection.close()
        raise StoreError(_why(name, error)) from error
    except StoreError:
        connection.close()
        raise


def size_on_disk(path: Path | str) -> int:
    """Bytes of the file and of what SQLite keeps beside it; 0 for a store in memory."""
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
    return 0 if str(path) == IN_MEMORY else sum(file.stat().st_size for file in files if file.exists())


def _prepare(path: Path, *, create: bool) -> None:
    """Make an empty file where there is none, readable by its owner alone: what is recorded may be private."""
    if path.is_dir():
        raise StoreError(f"{path} is a directory; name a file in it, such as {path / 'experience.db'}")
    try:
        if path.exists():
            return
        if not create:
            raise StoreError(f"there is no store at {path}; record or import something first, or name another file")
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except (OSError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot make {path}: {error}; choose a place that can be written to") from error


def _opened(db: Database, name: str) -> Database:
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("BEGIN")  # one view of both, while another process may be making the tables
    [(tables,)] = db.execute("SELECT count(*) FROM sqlite_master").fetchall()
    [(application,)] = db.execute("PRAGMA application_id").fetchall()
    db.execute("COMMIT")
    if tables and application != _APPLICATION_ID:
        raise StoreError(f"{name} is a SQLite database of another program; name a file of its own for the store")
    _use_wal(db)
    known = {step.__name__ for step in _HISTORY}
    applied = {migration.name for migration in _migrations.applied(db)} if tables else set()
    if newer := sorted(applied - known):
        raise NewerSchema(f"{name} was written by a newer release (it has {newer[-1]}); run: pip install -U hardwon")
    if known - applied:
        _migrate(db)
    return db


def _migrate(db: Database) -> None:
    # Migrations.apply begins a deferred transaction, which fails with "database is locked" when processes open a fresh
    # file together; inside ours it only sets savepoints.
    db.execute("BEGIN IMMEDIATE")
    try:
        _migrations.apply(db)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
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


def _why(name: str, error: sqlite3.Error) -> str:
    said = str(error)
    if "not a database" in said:
        return f"{name} is not a SQLite database; name another file for the store"
    if "readonly" in said or "read-only" in said:
        return f"{name} lies in a read-only place; copy it to one that can be written to"
    if "malformed" in said:
        return f"{name} is damaged ({said}); restore it from a copy or an export"
    return f"cannot open {name}: {said}; check that the file and its folder can be read and written"
