"""Small deterministic stand-ins, for our own tests and for those of whoever builds on this library."""

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from experience.errors import ModelError, shown
from experience.tokens import tokens


class HashEncoder:
    """Texts that share words get similar vectors: each token adds a direction drawn from its checksum.

    No model, no file, the same vectors everywhere. `calls` holds the texts of every call, in order.
    """

    def __init__(self, width: int = 64, name: str = "hash") -> None:
        self.name = f"{name}-{width}"
        self.width = width
        self.calls: list[tuple[str, ...]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector a text, in order: float32 of shape (len(texts), width)."""
        self.calls.append(tuple(texts))
        vectors = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in enumerate(texts):
            for token in tokens(text) or [""]:
                vectors[row] += self._direction(token)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def _direction(self, token: str) -> NDArray[np.float32]:
        seed = zlib.crc32(f"{self.name} {token}".encode())
        return np.random.default_rng(seed).standard_normal(self.width).astype(np.float32)


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        """Go on by so many days, hours, seconds, as timedelta takes them."""
        self.now += timedelta(**parts)


class Replies:
    """A language model that answers what it was given, as JSON or as it is, one reply a call and the last for ever.

    `prompts` holds what it was asked, in order.
    """

    def __init__(self, *replies: Mapping[str, object] | str) -> None:
        self._replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        """The next reply. Raises ModelError when there are none: something asked that should not have."""
        if not self._replies:
            raise ModelError(f"no reply was expected to {shown(prompt)}; give some, or do not ask")
        self.prompts.append(prompt)
        return self._replies[min(len(self.prompts), len(self._replies)) - 1]
