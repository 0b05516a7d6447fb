"""Which skill a call shows to be followed, and by which name a call is known.

Only what was done counts: a skill tool that was called, a SKILL.md that was read. What an agent says it follows is no
evidence. Nothing here asks whether the call worked; a call that failed shows nothing, and that is for the caller to know.
"""

import re
from collections.abc import Mapping
from typing import Any

from experience.importers.session import SkillUse

_FILE = "SKILL.md"
_SKILL_TOOLS = {"skill", "use_skill", "load_skill", "activate_skill", "get_skill"}
_READING_TOOLS = {"read", "read_file", "readfile", "view", "view_file", "cat", "open", "open_file", "read_text_file"}
_NAMES, _PATHS, _COMMANDS = (
    ("skill", "skill_name", "command", "name"),
    ("file_path", "path", "filename", "target_file", "absolute_path", "file"),
    ("command", "cmd", "raw_action"),
)
_READS = re.compile(r"(?:^|[\s(`'\"])(?:cat|bat|head|tail|less|more|nl|view|open|sed -n)\s")
_LONGEST_PATH = 400
_OCCURRENCES = 20  # of the file's name in one command, that are looked at
_LONGEST_NAME = 100
_SWE_AGENT = "swe_agent_action"


def tool_name(name: str, arguments: Any) -> str:
    """The tool's name; where a converter has put SWE-agent's whole command line into one tool, its first word."""
    if name == _SWE_AGENT and isinstance(arguments, Mapping) and isinstance(arguments.get("raw_action"), str):
        words: list[str] = arguments["raw_action"].split(maxsplit=1)
        return words[0] if words else name
    return name


def skill_shown(name: str, arguments: Any) -> SkillUse | None:
    """The skill that a call of this tool with these arguments shows to be followed."""
    if not isinstance(arguments, Mapping):
        return _in_command(arguments) if isinstance(arguments, str) and _FILE in arguments else None
    bare = name.lower()
    if bare in _SKILL_TOOLS:
        named = next((arguments[key] for key in _NAMES if isinstance(arguments.get(key), str)), "").strip()
        skill = named.removeprefix("/").split(maxsplit=1)
        return SkillUse(skill[0], f"call of {name}: {skill[0]}") if skill and len(skill[0]) <= _LONGEST_NAME else None
    if bare in _READING_TOOLS or arguments.get("command") == "view":
        path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), "")
        return _of_path(path)
    command = next((arguments[key] for key in _COMMANDS if isinstance(arguments.get(key), str | list)), "")
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    return _in_command(command) if _FILE in command else None


def _of_path(path: str) -> SkillUse | None:
    parts = path.replace("\\", "/").rsplit("/", 2)
    if len(parts) < 2 or parts[-1] != _FILE or not 0 < len(parts[-2]) <= _LONGEST_NAME:  # noqa: PLR2004 (folder and file)
        return None
    return SkillUse(parts[-2], f"read {path}")


def _in_command(command: str) -> SkillUse | None:
    """A skill's file that one of the commands of a line reads; not one that it writes."""
    at = 0
    for _ in range(_OCCURRENCES):
        at = command.find(f"/{_FILE}", at)
        if at < 0:
            return None
        before = re.split(r"[|;&\n]", command[max(at - _LONGEST_PATH, 0) : at])[-1]
        end = at + len(_FILE) + 1
        path = re.split(r"[\s'\"<>=]", before)[-1]
        whole = not re.match(r"[\w.-]", command[end : end + 1])
        if whole and path and ">" not in before and _READS.search(before[: len(before) - len(path)]):
            return _of_path(f"{path}/{_FILE}")
        at = end
    return None
