"""JSON in and out with every number as it was written: 1.10, -0, and integers that no computer adds up.

Messages go through on their way somewhere else, and a number that was read and written again may be another one. So a
number is carried as its digits. An object that has a key twice is refused, since one of the two would be lost. It knows
nothing of messages.
"""

import json
from itertools import count
from typing import Any

from experience.errors import InvalidInput, shown


class _Number:
    """The digits of a number; no tuple and no text, so that nobody takes it for one."""

    __slots__ = ("digits",)

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and other.digits == self.digits

    def __hash__(self) -> int:
        return hash(self.digits)

    def __str__(self) -> str:
        return self.digits


def parsed(text: str) -> Any:
    """What a text is the JSON of, numbers as their digits.

    Raises json.JSONDecodeError for what is no JSON, RecursionError where it is nested too deep, InvalidInput for NaN,
    infinities, and objects with a key that is there twice.
    """
    return json.loads(text, parse_constant=_refused, parse_int=_Number, parse_float=_Number, object_pairs_hook=_once)


def written(data: Any) -> str:
    """JSON of what `parsed` gave, or of what was made around it, indented by two."""
    for attempt in count():
        numbers, mark = 0, f"number-{attempt}-is-"

        def marked(number: object, mark: str = mark) -> str:
            nonlocal numbers
            numbers += 1
            return f"{mark}{number}"

        text = json.dumps(data, ensure_ascii=False, indent=2, default=marked)
        first, *others = text.split(f'"{mark}')
        if len(others) == numbers:  # else a text holds the mark
            return first + "".join(digits + rest for digits, _, rest in (one.partition('"') for one in others))
    raise AssertionError  # no text holds all marks


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    raise InvalidInput(f"the JSON has the key {shown(twice)} twice in one object; leave one of them out")


def _refused(name: str) -> float:
    raise InvalidInput(f"the JSON holds {name}, which is no JSON; write null instead")
