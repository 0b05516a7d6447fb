"""Skills seen together with the runs of their store: how each does, what became stale, and a revision where one is due."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from experience.errors import NotFound, SkillConflict
from experience.learn.distill import Complete
from experience.learn.folder import SkillFolder
from experience.learn.health import HealthPolicy, SkillHealth, skill_health
from experience.learn.library import SkillLibrary
from experience.learn.refusals import NotFlagged, RevisionRefusal
from experience.learn.revise import Allowed, Request, RevisePolicy, Revision, check, revise
from experience.learn.skill import Skill, checked_skill_name
from experience.learn.versions import RETIRED, Draft, Version
from experience.learn.words import Casing
from experience.memory import Memory
from experience.protocols import Record
from experience.store import SqliteStore

if TYPE_CHECKING:
    from experience.learn.evidence import Citation


@dataclass(frozen=True, slots=True)
class Stale:
    """Something that was built on a run of which another thing is said now."""

    what: str
    """skill, draft or flag."""
    skill: str
    version: int | None
    """Of a skill."""
    draft: int | None
    """Of a draft, or of the draft that the flag came with."""
    episode: int
    was: str
    """worked or failed, when it was built."""
    now: str
    """worked, failed, unknown, superseded or deleted."""


def known_skills(library: SkillLibrary, folder: SkillFolder) -> dict[str, Skill]:
    """Every skill in use by name: what stands in the folder, and for what does not stand there the store's newest version."""
    skills = {version.name: version.skill for version in library.skills()}
    return skills | {skill.name: skill for skill in folder.scan().skills}


def health_of_skills(memory: Memory, folder: SkillFolder, policy: HealthPolicy = HealthPolicy()) -> list[SkillHealth]:
    """The health of every skill that some run followed and that is not retired, the most suspect first; see `skill_health`."""
    library = SkillLibrary(memory.store)
    newest = library.skills(retired=True)
    retired = {version.name for version in newest if version.origin == RETIRED}
    found = skill_health(
        memory,
        policy,
        versions={
            version.name: _with_disk(library.history(version.name), folder)
            for version in newest
            if version.name not in retired
        },
        skills=known_skills(library, folder),
    )
    return [one for one in found if one.skill not in retired]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a skill stands, in the store and in a folder."""

    name: str
    description: str
    version: Version | None
    """The store's newest; None when the store has none."""
    state: str
    """in use, changed on disk, not in folder, not in the store, retired, or retired but on disk."""
    text: str
    """What stands in the folder, or else in the store."""


def standing(library: SkillLibrary, folder: SkillFolder, name: str) -> Standing:
    """How one skill stands. Raises NotFound, InvalidSkill."""
    version, content = library.current(checked_skill_name(name)), folder.read(name)
    kept = content if content is not None else version.content if version else None
    if kept is None:
        raise NotFound(f"there is no skill {name!r}, neither in the store nor in {folder.root}")
    skill = Skill.parse(kept)
    return Standing(name, skill.description, version, _standing(version, content), skill.text)


def standings(library: SkillLibrary, folder: SkillFolder, *, retired: bool = False) -> list[Standing]:
    """How all skills stand, by name; retired ones when asked for. What cannot be read in the folder is left out."""
    on_disk = folder.scan()
    names = {version.name for version in library.skills(retired=True)} | {skill.name for skill in on_disk.skills}
    unreadable = {problem.folder for problem in on_disk.problems}
    found = [standing(library, folder, name) for name in sorted(names - unreadable)]
    return [one for one in found if retired or one.state != RETIRED]


def _standing(version: Version | None, content: bytes | None) -> str:
    if version is None:
        return "not in the store"
    if version.origin == RETIRED:
        return RETIRED if content is None else "retired but on disk"
    if content is None:
        return "not in folder"
    return "in use" if content == version.content else "changed on disk"


def _with_disk(history: list[Version], folder: SkillFolder) -> list[Version]:
    """A skill's history, and as its end what somebody has written in the folder since."""
    last, there = history[-1], folder.read(history[-1].name)
    if there is None or there == last.content:
        return history
    since = max(folder.changed_at(last.name) or last.at, last.at)
    edited = replace(last, number=last.number + 1, content=there, origin="found", parent=last.number, at=since)
    return [*history, edited]


def propose(
    memory: Memory,
    folder: SkillFolder,
    name: str,
    policy: RevisePolicy = RevisePolicy(),
    complete: Complete | None = None,
    *,
    episode: int | None = None,
    complaint: str = "",
) -> Draft | RevisionRefusal:
    """A draft that revises a skill, or why there is none.

    Without an `episode` the runs themselves have to convict the skill first. Each try is counted before anything is asked
    of a model. Raises NotFound, SkillConflict when a draft waits already, InvalidSkill, BadReply, ModelError.
    """
    library = SkillLibrary(memory.store)
    content = folder.read(checked_skill_name(name))
    version = library.current(name)
    if content is None and (version is None or version.origin == RETIRED):
        raise NotFound(f"there is no skill {name!r} in use, neither in the store nor in {folder.root}")
    content = content if content is not None else version.content if version else b""
    health = next((one for one in health_of_skills(memory, folder) if one.skill == name), None)
    if episode is None and (health is None or not health.convicted):
        counts = (health.followed.total, health.followed.failed, health.q_value) if health else (0, 0, 1.0)
        return NotFlagged(name, *counts)
    request = _request(memory, library, name, Skill.parse(content), health, episode, complaint)
    today = memory.store.now().date()
    with memory.store.write():
        if waits := library.waiting(name):
            raise SkillConflict(f"draft {waits.id} waits for {name} already; approve or reject it first")
        if not isinstance(allowed := check(request, today, policy), Allowed):
            return allowed
        library.note_attempt(name)
    made = revise(request, today, policy, complete)
    if not isinstance(made, Revision):
        return made
    flag = _flag_json(health) if health else {}
    return library.add_draft(made.skill, "revised", made.citation, base=content, flag=flag, note=made.rationale)


def stale(store: SqliteStore) -> list[Stale]:
    """Skills in use, drafts that wait and the flags they mend, of which a run that they cite has another label now."""
    library = SkillLibrary(store)
    cited: list[tuple[str, str, int | None, int | None, Citation]] = [
        ("skill", version.name, version.number, None, version.citation) for version in library.skills()
    ]
    for draft in library.drafts():
        cited.append(("draft", draft.name, None, draft.id, draft.citation))
        if draft.flag:
            cited.append(("flag", draft.name, None, draft.id, draft.citation))
    records = store.get_many(sorted({id for *_, citation in cited for id in citation.ids}))
    return [
        Stale(what, name, number, id, episode, was, now)
        for what, name, number, id, citation in cited
        for was, ids in (("worked", citation.worked), ("failed", citation.failed))
        for episode in ids
        if (now := _state(records.get(episode), claimed=episode in citation.claimed)) != was
    ]


def _request(
    memory: Memory,
    library: SkillLibrary,
    name: str,
    skill: Skill,
    health: SkillHealth | None,
    episode: int | None,
    complaint: str,
) -> Request:
    records = memory.records()
    followers = [record for record in records if name in record.episode.skills]
    version = library.current(name)
    built_on = memory.store.get_many(version.citation.worked).values() if version else []
    worked = {record.id: record for record in (*followers, *built_on) if record.ended}
    failed = {record.id: record for record in followers if health and record.id in health.evidence}
    like = memory.store.get_many(health.alike).values() if health else []
    shown = memory.get(episode if episode is not None else max(failed))
    if shown.ended is False:
        failed.setdefault(shown.id, shown)
    return Request(
        skill=skill,
        skill_name=name,
        episode=shown.episode,
        complaint=complaint,
        attempts=library.attempts(name),
        worked=_ordered(worked),
        failed=_ordered(failed),
        like=list(like),
        verdict=(health.verdict or "") if health else "",
        casing=Casing(record.episode.situation for record in records),
    )


def _ordered(records: dict[int, Record]) -> Sequence[Record]:
    return [records[id] for id in sorted(records)]


def _flag_json(health: SkillHealth) -> dict[str, object]:
    return {
        "verdict": health.verdict or "",
        "probability_of_harm": health.probability_of_harm,
        "q_value": health.q_value,
        "convicted": health.convicted,
        "followed": asdict(health.followed),
        "similar": asdict(health.similar),
        "evidence": list(health.evidence),
    }


def _state(record: Record | None, *, claimed: bool) -> str:
    """How a run stands now; where the agent's own claim was enough, it still is."""
    if record is None:
        return "deleted"
    if record.superseded:
        return "superseded"
    return {True: "worked", False: "failed", None: "unknown"}[record.episode.success if claimed else record.ended]
