"""How much words should weigh beside meaning in one store, learned on what it holds.

Nobody judges a store's recalls, but runs that used the same rare tools, followed the same skills or bear the same tags
were of one kind. So each of a sample of episodes asks for the others by its situation, and is marked by how much of their names
those share with it that were found. The lean is chosen on one half of the sample and measured on the other; it is kept
only if it is better there by more than chance.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log2

from experience.backends.hybrid import HybridBackend, fused
from experience.episode import Episode
from experience.protocols import Hit, Progress
from experience.store import SqliteStore

LEANS = (0.0, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
"""What is tried, the default first: of equals the first is taken."""
_DEPTH, _MARKED = 200, 10
_SAMPLE = 400
_NAMES_OF = 2000  # episodes by which it is told how rare a name is
_ALIKE = 0.3  # the share of names from which two runs count as of one kind
_FEWEST = 40  # episodes that have to ask
_RESAMPLES, _SEED = 1000, 0

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it. Marks are means of nDCG@10 over held-out questions, from 0 to 1."""

    asked: int
    """Episodes that asked, both halves together; 0 when too few share names with others."""
    before: float = 0.0
    """With the lean that the store has now."""
    after: float = 0.0
    """With the one that is best on the other half."""
    gain: tuple[float, float] = (0.0, 0.0)
    """The 95 % bootstrap interval of the difference."""
    lean: float = 0.0
    """The one that is best on the other half."""
    was: float = 0.0

    @property
    def better(self) -> bool:
        """Whether it is better by more than chance."""
        return self.gain[0] > 0


def tuned(store: SqliteStore, backend: HybridBackend, progress: Progress | None = None) -> Tuned:
    """Which lean fits this store best, and how sure that is. Writes nothing; asks at most 400 times."""
    was = backend.lean()
    marks = _marks(store, backend, was, progress)
    if len(marks) < _FEWEST:
        return Tuned(0, was=was)
    chosen_on, held_out = marks[::2], marks[1::2]
    lean = max(LEANS, key=lambda one: round(sum(mark[one] for mark in chosen_on), 9))
    before, after = ([mark[one] for mark in held_out] for one in (was, lean))
    gain = _interval([new - old for new, old in zip(after, before, strict=True)])
    return Tuned(len(marks), _mean(before), _mean(after), gain, lean, was)


def keep(store: SqliteStore, backend: HybridBackend, lean: float) -> None:
    """Let a lean count in this store, for this encoder; 0 is what every store begins with."""
    store.set_setting(backend.lean_key(), str(lean))


def _marks(
    store: SqliteStore, backend: HybridBackend, was: float, progress: Progress | None
) -> list[Mapping[float, float]]:
    """Of each episode that has something to find, the mark of every lean."""
    weights = _rarity([_names(record.episode) for record in store.records(limit=_NAMES_OF)])
    ids = [id for (id,) in store.read(*store.selection())]
    asking = [ids[at * len(ids) // _SAMPLE] for at in range(_SAMPLE)] if len(ids) > _SAMPLE else ids
    found: list[Mapping[float, float]] = []
    for number, (id, record) in enumerate(sorted(store.get_many(asking).items()), 1):
        if mine := _names(record.episode):
            situation = record.episode.situation
            words, meaning = backend.both(situation, _DEPTH)
            others = store.get_many(list({hit.id for hit in (*words, *meaning)} - {id}))
            gains = {
                other: _shared(mine, _names(one.episode), weights)
                for other, one in others.items()
                if one.episode.situation != situation  # it would be found by any rule
            }
            if any(gains.values()):
                answers = {
                    lean: fused(situation, *_among(gains, words, meaning), _DEPTH, lean) for lean in {*LEANS, was}
                }
                found.append({lean: _mark(hits, gains) for lean, hits in answers.items()})
        if progress:
            progress(number, len(asking))
    return found


def _among(gains: Mapping[int, float], *answers: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    words, meaning = ([hit for hit in hits if hit.id in gains] for hits in answers)
    return words, meaning


def _names(episode: Episode) -> Names:
    kinds = (("tool", episode.tools), ("skill", episode.skills), ("tag", episode.tags))
    return frozenset(f"{kind} {name}" for kind, names in kinds for name in names)


def _rarity(all_names: Sequence[Names]) -> Callable[[str], float]:
    """What a name tells: its inverse document frequency (Spärck Jones 1972)."""
    counts = Counter(name for names in all_names for name in names)
    return lambda name: log((len(all_names) + 1) / (counts[name] + 1))


def _shared(mine: Names, theirs: Names, weight: Callable[[str], float]) -> float:
    """The share of both runs' names that both have, rare ones counting more; 0 when it is too little to be one kind."""
    every = sum(map(weight, sorted(mine | theirs)))
    share = sum(map(weight, sorted(mine & theirs))) / every if every > 0 else 0.0
    return share if share >= _ALIKE else 0.0


def _mark(hits: Sequence[Hit], gains: Mapping[int, float]) -> float:
    """NDCG@10 (Järvelin and Kekäläinen 2002) against the best order of what was found at all."""
    ideal = _gained(sorted(gains.values(), reverse=True))
    return _gained([gains[hit.id] for hit in hits]) / ideal


def _gained(gains: Sequence[float]) -> float:
    return sum(gain / log2(1 + rank) for rank, gain in enumerate(gains[:_MARKED], 1))


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap of a mean over questions (Efron 1979; for retrieval: Sakai, SIGIR 2006)."""
    import numpy as np

    draw = np.random.default_rng(_SEED)
    means = [float(draw.choice(differences, len(differences)).mean()) for _ in range(_RESAMPLES)]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
