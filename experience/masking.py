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

from experience.shapes import BEFORE_TOKEN, LONG, PERSONAL, SECRETS, Shape, span

_SURE = 4  # rounds: what is put in the place of a value may stand beside another one
_ALL = (*SECRETS, *PERSONAL)
_HINTS = [shape.hints or shape.anchors for shape in _ALL]
_NUMBERS = {part: [at for at, hints in enumerate(_HINTS) if part in hints] for part in chain.from_iterable(_HINTS)}
_LONG_ONLY = tuple(part for part, shapes in _NUMBERS.items() if all(_ALL[at].long for at in shapes))
_WORD = re.compile(r"\w+")
_LARGE = 4_096  # characters of what reads like a shape
_LONG_HEAD = 22  # characters of a word from which on two letters may be all that it begins with
# Of what a long word holds, most begins a word of its own: by the beginning of those a hundred questions are one.
_BY_HEAD: dict[str, list[str]] = {}
for _part in _LONG_ONLY:
    if _head := _WORD.match(_part):
        _BY_HEAD.setdefault(_head[0][:3], []).append(_part)
_IN_LONG = tuple(part for part in _LONG_ONLY if not _WORD.match(part) or "/" in part[3:])
_PERSONAL = [part for part, shapes in _NUMBERS.items() if min(shapes) >= len(SECRETS)]
_OTHERS = [part for part in _NUMBERS if part not in {*_LONG_ONLY, *_PERSONAL}]
_AS_IS = [part for part in _OTHERS if part != part.lower()]
# What many have in common is asked first.
_COMMON = ("pass", "auth", "=", " -")
_GATED: dict[str, list[str]] = {}
for _part in _OTHERS:
    if _part not in _AS_IS:
        _GATED.setdefault(next((one for one in _COMMON if one in _part), _part), []).append(_part)
_GATES = tuple(_GATED)
_ANYWHERE = [shape for shape, hints in zip(_ALL, _HINTS, strict=True) if not hints]
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def masked(
    text: str, allowed: str = "", *, personal: bool = True, among: Sequence[Shape] | None = None
) -> tuple[str, Counter[str]]:
    """The text with each secret as `[kind]`, and how many of each kind there were; with `personal` personal values too.

    Kinds of secrets are key, token, credentials and secret, of personal values email, phone, card, iban, ssn and address.
    What stands in `allowed` too is left as it is: it is known already to whoever will read the text. Masking what is
    masked already changes nothing. `among` are the shapes that are `plausible` in a text that this one is a part of.
    """
    counts: Counter[str] = Counter()
    for again in range(_SURE):
        found: Counter[str] = Counter()
        for shape in plausible(text, personal=personal) if again or among is None else among:
            text = _replaced(text, shape, found, lambda kind, _: f"[{kind}]", allowed)
        if not found:
            break
        counts.update(found)
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
    parts = [part for gate in _GATES if gate in small for part in _GATED[gate] if part in small]
    parts += [part for part in _AS_IS if part in text]
    if personal:
        parts += [part for part in _PERSONAL if part in small]
    if long := " ".join([word for word in text.split() if len(word) >= LONG]):
        words = _WORD.findall(long)
        if not long.isascii() or any(sign in long for sign in "\\%=["):
            words += _WORD.findall(BEFORE_TOKEN.sub(" ", long))
        heads = {word[:3] for word in words} | {word[:2] for word in words if len(word) >= _LONG_HEAD}
        parts += [part for head in heads & _BY_HEAD.keys() for part in _BY_HEAD[head] if part in long]
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
    end = 0
    for at in sorted(set(places)):
        if at >= end and (found := shape.pattern.match(text, at)):
            yield found
            if found.end() - at > _LARGE:  # looked at once, however many beginnings it holds
                end = found.end()


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _folded(text: str) -> str:
    """The text in small letters, each where it was: of what becomes longer when it is made small only the Latin ones."""
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_SMALL)
