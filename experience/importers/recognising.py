"""Which format a file is of, by what stands in it and never by its name.

The formats are a table of names; a module is loaded when its format is asked about. Whatever a file holds, asking raises
nothing but what reading it raises.
"""

from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from experience.errors import InvalidInput
from experience.importers.session import Format, Trouble
from experience.importers.source import Source

OWN = "own"
"""Our own episodes, which bring more than a session has: ids, times, every label (`experience.transfer`)."""
AUTO = "auto"

_HOMES = {
    "claude_code": "experience.importers.claude_code",
    "codex": "experience.importers.codex",
}
"""The module of each format, in the order in which they are asked; the more telling ones first."""

NAMES = (OWN, *_HOMES)
"""What `--format` takes beside auto."""

_LOOKED_AT = 50  # lines that are JSON, of a file of lines
_SKIPPED = 200  # lines that are not


class Unknown(NamedTuple):
    """A file that is of no format that is known."""

    reason: str
    empty: bool = False
    broken: bool = False
    """True where its lines begin as JSON does and none of them can be read."""

    @property
    def in_short(self) -> str:
        """The reason without what is this file's alone, for counting many."""
        return self.reason.partition(":")[0] if self.reason.startswith(("not ", "what ")) else self.reason


def format_named(name: str) -> Format:
    """The format of this name, not OWN. Raises InvalidInput."""
    if name not in _HOMES:
        raise InvalidInput(f"there is no format {name!r}; there are {', '.join((AUTO, *NAMES))}")
    found = import_module(_HOMES[name]).FORMAT
    if not isinstance(found, Format):
        raise TypeError(f"{_HOMES[name]}.FORMAT is {type(found).__name__}; it needs a Format")
    return found


def recognised(source: Source) -> Format | str | Unknown:
    """The format of a file, OWN for our own, or why it is none. Raises OSError."""
    try:
        start = source.head().lstrip()
    except InvalidInput as error:
        return Unknown(str(error))
    if start.startswith((b"{", b"[")):
        return _by_values(source)
    if start.startswith(b"Situation:"):
        return OWN
    return Unknown("it is neither JSON nor an episode's text") if start else Unknown("it is empty", empty=True)


def _by_values(source: Source) -> Format | str | Unknown:
    if source.is_document():
        try:
            values = [source.document()]
        except InvalidInput as error:
            return Unknown(str(error))
    else:
        lines = islice(source.objects(), _LOOKED_AT + _SKIPPED)
        values = list(islice((line[1] for line in lines if not isinstance(line, Trouble)), _LOOKED_AT))
    for value in values:
        if (found := _format_of(value)) is not None:
            return found
    if not values:
        return Unknown("it begins as JSON does, and nothing of it can be read", broken=True)
    return Unknown(f"nothing in it is known; what was looked for: {', '.join(_titles())}")


def _titles() -> list[str]:
    return ["episodes of this library", *(format_named(name).title for name in _HOMES)]


def _format_of(value: Any) -> Format | str | None:
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and "situation" in first and "outcome" in first:
        return OWN
    for name in _HOMES:
        if (found := format_named(name)).recognises(value):
            return found
    return None
