"""One place of a JSON text changed and every other byte left as it is.

A person's settings are laid out as that person likes them, so they are never written anew: what is added is put in where it
belongs, and taking it out again leaves the text as it was. Text in, text out; no files.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from experience.errors import InvalidInput

Place = Sequence[str | int]
"""Keys and indices from the outermost value inwards."""

_SPACE = " \t\r\n"
_decoder = json.JSONDecoder()


class _Part(NamedTuple):
    """A member of an object, or an item of a list."""

    key: str | int
    start: int
    """Where it begins: a member with its key."""
    value: int
    end: int


def checked_object(text: str, name: str) -> dict[str, Any]:
    """The object that a text is. Raises InvalidInput where it is none, is no strict JSON, or nests too deeply."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{name} is not valid JSON: {error.msg} in line {error.lineno}; nothing was changed (comments are not JSON)"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is not valid JSON: {error}; nothing was changed") from error
    if not isinstance(data, dict):
        raise InvalidInput(f"{name} is {type(data).__name__}; it needs an object in braces; nothing was changed")
    return data


def value_at(data: Any, place: Place) -> Any:
    """What stands at a place of parsed JSON; None where there is nothing."""
    for key in place:
        if isinstance(data, dict):
            data = data.get(str(key))
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def added(text: str, place: Place, value: Any, key: str | None = None) -> str:
    """The text with one more at the end of the list at a place or, under `key`, of the object there."""
    start = _find(text, place).value
    parts = _parts(text, start)
    written = _written(text, value, len(place) + 1, key)
    between = _break(text, len(place) + 1)
    if parts:
        at = parts[-1].end
        return f"{text[:at]},{between or ' '}{written}{text[at:]}"
    at = start + 1
    return f"{text[:at]}{between}{written}{text[at:]}"


def removed(text: str, place: Place) -> str:
    """The text without what stands at a place: what `added` has added, to the byte."""
    start = _find(text, place[:-1]).value
    parts = _parts(text, start)
    at = max(number for number, part in enumerate(parts) if part.key == place[-1])
    if at:
        return text[: parts[at - 1].end] + text[parts[at].end :]
    end = parts[1].start if len(parts) > 1 else parts[0].end
    return text[: parts[0].start if len(parts) > 1 else start + 1] + text[end:]


def _find(text: str, place: Place) -> _Part:
    """Where the value at a place stands; of a key that stands there twice the last, as every reader takes it."""
    start = _skipped(text, 0)
    part = _Part("", start, start, len(text))
    for key in place:
        part = [one for one in _parts(text, part.value) if one.key == key][-1]
    return part


def _parts(text: str, at: int) -> list[_Part]:
    """What the object or list that begins here is made of."""
    is_object = text[at] == "{"
    found: list[_Part] = []
    at = _skipped(text, at + 1)
    while text[at] not in "}]":
        start = at
        key: str | int = len(found)
        if is_object:
            key, at = _decoder.raw_decode(text, at)
            at = _skipped(text, _skipped(text, at) + 1)  # behind the colon
        _, end = _decoder.raw_decode(text, at)
        found.append(_Part(key, start, at, end))
        at = _skipped(text, end)
        if text[at] == ",":
            at = _skipped(text, at + 1)
    return found


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _written(text: str, value: Any, depth: int, key: str | None) -> str:
    """A value as the text around it is laid out: on one line where that is, else indented likewise."""
    unit = _unit(text)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", _break(text, depth) if unit else "\n")
    return lines if key is None else f"{json.dumps(key, ensure_ascii=False)}: {lines}"


def _break(text: str, depth: int) -> str:
    """A new line at a depth; nothing in a text of one line."""
    unit = _unit(text)
    return "" if unit is None else ("\r\n" if "\r\n" in text else "\n") + unit * depth


def _unit(text: str) -> str | None:
    """What one level is indented by; None in a text of one line."""
    if "\n" not in text.strip():
        return None if text.strip() != "{}" else "  "
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
