"""What an episode must not bring into a store: secrets in any of its fields, and personal values where that is asked for.

A store is read by other runs, is copied and exported; a secret that got in goes everywhere from there. So whatever comes
in is masked before anything is stored, and what was masked is counted, not kept. It knows shapes and names that tell, not
who hands an episode in, nor whether it comes back to a store that it was in before.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from experience.episode import Episode
from experience.errors import InvalidInput, shown
from experience.masking import distinct, masked, plausible
from experience.scanning import DETECT_SECRETS, scanned
from experience.shapes import Shape, is_secret_of, is_telling

MASKED = "values_masked"
"""The key in `meta` that says how many values were masked, by kind."""
_MARK = "[secret]"


class Cleaned(NamedTuple):
    """An episode that may be stored."""

    episode: Episode
    masked: Counter[str]
    """How many values were masked this time, by kind; `meta` has them together with those of earlier times."""


@dataclass(frozen=True, slots=True)
class Masking:
    """What is masked of what comes in. Raises InvalidInput for what does not go together."""

    secrets: bool = True
    """False: nothing is masked, and what comes in is stored byte for byte."""
    personal: bool = False
    """Also emails, phone, card and account numbers, addresses of machines."""
    scan: str | None = None
    """`"detect-secrets"` for a second look by that package (`pip install 'hardwon[secrets]'`)."""

    def __post_init__(self) -> None:
        if self.scan not in (None, DETECT_SECRETS):
            raise InvalidInput(f"scan is {shown(str(self.scan))}; it needs {DETECT_SECRETS!r}, or None")
        if not self.secrets and (self.personal or self.scan):
            raise InvalidInput(
                "nothing is to be masked, and personal values or what a scanner finds is; say one of them"
            )

    def text(self, text: str) -> str:
        """A text that is stored beside episodes, such as a label's evidence. Raises MissingPackage."""
        return self._text(text, Counter(), None) if self.secrets else text

    def run_id(self, run_id: str) -> str:
        """A run's name, without vendors' tokens in it; names that differ still do, and a masked one stays as it is."""
        return distinct(run_id) if self.secrets else run_id

    def episode(self, episode: Episode) -> Cleaned:
        """The episode with all of its fields masked, which `meta` counts; the same episode when there was nothing.

        Masking what is masked already changes nothing. Raises MissingPackage.
        """
        counts: Counter[str] = Counter()
        among = self._plausible(episode) if self.secrets else []
        if not self.secrets or not (among or self.scan):
            return Cleaned(episode, counts)
        run_id = episode.run_id if episode.run_id is None else distinct(episode.run_id)
        counts["token"] += run_id != episode.run_id
        tools, skills, tags = (
            tuple([self._text(name, counts, among) for name in names])
            for names in (episode.tools, episode.skills, episode.tags)
        )
        before = episode.meta.get(MASKED)
        kept = {key: value for key, value in episode.meta.items() if key != MASKED or not _is_count(value)}
        meta = self._json(kept, counts, among)
        situation, outcome = self._text(episode.situation, counts, among), self._text(episode.outcome, counts, among)
        if not +counts:
            return Cleaned(episode, Counter())
        counted = Counter(before if _is_count(before) else {}) + counts
        meta[MASKED] = {kind: counted[kind] for kind in sorted(counted)}
        clean = replace(
            episode,
            situation=situation,
            outcome=outcome,
            tools=tools,
            skills=skills,
            tags=tags,
            run_id=run_id,
            meta=meta,
        )
        return Cleaned(clean, +counts)

    def _plausible(self, episode: Episode) -> Sequence[Shape]:
        """The shapes of which something may stand in any field."""
        names = chain(episode.tools, episode.skills, episode.tags)
        meta = json.dumps(dict(episode.meta), ensure_ascii=False) if episode.meta else ""
        texts = (episode.situation, episode.outcome, episode.run_id or "", *names, meta)
        return plausible("\n".join(texts), personal=self.personal)

    def _text(self, text: str, counts: Counter[str], among: Sequence[Shape] | None) -> str:
        text, found = masked(text, personal=self.personal, among=among)
        counts.update(found)
        for value in scanned(text) if self.scan else ():
            if value in text and not value.startswith("["):
                counts["secret"] += text.count(value)
                text = text.replace(value, _MARK)
        return text

    def _json(self, value: Any, counts: Counter[str], among: Sequence[Shape], name: str = "") -> Any:
        """The same in every text of a value, names too; what stands under a name that tells is judged by that."""
        if isinstance(value, Mapping):
            named = next((value[key] for key in ("name", "key") if isinstance(value.get(key), str)), name)
            clean: dict[str, Any] = {}
            for key, part in value.items():
                under = named if key == "value" and not is_telling(key) else key
                _put(clean, self._text(key, counts, among), self._json(part, counts, among, under))
            return clean
        if isinstance(value, list | tuple):
            return [self._json(part, counts, among, name) for part in value]
        if (
            isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and name
            and is_secret_of(name, str(value))
        ):
            counts["secret"] += 1
            return _MARK
        return self._text(value, counts, among) if isinstance(value, str) else value


MASKING = Masking()
"""Secrets are masked, personal values are not."""


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    """Under a name of its own: two names of which only a secret was different are two still."""
    name, number = key, 1
    while name in into:
        number += 1
        name = f"{key} ({number})"
    into[name] = value


def _is_count(value: Any) -> bool:
    return isinstance(value, Mapping) and all(type(number) is int and number > 0 for number in value.values())
