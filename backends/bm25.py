"""BM25 in arrays: what each document that shares a word with a question scores.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the inverse document
frequency of Lucene, which is positive for words in more than half of all documents too. A document's score is summed in the
order of the question's words, so it is the same to the last bit wherever the document lies. It knows no file and no filter.
"""

from collections.abc import Sequence
from math import log1p
from typing import cast

import numpy as np
from numpy.typing import NDArray

from experience.backends.lists import Places, Postings

_K1, _B = 1.3, 0.75

Scores = NDArray[np.float64]


def rarity(count: int, documents: int) -> float:
    """The weight of a word that stands in `count` of the documents: above 0, the higher the rarer."""
    return log1p((documents - count + 0.5) / (count + 0.5))


def scored(
    postings: Postings, weights: Sequence[float], lengths: NDArray[np.float32], average: float
) -> tuple[Places, Scores]:
    """The documents that have one of the words, ascending, and what each scores: above 0, the higher the better.

    `weights` are the words' own; `lengths` are all documents', `average` is theirs.
    """
    constant, slope = np.float32(2 * _K1 * (1 - _B)), np.float32(2 * _K1 * _B / average)  # twice: counts are in halves
    often = postings.weights.astype(np.float32)
    norms = lengths[postings.places]
    norms *= slope
    norms += constant
    norms += often
    often *= np.repeat(np.array(weights, dtype=np.float32) * np.float32(_K1 + 1), postings.counts)
    often /= norms
    scores = cast("Scores", np.bincount(postings.places, weights=often))
    touched = np.flatnonzero(scores > 0)  # truth is looked through several times faster than numbers are
    return touched, scores[touched]
