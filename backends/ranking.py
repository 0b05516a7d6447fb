"""The best of some scores, in the order that every recall has: highest first, of equals the newest.

It knows neither what was asked nor what a score means.
"""

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Of episodes or of vectors; none is given twice, and newer ones are higher."""


def best(ids: Ids, scores: NDArray[np.floating], most: int) -> NDArray[np.intp]:
    """The indices of the `most` highest scores, best first, equal ones by descending id."""
    among = np.arange(len(scores))
    if most < len(scores):
        # The last of them decides, and all that equal it stay in until their ids have been compared.
        among = np.flatnonzero(scores >= np.partition(scores, -most)[-most])
    order = np.lexsort((-ids[among], -scores[among]))
    return np.asarray(among[order][:most])
