"""Whether two sentences claim the same, and whether one may be told at all.

Both are decided by arithmetic on words, so that a proposal is answered at once and the same way everywhere. The tests are
those of the founding system for languages that put spaces between words, and the same idea over pairs of characters for
those that do not. Nothing here knows who said a sentence or what has become of it.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from experience.screen import hazards
from experience.tokens import cut_unspaced

_LONG_WORD = 3  # a word has to be longer, or to hold a digit, to tell one claim from another
_SAME = 0.8  # Jaccard from which on two claims are one
_FEWEST_CONTAINED = 3  # words of a claim that another may contain
_MOST_ADDED = 2.0  # how much longer the other may be

_NEGATIONS = frozenset(
    "not no nor never t cannot without unless neither none"  # t is what splitting leaves of don't
    " nicht kein keine keinen keiner nie niemals ohne pas jamais nunca jamás ningún não sem niet geen inte ej nelze není nie nem لا لم لن değil non senza не нет без никогда".split()
)
_FILLERS = frozenset(
    "a an the is are was be to of and or so as it its by at for has had do does did don doesn didn isn aren wasn".split()
)
_UNSPACED_NEGATION = re.compile("[不没沒无無未勿别別非]|ない|ません|なし|않|못|없|금지|ไม่|อย่า|ห้าม")
_WORD = re.compile(r"[^\W_]+")
_NUMERAL = re.compile("[〇一二两兩三四五六七八九十百千万萬]+")

_BREAKS_OUT = ("==", "```")
_OVERRIDES = (
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "disregard previous",
    "disregard the above",
    "disregard all",
    "you are now",
    "from now on you",
    "new instructions",
    "override the",
    "instead of what you were told",
    "regardless of your instructions",
)
_OWN_TOOLS = (
    "layover_", "propose_learning", "correct_learning", "ask_for_help", "memory_read", "recall_experience", "record_episode",
    "report_outcome", "experience learn", "experience record", "experience label",
)  # fmt: skip
_URLS = ("http://", "https://", "www.")
_SECRET = re.compile(r"[A-Za-z0-9_+-]{20,}")

WANTED = "a learning is one plain sentence about what was found to be so, with nothing to obey, follow or keep secret"


class Objection(NamedTuple):
    """Why a sentence may not be told."""

    kind: str
    """BreaksOut, Overrides, NamesATool, CarriesAUrl, LooksLikeASecret, Hides: the first that applies, in this order."""
    reason: str


def same_claim(one: str, other: str) -> bool:
    """Whether two sentences claim the same: few words differ, or one adds a little to the other, and neither denies it.

    Words are lower-cased runs of letters and digits, longer than three or with a digit in them, and pairs of characters of
    scripts without spaces. Jaccard of at least 0.8, or a smaller set of at least three that the other contains and at most
    doubles. Where each has a number, or a word of three letters and less, that the other lacks (8443 and 8444, on and off,
    EU and US), they are two claims.
    """
    first, second = _claim(one), _claim(other)
    if first.denies != second.denies or not first.words or not second.words:
        return False
    if first.telling - second.telling and second.telling - first.telling:
        return False
    smaller, larger = sorted((first.words, second.words), key=len)
    if len(smaller & larger) / len(smaller | larger) >= _SAME:
        return True
    return smaller <= larger and len(smaller) >= _FEWEST_CONTAINED and len(larger) <= _MOST_ADDED * len(smaller)


def same_words(one: str, other: str) -> bool:
    """Whether two sentences differ in case, punctuation and white space only."""
    return _WORD.findall(_folded(one)) == _WORD.findall(_folded(other))


def objection(text: str) -> Objection | None:
    """Why a sentence may not be kept as a learning; None when it may."""
    flat = " ".join(text.split())  # as it will be told
    folded, kinds = flat.lower(), {hazard.kind for hazard in (*hazards(text), *hazards(flat))}
    phrase = next((phrase for phrase in _OVERRIDES if phrase in folded), None)
    tool = next((name for name in _OWN_TOOLS if name in folded), None)
    objections = (
        ("BreaksOut", any(mark in text for mark in _BREAKS_OUT), "it holds == or ```, which open and close sections; say it in plain words"),
        ("BreaksOut", "tool-call" in kinds, f"it looks like a call of a tool or a turn of a conversation; {WANTED}"),
        ("Overrides", phrase, f"it says {phrase!r}, which sets instructions aside; {WANTED}"),
        ("Overrides", "override" in kinds, f"it sets instructions aside or hides from the user; {WANTED}"),
        ("NamesATool", tool, f"it names a tool of the memory itself ({tool}); {WANTED}"),
        ("CarriesAUrl", any(mark in folded for mark in _URLS) or "url" in kinds, f"it holds an address; name the thing instead: {WANTED}"),
        ("LooksLikeASecret", any(map(_looks_secret, _SECRET.findall(text))), f"it holds what looks like a key or token; leave it out: {WANTED}"),
        ("LooksLikeASecret", "secret" in kinds, f"it holds a secret or somebody's personal data; leave it out: {WANTED}"),
        ("Hides", "unseen" in kinds, f"it holds characters that nobody sees; {WANTED}"),
    )  # fmt: skip
    return next((Objection(kind, reason) for kind, holds, reason in objections if holds), None)


class _Claim(NamedTuple):
    words: frozenset[str]
    telling: frozenset[str]
    """Numbers and short words, which alone part one claim from another."""
    denies: bool


@lru_cache(maxsize=4096)
def _claim(text: str) -> _Claim:
    folded = _folded(text)
    spaced, pairs = cut_unspaced(folded)
    runs = [run for part in spaced for run in _WORD.findall(part)]
    numbers = {run for run in runs if any(char.isdigit() for char in run)} | set(_NUMERAL.findall(folded))
    words = {run for run in runs if len(run) > _LONG_WORD} | numbers.intersection(runs)
    short = {run for run in runs if len(run) <= _LONG_WORD} - _FILLERS - _NEGATIONS
    denies = not _NEGATIONS.isdisjoint(runs) or bool(_UNSPACED_NEGATION.search(folded))
    return _Claim(frozenset(words | set(pairs)), frozenset(numbers | short), denies)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _looks_secret(run: str) -> bool:
    return any(char.isdigit() for char in run) and any("A" <= char <= "Z" for char in run)
