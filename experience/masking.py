"""Secrets and personal values, found by their shape and replaced by what they are.

For text that is recorded, or made from what was recorded and goes further than the store: drafts of skills, prompts for
a model. It prefers a miss to a false alarm where a shape is shared with harmless things (commit ids, UUIDs, hashes); what
it replaces it replaces whole, and the name before it stays. It knows nothing of where text comes from or goes to.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

from experience.shapes import BEFORE_TOKEN, LONG, PERSONAL, SECRETS, Shape, span

_SURE = 4  # rounds: what is put in the place of a value may stand beside another one
_ALL = (*SECRETS, *PERSONAL)
_LARGE = 4_096  # characters of what reads like a shape
_LONG_HEAD = 22  # characters of a word from which on two letters may be all that it begins with
_WORD = re.compile(r"\w+")
_COMMON = ("pass", "auth", "=", " -")  # what many parts have in common is asked first


class _Index(NamedTuple):
    """What must stand in a text for a shape to be plausible there, in the order in which it is cheap to ask."""

    shapes: Mapping[str, Sequence[int]]
    """The numbers of the shapes, in `_ALL`, that a part hints at."""
    gates: Mapping[str, Sequence[str]]
    """Parts in small letters, by what they have in common."""
    as_is: Sequence[str]
    """Parts with capital letters."""
    personal: Sequence[str]
    by_head: Mapping[str, Sequence[str]]
    """Parts that begin a long word, by its first letters: by those a hundred questions are one."""
    in_long: Sequence[str]
    """Other parts of long words."""
    anywhere: Sequence[Shape]
    """Shapes without a hint."""


def _indexed(shapes: Sequence[Shape]) -> _Index:
    hints = [shape.hints or shape.anchors for shape in shapes]
    numbers = {part: [at for at, parts in enumerate(hints) if part in parts] for part in chain.from_iterable(hints)}
    of_long = [part for part, found in numbers.items() if all(shapes[at].long for at in found)]
    by_head: dict[str, list[str]] = {}
    for part in of_long:
        if head := _WORD.match(part):
            by_head.setdefault(head[0][:3], []).append(part)
    personal = [part for part, found in numbers.items() if min(found) >= len(SECRETS)]
    others = [part for part in numbers if part not in {*of_long, *personal}]
    gates: dict[str, list[str]] = {}
    for part in others:
        if part == part.lower():
            gates.setdefault(next((one for one in _COMMON if one in part), part), []).append(part)
    return _Index(
        shapes=numbers,
        gates=gates,
        as_is=[part for part in others if part != part.lower()],
        personal=personal,
        by_head=by_head,
        in_long=[part for part in of_long if not _WORD.match(part) or "/" in part[3:]],
        anywhere=[shape for shape, parts in zip(shapes, hints, strict=True) if not parts],
    )


_INDEX = _indexed(_ALL)
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
    small, index = text.lower(), _INDEX
    parts = [part for gate, parts in index.gates.items() if gate in small for part in parts if part in small]
    parts += [part for part in index.as_is if part in text]
    if personal:
        parts += [part for part in index.personal if part in small]
    if long := " ".join([word for word in text.split() if len(word) >= LONG]):
        words = _WORD.findall(long)
        if not long.isascii() or any(sign in long for sign in "\\%=["):
            words += _WORD.findall(BEFORE_TOKEN.sub(" ", long))
        heads = {word[:3] for word in words} | {word[:2] for word in words if len(word) >= _LONG_HEAD}
        parts += [part for head in heads & index.by_head.keys() for part in index.by_head[head] if part in long]
        parts += [part for part in index.in_long if part in long]
    shapes = sorted({number for part in parts for number in index.shapes[part]})
    return [_ALL[number] for number in shapes if personal or number < len(SECRETS)] + (
        list(index.anywhere) if personal else []
    )


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
