"""What all peers of `peers.py` have in common, and the words they share.

A store is made with a folder of its own and `encode`, which gives unit vectors for texts. `add` takes rows and leaves them
stored; what a peer has to build once for all of them is built in `finish`. Where a peer has no such question, there is no
such method. Answers are the numbers of rows, best first. Nothing here measures.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
WIDTH = 384


class Row(NamedTuple):
    """What is stored: a number, a text, and one of ten areas, by which a filter passes 10 %."""

    number: int
    text: str
    area: int


class Store:
    """What all have in common. `real` says that `encode` is a model, not a table."""

    package: str  # as pip knows it
    needs: tuple[str, ...] = ()
    batch: int | None = None  # rows that `add` gets at once; None for all, which is the fastest way of those that can
    has_vectors = True

    def __init__(self, folder: Path, encode: Encode, *, real: bool) -> None:
        self.folder, self.encode, self.real = folder, encode, real
        self.open()

    def open(self) -> None:
        """Open what lies in the folder, or begin it."""

    def finish(self) -> None:
        """All rows have come."""

    def close(self) -> None:
        """Leave nothing unwritten."""


def plain(text: str) -> str:
    """Words only: some have a syntax for questions."""
    return " ".join(re.findall(r"\w+", text)).lower()
