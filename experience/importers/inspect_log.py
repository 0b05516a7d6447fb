"""Logs of Inspect AI: each sample of each epoch is a session, out of a `.json` log or an `.eval` archive.

An archive is read one sample at a time, each within the limit of a document. Whether a sample worked is said by its
scores, all of them, and by none where the sample ended with an error, at a limit, or was declared invalid.
"""

import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experience.episode import Cost
from experience.errors import InvalidInput, shown
from experience.importers.chat import turn_of
from experience.importers.lenient import amount, count, digest, fields, finite, items, known, moment, text, total, words
from experience.importers.session import Finding, Format, Session, Trouble
from experience.importers.source import LARGEST_DOCUMENT, Source
from experience.importers.turns import session_of
from experience.importers.verdicts import Verdict, agreed, of_number

_ATTACHED = "attachment://"
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, KeyError)
"""What zipfile and json raise for an archive that is damaged, encrypted, packed by a method it does not know, or lies."""


def _recognises(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("eval"), dict):
        return False
    return "task" in value["eval"] and bool({"samples", "plan", "results", "status", "version"} & value.keys())


def head_of_archive(path: Path) -> Any:
    """What an `.eval` archive says of its run, which `FORMAT` recognises; None where a file is no such archive.

    Raises InvalidInput for one that cannot be unpacked, OSError.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            name = next((one for one in ("header.json", "_journal/start.json") if one in names), None)
            return None if name is None else _read(archive, archive.getinfo(name))
    except zipfile.BadZipFile:
        return None
    except _BROKEN as error:
        raise InvalidInput(f"it is a ZIP archive that cannot be unpacked here: {error}") from error


def _sessions(source: Source) -> Iterator[Session | Trouble]:
    if zipfile.is_zipfile(source.path):
        yield from _archived(source.path)
        return
    try:
        log = source.document()
    except InvalidInput as error:
        yield Trouble(None, str(error))
        return
    if not _recognises(log):
        yield Trouble(None, "no log of Inspect: it needs an object with the evaluation under eval")
        return
    for sample in items(log.get("samples")):
        yield _session(log, sample) if isinstance(sample, dict) else Trouble(None, "a sample that is no object")


def _archived(path: Path) -> Iterator[Session | Trouble]:
    log = fields(head_of_archive(path))
    if not _recognises(log):
        yield Trouble(None, "a ZIP archive without the header.json of an Inspect log")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.startswith("samples/") and entry.filename.endswith(".json"):
                    yield _from_archive(archive, entry, log)
    except _BROKEN as error:
        yield Trouble(None, f"the archive breaks off: {error}")


def _from_archive(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, log: dict[str, Any]) -> Session | Trouble:
    try:
        sample = _read(archive, entry)
    except _BROKEN as error:
        return Trouble(None, f"{shown(entry.filename)} cannot be read: {error}")
    return _session(log, sample) if isinstance(sample, dict) else Trouble(None, f"{shown(entry.filename)} is no sample")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    """An entry as JSON, unpacked no further than a document may be large, whatever its header says of its size."""
    with archive.open(entry) as file:
        raw = file.read(LARGEST_DOCUMENT + 1)
    if len(raw) > LARGEST_DOCUMENT:
        raise ValueError(f"it unpacks to more than {LARGEST_DOCUMENT} bytes")
    return json.loads(raw)


def _session(log: dict[str, Any], sample: dict[str, Any]) -> Session:
    run, kept = fields(log.get("eval")), fields(sample.get("attachments"))
    messages = [_attached(message, kept) for message in items(sample.get("messages"))]
    usage = fields(sample.get("model_usage")).values()
    limit = fields(sample.get("limit"))
    finding, left_open = _finding(log, sample)
    return session_of(
        _id(run, sample, messages),
        map(turn_of, messages),
        asked=_asked(_attached({"content": sample.get("input")}, kept)["content"]),
        ended=_end(sample),
        finding=finding,
        started_at=moment(sample.get("started_at")) or moment(fields(log.get("stats")).get("started_at")),
        cost=lambda turns: Cost(
            steps=turns,
            tokens=total(fields(one).get("total_tokens") for one in usage),
            seconds=amount(sample.get("total_time")),
        ),
        meta=known(
            agent="inspect",
            task=text(run.get("task")),
            model=text(run.get("model")),
            transcript_id=_name(sample.get("id")),
            epoch=count(sample.get("epoch")),
            limit=text(limit.get("type")),
            error=text(fields(sample.get("error")).get("message")),
            scores=_scores_told(sample),
            left_open=left_open,
        ),
    )


def _attached(message: Any, kept: dict[str, Any]) -> Any:
    """A message with the long texts in it that the log keeps apart."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _whole(content, kept)}
    parts = [
        {**part, "text": _whole(part["text"], kept)} if isinstance(part, dict) and isinstance(part.get("text"), str) else part
        for part in items(content)
    ]  # fmt: skip
    return {**message, "content": parts if isinstance(content, list) else content}


def _whole(words: str, kept: dict[str, Any]) -> str:
    return text(kept.get(words.removeprefix(_ATTACHED))) or words if words.startswith(_ATTACHED) else words


def _asked(given: Any) -> str:
    """The sample's input: a text, or the first message of a user in it."""
    if isinstance(given, str):
        return given
    turns = map(turn_of, items(given))
    return next((turn.text for turn in turns if turn.who == "user" and turn.text.strip()), "")


def _id(run: dict[str, Any], sample: dict[str, Any], messages: list[Any]) -> str:
    log = text(run.get("eval_id")) or "/".join(filter(None, (text(run.get("run_id")), text(run.get("task_id")))))
    name = _name(sample.get("id")) or text(sample.get("uuid"))
    if not log or not name:
        name += digest(*(words(fields(message).get("content")) for message in messages))
    return f"{log or 'log'}/{name}/{count(sample.get('epoch')) or 1}"


def _name(id: Any) -> str:
    return str(id) if type(id) in (int, str) else ""


def _end(sample: dict[str, Any]) -> str:
    """What is to be said of how the sample ended, where it did not end by itself."""
    if error := fields(sample.get("error")):
        return f"The sample ended with an error: {text(error.get('message')) or 'unknown'}"
    if limit := fields(sample.get("limit")):
        return f"The sample ended at its limit: {text(limit.get('type')) or 'unknown'}"
    return ""


def _scores(sample: dict[str, Any]) -> dict[str, Any]:
    """The scores by the names of their scorers; logs of before had one without a name."""
    old = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}
    return fields(sample.get("scores")) or old


def _scores_told(sample: dict[str, Any]) -> dict[str, Any]:
    values = {name: fields(score).get("value") for name, score in list(_scores(sample).items())[:20]}
    return {name: value for name, value in values.items() if isinstance(value, str | bool) or finite(value) is not None}


def _finding(log: dict[str, Any], sample: dict[str, Any]) -> tuple[Finding | None, str]:
    """What the scores say; and where they say nothing although there are some, why."""
    scores = _scores(sample)
    if not scores:
        return None, ""
    if fields(sample.get("error")) or fields(sample.get("limit")):
        return None, "it did not end by itself"
    if log.get("invalidated") is True or fields(sample.get("invalidation")):
        return None, "it was declared invalid"
    found = agreed(_verdict(name, fields(score).get("value")) for name, score in scores.items())
    return found, "" if found else "its scores are no plain yes or no, or differ"


def _verdict(name: str, value: Any) -> Verdict:
    """`C`, 1 and true are a yes, `I`, 0 and false a no. What a model graded is no verifier's word, but the host's."""
    says = {"C": True, "I": False}.get(value) if isinstance(value, str) else of_number(value)
    return Verdict(says, f"score {name} = {value}", "host" if "model_graded" in name else "verifier")


FORMAT = Format("inspect", "Inspect AI log", _recognises, _sessions)
