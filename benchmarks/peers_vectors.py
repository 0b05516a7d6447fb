"""Stores of vectors, used as their documentation says: open, add, ask. Imports are theirs and are counted as theirs."""

from collections.abc import Sequence
from typing import Any

from peers_store import WIDTH, Encode, Row, Store, Vectors, plain


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
            "transform": "peers_vectors.encode_for_txtai",
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
