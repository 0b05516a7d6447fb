"""Secrets and personal values, found by their shape and replaced by what they are.

For text that is recorded, or made from what was recorded and goes further than the store: drafts of skills, prompts for
a model. It prefers a miss to a false alarm where a shape is shared with harmless things (commit ids, UUIDs, hashes); what
it replaces it replaces whole, and the name before it stays. It knows nothing of where text comes from or goes to.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain

from experience.shapes import LONG, PERSONAL, SECRETS, Shape, span

_SURE = 4  # rounds: what is put in the place of a value may stand beside another one
_ALL = (*SECRETS, *PERSONAL)
_HINTS = [shape.hints or shape.anchors for shape in _ALL]
_NUMBERS = {part: [at for at, hints in enumerate(_HINTS) if part in hints] for part in chain.from_iterable(_HINTS)}
_IN_LONG = tuple(part for part, shapes in _NUMBERS.items() if all(_ALL[at].long for at in shapes))
_IN_SMALL, _AS_IS = (
    tuple(part for part in _NUMBERS if part not in _IN_LONG and part.islower() is small) for small in (True, False)
)
_ANYWHERE = [shape for shape, hints in zip(_ALL, _HINTS, strict=True) if not hints]
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
            text = _replaced(text, shape, found, lambda kind, _: f"[{kind}]", allowed)
        counts += found
        if not found:
            break
    return text, counts


def distinct(name: str) -> str:
    """A name without the tokens in it, each as `[token-` and twelve digits of its SHA-256: names that differ still do.

    Only what vendors' tokens look like is replaced: those are drawn from so many that a hash gives nothing away.
    """
    for shape in plausible(name, personal=False):
        if shape.kind == "token":
            name = _replaced(
                name, shape, Counter(), lambda kind, value: f"[{kind}-{sha256(value.encode()).hexdigest()[:12]}]"
            )
    return name


def plausible(text: str, *, personal: bool = True) -> Sequence[Shape]:
    """The shapes of which something may stand in a text: few or none in most, and found out in no time."""
    small = text.lower()
    parts = [part for part in _IN_SMALL if part in small] + [part for part in _AS_IS if part in text]
    if long := " ".join([word for word in text.split() if len(word) >= LONG]):
        parts += [part for part in _IN_LONG if part in long]
    shapes = sorted({number for part in parts for number in _NUMBERS[part]})
    return [_ALL[number] for number in shapes if personal or number < len(SECRETS)] + (_ANYWHERE if personal else [])


def _replaced(text: str, shape: Shape, counts: Counter[str], put: Callable[[str, str], str], allowed: str = "") -> str:
    pieces: list[str] = []
    at = 0
    for found in _found(text, shape):
        if found.start() < at or not shape.is_one(found):
            continue
        start, end = span(found)
        if start < at or (allowed and text[start:end] in allowed):
            continue
        pieces += [text[at:start], put(shape.kind, text[start:end])]
        counts[shape.kind] += 1
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _found(text: str, shape: Shape) -> Iterator[re.Match[str]]:
    """What reads like the shape, from left to right; where it has anchors, only what begins with one is looked at."""
    if not shape.anchors:
        yield from shape.pattern.finditer(text)
        return
    small = _folded(text)
    places = [at for anchor in shape.anchors for at in _places(small if anchor.islower() else text, anchor)]
    for at in sorted(set(places)):
        if found := shape.pattern.match(text, at):
            yield found


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _folded(text: str) -> str:
    """The text in small letters, each where it was: of what becomes longer when it is made small only the Latin ones."""
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_SMALL)
