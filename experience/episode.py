"""What one run was: an `Episode`, its normal form, and its JSON.

The record is the truth and the text (`experience.text`) is a view of it, because text can be forged: a situation that
quotes `Result: success` must never turn a failure into a success. So everything is checked once, here, when an episode
is made; whoever holds one holds a well-formed one. This module knows no store, no clock and no file.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Self

from experience.errors import InvalidEpisode, InvalidInput, shown

# Unicode's White_Space property, which is what the founding writers trimmed. str.strip() without arguments would also
# take U+001C to U+001F, and their bytes would not come back.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

_LARGEST_INT = 2**63 - 1  # what a column holds
_LARGEST_FLOAT = sys.float_info.max
_DEEPEST = 100  # levels of meta: what nests deeper cannot be read again by whoever is deep in calls already
_FIELDS = {"situation", "tools", "outcome", "tags", "skills", "success", "run_id", "started_at", "cost", "meta"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run used up, each part None where the host does not know it. None of them may be negative."""

    steps: int | None = None
    """Turns or actions taken."""
    tokens: int | None = None
    """Input and output together."""
    seconds: float | None = None
    """Wall-clock time."""
    money: float | None = None
    """In the one currency that the host keeps to."""

    def __post_init__(self) -> None:
        for name in ("steps", "tokens"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 0 <= value <= _LARGEST_INT):
                raise InvalidEpisode(f"cost.{name} is {value!r}; it needs a whole number from 0 to 2**63 - 1, or None")
        for name in ("seconds", "money"):
            value = getattr(self, name)
            if value is None:
                continue
            if type(value) not in (int, float) or not 0 <= value <= _LARGEST_FLOAT:
                raise InvalidEpisode(f"cost.{name} is {value!r}; it needs a finite number of at least 0, or None")
            object.__setattr__(self, name, float(value))

    def to_json(self) -> dict[str, int | float]:
        """The known parts only."""
        known = ((part.name, getattr(self, part.name)) for part in fields(self))
        return {name: value for name, value in known if value is not None}


_NO_COST = Cost()


@dataclass(frozen=True, slots=True)
class Episode:
    """One run: the situation faced, the tools called, the skills followed, how it ended.

    Frozen and always in normal form: outer white space stripped from situation and outcome, line ends `\\n`. Whatever
    cannot be stored faithfully (NUL, lone surrogates, an empty situation) raises `InvalidEpisode` here.
    """

    situation: str
    """What was asked; the recall key. Never empty."""
    outcome: str
    """The final answer or account; may be empty."""
    tools: tuple[str, ...] = ()
    """Names in call order, repeats kept."""
    skills: tuple[str, ...] = ()
    """Names of the skills that the run followed."""
    tags: tuple[str, ...] = ()
    success: bool | None = None
    """Did the run do what was asked? None: nobody has said."""
    run_id: str | None = None
    """The host's own name for the run; recording it twice is recording it once."""
    started_at: datetime | None = None
    """When the run began; aware, kept in UTC."""
    cost: Cost = _NO_COST
    meta: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Anything else, as JSON; a copy of what was given, read-only at its top level."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "situation", _body("situation", self.situation))
        put(self, "outcome", _body("outcome", self.outcome))
        if not self.situation:
            raise InvalidEpisode("the situation is empty; an episode needs to say what was asked")
        for name in ("tools", "skills", "tags"):
            put(self, name, _names(name, getattr(self, name)))
        if self.success is not None and type(self.success) is not bool:
            raise InvalidEpisode(f"success is {self.success!r}; it needs True, False or None (nobody has said)")
        if self.run_id is not None and not checked_text("run_id", self.run_id).strip():
            raise InvalidEpisode("run_id is blank; leave it out or give it a name")
        if self.started_at is not None:
            put(self, "started_at", checked_moment("started_at", self.started_at))
        if not isinstance(self.cost, Cost):
            raise InvalidEpisode(f"cost is {type(self.cost).__name__}; it needs a Cost")
        put(self, "meta", _frozen_json(self.meta))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping can be neither pickled nor deep-copied, and hosts do both with what they are handed.
        values = [getattr(self, part.name) for part in fields(self)]
        return type(self), (*values[:-1], dict(self.meta))

    @property
    def succeeded(self) -> bool:
        """True for an explicit yes only: unknown counts as no."""
        return self.success is True

    def with_success(self, success: bool | None) -> Self:
        """The same run with another verdict."""
        return self if success is self.success else replace(self, success=success)

    @property
    def content(self) -> tuple[object, ...]:
        """The six fields that say what happened; two episodes with the same content are copies of one another."""
        return self.situation, self.tools, self.skills, self.tags, self.outcome, self.success

    def to_json(self) -> dict[str, Any]:
        """The six founding fields, always; the others where they are known."""
        data: dict[str, Any] = {
            "situation": self.situation,
            "tools": list(self.tools),
            "outcome": self.outcome,
            "tags": list(self.tags),
            "skills": list(self.skills),
            "success": self.success,
        }
        if self.run_id is not None:
            data["run_id"] = self.run_id
        if self.started_at is not None:
            data["started_at"] = moment_text(self.started_at)
        if cost := self.cost.to_json():
            data["cost"] = cost
        if self.meta:
            data["meta"] = json.loads(json.dumps(dict(self.meta)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """An episode from its JSON object: `situation`, `tools` and `outcome` required, unknown keys kept in `meta`.

        Raises InvalidEpisode when a key is missing, has the wrong type, or stands both in `meta` and beside it.
        """
        if not isinstance(data, Mapping):
            raise InvalidEpisode(f"got {type(data).__name__}; an episode is a JSON object")
        if missing := [key for key in ("situation", "tools", "outcome") if key not in data]:
            raise InvalidEpisode(f"{', '.join(missing)} missing; an episode needs situation, tools and outcome")
        meta = {} if data.get("meta") is None else data["meta"]
        if not isinstance(meta, Mapping):
            raise InvalidEpisode(f"meta is {type(meta).__name__}; it needs an object")
        unknown = {key: value for key, value in data.items() if key not in _FIELDS}
        if twice := sorted(meta.keys() & unknown.keys()):
            raise InvalidEpisode(
                f"{', '.join(map(shown, twice[:3]))} stands both in meta and beside it; keep one of the two"
            )
        started_at = data.get("started_at")
        return cls(
            situation=data["situation"],
            outcome=data["outcome"],
            tools=_list("tools", data["tools"]),
            skills=_list("skills", data.get("skills")),
            tags=_list("tags", data.get("tags")),
            success=data.get("success"),
            run_id=data.get("run_id"),
            started_at=None if started_at is None else moment_from(started_at, "started_at"),
            cost=_cost(data.get("cost")),
            meta={**meta, **unknown},
        )

    def render(self) -> str:
        """The stable text of this episode (`docs/format.md`)."""
        from experience.text import render

        return render(self)

    @staticmethod
    def parse(text: str) -> "Episode":
        """The episode that `render` wrote. Raises InvalidEpisode for any other text."""
        from experience.text import parse

        return parse(text)


def moment_text(moment: datetime) -> str:
    """A moment as every file and column here holds it: ISO 8601, UTC, microseconds, so that text order is time order."""
    return _utc_text(moment.astimezone(UTC))


@lru_cache(maxsize=256)  # what is recorded together is of one moment, and writing it takes longer than storing it
def _utc_text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment_from(value: object, name: str) -> datetime:
    """A moment out of ISO 8601 text; text that names no offset is taken as UTC. Raises InvalidEpisode."""
    if not isinstance(value, str):
        raise InvalidEpisode(f"{name} is {shown(str(value))}; it needs a time as text, such as 2026-05-04T13:00:00Z")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidEpisode(f"{name} is {shown(value)}; it needs ISO 8601, such as 2026-05-04T13:00:00Z") from error


def checked_moment(name: str, value: object) -> datetime:
    """`value` in UTC, when it is a datetime that knows its time zone. Raises InvalidEpisode."""
    if not isinstance(value, datetime):
        raise InvalidEpisode(f"{name} is {type(value).__name__}; it needs a datetime")
    if value.tzinfo is None:
        raise InvalidEpisode(f"{name} is {value} without a time zone; make it aware, as in datetime.now(timezone.utc)")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidEpisode(f"{name} is {value}, which has no moment in UTC between the years 1 and 9999") from error


def checked_text(name: str, value: object) -> str:
    """`value`, when it is text that every store can hold. Raises InvalidEpisode for NUL and lone surrogates."""
    if not isinstance(value, str):
        raise InvalidEpisode(f"{name} is {type(value).__name__}; it needs text")
    if "\0" in value:
        raise InvalidEpisode(f"{name} holds a NUL character at {value.index(chr(0))}; remove it")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidEpisode(f"{name} holds a lone surrogate at {error.start}; decode the text properly") from error
    return value


def checked_name(what: str, name: object) -> str:
    """`name`, when it is text that is not blank. Raises InvalidInput."""
    if not checked_text(what, name).strip():
        raise InvalidInput(f"the {what} is blank; it needs a name")
    return str(name)


def _body(name: str, value: object) -> str:
    return checked_text(name, value).replace("\r\n", "\n").replace("\r", "\n").strip(WHITE_SPACE)


def _names(name: str, value: object) -> tuple[str, ...]:
    if type(value) is not tuple and (isinstance(value, str) or not isinstance(value, Iterable)):
        raise InvalidEpisode(f"{name} is {shown(str(value))}; it needs a list of names")
    what = f"an item of {name}"
    return tuple([checked_text(what, item) for item in value])


def _list(name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidEpisode(f"{name} is {type(value).__name__}; it needs a list of names")
    return tuple(value)


def _cost(value: object) -> Cost:
    if value is None:
        return _NO_COST
    names = {part.name for part in fields(Cost)}
    if not isinstance(value, Mapping) or (value.keys() - names):
        raise InvalidEpisode(f"cost is {shown(str(value))}; it needs an object with some of {', '.join(sorted(names))}")
    return Cost(**value)


def _frozen_json(meta: object) -> Mapping[str, Any]:
    if not isinstance(meta, Mapping):
        raise InvalidEpisode(f"meta is {type(meta).__name__}; it needs a mapping")
    if not meta:
        return MappingProxyType({})
    if odd := [key for key in meta if not isinstance(key, str)]:
        raise InvalidEpisode(f"meta has the key {odd[0]!r}; JSON needs text as keys")
    try:
        if _depth(meta) > _DEEPEST:
            raise InvalidEpisode(f"meta nests deeper than {_DEEPEST} levels; flatten it, or keep it as text")
        written = json.dumps(dict(meta), allow_nan=False, ensure_ascii=False)
        return MappingProxyType(json.loads(checked_text("meta", written)))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidEpisode):
            raise
        raise InvalidEpisode(f"meta cannot be written as JSON: {error}") from error


def _depth(value: object) -> int:
    """How many levels of containers there are, up to one more than may be."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner = [
            item.values() if isinstance(item, Mapping) else item
            for item in level
            if isinstance(item, Mapping | list | tuple)
        ]
        level, depth = [item for items in inner for item in items], depth + bool(inner)
    return depth
