"""Whether an episode that comes in is new, known already, or in the way of another.

All that can be made ready is made ready before the transaction begins, cutting long texts above all: who waits for the
file should not wait for that. Nothing here commits.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from secrets import token_hex
from typing import NamedTuple

from sqlite_utils import Database

from experience import rows, writing
from experience.episode import Episode, checked_moment, checked_name, moment_text
from experience.errors import RunConflict, shown
from experience.protocols import Label
from experience.wordlists import Words


class Added(NamedTuple):
    """What became of an episode that was handed in."""

    id: int
    new: bool
    """False when it was known already."""


class Unmasked(NamedTuple):
    """How an episode may be here already, from before anything in it was masked. It is compared, not stored."""

    digest: str
    uid: str | None = None


class Newcomer(NamedTuple):
    """An episode that asks to be let in, with its row and its index's."""

    episode: Episode
    namespace: str
    uid: str | None
    """The uid that was given; None when it gets a new one."""
    row: dict[str, object]
    words: Words
    labels: Sequence[Label] = ()
    """What is said of it, for `admit_all`."""
    id: int | None = None
    """The id that it would like to have."""
    unmasked: Unmasked | None = None

    @property
    def uids(self) -> tuple[str, ...]:
        """Those that it may be here under."""
        return tuple(uid for uid in (self.uid, self.unmasked and self.unmasked.uid) if uid is not None)


class Taken(NamedTuple):
    """Names in a namespace that newcomers cannot have as if nobody had them, expired episodes' too."""

    uids: set[str]
    run_ids: set[str]

    def stand_in_the_way_of(self, new: Newcomer) -> bool:
        """Whether it has to be looked at by itself."""
        return not self.uids.isdisjoint(new.uids) or new.episode.run_id in self.run_ids

    def add(self, new: Newcomer) -> None:
        """Those of one that was let in."""
        self.uids.update(new.uids)
        if new.episode.run_id is not None:
            self.run_ids.add(new.episode.run_id)


def prepare(
    namespace: str,
    episode: Episode,
    uid: str | None,
    recorded_at: datetime,
    expires_at: datetime | None,
    *,
    labels: Sequence[Label] = (),
    id: int | None = None,
    unmasked: Unmasked | None = None,
) -> Newcomer:
    """Check and cut everything. Raises InvalidInput for a blank uid and for naive times."""
    row = rows.columns_of(episode)
    row["namespace"] = namespace
    row["uid"] = token_hex(16) if uid is None else checked_name("uid", uid)
    row["recorded_at"] = moment_text(checked_moment("recorded_at", recorded_at))
    row["expires_at"] = None if expires_at is None else moment_text(checked_moment("expires_at", expires_at))
    return Newcomer(episode, namespace, uid, row, writing.words_of(episode), labels, id, unmasked)


def taken(db: Database, namespace: str, newcomers: Sequence[Newcomer]) -> Taken:
    """Which of the newcomers' names are there already."""
    found = []
    for column, names in (
        ("uid", [uid for new in newcomers for uid in new.uids]),
        ("run_id", [new.episode.run_id for new in newcomers]),
    ):
        sql = f"SELECT {column} FROM episodes WHERE namespace = ? AND {column} IN (SELECT value FROM json_each(?))"
        wanted = json.dumps([name for name in names if name is not None], ensure_ascii=False)
        found.append({name for (name,) in db.execute(sql, (namespace, wanted))})
    return Taken(*found)


def admit_all(db: Database, namespace: str, newcomers: Sequence[Newcomer], now: datetime) -> list[int]:
    """Insert a namespace's newcomers with their labels, none of whose names are taken, nor had by two of them; their ids, ascending.

    It does what `admit` does, in statements for all of them.
    """
    ids = writing.insert_episodes(
        db, [new.row for new in newcomers], [new.words for new in newcomers], [new.id for new in newcomers]
    )
    writing.insert_first_labels(db, [(id, new.labels) for id, new in zip(ids, newcomers, strict=True) if new.labels])
    run_ids = [run_id for new in newcomers if (run_id := new.episode.run_id) is not None]
    writing.note_told(db, namespace, run_ids, now)
    return ids


def admit(db: Database, new: Newcomer, now: datetime, *, supersede: bool, supersedes: str | None = None) -> Added:
    """Insert it, unless it is known; what its run was told is noted. Its labels are the caller's part. Raises RunConflict."""
    added = _admitted(db, new, now, supersede=supersede, supersedes=supersedes)
    if new.episode.run_id is not None:
        writing.note_told(db, new.namespace, [new.episode.run_id], now)
    return added


def _admitted(db: Database, new: Newcomer, now: datetime, *, supersede: bool, supersedes: str | None) -> Added:
    run_id = new.episode.run_id
    if new.uid is not None or run_id is not None:
        # An expired one is as good as gone, and must not stand in the way of the same run recorded anew.
        uids = json.dumps(new.uids, ensure_ascii=False)
        writing.drop_expired(
            db, new.namespace, now, "(uid IN (SELECT value FROM json_each(?)) OR run_id = ?)", uids, run_id
        )
    if (known := _known(db, new)) is not None:
        return Added(known, new=False)
    if run_id is not None and (newest := _newest(db, new, "run_id = ?", run_id)):
        if not supersede and supersedes != newest.uid:
            raise RunConflict(
                f"run_id {shown(run_id)} is episode {newest.id} ({shown(newest.situation)}) already, and this one "
                f"({shown(new.episode.situation)}) differs from it in what it says; give it another run_id, or supersede the "
                "older one if the run grew"
            )
        writing.unindex(db, new.namespace, [newest.id])
    [id] = writing.insert_episodes(db, [new.row], [new.words], [new.id])
    return Added(id, new=True)


class _Found(NamedTuple):
    id: int
    uid: str
    digest: str
    situation: str


def _known(db: Database, new: Newcomer) -> int | None:
    """The id under which a record is here already. Raises RunConflict when its uid is another one's."""
    digests = [new.row["digest"], *([new.unmasked.digest] if new.unmasked else ())]
    for uid in new.uids:
        found = _newest(db, new, "uid = ?", uid)
        if found is None:
            continue
        if found.digest not in digests:
            raise RunConflict(
                f"this uid is episode {found.id} ({shown(found.situation)}) already, which says otherwise; it needs a uid of "
                "its own"
            )
        return found.id
    same = [_newest(db, new, "run_id = ? AND digest = ?", new.episode.run_id, digest) for digest in digests]
    return next((one.id for one in same if one), None)


def _newest(db: Database, new: Newcomer, condition: str, *parameters: object) -> _Found | None:
    sql = (
        f"SELECT id, uid, digest, situation FROM episodes WHERE namespace = ? AND {condition} ORDER BY id DESC LIMIT 1"
    )
    row = db.execute(sql, (new.namespace, *parameters)).fetchone()
    return _Found(*row) if row else None
