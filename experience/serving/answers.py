"""What the tools of the server answer: plain values, from which the protocol's schemas are made.

Recorded texts stand in them as they were recorded, but for their length; they are JSON strings by the time an agent reads
them. Field names are what an agent sees, so they say what they hold.
"""

from dataclasses import dataclass

from experience.choosing import Answer
from experience.episode import moment_text
from experience.learn.counts import followed_skill
from experience.learn.replies import Echo, Outdated, Reply, writes
from experience.learn.versions import Version
from experience.protocols import Match, Record
from experience.store import SqliteStore
from experience.tell.brief import Brief
from experience.tell.receipts import Receipt

LONGEST_TEXT = 4000
"""Characters of a situation, an outcome, or of names together that an answer holds; a resource has all of them."""


@dataclass(frozen=True)
class PastRun:
    """A run as it was recorded."""

    id: int
    run_id: str | None
    score: float
    why: str
    situation: str
    outcome: str
    tools: list[str]
    skills: list[str]
    success: bool | None
    """None: nobody has said."""
    said_by: str | None
    """The class of whoever said so, such as verifier or self_claim."""
    began: str
    left_out: int
    """Characters of situation and outcome, and names, that are not here; experience://episodes/ID has them."""


@dataclass(frozen=True)
class Recalled:
    """Similar past runs, best first, and what was not alike enough."""

    runs: list[PastRun]
    near_misses: int
    best_miss: float | None
    failed_instead: int
    """When only runs that worked were asked for and there are none: how many similar ones failed."""


@dataclass(frozen=True)
class Told:
    """A brief; the run that is told it is recorded under `run_id`."""

    run_id: str
    receipt: int
    brief: str
    cost: int
    """Tokens, estimated."""
    learnings: list[int]
    episodes: list[int]
    skills: list[str]
    left_out: int
    """Things that there was no room for."""


@dataclass(frozen=True)
class Standing:
    """A recorded run, and what is said of it now."""

    id: int
    run_id: str | None
    success: bool | None
    said_by: str | None
    """The class of the statement that counts."""
    confirmed: bool
    """Whether somebody other than the agent itself says that it worked."""


@dataclass(frozen=True)
class Proposed:
    """What became of a proposed learning."""

    reply: str
    """Taken, Echo, Rediscovered, Confirmed, Corrected, Outdated, Refused, Malformed, Unacceptable or NotActive."""
    id: int | None
    accepted: bool
    """Whether what was proposed is known to the store, now or already."""
    changed: bool
    """Whether the store holds something that it did not hold before."""
    text: str


@dataclass(frozen=True)
class ListedSkill:
    """A skill in use, and how the runs ended that followed it as it is."""

    name: str
    description: str
    version: int
    worked: int
    failed: int
    unknown: int


@dataclass(frozen=True)
class SkillList:
    """The skills in use, by name."""

    skills: list[ListedSkill]


@dataclass(frozen=True)
class SkillText:
    """A skill as a person approved it."""

    name: str
    version: int
    text: str
    """The whole SKILL.md."""


def recalled_from(answer: Answer) -> Recalled:
    """What a recall found."""
    return Recalled(
        [past_run(match) for match in answer.matches], answer.near_misses, answer.best_miss, answer.failures
    )


def past_run(match: Match) -> PastRun:
    """A recalled run, its texts cut to LONGEST_TEXT."""
    episode, record = match.episode, match.record
    tools, tools_left = _fitting(episode.tools)
    skills, skills_left = _fitting(episode.skills)
    cut = sum(max(len(text) - LONGEST_TEXT, 0) for text in (episode.situation, episode.outcome))
    return PastRun(
        id=match.id,
        run_id=episode.run_id,
        score=round(match.score, 6),
        why=match.why,
        situation=episode.situation[:LONGEST_TEXT],
        outcome=episode.outcome[:LONGEST_TEXT],
        tools=tools,
        skills=skills,
        success=episode.success,
        said_by=record.label.kind if record.label else None,
        began=moment_text(record.began),
        left_out=cut + tools_left + skills_left,
    )


def told_from(brief: Brief, receipt: Receipt) -> Told:
    """A brief of which a receipt was kept."""
    contents = brief.contents
    return Told(
        run_id=receipt.run_id,
        receipt=receipt.id,
        brief=brief.text,
        cost=brief.cost,
        learnings=[item.id for item in contents.of("learnings") if item.id is not None],
        episodes=[
            item.id for part in ("worked", "failed", "unknown") for item in contents.of(part) if item.id is not None
        ],
        skills=[item.name for item in contents.of("skills")],
        left_out=len(contents.left_out),
    )


def standing_of(record: Record) -> Standing:
    """How a run stands."""
    said_by = record.label.kind if record.label else None
    return Standing(record.id, record.episode.run_id, record.episode.success, said_by, record.confirmed)


def proposed_from(reply: Reply) -> Proposed:
    """What became of a proposal."""
    accepted = writes(reply) or isinstance(reply, Echo | Outdated)
    return Proposed(type(reply).__name__, getattr(reply, "id", None), accepted, writes(reply), str(reply))


def listed_skill(store: SqliteStore, version: Version) -> ListedSkill:
    """A skill with how the runs ended that followed it."""
    ended = followed_skill(store, version.name, version.at)
    return ListedSkill(version.name, version.description, version.number, ended.worked, ended.failed, ended.unknown)


def _fitting(names: tuple[str, ...]) -> tuple[list[str], int]:
    """As many names as LONGEST_TEXT holds, and how many are left out."""
    taken: list[str] = []
    room = LONGEST_TEXT
    for name in names:
        room -= len(name)
        if room < 0:
            break
        taken.append(name)
    return taken, len(names) - len(taken)
