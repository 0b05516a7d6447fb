"""Whose fault: blame for runs that failed, shared among the skills that each followed.

One model over all runs, a logistic regression with random effects: the log-odds that a run fails are a base, plus an
effect of its kind of situation (some tasks are hard), plus an effect of each skill it followed. Effects are drawn towards
nothing by normal priors, so that a skill seen in a few runs, or never without another, is not made the culprit: two that
always come together share what they have done. How strongly they are drawn is learned from all skills, and all kinds
(empirical Bayes): where most do nothing, it takes more to stand out. It is fitted by Newton's method to the mode of the posterior; kinds are
eliminated first (their part of the Hessian is diagonal), which leaves one small system. Arrays in, numbers out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experience.learn.statistics import upper_tail

SKILL_SPREAD = 1.5
"""Standard deviation of the prior of a skill's effect, in log-odds, before anything is known of the others."""
_SPREAD_WORTH = 4  # as many skills' (kinds') worth of knowledge is in these
_SPREAD_ROUNDS = 10
KIND_SPREAD = 1.0
"""The same of a kind of situation, before anything is known of the others."""
_BASE_SPREAD = (
    0.5  # about the log-odds of all runs: where every run follows a skill, nothing else tells base from skills
)
_MOST_ROUNDS = 50
_CLOSE_ENOUGH = 1e-8

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Blame:
    """What a skill adds to the log-odds that a run fails."""

    effect: float
    """At the mode of the posterior; above 0 it does harm."""
    error: float
    """Standard deviation of the posterior there."""
    p_value: float
    """Approximate and one-sided: how often a skill without effect would look as guilty.

    From the ratio of the penalised likelihoods with the effect and without, in which what the prior takes for want of runs
    is given back (see `_Model.share`); under a normal approximation it is then the p-value of an effect without a prior.
    """


def blame(
    failed: Sequence[bool],
    skills: Sequence[Sequence[str]],
    kinds: Sequence[int],
    suspects: Collection[str] | None = None,
) -> dict[str, Blame]:
    """For each skill its blame. One item a run: whether it failed, the skills it followed, and the number of its kind of
    situation (below 0: of none). With `suspects` only those are tested, and the p-value of others is 1.
    """  # noqa: D205
    names = sorted({name for followed in skills for name in followed})
    if not names:
        return {}
    column = {name: at for at, name in enumerate(names, 1)}
    design = np.zeros((len(failed), len(names) + 1))
    design[:, 0] = 1
    for row, followed in enumerate(skills):
        design[row, [column[name] for name in followed]] = 1
    model = _Model(np.asarray(failed, dtype=float), design, _numbered(kinds))
    (effects, value), errors = _adapted(model)
    found = {}
    for name, at in column.items():
        effect = float(effects[0][at])
        p_value = 1.0
        if effect > 0 and (suspects is None or name in suspects):
            without = np.ones(len(names) + 1, dtype=bool)
            without[at] = False
            null, least = model.fit(without, effects)
            p_value = upper_tail(float(np.sqrt(max(0.0, 2 * (value - least)) / model.share(null, at))))
        found[name] = Blame(effect, float(errors[at]), p_value)
    return found


def _adapted(model: "_Model") -> tuple[tuple[tuple[Floats, Floats], float], Floats]:
    """The fit under the spreads of effects that it implies itself (expectation maximisation)."""
    free = np.ones(model.width, dtype=bool)
    fit = model.fit(free)
    for _ in range(_SPREAD_ROUNDS):
        (fixed, of_kinds), errors = fit[0], model.errors(fit[0])
        model.set_spreads(
            _spread(SKILL_SPREAD, fixed[1:] ** 2 + errors[1:] ** 2),
            _spread(KIND_SPREAD, of_kinds**2 + model.kind_variances(fit[0])),
        )
        fit = model.fit(free, fit[0])
    return fit, model.errors(fit[0])


def _spread(prior: float, squares: Floats) -> float:
    """The variance of effects of which these are the expected squares."""
    return float((_SPREAD_WORTH * prior**2 + squares.sum()) / (_SPREAD_WORTH + len(squares)))


class _Model:
    """The posterior of one set of runs."""

    def __init__(self, failed: Floats, design: Floats, kinds: NDArray[np.int64]) -> None:
        self._failed, self._design, self._kinds = failed, design, kinds
        self._centre = np.zeros(design.shape[1])
        self._centre[0] = np.log((failed.sum() + 0.5) / (len(failed) - failed.sum() + 0.5))
        self._count = int(kinds.max(initial=-1)) + 1
        self._in_kind = kinds >= 0
        self.width = design.shape[1]
        self.set_spreads(SKILL_SPREAD**2, KIND_SPREAD**2)

    def set_spreads(self, of_skills: float, of_kinds: float) -> None:
        """Set the variances of the priors."""
        self._precision = np.full(self.width, 1 / of_skills)
        self._precision[0] = 1 / _BASE_SPREAD**2
        self._kind_precision = 1 / of_kinds

    def kind_variances(self, effects: tuple[Floats, Floats]) -> Floats:
        """Variances of the effects of kinds, those of skills being known."""
        return 1 / self._reduced(self._weights(*effects))[2]

    def fit(
        self, free: NDArray[np.bool_], start: tuple[Floats, Floats] | None = None
    ) -> tuple[tuple[Floats, Floats], float]:
        """The mode with the effects that are not `free` held at nothing, and the log of the posterior there."""
        fixed = self._centre if start is None else np.where(free, start[0], 0.0)
        of_kinds = np.zeros(self._count) if start is None else start[1].copy()
        value = self._value(fixed, of_kinds)
        for _ in range(_MOST_ROUNDS):
            step, kind_step = self._step(fixed, of_kinds, free)
            size = 1.0
            while (new := self._value(fixed + size * step, of_kinds + size * kind_step)) < value and size > 1e-6:  # noqa: PLR2004
                size /= 2
            fixed, of_kinds = fixed + size * step, of_kinds + size * kind_step
            gained, value = new - value, new
            if abs(gained) < _CLOSE_ENOUGH:
                break
        return (fixed, of_kinds), value

    def errors(self, effects: tuple[Floats, Floats]) -> Floats:
        """Standard deviations of the effects of skills (the base first), kinds being unknown too."""
        reduced, _, _ = self._reduced(self._weights(*effects))
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(reduced))))

    def share(self, effects: tuple[Floats, Floats], at: int) -> float:
        """The part of an effect that its prior leaves, if all others were known: what the prior takes from a likelihood
        ratio for want of runs is given back, what it takes because skills come together is not.
        """  # noqa: D205
        information = float(self._weights(*effects) @ self._design[:, at] ** 2)
        return information / (information + float(self._precision[at]))

    def _logits(self, fixed: Floats, of_kinds: Floats) -> Floats:
        logits = self._design @ fixed
        logits[self._in_kind] += of_kinds[self._kinds[self._in_kind]]
        return np.asarray(logits)

    def _value(self, fixed: Floats, of_kinds: Floats) -> float:
        logits = self._logits(fixed, of_kinds)
        likelihood = self._failed @ logits - np.logaddexp(0, logits).sum()
        return float(
            likelihood
            - self._precision @ (fixed - self._centre) ** 2 / 2
            - self._kind_precision * (of_kinds**2).sum() / 2
        )

    def _weights(self, fixed: Floats, of_kinds: Floats) -> Floats:
        chance = 1 / (1 + np.exp(-self._logits(fixed, of_kinds)))
        return np.asarray(chance * (1 - chance))

    def _reduced(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """The Hessian of skills once kinds are eliminated, the part that couples both, and the diagonal of kinds."""
        inside, kinds = self._in_kind, self._kinds[self._in_kind]
        diagonal = np.bincount(kinds, weights[inside], self._count) + self._kind_precision
        weighted = self._design * weights[:, None]
        coupling = np.zeros((self._count, self._design.shape[1]))
        np.add.at(coupling, kinds, weighted[inside])
        hessian = self._design.T @ weighted + np.diag(self._precision)
        return np.asarray(hessian - coupling.T @ (coupling / diagonal[:, None])), coupling, np.asarray(diagonal, float)

    def _step(self, fixed: Floats, of_kinds: Floats, free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Newton's step."""
        logits = self._logits(fixed, of_kinds)
        chance = 1 / (1 + np.exp(-logits))
        residual = self._failed - chance
        gradient = self._design.T @ residual - self._precision * (fixed - self._centre)
        inside = self._in_kind
        of_kind = np.bincount(self._kinds[inside], residual[inside], self._count) - of_kinds * self._kind_precision
        reduced, coupling, diagonal = self._reduced(chance * (1 - chance))
        target = gradient - coupling.T @ (of_kind / diagonal)
        step = np.zeros(len(fixed))
        step[free] = np.linalg.solve(reduced[np.ix_(free, free)], target[free])
        return step, (of_kind - coupling @ step) / diagonal


def _numbered(kinds: Sequence[int]) -> NDArray[np.int64]:
    """Kinds as 0, 1, 2 ...; below 0 stays below 0."""
    given = np.asarray(kinds, dtype=np.int64)
    numbers = np.full(len(given), -1, dtype=np.int64)
    inside = given >= 0
    numbers[inside] = np.unique(given[inside], return_inverse=True)[1]
    return numbers
