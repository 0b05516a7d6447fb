"""The file under a store: opened with care, read, and written in whole transactions.

Opening decides what the file is before it changes a byte of it: a path typed wrongly must not turn somebody's other
database into ours. What SQLite says when something is wrong becomes one sentence that says what to do. This module knows
no episodes.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlite_utils import Database

from experience import postings, schema
from experience.errors import InvalidInput, NewerSchema, StoreError

_APPLICATION_ID = 0x68776F6E  # "hwon"
_BUSY_SECONDS = 30.0
_PAGE = 8192  # bytes; five vectors of 384 numbers fill one, where of 4096 bytes two would leave a quarter empty
_IN_MEMORY = ":memory:"


class Version(NamedTuple):
    """What a file is at, as one connection sees it."""

    undone: tuple[int, int]
    """Another once something that could be read was undone: then ids that were seen may come again with other rows."""
    by_others: int
    by_us: int


class SqliteFile:
    """One SQLite file. Usable from any thread, by one at a time; close it, or use it as a context manager."""

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        """Open the file at `path` (":memory:" for none), making it when `create`. Raises StoreError."""
        # Absolute: the same file is to be found again after a change of folder.
        self.path = path if str(path) == _IN_MEMORY else Path(path).absolute()
        self._lock = threading.RLock()
        self._left_to_parent = False
        self._connections, self._undone = 1, 0  # connections it has had, and writes that failed
        _watch_forks()
        with _opening:
            self._db: Database | None = connect(self.path, create=create)
            _open_files.add(self)

    def close(self) -> None:
        """Let go of the file. Closing twice is no error; any other use after it is."""
        with self.alone():
            if self._db is not None:
                self._db.close()
            self._db, self._left_to_parent = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query. Raises StoreError; InvalidInput for a number that SQLite cannot hold."""
        with self._database() as db:
            try:
                return db.conn.execute(sql, parameters).fetchall()
            except OverflowError as error:
                raise InvalidInput("a number is out of range; ids and counts go up to 2**63 - 1") from error
            except UnicodeEncodeError as error:
                raise InvalidInput(f"a text holds a lone surrogate at {error.start}; decode it properly") from error

    @contextmanager
    def write(self) -> Iterator[Database]:
        """One transaction: all of it or nothing. Inside another of this thread it is a part that fails by itself.

        Raises StoreError.
        """
        with self._database() as db:
            # A savepoint inside a transaction.
            whole = db.atomic() if db.conn.in_transaction else _transaction(db)
            try:
                with whole:
                    yield db
            except BaseException:
                self._undone += 1
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside belongs together: nothing that others write meanwhile is seen. Raises StoreError."""
        with self._database() as db:
            if db.conn.in_transaction:
                yield
                return
            db.execute("BEGIN")
            try:
                yield
            finally:
                db.execute("COMMIT")

    def version(self) -> Version:
        """Equal as long as nobody has changed the file, by this connection or another."""
        with self._database() as db:
            [(others,)] = db.conn.execute("PRAGMA data_version").fetchall()
            return Version((self._connections, self._undone), int(others), db.conn.total_changes)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other thread uses this file inside the block. Who needs a lock of its own beside the file's takes this one."""
        with self._lock:
            yield

    def compact(self) -> bool:
        """Give back the room of what was deleted and overwrite the last traces of it. Takes as long as a copy.

        False while another connection reads: what it may still need stays in the log beside the file until it has ended
        and `compact` is called again.
        """
        with self._database() as db:
            db.execute("VACUUM")
            [(busy, _, _)] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy

    def copy_into(self, other: "SqliteFile") -> None:
        """Make another one, which is in memory, hold what this one holds, whatever it held before."""
        with self._database() as mine, other.alone():
            connection = _connection(_IN_MEMORY)
            # Older files have pages of another size, and memory takes only those of its own.
            [(size,)] = mine.execute("PRAGMA page_size").fetchall()
            connection.execute(f"PRAGMA page_size = {size}")
            mine.conn.backup(connection)
            other.close()
            other._db = _opened(Database(connection, execute_plugins=False), _IN_MEMORY)  # noqa: SLF001 (our own)
            other._connections += 1  # noqa: SLF001

    def size_on_disk(self) -> int:
        """Bytes of the file and of what SQLite keeps beside it; 0 for one in memory."""
        files = [Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm")]
        return sum(file.stat().st_size for file in files if file.exists())

    def _leave_to_parent(self, *, held: bool) -> None:
        """In the child of a fork: give up the connection, and make another when it is needed.

        SQLite notes by process which locks it has, and a child that used its parent's connection, or one of its own beside
        it, would take the parent's locks for its own and lose what it wrote when the parent closes. So it is closed; but in
        the middle of a transaction closing would undo what the parent is still writing, and then it is only let lie.
        """
        if self._db is None or str(self.path) == _IN_MEMORY:
            return
        if held and not self._db.conn.in_transaction:
            self._db.close()
            self._left_to_parent = True
        else:
            _let_lie.append(self._db.conn)
            self._db.conn = _closed_connection()
            self._lock = threading.RLock()
        self._db = None

    @contextmanager
    def _database(self) -> Iterator[Database]:
        with self.alone():
            if self._db is None and self._left_to_parent:
                self._db, self._left_to_parent = connect(self.path, create=False), False
                self._connections += 1
            if self._db is None:
                raise StoreError(f"the store {self.path} is closed; open it again")
            try:
                yield self._db
            except sqlite3.Error as error:
                raise StoreError(_why(str(self.path), error)) from error


_PATIENCE = 1.0  # seconds that a fork waits for each file which another thread is using
_open_files: "weakref.WeakSet[SqliteFile]" = weakref.WeakSet()
_opening = threading.RLock()  # no file is opened while the process forks
_held: list[SqliteFile] = []
_let_lie: list[sqlite3.Connection] = []


@lru_cache(maxsize=1)
def _watch_forks() -> None:
    """Let no fork happen, if it can be helped, while a thread is in the middle of something."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_leave_all)


def _hold_all() -> None:
    _opening.acquire()
    _held.extend(file for file in list(_open_files) if file._lock.acquire(timeout=_PATIENCE))  # noqa: SLF001 (our own)


def _release_all() -> None:
    while _held:
        _held.pop()._lock.release()  # noqa: SLF001
    _opening.release()


def _leave_all() -> None:
    for file in list(_open_files):
        lock, held = file._lock, file in _held  # noqa: SLF001
        file._leave_to_parent(held=held)  # noqa: SLF001
        if held:
            lock.release()
    _held.clear()
    _opening.release()


def _closed_connection() -> sqlite3.Connection:
    connection = sqlite3.connect(_IN_MEMORY)
    connection.close()
    return connection


def connect(path: Path | str, *, create: bool) -> Database:
    """The database at `path`, at this release's schema. Raises StoreError in one sentence that says what to do.

    The connection may be used from any thread, by one at a time.
    """
    name = str(path)
    if name != _IN_MEMORY:
        _prepare(Path(path), create=create)
    try:
        connection = _connection(name)
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


def _connection(name: str) -> sqlite3.Connection:
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
    if tables and (names := schema.newer(db)):
        raise NewerSchema(f"{name} was written by a newer release (it has {names[-1]}); run: pip install -U hardwon")
    if not tables:
        db.execute(f"PRAGMA page_size = {_PAGE}")
    _use_wal(db)
    if schema.pending(db):
        with _transaction(db):
            schema.migrate(db)
            postings.catch_up(db)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    return db


@contextmanager
def _transaction(db: Database) -> Iterator[None]:
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


def _why(name: str, error: sqlite3.Error) -> str:
    said = str(error)
    return next(sentence for word, sentence in _SENTENCES.items() if word in said).format(name=name, said=said)
