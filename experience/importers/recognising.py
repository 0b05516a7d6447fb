"""Which format a file is of, by what stands in it and never by its name.

The formats are a table of names; a module is loaded when its format is asked about. Whatever a file holds, asking raises
nothing but what reading it raises.
"""

from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple, cast

from experience.errors import InvalidInput
from experience.importers.documents import Document, documents
from experience.importers.session import Format, Trouble
from experience.importers.source import Source

OWN = "own"
"""Our own episodes, which bring more than a session has: ids, times, every label (`experience.transfer`)."""
AUTO = "auto"

_HOMES = {
    "claude_code": "experience.importers.claude_code",
    "codex": "experience.importers.codex",
    "atif": "experience.importers.atif",
    "swe_agent": "experience.importers.swe_agent",
    "inspect": "experience.importers.inspect_log",
    "langsmith": "experience.importers.langsmith",
    "otel": "experience.importers.otel",
    "anthropic": "experience.importers.anthropic",
    "openai": "experience.importers.openai",
}
"""The module of each format, in the order in which they are asked; the more telling ones first."""

NAMES = (OWN, *_HOMES)
"""What `--format` takes beside auto."""

_LOOKED_AT = 50  # lines that are JSON, of a file of lines
_SKIPPED = 200  # lines that are not
_ZIP = b"PK\3\4"


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
    return cast("Format", import_module(_HOMES[name]).FORMAT)


def recognised(source: Source) -> Format | str | Unknown:
    """The format of a file, OWN for our own, or why it is none. Raises OSError."""
    try:
        if (inside := _archived(source)) is not None:
            return _format_of(inside) or Unknown(_unknown())
        start = source.head().lstrip()
    except InvalidInput as error:
        return Unknown(str(error))
    if start.startswith((b"{", b"[")):
        return _by_values(source)
    if start.startswith(b"Situation:"):
        return OWN
    return Unknown("it is neither JSON nor an episode's text") if start else Unknown("it is empty", empty=True)


def _by_values(source: Source) -> Format | str | Unknown:
    begins = list(islice(documents(source), _LOOKED_AT + _SKIPPED))
    values = [one.value for one in begins if isinstance(one, Document)][:_LOOKED_AT]
    for value in values:
        if (found := _format_of(value)) is not None:
            return found
    if values:
        return Unknown(_unknown())
    whole = next((one.reason for one in begins if isinstance(one, Trouble) and one.line is None), None)
    return Unknown(whole or "it begins as JSON does, and nothing of it can be read", broken=whole is None)


def _archived(source: Source) -> Any:
    """What a ZIP archive says of what is in it; None for any other file."""
    with source.path.open("rb") as file:
        if file.read(4) != _ZIP:
            return None
    from experience.importers.inspect_log import head_of_archive

    return head_of_archive(source.path)


def _unknown() -> str:
    titles = ["episodes of this library", *(format_named(name).title for name in _HOMES)]
    return f"nothing in it is known; what was looked for: {', '.join(titles)}"


def _format_of(value: Any) -> Format | str | None:
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and "situation" in first and "outcome" in first:
        return OWN
    for name in _HOMES:
        if (found := format_named(name)).recognises(value):
            return found
    return None
