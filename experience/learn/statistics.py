"""The few statistics that judging skills takes: rates with their uncertainty, and many tests at once. Pure numbers."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, betaln

_NODES = 2000  # of the integral over quantiles; its error stays below 1e-4
_ROUGH_NODES = 200  # where the logarithm is only compared; below 1e-3


class Rate(NamedTuple):
    """What is known of a rate after so many of either: mean and a central 95 % interval of Beta(1 + yes, 1 + no)."""

    mean: float
    low: float
    high: float


def rate(yes: float, no: float) -> Rate:
    """The posterior of a rate under a uniform prior; weighted counts need not be whole."""
    a, b = 1 + yes, 1 + no
    return Rate(a / (a + b), float(betaincinv(a, b, 0.025)), float(betaincinv(a, b, 0.975)))


def probability_lower(one: tuple[float, float], other: tuple[float, float], nodes: int = _NODES) -> float:
    """How probable it is that one rate is lower than another, each given as (yes, no), under uniform priors.

    The integral of the one's distribution function over the other's quantiles.
    """
    quantiles = betaincinv(1 + other[0], 1 + other[1], (np.arange(nodes) + 0.5) / nodes)
    return float(np.mean(betainc(1 + one[0], 1 + one[1], quantiles)))


def evidence_of_one_rate(yes: int, no: int) -> float:
    """Log of the probability of this sequence of yes and no when all have one rate, of which nothing is known before."""
    return float(betaln(1 + yes, 1 + no))


def evidence_of_two_rates(first: tuple[int, int], second: tuple[int, int]) -> float:
    """The same when two parts, each (yes, no), have rates of their own, and the first has the lower rate of yes."""
    ordered = max(probability_lower(first, second, _ROUGH_NODES), 1e-12)
    return evidence_of_one_rate(*first) + evidence_of_one_rate(*second) + math.log(2 * ordered)


def false_discovery(chances: Sequence[float]) -> list[float]:
    """For each of many p-values its q-value: the share of false finds among all that are as small.

    Benjamini and Hochberg, 1995 (as adjusted p-values).
    """
    values: list[float] = [1.0] * len(chances)
    running = 1.0
    for rank, at in sorted(enumerate(sorted(range(len(chances)), key=lambda at: chances[at]), 1), reverse=True):
        running = min(running, chances[at] * len(chances) / rank)
        values[at] = running
    return values


def upper_tail(z: float) -> float:
    """How often a standard normal number is above z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def ratio_of_means(ones: Sequence[float], others: Sequence[float]) -> Rate | None:
    """The ratio of two geometric means with a 95 % interval, None for fewer than three of either.

    Welch's interval on logarithms, normal approximation; what is 0 counts as a hundredth of the smallest above it.
    """
    if min(len(ones), len(others)) < 3:  # noqa: PLR2004
        return None
    above = [number for number in (*ones, *others) if number > 0]
    if not above:
        return None
    first, second = (
        np.log(np.maximum(np.asarray(numbers, dtype=float), min(above) / 100)) for numbers in (ones, others)
    )
    middle = float(first.mean() - second.mean())
    error = 1.96 * math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return Rate(*(math.exp(max(-700.0, min(700.0, log))) for log in (middle, middle - error, middle + error)))
