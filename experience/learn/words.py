"""The words of a situation, and whether they belong to one run alone: names, numbers, dates, codes, addresses.

Names are told by their capitals, as in truecasing (Lita and others, ACL 2003): a word that is written with a capital
inside sentences more often than not is one. Pure: texts in, words out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from experience.masking import masked
from experience.tokens import MARKS, STOP_WORDS, is_unspaced, stem

_MOST_TOKENS = 400  # of one situation; what comes later says little about what it is about
_TOKEN = re.compile(
    r"""(?x)
    (?P<value> \[\w+\] | `[^`\n]{0,200}` | "[^"\n]{0,200}" | “[^”\n]{0,200}” | «[^»\n]{0,200}» | 「[^」\n]{0,200}」
        | (?<!\w)\w{1,20}://\S+ | (?<![\w.+-])[\w.+-]{1,64}@[\w.-]+ | (?<![\w.@%+/-])(?:~|\.{0,2})(?:/[\w.@%+-]+)+/?
        | (?<![\w.@%+/-])[\w@%+-]{1,100}(?:/[\w.@%+-]+){2,} | [A-Za-z]:\\\S+
        | [$€£¥₹]\s?\d[\d.,]*\w* | \d[\d.,:/-]*\d?\s?[€%°] )
    | (?P<word> [^\W_](?:[^\W]|MARKS|[./:@-](?=[^\W_])|['’](?!s\b)(?=[^\W_]))* )
    | (?P<genitive> ['’]s\b )
    | (?P<end> [.!?;:,()\n。！？、，；：…|/—–-]+ )
    """.replace("MARKS", f"[{MARKS}]")
)
_TECHNICAL = re.compile(r"[a-z]{1,8}\d{1,3}[a-z]{0,4}|\d[a-z]{1,3}")
_MEASURE = re.compile(r"\d(?:st|nd|rd|th|am|pm|hr?s?|min|ms|s|kg|g|lbs?|km?|cm|mm|m|usd|eur|gbp|[kmgt]b|x|pt|d|w|y)")
_JOINTS = re.compile(r"([-_/.:@]+)")
_MOST_PIECES = 8  # of a code, joints included
_WORDLIKE = re.compile(r"[^\W_](?:[\w.:/,-]*\w)?")
SENTENCE_END = re.compile(r"[.!?\n。！？:]")
_DATES = frozenset(
    "january february march april june july august september october november december jan feb mar apr jun jul aug sept sep "
    "oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun am pm est "
    "pst cst edt pdt utc gmt".split()
)
_GREETINGS = frozenset(
    "hi hello hey there please thanks thank dear sir madam good morning afternoon evening today i'm i'd i've i'll im id ive "
    "need want like would let's help get got hoping wondering looking could trying some any many much about from also both "
    "just really very more most so too out up down over only then now here other another one after before during while until "
    "without within between through against around across again".split()
)
_ELSEWHERE = frozenset(  # of other languages, the words that link
    "der die das den dem des und ist ein eine einen einem für mit auf von zu im am ich wir mir wie nicht bitte bei aus "
    "le la les un une du de et est pour avec sur dans que qui je nous vous mon ma mes ne pas au aux ce cette "
    "el los las y es para con en por se mi su del al lo os um uma do da dos das com em na nos il gli di che per nel della "
    "на в и по с из за к о у для мне мою мой моя это что как не".split()
)
LINKS = STOP_WORDS | _GREETINGS | _ELSEWHERE
LINK_KEYS = frozenset(map(stem, LINKS))
_LINK_CHARS = frozenset("的了吗把我你您他她帮并与呢吧这那をはがの")  # between words, where nothing else parts them


class Token(NamedTuple):
    """One word of a situation, or a place where a phrase ends."""

    surface: str
    key: str
    """By which words are compared: its stem; empty for a place where a phrase ends, or where a value stood."""
    initial: bool
    """Whether it opens a sentence, where everything has a capital."""


class Casing:
    """How words are written inside sentences, over all situations of a store."""

    def __init__(self, situations: Iterable[str]) -> None:
        self._seen: Counter[tuple[str, bool]] = Counter()
        for situation in dict.fromkeys(situations):
            for token in tokenised(situation):
                if token.key and not token.initial:
                    self._seen[token.surface.casefold(), token.surface[:1].isupper()] += 1

    def is_name(self, token: Token, following: Token | None) -> bool:
        """Whether a word is a name: capitals inside sentences, or before another name at the beginning of one."""
        word = token.surface
        if not word[:1].isupper() or token.key in LINK_KEYS:
            return False
        if len(word) == 1:  # an initial
            return True
        low, high = (self._seen[word.casefold(), upper] for upper in (False, True))
        if high > low:
            return True
        if not token.initial:
            return high >= low
        return low == 0 and following is not None and not following.initial and self.is_name(following, None)


@lru_cache(maxsize=20_000)
def tokenised(situation: str) -> tuple[Token, ...]:
    """The words of a situation in order; values (numbers, dates, addresses, quotations) as empty keys."""
    found: list[Token] = []
    initial = True
    text, _ = masked(unicodedata.normalize("NFC", situation))
    for match in _TOKEN.finditer(text):
        if len(found) >= _MOST_TOKENS:
            break
        if match["end"]:
            found.append(Token(match["end"].strip(), "", initial=True))
            letter = (
                bool(found[-2:-1]) and len(found[-2].surface) == 1 and match["end"][0] == "."
            )  # an initial: J. Smith
            initial = (initial and not letter) or (bool(SENTENCE_END.search(match["end"])) and not letter)
            continue
        if match["genitive"]:
            continue
        if match["value"]:
            found.append(Token("…", "", initial=False))
        elif is_unspaced(match["word"]):
            for char in match["word"]:
                linked = char in _LINK_CHARS or unicodedata.category(char)[0] not in "LM"
                found.append(Token(char, "" if linked else char, initial=linked))
        else:
            word = match["word"]
            found.append(Token("…", "", initial=False) if _is_value(word) else Token(word, stem(word), initial=initial))
        initial = False
    return tuple(found)


def _is_value(word: str) -> bool:
    """A date, a number, a code: whatever holds a digit, but for technical words such as k8s, s3, oauth2 and 2fa."""
    if word.casefold() in _DATES:
        return True
    return any(char.isdigit() for char in word) and not (_TECHNICAL.fullmatch(word) and not _MEASURE.fullmatch(word))


def own_words(situations: Sequence[str], casing: Casing) -> frozenset[str]:
    """Values and names that belong to single runs: names and whatever has digits, that no two different situations share.

    In their bare form: case-folded letters and digits. Of numbers those of three characters and more; short ones are
    everywhere.
    """
    spread: Counter[str] = Counter()
    distinct = set(situations)
    for situation in distinct:
        found = {token.surface for token, following in with_next(tokenised(situation)) if token.key and casing.is_name(token, following)}  # fmt: skip
        values = (match["word"] or match["value"] or "" for match in _TOKEN.finditer(situation))
        found.update(
            value for value in values if any(char.isdigit() for char in value) and not _TECHNICAL.fullmatch(value)
        )
        spread.update({_bare(word) for word in found})
    most = min(len(distinct), 1)
    return frozenset(word for word, times in spread.items() if times <= most and len(word) >= 3)  # noqa: PLR2004


def without(words: frozenset[str], text: str) -> str:
    """A text with each of these words as …, whatever joins them to others or parts them within."""

    def replace(found: re.Match[str]) -> str:
        pieces = _JOINTS.split(found.group())  # words at even places, joints at odd ones
        ends = range(0, len(pieces), 2)
        own = [
            (a, b)
            for a in ends
            for b in ends
            if a <= b <= a + _MOST_PIECES and _bare("".join(pieces[a : b + 1])) in words
        ]
        for a, b in own:
            pieces[a : b + 1] = ["…" if at == a else "" for at in range(a, b + 1)]
        return "".join(pieces)

    return re.sub(r"…(?:\s*…)+", "…", _WORDLIKE.sub(replace, text))


def _bare(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", word).casefold() if char.isalnum())


def with_next(tokens: Sequence[Token]) -> Iterable[tuple[Token, Token | None]]:
    """Each word with the one that follows it."""
    return [*pairwise(tokens), (tokens[-1], None)] if tokens else []
