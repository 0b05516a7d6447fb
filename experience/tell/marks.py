"""The marks that stand where text is missing, and how they are known again.

They are written in one place and read in others, and both must agree. It knows their form, not when one is due.
"""

import re
from typing import NamedTuple

_MARKER = r"\[truncated: ([1-9][0-9]{0,19}) bytes\]"
_LEADING = re.compile(_MARKER)
_TRAILING = re.compile(_MARKER + r"\Z")
_GAP = re.compile(rf"\n{_MARKER}\n")
_GAP_BYTES = re.compile(rf"\n{_MARKER}\n".encode())
_GAP_BEGINS = "\n[truncated: "
_UNEVEN = 6  # bytes: two halves may each lack three of a character that was not kept
_HINT = re.compile(
    r"\n\[offloaded: total ([0-9]{1,20}) bytes; rest at ([^\n]+); original (cas:sha256-[0-9a-f]{64})\]\Z"
)
_LONGEST_MARKER = 60  # characters: more digits than there are bytes anywhere
_LONGEST_HINT = 5_000  # characters: a path has at most 4,096


class Hint(NamedTuple):
    """What a line says that reads like a hint; anybody can write one, so it proves nothing."""

    line: str
    """With the line break before it."""
    total: int
    path: str
    locator: str


class Marked(NamedTuple):
    """A text on either side of what reads like our marker."""

    before: str
    after: str
    missing: int
    """The bytes that it says are missing."""


def marker(dropped: int) -> str:
    """What stands at an end where text is missing; `dropped` in bytes."""
    return f"[truncated: {dropped} bytes]"


def gap(dropped: int) -> str:
    """What stands between two parts; `dropped` in bytes."""
    return f"\n{marker(dropped)}\n"


def hint(total: int, path: str, locator: str) -> str:
    """What ends the substitute of a text of `total` bytes that was stored."""
    return f"\n[offloaded: total {total} bytes; rest at {path}; original {locator}]"


def hint_of(text: str) -> Hint | None:
    """The hint that ends a text; None where none does."""
    found = _HINT.search(text, max(len(text) - _LONGEST_HINT, 0))
    return Hint(found.group(), int(found[1]), found[2], found[3]) if found else None


def leading(text: str) -> Marked | None:
    """A text that a marker begins; None for any other."""
    found = _LEADING.match(text)
    return Marked("", text[found.end() :], int(found[1])) if found else None


def trailing(text: str) -> Marked | None:
    """A text that a marker ends; None for any other."""
    found = _TRAILING.search(text, max(len(text) - _LONGEST_MARKER, 0))
    return Marked(text[: found.start()], "", int(found[1])) if found else None


def last_gap(text: str) -> Marked | None:
    """A text at the last line that reads like a gap; None where there is none."""
    found = _GAP.match(text, at) if (at := text.rfind(_GAP_BEGINS)) >= 0 else None
    return Marked(text[: found.start()], text[found.end() :], int(found[1])) if found else None


def middle_gap(data: bytes) -> tuple[int, int, int] | None:
    """Where a gap begins and ends that has as much before it as behind it, but for some bytes, and what it says."""
    since = max(len(data) // 2 - _LONGEST_MARKER, 0)
    for found in _GAP_BYTES.finditer(data, since, len(data) // 2 + _LONGEST_MARKER):
        if abs(found.start() - (len(data) - found.end())) <= _UNEVEN:
            return found.start(), found.end(), int(found[1])
    return None


def is_marker(line: str) -> bool:
    """Whether a line is a marker and nothing else."""
    return _LEADING.fullmatch(line) is not None
