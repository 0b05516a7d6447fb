"""Episodes into and out of JSON Lines, so that a store can move, be backed up, be merged, and lose nothing.

A line (`experience.lines`) without the key `hardwon` comes from elsewhere and is recorded as new. That key is believed:
whoever reads a stranger's file says `foreign`, and it is not. Reading a file twice records it once: a line is known again
by its uid, by its run_id, or else by its content and how often it stood in the file before. Lines are read, checked and cut
many at a time, and written in one transaction.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from experience.admission import Added, Newcomer, admit_all, prepare, taken
from experience.echoes import STRIPPED, without_recalled
from experience.episode import Episode, moment_text
from experience.errors import InvalidEpisode, InvalidInput, RunConflict, StoreError
from experience.hygiene import MASKING, Masking
from experience.lines import KEY, beside, content_uid, line_of, parsed
from experience.protocols import Label, Record
from experience.store import SqliteStore, unmasked
from experience.text import parse, parse_founding

_BLANK = b" \t\r\n\xef\xbb\xbf"  # white space and the byte order mark
_BATCH = 1_250  # lines in a transaction; what a kill can cost, and is read again
# Characters of a batch from which on it is whole: a few long lines are as much as many short ones.
_LARGEST_BATCH = 4_000_000
_SELECT_PLACES = """
    SELECT e.id, o.uid FROM episodes e JOIN episodes o ON o.id = (
        SELECT max(id) FROM episodes v WHERE v.namespace = e.namespace AND v.run_id = e.run_id AND v.id < e.id
        AND (v.expires_at IS NULL OR v.expires_at > ?))
    WHERE e.id IN (SELECT value FROM json_each(?)) AND e.run_id IS NOT NULL
"""


class BadLine(NamedTuple):
    """A line that was not taken, by its number from 1, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    new: int = 0
    known: int = 0
    """Episodes that were here already; labels that were new were still taken."""
    stripped: int = 0
    """Recalled blocks that were taken out (see `experience.recalled`)."""
    masked: Mapping[str, int] = field(default_factory=dict)
    """Secrets and personal values that were masked (see `experience.hygiene`), by kind."""
    bad: tuple[BadLine, ...] = ()
    guesses: tuple[str, ...] = ()
    """What a lenient reading of text had to guess."""


def export_lines(store: SqliteStore) -> Iterator[str]:
    """One line a record of the store's namespace, superseded ones too, oldest first, without the line end.

    Expired records are left out. A record that another process adds or deletes meanwhile may or may not be among them.
    """
    for record, labels, supersedes in exported(store):
        yield json.dumps(line_of(record, labels, supersedes), ensure_ascii=False)


def exported(store: SqliteStore) -> Iterator[tuple[Record, tuple[Label, ...], str | None]]:
    """What an export holds of each record: itself, all its labels, and the uid of the version whose place it took.

    In the order of `export_lines`, some hundred in memory at a time.
    """
    last = 0
    while page := store.history(after=last):
        parameters = (moment_text(store.now()), json.dumps([record.id for record, _ in page]))
        places: dict[int, str] = dict(store.read(_SELECT_PLACES, parameters))
        for record, labels in page:
            yield record, labels, places.get(record.id)
        if page[-1][0].id <= last:
            raise StoreError(f"{store.path} is damaged: ids do not ascend; restore it from a copy or an export")
        last = page[-1][0].id


def import_lines(
    store: SqliteStore,
    lines: Iterable[bytes | str],
    *,
    strict: bool = False,
    foreign: bool = False,
    supersede: bool = False,
    kind: str = "host",
    by: str = "import",
    masking: Masking = MASKING,
) -> Imported:
    """Record what stands in JSON Lines (UTF-8, blank lines skipped).

    A bad line is left out and reported; with `strict` the first one raises InvalidEpisode and nothing at all is recorded.
    A success stated by a line from elsewhere becomes a label of class `kind` by `by`; with `foreign` every line is from
    elsewhere, and what it says under the key `hardwon` is not believed. `supersede` lets a line take the place of
    another episode with its run_id. Lines from elsewhere are masked as `masking` says; those of our own export are what a
    store held already, and come back byte for byte.
    """
    Label(0, True, kind, by, "", store.now())  # refused at once, not at every line
    reader = _Reader(store, foreign=foreign, supersede=supersede, kind=kind, by=by, masking=masking)
    if not strict:
        for batch in _batches(lines):
            reader.take(batch)
        return reader.done()
    waiting = list(lines)  # all of it before the transaction: nobody is to wait for a slow source
    with store.write():
        for batch in _batches(waiting):
            reader.take(batch)
            for bad in reader.done().bad:
                raise InvalidEpisode(f"line {bad.number}: {bad.reason}; nothing of it was imported")
    return reader.done()


def import_file(
    store: SqliteStore,
    file: Iterator[bytes],
    *,
    lenient: bool = False,
    strict: bool = False,
    foreign: bool = False,
    supersede: bool = False,
    kind: str = "host",
    masking: Masking = MASKING,
) -> Imported:
    """Record what stands in a file, open or as its lines: the one episode of a stable text, or JSON Lines (see `import_lines`).

    With `lenient`, text that is not the stable one is read by `parse_founding`. With `strict` the first thing wrong raises
    InvalidEpisode and nothing of the file is recorded.
    """
    head: list[bytes] = []
    for line in file:
        head.append(line)
        if line.strip(_BLANK):
            break
    start = head[-1].lstrip(_BLANK) if head else b""
    if lenient and not start.startswith((b"{", b"Situation:")):
        head += file  # the text may begin further down
    if not start.startswith(b"Situation:") and not (lenient and any(line.startswith(b"Situation: ") for line in head)):
        how: dict[str, Any] = {"strict": strict, "foreign": foreign, "supersede": supersede, "kind": kind}
        return import_lines(store, chain(head, file), masking=masking, **how)
    try:
        return _import_text(store, b"".join(chain(head, file)), lenient=lenient, kind=kind, masking=masking)
    except (InvalidEpisode, UnicodeDecodeError) as error:
        if strict:
            raise InvalidEpisode(f"{error}; nothing of it was imported") from error
        return Imported(bad=(BadLine(1, str(error)),))


def _import_text(store: SqliteStore, data: bytes, *, lenient: bool, kind: str, masking: Masking) -> Imported:
    text = data.decode("utf-8-sig").lstrip("\n\r")
    episode, guesses = _read_text(text, lenient=lenient)
    told = without_recalled(episode)
    clean, counts = masking.episode(told)
    uid, older = _text_uid(episode if clean is told else clean), unmasked(told, clean, _text_uid(episode))
    added = store.record(clean, uid=uid, kind=kind, by="import", unmasked=older)
    return Imported(int(added.new), int(not added.new), _stripped(episode, told), dict(counts), guesses=guesses)


def _text_uid(episode: Episode) -> str:
    return "text-" + hashlib.sha256(episode.with_success(None).render().encode()).hexdigest()[:32]


class _Ready(NamedTuple):
    """A line that was read and cut, and how to record it where it meets others."""

    number: int
    new: Newcomer
    stripped: int
    masked: Counter[str]
    record: Callable[[], Added]


class _Reader:
    """Takes lines, many at a time, and counts."""

    def __init__(
        self, store: SqliteStore, *, foreign: bool, supersede: bool, kind: str, by: str, masking: Masking
    ) -> None:
        self._store = store
        self._masking = masking
        self._masked: Counter[str] = Counter()
        self._foreign = foreign
        self._how: dict[str, Any] = {"supersede": supersede, "kind": kind, "by": by}
        self._seen: Counter[str] = Counter()
        self._counts = {"new": 0, "known": 0, "stripped": 0}
        self._bad: list[BadLine] = []

    def take(self, lines: Iterable[tuple[int, bytes | str]]) -> None:
        """Record lines, each with its number, in their order and in one transaction; bad ones are left out and noted.

        Those that meet nobody are written together; one that has a name of another, here or further up, by itself.
        """
        now = self._store.now()
        ready = [one for number, line in lines if line.strip() and (one := self._ready(number, line, now))]
        with self._store.write() as db:
            names = taken(db, self._store.namespace, [line.new for line in ready])
            alone: list[Newcomer] = []
            for line in ready:
                if names.stand_in_the_way_of(line.new):
                    admit_all(db, self._store.namespace, alone, now)
                    alone = []
                    self._record(line)
                else:
                    alone.append(line.new)
                    self._counts["new"] += 1
                    self._counts["stripped"] += line.stripped
                    self._masked += line.masked
                names.add(line.new)
            admit_all(db, self._store.namespace, alone, now)

    def done(self) -> Imported:
        """What was done so far."""
        counts = self._counts
        return Imported(
            counts["new"], counts["known"], counts["stripped"], dict(self._masked), tuple(sorted(self._bad))
        )

    def _record(self, line: _Ready) -> None:
        try:
            added = line.record()
        except (InvalidInput, RunConflict) as error:
            self._bad.append(BadLine(line.number, str(error)))
            return
        self._counts["new" if added.new else "known"] += 1
        self._counts["stripped"] += line.stripped
        self._masked += line.masked

    def _ready(self, number: int, line: bytes | str, now: datetime) -> _Ready | None:
        try:
            return self._read(number, parsed(line), now)
        except InvalidInput as error:
            self._bad.append(BadLine(number, str(error)))
            return None

    def _read(self, number: int, data: dict[str, Any], now: datetime) -> _Ready:
        store, ours = self._store, data.get(KEY)
        exported = ours if isinstance(ours, dict) and "uid" in ours else None
        own = data if exported is None else {key: value for key, value in data.items() if key != KEY}
        episode = Episode.from_json(own)
        if exported is not None and not self._foreign:
            how = beside(exported)
            names = how["uid"], how["recorded_at"], how["expires_at"]
            new = prepare(store.namespace, episode, *names, labels=how["labels"], id=how["id"])
            return _Ready(number, new, 0, Counter(), partial(store.add, episode, **how))
        told = without_recalled(episode)
        clean, counts = self._masking.episode(told)
        uid = None if episode.run_id else content_uid(data, self._seen)
        older = unmasked(told, clean, uid)
        if (
            uid is not None and older is not None
        ):  # a hash of the line as it came would let who guesses the secret check it
            uid = content_uid(clean.to_json(), self._seen)
        says = clean.success is not None
        labels = [Label(0, clean.succeeded, self._how["kind"], self._how["by"], "", now)] if says else []
        new = prepare(store.namespace, clean, uid, now, None, labels=labels, unmasked=older)
        record = partial(store.record, clean, uid=uid, unmasked=older, **self._how)
        return _Ready(number, new, _stripped(episode, told), counts, record)


def _read_text(text: str, *, lenient: bool) -> tuple[Episode, tuple[str, ...]]:
    """The episode and what was guessed; nothing needs guessing in text that is strictly right."""
    try:
        return parse(text), ()
    except InvalidEpisode:
        if not lenient:
            raise
    return parse_founding(text)


def _batches(lines: Iterable[bytes | str]) -> Iterator[list[tuple[int, bytes | str]]]:
    batch: list[tuple[int, bytes | str]] = []
    size = 0
    for number, line in enumerate(lines, 1):
        batch.append((number, line))
        size += len(line)
        if len(batch) == _BATCH or size >= _LARGEST_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _stripped(before: Episode, after: Episode) -> int:
    return 0 if after is before else int(after.meta[STRIPPED])
