"""How the founding system told one kind of text from another, kept exactly, so that its results can be had again.

The order of the questions is the design. It looks at the first eight lines and uses no regular expressions; where it is
wrong is known, and `content` goes past it.
"""

from collections.abc import Sequence

from experience.episode import WHITE_SPACE
from experience.tell.kinds import Content

_HEAD_LINES = 8
_HEADING_AT_MOST = 6
_PROSE_WORDS = 5
_TWICE = 2
_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG")
_SPACES = str.maketrans(dict.fromkeys(WHITE_SPACE, " "))


def detect_founding(text: str) -> Content:
    """What kind of text this is, as the founding system said."""
    text = text.lstrip(WHITE_SPACE)
    if not text:
        return Content.UNKNOWN
    if text.startswith(("diff --git", "--- ", "@@ ")):
        return Content.DIFF
    if text.startswith(("{", "[", "<?xml")):
        return Content.STRUCTURED
    return _by_lines([line.removesuffix("\r") for line in text.split("\n", _HEAD_LINES)[:_HEAD_LINES]])


def _by_lines(head: Sequence[str]) -> Content:
    code = any(map(_looks_like_code, head))
    if any(line.startswith(("\\documentclass", "\\begin{document}")) for line in head):
        return Content.MARKUP
    if not code and sum(map(_is_heading, head)) >= _TWICE:
        return Content.MARKUP
    if sum("|" in line for line in head) >= _TWICE:
        return Content.TABLE
    if sum(map(_looks_logged, head)) >= _TWICE:
        return Content.LOG
    if code:
        return Content.CODE
    return Content.PROSE if any(map(_has_words, head)) else Content.UNKNOWN


def _is_heading(line: str) -> bool:
    title = line.lstrip("#")
    return 1 <= len(line) - len(title) <= _HEADING_AT_MOST and title.startswith(" ")


def _looks_logged(line: str) -> bool:
    return line.startswith((*"0123456789[", *_LEVELS))


def _looks_like_code(line: str) -> bool:
    return line.startswith(("fn ", "def ", "class ", "import ", "use ")) or line.endswith(("{", ";"))


def _has_words(line: str) -> bool:
    return sum(map(bool, line.translate(_SPACES).split(" "))) >= _PROSE_WORDS
