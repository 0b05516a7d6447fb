"""Secrets and personal values, found by their shape and replaced by what they are.

For text that is recorded, or made from what was recorded and goes further than the store: drafts of skills, prompts for
a model. It prefers a miss to a false alarm where a shape is shared with harmless things (commit ids, UUIDs, hashes); what
it replaces it replaces whole, and the name before it stays. It knows nothing of where text comes from or goes to.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence

from experience.shapes import PERSONAL, SECRETS, Shape, span

_SURE = 4  # rounds: what is put in the place of a value may stand beside another one
_ALL = (*SECRETS, *PERSONAL)
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def masked(text: str, allowed: str = "", *, personal: bool = True) -> tuple[str, Counter[str]]:
    """The text with each secret as `[kind]`, and how many of each kind there were; with `personal` personal values too.

    Kinds of secrets are key, token, credentials and secret, of personal values email, phone, card, iban, ssn and address.
    What stands in `allowed` too is left as it is: it is known already to whoever will read the text. Masking what is
    masked already changes nothing.
    """
    counts: Counter[str] = Counter()
    for _ in range(_SURE):
        found: Counter[str] = Counter()
        for shape in plausible(text, personal=personal):
            text = _replaced(text, shape, allowed, found)
        counts += found
        if not found:
            break
    return text, counts


def plausible(text: str, *, personal: bool = True) -> Sequence[Shape]:
    """The shapes of which something may stand in a text: few or none in most, and found out in no time."""
    small = folded(text)
    return [shape for shape in (_ALL if personal else SECRETS) if _may_hold(shape, text, small)]


def _may_hold(shape: Shape, text: str, small: str) -> bool:
    parts = shape.anchors or shape.hints
    return not parts or any(part in (small if part.islower() else text) for part in parts)


def _replaced(text: str, shape: Shape, allowed: str, counts: Counter[str]) -> str:
    pieces: list[str] = []
    at = 0
    for found in _found(text, shape):
        start, end = span(found)
        if start < at or not shape.is_one(found) or (allowed and text[start:end] in allowed):
            continue
        pieces += [text[at:start], f"[{shape.kind}]"]
        counts[shape.kind] += 1
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _found(text: str, shape: Shape) -> Iterator[re.Match[str]]:
    """What reads like the shape, from left to right; where it has anchors, only what begins with one is looked at."""
    if not shape.anchors:
        yield from shape.pattern.finditer(text)
        return
    small = folded(text)
    for at in sorted({at for anchor in shape.anchors for at in _places(small if anchor.islower() else text, anchor)}):
        if found := shape.pattern.match(text, at):
            yield found


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def folded(text: str) -> str:
    """The text in small letters, each where it was: of what becomes longer when it is made small only the Latin ones."""
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_SMALL)
