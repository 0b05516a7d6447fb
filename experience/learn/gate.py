"""Whether there is enough to learn a skill from: arithmetic before any model is asked, and a reason that carries numbers.

A refusal is a value. The thresholds hold for the evidence together: for one run alone they are those of a single run,
and several runs of one kind make up in number for what each lacks in length.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from experience.episode import Episode
from experience.errors import InvalidInput
from experience.learn.evidence import episode_of
from experience.learn.refusals import (
    DuplicateSkill,
    NotSuccessful,
    Refusal,
    SituationTooShort,
    TooFewDistinctTools,
    TooFewToolCalls,
)
from experience.learn.skill import Skill
from experience.protocols import Record
from experience.tokens import WORD_RUN, cut_unspaced, is_unspaced

_STOP = frozenset(
    "this that with from into then than them they have been were will would should could when what which while after before "
    "about there their your user asks asked skill step steps using used make makes does done "
    "situation speaks task calls call".split()  # and what our own descriptions say
)
_CODE = re.compile(r"`[^`\n]*`")  # tools; those of one kind share them with the next
_SHORTEST_WORD = 4  # bytes
_LEAST_SHARED = 2  # words; one in common says nothing about the rest


@dataclass(frozen=True, slots=True)
class DistillPolicy:
    """What a skill is distilled from, at the least."""

    require_success: bool = True
    """Only runs that worked; an unknown success is not one."""
    trust_self_claim: bool = False
    """Whether the agent's own word that it worked is enough."""
    min_tool_calls: int = 4
    min_distinct_tools: int = 2
    min_situation_chars: int = 16
    """Of the longest situation, trimmed; a character of a script without spaces counts as two."""
    similarity_threshold: float = 0.6
    """From which overlap of words on (0 to 1, inclusive) a situation belongs to a skill that is there."""
    min_support: int = 2
    """Runs of one kind that worked, for `distill_all`."""
    max_output_tokens: int = 1200
    """What the prompt asks a model to stay below."""

    def __post_init__(self) -> None:
        for name in ("min_tool_calls", "min_distinct_tools", "min_situation_chars", "min_support", "max_output_tokens"):
            if type(value := getattr(self, name)) is not int or value < 0:
                raise InvalidInput(f"{name} is {value!r}; it needs a whole number from 0 on")
        if not 0 <= self.similarity_threshold <= 1:
            raise InvalidInput(f"similarity_threshold is {self.similarity_threshold!r}; it needs a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class Known:
    """A skill that is there already, its words cut once."""

    name: str
    words: frozenset[str]

    @classmethod
    def of(cls, skill: Skill) -> "Known":
        return cls(skill.name, topical(f"{skill.name.replace('-', ' ')} {skill.description}"))


def gate(
    evidence: Record | Episode | Sequence[Record | Episode],
    known: Iterable[Known | Skill] = (),
    policy: DistillPolicy = DistillPolicy(),
) -> Refusal | None:
    """Why nothing is to be distilled from these runs (of one kind, or one run), or None. The first reason counts."""
    runs = list(evidence) if isinstance(evidence, Sequence) else [evidence]
    if not runs:
        raise InvalidInput("there is no run to look at; give at least one")
    for run in runs:
        if policy.require_success and (refusal := _unsuccessful(run, policy)):
            return refusal
    episodes = [episode_of(run) for run in runs]
    tools = [tool for episode in episodes for tool in episode.tools]
    if len(tools) < policy.min_tool_calls:
        return TooFewToolCalls(len(tools), policy.min_tool_calls)
    if len(set(tools)) < policy.min_distinct_tools:
        return TooFewDistinctTools(len(set(tools)), policy.min_distinct_tools)
    longest = max(_length(episode.situation.strip()) for episode in episodes)
    if longest < policy.min_situation_chars:
        return SituationTooShort(longest, policy.min_situation_chars)
    if len(runs) > 1:
        return None  # what several runs share is compared once it is known
    return duplicate(episodes[0].situation, known, policy)


def duplicate(
    text: str, known: Iterable[Known | Skill], policy: DistillPolicy = DistillPolicy()
) -> DuplicateSkill | None:
    """The skill nearest to a text, if near enough; of equally near ones the first by name."""
    words = topical(text)
    scored = [(overlap(words, skill.words), skill.name) for skill in map(_known, known)]
    if not scored:
        return None
    similarity, name = min(scored, key=lambda pair: (-pair[0], pair[1]))
    threshold = policy.similarity_threshold
    return DuplicateSkill(name, similarity, threshold) if similarity and similarity >= threshold else None


def topical(text: str) -> frozenset[str]:
    """The words of a text that tell what it is about: lower-cased, from 4 bytes on, no stop words; of scripts without
    spaces each pair of characters.
    """  # noqa: D205
    words: set[str] = set()
    for chunk in WORD_RUN.findall(_CODE.sub(" ", unicodedata.normalize("NFC", text).lower())):
        spaced, pairs = cut_unspaced(chunk)
        words.update(pairs, (word for word in spaced if len(word.encode()) >= _SHORTEST_WORD))
    return frozenset(words - _STOP)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Overlap coefficient (Szymkiewicz-Simpson), 0 to 1: what both share, as a part of the smaller; one word is nothing."""
    shared = len(one & other)
    return shared / min(len(one), len(other)) if shared >= _LEAST_SHARED else 0.0


def is_success(run: Record | Episode, policy: DistillPolicy = DistillPolicy()) -> bool:
    """Whether a run counts as one that worked."""
    return _unsuccessful(run, policy) is None


@lru_cache(maxsize=4096)
def _known(skill: Known | Skill) -> Known:
    return skill if isinstance(skill, Known) else Known.of(skill)


def _length(text: str) -> int:
    """Characters, those of scripts without spaces as two: they say as much."""
    return len(text) + sum(map(is_unspaced, text))


def _unsuccessful(run: Record | Episode, policy: DistillPolicy) -> NotSuccessful | None:
    """An episode by itself is taken at its word; a record by the label that counts."""
    kind = run.label.kind if isinstance(run, Record) and run.label else None
    success = episode_of(run).success
    if not success or (kind == "self_claim" and not policy.trust_self_claim):
        return NotSuccessful(success, kind)
    return None
