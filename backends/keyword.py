"""Recall by words: BM25 over the lists that the store keeps of every word.

The store writes those lists inside the record's transaction, so there is never anything to catch up with. What is asked is
cut by the same tokeniser as what was stored, and one word that nobody used does not empty the answer; words of the outcome and
of names count half. A score is the share of what the question says, by how rare its words are in the namespace, so scores of
different questions can be compared.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experience import postings
from experience.protocols import Filter, Hit, Progress, check_k
from experience.store import SqliteStore
from experience.tokens import query_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from experience.backends.bm25 import Scores
    from experience.backends.lists import Index
    from experience.backends.ranking import Ids

_MOST_TERMS = 1000
_LEAST_SAID = 3.0  # what a question says at least: one of common words only says next to nothing, and is not all said
_FIRST_LOOK, _FURTHER = 64, 8  # candidates that a filter is first asked about, and how many times more each time after
_FEW = 20_000  # episodes that pass a filter and are listed at most


class KeywordBackend:
    """BM25 over situation, outcome and names (tools, skills, tags)."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._index: Index | None = None

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits that share a word with the text, best first, equal scores newest first.

        The score is BM25 over what a text of average length would get that says every word of the question once: 0 is
        nothing in common, about 1 is all of it. A question of words that stand everywhere scores about 0.
        """
        check_k(k)
        terms = _spread(query_terms(situation))
        if not terms or k == 0:
            return []
        with self._store.snapshot():
            ids, scores = self._scored(terms)
            found = self._best(ids, scores, k, where)
        return [Hit(int(ids[at]), float(scores[at]), f"keyword {rank}") for rank, at in enumerate(found, 1)]

    def pending(self) -> int:
        """Always 0: what is recorded can be found at once."""
        return 0

    def refresh(self, progress: Progress | None = None) -> int:  # noqa: ARG002 (the protocol has it)
        """Put the index in order, which makes it faster and smaller; 0, since it finds no more episodes than before."""
        more = True
        while more:
            with self._store.write() as db:
                more = postings.tidy(db, self._store.namespace)
        return 0

    def _scored(self, terms: Sequence[str]) -> "tuple[Ids, Scores]":
        """The episodes that have one of the words, and their scores."""
        from experience.backends import bm25
        from experience.backends.lists import Index

        index = self._index = self._index or Index(self._store)
        index.follow()
        found = index.of(terms)
        weights = [bm25.rarity(count, index.documents) for count in found.counts]
        average = max(index.tokens, 1) / max(index.documents, 1)
        places, scores = bm25.scored(found, weights, index.lengths, average)
        return index.ids[places], scores / max(sum(weights), _LEAST_SAID)

    def _best(self, ids: "Ids", scores: "Scores", k: int, where: Filter) -> "NDArray[np.intp]":
        """The indices of the best k that pass the filter: of the best looked up one by one, or of all that pass."""
        import numpy as np

        from experience.backends.passing import all_passing, passing
        from experience.backends.ranking import best

        passed = np.empty(0, dtype=np.intp)
        looked_at, most, listed = 0, max(_FIRST_LOOK, 2 * k), False
        while looked_at < len(ids) and len(passed) < k:
            candidates = best(ids, scores, most)[looked_at:]
            passed = np.concatenate([passed, candidates[passing(self._store, where, ids[candidates])]])
            looked_at, most = looked_at + len(candidates), most * _FURTHER
            # Where so few have passed that the next look is not expected to be enough, all that pass are likely few.
            if looked_at < len(ids) and len(passed) * most < k * looked_at and not listed:
                listed = True
                if (few := all_passing(self._store, where, _FEW)) is not None:
                    among = np.flatnonzero(np.isin(ids, few))
                    return among[best(ids[among], scores[among], k)]
        return passed[:k]


def _spread(terms: Sequence[str]) -> Sequence[str]:
    """All terms, or of very many so many of them, spread over the question: a pasted log must not take seconds."""
    if len(terms) <= _MOST_TERMS:
        return terms
    return [terms[at * len(terms) // _MOST_TERMS] for at in range(_MOST_TERMS)]
