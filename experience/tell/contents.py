"""What went into a text that a run is told, by number and name; never the words, which belong to whoever recorded them."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

PARTS = ("learnings", "worked", "failed", "unknown", "skills")
"""The parts of a brief that hold something remembered."""
FIXED_PARTS = ("propose", "help")
"""Those that say how to do something, and are left out whole where there is no room."""
_ORDER = (*FIXED_PARTS, *PARTS)


def text_hash(text: str) -> str:
    """The name of a text: the SHA-256 of its UTF-8 bytes, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """One remembered thing that a brief tells, or had no room for."""

    part: str
    """One of PARTS; of what was left out, also one of FIXED_PARTS."""
    number: int
    """Its place in its part, from 1; of what was left out, its rank."""
    id: int | None = None
    """The episode's or learning's id; None for a skill."""
    name: str = ""
    """A skill's name."""
    version: int | None = None
    """A skill's."""
    standing: str = ""
    """A learning's: established or provisional."""
    score: float | None = None
    """How well it fits the task; None where that did not decide."""
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything but what is empty."""
        data = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in data.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything remembered that a text tells, in its order, and what it leaves out."""

    told: tuple[Item, ...] = ()
    left_out: tuple[Item, ...] = ()
    """Each with the reason in `why`."""

    def of(self, part: str) -> tuple[Item, ...]:
        """What one part tells."""
        return tuple(item for item in self.told if item.part == part)

    def to_json(self) -> dict[str, Any]:
        """Learnings, episodes and skills by themselves, since other records refer to them, and what was left out."""
        rows: dict[str, list[dict[str, Any]]] = {"learnings": [], "episodes": [], "skills": []}
        for item in self.told:
            rows[item.part if item.part in rows else "episodes"].append(item.to_json())
        return {**rows, "left_out": [item.to_json() for item in self.left_out]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Contents":
        """What `to_json` wrote."""
        told = [Item(**row) for kind in ("learnings", "episodes", "skills") for row in data.get(kind, [])]
        told.sort(key=in_order)
        return cls(tuple(told), tuple(Item(**row) for row in data.get("left_out", [])))


def in_order(item: Item) -> tuple[int, int]:
    """A key to sort by: as a brief tells things."""
    return _ORDER.index(item.part), item.number
