"""Which skill a call shows to have been followed: a skill that was loaded, or a SKILL.md that was read.

Only what was called counts, with what was called as evidence. What an agent says about skills counts for nothing, and
neither does a SKILL.md that it wrote, searched for or listed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from experience.importers.lenient import fields, items, parsed, text
from experience.importers.session import SkillUse

_FILE = re.compile(r"(?:^|[\s'\"=])((?:[^\s'\"=|;&<>/]*/){0,40}([\w.-]{1,128})/SKILL\.md)(?=$|[\s'\"|;&<>)])")
_READERS = re.compile(r"(?:^|_|-|\.)(?:read|view|open|cat|get|load|fetch)(?:$|_|-|\.)")
_SHOWN = re.compile(r"\s*(?:cat|bat|head|tail|less|more|view|open|type|nl|sed\s+-n)\s")
_PLACES = ("path", "file_path", "filename", "file", "uri", "target_file", "absolute_path")
_COMMANDS = ("command", "cmd", "script", "raw_action")
_LONGEST = 4096
"""Characters of an argument that are looked at."""


def skill_of(name: str, arguments: Any) -> SkillUse | None:
    """The skill that a call of the tool `name` shows, if any. Whether the call worked is the caller's to look at."""
    given: Mapping[str, Any] = fields(parsed(arguments))
    bare = name.lower()
    if bare in {"skill", "use_skill", "load_skill", "activate_skill"}:
        asked = next((text(given.get(key)) for key in ("skill", "name", "skill_name", "command") if given.get(key)), "")
        words = asked[:_LONGEST].removeprefix("/").split(maxsplit=1)
        return SkillUse(words[0].split(":")[-1], f"called {name} with {words[0]}") if words else None
    if _READERS.search(bare) or given.get("command") == "view":
        for place in map(given.get, _PLACES):
            path = text(place)[:_LONGEST]
            if found := _FILE.fullmatch(path.replace("\\", "/")):
                return SkillUse(found[2], f"read {path}")
    for command in _commands(given):
        if _SHOWN.match(command) and ">" not in command and (found := _FILE.search(command)):
            return SkillUse(found[2], f"read {found[1]}")
    return None


def _commands(given: Mapping[str, Any]) -> Iterator[str]:
    """The commands of a call to a shell, each by itself."""
    for value in map(given.get, _COMMANDS):
        words = list(map(text, items(value)))  # of ["bash", "-lc", "..."] the last is what is run
        for whole in [text(value), *words[-1:], " ".join(words)]:
            yield from re.split(r"&&|\|\||[;|\n]", whole[:_LONGEST])
