"""What a transcript says, whatever its format: the one shape that every format's module gives.

A `Format` recognises a file by how it begins and reads sessions out of it. A `Session` accounts for each turn of the
transcript: kept, or dropped for a reason. Values only: nothing here opens a file, masks, shortens or records.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from experience.episode import Cost

if TYPE_CHECKING:
    from experience.importers.source import Source


_NO_COST = Cost()


LATER_LISTED = 20
"""Requests after the first that a session lists."""
LATER_READ = 4_000
"""Characters of each of them, of which an episode gets the first few."""
COURSE, COURSE_STEP, COURSE_TURNS = "course", 4, 400
"""The key in `meta` under which a format that has to make up names says how a session went on: so many digits of a hash a turn,
of so many turns. Sessions of one name that go on differently are different sessions."""
YET_ANOTHER = "of yet another kind"
"""The reason under which turns are counted once there are too many reasons to tell apart."""


class Call(NamedTuple):
    """One call of a tool, as the transcript has it."""

    name: str
    worked: bool | None = None
    """None where the transcript does not say."""


class SkillUse(NamedTuple):
    """A skill that the run followed, and what of the transcript shows it."""

    name: str
    evidence: str
    """Such as "read .claude/skills/deploy/SKILL.md"; never a sentence of the agent's own."""


class Finding(NamedTuple):
    """What the transcript itself says about success, and by which rule."""

    success: bool
    kind: str
    """One of `protocols.LABEL_CLASSES`."""
    evidence: str
    """Such as "reward 1.0" or "score includes = C"."""


class Leftover(NamedTuple):
    """Turns of a file that belong to no session, or to one in which nobody says anything."""

    dropped: Mapping[str, int]
    """How many, by reason."""


class Trouble(NamedTuple):
    """A piece of a file that could not be read: where, and why in one line."""

    line: int | None
    """From 1; None where the format has no lines."""
    reason: str


@dataclass(frozen=True, slots=True)
class Session:
    """One run as a transcript tells it: whole texts, not yet masked or shortened."""

    id: str
    """The format's own name for it, the same whenever the file is read again; with the format's name it makes the run_id."""
    asked: str
    """What the agent was asked: no system prompt, no injected context. Empty where the transcript holds nothing of it."""
    account: str
    """The final account: what the agent said last. May be empty."""
    first_words: str = ""
    """What the agent said first: what stands for the situation where `asked` is empty (and is marked so in `meta`)."""
    later: tuple[str, ...] = ()
    """What was asked after that, the first `LATER_LISTED` requests of them, each cut at `LATER_READ`."""
    requests: int = 1
    """How often something was asked, those that are not listed too."""
    calls: tuple[Call, ...] = ()
    """In order."""
    skills: tuple[SkillUse, ...] = ()
    finding: Finding | None = None
    """None: the transcript does not say whether it worked."""
    started_at: datetime | None = None
    cost: Cost = _NO_COST
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What else is worth keeping, JSON: agent, model, folder, parent session."""
    kept: int = 0
    """Turns that went into the session: what was asked, said, called and answered."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Turns that did not, by reason; kept and dropped together are all the turns there were."""
    length: int | None = None
    """How far the session has come, which tells the longer of two accounts of it: never less as it grows. None: as `kept`."""


@dataclass(frozen=True, slots=True)
class Format:
    """How transcripts of one kind are known and read."""

    name: str
    """As `--format` takes it."""
    title: str
    """For people: "Claude Code session"."""
    recognises: Callable[[Any], bool]
    """Whether a file is of this kind, by a JSON value out of it: its first lines that are JSON, one by one, or, where the
    file is one JSON document, the document. Never raises, whatever the value."""
    sessions: Callable[["Source"], Iterator[Session | Trouble | Leftover]]
    """Reads a file, streaming where the format is made of lines. What is broken comes out as a `Trouble`, and the rest is read.
    Nobody needs to give a `Leftover` whose turns all belong to sessions."""


def later_request(text: str) -> str:
    """A request after the first as a session lists it: cut where it is long, behind a whole word, so that no secret is cut in two."""
    if len(text) <= LATER_READ:
        return text
    words = text[:LATER_READ].rsplit(maxsplit=1)
    return words[0] if len(words) > 1 else f"(a word of {len(text)} characters)"


def without_texts(session: Session) -> Session:
    """The session as far as it is counted."""
    return replace(session, asked=session.asked[:1], account="", first_words=session.first_words[:1], later=(), meta={})


def counted(counts: Counter[str], reason: str, most: int, number: int = 1) -> None:
    """Count something under its reason, or under YET_ANOTHER once `most` reasons are told apart."""
    counts[reason if reason in counts or len(counts) < most else YET_ANOTHER] += number
