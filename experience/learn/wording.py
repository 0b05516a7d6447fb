"""What situations have in common, in their own words: the phrases that runs share, and never what only one of them said.

A skill must say when it applies without telling whose flight it was. So what belongs to one run (see `words`) is left out,
and so are words that only one of several situations holds. Pure: texts in, texts out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experience.learn.words import LINK_KEYS, LINKS, SENTENCE_END, Casing, Token, tokenised, with_next
from experience.tokens import is_unspaced

_LONGEST_PHRASE = 5  # words
_ENOUGH_SAID = 3  # words of weight
_LONGEST_RUN = 12  # letters, where there are no spaces between words
_GERMAN = frozenset("der die das und ist ein eine einen nicht mit für auf von zu den dem ich wie".split())
_GERMAN_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that situations share."""

    text: str
    support: int
    """In how many runs."""


def shared_phrases(situations: Sequence[str], casing: Casing, most: int = 4) -> tuple[Phrase, ...]:
    """Phrases that at least half of the runs share (a third, when none is; all, when there are two), the widest spread first.

    One situation a run, repeats being runs of their own. Where the situations differ, a phrase stands in at least two that
    do; where they are all the same, names and values are what is left out. Order does not depend on the order of the runs.
    """
    counts = Counter(situations)
    needed = 2 if len(counts) > 1 else 1
    holders: dict[tuple[str, ...], list[str]] = {}
    surfaces: dict[tuple[str, ...], Counter[str]] = {}
    places: dict[tuple[str, ...], int] = {}
    for situation in sorted(counts):
        for place, (key, surface) in enumerate(dict.fromkeys(_phrases(situation, casing, opening=needed == 1))):
            places.setdefault(key, place)
            where = holders.setdefault(key, [])
            if not where or where[-1] != situation:
                where.append(situation)
            surfaces.setdefault(key, Counter())[surface] += counts[situation]
    support = {key: sum(counts[text] for text in where) for key, where in holders.items() if len(where) >= needed}
    for share in (2, 3):
        wide = {key: number for key, number in support.items() if number * share >= len(situations)}
        if wide:
            return _chosen(wide, surfaces, places, most)
    return ()


def example(situations: Sequence[str], casing: Casing, longest: int = 160) -> str:
    """The situation that has most in common with the others, what is its own replaced by …; empty when little is left."""
    distinct = sorted(set(situations))
    spread = Counter(key for text in distinct for key in {token.key for token in tokenised(text) if token.key})
    needed = min(2, len(distinct))

    def shown(text: str) -> list[str]:
        words = []
        for token, following in with_next(tokenised(text)):
            kept = token.key in LINK_KEYS or (
                token.key and spread[token.key] >= needed and not casing.is_name(token, following)
            )
            if kept or (not token.key and token.initial):
                words.append(token.surface)
            elif not words or words[-1] != "…":
                words.append("…")
        return words

    def worth(text: str) -> tuple[float, int, str]:
        words = shown(text)
        kept = sum(word != "…" and word.casefold() not in LINKS for word in words)
        return (-kept / (len(words) + 4), len(text), text)

    words = shown(min(distinct, key=worth))
    weighty = sum(word[:1].isalpha() and word.casefold() not in LINKS for word in words)
    if weighty < 2 or words.count("…") > weighty:  # noqa: PLR2004 (it would say too little)
        return ""
    return _joined(words, longest)


def _joined(words: Sequence[str], longest: int) -> str:
    text = ""
    for word in words:
        glued = not text or (not word[:1].isalnum() and word != "…") or (is_unspaced(word) and is_unspaced(text[-1]))
        longer = text + ("" if glued else " ") + word
        if len(longer) > longest - 2:
            return f"{text.rstrip(' …')} …"
        text = longer
    text = re.sub(r"(?:…[\s.,;:!?]*){2,}", "… ", text)
    return re.sub(r"…\s?[.,;:!?]+", "…", text).strip()


def _phrases(situation: str, casing: Casing, *, opening: bool) -> Iterable[tuple[tuple[str, ...], str]]:
    """Every run of words within a sentence that begins and ends with a word of weight, and holds no value and no name.

    With `opening` only from the first sentences, where one that stands for itself says what it is about.
    """
    segment: list[Token] = []
    german = len({token.surface.casefold() for token in tokenised(situation)} & _GERMAN) >= _GERMAN_ENOUGH
    tokens = _opening(tokenised(situation)) if opening else tokenised(situation)
    for token, following in [*with_next(tokens), (Token("", "", initial=True), None)]:
        if token.key and (german or not casing.is_name(token, following)):
            segment.append(token)
            continue
        yield from _runs(segment)
        segment = []


def _opening(tokens: Sequence[Token]) -> Sequence[Token]:
    """The first sentence, and those after it until some words of weight have been said."""
    weighty = 0
    for at, token in enumerate(tokens):
        weighty += bool(token.key) and token.surface.casefold() not in LINKS
        if weighty >= _ENOUGH_SAID and SENTENCE_END.search(token.surface):
            return tokens[:at]
    return tokens


def _runs(segment: Sequence[Token]) -> Iterable[tuple[tuple[str, ...], str]]:
    for start, first in enumerate(segment):
        unspaced = is_unspaced(first.surface)
        if not unspaced and first.surface.casefold() in LINKS:
            continue
        letters = 0
        for end in range(start + 1, len(segment) + 1):
            last = segment[end - 1]
            letters += unicodedata.category(last.surface[0])[0] != "M"
            if letters > (_LONGEST_RUN if unspaced else _LONGEST_PHRASE) or is_unspaced(last.surface) != unspaced:
                break
            if (unspaced and end - start < 2) or (not unspaced and last.surface.casefold() in LINKS):  # noqa: PLR2004
                continue
            words = segment[start:end]
            yield tuple(word.key for word in words), ("" if unspaced else " ").join(w.surface.lower() for w in words)


def _chosen(
    support: dict[tuple[str, ...], int],
    surfaces: dict[tuple[str, ...], Counter[str]],
    places: dict[tuple[str, ...], int],
    most: int,
) -> tuple[Phrase, ...]:
    """The best phrases, none of them part of another; of equally good ones what comes first in a situation."""

    def worth(key: tuple[str, ...]) -> tuple[float, int, tuple[str, ...]]:
        weight = sum(word not in LINK_KEYS for word in key)
        return (-support[key] * (weight**0.7), places[key], key)

    picked: list[tuple[str, ...]] = []
    for key in sorted(support, key=worth):
        weighty = {word for word in key if word not in LINK_KEYS}
        if not any(weighty & set(other) for other in picked):
            picked.append(key)
        if len(picked) == most:
            break
    return tuple(Phrase(_commonest(surfaces[key]), support[key]) for key in picked)


def _commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda text: (-counts[text], text))


def weighty_words(phrase: str) -> list[str]:
    """The words of a phrase that say what it is about; of a script without spaces the phrase as it is."""
    return [word for word in phrase.split() if word not in LINKS]
