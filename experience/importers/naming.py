"""What a call is named, and when its answer says that it failed, wherever the format itself leaves that open.

One run can reach us by several ways, and is to look the same by each: SWE-agent writes commands, and its converters wrap
each of them into a call named `swe_agent_action`. It guesses at nothing else.
"""

import re
from typing import Any

from experience.importers.lenient import fields, parsed, text

_ASSIGNMENTS = re.compile(
    r"""\s*(?:[A-Za-z_]\w*=(?:"(?:[^"\\]|\\.)*+"|'[^']*+'|\\.|[^\s"'\\])*+(?:\s++|$))*+""", re.DOTALL
)
_FAILURES = (
    "Error:",
    "ERROR:",
    "Traceback (most recent call last)",
    "Your proposed edit has introduced new syntax error(s)",
    "Your edit was not applied",
)
_LEADING = 200
"""Characters of a command's first word, and of the beginning of an answer, that are looked at."""
WRAPPED = "swe_agent_action"
"""What converters name each command of SWE-agent."""


def tool_name(name: str, arguments: Any) -> str:
    """The name of a call: as the transcript has it, but for a wrapped command the command's own name."""
    if name != WRAPPED:
        return name
    return command_name(text(fields(parsed(arguments)).get("raw_action"))) or name


def command_name(command: str) -> str:
    """The first word of a command, after variables that are set for it; empty where there is none.

    Values of such variables are often secrets, and never a name.
    """
    found = _ASSIGNMENTS.match(command)
    rest = command[found.end() :] if found else command
    return next(iter(rest[:_LEADING].split(maxsplit=1)), "")


def says_it_failed(answer: str) -> bool:
    """Whether a tool's answer begins as only a failure does: `Error:`, a traceback, an edit that was turned down."""
    return answer[:_LEADING].lstrip().startswith(_FAILURES)
