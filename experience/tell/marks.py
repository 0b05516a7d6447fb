"""The marks that stand where text is missing, and how they are known again.

They are written in one place and read in others, and both must agree. It knows their form, not when one is due.
"""

import re

_MARKER = r"\[truncated: \d+ bytes\]"
_LEADING = re.compile(_MARKER)
_TRAILING = re.compile(_MARKER + r"\Z")
_GAP = re.compile(rf"\n{_MARKER}\n")
_HINT = re.compile(r"\n\[offloaded: total \d+ bytes; rest at [^\n]+; original cas:sha256-[0-9a-f]{64}\]\Z")
_LONGEST_MARKER = 60  # characters: more digits than there are bytes anywhere
_LONGEST_HINT = 5_000  # characters: a path has at most 4,096


def marker(dropped: int) -> str:
    """What stands at an end where text is missing; `dropped` in bytes."""
    return f"[truncated: {dropped} bytes]"


def gap(dropped: int) -> str:
    """What stands between two parts; `dropped` in bytes."""
    return f"\n{marker(dropped)}\n"


def hint(total: int, path: str, locator: str) -> str:
    """What ends the substitute of a text of `total` bytes that was stored."""
    return f"\n[offloaded: total {total} bytes; rest at {path}; original {locator}]"


def hint_of(text: str) -> str:
    """The hint that ends a substitute; empty for any other text."""
    found = _HINT.search(text, max(len(text) - _LONGEST_HINT, 0))
    return found.group() if found else ""


def after_leading(text: str) -> str | None:
    """What follows a marker that begins a text; None where none does."""
    found = _LEADING.match(text)
    return text[found.end() :] if found else None


def before_trailing(text: str) -> str | None:
    """What stands before a marker that ends a text; None where none does."""
    found = _TRAILING.search(text, max(len(text) - _LONGEST_MARKER, 0))
    return text[: found.start()] if found else None


def before_gap(text: str) -> str | None:
    """What stands before the first gap in a text; None where there is none."""
    found = _GAP.search(text)
    return text[: found.start()] if found else None
