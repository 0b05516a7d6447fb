"""Episodes into and out of JSON Lines, so that a store can move, be backed up, be merged, and lose nothing.

A line is an episode's JSON (`Episode.to_json`). What the store knows beside it (uid, id, times, every label, withdrawn ones
too) stands under one key, `hardwon`, so that it collides with nobody's own keys; a line without that key comes from
elsewhere and is recorded as new. Reading a file twice records it once: a line is known again by its uid, by its run_id,
or else by its content and how often it stood in the file before.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from experience.episode import Episode, checked_text, moment_from, moment_text
from experience.errors import InvalidEpisode, InvalidInput, RunConflict
from experience.protocols import Label, Record, Withdrawal
from experience.recalled import STRIPPED, without_recalled
from experience.store import Added, SqliteStore
from experience.text import parse, parse_founding

KEY = "hardwon"
_BLANK = b" \t\r\n\xef\xbb\xbf"  # white space and the byte order mark
_BATCH = 500  # lines in a transaction; what a kill can cost, and is read again


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
    bad: tuple[BadLine, ...] = ()
    guesses: tuple[str, ...] = ()
    """What a lenient reading of text had to guess."""

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(
            self.new + other.new,
            self.known + other.known,
            self.stripped + other.stripped,
            self.bad + other.bad,
            self.guesses + other.guesses,
        )


def export_lines(store: SqliteStore) -> Iterator[str]:
    """One line a record of the store's namespace, superseded ones too, oldest first, without the line end."""
    last = 0
    versions: dict[str, str] = {}
    while page := store.history(after=last):
        for record in page:
            run_id = record.episode.run_id
            yield json.dumps(_line(record, store.labels(record.id), versions.get(run_id or "")), ensure_ascii=False)
            if run_id is not None:
                versions[run_id] = record.uid
        last = page[-1].id


def import_lines(
    store: SqliteStore,
    lines: Iterable[bytes],
    *,
    strict: bool = False,
    supersede: bool = False,
    kind: str = "host",
    by: str = "import",
) -> Imported:
    """Record what stands in JSON Lines (UTF-8, blank lines skipped).

    A bad line is left out and reported; with `strict` the first one raises InvalidEpisode and nothing at all is recorded.
    A success stated by a line from elsewhere becomes a label of class `kind` by `by`. `supersede` lets a line take the
    place of another episode with its run_id.
    """
    numbered = enumerate(lines, 1)
    seen: Counter[str] = Counter()
    done = Imported()

    def take(batch: Iterable[tuple[int, bytes]]) -> None:
        nonlocal done
        for number, line in batch:
            if not line.strip():
                continue
            try:
                done += _import(store, _parsed(line), seen, supersede=supersede, kind=kind, by=by)
            except (InvalidEpisode, InvalidInput, RunConflict) as error:
                if strict:
                    raise InvalidEpisode(f"line {number}: {error}; nothing was imported") from error
                done += Imported(bad=(BadLine(number, str(error)),))

    if strict:
        with store.write():
            take(numbered)
    else:
        while batch := list(islice(numbered, _BATCH)):
            with store.write():
                take(batch)
    return done


def import_file(
    store: SqliteStore,
    file: IO[bytes],
    *,
    lenient: bool = False,
    strict: bool = False,
    supersede: bool = False,
    kind: str,
) -> Imported:
    """Record what stands in a file: the one episode of a stable text, or JSON Lines (see `import_lines`).

    With `lenient`, text of the founding format is read too (see `experience.text.parse_founding`).
    """
    head: list[bytes] = []
    for line in file:
        head.append(line)
        if line.strip(_BLANK):
            break
    start = head[-1].lstrip(_BLANK) if head else b""
    if not start.startswith(b"Situation:") and not (lenient and not start.startswith(b"{")):
        return import_lines(store, chain(head, file), strict=strict, supersede=supersede, kind=kind)
    try:
        return _import_text(store, b"".join(chain(head, file)), lenient=lenient, kind=kind)
    except (InvalidEpisode, UnicodeDecodeError) as error:
        if strict:
            raise InvalidEpisode(f"{error}; nothing was imported") from error
        return Imported(bad=(BadLine(1, str(error)),))


def _import_text(store: SqliteStore, data: bytes, *, lenient: bool, kind: str) -> Imported:
    text = data.decode("utf-8-sig").lstrip("\n\r")
    episode, guesses = parse_founding(text) if lenient else (parse(text), ())
    uid = "text-" + hashlib.sha256(episode.render().encode()).hexdigest()[:32]
    done = _record(store, episode, uid, supersede=False, kind=kind, by="import")
    return replace(done, guesses=guesses)


def _line(record: Record, labels: Iterable[Label], supersedes: str | None) -> dict[str, Any]:
    ours: dict[str, Any] = {"uid": record.uid, "id": record.id, "recorded_at": moment_text(record.recorded_at)}
    if record.expires_at is not None:
        ours["expires_at"] = moment_text(record.expires_at)
    if supersedes is not None:
        ours["supersedes"] = supersedes
    ours["labels"] = [_label_to_json(label) for label in labels]
    return {**record.episode.to_json(), KEY: ours}


def _label_to_json(label: Label) -> dict[str, Any]:
    data: dict[str, Any] = {
        "value": label.value,
        "class": label.kind,
        "by": label.by,
        "evidence": label.evidence,
        "at": moment_text(label.at),
    }
    if label.withdrawal:
        by, evidence, at = label.withdrawal
        data["withdrawn"] = {"by": by, "evidence": evidence, "at": moment_text(at)}
    return data


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidEpisode(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidEpisode("not JSON that can be read: nested too deeply") from error
    except ValueError as error:
        raise InvalidEpisode(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidEpisode(f"got {type(data).__name__}; an episode is a JSON object")
    return data


def _import(
    store: SqliteStore, data: dict[str, Any], seen: Counter[str], *, supersede: bool, kind: str, by: str
) -> Imported:
    ours = data.get(KEY)
    if isinstance(ours, dict) and "uid" in ours:
        return _restore(store, data, ours)
    episode = Episode.from_json(data)
    uid = None if episode.run_id else _content_uid(data, seen)
    return _record(store, episode, uid, supersede=supersede, kind=kind, by=by)


def _record(store: SqliteStore, episode: Episode, uid: str | None, *, supersede: bool, kind: str, by: str) -> Imported:
    clean = without_recalled(episode)
    stripped = 0 if clean is episode else int(clean.meta[STRIPPED])
    return _counted(store.record(clean, uid=uid, supersede=supersede, kind=kind, by=by), stripped)


def _restore(store: SqliteStore, data: dict[str, Any], ours: dict[str, Any]) -> Imported:
    """Put back a record that was exported: as it was, not as if it were new."""
    episode = Episode.from_json({key: value for key, value in data.items() if key != KEY})
    id = ours.get("id")
    if not (id is None or type(id) is int):
        raise InvalidEpisode(f"{KEY}.id is {id!r}; it needs a whole number")
    if not isinstance(ours.get("labels", []), list):
        raise InvalidEpisode(f"{KEY}.labels is {ours['labels']!r}; it needs a list")
    expires_at = ours.get("expires_at")
    added = store.add(
        episode,
        supersede="supersedes" in ours,
        labels=[_label_from_json(item) for item in ours.get("labels", [])],
        uid=checked_text(f"{KEY}.uid", ours["uid"]),
        id=id,
        recorded_at=moment_from(ours.get("recorded_at"), f"{KEY}.recorded_at"),
        expires_at=None if expires_at is None else moment_from(expires_at, f"{KEY}.expires_at"),
    )
    return _counted(added, 0)


def _label_from_json(data: object) -> Label:
    if not isinstance(data, dict):
        raise InvalidEpisode(f"a label is {data!r}; it needs an object")
    label = Label(
        id=0,
        value=data.get("value"),  # type: ignore[arg-type]  # Label checks it
        kind=data.get("class", ""),
        by=data.get("by", ""),
        evidence=data.get("evidence", ""),
        at=moment_from(data.get("at"), "a label's at"),
    )
    taken = data.get("withdrawn")
    if taken is None:
        return label
    if not isinstance(taken, dict):
        raise InvalidEpisode(f"withdrawn is {taken!r}; it needs an object")
    at = moment_from(taken.get("at"), "withdrawn.at")
    by, evidence = (checked_text(f"withdrawn.{name}", taken.get(name, "")) for name in ("by", "evidence"))
    return replace(label, withdrawal=Withdrawal(by, evidence, at))


def _content_uid(data: dict[str, Any], seen: Counter[str]) -> str:
    """Names a line by its content (success aside, which may be said later) and its occurrence among equal ones."""
    content = {key: value for key, value in data.items() if key != "success"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    seen[digest] += 1
    return f"line-{digest}-{seen[digest]}"


def _counted(added: Added, stripped: int) -> Imported:
    return Imported(new=1, stripped=stripped) if added.new else Imported(known=1)
