"""Recall by words: BM25 over the store's own FTS5 table.

The store writes that table inside the record's transaction, so there is never anything to catch up with. What is asked
is cut by the same tokeniser as what was stored, every term is quoted and the terms are joined by OR: no text is ever
FTS5 syntax, and one word that nobody used does not empty the answer. Source of the ranking: Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond" (2009), as SQLite computes it (k1 1.2, b 0.75), words of the outcome
and names counting half. A score is the share of what the question says, by how rare its words are, so scores of
different questions can be compared.
"""

from collections.abc import Mapping, Sequence
from math import log

from experience.protocols import Filter, Hit, Progress, check_k
from experience.store import SqliteStore
from experience.tokens import query_terms

_MOST_TERMS = 1000
_MOST_POSTINGS = 5_000  # rows that the words of a question may stand in altogether; the rarest words go first
_FEWEST_TERMS = 3  # words that are looked for however common they are
_LEAST_SAID = 3.0  # what a question says at least: one of common words only says next to nothing, and is not all said
_LEAST_WEIGHT = 1e-6  # of a word that stands in half of all rows or more, as FTS5 has it
_SEARCH = """
    SELECT rowid, bm25(terms, 1.0, 0.5, 0.5) AS badness FROM terms
    WHERE terms MATCH ? AND EXISTS ({selection} AND e.id = terms.rowid)
    ORDER BY badness, rowid DESC LIMIT ?
"""  # EXISTS looks at the rows that match; with rowid IN (...) SQLite first lists, or looks up in the index, all that pass.
_FREQUENCY = "SELECT term, doc FROM temp.document_frequency WHERE term IN ({marks})"


class KeywordBackend:
    """BM25 over situation, outcome and names (tools, skills, tags)."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits that share a word with the text, best first, equal scores newest first.

        The score is BM25 over what a text of average length would get that says every word of the question once: 0 is
        nothing in common, about 1 is all of it. A question of words that stand everywhere scores about 0.
        """
        check_k(k)
        terms = _spread(query_terms(situation))
        if not terms or k == 0:
            return []
        with self._store.alone():
            weights = self._weights(terms)
            telling = _telling(weights)
            found = self._search(telling, k, where)
            if len(found) < k and len(telling) < len(terms):
                found = self._search(list(weights), k, where)  # common words may find what rare ones do not
        most = max(sum(weight for weight, _ in weights.values()), _LEAST_SAID)
        # FTS5 counts badness: negative, the smaller the better.
        return [Hit(id, -badness / most, f"keyword {rank}") for rank, (id, badness) in enumerate(found, 1)]

    def pending(self) -> int:
        """Always 0: the index follows the record in its own transaction."""
        return 0

    def refresh(self, progress: Progress | None = None) -> int:  # noqa: ARG002 (the protocol has it)
        """Nothing to do, for the same reason."""
        return 0

    def _search(self, terms: Sequence[str], k: int, where: Filter) -> list[tuple[int, float]]:
        selection, parameters = self._store.selection(where, indexed=True)
        match = " OR ".join(f'"{term}"' for term in terms)
        rows = self._store.read(_SEARCH.format(selection=selection), (match, *parameters, k))
        return [(id, badness) for id, badness in rows]

    def _weights(self, terms: Sequence[str]) -> dict[str, tuple[float, int]]:
        """Each word's inverse document frequency (Robertson and Spärck Jones 1976) and in how many rows it stands."""
        [(total,)] = self._store.read("SELECT coalesce(max(id), 0) FROM terms_docsize")
        counts = dict(self._store.read(_FREQUENCY.format(marks=", ".join("?" * len(terms))), terms))
        rows = {term: min(counts.get(term, 0), total) for term in terms}
        return {
            term: (max(log((total - count + 0.5) / (count + 0.5)), _LEAST_WEIGHT), count)
            for term, count in rows.items()
        }


def _telling(weights: Mapping[str, tuple[float, int]]) -> list[str]:
    """The rarest words, as many as may be walked through: common ones take long and tell little."""
    chosen: list[str] = []
    postings = 0
    for term, (_, count) in sorted(weights.items(), key=lambda item: item[1][1]):
        postings += count
        if postings > _MOST_POSTINGS and len(chosen) >= _FEWEST_TERMS:
            break
        chosen.append(term)
    return chosen


def _spread(terms: Sequence[str]) -> Sequence[str]:
    """All terms, or of very many so many of them, spread over the question: a pasted log must not take seconds."""
    if len(terms) <= _MOST_TERMS:
        return terms
    return [terms[at * len(terms) // _MOST_TERMS] for at in range(_MOST_TERMS)]
