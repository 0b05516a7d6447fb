"""JSON values of a stranger's file, taken for what they should be, or for nothing.

Whatever a transcript holds in a place, reading it gives a value of the kind that belongs there and never fails: a wrong
type is an empty one. It knows no format.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from experience.episode import moment_from
from experience.errors import InvalidEpisode

_LARGEST = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = ("text", "input_text", "output_text", "refusal", None)
"""Types of parts of a message that are words; a part without a type is taken for one."""


def text(value: Any) -> str:
    """The text, or none."""
    return value if isinstance(value, str) else ""


def fields(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def count(value: Any) -> int | None:
    """A whole number from 0 to 2**63 - 1."""
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def amount(value: Any) -> float | None:
    """A finite number of at least 0."""
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST or not math.isfinite(value):
        return None
    return float(value)


def finite(value: Any) -> int | float | None:
    """A number of any sign, but for NaN and the infinities."""
    return value if type(value) in (int, float) and abs(value) <= _LARGEST else None


def total(values: Iterable[Any]) -> int | None:
    """The sum of the counts among the values; None where there is none."""
    known = [number for number in map(count, values) if number is not None]
    return count(sum(known)) if known else None


def moment(value: Any) -> datetime | None:
    """A moment out of ISO 8601 text, in UTC."""
    try:
        return moment_from(value, "time")
    except InvalidEpisode:
        return None


def moment_of_nanoseconds(value: Any) -> datetime | None:
    """A moment out of nanoseconds since 1970, as a number or as its digits, to the nearest microsecond."""
    if isinstance(value, str) and len(value) <= 20 and value.isdecimal():  # noqa: PLR2004  what 64 bits can hold
        value = int(value)
    known = count(value)
    return None if known is None else _EPOCH + timedelta(microseconds=(known + 500) // 1000)


def parsed(value: Any) -> Any:
    """What a JSON text holds; a value that is no text as it is; None where the text is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def parts(content: Any) -> list[str]:
    """The words of a message's content, part by part: a text, a list of parts of any maker's kind, or one part."""
    if isinstance(content, str):
        return [content] if content else []
    found: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict) and part.get("type") in _WORDS:
            found.append(text(part.get("text")) or text(part.get("content")) or text(part.get("refusal")))
    return [one for one in found if one]


def words(content: Any) -> str:
    """The words of a message's content as one text."""
    return "\n".join(parts(content))


def known(**values: Any) -> dict[str, Any]:
    """Those of the values that are there: for `meta`."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def digest(*texts: str) -> str:
    """A name made of texts, the same for the same texts, 24 hexadecimal digits."""
    made = hashlib.sha256()
    for one in texts:
        raw = one.encode("utf-8", "surrogatepass")
        made.update(b"%d:%b" % (len(raw), raw))
    return made.hexdigest()[:24]
