"""The seams, and the small values that cross them.

Two things have more than one implementation and so a protocol: a `Backend` ranks what a store holds, an `Encoder` turns
text into vectors. Everything else here is a frozen value. There is no logic beyond what a value knows of itself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from experience.episode import Episode, checked_moment, checked_text, moment_text
from experience.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[int, int], None]
"""Called with (done, total) as a long job goes on."""

_LARGEST_K = 2**31 - 1

LABEL_CLASSES = ("verifier", "human", "host", "exit_code", "self_claim")
"""Who can say that a run worked, best first. The latest label of the best class is the one that counts."""


class Withdrawal(NamedTuple):
    """A label taken back: by whom, why, when."""

    by: str
    evidence: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Label:
    """One statement about a run's success. Statements are never changed, only followed by others or withdrawn."""

    id: int
    """The store's number for it; 0 for one that is not stored yet."""
    value: bool
    kind: str
    """One of LABEL_CLASSES."""
    by: str
    """Who said so; may be empty."""
    evidence: str
    """Why, in the words of whoever said so; may be empty."""
    at: datetime
    withdrawal: Withdrawal | None = None
    """Set when the statement was taken back; it then counts for nothing."""

    def __post_init__(self) -> None:
        if type(self.value) is not bool:
            raise InvalidInput(
                f"a label's value is {self.value!r}; it needs True or False (to take one back, withdraw it)"
            )
        if self.kind not in LABEL_CLASSES:
            raise InvalidInput(f"a label's kind is {self.kind!r}; it needs one of {', '.join(LABEL_CLASSES)}")
        for name in ("by", "evidence"):
            checked_text(name, getattr(self, name))

    def to_json(self) -> dict[str, object]:
        """What was said, without the store's number for it; `withdrawn` only where it was taken back."""
        data: dict[str, object] = {
            "value": self.value,
            "class": self.kind,
            "by": self.by,
            "evidence": self.evidence,
            "at": moment_text(self.at),
        }
        if self.withdrawal:
            by, evidence, at = self.withdrawal
            data["withdrawn"] = {"by": by, "evidence": evidence, "at": moment_text(at)}
        return data


@dataclass(frozen=True, slots=True)
class Record:
    """An episode as the store holds it. `episode.success` is what the label that counts says, now."""

    id: int
    episode: Episode
    uid: str
    """A name that stays the same when the record moves to another file; `id` is this file's own number."""
    recorded_at: datetime
    label: Label | None
    """The label that counts; None while nobody has said."""
    expires_at: datetime | None = None
    superseded: bool = False
    """True when a later record of the same run has taken its place."""

    @property
    def confirmed(self) -> bool:
        """A yes that somebody other than the agent itself has given."""
        return self.label is not None and self.label.value and self.label.kind != "self_claim"

    @property
    def began(self) -> datetime:
        """When the run started or, where that is not known, was recorded."""
        return self.episode.started_at or self.recorded_at

    @property
    def ended(self) -> bool | None:
        """How the run ended, as far as it counts for others: a success that only the agent itself claims is not known."""
        return None if self.episode.success and not self.confirmed else self.episode.success


class Hit(NamedTuple):
    """What a backend answers: an episode's id, how well it fits (higher is better), and why in a few words."""

    id: int
    score: float
    why: str
    words: float | None = None
    """The share of the question that its words are, where a backend that goes by more than one thing knows it."""
    meaning: float | None = None
    """The cosine, likewise."""


@dataclass(frozen=True, slots=True)
class Match:
    """A hit together with what was recorded."""

    score: float
    """Higher is better; comparable within one answer of one backend only."""
    why: str
    record: Record

    @property
    def id(self) -> int:
        return self.record.id

    @property
    def episode(self) -> Episode:
        return self.record.episode


@dataclass(frozen=True, slots=True)
class Filter:
    """Which episodes may be in an answer; applied before ranking, so that it never starves one.

    An episode passes when every part that is given holds: it has *all* the named tools, skills and tags; it started
    (or, where that is not known, was recorded) at or after `since` and before `until`; its id is among `ids` (None: any
    id; empty: none).
    """

    success: bool | None = None
    """True or False: only runs with that verdict. None: any, the unknown ones too."""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    ids: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.success is not None and type(self.success) is not bool:
            raise InvalidInput(f"success is {self.success!r}; a filter needs True, False or None (any)")
        for name in ("tools", "skills", "tags"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"{name} is {value!r}; a filter needs a list of names")
            object.__setattr__(self, name, tuple(checked_text(f"an item of {name}", item) for item in value))
        for name in ("since", "until"):
            moment = getattr(self, name)
            if moment is None:
                continue
            object.__setattr__(self, name, checked_moment(name, moment))
        if self.ids is not None:
            ids = tuple(self.ids) if isinstance(self.ids, Iterable) else (f"{self.ids} alone",)
            if odd := [id for id in ids if type(id) is not int or not -_IDS_END <= id < _IDS_END]:
                raise InvalidInput(
                    f"ids holds {odd[0]!r}; a filter needs a list of whole numbers below 2**63, or None (any)"
                )
            object.__setattr__(self, "ids", ids)

    def __bool__(self) -> bool:
        """False when it lets everything through."""
        return self != _EVERYTHING


_IDS_END = 2**63  # what a file, and an array of ids, can hold
_EVERYTHING = Filter()


def check_k(k: int) -> None:
    """Raise InvalidInput unless `k` is a number of hits that can be asked for."""
    if type(k) is not int or not 0 <= k <= _LARGEST_K:
        raise InvalidInput(f"k is {k!r}; it needs a whole number from 0 to {_LARGEST_K}")


class Encoder(Protocol):
    """Text in, vectors out."""

    @property
    def name(self) -> str:
        """Names the vector space: whatever changes a vector changes the name, since two spaces are never compared."""
        ...

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One unit vector a text, in order: float32 of shape (len(texts), width)."""
        ...


class Backend(Protocol):
    """Ranks the episodes of one store and namespace."""

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits among the episodes that pass `where`, best first, equal scores newest first.

        Fewer than k mean that there are no more.
        A text without words gives an empty list. What goes wrong is raised, never answered with an empty list.
        """
        ...

    def pending(self) -> int:
        """How many episodes this backend cannot find yet."""
        ...

    def refresh(self, progress: Progress | None = None) -> int:
        """Take in what has been recorded since; how many episodes that were. Safe to kill and to run twice."""
        ...


@runtime_checkable
class VectorBackend(Backend, Protocol):
    """A backend that has a vector of each situation, for what compares many runs with one another."""

    def vectors(self) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Ids of the episodes that it can find, ascending, and their unit vectors, a row each."""
        ...
