"""Lines that pose as a part of a payload, and how they are kept from it.

A heading is known by what a reader takes it for: behind a list's or an emphasis' signs, in wide or styled letters, with
characters of no width in it, after any kind of line end. What poses is quoted with `> `, and every other line stays as it
is. It knows which headings there are, and nothing of what stands below them.
"""

import re
import unicodedata
from collections.abc import Callable

from experience import recalled
from experience.screen import as_read, revealed, without_unseen
from experience.tell.handover import RECOVERED_HEADING, RESUMED_HEADING, STEERED_HEADING

BODY_TITLE = "WHAT YOU HAVE BEEN ASKED TO DO"
MEMORY_TITLE = "WHAT YOU WROTE DOWN LAST TIME"

Poses = Callable[[str], bool]
"""Whether a line poses as something."""

_RESERVED = frozenset({BODY_TITLE, MEMORY_TITLE, *recalled.TITLES.values()})
_HANDOVERS = tuple(heading.strip("# ").lower() for heading in (RECOVERED_HEADING, STEERED_HEADING, RESUMED_HEADING))
_LIKE_EQUALS = str.maketrans(dict.fromkeys("═≡゠⹀꞊᐀━─", "="))
# Signs (and letters that nobody sees) before what looks like = or #; or what a mark begins with, anywhere.
_MAY_POSE = re.compile(
    "^[\\W_\u115f\u1160\u3164\uffa0]*?[=#\uff1d\u207c\u208c\ufe66\u2a75\u2a76\uff03\ufe5f═≡゠⹀꞊᐀━─]|[\\[\uff3b]"
)
_DECORATION = re.compile(r"^[^\w=#\[]+|^_+")  # a list's or an emphasis' signs, and other signs before the first word
_TWO_EQUALS = re.compile(r"=\s*=")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def guarded(text: str, poses: Poses) -> tuple[str, int]:
    """The text with those of its lines quoted that pose as something, and how many those are; without any, as it was."""
    lines = in_lines(text)
    posing = {line for line in set(lines) if _MAY_POSE.search(line) and poses(line)}
    if not posing:
        return text, 0
    quoted = [f"> {revealed(line.lstrip())}" if line in posing else line for line in lines]
    return "\n".join(quoted), sum(line in posing for line in lines)


def in_lines(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return _LINE_ENDS.sub("\n", text).split("\n")


def as_a_heading(line: str) -> bool:
    """Whether a reader could take a line for a heading of a payload, or for the mark of a brief."""
    seen = _seen(line)
    handover = seen.startswith("#") and " ".join(seen.strip("# ").lower().split()).startswith(_HANDOVERS)
    return bool(_title(seen)) or handover or _is_mark(seen)


def as_one_of_ours(line: str) -> bool:
    """Whether it is a heading that a payload or a brief has; others may be an author's own."""
    seen = _seen(line)
    return _title(seen) in _RESERVED or _is_mark(seen)


def as_the_payloads(line: str) -> bool:
    """Whether it is a heading that only a payload has, and no brief."""
    return _title(_seen(line)) in (BODY_TITLE, MEMORY_TITLE)


def _title(seen: str) -> str:
    return " ".join(seen.strip("= ").split()).upper() if _TWO_EQUALS.match(seen) else ""


def _is_mark(seen: str) -> bool:
    folded = as_read(_DASHES.sub("-", seen)).lower()
    return recalled.OPENING in folded or recalled.CLOSING in folded


def _seen(line: str) -> str:
    """What a reader sees of a line: compatibility forms as what they look like, without what has no width or decorates.

    Nothing of a line that is quoted already: that poses as nothing.
    """
    if line.lstrip().startswith(">"):
        return ""
    plain = unicodedata.normalize("NFKC", without_unseen(line.translate(_LIKE_EQUALS)))
    seen = "".join(char for char in plain if unicodedata.category(char) not in ("Cf", "Cc", "Mn", "Me", "Co"))
    return _DECORATION.sub("", seen).rstrip("*_ \t")
