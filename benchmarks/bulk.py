"""How fast many episodes come in, next to what SQLite alone takes for the same texts in the same run.

    python benchmarks/bulk.py --sizes 10000,100000

The baseline is what somebody would write by hand: one table, an FTS5 index over it kept by a trigger (Porter's stemmer
over unicode61), WAL, `executemany` of tuples that are ready, in large transactions. It checks nothing, knows no run again
and keeps no verdicts. The same by sqlite-utils stands beside it. Ours begins with lines of JSON. All ways take the same
episodes by turns, a slice at a time, so that a busy machine hurts each alike; what is given is CPU time of the
process. The episodes are those of `latency.py`.
"""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from time import process_time

import click
import sqlite_utils
from latency import HashEncoder, Writer, machine, sizes_of

from experience import Episode, Memory, SqliteStore
from experience.backends import open_backend
from experience.rows import columns_of
from experience.transfer import export_lines, import_lines

SLICE = 2_500  # episodes before it is another one's turn
BATCH = 1_000  # rows handed to executemany at once
TEXTS = "situation", "outcome", "tools", "skills", "tags"

Row = dict[str, object]
Slice = Sequence[tuple[Episode, Row, bytes, bytes]]
"""Episodes, each also as a row, as a line of JSON, and as a line of our own export."""


@contextmanager
def plain(folder: Path) -> Iterator[Callable[[Slice], object]]:
    """`executemany` beside a trigger, in one transaction a slice, which is faster than one for all."""
    db = sqlite3.connect(folder / "plain.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    columns = list(row_of(Writer().episode(0)))
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    texts, new = ", ".join(TEXTS), ", ".join(f"new.{name}" for name in TEXTS)
    db.execute(f"CREATE TABLE episodes (id INTEGER PRIMARY KEY, {names})")
    db.execute(f"CREATE VIRTUAL TABLE terms USING fts5 ({texts}, content='episodes', content_rowid='id', tokenize='porter unicode61')")  # fmt: skip
    db.execute(f"CREATE TRIGGER follow AFTER INSERT ON episodes BEGIN INSERT INTO terms (rowid, {texts}) VALUES (new.id, {new}); END")  # fmt: skip

    def take(items: Slice) -> None:
        ready = (tuple(row.values()) for _, row, _, _ in items)
        db.execute("BEGIN IMMEDIATE")
        while batch := list(islice(ready, BATCH)):
            db.executemany(f"INSERT INTO episodes ({names}) VALUES ({marks})", batch)
        db.execute("COMMIT")

    yield take
    db.close()


@contextmanager
def utils(folder: Path) -> Iterator[Callable[[Slice], object]]:
    """sqlite-utils with its full-text search switched on."""
    db = sqlite_utils.Database(folder / "utils.db")
    db.enable_wal()
    table = db.table("episodes")
    table.create({"id": int, **dict.fromkeys(row_of(Writer().episode(0)), str)}, pk="id")
    table.enable_fts(TEXTS, create_triggers=True, tokenize="porter")
    yield lambda items: table.insert_all((row for _, row, _, _ in items), batch_size=BATCH)
    db.close()


@contextmanager
def lines(folder: Path) -> Iterator[Callable[[Slice], object]]:
    """Lines from elsewhere."""
    with SqliteStore(folder / "lines.db") as store:
        yield lambda items: import_lines(store, [line for _, _, line, _ in items])


@contextmanager
def export(folder: Path) -> Iterator[Callable[[Slice], object]]:
    """Lines that were exported, with their ids, times and labels."""
    with SqliteStore(folder / "export.db") as store:
        yield lambda items: import_lines(store, [line for _, _, _, line in items])


@contextmanager
def loop(folder: Path) -> Iterator[Callable[[Slice], object]]:
    """`Memory.record` again and again in one transaction a slice."""
    with SqliteStore(folder / "loop.db") as store:
        memory = Memory(store, open_backend("keyword", store, HashEncoder()))

        def take(items: Slice) -> None:
            with store.write():
                for episode, _, _, _ in items:
                    memory.record(episode)

        yield take


LOOP = "record in a loop, one transaction"
WAYS = {
    "executemany and a trigger": plain,
    "sqlite-utils, insert_all and enable_fts": utils,
    "import_lines": lines,
    "import_lines, our own export": export,
    LOOP: loop,
}


def row_of(episode: Episode) -> Row:
    """The columns that our own table has, but for the id."""
    times: Row = {"recorded_at": "2026-11-30T00:00:00.000000Z", "expires_at": None}
    return {"namespace": "default", "uid": f"uid-{episode.run_id}", **columns_of(episode), **times}


def slices(size: int, *, named: bool) -> Iterator[Slice]:
    """The same episodes every time; `named` ones have a run_id."""
    writer = Writer()
    for start in range(0, size, SLICE):
        episodes = [writer.episode(number) for number in range(start, min(start + SLICE, size))]
        rows = [row_of(episode) for episode in episodes]
        if not named:
            episodes = [replace(episode, run_id=None) for episode in episodes]
        read = [json.dumps(episode.to_json()).encode() for episode in episodes]
        with SqliteStore(":memory:") as store:
            import_lines(store, read)
            exported = [line.encode() for line in export_lines(store)]
        yield list(zip(episodes, rows, read, exported, strict=True))


def measure(size: int, names: Sequence[str], *, named: bool) -> dict[str, float]:
    """Episodes a second of CPU time by each of the ways."""
    spent = dict.fromkeys(names, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        opened = {name: WAYS[name](Path(folder)) for name in names}
        takers = {name: way.__enter__() for name, way in opened.items()}
        for items in slices(size, named=named):
            for name, take in takers.items():
                start = process_time()
                take(items)
                spent[name] += process_time() - start
        for name, way in opened.items():
            start = process_time()
            way.__exit__(None, None, None)
            spent[name] += process_time() - start
    return {name: size / seconds for name, seconds in spent.items()}


@click.command()
@click.option("--sizes", default="10000,100000", callback=sizes_of, help="Numbers of episodes, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--loop/--no-loop", "with_loop", default=True, help="Also record one by one, which takes longest.")
def main(sizes: list[int], as_json: bool, with_loop: bool) -> None:
    """Print episodes a second of CPU time, and as a share of what executemany and a trigger do."""
    if not as_json:
        print(", ".join(f"{name} {value}" for name, value in machine().items()))
    names = [name for name in WAYS if with_loop or name != LOOP]
    found = []
    for size, named in product(sizes, (True, False)):
        rates = measure(size, names, named=named)
        found.append({"size": size, "run_id": named, "per_second": rates})
        if not as_json:
            print(
                f"\n{size:,} episodes {'with' if named else 'without'} a run_id\n\n| | a second | ratio |\n|---|---:|---:|"
            )
            for name, rate in rates.items():
                print(f"| {name} | {rate:,.0f} | {rate / rates[next(iter(WAYS))]:.2f} |", flush=True)
    if as_json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
