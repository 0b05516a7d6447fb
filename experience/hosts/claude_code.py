"""What Claude Code's settings say when the library is in them: pure, text in and text out.

Each of our hooks is a shell command that ends with a remark: that it is ours, and which of the containers around it were not
there before, so that taking it out takes those out too and leaves everything else to the byte. It is ours wherever it stands, and
only if the whole end of the command is what we write. A hook never fails a
session: whatever becomes of our command, the shell says that all is well.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from experience.errors import InvalidInput
from experience.hosts.splicing import added, checked_object, removed, value_at

EVENTS = {"session-start": "SessionStart", "session-end": "SessionEnd", "user-prompt-submit": "UserPromptSubmit"}
"""The name of each of our hooks, and of what it hangs on."""
SERVER = "experience"
"""The name that the server has among a project's."""

_REMARK = " || true # hardwon"
_OURS = re.compile(rf" hook ({'|'.join(EVENTS)}){re.escape(_REMARK)}((?: \+(?:file|hooks|event))*)\Z")
_SECONDS = {"SessionStart": 30, "SessionEnd": 300, "UserPromptSubmit": 30}
_MARK = "HARDWON_INSTALLED"
_EMPTY = "{\n}\n"  # a file that is made for our entries


def with_hooks(text: str | None, commands: Mapping[str, str], name: str) -> str:
    """The settings with a hook for each event of `commands`, and no other of ours; None is a file that is not there.

    Each command has to end in `hook NAME`.

    Raises InvalidInput for settings that are no JSON or that Claude Code would not take.
    """
    before = None if text is None else without_hooks(text, name)
    text, made = (_EMPTY, ["file"]) if before is None else (before, [])
    for event, command in commands.items():
        data = checked_object(text, name)
        _require(data, ("hooks",), dict, name)
        _require(data, ("hooks", event), list, name)
        missing = "hooks" if "hooks" not in data else "event" if event not in data["hooks"] else ""
        made += ["hooks", "event"] if missing == "hooks" else ["event"] if missing else []
        hook = {"type": "command", "command": f"{command}{_remark(made)}", "timeout": _SECONDS[event]}
        group = {"hooks": [hook]}
        if missing == "hooks":
            text = added(text, (), {event: [group]}, "hooks")
        elif missing:
            text = added(text, ("hooks",), [group], event)
        else:
            text = added(text, ("hooks", event), group)
        made = []
    return text


def without_hooks(text: str, name: str) -> str | None:
    """The settings without our hooks; None when the file itself was ours. Raises InvalidInput."""
    made: set[tuple[str, ...]] = set()
    while found := _our_hooks(checked_object(text, name)):
        hook = found[0]
        text = removed(text, hook.place)
        made |= {_CONTAINERS[one](EVENTS[hook.name]) for one in hook.remark.split(" +")[1:]}
    return _without_empty(text, made, name)


def installed(text: str, name: str) -> set[str]:
    """Which of our hooks settings have. Raises InvalidInput."""
    return {hook.name for hook in _our_hooks(checked_object(text, name))}


def served(text: str, name: str) -> list[str] | None:
    """How a project's servers start ours, the command first; None where ours is not among them. Raises InvalidInput."""
    entry = value_at(checked_object(text, name), ("mcpServers", SERVER))
    if not isinstance(value_at(entry, ("env", _MARK)), str):
        return None
    arguments = entry.get("args")
    return [str(entry.get("command")), *(map(str, arguments) if isinstance(arguments, list) else [])]


def with_server(text: str | None, command: str, arguments: list[str], name: str) -> str:
    """A project's servers with ours among them. Raises InvalidInput, also where another has its name."""
    before = None if text is None else without_server(text, name)
    text, made = (_EMPTY, ["file"]) if before is None else (before, [])
    data = checked_object(text, name)
    _require(data, ("mcpServers",), dict, name)
    missing = "mcpServers" not in data
    if not missing and SERVER in data["mcpServers"]:
        raise InvalidInput(f"{name} has another server that is called {SERVER}; rename that one first")
    mark = "".join(f" +{one}" for one in [*made, *(["servers"] if missing else [])])
    entry = {"command": command, "args": arguments, "env": {_MARK: mark}}
    if missing:
        return added(text, (), {SERVER: entry}, "mcpServers")
    return added(text, ("mcpServers",), entry, SERVER)


def without_server(text: str, name: str) -> str | None:
    """A project's servers without ours; None when the file itself was ours. Raises InvalidInput."""
    remark = value_at(checked_object(text, name), ("mcpServers", SERVER, "env", _MARK))
    if not isinstance(remark, str):
        return text
    made = {_CONTAINERS[one]("") for one in remark.split(" +")[1:] if one in _CONTAINERS}
    return _without_empty(removed(text, ("mcpServers", SERVER)), made, name)


_CONTAINERS: dict[str, Any] = {
    "file": lambda _: (),
    "hooks": lambda _: ("hooks",),
    "event": lambda event: ("hooks", event),
    "servers": lambda _: ("mcpServers",),
}
"""What a remark calls a container that we have made, and where that stands."""


def _remark(made: list[str]) -> str:
    return _REMARK + "".join(f" +{one}" for one in made)


def _require(data: dict[str, Any], place: tuple[str, ...], kind: type, name: str) -> None:
    """Raise InvalidInput where something else stands at a place than what a host reads there."""
    parent = value_at(data, place[:-1])
    if isinstance(parent, dict) and place[-1] in parent and not isinstance(parent[place[-1]], kind):
        needed = "an object" if kind is dict else "a list"
        raise InvalidInput(f"{'.'.join(place)} of {name} is {type(parent[place[-1]]).__name__}; it needs {needed}")


class _Hook(NamedTuple):
    """A hook of ours: its name, what its remark says behind our mark, and what to take out: its group where it is alone there."""

    name: str
    remark: str
    place: tuple[str | int, ...]


def _our_hooks(data: dict[str, Any]) -> list[_Hook]:
    """All hooks of ours, whichever event a person may have moved them to."""
    events = value_at(data, ("hooks",))
    return [hook for event in (events if isinstance(events, dict) else {}) for hook in _ours_of(data, event)]


def _ours_of(data: dict[str, Any], event: str) -> list[_Hook]:
    found = []
    groups = value_at(data, ("hooks", event))
    for at, group in enumerate(groups if isinstance(groups, list) else []):
        hooks = value_at(group, ("hooks",))
        for number, hook in enumerate(hooks if isinstance(hooks, list) else []):
            command = value_at(hook, ("command",))
            if isinstance(command, str) and (ours := _OURS.search(command)):
                place = ("hooks", event, at) if len(hooks) == 1 else ("hooks", event, at, "hooks", number)
                found.append(_Hook(ours[1], ours[2], place))
    return found


def _without_empty(text: str, made: set[tuple[str, ...]], name: str) -> str | None:
    """The text without those of the containers that are empty again, the innermost first."""
    for place in sorted(made, key=len, reverse=True):
        if value_at(checked_object(text, name), place) in ([], {}):
            if not place:
                return None
            text = removed(text, place)
    return text
