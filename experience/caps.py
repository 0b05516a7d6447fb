"""How large an episode may be that no person and no program of the host's wrote as one: an import, a tool's call.

What is too large is cut, and what is missing is counted to the byte, in the text itself and in `meta`. An episode that a
host records itself, or a line of JSON Lines, is somebody's record and is never cut.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from experience.episode import Episode
from experience.tell.marks import marker
from experience.tell.shorten import Place, Shortened, Strategy, shorten, size_of

CUT = "bytes_cut"
"""The key in `meta` that says how many bytes are missing, by field."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that there may be of each field, in bytes but for `names`."""

    situation: int = 64 * 1024
    outcome: int = 64 * 1024
    name: int = 1024
    """The name of a tool, a skill or a tag."""
    names: int = 10_000
    """How many of each."""
    text: int | None = None
    """One text in `meta`; None where only all of it is bounded."""
    meta: int = 256 * 1024
    """`meta` as JSON."""


def capped(episode: Episode, bounds: Bounds = Bounds()) -> Episode:
    """The episode within these bounds, the same one where it is within them.

    Of texts both ends are kept, of names the first; of `meta` the largest values at its top level go, until the rest has
    room. Capping what is capped already changes nothing.
    """
    lost: dict[str, int] = {}
    fields: dict[str, Any] = {}
    for name in ("situation", "outcome"):
        cut = _cut(getattr(episode, name), Strategy.ENDS, getattr(bounds, name))
        fields[name], lost[name] = cut.text, cut.dropped
    for name in ("tools", "skills", "tags"):
        given = getattr(episode, name)
        cuts = [_cut(one, Strategy.HEAD, bounds.name) for one in given[: bounds.names]]
        fields[name] = tuple([cut.text for cut in cuts])
        lost[name] = sum(cut.dropped for cut in cuts) + sum(map(size_of, given[bounds.names :]))
    meta, lost["meta"] = _within(dict(episode.meta), bounds)
    if not any(lost.values()):
        return episode
    found = meta.get(CUT)
    before: dict[str, int] = found if isinstance(found, dict) else {}
    counted = {name: number + before.get(name, 0) for name, number in lost.items() if number or name in before}
    return replace(episode, **fields, meta={**meta, CUT: counted})


def _cut(text: str, strategy: Strategy, most: int) -> Shortened:
    return shorten(text, strategy, most) if size_of(text) > most else Shortened(text, 0, Place.NOTHING)


def _within(meta: dict[str, Any], bounds: Bounds) -> tuple[dict[str, Any], int]:
    """As much of it as there is room for, a marker in the place of each value that goes; and the bytes that went."""
    lost = 0
    if bounds.text is not None:
        meta, lost = _short_texts(meta, bounds.text)
    sizes = {key: len(json.dumps(value, ensure_ascii=False).encode()) for key, value in meta.items()}
    total = sum(sizes.values()) + sum(map(size_of, meta))
    for key in sorted(sizes, key=lambda key: (-sizes[key], key)):
        if total <= bounds.meta or key == CUT:
            break
        meta[key] = marker(sizes[key])
        lost += sizes[key]
        total -= sizes[key] - size_of(meta[key])
    return meta, lost


def _short_texts(value: Any, most: int) -> tuple[Any, int]:
    """The value with every text in it, keys too, cut to so many bytes; and the bytes that went."""
    if isinstance(value, str):
        cut = _cut(value, Strategy.HEAD, most)
        return cut.text, cut.dropped
    if isinstance(value, dict):
        pairs = [(_short_texts(key, most), _short_texts(part, most)) for key, part in value.items()]
        return {key: part for (key, _), (part, _) in pairs}, sum(one + two for (_, one), (_, two) in pairs)
    if isinstance(value, list | tuple):
        parts = [_short_texts(part, most) for part in value]
        return [part for part, _ in parts], sum(lost for _, lost in parts)
    return value, 0
