"""All that a store has, made into drafts of skills.

It finds the kinds of runs, uses or extends a skill that is there before it makes another, and lets each draft wait in the
store as soon as it is made, so that a killed job goes on where it stopped. Nothing here reaches a folder: that takes an
approval.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from experience.errors import BadReply, InvalidSkill, ModelError, SkillConflict
from experience.learn.distill import BY_MODEL, Complete, Drafted, distill
from experience.learn.drafting import assembled, written
from experience.learn.evidence import Citation, Evidence
from experience.learn.extending import extended
from experience.learn.gate import DistillPolicy, Known, gate, is_success
from experience.learn.groups import LEAST_ALIKE, group
from experience.learn.library import SkillLibrary
from experience.learn.refusals import Covered, DecidedBefore, DuplicateSkill, Refusal, TooFewSightings, Waiting
from experience.learn.skill import Skill
from experience.learn.versions import RETIRED, Draft
from experience.learn.words import Casing
from experience.memory import Memory
from experience.protocols import Progress, Record

_HALF = 0.5
_NUMBER = re.compile(r"(`[^`]*`)|\d+")  # but for those in tools' names


@dataclass(frozen=True, slots=True)
class Skipped:
    """A kind of runs that nothing was made of, and why."""

    refusal: Refusal
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What `distill_all` did."""

    runs: int = 0
    """Episodes looked at."""
    successes: int = 0
    """Those that count as successes."""
    groups: int = 0
    """Kinds of successes that were found."""
    drafts: tuple[Draft, ...] = ()
    """Drafts made, or made anew, that now wait."""
    skipped: tuple[Skipped, ...] = ()
    errors: tuple[str, ...] = ()
    """What a model answered that could not be used, or another process was faster with; tried again next time."""
    nothing_new: bool = False
    """True when nothing has changed since the last time, and so nothing was done."""


def distill_all(
    memory: Memory,
    policy: DistillPolicy = DistillPolicy(),
    complete: Complete | None = None,
    *,
    existing: Sequence[Skill] = (),
    progress: Progress | None = None,
) -> Report:
    """Drafts of skills from everything in a store; they wait in its `SkillLibrary`.

    `existing` are skills on disk that the store may not know. The same store gives the same drafts, whatever the order of
    its runs. When nothing has changed since the last time, nothing is done. Raises InvalidInput when the memory has no
    vectors; what a model answers wrongly is told in the report.
    """
    memory.refresh()
    library = SkillLibrary(memory.store)
    state = _state(library, policy, existing, model=complete is not None)
    if memory.store.setting("distilled") == state:
        return Report(runs=memory.count(), nothing_new=True)
    batch = _Batch(memory, library, policy, existing)
    drafts: list[Draft] = []
    skipped: list[Skipped] = []
    errors: list[str] = []
    for done, members in enumerate(batch.groups, 1):
        try:
            made = batch.draft(members, complete)
        except (BadReply, ModelError, InvalidSkill, SkillConflict) as error:
            errors.append(str(error))
        else:
            if isinstance(made, Draft):
                drafts.append(made)
            else:
                skipped.append(Skipped(made, tuple(sorted(run.id for run in members))))
        if progress:
            progress(done, len(batch.groups))
    if not errors:
        memory.store.set_setting("distilled", _state(library, policy, existing, model=complete is not None))
    counts = (len(batch.records), len(batch.worked), len(batch.groups))
    return Report(*counts, tuple(drafts), tuple(skipped), tuple(errors))


class _Batch:
    """One look at a store: its runs, their kinds, and the skills that are there."""

    def __init__(self, memory: Memory, library: SkillLibrary, policy: DistillPolicy, existing: Sequence[Skill]) -> None:
        self._library, self._policy = library, policy
        ids, self._vectors = memory.vectors()
        self._row = {int(id): row for row, id in enumerate(ids)}
        self.records = [record for record in memory.records() if record.id in self._row]
        self.worked = [record for record in self.records if is_success(record, policy)]
        self._failed = [record for record in self.records if record.episode.success is False]
        self._failures = self._vectors[[self._row[record.id] for record in self._failed]]
        self._casing = Casing(record.episode.situation for record in self.records)
        self.groups = self._kinds()
        versions = library.skills(retired=True)
        self._skills = {version.name: version.skill for version in versions if version.origin != RETIRED}
        self._skills |= {skill.name: skill for skill in existing}  # as it stands on disk
        self._current = [version for version in versions if version.origin != RETIRED]
        self._retired = [version for version in versions if version.origin == RETIRED]
        self._known = {name: Known.of(skill) for name, skill in self._skills.items()}
        self._waiting = {draft.name: draft for draft in library.drafts()}
        self._known |= {name: Known.of(draft.skill) for name, draft in self._waiting.items() if name not in self._known}
        self._rejected = library.drafts("rejected")

    def draft(self, runs: Sequence[Record], complete: Complete | None) -> Draft | Refusal:
        """A draft for one kind, or why none; the draft waits in the library."""
        ids = {run.id for run in runs}
        if refusal := self._refused(runs, ids):
            return refusal
        failed = self._alike(runs)
        for waits in self._waiting.values():
            if _same_kind(ids, waits.citation.worked):
                return self._again(waits, runs, failed, complete)
        if name := self._followed(runs) or self._built_on(ids):
            return self._extend(name, runs, failed)
        known, taken = self._known.values(), {version.name for version in self._retired}
        made = distill(runs, known, self._policy, complete, failed=failed, casing=self._casing, taken=taken)
        if isinstance(made, Drafted):
            return self._wait(made.skill, "distilled", made.evidence, note=made.note)
        if isinstance(made, DuplicateSkill) and made.existing in self._skills:
            extension = self._extend(made.existing, runs, failed)
            return extension if isinstance(extension, Draft) else made
        return made

    def _refused(self, runs: Sequence[Record], ids: Collection[int]) -> Refusal | None:
        if len(runs) < self._policy.min_support:
            return TooFewSightings(len(runs), self._policy.min_support)
        return gate(runs, (), self._policy) or self._turned_down(ids)

    def _wait(self, skill: Skill, kind: str, evidence: Evidence, *, base: bytes | None = None, note: str = "") -> Draft:
        draft = self._library.add_draft(skill, kind, evidence.citation, base=base, note=note)
        self._waiting[draft.name] = draft
        self._known.setdefault(draft.name, Known.of(skill))
        return draft

    def _kinds(self) -> list[list[Record]]:
        rows = self._vectors[[self._row[record.id] for record in self.worked]]
        found = group([record.episode for record in self.worked], rows)
        return [
            [self.worked[at] for at in (kind.centre, *(m for m in kind.members if m != kind.centre))] for kind in found
        ]

    def _alike(self, runs: Sequence[Record]) -> list[Record]:
        """Runs that failed in a situation like that of the centre."""
        cosines = self._failures @ self._vectors[self._row[runs[0].id]]
        return [record for record, cosine in zip(self._failed, cosines, strict=True) if cosine >= LEAST_ALIKE]

    def _again(
        self, waiting: Draft, runs: Sequence[Record], failed: Sequence[Record], complete: Complete | None
    ) -> Draft | Refusal:
        """A draft that waits follows its runs, unless a model has written it."""
        evidence = Evidence.of(runs, failed, self._casing)
        by_model = complete is not None or waiting.note.startswith(BY_MODEL)
        if by_model or waiting.kind != "distilled" or evidence.citation == waiting.citation or not evidence.steps:
            return Waiting(waiting.id, waiting.name)
        others = {*self._known, *(version.name for version in self._retired)} - {waiting.name}
        fields = written(evidence, others)
        if fields.name != waiting.name:
            return Waiting(waiting.id, waiting.name)
        newer = self._library.replace_draft(waiting.id, assembled(fields, evidence), evidence.citation)
        self._waiting[newer.name] = newer
        return newer

    def _turned_down(self, ids: Collection[int]) -> DecidedBefore | None:
        for draft in self._rejected:
            if draft.kind == "distilled" and _same_kind(ids, draft.citation.worked):
                return DecidedBefore(draft.name, draft.reason)
        for version in self._retired:
            if _same_kind(ids, version.citation.worked):
                return DecidedBefore(version.name, version.note)
        return None

    def _followed(self, runs: Sequence[Record]) -> str | None:
        """The skill that most of these runs followed, if it is there."""
        counts = {name: sum(name in run.episode.skills for run in runs) for name in self._skills}
        name = min(counts, key=lambda name: (-counts[name], name), default=None)
        return name if name and counts[name] > _HALF * len(runs) else None

    def _built_on(self, ids: Collection[int]) -> str | None:
        found = (version.name for version in self._current if _same_kind(ids, version.citation.worked))
        return next(found, None)

    def _extend(self, name: str, runs: Sequence[Record], failed: Sequence[Record]) -> Draft | Refusal:
        """What the runs show that the skill does not say, as a draft of its next version.

        They are looked at together with those that the skill was built on, so that it is not made to contradict them.
        """
        skill = self._skills[name]
        if waits := self._waiting.get(name):
            return Waiting(waits.id, name)
        version = next((version for version in self._current if version.name == name), None)
        before = version.citation if version else Citation()
        worked, fails = (
            {record.id: record for record in records if record.id in ids} | {run.id: run for run in now}
            for records, ids, now in ((self.worked, before.worked, runs), (self._failed, before.failed, failed))
        )
        evidence = Evidence.of(_by_id(worked), _by_id(fails), self._casing)
        better = extended(skill, evidence)
        if better is None:
            return Covered(name)
        claims = _claims(better.text) - _claims(skill.text)
        for rejected in self._rejected:
            if rejected.name == name and claims <= _claims(rejected.content.decode()):
                return DecidedBefore(name, rejected.reason)
        history = self._library.history(name) if version else []
        if any(claims <= _claims(older.content.decode(errors="replace")) for older in history):
            return DecidedBefore(name, "an earlier version said so")
        return self._wait(better, "extended", evidence, base=skill.original)


def _claims(text: str) -> set[str]:
    """The lines of a skill without their numbers, which every run changes."""
    return {_NUMBER.sub(lambda found: found[1] or "", line) for line in text.splitlines()}


def _by_id(records: Mapping[int, Record]) -> list[Record]:
    return [records[id] for id in sorted(records)]


def _same_kind(ids: Collection[int], others: Sequence[int]) -> bool:
    """Whether at least half of the smaller of two sets of runs is in the other."""
    shared = len(set(ids) & set(others))
    return shared > 0 and shared >= _HALF * min(len(ids), len(others))


def _state(library: SkillLibrary, policy: DistillPolicy, existing: Sequence[Skill], *, model: bool) -> str:
    """Changes when anything does that distilling depends on, but for which model is asked."""
    store = library.store
    space = (store.namespace,)
    parts: list[object] = [repr(policy), model, store.setting("encoder"), *sorted(skill.text for skill in existing)]
    for sql in (
        "SELECT coalesce(max(id), 0), count(*) FROM episodes WHERE namespace = ?",
        "SELECT coalesce(max(l.id), 0), count(*) FROM labels l JOIN episodes e ON e.id = l.episode_id WHERE e.namespace = ?",
        "SELECT coalesce(max(id), 0), count(*) FROM skill_versions WHERE namespace = ?",
        "SELECT coalesce(max(id), 0), count(decided_at) FROM skill_drafts WHERE namespace = ?",
    ):
        parts.extend(store.read(sql, space))
    parts.append(store.count())  # what has expired in the meantime counts no more
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()
