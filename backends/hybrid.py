"""Recall by both: the ranks of two backends, fused.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): an episode scores the sum of 1 / (10 + rank) over the
arms that found it. It needs no scale common to BM25 and cosine, of which there is none. The paper's constant is 60; in a
store of hundreds nearly everything is found by both arms, and 60 then puts what is middling in both above what is best in
one (`docs/decisions.md` has the figures).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experience.errors import InvalidInput
from experience.protocols import Backend, Filter, Hit, Progress, VectorBackend, check_k

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RRF_K = 10
_DEPTH = 50


class HybridBackend:
    """The fusion of a keyword and an embedding backend over the same store."""

    def __init__(self, keyword: Backend, embedding: Backend) -> None:
        self._arms = (keyword, embedding)

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits of either arm, best first, equal scores newest first; `why` gives the rank in each arm."""
        check_k(k)
        if k == 0:
            return []
        scores: dict[int, float] = {}
        why: dict[int, list[str]] = {}
        for arm in self._arms:
            hits = arm.recall(situation, max(k, _DEPTH), where)
            for rank, hit in zip(_ranks(hits), hits, strict=True):
                scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_RRF_K + rank)
                why.setdefault(hit.id, []).append(hit.why)
        best = sorted(scores, key=lambda id: (-scores[id], -id))[:k]
        return [Hit(id, scores[id], ", ".join(why[id])) for id in best]

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


def _ranks(hits: Sequence[Hit]) -> Iterator[int]:
    """Equal scores share a rank, so that what was recorded first does not decide."""
    rank = 0
    for at, hit in enumerate(hits):
        if at == 0 or hit.score != hits[at - 1].score:
            rank = at + 1
        yield rank
