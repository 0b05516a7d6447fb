"""What a call is named, and when its answer says that it failed, wherever the format itself leaves that open.

One run can reach us by several ways, and is to look the same by each: SWE-agent writes commands, and its converters wrap
each of them into a call named `swe_agent_action`. It guesses at nothing else.
"""

import re
from typing import Any

from experience.importers.lenient import fields, parsed, text

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_FAILURES = (
    "Error:",
    "ERROR:",
    "Traceback (most recent call last)",
    "Your proposed edit has introduced new syntax error(s)",
    "Your edit was not applied",
)
_LEADING = 200
"""Characters of a command in which its first word is looked for: one that is longer is no name."""


def tool_name(name: str, arguments: Any) -> str:
    """The name of a call: as the transcript has it, but for a wrapped command the command's own name."""
    if name != "swe_agent_action":
        return name
    return command_name(text(fields(parsed(arguments)).get("raw_action"))) or name


def command_name(command: str) -> str:
    """The first word of a command, after variables that are set for it; empty where there is none.

    Values of such variables are often secrets, and never a name.
    """
    start = command.lstrip()[:_LEADING].split()
    return next((word for word in start if not _ASSIGNMENT.match(word)), "")


def says_it_failed(answer: str) -> bool:
    """Whether a tool's answer begins as only a failure does: `Error:`, a traceback, an edit that was turned down."""
    return answer[:_LEADING].lstrip().startswith(_FAILURES)
