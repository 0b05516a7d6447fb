"""The file under a store: read, written in whole transactions, shared by threads and left to a parent by forks.

It knows no episodes; how a file is opened is the business of `opening`.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlite_utils import Database

from experience.errors import InvalidInput, StoreError
from experience.opening import IN_MEMORY, connect, connection, opened, transaction, why


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
        self.path = path if str(path) == IN_MEMORY else Path(path).absolute()
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

    def wait_at_most(self, seconds: float) -> None:
        """Give up so soon where somebody else is writing the file; 30 seconds otherwise. Raises StoreError."""
        self.read(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

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
            whole = db.atomic() if db.conn.in_transaction else transaction(db)
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
            copy = connection(IN_MEMORY)
            # Older files have pages of another size, and memory takes only those of its own.
            [(size,)] = mine.execute("PRAGMA page_size").fetchall()
            copy.execute(f"PRAGMA page_size = {size}")
            mine.conn.backup(copy)
            other.close()
            other._db = opened(Database(copy, execute_plugins=False), IN_MEMORY)  # noqa: SLF001 (our own)
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
        if self._db is None or str(self.path) == IN_MEMORY:
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
                raise StoreError(why(str(self.path), error)) from error


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
    connection = sqlite3.connect(IN_MEMORY)
    connection.close()
    return connection
