"""Our library and plain numpy, as peers of one another: open, add, ask."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers_store import WIDTH, Encode, Row, Store


class Hardwon(Store):
    """Ours: one transaction and a refresh for many, a record and its vector for one."""

    package = "hardwon"
    needs = ("experience",)

    def open(self) -> None:
        from experience.memory import Memory
        from experience.protocols import Filter

        self.filter, encoder = Filter, None if self.real else _Encoder(self.encode)
        path = self.folder / "store.db"
        self.by = {name: Memory.open(path, name, encoder) for name in ("embedding", "keyword", "hybrid")}

    def add(self, rows: Sequence[Row]) -> None:
        from experience.episode import Episode

        memory = self.by["embedding"]
        with memory.store.write():
            for row in rows:
                memory.record(Episode(row.text, "", tags=(f"area-{row.area}",), run_id=str(row.number)))
        memory.refresh()

    def _ask(self, by: str, text: str, k: int, *where: Any) -> list[int]:
        # Nobody else refuses what is foreign, so ours does not either.
        found = self.by[by].recall(text, k, *where, floor=False)
        return [int(match.record.episode.run_id or -1) for match in found]

    def vector(self, text: str, k: int) -> list[int]:
        return self._ask("embedding", text, k)

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        return self._ask("embedding", text, k, self.filter(tags=(f"area-{area}",)))

    def words(self, text: str, k: int) -> list[int]:
        return self._ask("keyword", text, k)

    def both(self, text: str, k: int) -> list[int]:
        return self._ask("hybrid", text, k)

    def close(self) -> None:
        for memory in self.by.values():
            memory.close()


class _Encoder:
    """The table of vectors as an encoder of ours."""

    name, width = "table", WIDTH

    def __init__(self, encode: Encode) -> None:
        self.encode = encode


class Numpy(Store):
    """One matrix and one product: the least that can be done."""

    package = "numpy"

    def open(self) -> None:
        self.path = self.folder / "vectors.npy"
        self.matrix = np.load(self.path) if self.path.exists() else np.empty((0, WIDTH), dtype=np.float32)
        self.numbers = np.arange(len(self.matrix))

    def add(self, rows: Sequence[Row]) -> None:
        """Append and write the file anew: there is no other way into a .npy."""
        self.matrix = np.concatenate([self.matrix, self.encode([row.text for row in rows])])
        np.save(self.path, self.matrix)

    def _best(self, scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        best = np.argpartition(-scores, min(k, len(scores)) - 1)[:k]
        return best[np.argsort(-scores[best])]

    def vector(self, text: str, k: int) -> list[int]:
        return self._best(self.matrix @ self.encode([text])[0], k).tolist()

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        among = np.flatnonzero(self.numbers % 10 == area)
        return among[self._best(self.matrix[among] @ self.encode([text])[0], k)].tolist()
