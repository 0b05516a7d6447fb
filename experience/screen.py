"""Recorded text is not trusted: what must not reach a terminal as it is.

A terminal acts upon control characters, and a reader upon what looks like another text than it is. Both are shown as
escapes. It knows nothing of where text comes from or goes to.
"""

import re

# Controls other than the line break, line separators, direction marks, overrides and isolates, tag characters.
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with everything a terminal would act upon as a Python escape; line breaks are kept."""
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def visible_json(written: str) -> str:
    """The same for JSON, with JSON's escapes: it stays the same data."""
    return _HIDDEN.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _utf16(found.group())), written)


def _utf16(char: str) -> list[int]:
    units = char.encode("utf-16-be")
    return [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
