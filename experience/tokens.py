"""The one tokeniser behind every keyword index.

Indexes differ in how they cut text, and what was cut differently at writing and at asking is not found. So the cutting
happens here, in plain Python, and an index stores what comes out as opaque words:

- words are case-folded, accents on Latin letters dropped, English endings stemmed (Snowball's English stemmer, Porter 2);
- identifiers, paths, flags and versions (`deploy.sh`, `--dry-run`, `snake_case`, `camelCase`, `k8s`, `C++`) come out
  whole and in parts;
- Chinese, Japanese, Korean, Thai and others that put no spaces between words come out as single characters and as
  pairs (bigrams, as in Lucene's CJKAnalyzer), and are cut loose from ASCII words glued to them.

It knows no index and no language beyond that; stop words are a matter of the query, so that a text's own words are all kept.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator

import Stemmer

_LONGEST_CHUNK = 4096  # characters of one run of word characters and joints that are looked at
_MOST_MARKS = 1000  # characters normalised at once: sorting the marks heaped on one letter takes their number squared
_MOST_REMEMBERED = 50_000  # words whose tokens are kept
_LONGEST = 64  # characters of one token; what is longer is data (base64, hashes joined), and its beginning will do

_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han, Hiragana, Katakana
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\U00020000-\U0003ffff"  # Han beyond the first plane
)
_HAN = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL = re.compile("[\uac00-\ud7ff]")
# \w knows letters and digits but not the marks that write vowels in Arabic, Hebrew and the scripts of India.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0970-\u0dff"
)
MARKS = _MARKS + "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0f35-\u0f84\u102b-\u109d\u17b4-\u17d3"
"""Marks that belong to the letter before them, those of scripts without spaces too; a range for a regular expression."""
_WORD = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
# A run without spaces, or a run of word characters with the joints that identifiers have, a flag's dashes before it and
# a language's plus or sharp after it.
WORD_RUN = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
"""Letters, digits and the marks that belong to them, of any script."""
_CHUNK = re.compile(rf"(?P<run>[{_UNSPACED}]+)|-{{0,2}}{_WORD}+(?:[-._/\\:@~+#=]+{_WORD}+)*(?:\+\+|\#(?!\w))?")
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
"""Characters of scripts that put no spaces between words."""
_WORDLIKE = re.compile(rf"\S{{1,{_MOST_MARKS}}}")
_PIECE = re.compile(rf"{_WORD}+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ACCENTED = re.compile("[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]")

# Lucene's English stop words, with pronouns, auxiliaries and question words. Words that tell one task from another stay:
# "under", "off", "them", "some".
STOP_WORDS = frozenset(
    "a am an and are as at be been being but by can could did do does doing for had has have having he her hers him his how "
    "i if in into is it its may me might mine must my no not of on or our ours please she should such than that the their "
    "then there these they this to us was we were what when where which who whom whose why will with would you your "
    "yours".split()
)


class _English(threading.local):
    """A stemmer holds a buffer of its own and must not be shared between threads."""

    def __init__(self) -> None:
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english").stemWord


_english = _English()


def tokens(text: str) -> list[str]:
    """Every token of a text that is to be found, in order, repeats kept."""
    return cut(text).split()


def cut(text: str) -> str:
    """The same, parted by single spaces."""
    return " ".join(filter(None, map(_cuts.__getitem__, text.split())))  # no token reaches over white space


def has_words(text: str) -> bool:
    """Whether there is anything in a text to look for."""
    return next(_tokens(text, asking=True), None) is not None


def stem(word: str) -> str:
    """What an index makes of one word: case-folded and, when English letters, stemmed."""
    return _normal(word)


def is_unspaced(word: str) -> bool:
    """Whether a word begins in a script that puts no spaces between words."""
    return bool(UNSPACED_RUN.match(word))


def cut_unspaced(text: str) -> tuple[list[str], list[str]]:
    """The parts of a text in scripts that put spaces between words, and the pairs of characters of the others."""
    runs = UNSPACED_RUN.findall(text)
    pairs = [run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))]
    return [part for part in UNSPACED_RUN.split(text) if part], pairs


def query_terms(text: str) -> list[str]:
    """The distinct tokens to look for, in order of appearance.

    Parts of one letter, and the single characters of a longer run of Chinese or Korean, are left out: they would match
    everything. English stop words are left out unless there is nothing else.
    """
    terms = list(dict.fromkeys(_tokens(text, asking=True)))
    return [term for term in terms if term not in STOP_TERMS] or terms


def _tokens(text: str, *, asking: bool) -> Iterator[str]:
    for match in _CHUNK.finditer(_normalised(text)):
        if match["run"]:
            yield from _run_tokens(match["run"], asking=asking)
        else:
            yield from _cut(match.group()[:_LONGEST_CHUNK], asking)


class _Cuts(dict[str, str]):
    """What is made of a word between white space. Words repeat; what is longer than a word seldom comes again."""

    def __missing__(self, word: str) -> str:
        made = " ".join(_tokens(word, asking=False))
        if len(word) <= _LONGEST:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = made
        return made


_cuts = _Cuts()


def _normalised(text: str) -> str:
    if text.isascii():
        return text
    return _WORDLIKE.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)


def _cut(chunk: str, asking: bool) -> tuple[str, ...]:
    """A word alone; an identifier whole, by its words, and by the parts of those."""
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.isupper() or chunk.istitle()):
        return (_normal(chunk),)
    folded = _ACCENTED.sub(_plain_letter, chunk)
    parts = [folded, folded.lstrip("-"), *re.split(r"[/\\:=@]+", folded)]
    for piece in _PIECE.findall(folded):
        humps = [hump for word in piece.split("_") for hump in _HUMP.findall(word)] if piece.isascii() else []
        parts += [piece, *humps]
    if asking:
        parts = [part for part in parts if len(part) > 1] or parts
    return tuple(token for token in dict.fromkeys(map(_normal, parts)) if token)


def _normal(word: str) -> str:
    folded = word.casefold()[:_LONGEST].strip("_")
    return _english.stem(folded) if folded.isascii() and folded.isalpha() else folded


def _plain_letter(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFD", match.group())[0]


def _run_tokens(run: str, *, asking: bool) -> Iterator[str]:
    last = len(run) - 1
    for at, char in enumerate(run):
        if not asking or last == 0 or _stands_alone(run, at):
            yield char
        if at < last:
            yield run[at : at + 2]


def _stands_alone(run: str, at: int) -> bool:
    """A single Chinese character between kana is a Japanese word of its own."""
    neighbours = run[max(at - 1, 0) : at] + run[at + 1 : at + 2]
    return bool(_HAN.match(run[at])) and not _HAN.search(neighbours) and not _HANGUL.search(neighbours)


STOP_TERMS = frozenset(map(_normal, STOP_WORDS))
"""Stop words as tokens."""
