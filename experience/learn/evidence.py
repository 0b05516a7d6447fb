"""What runs of one kind did: the tools in their common order, and what those that failed did differently.

Counts only, from records; pure. How it is worded is `drafting`'s part.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import comb
from typing import Any, Self

from experience.episode import Episode
from experience.learn.wording import Phrase, example, shared_phrases
from experience.learn.words import Casing
from experience.masking import masked
from experience.protocols import Record

_COMMON = 0.5  # of the runs that worked use a tool that is a step
_MOST_STEPS = 10
_MOST_PITFALLS = 5
LARGEST_P = (
    0.1  # one-sided Fisher's exact test: a difference likelier than this by chance is told only where it is whole
)
_MOST_SHOWN = 12  # ids in a text


@dataclass(frozen=True, slots=True)
class Step:
    """A tool that most of the runs that worked used, in the place where it usually came."""

    tool: str
    runs: int
    repeated: int
    """How many of these used it more than once."""


@dataclass(frozen=True, slots=True)
class Pitfall:
    """A tool that tells runs that failed from runs that worked."""

    tool: str
    kind: str
    """skipped: those that failed left it out; used: those that failed used it; trouble: it failed or was denied."""
    failed: int
    """How many of those that failed."""
    worked: int
    """How many of those that worked did it too."""
    p_value: float = 0.0
    """How often chance alone would part them so (Fisher's exact test, one-sided)."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The runs something was built on, as they stood then, and the days they began on."""

    worked: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    first: date | None = None
    last: date | None = None
    claimed: tuple[int, ...] = ()
    """Those that worked by the agent's own word only, which a policy trusted."""

    @classmethod
    def of(cls, worked: Sequence[Record], failed: Sequence[Record]) -> Self:
        """Ids ascending."""
        days = sorted(run.began.date() for run in (*worked, *failed))
        return cls(
            worked=tuple(sorted(run.id for run in worked)),
            failed=tuple(sorted(run.id for run in failed)),
            first=days[0] if days else None,
            last=days[-1] if days else None,
            claimed=tuple(sorted(run.id for run in worked if not run.confirmed)),
        )

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "worked": list(self.worked),
            "failed": list(self.failed),
            "first": self.first.isoformat() if self.first else None,
            "last": self.last.isoformat() if self.last else None,
            **({"claimed": list(self.claimed)} if self.claimed else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` gave."""
        first, last = (date.fromisoformat(data[key]) if data.get(key) else None for key in ("first", "last"))
        return cls(tuple(data["worked"]), tuple(data["failed"]), first, last, tuple(data.get("claimed", ())))

    @property
    def ids(self) -> frozenset[int]:
        return frozenset((*self.worked, *self.failed))


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a draft is made from."""

    worked: tuple[Episode, ...]
    failed: tuple[Episode, ...]
    citation: Citation
    phrases: tuple[Phrase, ...] = ()
    example: str = ""
    steps: tuple[Step, ...] = ()
    pitfalls: tuple[Pitfall, ...] = ()
    casing: Casing = field(default_factory=lambda: Casing(()), compare=False)
    """How the store writes words, which tells names from others."""

    @classmethod
    def of(
        cls, worked: Sequence[Record | Episode], failed: Sequence[Record | Episode] = (), casing: Casing | None = None
    ) -> Self:
        """What these runs show. `casing` tells names from words, best over all situations of the store."""
        good, bad = ([episode_of(run) for run in runs] for runs in (worked, failed))
        situations = [episode.situation for episode in good]
        casing = casing or Casing(situations)
        records = [[run for run in runs if isinstance(run, Record)] for runs in (worked, failed)]
        return cls(
            tuple(good),
            tuple(bad),
            Citation.of(*records),
            shared_phrases(situations, casing),
            example(situations, casing),
            common_steps(good),
            pitfalls(good, bad),
            casing,
        )


def episode_of(run: Record | Episode) -> Episode:
    """The episode itself."""
    return run if isinstance(run, Episode) else run.episode


def common_steps(worked: Sequence[Episode]) -> tuple[Step, ...]:
    """The tools that at least half of these runs used, in the order in which most of them first used them.

    Of two tools that one comes first which more runs put first (Copeland's count); at most 10.
    """
    counts = Counter(tool for episode in worked for tool in set(episode.tools))
    common = [tool for tool, runs in counts.items() if runs >= _COMMON * len(worked)]
    kept = sorted(common, key=lambda tool: (-counts[tool], tool))[:_MOST_STEPS]
    firsts = [{tool: episode.tools.index(tool) for tool in kept if tool in episode.tools} for episode in worked]

    def lead(one: str, other: str) -> int:
        both = [first for first in firsts if one in first and other in first]
        return sum(1 if first[one] < first[other] else -1 for first in both)

    wins = {
        tool: sum((lead(tool, other) > 0) - (lead(tool, other) < 0) for other in kept if other != tool) for tool in kept
    }
    repeated = Counter(tool for episode in worked for tool, times in Counter(episode.tools).items() if times > 1)
    ordered = sorted(kept, key=lambda tool: (-wins[tool], -counts[tool], tool))
    return tuple(Step(tool, counts[tool], repeated[tool]) for tool in ordered)


def pitfalls(worked: Sequence[Episode], failed: Sequence[Episode]) -> tuple[Pitfall, ...]:
    """What runs that failed did differently, the surest first, at most 5.

    Told is a difference that chance makes at most once in ten times, or that is whole: all of one, none of the other.
    """
    if not worked or not failed:
        return ()
    good, bad = (Counter(tool for run in runs for tool in set(run.tools)) for runs in (worked, failed))
    trouble, fine = (Counter(tool for run in runs for tool in set(troubled(run))) for runs in (failed, worked))
    counts = [(tool, "skipped", len(failed) - bad[tool], len(worked) - good[tool]) for tool in {*good, *bad}]
    counts += [(tool, "used", bad[tool], good[tool]) for tool in {*good, *bad}]
    counts += [(tool, "trouble", trouble[tool], fine[tool]) for tool in trouble]
    found = [
        Pitfall(tool, kind, hits, others, fisher_one_sided(hits, len(failed), others, len(worked)))
        for tool, kind, hits, others in counts
    ]
    told = [p for p in found if p.p_value <= LARGEST_P or (p.failed == len(failed) and not p.worked)]
    return tuple(sorted(told, key=lambda p: (p.p_value, p.tool, p.kind))[:_MOST_PITFALLS])


def fisher_one_sided(hits: int, of: int, others: int, of_others: int) -> float:
    """Fisher's exact test, one-sided: how often chance alone would put `hits` or more of all hits among the first `of`.

    The upper tail of the hypergeometric distribution (Fisher, Statistical Methods for Research Workers, 1934).
    """
    total, marked = of + of_others, hits + others
    tail = sum(comb(marked, k) * comb(total - marked, of - k) for k in range(hits, min(of, marked) + 1))
    return tail / comb(total, of)


def troubled(episode: Episode) -> tuple[str, ...]:
    """The tools of a run that failed or were denied, as the recorder noted them."""
    noted = episode.meta.get("tool_trouble")
    calls = noted if isinstance(noted, Sequence) and not isinstance(noted, str) else ()
    return tuple(str(call["name"]) for call in calls if isinstance(call, Mapping) and "name" in call)


def ids_text(ids: Sequence[int], most: int = _MOST_SHOWN) -> str:
    """Ids for people; of many the first."""
    text = ", ".join(map(str, ids[:most]))
    return text if len(ids) <= most else f"{text} and {len(ids) - most} more"


def safe_tool(tool: str) -> str:
    """A tool's name as a skill writes it: one line, no back-tick, nothing secret, not too long."""
    text, _ = masked(" ".join(tool.replace("`", "'").split()))
    return text[:80]
