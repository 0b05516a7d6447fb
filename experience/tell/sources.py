"""What a store has to say about a task: learnings, similar runs by how they ended, and the skills that fit.

It reads and ranks, and takes more than will be told; how much of it there is room for is decided elsewhere. Equal scores are
settled by when a run began and then by its words, never by which id it was given, so that equal stores say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from experience.learn.counts import Counts, followed_skill
from experience.learn.learning import Learning
from experience.learn.learnings import Learnings
from experience.learn.library import SkillLibrary
from experience.learn.versions import Version
from experience.memory import Memory
from experience.protocols import Filter, Match
from experience.tokens import has_words, query_terms, tokens

_FEWEST_SHARED = 2  # words that a skill has to share with the task, when nothing else ties them
_LEAST_SHARED = 1 / 3  # and the share of the task's words that those have to be
_LINK = 1.0  # what a recalled run that followed a skill, or that it was built on, counts for
_HEAD = 1500  # bytes of a skill at most that say what it is about


@dataclass(frozen=True, slots=True)
class FittingSkill:
    """A skill that fits a task, with how the runs ended that followed it as it is."""

    version: Version
    description: str
    followed: Counts
    suspected: bool
    """A revision waits because runs convicted it."""
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What there is to tell, each part best first."""

    learnings: tuple[Learning, ...] = ()
    """All that the agent is told, confirmed ones first, then the oldest."""
    worked: tuple[Match, ...] = ()
    """Runs that are confirmed to have worked."""
    failed: tuple[Match, ...] = ()
    unknown: tuple[Match, ...] = ()
    """Of which only the agent itself, or nobody, says how they ended."""
    skills: tuple[FittingSkill, ...] = ()


def sources_for(
    memory: Memory, task: str, agent: str, *, worked: int, failed: int, unknown: int, skills: int
) -> Sources:
    """Everything that a store says about a task, at most so many of each kind."""
    learnings = tuple(Learnings(memory.store).active(agent))
    if not has_words(task):
        return Sources(learnings)
    succeeded = _best(memory, task, worked, Filter(success=True))
    anyhow = _best(memory, task, unknown, Filter())
    confirmed = [match for match in succeeded if match.record.confirmed]
    open_ended = {match.id: match for match in (*anyhow, *succeeded) if match.record.ended is None}
    lost = _best(memory, task, failed, Filter(success=False))
    near = {match.id for match in (*confirmed, *lost, *anyhow)}
    return Sources(
        learnings,
        tuple(confirmed),
        tuple(lost),
        tuple(sorted(open_ended.values(), key=_rank)[:unknown]),
        tuple(_fitting(memory, task, near, confirmed, skills)),
    )


def by_task(learnings: Sequence[Learning], task: str) -> list[tuple[float, Learning]]:
    """Each with how much of the task's words it shares, rare words counting more; best first, equals as they came.

    Scores are sums of log(1 + N / df) over shared words, df among these learnings, as inverse document frequency weighs
    them (Spärck Jones 1972).
    """
    wanted = set(query_terms(task))
    words = [wanted & set(tokens(one.text)) for one in learnings]
    frequency = {word: sum(word in others for others in words) for word in wanted}
    scored = [
        (sum(log(1 + len(learnings) / frequency[word]) for word in sorted(shared)), one)
        for shared, one in zip(words, learnings, strict=True)
    ]
    return sorted(scored, key=lambda pair: -pair[0])


def _best(memory: Memory, task: str, k: int, where: Filter) -> list[Match]:
    """The k best, and where the last of them has equals, those whose words come first among all of these."""
    depth = 2 * k
    while k:
        found = memory.recall(task, depth + 1, where)
        if len(found) <= depth or found[k - 1].score > found[depth].score:
            return sorted(found, key=_rank)[:k]
        depth *= 2
    return []


def _rank(match: Match) -> tuple[object, ...]:
    episode = match.episode
    return -match.score, -match.record.began.timestamp(), episode.situation, episode.outcome, episode.tools, match.id


def _fitting(memory: Memory, task: str, near: set[int], worked: Sequence[Match], most: int) -> list[FittingSkill]:
    """At most so many skills in use that recalled runs tie to the task, or that share enough of its words; best first."""
    library = SkillLibrary(memory.store)
    wanted = set(query_terms(task))
    followed = [match.episode.skills for match in worked]
    found = []
    for version in library.skills():
        links = sum(version.name in skills for skills in followed) + len(near & set(version.citation.worked))
        shared = wanted & _about(version.content)
        if links or (len(shared) >= _FEWEST_SHARED and len(shared) >= _LEAST_SHARED * len(wanted)):
            score = links * _LINK + len(shared) / max(len(wanted), 1)
            why = (
                f"recalled runs tie it to the task: {links}" if links else f"words shared with the task: {len(shared)}"
            )
            found.append((version, score, why))
    suspects = {draft.name for draft in library.drafts() if draft.flag.get("convicted")} if found else set()
    found.sort(key=lambda row: (-row[1], row[0].name))
    return [
        FittingSkill(
            version,
            version.description,
            followed_skill(memory.store, version.name, version.at),
            version.name in suspects,
            round(score, 6),
            why,
        )
        for version, score, why in found[:most]
    ]


@lru_cache(maxsize=1024)
def _about(content: bytes) -> frozenset[str]:
    """The words that say what a skill is for: those of its frontmatter, name and description above all."""
    head = content[:_HEAD].decode(errors="ignore")
    return frozenset(tokens(head.removeprefix("---").split("\n---", 1)[0]))
