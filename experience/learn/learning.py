"""A learning as it stands, worked out of its events and of the runs that were told it since the last of them; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from experience.episode import moment_from

CONFIRM_AFTER = 3  # rediscoveries
PROVISIONAL_RUNS = 20  # runs that are told a learning before it lapses
MAX_TEXT = 400  # characters
IMPACTS = ("low", "medium", "high")
STATES = ("provisional", "confirmed", "lapsed", "rejected", "corrected")
ACTIVE = ("provisional", "confirmed")


@dataclass(frozen=True, slots=True)
class Learning:
    """A learning as it stands, or stood at some moment."""

    id: int
    agent: str
    """Whose it is; empty when it is for every agent of the namespace."""
    text: str
    impact: str
    """One of IMPACTS."""
    state: str
    """One of STATES; of those ACTIVE are told."""
    proposals: int
    runs_left: int
    """How many more runs may be told it before it lapses; 0 for one that does not."""
    first_at: datetime
    last_at: datetime
    corrected_by: int | None = None
    """The learning that is told in its place; None unless the state is corrected."""

    @property
    def active(self) -> bool:
        """Whether it is told."""
        return self.state in ACTIVE

    @property
    def standing(self) -> str:
        """What a run is told of it: established or provisional."""
        return "established" if self.state == "confirmed" else "provisional"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a learning, and how it stood after it."""

    at: datetime
    what: str
    """proposed, rediscovered, confirmed, rejected, corrected (by another learning), told (to a run) or lapsed."""
    text: str
    """Its words then; empty where they were not touched."""
    state: str
    runs_left: int
    run_id: str | None
    by: str
    note: str


SELECT_LEARNINGS = """
    SELECT l.id, l.agent, e.text, e.impact, e.state, e.proposals, e.runs_left, e.at,
        (SELECT min(at) FROM learning_events WHERE learning_id = l.id),
        CASE e.runs_left WHEN 0 THEN 0 ELSE (SELECT count(*) FROM tellings WHERE event_id = e.id AND at <= ?) END
    FROM learnings l JOIN learning_events e
        ON e.id = (SELECT max(id) FROM learning_events WHERE learning_id = l.id AND at <= ?)
    WHERE l.namespace = ? {mine} ORDER BY l.id
"""


def learning_from(row: Sequence[Any]) -> Learning:
    """The learning in a row of SELECT_LEARNINGS, but for what corrects it."""
    id, agent, text, impact, state, proposals, runs_left, at, first_at, told = row
    left, state = aged(state, runs_left, told)
    return Learning(id, agent, text, impact, state, proposals, left, moment_from(first_at, "at"), moment_from(at, "at"))


def corrected(learnings: Sequence[Learning], corrections: Sequence[tuple[int, int]]) -> list[Learning]:
    """The same with corrections applied, pairs of ids, oldest first: the second is told in the first's place while it stands.

    A correction stands while it is active, or while something stands that corrects it: so of a chain only the end is told,
    even when a link of it was rejected. Should they go in a circle, the latest count.
    """
    active = {one.id for one in learnings if one.active}
    by: dict[int, list[int]] = {}
    for old, new in reversed(corrections):
        if old not in _in_its_place(by, new):
            by.setdefault(old, []).append(new)
    ends: dict[int, int] = {}
    for one in learnings:
        reached = (end for new in by.get(one.id, ()) for end in _in_its_place(by, new) if end in active)
        if one.active and (found := next(reached, None)) is not None:
            ends[one.id] = found
    return [replace(one, state="corrected", corrected_by=ends[one.id]) if one.id in ends else one for one in learnings]


def _in_its_place(by: Mapping[int, Sequence[int]], start: int) -> Iterator[int]:
    """A learning, what corrects it, what corrects that, and so on, each once and the nearest first."""
    seen, waiting = {start}, [start]
    for one in waiting:
        yield one
        new = [other for other in by.get(one, ()) if other not in seen]
        seen.update(new)
        waiting += new


def aged(state: str, runs_left: int, told: int) -> tuple[int, str]:
    """How many runs are left, and the state, after so many were told it."""
    if state != "provisional":
        return 0, state
    left = max(runs_left - told, 0)
    return left, state if left else "lapsed"
