"""Recall by words: BM25 over the store's own FTS5 table.

The store writes that table inside the record's transaction, so there is never anything to catch up with. What is asked
is cut by the same tokeniser as what was stored, every term is quoted and the terms are joined by OR: no text is ever
FTS5 syntax, and one word that nobody used does not empty the answer. Source of the ranking: Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond" (2009), as SQLite computes it (k1 1.2, b 0.75).
"""

from collections.abc import Sequence

from experience.protocols import Filter, Hit, Progress, check_k
from experience.store import SqliteStore
from experience.tokens import query_terms

_MOST_TERMS = 1000
_SEARCH = """
    SELECT rowid, bm25(terms) AS badness FROM terms
    WHERE terms MATCH ? AND EXISTS ({selection} AND e.id = terms.rowid)
    ORDER BY badness, rowid DESC LIMIT ?
"""  # EXISTS looks at the rows that match; with rowid IN (...) SQLite first lists, or looks up in the index, all that pass.


class KeywordBackend:
    """BM25 over situation, outcome and names (tools, skills, tags)."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits that share a word with the text, best first, equal scores newest first."""
        check_k(k)
        terms = _spread(query_terms(situation))
        if not terms or k == 0:
            return []
        selection, parameters = self._store.selection(where, indexed=True)
        match = " OR ".join(f'"{term}"' for term in terms)
        rows = self._store.read(_SEARCH.format(selection=selection), (match, *parameters, k))
        # FTS5 counts badness: negative, the smaller the better.
        return [Hit(id, -badness, f"keyword {rank}") for rank, (id, badness) in enumerate(rows, 1)]

    def pending(self) -> int:
        """Always 0: the index follows the record in its own transaction."""
        return 0

    def refresh(self, progress: Progress | None = None) -> int:  # noqa: ARG002 (the protocol has it)
        """Nothing to do, for the same reason."""
        return 0


def _spread(terms: Sequence[str]) -> Sequence[str]:
    """All terms, or of very many so many of them, spread over the question: a pasted log must not take seconds."""
    if len(terms) <= _MOST_TERMS:
        return terms
    return [terms[at * len(terms) // _MOST_TERMS] for at in range(_MOST_TERMS)]
