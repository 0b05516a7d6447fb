"""The runs that a skill's runs are compared with: for each its nearest that did not follow the skill.

A comparison with all that are somehow alike would compare other mixtures of tasks; each run with its own nearest compares
like with like. A run that is near to many counts as often, and what is then known is worth as many runs as the weights
say (Kish's effective sample size, Survey Sampling, 1965). Arrays in, numbers out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experience.learn.groups import DECIMALS, LEAST_ALIKE

_NEAREST = 3  # of the runs that did not follow it, and ties
_CLOSE = 0.05  # by how much less alike than the nearest another may be: what is farther off is another task
_BLOCK = 1024  # rows of cosines held at once

Mask = NDArray[np.bool_]


class Match(NamedTuple):
    """Runs that followed a skill, and their like."""

    similar: Mask
    """The nearest runs of those that follow, whether it is known how they ended or not."""
    followers: Mask
    """Those that follow, whose end is known, and that have a like run whose end is known."""
    worked: float
    """Of the like runs of these, weighted: as many runs as they are worth that worked."""
    failed: float
    """And that failed."""


def match(vectors: NDArray[np.float32], follows: Mask, ended: NDArray[np.int8]) -> Match:
    """Compare by unit vectors, a row a run; `ended` is 1 for a run that worked, 0 for one that failed, -1 when unknown."""
    similar, matched = np.zeros(len(follows), dtype=bool), np.zeros(len(follows), dtype=bool)
    weights = np.zeros(len(follows))
    rows, others = np.flatnonzero(follows), np.flatnonzero(~follows)
    known = ended[others] >= 0
    for at in range(0, len(rows) if len(others) else 0, _BLOCK):
        block = rows[at : at + _BLOCK]
        cosines = np.round(vectors[block] @ vectors[others].T, DECIMALS)
        similar[others[_nearest(cosines).any(axis=0)]] = True
        near = _nearest(np.where(known, cosines, -2))
        judged = near.any(axis=1) & (ended[block] >= 0)
        matched[block] = judged
        weights[others] += (near[judged] / near[judged].sum(axis=1, keepdims=True)).sum(axis=0)
    total, squares = weights.sum(), (weights**2).sum()
    worth = total**2 / squares if squares else 0.0
    share = float(weights @ (ended == 1) / total) if total else 0.0
    return Match(similar, matched, worth * share, worth * (1 - share))


def _nearest(cosines: NDArray[np.float32]) -> Mask:
    """For each row the highest few, and what equals the last of them; none that is clearly farther than the first."""
    few = min(_NEAREST, cosines.shape[1])
    least = np.partition(cosines, -few, axis=1)[:, -few]
    close = np.maximum(cosines.max(axis=1, initial=-2) - _CLOSE, LEAST_ALIKE)
    return np.asarray(cosines >= np.maximum(least, close)[:, None])
