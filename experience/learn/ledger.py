"""A skill's ledger: how often it was revised, and where it came from, in the skill file's own metadata.

It travels with the file, and people can read it. A ledger that cannot be read is an error, never a fresh start: it is
what keeps a skill from being rewritten without end.
"""

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Self

from experience.errors import InvalidSkill, shown
from experience.learn.skill import Skill

_NUMBER = re.compile(r"[0-9]{1,9}")
_PREFIX = "experience-"
_FIELDS = ("revision", "revised-on", "revisions-today", "origin")


@dataclass(frozen=True, slots=True)
class Ledger:
    """What has been done to a skill since it was made."""

    revision: int = 0
    revised_on: date | None = None
    revisions_today: int = 0
    """Revisions on the day `revised_on`."""
    origin: str = ""
    """Where it came from, such as "distilled"; empty when nobody said."""

    @classmethod
    def of(cls, skill: Skill) -> Self:
        """The ledger in a skill's metadata; zeros where there is none. Raises InvalidSkill for one that cannot be read.

        One entry a field (`experience-revision` and so on), or the one entry `experience` that older writers made.
        """
        entries = {key: skill.metadata[_PREFIX + key] for key in _FIELDS if _PREFIX + key in skill.metadata}
        if not entries and "experience" in skill.metadata:
            entries = _older(skill)
        day = entries.get("revised-on", "")
        try:
            revised_on = date.fromisoformat(day) if day else None
        except ValueError as error:
            raise _unreadable(skill, "revised-on", day) from error
        return cls(
            _number(skill, entries, "revision"),
            revised_on,
            _number(skill, entries, "revisions-today"),
            entries.get("origin", ""),
        )

    def bumped(self, today: date) -> Self:
        """After one more revision."""
        count = self.revisions_today + 1 if self.revised_on == today else 1
        return type(self)(self.revision + 1, today, count, self.origin)

    def entries(self) -> dict[str, str]:
        """As entries of a skill's metadata."""
        found = {"revision": str(self.revision)}
        if self.revised_on:
            found |= {"revised-on": self.revised_on.isoformat(), "revisions-today": str(self.revisions_today)}
        if self.origin:
            found["origin"] = self.origin
        return {_PREFIX + key: text for key, text in found.items()}


def _older(skill: Skill) -> dict[str, str]:
    try:
        found = json.loads(skill.metadata["experience"])
    except ValueError as error:
        raise _unreadable(skill, "experience", skill.metadata["experience"]) from error
    if not isinstance(found, dict):
        raise _unreadable(skill, "experience", skill.metadata["experience"])
    return {str(key).replace("_", "-"): "" if value is None else str(value) for key, value in found.items()}


def _number(skill: Skill, entries: dict[str, str], key: str) -> int:
    text = entries.get(key, "0")
    if not _NUMBER.fullmatch(text):
        raise _unreadable(skill, key, text)
    return int(text)


def _unreadable(skill: Skill, key: str, text: str) -> InvalidSkill:
    return InvalidSkill(
        f"the ledger of {skill.name} has {key} {shown(text)}, which cannot be read; set it right in the file's metadata"
    )
