"""Where episodes live: one SQLite file, rows as the truth, everything else derived from them.

A `SqliteStore` is bound to one namespace when it is made, so that no query can forget it. Every write is one
`BEGIN IMMEDIATE` transaction, in which the keyword index follows; vectors are pulled later by the backend that wants
them. Episodes and labels are only ever added or deleted, never changed. The store ranks nothing and knows no encoder.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlite_utils import Database

from experience import rows
from experience.episode import Episode, checked_text, moment_text
from experience.errors import InvalidEpisode, InvalidInput, NotFound, RunConflict, shown
from experience.protocols import Filter, Label, Record, Withdrawal
from experience.sqlite_file import SqliteFile
from experience.tokens import tokens

_LARGEST_WISH = 2**53  # ids go on above a wished-for one; one near the end of the range would leave no room


class Added(NamedTuple):
    """What became of an episode that was handed in."""

    id: int
    new: bool
    """False when it was known already."""


class SqliteStore(SqliteFile):
    """The episodes of one namespace in one file. Usable from any thread; close it, or use it as a context manager."""

    def __init__(
        self,
        path: Path | str,
        namespace: str = "default",
        *,
        create: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the store at `path` (":memory:" for none), making it when `create`. Raises StoreError, InvalidInput."""
        self.namespace = _namespace(namespace)
        super().__init__(path, create=create)
        self._clock = clock

    def now(self) -> datetime:
        """The moment by the store's own clock, in UTC."""
        return self._clock().astimezone(UTC)

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(
        self,
        episode: Episode,
        *,
        supersede: bool = False,
        labels: Iterable[Label] = (),
        uid: str | None = None,
        id: int | None = None,
        recorded_at: datetime | None = None,
        expires_at: datetime | None = None,
    ) -> Added:
        """Add an episode, and what was said of it; `episode.success` itself is no statement and is not kept.

        Known already, and so not added again, is an episode with the same `uid`, or with the same `run_id` and the same
        content; statements that are new are still taken over. Other content under the same run_id raises RunConflict,
        unless `supersede`: then it takes the older one's place. A wished-for `id` is given when it is above every id that
        this file has ever given.
        """
        row = rows.columns_of(episode) | {"namespace": self.namespace, "uid": uid or uuid.uuid4().hex}
        row["recorded_at"] = moment_text(recorded_at or self.now())
        row["expires_at"] = None if expires_at is None else moment_text(expires_at)
        with self.write() as db:
            known = self._known(db, episode, str(row["digest"]), uid, supersede=supersede)
            if known is None:
                row["id"] = self._free(db, id)
            added = Added(self._insert(db, episode, row), new=True) if known is None else Added(known, new=False)
            self._take_over(db, added.id, labels)
        return added

    def record(
        self,
        episode: Episode,
        *,
        kind: str = "host",
        by: str = "",
        evidence: str = "",
        supersede: bool = False,
        uid: str | None = None,
        expires_at: datetime | None = None,
    ) -> Added:
        """Add an episode and, when it says success or failure, that as a statement; one that was made before is not repeated."""
        with self.write():
            added = self.add(episode, supersede=supersede, uid=uid, expires_at=expires_at)
            if episode.success is not None:
                said = [] if added.new else [(s.value, s.kind, s.by, s.evidence) for s in self.labels(added.id)]
                if (episode.success, kind, by, evidence) not in said:
                    self.say(added.id, episode.success, kind, by, evidence)
        return added

    def say(self, id: int, value: bool, kind: str, by: str = "", evidence: str = "") -> Label:
        """Add a statement about an episode's success. Raises NotFound, InvalidInput."""
        label = Label(0, value, kind, by, evidence, self.now())
        with self.write() as db:
            self._require(id)
            number = self._insert_label(db, id, label)
            self._settle(db, id)
        return next(found for found in self.labels(id) if found.id == number)

    def withdraw(self, id: int, label_id: int | None = None, by: str = "", evidence: str = "") -> Label:
        """Take a statement back: the named one, or the one that counts. Raises NotFound when there is none to take."""
        with self.write() as db:
            record = self.get(id)
            standing = {label.id: label for label in self.labels(id) if label.withdrawal is None}
            chosen = record.label if label_id is None else standing.get(label_id)
            if chosen is None:
                wanted = "label" if label_id is None else f"label {label_id}"
                raise NotFound(f"episode {id} has no {wanted} to withdraw; its standing labels are {sorted(standing)}")
            self._insert_withdrawal(db, id, chosen, Withdrawal(by, evidence, self.now()))
            self._settle(db, id)
        return chosen

    def delete(self, id: int) -> tuple[int, ...]:
        """Delete an episode, and with the newest of a run the older ones whose place it took. Raises NotFound."""
        with self.write() as db:
            self._require(id)
            run = [
                found
                for (found,) in db.execute(
                    """SELECT b.id FROM episodes a JOIN episodes b USING (namespace, run_id)
                    WHERE a.namespace = ? AND a.id = ? ORDER BY b.id""",
                    (self.namespace, id),
                )
            ]
            gone = tuple(run) if run and run[-1] == id else (id,)
            self._drop(db, gone)
        return gone

    def delete_expired(self) -> int:
        """Delete what has expired (and is hidden already); how many episodes that were."""
        return self._drop_where("expires_at <= ?", moment_text(self.now()))

    def delete_namespace(self) -> int:
        """Delete every episode of this namespace and all that was derived from it; how many episodes that were."""
        with self.write() as db:
            db.execute("DELETE FROM settings WHERE namespace = ?", (self.namespace,))
            return self._drop_where("1")

    def rebuild(self) -> int:
        """Make everything that recall reads anew from the records, vectors aside, which are dropped for `refresh` to make.

        For an index that is suspected, or was written by other rules; how many episodes that were.
        """
        with self.write() as db:
            ids = self._ids_where("1")
            self._unindex(db, ids)
            for id in ids:
                self._settle(db, id)
            live = [id for (id,) in self.read(*self.selection())]
            for id in live:
                self._index(db, id, self.get(id).episode)
        return len(live)

    def remember(self, key: str, value: str) -> None:
        """Keep a choice of this namespace, such as its encoder."""
        with self.write() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (self.namespace, key, value))

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, id: int) -> Record:
        """The record with this id, superseded or not. Raises NotFound."""
        sql = f"{rows.SELECT_RECORD} WHERE e.namespace = ? AND e.id = ? AND (e.expires_at IS NULL OR e.expires_at > ?)"
        found = self.read(sql, (self.namespace, id, moment_text(self.now())))
        if not found:
            raise self._not_found(id)
        return rows.record_from(found[0])

    def get_many(self, ids: Sequence[int]) -> dict[int, Record]:
        """The records that are there, by id."""
        sql = f"{rows.SELECT_RECORD} WHERE e.namespace = ? AND e.id IN (SELECT value FROM json_each(?))"
        return {row[0]: rows.record_from(row) for row in self.read(sql, (self.namespace, json.dumps(list(ids))))}

    def records(self, where: Filter = Filter(), limit: int | None = None) -> list[Record]:
        """What passes the filter, newest first, at most `limit`; neither superseded nor expired ones."""
        if limit is not None and limit < 0:
            raise InvalidInput(f"limit is {limit}; it needs a number of at least 0, or None for all")
        chosen, parameters = self.selection(where)
        sql = f"{rows.SELECT_RECORD} WHERE e.id IN ({chosen}) ORDER BY e.id DESC LIMIT ?"
        return [rows.record_from(row) for row in self.read(sql, (*parameters, -1 if limit is None else limit))]

    def history(self, after: int = 0, limit: int = 500) -> list[Record]:
        """Records with an id above `after`, superseded ones too, oldest first: what an export walks through."""
        sql = f"""{rows.SELECT_RECORD} WHERE e.namespace = ? AND e.id > ? AND (e.expires_at IS NULL OR e.expires_at > ?)
            ORDER BY e.id LIMIT ?"""
        found = self.read(sql, (self.namespace, after, moment_text(self.now()), limit))
        return [rows.record_from(row) for row in found]

    def count(self, where: Filter = Filter()) -> int:
        """How many episodes pass the filter; neither superseded nor expired ones."""
        chosen, parameters = self.selection(where)
        [(number,)] = self.read(f"SELECT count(*) FROM ({chosen})", parameters)
        return int(number)

    def labels(self, id: int) -> tuple[Label, ...]:
        """Everything that was said of an episode, oldest first, what was withdrawn too. Raises NotFound."""
        self._require(id)
        return tuple(map(rows.label_from, self.read(rows.SELECT_LABELS, (id,))))

    def selection(self, where: Filter = Filter(), *, indexed: bool = False) -> tuple[str, list[Any]]:
        """A query (with its parameters) for the ids that pass the filter, for backends to filter by before they rank.

        More conditions on the row `e` of `episodes` may follow it with AND. `indexed` is for ids that come out of an index,
        where none is superseded: it saves looking.
        """
        return rows.selection(self.namespace, self.now(), where, indexed=indexed)

    def setting(self, key: str) -> str | None:
        """A choice that was kept with `remember`."""
        found = self.read("SELECT value FROM settings WHERE namespace = ? AND key = ?", (self.namespace, key))
        return str(found[0][0]) if found else None

    # -- inside a transaction ------------------------------------------------------------------------------------------

    def _known(self, db: Database, episode: Episode, digest: str, uid: str | None, *, supersede: bool) -> int | None:
        """The id under which this episode is here already; None when it is new and may come in."""
        if uid is None and episode.run_id is None:
            return None
        # An expired one is as good as gone, and must not stand in the way of the same run recorded anew.
        self._drop_where("expires_at <= ? AND (uid = ? OR run_id = ?)", moment_text(self.now()), uid, episode.run_id)
        columns = "SELECT id, digest, situation FROM episodes WHERE namespace = ?"
        for id, other, _ in db.execute(f"{columns} AND uid = ?", (self.namespace, uid)):
            if other != digest:
                raise RunConflict(
                    f"uid {uid!r} is episode {id} already, which says otherwise; it needs a uid of its own"
                )
            return int(id)
        if episode.run_id is None:
            return None
        run = (self.namespace, episode.run_id)
        versions = db.execute(f"{columns} AND run_id = ? ORDER BY id DESC", run).fetchall()
        for id, other, _ in versions:
            if other == digest:
                return int(id)
        if versions and not supersede:
            id, _, situation = versions[0]
            raise RunConflict(
                f"run_id {episode.run_id!r} is episode {id} ({shown(situation)}) already, and this one "
                f"({shown(episode.situation)}) says otherwise; give it another run_id, or supersede=True if the run grew"
            )
        self._unindex(db, [id for id, _, _ in versions])
        return None

    def _free(self, db: Database, wanted: int | None) -> int | None:
        """The wanted id if it can be had, else None, which lets SQLite give the next one."""
        if wanted is None or wanted > _LARGEST_WISH:
            return None
        highest = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'episodes'").fetchall()
        return wanted if wanted > (highest[0][0] if highest else 0) else None

    def _insert(self, db: Database, episode: Episode, row: dict[str, object]) -> int:
        marks = ", ".join("?" * len(row))
        cursor = db.execute(f"INSERT INTO episodes ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        id = int(cursor.lastrowid or 0)
        self._index(db, id, episode)
        return id

    def _index(self, db: Database, id: int, episode: Episode) -> None:
        names = " ".join((*episode.tools, *episode.skills, *episode.tags))
        cut = (" ".join(tokens(text)) for text in (episode.situation, episode.outcome, names))
        db.execute("INSERT INTO terms (rowid, situation, outcome, names) VALUES (?, ?, ?, ?)", (id, *cut))

    def _take_over(self, db: Database, id: int, labels: Iterable[Label]) -> None:
        """Add the statements, and the withdrawals of statements, that the episode does not have yet."""
        if not (labels := tuple(labels)):
            return
        have = {_statement(label): label for label in self.labels(id)}
        for label in labels:
            old = have.get(_statement(label))
            number = self._insert_label(db, id, label) if old is None else old.id
            if label.withdrawal and not (old and old.withdrawal):
                self._insert_withdrawal(db, id, replace(label, id=number), label.withdrawal)
        self._settle(db, id)

    def _insert_label(self, db: Database, id: int, label: Label) -> int:
        row = (id, int(label.value), label.kind, label.by, label.evidence, moment_text(label.at))
        sql = "INSERT INTO labels (episode_id, value, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)"
        return int(db.execute(sql, row).lastrowid or 0)

    def _insert_withdrawal(self, db: Database, id: int, label: Label, withdrawal: Withdrawal) -> None:
        by, evidence = checked_text("by", withdrawal.by), checked_text("evidence", withdrawal.evidence)
        row = (id, label.id, label.kind, by, evidence, moment_text(withdrawal.at))
        db.execute("INSERT INTO labels (episode_id, withdraws, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)", row)

    def _settle(self, db: Database, id: int) -> None:
        db.execute("DELETE FROM verdicts WHERE episode_id = ?", (id,))
        db.execute(rows.INSERT_VERDICT, (id,))

    def _require(self, id: int) -> None:
        if not self.read("SELECT 1 FROM episodes WHERE namespace = ? AND id = ?", (self.namespace, id)):
            raise self._not_found(id)

    def _not_found(self, id: int) -> NotFound:
        return NotFound(f"there is no episode {id} in the namespace {self.namespace!r}")

    def _unindex(self, db: Database, ids: Sequence[int]) -> None:
        """Take episodes out of everything that recall reads."""
        if ids:
            db.conn.executemany("DELETE FROM terms WHERE rowid = ?", [(id,) for id in ids])
            db.conn.executemany("DELETE FROM vectors WHERE episode_id = ?", [(id,) for id in ids])
            sql = "INSERT INTO removals VALUES (?, 1) ON CONFLICT (namespace) DO UPDATE SET count = count + 1"
            db.execute(sql, (self.namespace,))

    def _drop(self, db: Database, ids: Sequence[int]) -> None:
        self._unindex(db, ids)
        db.conn.executemany("DELETE FROM episodes WHERE id = ?", [(id,) for id in ids])

    def _drop_where(self, condition: str, *parameters: object) -> int:
        with self.write() as db:
            ids = self._ids_where(condition, *parameters)
            self._drop(db, ids)
        return len(ids)

    def _ids_where(self, condition: str, *parameters: object) -> list[int]:
        sql = f"SELECT id FROM episodes WHERE namespace = ? AND {condition}"
        return [id for (id,) in self.read(sql, (self.namespace, *parameters))]


def _namespace(name: object) -> str:
    try:
        if checked_text("namespace", name).strip():
            return str(name)
    except InvalidEpisode as error:
        raise InvalidInput(str(error)) from error
    raise InvalidInput("the namespace is blank; it needs a name")


def _statement(label: Label) -> tuple[object, ...]:
    return label.value, label.kind, label.by, label.evidence, label.at
