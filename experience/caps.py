"""How large an episode may be that no person and no program of the host's wrote as one: an import, a tool's call.

What is too large is cut, and what is missing is counted to the byte, in the text itself and in `meta`. An episode that a
host records itself, or a line of JSON Lines, is somebody's record and is never cut.
"""

import json
from dataclasses import replace
from typing import Any

from experience.episode import Episode
from experience.tell.marks import marker
from experience.tell.shorten import Place, Shortened, Strategy, shorten, size_of

TEXT = 64 * 1024
"""Bytes of a situation, and of an outcome."""
NAME = 1024
"""Bytes of the name of a tool, a skill or a tag."""
NAMES = 10_000
"""How many of each."""
META = 256 * 1024
"""Bytes of `meta` as JSON."""
CUT = "bytes_cut"
"""The key in `meta` that says how many bytes are missing, by field."""


def capped(episode: Episode) -> Episode:
    """The episode within these bounds, the same one where it is within them.

    Of texts both ends are kept, of names the first; of `meta` the largest values at its top level go, until the rest has
    room. Capping what is capped already changes nothing.
    """
    lost: dict[str, int] = {}
    fields: dict[str, Any] = {}
    for name in ("situation", "outcome"):
        cut = _cut(getattr(episode, name), Strategy.ENDS, TEXT)
        fields[name], lost[name] = cut.text, cut.dropped
    for name in ("tools", "skills", "tags"):
        given = getattr(episode, name)
        cuts = [_cut(one, Strategy.HEAD, NAME) for one in given[:NAMES]]
        fields[name] = tuple([cut.text for cut in cuts])
        lost[name] = sum(cut.dropped for cut in cuts) + sum(map(size_of, given[NAMES:]))
    meta, lost["meta"] = _within(dict(episode.meta))
    if not any(lost.values()):
        return episode
    found = meta.get(CUT)
    before: dict[str, int] = found if isinstance(found, dict) else {}
    counted = {name: number + before.get(name, 0) for name, number in lost.items() if number or name in before}
    return replace(episode, **fields, meta={**meta, CUT: counted})


def _cut(text: str, strategy: Strategy, most: int) -> Shortened:
    return shorten(text, strategy, most) if size_of(text) > most else Shortened(text, 0, Place.NOTHING)


def _within(meta: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """As much of it as there is room for, a marker in the place of each value that goes; and the bytes that went."""
    sizes = {key: len(json.dumps(value, ensure_ascii=False).encode()) for key, value in meta.items()}
    total = sum(sizes.values()) + sum(map(size_of, meta))
    lost = 0
    for key in sorted(sizes, key=lambda key: (-sizes[key], key)):
        if total <= META or key == CUT:
            break
        meta[key] = marker(sizes[key])
        lost += sizes[key]
        total -= sizes[key] - size_of(meta[key])
    return meta, lost
