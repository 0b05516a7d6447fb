"""Cutting a text so that what is left says how much is missing.

A cut that does not say so reads as the whole. So a marker stands where text was, and its number is exact: the bytes of the
source that are gone, the marker itself not counted. It knows how to cut and when cutting is wrong, not what a text is.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from experience.tell.kinds import Content
from experience.tell.marks import gap, marker

_HEADING = re.compile(rb"^(?:#{1,6} |\\(?:section|subsection|chapter|part|paragraph)\b)[^\n]*\n?", re.MULTILINE)
_SECTIONS_AT_LEAST = 2


def encoded(text: str) -> bytes:
    """UTF-8, half a surrogate pair (which JSON may hold) as the three bytes it would be."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """The text that `encoded` made bytes of."""
    return data.decode("utf-8", "surrogatepass")


def size_of(text: str) -> int:
    """How many bytes `encoded` makes of a text."""
    return len(text) if text.isascii() else len(encoded(text))


class Strategy(StrEnum):
    """What is kept of a text that is cut."""

    HEAD = "head"
    """The beginning."""
    TAIL = "tail"
    """The end."""
    ENDS = "ends"
    """Half of what there is room for from either end."""
    SECTIONS = "sections"
    """Whole sections from the beginning, and the headings of those that follow."""


class Place(StrEnum):
    """Where text is missing."""

    NOTHING = "nothing"
    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class Keep:
    """The text stays as it is: it fits."""


@dataclass(frozen=True, slots=True)
class MustOffload:
    """The text leaves whole or stays whole: half of it would read as something else."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The text is cut in this way."""

    strategy: Strategy


Plan = Keep | MustOffload | Cut

_CUTS = {
    Content.LOG: Strategy.TAIL,
    Content.CODE: Strategy.ENDS,
    Content.DIFF: Strategy.ENDS,
    Content.LINES: Strategy.ENDS,
    Content.PROSE: Strategy.HEAD,
    Content.TABLE: Strategy.HEAD,
    Content.MARKUP: Strategy.SECTIONS,
}


def plan(content: Content, size: int, budget: int) -> Plan:
    """What is to be done with a text of this class that costs `size` and may cost `budget`, in the same unit."""
    if size <= budget:
        return Keep()
    strategy = _CUTS.get(content)
    return MustOffload() if strategy is None else Cut(strategy)


class Shortened(NamedTuple):
    """A text after cutting."""

    text: str
    dropped: int
    """Bytes of the source that are missing; what survives and this make the source's length."""
    place: Place


class Parts(NamedTuple):
    """What two offsets leave of some bytes."""

    before: bytes
    after: bytes
    dropped: int
    """Bytes between them."""


def shorten(text: str, strategy: Strategy, limit: int) -> Shortened:
    """The text cut to at most `limit` bytes, its marker counted, on character boundaries.

    A limit that does not hold the marker gives the marker alone. What would not come out shorter is given back as it was,
    with nothing dropped. A negative limit is taken as none at all.
    """
    data = encoded(text)
    before, between, after, dropped, place = _CUTTERS[strategy](data, limit)
    if len(before) + len(between) + len(after) >= len(data):
        return Shortened(text, 0, Place.NOTHING)
    return Shortened(decoded(before) + between + decoded(after), dropped, place)


def least(text: str) -> int:
    """The fewest bytes that `shorten` can bring a text to: those of its marker, or its own where these are fewer."""
    size = size_of(text)
    return min(size, len(marker(size)))


def parts(data: bytes, upto: int, since: int) -> Parts:
    """What stands before `upto` and from `since` on, moved to character boundaries so that less is kept.

    Offsets beyond the ends are taken as the ends; where `since` is before `upto`, nothing is missing.
    """
    upto = _back(data, min(max(upto, 0), len(data)))
    since = _forward(data, min(max(since, 0), len(data)))
    since = max(since, upto)
    return Parts(data[:upto], data[since:], since - upto)


class _Pieces(NamedTuple):
    before: bytes
    between: str
    after: bytes
    dropped: int
    place: Place


def _head(data: bytes, limit: int) -> _Pieces:
    kept = parts(data, limit - len(marker(len(data))), len(data))
    return _Pieces(kept.before, marker(kept.dropped), b"", kept.dropped, Place.TAIL)


def _tail(data: bytes, limit: int) -> _Pieces:
    kept = parts(data, 0, len(data) - max(limit - len(marker(len(data))), 0))
    return _Pieces(b"", marker(kept.dropped), kept.after, kept.dropped, Place.HEAD)


def _ends(data: bytes, limit: int) -> _Pieces:
    half = (limit - len(gap(len(data)))) // 2
    if half <= 0 or half >= len(data) - half:
        return _head(data, limit)
    kept = parts(data, half, len(data) - half)
    return _Pieces(kept.before, gap(kept.dropped), kept.after, kept.dropped, Place.MIDDLE)


def _sections(data: bytes, limit: int) -> _Pieces:
    room = limit - len(gap(len(data)))
    headings = list(_HEADING.finditer(data))
    if len(headings) < _SECTIONS_AT_LEAST or room <= 0 or headings[0].start() > room:
        return _head(data, limit)
    ends = [heading.start() for heading in headings[1:]] + [len(data)]
    whole = sum(end <= room for end in ends)  # they come in order, so those that fit are the first
    upto = ends[whole - 1] if whole else headings[0].start()
    lines: list[bytes] = []
    left = room - upto
    for heading in headings[whole:]:
        left -= len(heading.group())
        if left < 0:
            break
        lines.append(heading.group())
    after = b"".join(lines)
    if not upto and not after:
        return _head(data, limit)
    dropped = len(data) - upto - len(after)
    return _Pieces(data[:upto], gap(dropped), after, dropped, Place.MIDDLE)


_CUTTERS = {Strategy.HEAD: _head, Strategy.TAIL: _tail, Strategy.ENDS: _ends, Strategy.SECTIONS: _sections}


def _back(data: bytes, at: int) -> int:
    while 0 < at < len(data) and _within(data[at]):
        at -= 1
    return at


def _forward(data: bytes, at: int) -> int:
    while at < len(data) and _within(data[at]):
        at += 1
    return at


def _within(byte: int) -> bool:
    """Whether a character began before this byte."""
    return byte & 0b1100_0000 == 0b1000_0000  # noqa: PLR2004 - what UTF-8 says
