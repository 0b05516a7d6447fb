"""Cutting a text so that what is left says how much is missing.

A cut that does not say so reads as the whole. So a marker stands where text was, and its number is exact: the bytes
of the source that are gone, the marker itself not counted. It knows how to cut and when cutting is wrong, not what a
text is.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from experience.tell.kinds import Content
from experience.tell.marks import Marked, gap, last_gap, leading, marker, middle_gap, trailing

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


class Untouched(StrEnum):
    """Why a text is not cut."""

    FITS = "fits"
    MUST_LEAVE = "must leave"
    """It leaves whole or stays whole: half of it would read as something else."""


Plan = Strategy | Untouched

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
    return Untouched.FITS if size <= budget else _CUTS.get(content, Untouched.MUST_LEAVE)


class Shortened(NamedTuple):
    """A text after cutting."""

    text: str
    dropped: int
    """Bytes of the source that are missing; what survives and this make the source's length."""
    place: Place


class Source(NamedTuple):
    """The bytes to cut, and what an earlier cut took out of them."""

    data: bytes
    """Without the marker."""
    missing: int = 0
    """Bytes that are gone already."""
    at: int = 0
    """Where in the data they are missing."""

    @property
    def size(self) -> int:
        """Bytes of the whole, with those that are gone."""
        return len(self.data) + self.missing

    @property
    def head(self) -> int:
        """How far a part that is kept from the beginning may reach."""
        return self.at if self.missing else len(self.data)


class Parts(NamedTuple):
    """What two offsets leave of some bytes."""

    before: bytes
    after: bytes
    dropped: int
    """Bytes between them."""


def source(text: str, strategy: Strategy) -> Source:
    """A text as a source, without our marker where it stands in the place that this strategy leaves one in.

    Only the place tells our marker from words that look like it: a forged one makes the number greater than it is,
    never smaller than what is cut.
    """
    if strategy is Strategy.TAIL:
        found = leading(text)
    else:  # what has no room for two ends keeps its beginning
        found = trailing(text) or (_skeleton(text) if strategy is Strategy.SECTIONS else None)
    if found:
        before = encoded(found.before)
        return Source(before + encoded(found.after), found.missing, len(before))
    data = encoded(text)
    if strategy is Strategy.ENDS and (middle := middle_gap(data)):
        upto, since, missing = middle
        return Source(data[:upto] + data[since:], missing, upto)
    return Source(data)


def _skeleton(text: str) -> Marked | None:
    found = last_gap(text)
    after = encoded(found.after) if found else b""
    return found if sum(len(one.group()) for one in _HEADING.finditer(after)) == len(after) else None


def shorten(text: str, strategy: Strategy, limit: int, *, carry: bool = False) -> Shortened:
    """The text cut to at most `limit` bytes, its marker counted, on character boundaries.

    With `carry` a marker of an earlier cut is taken out first, and what it counts is counted again: then the source
    is what the text was before any cut. A limit that does not hold the marker gives the marker alone. What would not
    come out shorter is given back as it was, with nothing dropped. A negative limit is taken as none at all.
    """
    from_ = source(text, strategy) if carry else Source(encoded(text))
    before, between, after, dropped, place = _CUTTERS[strategy](from_, limit)
    if len(before) + len(between) + len(after) >= size_of(text):
        return Shortened(text, 0, Place.NOTHING)
    return Shortened(decoded(before) + between + decoded(after), dropped, place)


def least(text: str, strategy: Strategy = Strategy.HEAD, *, carry: bool = False) -> int:
    """The fewest bytes that `shorten` can bring a text to: those of its marker, or its own where these are fewer."""
    size = size_of(text)
    return min(size, len(marker(source(text, strategy).size if carry else size)))


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


def _head(of: Source, limit: int) -> _Pieces:
    upto = min(limit - len(marker(of.size)), of.head)
    kept = parts(of.data, upto, len(of.data))
    dropped = kept.dropped + of.missing
    return _Pieces(kept.before, marker(dropped), b"", dropped, Place.TAIL)


def _tail(of: Source, limit: int) -> _Pieces:
    since = len(of.data) - max(limit - len(marker(of.size)), 0)
    kept = parts(of.data, 0, max(since, of.at))
    dropped = kept.dropped + of.missing
    return _Pieces(b"", marker(dropped), kept.after, dropped, Place.HEAD)


def _ends(of: Source, limit: int) -> _Pieces:
    half = (limit - len(gap(of.size))) // 2
    if half <= 0 or half >= of.size - half:
        return _head(of, limit)
    kept = parts(of.data, min(half, of.head), max(len(of.data) - half, of.at))
    dropped = kept.dropped + of.missing
    return _Pieces(kept.before, gap(dropped), kept.after, dropped, Place.MIDDLE)


def _sections(of: Source, limit: int) -> _Pieces:
    data, room = of.data, limit - len(gap(of.size))
    headings = list(_HEADING.finditer(data))
    if len(headings) < _SECTIONS_AT_LEAST or room <= 0 or headings[0].start() > room:
        return _head(of, limit)
    ends = [heading.start() for heading in headings[1:]] + [len(data)]
    whole = sum(end <= min(room, of.head) for end in ends)  # they come in order, so those that fit are the first
    upto = ends[whole - 1] if whole else min(headings[0].start(), of.head)
    lines: list[bytes] = []
    left = room - upto
    for heading in headings[whole:]:
        left -= len(heading.group())
        if left < 0:
            break
        lines.append(heading.group())
    after = b"".join(lines)
    if not upto and not after:
        return _head(of, limit)
    dropped = of.size - upto - len(after)
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
