"""Recall by both: the scores of two backends, put on one scale and added, and a little for the ranks.

A keyword score is the share of the question that a text says, an embedding score the cosine; both are about 1 for the same
text and about 0 for foreign ones, so they can be added as they are, whatever else the answer holds. A long question says
more by its words, so its words count for more. Ranks (reciprocal rank fusion, Cormack, Clarke and Büttcher, SIGIR 2009)
add what scores on a scale that fits badly would lose. The weights were chosen on development data and are the same for
every store (`docs/decisions.md` has the figures).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experience.errors import InvalidInput
from experience.protocols import Backend, Filter, Hit, Progress, VectorBackend, check_k
from experience.store import SqliteStore
from experience.tokens import query_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DEPTH = 200
_SHORT, _LONG = 4, 16  # words of a question
_WORDS_SHORT, _WORDS_LONG = 0.3, 0.5  # the weight of words in one so short or shorter, and in one so long or longer
_RANKS = 0.6  # what the ranks together weigh
_RRF_K = 10
_SAME = 0.9999  # the cosine from which two texts are one, whichever engine embedded them


class HybridBackend:
    """The fusion of a keyword and an embedding backend over the same store."""

    def __init__(self, keyword: Backend, embedding: Backend, store: SqliteStore | None = None) -> None:
        """With a `store`, the lean that `experience tune` has kept there counts."""
        self._arms = (keyword, embedding)
        self._store = store

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits of either arm, best first, equal scores newest first; `why` gives the rank in each arm.

        The score is about 1 for a text like the question in words and meaning, and about 0 for one that has nothing of it.
        """
        check_k(k)
        if k == 0:
            return []
        depth = max(k, _DEPTH)
        words, meaning = self.both(situation, depth, where)
        return fused(situation, words, meaning, depth, self.lean())[:k]

    def both(self, situation: str, depth: int, where: Filter = Filter()) -> tuple[list[Hit], list[Hit]]:
        """What each arm answers by itself: words, then meaning."""
        keyword, embedding = (arm.recall(situation, depth, where) for arm in self._arms)
        return keyword, embedding

    def lean(self) -> float:
        """How much more words weigh in this store than in others, as `experience tune` found it; 0 by default."""
        kept = None if self._store is None else self._store.setting(self.lean_key())
        return 0.0 if kept is None else float(kept)

    def lean_key(self) -> str:
        """The name under which the store keeps it: what fits one encoder does not fit another."""
        encoder = getattr(self.embedding, "encoder", None)
        return f"lean to words beside {encoder.name if encoder else 'no encoder'}"

    @property
    def embedding(self) -> Backend:
        """The arm that goes by meaning."""
        return self._arms[1]

    def pending(self) -> int:
        """How many episodes one of the arms cannot find yet."""
        return max(arm.pending() for arm in self._arms)

    def refresh(self, progress: Progress | None = None) -> int:
        """Refresh both arms; how many episodes they took in."""
        return max(arm.refresh(progress) for arm in self._arms)

    def vectors(self) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """The vectors of the arm that has them. Raises InvalidInput when neither does."""
        for arm in self._arms:
            if isinstance(arm, VectorBackend):
                return arm.vectors()
        raise InvalidInput("neither arm of this backend has vectors; make one of them an embedding backend")


def fused(situation: str, words: Sequence[Hit], meaning: Sequence[Hit], depth: int, lean: float = 0.0) -> list[Hit]:
    """The answers of both arms, each to that depth, as one, best first; words weigh by `lean` more than they do by default."""
    words = _word_for_word(words, meaning)
    scores: dict[int, float] = {}
    why: dict[int, list[str]] = {}
    for hits, weight in zip((words, meaning), _weights(situation, lean), strict=True):
        # What words found and meaning had no room for would score no more than the last it had room for.
        missed = hits[-1].score if len(hits) == depth else 0.0
        for id in scores.keys() - {hit.id for hit in hits}:
            scores[id] += weight * missed
        for rank, hit in zip(_ranks(hits), hits, strict=True):
            scores[hit.id] = scores.get(hit.id, 0.0) + weight * hit.score + _RANKS / (_RRF_K + rank)
            why.setdefault(hit.id, []).append(hit.why)
    said, like = ({hit.id: hit.score for hit in hits} for hits in (words, meaning))
    best = sorted(scores, key=lambda id: (-scores[id], -id))
    return [Hit(id, scores[id], ", ".join(why[id]), said.get(id), like.get(id)) for id in best]


def _word_for_word(words: Sequence[Hit], meaning: Sequence[Hit]) -> Sequence[Hit]:
    """What words found, but nothing says more of a question than the text that is the question.

    BM25 gives more to a text that says its rare words twice. Among texts that the encoder cannot tell apart, as in scripts
    that it does not know, words decide as before.
    """
    same = {hit.id for hit in meaning if hit.score >= _SAME}
    ahead = (
        words[0].score - max((hit.score for hit in words if hit.id in same), default=words[0].score) if words else 0.0
    )
    if not ahead:
        return words
    raised = [hit._replace(score=hit.score + ahead) if hit.id in same else hit for hit in words]
    return sorted(raised, key=lambda hit: (-hit.score, hit.id not in same))


def _weights(situation: str, lean: float) -> tuple[float, float]:
    """What words and meaning weigh in a question; together 1."""
    length = min(max(len(query_terms(situation)), _SHORT), _LONG)
    words = _WORDS_SHORT + (_WORDS_LONG - _WORDS_SHORT) * (length - _SHORT) / (_LONG - _SHORT)
    words = min(max(words + lean, 0.0), 1.0)
    return words, 1 - words


def _ranks(hits: Sequence[Hit]) -> Iterator[int]:
    """Equal scores share a rank, so that what was recorded first does not decide."""
    rank = 0
    for at, hit in enumerate(hits):
        if at == 0 or hit.score != hits[at - 1].score:
            rank = at + 1
        yield rank
