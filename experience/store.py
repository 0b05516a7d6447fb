"""Where episodes live: one SQLite file, rows as the truth, everything else derived from them.

A `SqliteStore` is bound to one namespace when it is made, so that no query can forget it. Every write is one
`BEGIN IMMEDIATE` transaction, in which the keyword index follows; vectors are pulled later by the backend that wants
them. Episodes and labels are only ever added or deleted, never changed. The store ranks nothing and knows no encoder.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experience import postings, rows, writing
from experience.admission import Added, Unmasked, admit, prepare
from experience.episode import Episode, checked_name, checked_text, moment_text
from experience.errors import InvalidInput, NotFound
from experience.masking import distinct
from experience.protocols import Filter, Label, Record, Withdrawal
from experience.sqlite_file import SqliteFile

_TABLES_OF_A_NAMESPACE = (
    "settings", "removals", "names", "spaces", "skill_versions", "skill_drafts", "skill_attempts", "receipts", "tellings", "learnings", "tombstones",
)  # fmt: skip


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
        self.namespace = checked_name("namespace", namespace)
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
        supersedes: str | None = None,
        labels: Iterable[Label] = (),
        uid: str | None = None,
        id: int | None = None,
        recorded_at: datetime | None = None,
        expires_at: datetime | None = None,
    ) -> Added:
        """Add an episode, and what was said of it; `episode.success` itself is no statement and is not kept.

        Known already, and so not added again, is an episode with the same `uid`, or with the same `run_id` and the same
        content; statements that are new are still taken over. Other content under the same run_id raises RunConflict,
        unless `supersede`, or unless the newest version of the run has the uid `supersedes`: then it takes the older ones'
        place. A wished-for `id` is given when it is above every id that this file has ever given. Raises InvalidInput.
        """
        new = prepare(self.namespace, episode, uid, recorded_at or self.now(), expires_at, id=id)
        with self.write() as db:
            added = admit(db, new, self.now(), supersede=supersede, supersedes=supersedes)
            if labels := tuple(labels):
                writing.insert_missing_labels(db, added.id, self.labels(added.id), labels)
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
        unmasked: Unmasked | None = None,
    ) -> Added:
        """Add an episode and, when it says success or failure, that as a label; one that was given before is not repeated.

        As `add`, and raises InvalidInput for a label that cannot be. With `unmasked`, an episode that was recorded before
        this one was masked is known too.
        """
        now = self.now()  # one moment for all of it: as of then, the run and what was said of it are both known
        new = prepare(self.namespace, episode, uid, now, expires_at, unmasked=unmasked)
        label = None if episode.success is None else Label(0, episode.success, kind, by, evidence, now)
        with self.write() as db:
            added = admit(db, new, now, supersede=supersede)
            if label is not None and (added.new or not _was_said(label, self.labels(added.id))):
                writing.insert_label(db, added.id, label)
                writing.settle(db, added.id)
        return added

    def add_label(self, id: int, value: bool, kind: str, by: str = "", evidence: str = "") -> Label:
        """Add a statement about an episode's success. Raises NotFound, InvalidInput."""
        label = Label(0, value, kind, by, evidence, self.now())
        with self.write() as db:
            self._require(id)
            number = writing.insert_label(db, id, label)
            writing.settle(db, id)
            return next(found for found in self.labels(id) if found.id == number)

    def withdraw(self, id: int, label_id: int | None = None, by: str = "", evidence: str = "") -> Label:
        """Take a statement back: the named one, or the one that counts. The statement, as withdrawn.

        Raises NotFound when there is none to take.
        """
        with self.write() as db:
            record = self.get(id)
            standing = {label.id: label for label in self.labels(id) if label.withdrawal is None}
            chosen = record.label if label_id is None else standing.get(label_id)
            if chosen is None:
                wanted = "label" if label_id is None else f"label {label_id}"
                raise NotFound(f"episode {id} has no {wanted} to withdraw; its standing labels are {sorted(standing)}")
            writing.insert_withdrawal(db, id, chosen.id, chosen.kind, Withdrawal(by, evidence, self.now()))
            writing.settle(db, id)
            return next(found for found in self.labels(id) if found.id == chosen.id)

    def delete(self, *ids: int) -> tuple[int, ...]:
        """Delete episodes, and with the newest of a run the older ones whose place it took; the ids that went, ascending.

        All of them or, when one is not there, none. Raises NotFound.
        """
        with self.write() as db:
            for id in ids:
                self._require(id, expired=True)
            gone = writing.with_older_versions(db, self.namespace, ids)
            writing.drop(db, self.namespace, gone, self.now())
        return tuple(gone)

    def delete_expired(self) -> int:
        """Delete what has expired (and is hidden already), with the older versions of its runs; how many records."""
        with self.write() as db:
            return writing.drop_expired(db, self.namespace, self.now())

    def delete_namespace(self) -> int:
        """Delete every record of this namespace and all that was derived from it; how many records."""
        with self.write() as db:
            ids = self._ids_where("1")
            postings.clear(db, self.namespace)  # all at once: word by word would take longer
            writing.drop(db, self.namespace, ids, self.now())
            for table in _TABLES_OF_A_NAMESPACE:
                db.execute(f"DELETE FROM {table} WHERE namespace = ?", (self.namespace,))
        return len(ids)

    def rebuild(self) -> int:
        """Make everything that recall reads anew from the records; vectors are dropped, for `refresh` to make.

        For an index that is suspected, or was written by other rules; how many episodes are in it.
        """
        with self.write() as db:
            ids = self._ids_where("1")
            postings.clear(db, self.namespace)
            writing.unindex(db, self.namespace, ids)
            for id in ids:
                writing.settle(db, id)
            live = [id for (id,) in self.read(*self.selection())]
            for id in live:
                writing.index(db, self.namespace, id, writing.words_of(self.get(id).episode))
        return len(live)

    def set_setting(self, key: str, value: str) -> None:
        """Keep a choice of this namespace, such as its encoder."""
        with self.write() as db:
            row = (self.namespace, checked_text("key", key), checked_text("value", value))
            db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", row)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, id: int) -> Record:
        """The record with this id, superseded or not. Raises NotFound."""
        if found := self.get_many([id]):
            return found[id]
        raise self._not_found(id)

    def get_run(self, run_id: str) -> Record:
        """The newest record of this run. Raises NotFound."""
        names = checked_text("run_id", run_id), distinct(run_id)  # a token in it was masked when the run was recorded
        ids = self._ids_where("run_id IN (?, ?) ORDER BY id DESC LIMIT 1", *names)
        if not ids:
            raise NotFound(f"there is no run {run_id!r} in the namespace {self.namespace!r}")
        return self.get(ids[0])

    def get_many(self, ids: Sequence[int]) -> dict[int, Record]:
        """Those of the records that are there and have not expired, by id."""
        # The plus makes SQLite find them by id alone, not in an index of the namespace first.
        sql = f"""{rows.SELECT_RECORD} WHERE +e.namespace = ? AND (e.expires_at IS NULL OR e.expires_at > ?)
            AND e.id IN (SELECT value FROM json_each(?))"""
        found = self.read(sql, (self.namespace, moment_text(self.now()), json.dumps(list(ids))))
        return {row[0]: rows.record_from(row) for row in found}

    def records(self, where: Filter = Filter(), limit: int | None = None) -> list[Record]:
        """What passes the filter, newest first, at most `limit`; neither superseded nor expired ones."""
        if limit is not None and limit < 0:
            raise InvalidInput(f"limit is {limit}; it needs a number of at least 0, or None for all")
        chosen, parameters = self.selection(where)
        sql = f"{rows.SELECT_RECORD} WHERE e.id IN ({chosen}) ORDER BY e.id DESC LIMIT ?"
        return [rows.record_from(row) for row in self.read(sql, (*parameters, -1 if limit is None else limit))]

    def history(self, after: int = 0, limit: int = 500) -> list[tuple[Record, tuple[Label, ...]]]:
        """Records with an id above `after` and all their labels, superseded ones too, oldest first: one page of an export."""
        # An expired run is gone with its older versions.
        sql = """id > ? AND (expires_at IS NULL OR expires_at > ?) AND NOT EXISTS (
            SELECT 1 FROM episodes newest WHERE newest.namespace = episodes.namespace AND newest.run_id = episodes.run_id
            AND newest.expires_at <= ? AND newest.id = (
                SELECT max(id) FROM episodes v WHERE v.namespace = episodes.namespace AND v.run_id = episodes.run_id))
            ORDER BY id LIMIT ?"""
        now = moment_text(self.now())
        with self.alone():
            ids = self._ids_where(sql, after, now, now, limit)
            records, labels = self.get_many(ids), self._labels_of(ids)
        return [(records[id], tuple(labels.get(id, ()))) for id in ids if id in records]

    def count(self, where: Filter = Filter()) -> int:
        """How many episodes pass the filter; neither superseded nor expired ones."""
        chosen, parameters = self.selection(where)
        [(number,)] = self.read(f"SELECT count(*) FROM ({chosen})", parameters)
        return int(number)

    def indexed(self) -> int:
        """How many episodes can be recalled by the index's own account, which expired ones still belong to; without counting."""
        space = "SELECT number FROM word_spaces WHERE namespace = ?"
        sql = f"SELECT coalesce(sum(living), 0), coalesce(max(first + room), 0) FROM segments WHERE space = ({space})"
        [(living, end)] = self.read(sql, (self.namespace,))
        sql = f"SELECT count(*) FROM words WHERE space = ({space}) AND position >= ?"
        return int(living) + int(self.read(sql, (self.namespace, end))[0][0])

    def total(self) -> int:
        """How many records there are, superseded and expired ones too."""
        [(number,)] = self.read("SELECT count(*) FROM episodes WHERE namespace = ?", (self.namespace,))
        return int(number)

    def labels(self, id: int) -> tuple[Label, ...]:
        """Everything that was said of an episode, oldest first, what was withdrawn too. Raises NotFound."""
        self._require(id)
        return tuple(self._labels_of([id]).get(id, ()))

    def selection(self, where: Filter = Filter(), *, indexed: bool = False) -> tuple[str, list[Any]]:
        """A query (with its parameters) for the ids that pass the filter, for backends to filter by before they rank.

        More conditions on the row `e` of `episodes` may follow it with AND. `indexed` is for ids that come out of an index,
        where none is superseded: it saves looking.
        """
        return rows.selection(self.namespace, self.now(), where, indexed=indexed)

    def setting(self, key: str) -> str | None:
        """A choice that was kept with `set_setting`."""
        found = self.read("SELECT value FROM settings WHERE namespace = ? AND key = ?", (self.namespace, key))
        return str(found[0][0]) if found else None

    def removals(self) -> int:
        """A stamp that is another once anything has gone from what recall reads of this namespace; 0 before that."""
        found = self.read("SELECT stamp FROM removals WHERE namespace = ?", (self.namespace,))
        return int(found[0][0]) if found else 0

    # -- looking things up -----------------------------------------------------------------------------------------------

    def _labels_of(self, ids: Sequence[int]) -> dict[int, list[Label]]:
        found: dict[int, list[Label]] = {}
        for episode_id, *row in self.read(rows.SELECT_LABELS, (json.dumps(list(ids)),)):
            found.setdefault(episode_id, []).append(rows.label_from(row))
        return found

    def _require(self, id: int, *, expired: bool = False) -> None:
        """Raise NotFound unless there is such a record; with `expired`, an expired one will do."""
        after = "" if expired else moment_text(self.now())
        if not self._ids_where("id = ? AND (expires_at IS NULL OR expires_at > ?)", id, after):
            raise self._not_found(id)

    def _not_found(self, id: int) -> NotFound:
        return NotFound(f"there is no episode {id} in the namespace {self.namespace!r}")

    def _ids_where(self, condition: str, *parameters: object) -> list[int]:
        sql = f"SELECT id FROM episodes WHERE namespace = ? AND {condition}"
        return [id for (id,) in self.read(sql, (self.namespace, *parameters))]


def unmasked(told: Episode, clean: Episode, uid: str | None = None) -> Unmasked | None:
    """How an episode may be here from before it was masked; None where nothing was. `uid` is the one it would have."""
    return None if told is clean else Unmasked(rows.digest_of(told), uid)


def _was_said(label: Label, before: Iterable[Label]) -> bool:
    """Whether the same was said by the same for the same reason, whenever that was and even if it was withdrawn."""
    return any(
        (label.value, label.kind, label.by, label.evidence) == (old.value, old.kind, old.by, old.evidence)
        for old in before
    )
