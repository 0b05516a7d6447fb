"""A skill as the store keeps it: versions that were approved, drafts that wait or were decided about.

Values, and the rows they come from; nothing here writes or decides.
"""

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from experience.episode import moment_from
from experience.errors import InvalidSkill
from experience.learn.evidence import Citation
from experience.learn.skill import Skill
from experience.screen import Hazard, hazards

RETIRED = "retired"
ORIGINS = ("found", "distilled", "extended", "revised", "rolled back", RETIRED)
VERSION_COLUMNS = "id, name, number, content, origin, parent, evidence, by, note, at"
DRAFT_COLUMNS = (
    "id, name, kind, content, base, base_content, evidence, flag, note, made_at, state, by, reason, decided_at"
)


@dataclass(frozen=True, slots=True)
class Version:
    """How a skill stood from a moment on."""

    id: int
    name: str
    number: int
    content: bytes
    """The exact bytes of its file."""
    origin: str
    """One of ORIGINS."""
    parent: int | None
    """The number of the version that it came from."""
    citation: Citation
    by: str
    """Who approved it."""
    note: str
    at: datetime

    @property
    def skill(self) -> Skill:
        """The skill in it. Raises InvalidSkill where somebody had put something else in its place."""
        return Skill.parse(self.content)

    @property
    def description(self) -> str:
        """The skill's, empty where it is none."""
        return _description(self.content)


@lru_cache(maxsize=1024)
def _description(content: bytes) -> str:
    """A skill's description; reading YAML takes milliseconds, and a version never changes."""
    try:
        return Skill.parse(content).description
    except InvalidSkill:
        return ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A skill, or a change of one, that waits to be approved; or what was decided about it."""

    id: int
    name: str
    kind: str
    """distilled, extended or revised."""
    content: bytes
    base: int | None
    """The number of the version that it changes; None for a new skill, or one that is only on disk."""
    base_content: bytes | None
    """The bytes that it changes."""
    citation: Citation
    flag: dict[str, Any]
    """What a revision is to mend, as it was when it was made; empty for others."""
    note: str
    made_at: datetime
    state: str
    """waiting, approved, rejected, or replaced by a newer draft. What a draft holds never changes."""
    by: str
    """Who decided."""
    reason: str
    decided_at: datetime | None

    @property
    def skill(self) -> Skill:
        """The skill that it would be."""
        return Skill.parse(self.content)

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """What a person should look at before approving, in the lines that are new."""
        before = set((self.base_content or b"").decode(errors="replace").splitlines())
        return hazards("\n".join(line for line in self.content.decode().splitlines() if line not in before))

    def diff(self) -> str:
        """What it changes, as a unified diff."""
        return diff_text(self.base_content or b"", self.content, "before", f"draft {self.id}")


def diff_text(old: bytes, new: bytes, before: str, after: str) -> str:
    """A unified diff of two files; of bytes that are no text what can be read."""
    was, becomes = (content.decode(errors="replace").splitlines(keepends=True) for content in (old, new))
    lines = difflib.unified_diff(was, becomes, before, after)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def draft_from(row: Sequence[Any]) -> Draft:
    """The draft in a row of DRAFT_COLUMNS."""
    id, name, kind, content, base, base_content, evidence, flag, note, made_at, state, by, reason, decided_at = row
    return Draft(
        id=id,
        name=name,
        kind=kind,
        content=content,
        base=base,
        base_content=base_content,
        citation=Citation.from_json(json.loads(evidence)),
        flag=json.loads(flag),
        note=note,
        made_at=moment_from(made_at, "made_at"),
        state=state,
        by=by,
        reason=reason,
        decided_at=None if decided_at is None else moment_from(decided_at, "decided_at"),
    )


def version_from(row: Sequence[Any]) -> Version:
    """The version in a row of VERSION_COLUMNS."""
    id, name, number, content, origin, parent, evidence, by, note, at = row
    citation = Citation.from_json(json.loads(evidence))
    return Version(id, name, number, content, origin, parent, citation, by, note, moment_from(at, "at"))
