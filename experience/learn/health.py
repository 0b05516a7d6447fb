"""How skills do: from the runs that followed each, against runs of the same kind that did not.

Everything is worked out from the labels as they stand now, and for a skill that was changed from the runs that followed
its present text. A skill is convicted only when three things agree: runs that followed it fail more often than their like
(posterior of the difference), the blame that it gets beside the other skills of those runs stands out among all skills
tested (under a false discovery rate), and it is more than one failure or two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from experience.learn.blame import Blame, blame
from experience.learn.causes import SKILL_WRONG, VERDICTS, Following, causes
from experience.learn.counts import Counts
from experience.learn.evidence import fisher_one_sided
from experience.learn.extending import named
from experience.learn.groups import group
from experience.learn.matching import match
from experience.learn.skill import Skill
from experience.learn.statistics import Rate, false_discovery, probability_lower, rate, ratio_of_means
from experience.learn.versions import Version
from experience.memory import Memory
from experience.protocols import Record

_KIND_ALIKE = 0.75  # cosine from which on situations are equally hard, more narrowly than for a skill
_ENOUGH_ALIKE = 3  # like runs, by what their weights are worth; fewer say nothing
_CHANGES = ("revised", "extended")


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """What it takes to convict a skill."""

    false_discovery_rate: float = 0.05
    """Share of convictions that may be wrong, over all skills together."""
    min_probability_of_harm: float = 0.95
    """That runs which followed it succeed less often than their like."""
    min_failures: int = 3
    """Failed runs that followed it."""


@dataclass(frozen=True, slots=True)
class SkillHealth:
    """What the runs say of one skill."""

    skill: str
    followed: Counts
    """Runs that followed it as it is now."""
    earlier: int
    """Runs that followed it when its text was another; they are not held against it."""
    similar: Counts
    """Runs in situations like those, that did not follow it: for each that did the three nearest."""
    success_rate: Rate
    """Of those that followed it."""
    compared_with: str
    """similar, others (where no similar run's end is known), or nothing."""
    compared_rate: Rate | None
    """Success of those it is compared with; similar ones weigh as often as they are the nearest. None with nothing."""
    probability_of_harm: float
    """How probable it is that runs that followed it succeed less often than those; 0.5 with nothing to compare with."""
    blame: Blame
    """Its share beside the other skills of its runs."""
    q_value: float
    """The share of false convictions if every skill whose blame stands out as much were convicted."""
    convicted: bool
    causes: Mapping[str, float]
    """The probability of each verdict if it does harm, the likeliest first."""
    evidence: tuple[int, ...]
    """The runs that followed it and failed."""
    alike: tuple[int, ...] = ()
    """The similar runs that worked."""
    changes: Mapping[str, Rate] = field(default_factory=dict)
    """Followed against similar as a ratio (below 1: less), for steps, tokens, seconds and money where known."""
    rollback_to: int | None = None
    """The version before the newest, when failures have risen since."""
    risen: float = 1.0
    """How often chance alone would make them rise so (Fisher's exact test); 1 where there was no revision."""

    @property
    def difference(self) -> float | None:
        """Success rate of runs that followed it less that of the others; None with nothing to compare with."""
        return self.success_rate.mean - self.compared_rate.mean if self.compared_rate else None

    @property
    def verdict(self) -> str | None:
        """The likeliest of the four, see `experience.learn.causes`; None unless it is convicted.

        Where failures rose with a revision, it is the skill.
        """
        if self.rollback_to is not None:
            return SKILL_WRONG
        return next(iter(self.causes)) if self.convicted else None

    @property
    def verdict_text(self) -> str | None:
        """The verdict as a sentence."""
        return VERDICTS[self.verdict] if self.verdict else None


def skill_health(
    memory: Memory,
    policy: HealthPolicy = HealthPolicy(),
    *,
    versions: Mapping[str, Sequence[Version]] | None = None,
    skills: Mapping[str, Skill] | None = None,
) -> list[SkillHealth]:
    """The health of every skill that some run followed, the most suspect first.

    `versions` are the histories of skills, oldest first, to tell which text a run followed; `skills` their texts, to tell
    whether it was followed. Raises InvalidInput when the memory has no vectors.
    """
    memory.refresh()
    trial = _Trial(memory, versions or {}, skills or {})
    return _judged([trial.health(name) for name in trial.names], policy)


def flags(health: Sequence[SkillHealth]) -> list[SkillHealth]:
    """Those that are convicted."""
    return [one for one in health if one.convicted]


class _Trial:
    """All runs of a store, in kinds, and the blame that each skill gets."""

    def __init__(self, memory: Memory, versions: Mapping[str, Sequence[Version]], skills: Mapping[str, Skill]) -> None:
        ids, vectors = memory.vectors()
        row = {int(id): at for at, id in enumerate(ids)}
        self._records = [record for record in memory.records() if record.id in row]
        self._vectors = vectors[[row[record.id] for record in self._records]]
        self._ended = np.array([_number(record.ended) for record in self._records], dtype=np.int8)
        self._tools = frozenset(tool for record in self._records for tool in record.episode.tools)
        self._versions, self._skills = versions, skills
        self.names = sorted({name for record in self._records for name in record.episode.skills})
        kinds = group([record.episode for record in self._records], self._vectors, tools=False, alike=_KIND_ALIKE)
        members = [(at, number) for number, kind in enumerate(kinds) if len(kind.members) > 1 for at in kind.members]
        self._kind = {self._records[at].id: number for at, number in members}
        self._texts = [[self._followed(name, record) for name in record.episode.skills] for record in self._records]
        known = [record for record in self._records if record.ended is not None]
        self._blame = blame(
            [not record.ended for record in known],
            [followed for followed, record in zip(self._texts, self._records, strict=True) if record.ended is not None],
            [self._kind.get(record.id, -1) for record in known],
            {name for name in self.names if sum(r.ended is False and name in r.episode.skills for r in known) > 1},
        )

    def health(self, name: str) -> SkillHealth:
        """One skill, not judged yet."""
        follows = np.array([name in record.episode.skills for record in self._records])
        now = np.array([name in followed for followed in self._texts])
        # A run that followed an older text of it is neither like those that follow it now nor one without it.
        compared = match(self._vectors[now | ~follows], now[now | ~follows], self._ended[now | ~follows])
        pool = [record for record, take in zip(self._records, now | ~follows, strict=True) if take]
        followers, others = ([r for r, is_it in zip(self._records, chosen, strict=True) if is_it] for chosen in (now, ~follows))  # fmt: skip
        similar, matched = ([r for r, is_it in zip(pool, chosen, strict=True) if is_it] for chosen in (compared.similar, compared.followers))  # fmt: skip
        strangers = others if self._in_company(followers) else []
        ours, theirs, what = _compared(_counts(matched), (compared.worked, compared.failed), _counts(followers), _counts(strangers))  # fmt: skip
        before, risen = self._since_revision(name, followers)
        return SkillHealth(
            skill=name,
            followed=_counts(followers),
            earlier=int((follows & ~now).sum()),
            similar=_counts(similar),
            success_rate=rate(_counts(followers).worked, _counts(followers).failed),
            compared_with=what,
            compared_rate=rate(*theirs) if theirs else None,
            probability_of_harm=probability_lower(ours, theirs) if theirs else 0.5,
            blame=self._blame.get(name, Blame(0.0, 0.0, 1.0)),
            q_value=1.0,
            convicted=False,
            causes=causes([self._following(r) for r in followers if r.ended is not None], self._says(name)),
            evidence=tuple(sorted(r.id for r in followers if r.ended is False)),
            alike=tuple(sorted(r.id for r in similar if r.ended)),
            changes=_changes(followers, similar),
            rollback_to=before,
            risen=risen,
        )

    def _in_company(self, followers: Sequence[Record]) -> bool:
        """Whether most of these runs are not of kinds that they have to themselves, of which only the task may be at fault."""
        ids = {record.id for record in followers}
        shared = {kind for id, kind in self._kind.items() if id not in ids}
        alone = sum(self._kind.get(id, -1) not in shared for id in ids if id in self._kind)
        return 2 * alone < len(ids) or not ids

    def _followed(self, name: str, record: Record) -> str:
        """The skill that a run followed: its name, or another where its text was another then."""
        history = self._versions.get(name, ())
        return name if not history or _in_force(history, record) == history[-1].content else f"{name} before"

    def _says(self, name: str) -> frozenset[str]:
        skill = self._skills.get(name)
        return frozenset(tool for tool in self._tools if named(skill.body, tool)) if skill else frozenset()

    def _following(self, record: Record) -> Following:
        kind = self._kind.get(record.id, -1)
        return Following(bool(record.ended), record.began, kind, frozenset(record.episode.tools))

    def _since_revision(self, name: str, followers: Sequence[Record]) -> tuple[int | None, float]:
        """The version that the newest one changed, and how often chance alone would make failures rise as they did."""
        history = self._versions.get(name, ())
        if not history or history[-1].parent is None or history[-1].origin not in _CHANGES:
            return None, 1.0
        parent = history[history[-1].parent - 1]
        followed = [record for record in self._records if name in record.episode.skills]
        before, after = _counts([r for r in followed if _in_force(history, r) == parent.content]), _counts(followers)
        return parent.number, fisher_one_sided(after.failed, after.known, before.failed, before.known)


def _in_force(history: Sequence[Version], record: Record) -> bytes:
    """The text of a skill when a run began; before its first version that one's."""
    standing = [version for version in history if version.at <= record.began]
    return (standing[-1] if standing else history[0]).content


def _compared(
    matched: "Counts", like: tuple[float, float], followers: "Counts", others: "Counts"
) -> tuple[tuple[float, float], tuple[float, float] | None, str]:
    """What is compared, as (worked, failed) each, and with what."""
    if matched.known and sum(like) >= _ENOUGH_ALIKE:
        return (matched.worked, matched.failed), like, "similar"
    if matched.known:
        return (0, 0), None, "nothing"
    if followers.known and others.known:
        return (followers.worked, followers.failed), (others.worked, others.failed), "others"
    return (0, 0), None, "nothing"


def _judged(found: Sequence[SkillHealth], policy: HealthPolicy) -> list[SkillHealth]:
    """With q-values and convictions: one family of tests for skills, one for revisions."""
    guilt = false_discovery([one.blame.p_value for one in found])
    revised = [one for one in found if one.rollback_to is not None]
    worse = dict(zip((one.skill for one in revised), false_discovery([one.risen for one in revised]), strict=True))
    judged = []
    for one, q_value in zip(found, guilt, strict=True):
        enough = one.followed.failed >= policy.min_failures
        back = enough and one.rollback_to is not None and worse.get(one.skill, 1.0) <= policy.false_discovery_rate
        harmful = q_value <= policy.false_discovery_rate and one.probability_of_harm >= policy.min_probability_of_harm
        convicted = back or (enough and harmful)
        judged.append(replace(one, q_value=q_value, convicted=convicted, rollback_to=one.rollback_to if back else None))
    return sorted(judged, key=lambda one: (not one.convicted, one.q_value, -one.probability_of_harm, one.skill))


def _changes(followers: Sequence[Record], similar: Sequence[Record]) -> dict[str, Rate]:
    found = {}
    for name in ("steps", "tokens", "seconds", "money"):
        ones, others = (
            [cost for run in runs if (cost := _cost(run, name)) is not None] for runs in (followers, similar)
        )
        if (ratio := ratio_of_means(ones, others)) is not None:
            found[name] = ratio
    return found


def _cost(record: Record, name: str) -> float | None:
    value = getattr(record.episode.cost, name)
    return len(record.episode.tools) if value is None and name == "steps" else value


def _counts(records: Sequence[Record]) -> Counts:
    ends = [record.ended for record in records]
    return Counts(ends.count(True), ends.count(False), ends.count(None))


def _number(ended: bool | None) -> int:
    return -1 if ended is None else int(ended)
