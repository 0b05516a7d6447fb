"""Records as text for people and as JSON for programs.

Pure functions from values to text; nothing here prints or reads a store. All recorded text goes through `screen.visible`.
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import click

from experience.episode import moment_text
from experience.protocols import Label, Match, Record
from experience.screen import visible
from experience.text import quote, write_items

_RESULTS = {True: ("success", "green"), False: ("failure", "red"), None: ("unknown", "yellow")}
_INDENT = " " * 14


def shortened(text: str, width: int) -> str:
    """The beginning of the text, its lines joined, on at most `width` columns, where East Asian characters take two."""
    line = " ".join(visible(text).split())
    if sum(map(_columns, line)) <= width:
        return line
    taken, used = 0, 1  # one for the ellipsis
    while taken < len(line) and used + _columns(line[taken]) <= width:
        used += _columns(line[taken])
        taken += 1
    return line[:taken] + "…"


def result(success: bool | None) -> str:
    """The verdict as a coloured word."""
    word, colour = _RESULTS[success]
    return click.style(word, fg=colour)


def match_block(rank: int, match: Match, width: int) -> str:
    """A recalled run: rank, score, result, situation, tools, skills, outcome, and why it matched."""
    episode = match.episode
    head = f"{rank}. [{match.id}] {match.score:.3f}  {result(episode.success)}  {click.style(match.why, dim=True)}"
    rows = [
        ("situation", episode.situation),
        ("tools", write_items(episode.tools)),
        ("skills", write_items(episode.skills) if episode.skills else ""),
        ("outcome", episode.outcome),
    ]
    lines = [f"   {name:<11}{shortened(value, width - len(_INDENT))}" for name, value in rows if value]
    return "\n".join([head, *lines])


def record_line(record: Record, width: int) -> str:
    """A record on one line: id, result, day, situation."""
    word, colour = _RESULTS[record.episode.success]
    day = moment_text(record.began)[:10]
    head = f"{record.id:>6}  {click.style(f'{word:<7}', fg=colour)}  {day}  "
    return head + shortened(record.episode.situation, width - 29)


def record_page(record: Record, labels: Sequence[Label]) -> str:
    """Everything about a record."""
    episode = record.episode
    cost = ", ".join(f"{name} {value:g}" for name, value in episode.cost.to_json().items())
    rows = [
        ("episode", f"{record.id}{'  (superseded by a later version of its run)' if record.superseded else ''}"),
        ("result", f"{result(episode.success)}{'  (confirmed)' if record.confirmed else ''}"),
        ("situation", _block(episode.situation)),
        ("tools", visible(write_items(episode.tools))),
        ("skills", visible(write_items(episode.skills)) if episode.skills else ""),
        ("tags", visible(write_items(episode.tags)) if episode.tags else ""),
        ("outcome", _block(episode.outcome)),
        ("run", _block(episode.run_id or "")),
        ("uid", record.uid),
        ("started", "" if episode.started_at is None else moment_text(episode.started_at)),
        ("recorded", moment_text(record.recorded_at)),
        ("expires", "" if record.expires_at is None else moment_text(record.expires_at)),
        ("cost", cost),
        ("meta", _block("\n".join(f"{quote(key)}: {_json(value)}" for key, value in episode.meta.items()))),
        ("labels", ("\n" + _INDENT).join(map(_label_line, labels))),
    ]
    return "\n".join(f"{name:<{len(_INDENT)}}{value}" for name, value in rows if value)


def record_json(record: Record) -> dict[str, Any]:
    """A record as JSON: the episode's keys, and what the store knows beside them."""
    return {
        "id": record.id,
        "uid": record.uid,
        **record.episode.to_json(),
        "confirmed": record.confirmed,
        "label": None if record.label is None else label_json(record.label),
        "recorded_at": moment_text(record.recorded_at),
        "expires_at": None if record.expires_at is None else moment_text(record.expires_at),
        "superseded": record.superseded,
    }


def match_json(match: Match) -> dict[str, Any]:
    """A recalled run as JSON: a record with its score and why it matched."""
    return {**record_json(match.record), "score": round(match.score, 6), "why": match.why}


def label_json(label: Label) -> dict[str, Any]:
    """A label as JSON; `withdrawn` is null while it stands."""
    return {"id": label.id, "withdrawn": None, **label.to_json()}


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one pair a line."""
    return "\n".join(f"{name:<16}{visible(str(value))}" for name, value in rows)


def _label_line(label: Label) -> str:
    said = "yes" if label.value else "no"
    parts = [f"#{label.id} {said}", label.kind, label.by, moment_text(label.at)[:19], label.evidence]
    if taken := label.withdrawal:
        parts += ["withdrawn", taken.by, moment_text(taken.at)[:19], taken.evidence]
    return " · ".join(shortened(part, 200) for part in parts if part)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _block(text: str) -> str:
    return visible(text).replace("\n", "\n" + _INDENT)


def _columns(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
