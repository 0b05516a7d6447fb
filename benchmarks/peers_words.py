"""Indexes of words, used as their documentation says: open, add, ask. Imports are theirs and are counted as theirs."""

from collections.abc import Sequence
from typing import Any

from peers_store import Row, Store, plain


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
