"""A linter for skills: what the standard does not allow, and what keeps an agent from finding a skill or using it.

    E1 error    name and folder differ, or a value is longer than the standard allows
    W1 warning  a key that the standard does not know
    R1 warning  the description has fewer than 30 bytes
    R2 info     the description does not say when to use the skill
    R3 info     the body has fewer than 50 bytes
    R4 info     the description is little more than the name
    X1 warning  two names are the same but for their hyphens
    X2 warning  two descriptions use the same words
    H1 warning  the text holds what an agent might obey (see `experience.screen.hazards`)

Pure: it looks at skills, not at folders.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from experience.learn.skill import LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION, Skill, front_keys
from experience.screen import hazards

_KNOWN = {"name", "description", "license", "compatibility", "allowed-tools", "metadata"}
_SHORT_DESCRIPTION, _SHORT_BODY, _BARE_DESCRIPTION = 30, 50, 60  # bytes
_LONG_WORD, _MOST_ALIKE, _LEAST_SHARED = 5, 0.5, 4
_CODE = re.compile(r"`[^`\n]*`")  # tools, which skills of one kind share
_CUE = re.compile(
    r"(?i)\buse (?:when|for|after|before|this skill|any ?time|it when|to)\b|\bany time (?:a|the)\b|\bwhen(?:ever)? the user\b"
    r"|\b(?:trigger|activate|invoke|call|applie|applies|run)s? (?:this )?(?:skill )?when\b|\bwhen (?:asked|the task|a task)\b"
)


class Finding(NamedTuple):
    """One thing about one skill."""

    skill: str
    rule: str
    severity: str
    """error, warning or info."""
    message: str


def has_cue(description: str) -> bool:
    """Whether a description says when to use the skill."""
    return bool(_CUE.search(description))


def lint(skill: Skill, folder: str | None = None) -> tuple[Finding, ...]:
    """Findings about one skill, `folder` being the name of the folder it lies in; in the order of the rules."""
    found: list[Finding] = []

    def say(rule: str, severity: str, message: str) -> None:
        found.append(Finding(skill.name, rule, severity, message))

    description, size = skill.description, len(skill.description.encode())
    if folder is not None and folder != skill.name:
        say("E1", "error", f"the folder is called {folder}; it needs the skill's name")
    for key, value, longest in (
        ("description", description, LONGEST_DESCRIPTION),
        ("compatibility", skill.compatibility or "", LONGEST_COMPATIBILITY),
    ):
        if len(value) > longest:
            say("E1", "error", f"{key} has {len(value)} characters; {longest} are allowed")
    if unknown := [key for key in front_keys(skill) if key not in _KNOWN]:
        say("W1", "warning", f"keys that the standard does not know: {', '.join(unknown)}; metadata has room for them")
    if size < _SHORT_DESCRIPTION:
        say("R1", "warning", f"the description has {size} bytes; {_SHORT_DESCRIPTION} say more")
    if not has_cue(description):
        say("R2", "info", 'the description does not say when to use the skill; add "Use when ..."')
    if (body := len(skill.body.encode())) < _SHORT_BODY:
        say("R3", "info", f"the body has {body} bytes; there is little to follow")
    if skill.name.replace("-", " ") in description.lower() and size < _BARE_DESCRIPTION:
        say("R4", "info", "the description is little more than the name")
    found.extend(
        Finding(skill.name, "H1", "warning", f"{hazard.kind}: {hazard.found}") for hazard in hazards(skill.text)
    )
    return tuple(found)


def lint_together(skills: Sequence[Skill]) -> tuple[Finding, ...]:
    """Findings about skills that get in each other's way."""
    found = []
    ordered = sorted(skills, key=lambda skill: skill.name)
    words = {skill.name: frozenset(_long_words(skill.description)) for skill in ordered}
    for one, other in combinations(ordered, 2):
        if one.name.replace("-", "") == other.name.replace("-", ""):
            found.append(Finding(one.name, "X1", "warning", f"the name is the same as {other.name} but for hyphens"))
        shared, either = words[one.name] & words[other.name], words[one.name] | words[other.name]
        if len(shared) >= _LEAST_SHARED and len(shared) > _MOST_ALIKE * len(either):
            message = f"the description shares {len(shared)} of {len(either)} long words with that of {other.name}"
            found.append(Finding(one.name, "X2", "warning", message))
    return tuple(found)


def _long_words(text: str) -> Iterable[str]:
    return (word for word in re.findall(r"[^\W_]+", _CODE.sub(" ", text.lower())) if len(word.encode()) >= _LONG_WORD)
