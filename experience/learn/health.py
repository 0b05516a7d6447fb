"""How skills do: from the runs that followed each, against runs of the same kind that did not.

Everything is worked out from the labels as they stand now. A skill is convicted only when three things agree: runs that
followed it fail more often than their like (posterior of the difference), it gets the blame beside the other skills of
those runs, each so clearly that it stands out among all skills tested (the weaker of both decides, under a false
discovery rate), and it is more than one failure or two.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from experience.learn.blame import Blame, blame
from experience.learn.causes import VERDICTS, Following, causes
from experience.learn.evidence import chance
from experience.learn.groups import LEAST_ALIKE, group
from experience.learn.statistics import Rate, false_discovery, probability_lower, rate, ratio_of_means
from experience.learn.versions import Version
from experience.memory import Memory
from experience.protocols import Record

_NEAREST = 3  # runs that each run is compared with
_KIND_ALIKE = 0.75  # cosine from which on situations are equally hard, more narrowly than for a skill
_BLOCK = 1024  # rows of cosines held at once


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """What it takes to convict a skill."""

    false_discovery_rate: float = 0.05
    """Share of convictions that may be wrong, over all skills together."""
    min_failures: int = 3
    """Failed runs that followed it."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Runs by how they ended; a success that only the agent claims is unknown."""

    worked: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.worked + self.failed + self.unknown


@dataclass(frozen=True, slots=True)
class SkillHealth:
    """What the runs say of one skill."""

    skill: str
    followed: Counts
    similar: Counts
    """Runs in situations like those, that did not follow it: for each that did the three nearest."""
    success_rate: Rate
    """Of those that followed it."""
    similar_rate: Rate
    """Of the others: the similar ones, or all others where there are no similar ones whose end is known."""
    compared_with: str
    """similar, others, or nothing where there is nothing to compare with."""
    probability_of_harm: float
    """How probable it is that the first rate is below the second; 0.5 when there is nothing to compare with."""
    blame: Blame
    """Its share beside the other skills of its runs."""
    q_value: float
    """The share of false convictions if everything that stands out as much, in both ways, were convicted."""
    convicted: bool
    causes: dict[str, float]
    """The probability of each verdict, the likeliest first."""
    evidence: tuple[int, ...]
    """The runs that followed it and failed."""
    changes: dict[str, Rate] = field(default_factory=dict)
    """Followed against similar as a ratio (below 1: less), for steps, tokens, seconds and money where known."""
    rollback_to: int | None = None
    """The version before the newest, when failures have risen since."""
    risen: float = 1.0
    """How often chance alone would make them rise so (Fisher's exact test); 1 where there was no revision."""

    @property
    def difference(self) -> float:
        """Success rate of runs that followed it less that of the others."""
        return self.success_rate.mean - self.similar_rate.mean

    @property
    def verdict(self) -> str:
        """The likeliest of the four, see `experience.learn.causes`."""
        return next(iter(self.causes))

    @property
    def verdict_text(self) -> str:
        return VERDICTS[self.verdict]


def skill_health(
    memory: Memory,
    policy: HealthPolicy = HealthPolicy(),
    *,
    versions: dict[str, Sequence[Version]] | None = None,
    says: Callable[[str, frozenset[str]], frozenset[str]] = lambda _name, _tools: frozenset(),
) -> list[SkillHealth]:
    """The health of every skill that some run followed, the most suspect first.

    `versions` are the histories of skills, oldest first, for failures that rise after a revision; `says` gives for a skill
    those of all known tools that it names. Raises InvalidInput when the memory has no vectors.
    """
    memory.refresh()
    trial = _Trial(memory)
    names = sorted({name for record in trial.records for name in record.episode.skills})
    tools = frozenset(tool for record in trial.records for tool in record.episode.tools)
    found = [trial.health(name, (versions or {}).get(name, ()), says(name, tools)) for name in names]
    return _judged(found, policy)


def flags(health: Sequence[SkillHealth]) -> list[SkillHealth]:
    """Those that are convicted."""
    return [one for one in health if one.convicted]


class _Trial:
    """All runs of a store, in kinds, and the blame that each skill gets."""

    def __init__(self, memory: Memory) -> None:
        ids, vectors = memory.vectors()
        row = {int(id): at for at, id in enumerate(ids)}
        self.records = [record for record in memory.records() if record.id in row]
        self._vectors = vectors[[row[record.id] for record in self.records]]
        kinds = group([record.episode for record in self.records], self._vectors, tools=False, alike=_KIND_ALIKE)
        self._kind = {
            self.records[at].id: n for n, kind in enumerate(kinds) if len(kind.members) > 1 for at in kind.members
        }
        known = [record for record in self.records if ended(record) is not None]
        self._blame = blame(
            [not ended(record) for record in known],
            [record.episode.skills for record in known],
            [self._kind.get(record.id, -1) for record in known],
        )

    def health(self, name: str, versions: Sequence[Version], says: frozenset[str]) -> SkillHealth:
        """One skill, not judged yet."""
        follows = np.array([name in record.episode.skills for record in self.records])
        followers, others, similar = (
            [self.records[at] for at in np.flatnonzero(chosen)] for chosen in (follows, ~follows, self._like(follows))
        )
        followed, alike, rest = (_counts(runs) for runs in (followers, similar, others))
        against, what = (alike, "similar") if alike.worked + alike.failed else (rest, "others")
        if not against.worked + against.failed or not followed.worked + followed.failed:
            harm, what = 0.5, "nothing"
        else:
            harm = probability_lower((followed.worked, followed.failed), (against.worked, against.failed))
        before, risen = _since_revision(followers, versions)
        return SkillHealth(
            skill=name,
            followed=followed,
            similar=alike,
            success_rate=rate(followed.worked, followed.failed),
            similar_rate=rate(against.worked, against.failed),
            compared_with=what,
            probability_of_harm=harm,
            blame=self._blame.get(name, Blame(0.0, 0.0, 1.0)),
            q_value=1.0,
            convicted=False,
            causes=causes([self._following(record) for record in followers if ended(record) is not None], says),
            evidence=tuple(sorted(record.id for record in followers if ended(record) is False)),
            changes=_changes(followers, similar),
            rollback_to=before,
            risen=risen,
        )

    def _like(self, follows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The runs that are nearest to one of those that follow, of those that do not: its three nearest, and ties."""
        found = np.zeros(len(follows), dtype=bool)
        rows, others = np.flatnonzero(follows), np.flatnonzero(~follows)
        if not len(others):
            return found
        for at in range(0, len(rows), _BLOCK):
            cosines = np.round(self._vectors[rows[at : at + _BLOCK]] @ self._vectors[others].T, 5)
            nearest = min(_NEAREST, len(others))
            least = np.maximum(np.partition(cosines, -nearest, axis=1)[:, -nearest], LEAST_ALIKE)
            found[others[(cosines >= least[:, None]).any(axis=0)]] = True
        return found

    def _following(self, record: Record) -> Following:
        return Following(
            bool(ended(record)), _began(record), self._kind.get(record.id, -1), frozenset(record.episode.tools)
        )


def ended(record: Record) -> bool | None:
    """How a run ended, as far as it counts: a success that only the agent itself claims is not known."""
    return None if record.episode.success and not record.confirmed else record.episode.success


def _judged(found: Sequence[SkillHealth], policy: HealthPolicy) -> list[SkillHealth]:
    """With q-values and convictions: one family of tests for skills, one for revisions."""
    guilt = false_discovery([max(one.blame.chance, 1 - one.probability_of_harm) for one in found])
    revised = [one for one in found if one.rollback_to is not None]
    worse = dict(zip((one.skill for one in revised), false_discovery([one.risen for one in revised]), strict=True))
    judged = []
    for one, q_value in zip(found, guilt, strict=True):
        enough = one.followed.failed >= policy.min_failures
        back = enough and worse.get(one.skill, 1.0) <= policy.false_discovery_rate
        convicted = back or (enough and q_value <= policy.false_discovery_rate)
        judged.append(replace(one, q_value=q_value, convicted=convicted, rollback_to=one.rollback_to if back else None))
    return sorted(judged, key=lambda one: (not one.convicted, one.q_value, -one.probability_of_harm, one.skill))


def _since_revision(followers: Sequence[Record], versions: Sequence[Version]) -> tuple[int | None, float]:
    """The version before a newest one that changed it, and how often chance alone would make failures rise as they did."""
    newest = versions[-1] if versions else None
    if newest is None or newest.parent is None or newest.origin not in ("revised", "extended"):
        return None, 1.0
    before, after = (
        _counts([run for run in followers if (_began(run) >= newest.at) is since]) for since in (False, True)
    )
    return newest.parent, chance(
        after.failed, after.worked + after.failed, before.failed, before.worked + before.failed
    )


def _changes(followers: Sequence[Record], similar: Sequence[Record]) -> dict[str, Rate]:
    found = {}
    for name in ("steps", "tokens", "seconds", "money"):
        ones, others = (
            [cost for run in runs if (cost := _cost(run, name)) is not None] for runs in (followers, similar)
        )
        if (ratio := ratio_of_means(ones, others)) is not None:
            found[name] = ratio
    return found


def _began(record: Record) -> datetime:
    return record.episode.started_at or record.recorded_at


def _cost(record: Record, name: str) -> float | None:
    value = getattr(record.episode.cost, name)
    return len(record.episode.tools) if value is None and name == "steps" else value


def _counts(records: Sequence[Record]) -> Counts:
    ends = [ended(record) for record in records]
    return Counts(ends.count(True), ends.count(False), ends.count(None))
