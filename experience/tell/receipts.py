"""Receipts: what each run was told, so that "what did it know when it did that?" has an answer.

A receipt is kept under the run's own name, before the run begins; the run's episode is recorded under the same name later,
and that is what ties them. It holds a hash of the text and, by number, what went in; never the text, so that deleting a run
deletes its words everywhere. A learning that a receipt names ages when the run is recorded, and not before.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from experience import writing
from experience.episode import checked_name, moment_from, moment_text
from experience.errors import NotFound, shown
from experience.masking import distinct
from experience.store import SqliteStore
from experience.tell.brief import Brief
from experience.tell.compose import Payload
from experience.tell.contents import Contents, text_hash
from experience.tracing import Run


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a run was told, at one time."""

    id: int
    run_id: str
    agent: str
    hash: str
    """SHA-256 of what the run was told, as UTF-8, in hexadecimal."""
    bytes: int
    contents: Contents
    parts: tuple[dict[str, Any], ...]
    """The sections of the payload with their sizes and what was cut of them; empty where only a brief was told."""
    at: datetime

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "receipt": self.id,
            "run_id": self.run_id,
            "agent": self.agent,
            "hash": self.hash,
            "bytes": self.bytes,
            "at": moment_text(self.at),
            **self.contents.to_json(),
            "parts": list(self.parts),
        }


_LONGEST_ID = 19  # digits that a number in SQLite has


def keep_receipt(run: Run, told: Payload | Brief) -> Receipt:
    """Keep what a run of a `Recorder` is told; a run that has no name of its own gets one, to be tied to it by."""
    run.run_id = run.run_id or f"run-{uuid.uuid4().hex}"
    return Receipts(run.memory.store).add(run.run_id, told)


class Receipts:
    """The receipts of one store and namespace."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    def add(self, run_id: str, told: Payload | Brief) -> Receipt:
        """Keep what a run is told; the same text for the same run again is the same receipt.

        What it tells counts as told when the run is recorded, or now if it has been. Raises InvalidInput for a blank run_id.
        """
        parts = told.parts_json() if isinstance(told, Payload) else []
        data = {**told.contents.to_json(), "parts": parts}
        row = (
            self.store.namespace, distinct(checked_name("run_id", run_id)), told.agent, text_hash(told.text),
            len(told.text.encode()), json.dumps(data, ensure_ascii=False), moment_text(self.store.now()),
        )  # fmt: skip
        with self.store.write() as db:
            sql = "INSERT OR IGNORE INTO receipts (namespace, run_id, agent, hash, bytes, contents, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
            db.execute(sql, row)
            if db.execute("SELECT 1 FROM episodes WHERE namespace = ? AND run_id = ?", row[:2]).fetchone():
                writing.note_told(db, self.store.namespace, [row[1]], self.store.now())
            return next(one for one in self.of_run(run_id) if one.hash == row[3])

    def of_run(self, run_id: str) -> list[Receipt]:
        """What a run was told, oldest first."""
        sql = """SELECT id, run_id, agent, hash, bytes, contents, at FROM receipts
            WHERE namespace = ? AND run_id = ? ORDER BY id"""
        return [_receipt_from(row) for row in self.store.read(sql, (self.store.namespace, distinct(run_id)))]

    def of(self, run: str) -> list[Receipt]:
        """The same for a run by its own name or, where no run is called so, by its episode's id. Raises NotFound."""
        found = self.of_run(run)
        if not found and run.isdecimal() and len(run) < _LONGEST_ID:
            record = self.store.get(int(run))
            found = self.of_run(record.episode.run_id) if record.episode.run_id is not None else []
        if not found:
            raise NotFound(
                f"there is no receipt of a run {shown(run)}: it was told nothing under its run_id (experience compose "
                "--run-id, experience brief --run-id), or it was deleted"
            )
        return found


def _receipt_from(row: Sequence[Any]) -> Receipt:
    id, run_id, agent, hash, size, contents, at = row
    data = json.loads(contents)
    return Receipt(id, run_id, agent, hash, size, Contents.from_json(data), tuple(data["parts"]), moment_from(at, "at"))
