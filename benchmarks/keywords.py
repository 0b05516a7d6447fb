"""Recall by words next to SQLite's FTS5 over the same documents: time and room.

    python benchmarks/keywords.py --sizes 10000,100000

Documents are real sentences put together at random, one as the situation, two as the outcome, where `../shared/data` has
them, and else made-up ones. A question is a sentence of eight words. FTS5 is asked in three ways, each for the best ten by
bm25: all words of the question joined by OR, stop words too; all but stop words, which is what we answer; and the rarest up
to 5,000 rows, as this project once did. Scores are not compared: FTS5 takes common words for worth nothing and counts stop words into a text's length, and
we do neither. Times are of the processor, ours and theirs in turn, the best of some rounds for
each question and then the mean over questions.
"""

import json
import random
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, islice
from pathlib import Path
from time import process_time

import click

from experience import postings
from experience.backends.keyword import KeywordBackend
from experience.store import SqliteStore
from experience.tokens import query_terms, tokens
from experience.wordlists import Words

CHECKOUT = Path(__file__).resolve().parents[1]
SEED, K, ROUNDS, TOGETHER, ALONE = 3, 10, 3, 5000, 300
MOST_POSTINGS, FEWEST_TERMS = 5000, 3  # of the FTS5 that was pruned
TABLE = (
    """CREATE VIRTUAL TABLE terms USING fts5(situation, outcome, names, tokenize = "ascii tokenchars '-._/\\:@~+#='")"""
)
EPISODE = """
    INSERT INTO episodes (id, namespace, uid, situation, outcome, tools, skills, tags, meta, digest, recorded_at)
    VALUES (?, 'default', ?, '', '', '[]', '[]', '[]', '{}', '', '2026-01-01T00:00:00.000000Z')
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured, of FTS5 and of ours; `ratio` says how many times better ours is."""

    name: str
    unit: str
    theirs: float | None
    ours: float | None
    ratio: float | None


def sentences(data: Path) -> list[str]:
    """Every distinct sentence in the texts of the real data, or made ones."""
    found: dict[str, None] = {}
    for path in sorted([*data.glob("episodes/*.jsonl"), *data.glob("retrieval/*/*.jsonl")]):
        with path.open(encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                for key in ("text", "situation", "outcome"):
                    if isinstance(row, dict) and isinstance(row.get(key), str):
                        parts = re.split(r"(?<=[.?!])\s+", row[key])
                        found.update(dict.fromkeys(part for part in parts if 4 <= len(part.split()) <= 60))
    return list(found) or list(made())


def made() -> Iterator[str]:
    """Sentences of made-up words that follow Zipf's law, stop words first."""
    draw = random.Random(SEED)
    stops = "the of and to a in is for it that on with as be are this from at by not have was".split()
    words = [*stops, *("".join(draw.choices("bdfgklmnprst", k=3)) + draw.choice("aeiou") for _ in range(30_000))]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for _ in range(5_000):
        yield " ".join(draw.choices(words, cum_weights=weights, k=draw.choice((8, 12, 20, 26)))) + "."


def documents(cut: Sequence[str], count: int) -> Iterator[tuple[int, *Words]]:
    """Rows of id and words."""
    draw = random.Random(SEED)
    for id in range(1, count + 1):
        yield id, draw.choice(cut), f"{draw.choice(cut)} {draw.choice(cut)}", f"deploy tag{id % 10}"


def batched(rows: Iterator[tuple[int, *Words]]) -> Iterator[list[tuple[int, *Words]]]:
    """Rows for one transaction each."""
    while batch := list(islice(rows, TOGETHER)):
        yield batch


def timed(action: Callable[[], object]) -> float:
    """Seconds of the processor for one call."""
    start = process_time()
    action()
    return process_time() - start


class Theirs:
    """A file with the FTS5 table and nothing else."""

    def __init__(self, path: Path, rows: Iterator[tuple[int, *Words]]) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("PRAGMA secure_delete = ON")
        self.db.execute(TABLE)
        self.filling = sum(timed(lambda batch=batch: self.add(batch)) for batch in batched(rows))
        self.db.execute("CREATE VIRTUAL TABLE temp.document_frequency USING fts5vocab(main, terms, row)")

    def add(self, rows: Sequence[tuple[int, *Words]]) -> None:
        """One transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("INSERT INTO terms (rowid, situation, outcome, names) VALUES (?, ?, ?, ?)", rows)
        self.db.execute("COMMIT")

    def remove(self, id: int) -> None:
        """One transaction."""
        self.db.execute("DELETE FROM terms WHERE rowid = ?", (id,))

    def ask(self, words: Sequence[str], k: int = K) -> list[tuple[int, float]]:
        """The best k and their badness."""
        sql = "SELECT rowid, bm25(terms, 1.0, 0.5, 0.5) AS b FROM terms WHERE terms MATCH ? ORDER BY b, rowid DESC LIMIT ?"
        return self.db.execute(sql, (" OR ".join(f'"{word}"' for word in words), k)).fetchall()

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many rows each word stands."""
        marks = ", ".join("?" * len(words))
        return dict(self.db.execute(f"SELECT term, doc FROM temp.document_frequency WHERE term IN ({marks})", words))

    def ask_pruned(self, words: Sequence[str]) -> list[tuple[int, float]]:
        """The best by the rarest words."""
        counts, chosen, rows = self.frequencies(words), [], 0
        for word in sorted(words, key=lambda word: counts.get(word, 0)):
            rows += counts.get(word, 0)
            if rows > MOST_POSTINGS and len(chosen) >= FEWEST_TERMS:
                break
            chosen.append(word)
        return self.ask(chosen)

    def room(self) -> int:
        """Bytes of the file."""
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.path.stat().st_size


class Ours:
    """A store whose episodes have nothing but their words."""

    def __init__(self, path: Path, rows: Iterator[tuple[int, *Words]], count: int) -> None:
        self.store = SqliteStore(path)
        with self.store.write() as db:
            db.conn.executemany(EPISODE, ((id, str(id)) for id in range(1, count + 1)))
        self.without_words = self.room()
        self.filling = sum(timed(lambda batch=batch: self.add(batch)) for batch in batched(rows))
        self.backend = KeywordBackend(self.store)
        self.filling += timed(self.backend.refresh)

    def add(self, rows: Sequence[tuple[int, *Words]]) -> None:
        """One transaction."""
        with self.store.write() as db:
            postings.add(db, "default", [(id, (situation, outcome, names)) for id, situation, outcome, names in rows])

    def remove(self, id: int) -> None:
        """One transaction."""
        with self.store.write() as db:
            postings.remove(db, [id])

    def room(self) -> int:
        """Bytes of the file in use."""
        self.store.read("PRAGMA wal_checkpoint(TRUNCATE)")
        [(pages, free, size)] = self.store.read(
            "SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
        )
        return int((pages - free) * size)


def compared(name: str, unit: str, theirs: float, ours: float, *, more: bool = False) -> Figure:
    """A figure where less is better, or with `more` more."""
    return Figure(name, unit, theirs, ours, ours / theirs if more else theirs / ours)


def asking(theirs: Theirs, ours: Ours, questions: Sequence[str]) -> Iterator[Figure]:
    """Time to answer, in milliseconds."""
    ways: list[tuple[str, Callable[[str], object]]] = [
        ("FTS5, all words", lambda asked: theirs.ask(list(dict.fromkeys(tokens(asked))))),
        ("FTS5, all but stop words", lambda asked: theirs.ask(query_terms(asked))),
        ("FTS5, rarest words only", lambda asked: theirs.ask_pruned(query_terms(asked))),
        ("ours", lambda asked: ours.backend.recall(asked, K)),
    ]
    best = {name: [float("inf")] * len(questions) for name, _ in ways}
    for _ in range(ROUNDS):
        for at, asked in enumerate(questions):
            for name, way in ways:
                best[name][at] = min(best[name][at], timed(lambda way=way, asked=asked: way(asked)))
    means = {name: 1000 * sum(times) / len(times) for name, times in best.items()}
    mine = means.pop("ours")
    for name, mean in means.items():
        yield compared(f"a question of 8 words ({name})", "ms", mean, mine)


def measure(count: int, texts: Sequence[str], questions: Sequence[str], folder: Path) -> Iterator[Figure]:
    """Everything at one size."""
    cut = [" ".join(tokens(text)) for text in texts]
    theirs, ours = Theirs(folder / "fts.db", documents(cut, count)), Ours(folder / "o.db", documents(cut, count), count)
    yield compared("add many", "documents/s", count / theirs.filling, count / ours.filling, more=True)
    yield compared("room", "bytes/document", theirs.room() / count, (ours.room() - ours.without_words) / count)
    yield from asking(theirs, ours, questions)
    ours.store.close()
    again = SqliteStore(folder / "o.db")
    first = timed(lambda: KeywordBackend(again).recall(questions[0], K))
    yield Figure("first question after opening", "ms", None, 1000 * first, None)
    ours.store = again
    rows = list(islice(documents(cut, count), ALONE))
    for name, way in (("remove", lambda one, row: one.remove(row[0])), ("add", lambda one, row: one.add([row]))):
        spent = [sum(timed(lambda one=one, way=way, row=row: way(one, row)) for row in rows) for one in (theirs, ours)]
        yield compared(f"{name} one, a commit of its own", "ms", *(1000 * seconds / ALONE for seconds in spent))

    def clear() -> None:
        with again.write() as db:
            postings.clear(db, "default")

    yield Figure("remove all", "ms", None, 1000 * timed(clear), None)
    again.close()


def table(count: int, figures: Sequence[Figure]) -> str:
    """The figures in Markdown."""
    lines = [f"| {count:,} documents | | FTS5 | ours | times better |", "|---|---|---:|---:|---:|"]
    for figure in figures:
        values = ["" if value is None else f"{value:,.3g}" for value in (figure.theirs, figure.ours, figure.ratio)]
        lines.append(f"| {figure.name} | {figure.unit} | {' | '.join(values)} |")
    return "\n".join(lines)


@click.command()
@click.option("--sizes", default="10000,100000", show_default=True, help="Numbers of documents, with commas.")
@click.option("--questions", default=40, type=click.IntRange(min=1), help="Questions of each kind.")
@click.option("--data", default=CHECKOUT.parent / "shared" / "data", type=Path, help="Where the real data lies.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def main(sizes: str, questions: int, data: Path, as_json: bool) -> None:
    """Measure recall by words next to FTS5."""
    texts = sentences(data)
    random.Random(SEED).shuffle(texts)
    asked = [text for text in texts if len(text.split()) == 8][:questions]
    if not as_json:
        print(f"{len(texts):,} sentences; Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")
    found = {}
    for size in map(int, sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found[size] = list(measure(size, texts, asked, Path(folder)))
        if not as_json:
            print("\n" + table(size, found[size]), flush=True)
    if as_json:
        print(json.dumps({size: [asdict(figure) for figure in figures] for size, figures in found.items()}, indent=2))


if __name__ == "__main__":
    main()
