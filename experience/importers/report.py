"""What became of everything that an import was given: the loss report, counted as it goes and then told.

Every file, session, turn and line is in one of its counts. It holds no text of a transcript but what it calls a line by.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from experience.importers.session import Leftover, Session, Trouble, counted
from experience.masking import masked

SHOWN = 20
"""Lines that are named; the rest are counted."""
NOBODY = "nobody says"
REFUSED = "of a session that cannot be recorded"
_REASONS = 200  # that are told apart, whatever a transcript holds


class Bad(NamedTuple):
    """Something that was left out."""

    path: str
    line: int | None
    """From 1; None where it is the whole file, or the format has no lines."""
    reason: str


class OwnFile(NamedTuple):
    """What a file of our own episodes gave."""

    path: str
    new: int
    known: int
    stripped: int
    guesses: tuple[str, ...]
    bad: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What an import did."""

    files: Mapping[str, int]
    """How many were read, by format."""
    skipped: Mapping[str, int]
    """How many, met in folders, were no transcript, by reason."""
    unread: tuple[Bad, ...]
    """Files that somebody named and that could not be read."""
    new: int
    known: int
    grown: int
    """Sessions, and our own episodes: not seen before, in the store already, and longer than what was there."""
    kept: int
    dropped: Mapping[str, int]
    """Turns: those that are in an episode, and the others by reason."""
    bad: tuple[Bad, ...]
    """The first lines and pieces that could not be read."""
    bad_count: int
    """How many there were."""
    labels: Mapping[str, int]
    """How many sessions have a label from where."""
    judged: Mapping[str, int]
    """What the user's own command said."""
    masked: Mapping[str, int]
    """How many secrets were masked, by kind."""
    from_agent: int
    """Sessions without a request, whose situation is the agent's own first words or, without those, its calls."""
    shortened: int
    """Texts that were shortened."""
    shortened_bytes: int
    """Bytes that they lost."""
    echoes: int
    """Recalled blocks that were taken out."""
    own: tuple[OwnFile, ...]

    @property
    def seen(self) -> int:
        """Turns that there were."""
        return self.kept + sum(self.dropped.values())

    def to_json(self) -> dict[str, Any]:
        """The same as JSON."""
        own = [
            {**one._asdict(), "bad": [{"line": line, "reason": reason} for line, reason in one.bad]} for one in self.own
        ]
        return {
            "files": {"read": dict(self.files), "skipped": dict(self.skipped)},
            "unread": [one._asdict() for one in self.unread],
            "sessions": {"new": self.new, "known": self.known, "grown": self.grown},
            "turns": {"seen": self.seen, "kept": self.kept, "dropped": dict(self.dropped)},
            "bad": [one._asdict() for one in self.bad],
            "bad_count": self.bad_count,
            "labels": dict(self.labels),
            "label_command": dict(self.judged),
            "masked": dict(self.masked),
            "situation_from_agent": self.from_agent,
            "shortened": {"texts": self.shortened, "bytes": self.shortened_bytes},
            "recalled_blocks_stripped": self.echoes,
            "own": own,
        }


@dataclass(slots=True)
class Tally:
    """A report as it comes about."""

    files: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    unread: list[Bad] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    bad: list[Bad] = field(default_factory=list)
    bad_count: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    from_agent: int = 0
    shortened: Counter[str] = field(default_factory=Counter)
    echoes: int = 0
    own: list[OwnFile] = field(default_factory=list)

    def turns_of(self, found: Session | Leftover) -> None:
        """Count the turns of a session, or of none."""
        for reason, turns in found.dropped.items():
            counted(self.dropped, reason, _REASONS, turns)
        if isinstance(found, Session):
            self.kept += found.kept
            self.from_agent += not found.asked.strip()

    def refused(self, session: Session) -> None:
        """Count the turns of a session that is not recorded."""
        self.turns_of(Leftover({**session.dropped, REFUSED: session.kept}))

    def trouble(self, path: str, trouble: Trouble) -> None:
        """Count something that was left out, and name it while there are few."""
        self.bad_count += 1
        if len(self.bad) < SHOWN:
            self.bad.append(Bad(path, trouble.line, told(trouble.reason)))

    def report(self) -> Report:
        """What was counted so far."""
        return Report(
            files=dict(self.files),
            skipped=dict(self.skipped),
            unread=tuple(one._replace(reason=told(one.reason)) for one in self.unread),
            new=self.fates["new"],
            known=self.fates["known"],
            grown=self.fates["grown"],
            kept=self.kept,
            dropped=_told(self.dropped),
            bad=tuple(self.bad),
            bad_count=self.bad_count,
            labels=dict(self.labels),
            judged=_told(self.judged),
            masked=dict(self.masked),
            from_agent=self.from_agent,
            shortened=self.shortened["texts"],
            shortened_bytes=self.shortened["bytes"],
            echoes=self.echoes,
            own=tuple(self.own),
        )


def told(text: str) -> str:
    """What a transcript or a command calls something, as a report may hold it: without secrets, on one line."""
    bare, _ = masked(text, personal=False)
    return bare.replace("\r", "\\r").replace("\n", "\\n")


def _told(counts: Counter[str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for reason, number in counts.most_common():
        found[told(reason)] += number
    return dict(found)
