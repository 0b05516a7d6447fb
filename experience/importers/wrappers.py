"""What agents' programs put around and between what a person wrote, as marks in the text, and how it is taken off.

It looks for marks and never for meaning.
"""

from collections.abc import Iterable


def element(text: str, name: str) -> str | None:
    """What stands between `<name>` and `</name>`, the first of them; None where there is none."""
    start = text.find(f"<{name}>")
    end = text.find(f"</{name}>", start)
    return None if start < 0 or end < 0 else text[start + len(name) + 2 : end].strip()


def without(text: str, names: Iterable[str]) -> str:
    """The text without elements of these names and what is in them; one that nothing ends stays."""
    for name in names if "<" in text else ():
        opening, closing = f"<{name}", f"</{name}>"
        pieces: list[str] = []
        at = 0
        while (start := _opening(text, opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
            pieces.append(text[at:start])
            at = end + len(closing)
        text = "".join([*pieces, text[at:]]) if pieces else text[at:]
    return text.strip()


def begins_with(text: str, names: Iterable[str]) -> bool:
    """Whether the first thing in a text is one of these elements."""
    start = text[:200].lstrip()
    return start.startswith("<") and any(_opening(start, f"<{name}", 0) == 0 for name in names)


def _opening(text: str, opening: str, at: int) -> int:
    """Where the next opening mark is, with attributes or without; -1 where there is none."""
    while (found := text.find(opening, at)) >= 0:
        if text[found + len(opening) : found + len(opening) + 1] in {">", " ", "\n"}:
            return found
        at = found + len(opening)
    return -1
