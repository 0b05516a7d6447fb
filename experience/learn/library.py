"""The skills of a store: drafts that wait, versions that were approved, and what each was built on.

Nothing is ever changed: a rollback is a new version with an older one's bytes, a retirement a version that says so. A
draft is approved against the version that it was made for; whoever was slower is refused. How a draft comes about, and
whether a skill does any good, is told elsewhere.
"""

import json
from datetime import date, datetime
from typing import Any

from experience.episode import checked_text, moment_from, moment_text
from experience.errors import InvalidInput, NotFound, SkillConflict
from experience.learn.evidence import Citation
from experience.learn.folder import SkillFolder
from experience.learn.skill import Skill, checked_skill_name
from experience.learn.versions import DRAFT_COLUMNS, RETIRED, VERSION_COLUMNS, Draft, Version, draft_from, version_from
from experience.store import SqliteStore


class SkillLibrary:
    """The skills of one store and namespace."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store

    # -- looking -------------------------------------------------------------------------------------------------------

    def current(self, name: str) -> Version | None:
        """The newest version of a skill, retired or not; None when the store has none. Raises InvalidSkill."""
        found = self._versions("name = ? ORDER BY number DESC LIMIT 1", checked_skill_name(name))
        return found[0] if found else None

    def skills(self, *, retired: bool = False) -> list[Version]:
        """The newest version of every skill, by name; retired ones only when asked for."""
        newest = """number = (SELECT max(number) FROM skill_versions v
            WHERE v.namespace = skill_versions.namespace AND v.name = skill_versions.name) ORDER BY name"""
        return [version for version in self._versions(newest) if retired or version.origin != RETIRED]

    def history(self, name: str) -> list[Version]:
        """Every version of a skill, oldest first. Raises NotFound."""
        found = self._versions("name = ? ORDER BY number", checked_skill_name(name))
        if not found:
            raise NotFound(f"the store has no skill {name!r}; see: experience skills list")
        return found

    def version(self, name: str, number: int) -> Version:
        """One version. Raises NotFound."""
        history = self.history(name)
        found = next((version for version in history if version.number == number), None)
        if found is None:
            raise NotFound(f"the skill {name} has no version {number}; it has 1 to {history[-1].number}")
        return found

    def drafts(self, state: str | None = "waiting") -> list[Draft]:
        """Drafts in this state (None: in any), oldest first."""
        if state is None:
            return self._drafts("1 ORDER BY id")
        return self._drafts("state = ? ORDER BY id", state)

    def draft(self, id: int) -> Draft:
        """One draft. Raises NotFound."""
        found = self._drafts("id = ?", id)
        if not found:
            raise NotFound(
                f"there is no draft {id} in the namespace {self.store.namespace!r}; see: experience skills drafts"
            )
        return found[0]

    def waiting(self, name: str) -> Draft | None:
        """The draft that waits for a skill, if one does."""
        found = self._drafts("state = 'waiting' AND name = ? ORDER BY id LIMIT 1", name)
        return found[0] if found else None

    # -- drafting and deciding -------------------------------------------------------------------------------------------

    def add_draft(
        self,
        skill: Skill,
        kind: str,
        citation: Citation,
        *,
        base: bytes | None = None,
        flag: dict[str, Any] | None = None,
        note: str = "",
    ) -> Draft:
        """Let a draft wait; `base` are the bytes that it changes. One waits for a skill at a time. Raises SkillConflict."""
        with self.store.write() as db:
            if waits := self.waiting(skill.name):
                raise SkillConflict(f"draft {waits.id} waits for {skill.name} already; approve or reject it first")
            version = self.current(skill.name)
            row = (
                self.store.namespace, skill.name, kind, skill.text.encode(), version.number if version else None, base,
                json.dumps(citation.to_json()), json.dumps(flag or {}), checked_text("note", note), moment_text(self.store.now()),
            )  # fmt: skip
            sql = f"""INSERT INTO skill_drafts (namespace, name, kind, content, base, base_content, evidence, flag, note,
                made_at, state, by, reason) VALUES ({", ".join("?" * len(row))}, 'waiting', '', '')"""
            id = int(db.execute(sql, row).lastrowid or 0)
        return self.draft(id)

    def replace_draft(self, id: int, skill: Skill, citation: Citation) -> Draft:
        """Let another draft wait in the place of one, so that nobody approves what they have not read.

        Raises NotFound, SkillConflict when it was decided before.
        """
        with self.store.write():
            old = self._require_waiting(id)
            self._decide(id, "replaced", "", "a newer draft of the same runs took its place")
            return self.add_draft(skill, old.kind, citation, base=old.base_content, flag=old.flag, note=old.note)

    def approve(self, id: int, folder: SkillFolder, *, by: str, despite_hazards: bool = False) -> Version:
        """Make a draft the newest version of its skill, and write it into a folder.

        Raises SkillConflict when the skill has changed since the draft was made, in the store or in the folder, or when the
        draft was decided before; InvalidInput when it holds hazards and nobody said that they are wanted. Then nothing is
        changed, neither in the store nor in the folder.
        """
        with self.store.write():
            draft = self._require_waiting(id)
            if draft.hazards and not despite_hazards:
                raise InvalidInput(f"draft {id} holds {', '.join(h.kind for h in draft.hazards)}; read it (skills show {id}), then approve it with --despite-hazards")  # fmt: skip
            self._require_evidence(draft)
            version = self.current(draft.name)
            if (version.number if version else None) != draft.base:
                raise SkillConflict(
                    f"{draft.name} has had another version since draft {id} was made; reject it and make a new one"
                )
            if draft.base_content is not None and (version is None or version.content != draft.base_content):
                version = self._adopt(draft.name, draft.base_content, by, folder.changed_at(draft.name))
            parent = version.number if version else None
            made = self._add(draft.name, draft.content, draft.kind, parent, draft.citation, by, draft.note)
            self._decide(id, "approved", by, "")
            left = self._left_behind(draft.name, folder)
            folder.write(draft.name, draft.content, draft.base_content if left is None else left)
        return made

    def reject(self, id: int, reason: str, *, by: str, folder: SkillFolder | None = None) -> Draft:
        """Refuse a draft for good. Where an approval was killed after it had written the file, the file goes.

        Raises NotFound, SkillConflict when it was decided before, InvalidInput without a reason.
        """
        if not reason.strip():
            raise InvalidInput(
                "a rejection needs its reason; the same draft is not made again, and somebody will ask why"
            )
        with self.store.write():
            draft = self._require_waiting(id)
            current = self.current(draft.name)
            # What was made for a version that has had a successor says nothing of what would be made now.
            stale = (current.number if current else None) != draft.base
            self._decide(id, "replaced" if stale else "rejected", by, reason)
            left = self._left_behind(draft.name, folder) if folder else None
            if folder is not None and left is not None:
                folder.remove(draft.name, left)
                if (
                    before := current.content if current and current.origin != RETIRED else draft.base_content
                ) is not None:
                    folder.write(draft.name, before)
        return self.draft(id)

    def rollback(
        self, name: str, folder: SkillFolder, *, by: str, number: int | None = None, note: str = ""
    ) -> Version:
        """Make an older version (by default the one that the newest came from) the newest again, its exact bytes on disk.

        What stands on disk and was never approved becomes a version first, so that it is not lost. Raises NotFound,
        SkillConflict.
        """
        with self.store.write():
            current, there = self._as_it_stands(name, folder, by)
            target = self.version(name, self._before(current) if number is None else number)
            made = self._add(name, target.content, "rolled back", target.number, target.citation, by, note)
            folder.write(name, target.content, there)
        return made

    def retire(self, name: str, folder: SkillFolder, *, by: str, reason: str) -> Version:
        """Take a skill out of use: its file goes, its history stays. Raises NotFound, SkillConflict."""
        with self.store.write():
            current, there = self._as_it_stands(name, folder, by)
            if current.origin == RETIRED:
                raise SkillConflict(f"{name} was retired before, on {current.at:%Y-%m-%d}")
            made = self._add(name, current.content, RETIRED, current.number, current.citation, by, reason)
            if there is not None:
                folder.remove(name, there)
        return made

    # -- the caps of revisions -------------------------------------------------------------------------------------------

    def attempts(self, name: str) -> list[date]:
        """The days of every try to revise a skill, whatever came of it, oldest first."""
        sql = "SELECT at FROM skill_attempts WHERE namespace = ? AND name = ? ORDER BY id"
        return [moment_from(at, "at").date() for (at,) in self.store.read(sql, (self.store.namespace, name))]

    def note_attempt(self, name: str) -> None:
        """Count a try to revise a skill. Raises InvalidSkill."""
        with self.store.write() as db:
            row = (self.store.namespace, checked_skill_name(name), moment_text(self.store.now()))
            db.execute("INSERT INTO skill_attempts (namespace, name, at) VALUES (?, ?, ?)", row)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _add(
        self,
        name: str,
        content: bytes,
        origin: str,
        parent: int | None,
        citation: Citation,
        by: str,
        note: str,
        at: datetime | None = None,
    ) -> Version:
        with self.store.write() as db:
            last = self.current(name)
            row = (
                self.store.namespace, name, last.number + 1 if last else 1, content, origin, parent,
                json.dumps(citation.to_json()), checked_text("by", by), checked_text("note", note), moment_text(at or self.store.now()),
            )  # fmt: skip
            sql = f"""INSERT INTO skill_versions (namespace, name, number, content, origin, parent, evidence, by, note, at)
                VALUES ({", ".join("?" * len(row))})"""
            db.execute(sql, row)
        return self.history(name)[-1]

    def _decide(self, id: int, state: str, by: str, reason: str) -> None:
        row = (state, checked_text("by", by), checked_text("reason", reason), moment_text(self.store.now()), id)
        with self.store.write() as db:
            db.execute("UPDATE skill_drafts SET state = ?, by = ?, reason = ?, decided_at = ? WHERE id = ?", row)

    def _require_waiting(self, id: int) -> Draft:
        draft = self.draft(id)
        if draft.state != "waiting":
            raise SkillConflict(f"draft {id} was {draft.state} before{f': {draft.reason}' if draft.reason else ''}")
        return draft

    def _left_behind(self, name: str, folder: SkillFolder) -> bytes | None:
        """What stands in the folder, when an approval was killed that had written it: a draft's text and no version's."""
        there = folder.read(name)
        drafts = {draft.content for draft in self._drafts("name = ? AND state <> 'approved'", name)}
        versions = {version.content for version in self._versions("name = ?", name)}
        return there if there in drafts - versions else None

    def _require_evidence(self, draft: Draft) -> None:
        """Raise SkillConflict when every run that a new skill was built on has gone or is said to have failed."""
        standing = self.store.get_many(draft.citation.worked)
        if draft.citation.worked and not any(record.episode.success for record in standing.values()):
            raise SkillConflict(
                f"none of the runs that draft {draft.id} was built on has worked, as it stands now; reject it"
            )

    def _versions(self, condition: str, *parameters: object) -> list[Version]:
        sql = f"SELECT {VERSION_COLUMNS} FROM skill_versions WHERE namespace = ? AND {condition}"
        return [version_from(row) for row in self.store.read(sql, (self.store.namespace, *parameters))]

    def _drafts(self, condition: str, *parameters: object) -> list[Draft]:
        sql = f"SELECT {DRAFT_COLUMNS} FROM skill_drafts WHERE namespace = ? AND {condition}"
        return [draft_from(row) for row in self.store.read(sql, (self.store.namespace, *parameters))]

    def _as_it_stands(self, name: str, folder: SkillFolder, by: str) -> tuple[Version, bytes | None]:
        """The newest version, which is what stands in the folder where that is something else, and what stands there."""
        current, there = self.current(name), folder.read(name)
        if current is None and there is None:
            raise NotFound(f"there is no skill {name!r}, neither in the store nor in {folder.root}")
        if there is not None and (current is None or current.content != there or current.origin == RETIRED):
            current = self._adopt(name, there, by, folder.changed_at(name))
        assert current is not None  # noqa: S101 (one of both was there)
        return current, there

    def _adopt(self, name: str, content: bytes, by: str, changed_at: datetime | None) -> Version:
        """Keep as a version what somebody else wrote, from the moment on at which they did."""
        last, now = self.current(name), self.store.now()
        since = min(max(changed_at or now, last.at if last else now), now)
        number = last.number if last else None
        return self._add(name, content, "found", number, Citation(), by, "as it was on disk", at=since)

    @staticmethod
    def _before(current: Version) -> int:
        if current.parent is None:
            raise NotFound(f"{current.name} has no version before {current.number}; retire it instead")
        return current.parent
