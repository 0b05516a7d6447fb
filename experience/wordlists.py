"""Lists of words: where each word of some documents stands, as the bytes that a store keeps.

Words are sorted and lie in blocks of some thirty: a row for each word would cost more than the short lists that most words
have, and a word that stands in many documents has a block of its own. A place is a number below 65,536; a weight is how
often a document says a word, in halves: once in the situation is two, in outcome or names one. Pure functions; they know
no file.
"""

import itertools
import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from experience.tokens import STOP_TERMS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_OFTEN = 255
"""The highest weight: what fits into a byte. More would make no difference to a score."""
_WORDS, _POSTINGS = 32, 256  # in a block, at most; a single word may have more postings

Words = tuple[str, str, str]
"""Situation, outcome and names, each cut into tokens that are parted by spaces."""


class Lists(NamedTuple):
    """Words, sorted, and their lists one behind the other."""

    words: Sequence[str]
    ends: Sequence[int]
    """For each word, where its list ends and the next begins."""
    places: bytes
    """uint16, ascending within a word."""
    weights: bytes
    """uint8."""


class Block(NamedTuple):
    """Some neighbouring words with their lists, as a row."""

    first: str
    last: str
    words: str
    """Parted by spaces."""
    ends: bytes
    """uint32."""
    places: bytes
    weights: bytes


def weights_of(words: Words) -> tuple[Counter[str], int]:
    """The weight of each word of a document, uncapped, and its length: how many tokens it has that are no stop words."""
    situation, outcome, names = map(cut, words)
    all_of_them = situation + outcome + names
    return Counter(situation + all_of_them), sum(token not in STOP_TERMS for token in all_of_them)


def cut(text: str) -> list[str]:
    """The tokens in a text that is parted by spaces."""
    return text.split(" ") if text else []


def inverted(documents: Sequence[Words], places: Sequence[int]) -> tuple[Lists, list[int]]:
    """The lists of these documents, one of which stands at each of the places (ascending); and their lengths."""
    import numpy as np

    number: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    numbers: list[int] = []  # the words of each document's situation, then its others
    sizes: list[int] = []
    for situation, outcome, names in documents:
        for tokens in (cut(situation), cut(outcome) + cut(names)):
            sizes.append(len(tokens))
            numbers += map(number.__getitem__, tokens)
    said = np.array(numbers, dtype=np.int64)
    of = np.repeat(np.arange(len(sizes)), sizes)  # even where it is a situation
    telling = np.array([word not in STOP_TERMS for word in number], dtype=bool)
    lengths = np.bincount(of[telling[said]] // 2, minlength=len(documents))
    words = sorted(number)
    rank = np.empty(len(words), dtype=np.int64)
    rank[[number[word] for word in words]] = np.arange(len(words))
    # One number for a word, its place and whether a situation says it: sorted, equal words and places stand together.
    sayings = np.sort((rank[said] << 17) + (np.array(places, dtype=np.int64)[of // 2] << 1) + (of + 1) % 2)
    starts = np.flatnonzero(np.diff(sayings >> 1, prepend=-1))
    weights = np.add.reduceat(1 + (sayings & 1), starts) if len(starts) else starts
    found = sayings[starts] >> 1
    counts = np.bincount(found >> 16, minlength=len(words))
    return _lists(words, counts, found & 0xFFFF, np.minimum(weights, MOST_OFTEN)), lengths.tolist()


def merged(parts: Sequence[Lists]) -> Lists:
    """The lists of all parts as one; every place of a part comes before those of the next."""
    import numpy as np

    words = sorted(set().union(*(part.words for part in parts)))
    rank = {word: number for number, word in enumerate(words)}
    numbers = [
        np.repeat(np.array([rank[word] for word in part.words], dtype=np.int32), _counts(part.ends)) for part in parts
    ]
    order = np.argsort(np.concatenate(numbers), kind="stable")
    places = np.concatenate([np.frombuffer(part.places, dtype="<u2") for part in parts])
    weights = np.concatenate([np.frombuffer(part.weights, dtype=np.uint8) for part in parts])
    counts = np.bincount(np.concatenate(numbers), minlength=len(words))
    return _lists(words, counts, places[order], weights[order])


def blocks(lists: Lists) -> Iterator[Block]:
    """The lists in rows, in the order of words."""
    words, ends, places, weights = lists
    at = begin = 0
    while at < len(words):
        to = max(min(at + _WORDS, bisect_right(ends, begin + _POSTINGS)), at + 1)
        end = ends[to - 1]
        local = struct.pack(f"<{to - at}I", *(here - begin for here in ends[at:to]))
        among = words[at:to]
        yield Block(among[0], among[-1], " ".join(among), local, places[2 * begin : 2 * end], weights[begin:end])
        at, begin = to, end


def joined(rows: Sequence[Block]) -> Lists:
    """The lists in these rows, which are in the order of words."""
    words: list[str] = []
    ends: list[int] = []
    begin = 0
    for row in rows:
        words += row.words.split(" ")
        ends += [begin + end for (end,) in struct.iter_unpack("<I", row.ends)]
        begin = ends[-1]
    return Lists(words, ends, b"".join(row.places for row in rows), b"".join(row.weights for row in rows))


def found(block: Block, word: str) -> tuple[bytes, bytes] | None:
    """Places and weights of a word, or None when the block has no such word."""
    words = block.words.split(" ")
    at = bisect_left(words, word)
    if at == len(words) or words[at] != word:
        return None
    begin = int.from_bytes(block.ends[4 * at - 4 : 4 * at], "little")  # of the first, that of no bytes: 0
    end = int.from_bytes(block.ends[4 * at : 4 * at + 4], "little")
    return block.places[2 * begin : 2 * end], block.weights[begin:end]


def without(block: Block, gone: Mapping[str, Sequence[int]]) -> Block | None:
    """The block without some places of some words, if anything is left. Words that lose all their places go."""
    words, ends, places, weights = joined([block])
    begins = [0, *ends]

    def place(at: int) -> int:
        return int.from_bytes(places[2 * at : 2 * at + 2], "little")

    cuts = []
    for word, among in gone.items():
        at = bisect_left(words, word)
        if at < len(words) and words[at] == word:
            here = range(begins[at], begins[at + 1])
            found = [(one, begins[at] + bisect_left(here, one, key=place)) for one in among]
            cuts += [index for one, index in found if index < begins[at + 1] and place(index) == one]
    cuts.sort()
    kept = [(before + 1, after) for before, after in itertools.pairwise((-1, *cuts, len(weights)))]
    left = [end - bisect_left(cuts, end) for end in begins]
    stay = [at for at in range(len(words)) if left[at] < left[at + 1]]
    if not stay:
        return None
    return Block(
        words[stay[0]],
        words[stay[-1]],
        " ".join(words[at] for at in stay),
        struct.pack(f"<{len(stay)}I", *(left[at + 1] for at in stay)),
        b"".join(places[2 * one : 2 * end] for one, end in kept),
        b"".join(weights[one:end] for one, end in kept),
    )


def _counts(ends: Sequence[int]) -> "NDArray[np.int64]":
    import numpy as np

    bounds = np.array([0, *ends], dtype=np.int64)
    return np.asarray(bounds[1:] - bounds[:-1])


def _lists(
    words: Sequence[str], counts: "NDArray[np.int64]", places: "NDArray[np.integer]", weights: "NDArray[np.integer]"
) -> Lists:
    import numpy as np

    ends = np.cumsum(counts).tolist()
    return Lists(words, ends, places.astype("<u2").tobytes(), weights.astype(np.uint8).tobytes())
