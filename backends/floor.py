"""How much alike the best of an answer has to be, or nothing fits: a floor for each store and encoder.

The best of many unrelated texts is like any question by chance, the more so the more there are; a constant for that is
where every floor begins. A store's own pairs can only raise it: where two episodes taken at random are already alike, as
in a store of one kind of task, a question that is like none of them is from elsewhere. What means nothing, such as random letters,
is a little like everything, so a question that is like gibberish has to find more. Words that say half of a question are always
enough. It is the best of an answer that has to reach the floor; what comes after it may lie somewhat lower. All constants
were chosen on development data (`docs/decisions.md` has the figures); with an encoder of another scale they refuse too little, never too much.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

from experience.backends.keyword import KeywordBackend
from experience.protocols import Backend, Hit, VectorBackend
from experience.store import SqliteStore
from experience.tokens import query_terms, tokens

if TYPE_CHECKING:
    from experience.backends.embedding import EmbeddingBackend

_SAMPLE = 500  # vectors that are compared with one another
_CHANCE = 0.08  # how far the cosines of unrelated texts lie from 0, as a standard deviation
_PRIOR, _PRIOR_WEIGHT = 0.1, 20  # mean and deviation of a store's own pairs before it is known, worth so many episodes
_LEAST = 0.1  # below any floor for few episodes: letters and single words reach 0.06 to 0.09
_BELOW_MEAN = 0.3  # deviations below the mean of a store's own pairs
_HIGHEST = 0.36  # what no floor goes beyond, however alike or many a store's episodes are
_GIBBERISH_FROM, _GIBBERISH_WEIGHT, _GIBBERISH_MOST = 0.2, 0.8, 0.2
_CLEAR_WORDS = 0.5  # the share of a question that is enough by itself
_FOLLOWS = 0.1  # how far below the floor what comes after the best may lie
_FOLLOWS_WORDS = 0.1  # the share of a question that is enough for it
_WORDS = 0.04  # the least share of a question where there is no meaning to go by,
_WORDS_FROM = 20  # in stores larger than this
_LOOKED_AT = 3  # hits whose words are counted
_TINY = 1e-9
_NOTHING_SAID = ("qwertyuiop asdf", "xkvbz wqpt mrnd", "zzzz aaaa bbbb", "lorem ipsum dolor sit amet", "4f9a0c27be", "jkl fgh uio", "blorp snarf quib", "0000 1111 2222")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found out about one store and encoder."""

    last: int
    """The newest episode at the time; when there are twice as many, it is found out anew."""
    count: int
    """How many episodes there were; a refresh finds it out anew when there are twice or half as many."""
    meaning: float
    """The cosine to reach."""
    gibberish: tuple[float, ...] = ()
    """The unit vector of what says nothing; empty when there was nothing to compare with."""


class Floor(Protocol):
    """What an answer has to reach."""

    def reached(self, situation: str, hits: Sequence[Hit]) -> list[bool]:
        """Which of the hits are enough like the question: none, or the best and what is not far below it."""
        ...

    def calibrate(self) -> None:
        """Keep in the store what was found out about it."""
        ...


class NoFloor:
    """Under a backend of another kind than ours, of whose scores nothing is known."""

    def reached(self, situation: str, hits: Sequence[Hit]) -> list[bool]:  # noqa: ARG002 (the protocol has it)
        """All of them."""
        return [True] * len(hits)

    def calibrate(self) -> None:
        """Nothing to find out."""


class WordsFloor:
    """Under the keyword backend: a question of which only what says little is found has found nothing."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def reached(self, situation: str, hits: Sequence[Hit]) -> list[bool]:
        """All of the hits, when the best says enough of the question by how rare words are, or has half of all its words.

        The second is for stores of one kind of task, in which the words that matter are common. In a small store all are.
        """
        floor = _WORDS * max(1 - _WORDS_FROM / max(_newest(self._store), 1), 0.0)
        fits = any(hit.score >= floor for hit in hits[:1]) or self._has_half(
            situation, [hit.id for hit in hits[:_LOOKED_AT]]
        )
        return [fits] * len(hits)

    def _has_half(self, situation: str, ids: Sequence[int]) -> bool:
        asked = set(query_terms(situation))
        episodes = (record.episode for record in self._store.get_many(ids).values())
        texts = (" ".join((e.situation, e.outcome, *e.tools, *e.skills, *e.tags)) for e in episodes)
        return any(2 * len(asked.intersection(tokens(text))) >= len(asked) for text in texts)

    def calibrate(self) -> None:
        """The rule is the same for every store."""


class MeaningFloor:
    """Under the embedding backend, or the hybrid one when its hits say `words` and `meaning`."""

    def __init__(self, store: SqliteStore, embedding: "EmbeddingBackend") -> None:
        self._store = store
        self._embedding = embedding
        self._key = f"floor of {embedding.encoder.name}"
        self._known: Calibration | None = None

    def reached(self, situation: str, hits: Sequence[Hit]) -> list[bool]:
        """None of the hits, or the best and what is not far below it."""
        words = [hit.words or 0.0 for hit in hits]
        meaning = [_meaning(hit) for hit in hits]
        known = self._calibration()
        if max(words, default=0.0) < _CLEAR_WORDS and not self._means(situation, max(meaning, default=-1.0), known):
            return [False] * len(hits)
        least = known.meaning - _FOLLOWS
        return [said >= _FOLLOWS_WORDS or like >= least for said, like in zip(words, meaning, strict=True)]

    def calibrate(self) -> None:
        """Keep it when there is none yet, or twice or half as many episodes as when it was found out."""
        kept, count = self._kept(), self._store.indexed()
        if count and (kept is None or not kept.count < 2 * count < 4 * kept.count):
            found = self._known = self._found_out(last := _newest(self._store))
            data = {"last": last, "count": count, "meaning": round(found.meaning, 6), "gibberish": found.gibberish}
            self._store.set_setting(self._key, json.dumps(data))

    def _means(self, situation: str, best: float, known: Calibration) -> bool:
        """Whether the best cosine is enough; the question is looked at again only where that decides."""
        if best < known.meaning or best >= known.meaning + _GIBBERISH_MOST or not known.gibberish:
            return best >= known.meaning
        vector = self._embedding.question(situation)
        like = sum(float(one) * other for one, other in zip(vector, known.gibberish, strict=True))
        return best >= known.meaning + min(_GIBBERISH_WEIGHT * max(like - _GIBBERISH_FROM, 0.0), _GIBBERISH_MOST)

    def _calibration(self) -> Calibration:
        last = _newest(self._store)
        if self._known is None or last >= 2 * self._known.last:
            kept = self._kept()
            self._known = kept if kept is not None and last < 2 * kept.last else self._found_out(last)
        return self._known

    def _found_out(self, last: int) -> Calibration:
        """Compares at most 500 of the store's vectors with one another, and embeds eight short texts."""
        import numpy as np

        from experience.backends.threads import one_thread

        vectors, count = self._embedding.sample(_SAMPLE), self._store.indexed()
        floor = min(_HIGHEST, max(_LEAST, _CHANCE * _best_of(count)))
        with one_thread():
            pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        if not pairs.size:
            return Calibration(last, count, floor)
        known = count / (count + _PRIOR_WEIGHT)
        mean, deviation = (known * float(one) + (1 - known) * _PRIOR for one in (pairs.mean(), pairs.std()))
        floor = max(floor, min(_HIGHEST, mean - _BELOW_MEAN * deviation))
        middle = self._embedding.encoded(_NOTHING_SAID).mean(axis=0)
        middle = middle / max(float(np.linalg.norm(middle)), _TINY)
        return Calibration(last, count, floor, tuple(round(float(number), 4) for number in middle))

    def _kept(self) -> Calibration | None:
        kept = self._store.setting(self._key)
        if kept is None:
            return None
        data = json.loads(kept)
        last = int(data["last"])
        return Calibration(last, int(data.get("count", last)), float(data["meaning"]), tuple(data["gibberish"]))


def floor_under(store: SqliteStore, backend: Backend) -> Floor:
    """The floor that fits a backend over a store."""
    if isinstance(backend, KeywordBackend):
        return WordsFloor(store)
    if isinstance(backend, VectorBackend):
        from experience.backends.embedding import EmbeddingBackend
        from experience.backends.hybrid import HybridBackend

        inner = backend.embedding if isinstance(backend, HybridBackend) else backend
        if isinstance(inner, EmbeddingBackend):
            return MeaningFloor(store, inner)
    return NoFloor()


def _meaning(hit: Hit) -> float:
    """The cosine: of a hit that speaks of no parts the score, and -1 where words alone found it."""
    if hit.meaning is not None:
        return hit.meaning
    return hit.score if hit.words is None else -1.0


def _newest(store: SqliteStore) -> int:
    """The newest episode's id: about how many there are, without counting them."""
    return int(store.read("SELECT coalesce(max(id), 0) FROM episodes")[0][0])


def _best_of(count: int) -> float:
    """The highest of so many draws from a normal distribution, on average, in deviations (Blom 1958)."""
    count = max(count, 1)
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
