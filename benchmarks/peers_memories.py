"""Memories for agents, used as their documentation says: open, add, ask. Imports are theirs and are counted as theirs."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from peers_store import WIDTH, Row, Store


class LangGraph(Store):
    """SqliteStore with an index over the text; Python's sqlite3 often loads no extension, so pysqlite3 stands in."""

    package = "langgraph-checkpoint-sqlite"
    needs = ("langgraph.store.sqlite", "sqlite_vec", "pysqlite3")

    def open(self) -> None:
        sys.modules["sqlite3"] = __import__("pysqlite3")
        from langgraph.store.base import PutOp
        from langgraph.store.sqlite import SqliteStore

        self.put, self.left = PutOp, ExitStack()
        # Its documentation says `fields`, its code reads `text_fields`; without it, all of the value is embedded as JSON.
        index = {"dims": WIDTH, "embed": self._embed, "fields": ["text"], "text_fields": ["text"]}
        path = str(self.folder / "store.db")
        self.store = self.left.enter_context(SqliteStore.from_conn_string(path, index=index))
        self.store.setup()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return self.encode(texts).tolist()

    def add(self, rows: Sequence[Row]) -> None:
        puts = [self.put(("rows",), str(row.number), {"text": row.text, "area": row.area}) for row in rows]
        for at in range(0, len(puts), 1000):
            self.store.batch(puts[at : at + 1000])

    def vector(self, text: str, k: int) -> list[int]:
        return [int(item.key) for item in self.store.search(("rows",), query=text, limit=k)]

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        return [int(item.key) for item in self.store.search(("rows",), query=text, filter={"area": area}, limit=k)]

    def close(self) -> None:
        self.left.close()


class Mem0(Store):
    """`infer=False`, so that texts are stored as they are. It has no way to add many at once: each is embedded and written by itself."""

    package = "mem0ai"
    needs = ("mem0", "qdrant_client")
    batch = 50
    where: dict[str, Any] = {"provider": "qdrant", "config": {"on_disk": True}}  # noqa: RUF012

    def open(self) -> None:
        from mem0 import Memory

        config = {"collection_name": "rows", "path": str(self.folder / "vectors"), "embedding_model_dims": WIDTH}
        nobody = {"provider": "openai", "config": {"api_key": "none"}}  # made, never called
        self.memory = Memory.from_config({
            "vector_store": {"provider": self.where["provider"], "config": config | self.where["config"]},
            "llm": nobody, "embedder": nobody, "history_db_path": str(self.folder / "history.db"),
        })  # fmt: skip
        self.memory.embedding_model = self

    def embed(self, text: str, _: str | None = None) -> list[float]:
        """The embedder's place, taken by this."""
        return self.encode([text])[0].tolist()

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            more = {"row": row.number, "area": row.area}
            self.memory.add(row.text, user_id="bench", metadata=more, infer=False)

    def _ask(self, text: str, k: int, more: dict[str, Any]) -> list[int]:
        found = self.memory.search(text, top_k=k, filters={"user_id": "bench", **more}, threshold=0.0)
        return [match["metadata"]["row"] for match in found["results"]]

    def vector(self, text: str, k: int) -> list[int]:
        return self._ask(text, k, {})

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        return self._ask(text, k, {"area": area})


class Mem0Faiss(Mem0):
    """The same over its faiss store, which writes its files anew with every row."""

    needs = ("mem0", "faiss")
    where = {"provider": "faiss", "config": {"distance_strategy": "cosine"}}  # noqa: RUF012


class AgentRecall(Store):
    """Keywords only, which is what it has without further packages."""

    package = "agentrecall-db"
    needs = ("agentrecall",)
    has_vectors = False
    semantic = False

    def open(self) -> None:
        if self.semantic:
            sys.modules["sqlite3"] = __import__("pysqlite3")
        from agentrecall import Memory

        self.memory = Memory(
            self.folder / "store.db", embeddings=self.semantic, embedder=self if self.semantic else None
        )

    dim = WIDTH

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The embedder's place, taken by this."""
        return self.encode(texts).tolist()

    def add(self, rows: Sequence[Row]) -> None:
        self.memory.add_many([
            {"content": row.text, "tags": [f"area-{row.area}"], "metadata": {"row": row.number}} for row in rows
        ])  # fmt: skip

    def _ask(self, text: str, k: int, tags: list[str] | None = None) -> list[int]:
        return [hit.record.metadata["row"] for hit in self.memory.search(text, k=k, tags=tags)]

    def words(self, text: str, k: int) -> list[int]:
        return self._ask(text, k)

    def close(self) -> None:
        self.memory.close()


class AgentRecallSemantic(AgentRecall):
    """Its hybrid, with the embedder that everybody has here; it has no search by vectors alone."""

    needs = ("agentrecall", "sqlite_vec", "pysqlite3")
    batch = 200
    has_vectors = semantic = True
    words = None  # type: ignore[assignment]

    def both(self, text: str, k: int) -> list[int]:
        return self._ask(text, k)
