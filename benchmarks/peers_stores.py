"""Each peer of `peers.py`, used as its documentation says: open, add, ask. Imports are theirs and are counted as theirs.

A store is made with a folder of its own and `encode`, which gives unit vectors for texts. `add` takes rows and leaves them
stored; what a peer has to build once for all of them is built in `finish`. Where a peer has no such question, there is no
such method. Answers are the numbers of rows, best first. Nothing here measures.
"""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

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


class Chroma(Store):
    """A persistent client with a collection in cosine space; vectors are handed over, in batches as large as it takes."""

    package = "chromadb"
    needs = ("chromadb",)

    def open(self) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self.client = chromadb.PersistentClient(path=str(self.folder), settings=settings)
        self.rows = self.client.get_or_create_collection(
            "rows", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, rows: Sequence[Row]) -> None:
        step = self.client.get_max_batch_size()
        for part in (rows[at : at + step] for at in range(0, len(rows), step)):
            texts = [row.text for row in part]
            self.rows.add(
                ids=[str(row.number) for row in part], documents=texts, embeddings=self.encode(texts),
                metadatas=[{"area": row.area} for row in part],
            )  # fmt: skip

    def _ask(self, text: str, k: int, where: dict[str, Any] | None) -> list[int]:
        found = self.rows.query(query_embeddings=self.encode([text]), n_results=k, where=where)
        return [int(id) for id in found["ids"][0]]

    def vector(self, text: str, k: int) -> list[int]:
        return self._ask(text, k, None)

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        return self._ask(text, k, {"area": area})


class Lance(Store):
    """A table filled from Arrow, searched without an index as its documentation has it up to 100,000 rows, and its full text."""

    package = "lancedb"
    needs = ("lancedb",)

    def open(self) -> None:
        import lancedb
        import pyarrow as pa

        self.pa = pa
        kinds = (
            ("row", pa.int64()),
            ("text", pa.string()),
            ("area", pa.int32()),
            ("vector", pa.list_(pa.float32(), WIDTH)),
        )
        self.schema = pa.schema([pa.field(name, kind) for name, kind in kinds])
        self.table = lancedb.connect(self.folder).create_table("rows", schema=self.schema, exist_ok=True)

    def add(self, rows: Sequence[Row]) -> None:
        vectors = self.encode([row.text for row in rows]).ravel()
        columns = [[row.number for row in rows], [row.text for row in rows], [row.area for row in rows]]
        fixed = self.pa.FixedSizeListArray.from_arrays(self.pa.array(vectors), WIDTH)
        self.table.add(self.pa.table([*columns, fixed], schema=self.schema))

    def finish(self) -> None:
        from lancedb.index import FTS

        self.table.create_index("text", config=FTS())
        if self.table.count_rows() > 100_000:
            from lancedb.index import IvfPq

            self.table.create_index("vector", config=IvfPq(distance_type="cosine"))

    def _rows(self, search: Any, k: int) -> list[int]:
        return [row["row"] for row in search.limit(k).select(["row"]).to_list()]

    def vector(self, text: str, k: int) -> list[int]:
        return self._rows(self.table.search(self.encode([text])[0]).distance_type("cosine"), k)

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        search = self.table.search(self.encode([text])[0]).distance_type("cosine")
        return self._rows(search.where(f"area = {area}", prefilter=True), k)

    def words(self, text: str, k: int) -> list[int]:
        return self._rows(self.table.search(plain(text), query_type="fts"), k)

    def both(self, text: str, k: int) -> list[int]:
        search = self.table.search(query_type="hybrid").vector(self.encode([text])[0]).text(plain(text))
        return self._rows(search, k)


class SqliteVec(Store):
    """A vec0 table with a metadata column, beside a table of texts, in a WAL file."""

    package = "sqlite-vec"
    needs = ("sqlite_vec", "pysqlite3")

    def open(self) -> None:
        import pysqlite3
        import sqlite_vec

        self.db = pysqlite3.connect(str(self.folder / "store.db"))
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, text TEXT)")
        vector = f"vector float[{WIDTH}] distance_metric=cosine"
        self.db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS rows USING vec0(id INTEGER PRIMARY KEY, {vector}, area INTEGER)"
        )

    def add(self, rows: Sequence[Row]) -> None:
        vectors = self.encode([row.text for row in rows])
        with self.db:
            self.db.executemany("INSERT INTO texts VALUES (?, ?)", [row[:2] for row in rows])
            many = [(row.number, vector, row.area) for row, vector in zip(rows, vectors, strict=True)]
            self.db.executemany("INSERT INTO rows (id, vector, area) VALUES (?, ?, ?)", many)

    def _ask(self, text: str, k: int, where: str = "", *more: int) -> list[int]:
        sql = f"SELECT id FROM rows WHERE vector MATCH ? AND k = ? {where} ORDER BY distance"
        return [id for (id,) in self.db.execute(sql, (self.encode([text])[0], k, *more))]

    def vector(self, text: str, k: int) -> list[int]:
        return self._ask(text, k)

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        return self._ask(text, k, "AND area = ?", area)

    def close(self) -> None:
        self.db.close()


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


def encode_for_txtai(texts: Sequence[str]) -> Vectors:
    """What txtai is told to call, by its name, since it keeps its settings in a file."""
    return Txtai.encoder(texts)


class Txtai(Store):
    """Embeddings with content, saved after all rows have come; a filter is SQL."""

    package = "txtai"
    needs = ("txtai", "faiss")
    encoder: Encode
    hybrid = False

    def open(self) -> None:
        from txtai import Embeddings

        Txtai.encoder = staticmethod(self.encode)
        how = {
            "method": "external",
            "transform": "peers_stores.encode_for_txtai",
            "content": True,
            "hybrid": self.hybrid,
        }
        self.rows, self.path = Embeddings(how), self.folder / "index"
        if self.path.exists():
            self.rows.load(str(self.path))

    def add(self, rows: Sequence[Row]) -> None:
        self.rows.upsert([(row.number, {"text": row.text, "area": row.area}) for row in rows])

    def finish(self) -> None:
        self.rows.save(str(self.path))

    def close(self) -> None:
        self.rows.save(str(self.path))
        self.rows.close()

    def vector(self, text: str, k: int) -> list[int]:
        return [int(match["id"]) for match in self.rows.search(text, k)]

    def filtered(self, text: str, k: int, area: int) -> list[int]:
        sql = f"SELECT id FROM txtai WHERE similar(:text) AND area = {area} LIMIT {k}"
        return [int(match["id"]) for match in self.rows.search(sql, k, parameters={"text": text})]


class TxtaiHybrid(Txtai):
    """The same with its sparse index beside the dense one; its answer is their sum."""

    hybrid = True
    vector = None  # type: ignore[assignment]
    filtered = None  # type: ignore[assignment]

    def both(self, text: str, k: int) -> list[int]:
        return [int(match["id"]) for match in self.rows.search(text, k)]


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


class Bm25s(Store):
    """Tokenise, index, save, and open memory-mapped; there is no adding to it."""

    package = "bm25s"
    needs = ("bm25s", "Stemmer")
    has_vectors = False

    def open(self) -> None:
        import bm25s
        import Stemmer

        self.bm25s, self.stemmer, self.path = bm25s, Stemmer.Stemmer("english"), self.folder / "index"
        self.index = bm25s.BM25.load(self.path, mmap=True) if self.path.exists() else None

    def add(self, rows: Sequence[Row]) -> None:
        if self.index is not None:
            raise NotImplementedError
        self.index = self.bm25s.BM25(k1=1.2, b=0.75)
        self.index.index(self._cut([row.text for row in rows]), show_progress=False)

    def _cut(self, texts: Sequence[str]) -> Any:
        return self.bm25s.tokenize(list(texts), stopwords="en", stemmer=self.stemmer, show_progress=False)

    def finish(self) -> None:
        self.index.save(self.path)

    def words(self, text: str, k: int) -> list[int]:
        return self.index.retrieve(self._cut([text]), k=k, show_progress=False).documents[0].tolist()


class Tantivy(Store):
    """An index with English stems, one commit for all rows that come together."""

    package = "tantivy"
    needs = ("tantivy",)
    has_vectors = False

    def open(self) -> None:
        import tantivy

        self.tantivy, build = tantivy, tantivy.SchemaBuilder()
        build.add_integer_field("row", stored=True, indexed=True)
        build.add_text_field("text", stored=True, tokenizer_name="en_stem")
        self.index = tantivy.Index(build.build(), path=str(self.folder))
        self.writer = None

    def add(self, rows: Sequence[Row]) -> None:
        self.writer = self.writer or self.index.writer()
        for row in rows:
            self.writer.add_document(self.tantivy.Document(row=row.number, text=row.text))
        self.writer.commit()

    def words(self, text: str, k: int) -> list[int]:
        searcher = self.index.searcher()
        hits = searcher.search(self.index.parse_query(plain(text), ["text"]), k).hits
        return [searcher.doc(at)["row"][0] for _, at in hits]

    def close(self) -> None:
        if self.writer:
            self.writer.wait_merging_threads()


def plain(text: str) -> str:
    """Words only: some have a syntax for questions."""
    return " ".join(re.findall(r"\w+", text)).lower()


PEERS: dict[str, type[Store]] = {
    "hardwon": Hardwon, "numpy": Numpy, "chromadb": Chroma, "lancedb": Lance, "sqlite-vec": SqliteVec,
    "langgraph sqlite": LangGraph, "mem0 qdrant": Mem0, "mem0 faiss": Mem0Faiss, "txtai": Txtai,
    "txtai hybrid": TxtaiHybrid, "agentrecall": AgentRecall, "agentrecall semantic": AgentRecallSemantic,
    "bm25s": Bm25s, "tantivy": Tantivy,
}  # fmt: skip
