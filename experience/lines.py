"""One line of JSON Lines: what is written of a record, and what is read from a line, checked.

A line is an episode's JSON (`Episode.to_json`). What the store knows beside it (uid, id, times, every label, withdrawn ones
too) stands under one key, so that it collides with nobody's own keys. Values only: nothing here is recorded.
"""

import hashlib
import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from experience.episode import checked_text, moment_from, moment_text
from experience.errors import InvalidEpisode, shown
from experience.protocols import Label, Record, Withdrawal

KEY = "hardwon"
"""The key under which a line tells what the store knew."""


def line_of(record: Record, labels: Iterable[Label], supersedes: str | None) -> dict[str, Any]:
    """What is written of a record, all of its labels, and the uid of the version whose place it took."""
    ours: dict[str, Any] = {"uid": record.uid, "id": record.id, "recorded_at": moment_text(record.recorded_at)}
    if record.expires_at is not None:
        ours["expires_at"] = moment_text(record.expires_at)
    if supersedes is not None:
        ours["supersedes"] = supersedes
    ours["labels"] = [label.to_json() for label in labels]
    return {**record.episode.to_json(), KEY: ours}


def parsed(line: bytes | str) -> dict[str, Any]:
    """The object in a line, which may begin with a byte order mark. Raises InvalidEpisode."""
    try:
        data = json.loads(line.removeprefix(BOM_UTF8).decode() if isinstance(line, bytes) else line)
    except UnicodeDecodeError as error:
        raise InvalidEpisode(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidEpisode("not JSON that can be read: nested too deeply") from error
    except ValueError as error:
        raise InvalidEpisode(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise InvalidEpisode(f"got {type(data).__name__}; an episode is a JSON object")
    return data


def beside(ours: dict[str, Any]) -> dict[str, Any]:
    """What a store knew of an episode that it exported, as `SqliteStore.add` takes it. Raises InvalidEpisode, InvalidInput."""
    id, labels, supersedes = ours.get("id"), ours.get("labels", []), ours.get("supersedes")
    if not (id is None or type(id) is int):
        raise InvalidEpisode(f"{KEY}.id is {shown(str(id))}; it needs a whole number")
    if not isinstance(labels, list):
        raise InvalidEpisode(f"{KEY}.labels is {shown(str(labels))}; it needs a list")
    expires_at = ours.get("expires_at")
    return {
        "supersedes": None if supersedes is None else checked_text(f"{KEY}.supersedes", supersedes),
        "labels": [_label_from_json(item) for item in labels],
        "uid": checked_text(f"{KEY}.uid", ours["uid"]),
        "id": id,
        "recorded_at": moment_from(ours.get("recorded_at"), f"{KEY}.recorded_at"),
        "expires_at": None if expires_at is None else moment_from(expires_at, f"{KEY}.expires_at"),
    }


def content_uid(data: dict[str, Any], seen: Counter[str]) -> str:
    """Names a line by its content (success aside, which may be said later) and its occurrence among equal ones."""
    content = {key: value for key, value in data.items() if key != "success"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    seen[digest] += 1
    return f"line-{digest}-{seen[digest]}"


def _label_from_json(data: object) -> Label:
    if not isinstance(data, dict):
        raise InvalidEpisode(f"a label is {shown(str(data))}; it needs an object")
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
        raise InvalidEpisode(f"withdrawn is {shown(str(taken))}; it needs an object")
    at = moment_from(taken.get("at"), "withdrawn.at")
    by, evidence = (checked_text(f"withdrawn.{name}", taken.get(name, "")) for name in ("by", "evidence"))
    return replace(label, withdrawal=Withdrawal(by, evidence, at))
