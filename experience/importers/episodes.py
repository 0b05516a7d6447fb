"""A session as an episode: whole at first, so that what must not be stored can be taken out of it, and then within bounds.

Pure values in and out. It knows no store, and not what is taken out in between.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experience.caps import CUT, Bounds, capped
from experience.episode import Episode
from experience.importers.session import Session
from experience.tell.shorten import Strategy, encoded, shorten

BOUNDS = Bounds(situation=16_000, outcome=8_000, name=200, text=2_000)
"""How large the episode of a session may be."""
LATER_BYTES = 300
"""Bytes of each request after the first that the situation lists."""
TURNS = "turns"
"""The key in `meta` that says how long the session was, which tells the longer of two accounts of it."""
FROM = "situation_from"
"""The key in `meta` that says what stands for the situation where nothing was asked: AGENT or CALLS."""
AGENT, CALLS = "agent", "calls"

_LATER = "asked_later"  # in `meta` until the episode is shortened
_TROUBLE_LISTED = 200  # calls that failed
_LONGEST_ID = 200


def episode_of(session: Session, format: str, tags: Sequence[str] = ()) -> Episode:
    """The episode of a session, neither masked nor shortened, and to be finished by `shortened`.

    Its run_id is the format's name and the session's. Raises InvalidEpisode for a session in which nobody says or calls
    anything.
    """
    asked, first_words = storable(session.asked).strip(), storable(session.first_words).strip()
    failed = [
        {"name": storable(call.name), "allowed": True, "worked": False}
        for call in session.calls
        if call.worked is False
    ]
    meta: dict[str, Any] = {
        **_storable_json(dict(session.meta)),
        "format": format,
        TURNS: session.kept if session.length is None else session.length,
    }
    if not asked:
        meta[FROM] = AGENT if first_words else CALLS
    if session.requests > 1:
        meta["requests"], meta[_LATER] = session.requests, _storable_json(session.later)
    if failed:
        meta["tool_trouble"] = failed[:_TROUBLE_LISTED]
    if more := len(failed[_TROUBLE_LISTED:]):
        meta["tool_trouble_more"] = more
    if session.skills:
        meta["skill_evidence"] = {storable(use.name): storable(use.evidence) for use in session.skills}
    return Episode(
        situation=asked or first_words or _called(session),
        outcome=storable(session.account),
        tools=tuple([storable(call.name) for call in session.calls]),
        skills=tuple(dict.fromkeys(storable(use.name) for use in session.skills)),
        tags=tuple(tags),
        success=None,
        run_id=run_id_of(format, session.id),
        started_at=session.started_at,
        cost=session.cost,
        meta=meta,
    )


def run_id_of(format: str, session: str) -> str:
    """The run_id of the episode that a session of a format becomes; a session's id is hashed when no program makes one so long."""
    id = storable(session) if len(session) <= _LONGEST_ID else hashlib.sha256(encoded(session)).hexdigest()
    return f"{format}:{id}"


def shortened(episode: Episode) -> Episode:
    """The episode within `BOUNDS`, and what was asked later at the end of its situation; `meta` counts what was lost."""
    meta = dict(episode.meta)
    later = meta.pop(_LATER, [])
    within = capped(replace(episode, meta=meta), BOUNDS)
    if not later:
        return within
    more = meta["requests"] - 1 - len(later)
    lines = ["", "Asked later:", *(f"- {_on_one_line(text)}" for text in later)]
    return replace(
        within, situation="\n".join([within.situation.rstrip(), *lines, *([f"- and {more} more"] if more > 0 else [])])
    )


def _on_one_line(request: str) -> str:
    return shorten(" ".join(request.split()), Strategy.HEAD, LATER_BYTES).text


def lost(episode: Episode) -> tuple[int, int]:
    """Of how many of its fields something is missing, and how many bytes in all."""
    counted = episode.meta.get(CUT, {})
    return len(counted), sum(counted.values())


def storable(text: str) -> str:
    """The text with what no store can hold replaced: NUL, and halves of surrogate pairs."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _called(session: Session) -> str:
    names = dict.fromkeys(storable(call.name) for call in session.calls)
    return f"No words were captured. Called: {', '.join(names)}" if names else ""


def _storable_json(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): _storable_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_json(part) for part in value]
    return value
