"""How fast the nearest vectors are found in large stores, and how many of them: ratios to the exact product, in one run.

Vectors are mixtures of real ones: sentences out of the retrieval sets in `../shared/data` (made words where they are absent)
are embedded with the packaged model, and each vector of the store is the sum of two of them, the second weighing half, with a
tenth of noise, at unit length. Questions are sentences that are in no mixture. So that a million can be filled at all, rows
are written straight into the tables; everything after that goes through the library.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from experience import Filter, SqliteStore
from experience.backends import codes, spaces
from experience.backends.embedding import EmbeddingBackend
from experience.backends.encoders import open_encoder

Vectors = NDArray[np.float32]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
WIDTH = 384
QUESTIONS = 100
SHARES = {2: "50 %", 10: "10 %", 100: "1 %", 1000: "0.1 %"}
BATCH = 10_000


class Ready:
    """An encoder whose vectors lie ready: a text is the number of its vector."""

    name, width = "ready", WIDTH

    def __init__(self, questions: Vectors) -> None:
        self.questions = questions

    def encode(self, texts: list[str]) -> Vectors:
        """The vectors of questions by their numbers."""
        return self.questions[[int(text) for text in texts]]


def sentences(count: int) -> list[str]:
    """Distinct sentences, in an order that is always the same."""
    if not DATA.exists():
        rng = np.random.default_rng(5)
        words = ["".join(rng.choice(list("aeioulnrst"), 6)) for _ in range(5000)]
        return [" ".join(rng.choice(words, 10)) for _ in range(count)]
    found = [json.loads(line)["text"] for line in (DATA / "metatool-rest" / "queries.jsonl").open(encoding="utf-8")]
    for line in (DATA / "scifact-train" / "corpus.jsonl").open(encoding="utf-8"):
        found += re.split(r"(?<=[.!?])\s+", json.loads(line)["text"])
    distinct = list(dict.fromkeys(text for text in found if len(text) > 20))
    return [distinct[at] for at in np.random.default_rng(3).permutation(len(distinct))[:count]]


def embedded(count: int, cached: Path | None) -> Vectors:
    """Real unit vectors, from a file when there is one."""
    if cached and cached.exists():
        return np.asarray(np.load(cached)[:count], dtype=np.float32)
    vectors = open_encoder(None).encode(sentences(count))
    if cached:
        np.save(cached, vectors)
    return vectors


def mixtures(real: Vectors, size: int) -> Iterator[Vectors]:
    """Batches of made vectors, the same ones each time."""
    rng = np.random.default_rng(1)
    for at in range(0, size, BATCH):
        count = min(BATCH, size - at)
        first, second = rng.integers(0, len(real), (2, count))
        made = (
            real[first] + 0.5 * real[second] + 0.1 / WIDTH**0.5 * rng.standard_normal((count, WIDTH), dtype=np.float32)
        )
        yield made / np.linalg.norm(made, axis=1, keepdims=True)


def fill(store: SqliteStore, real: Vectors, size: int) -> None:
    """Episodes with a tag for each share, and their vectors."""
    row = "INSERT INTO episodes (namespace, uid, situation, outcome, tools, skills, tags, meta, digest, recorded_at) VALUES ('default', ?, ?, '', '[]', '[]', ?, '{}', '', ?)"
    number = 0
    with store.write() as db:
        db.execute("INSERT INTO spaces (namespace, encoder, width) VALUES ('default', 'ready', ?)", (WIDTH,))
        for vectors in mixtures(real, size):
            numbers = range(number + 1, number + len(vectors) + 1)
            tags = [[name for share, name in SHARES.items() if at % share == 0] for at in numbers]
            db.conn.executemany(
                row,
                [
                    (str(at), f"situation {at}", json.dumps(names), "2026-01-01T00:00:00+00:00")
                    for at, names in zip(numbers, tags, strict=True)
                ],
            )
            named = [(name, at) for at, names in zip(numbers, tags, strict=True) for name in names]
            db.conn.executemany("INSERT INTO names VALUES ('default', 'tags', ?, ?)", named)
            db.conn.executemany(
                "INSERT INTO vectors (space, episode_id, vector) VALUES (1, ?, ?)",
                zip(numbers, (vector.tobytes() for vector in vectors), strict=True),
            )
            number += len(vectors)


def milliseconds(call: Callable[[int], object], times: int) -> float:
    """The median processor time of a call, by the number of the question; the first is not counted."""
    taken = []
    for at in range(times + 1):
        start = time.process_time()
        call(at % QUESTIONS)
        taken.append(time.process_time() - start)
    return float(np.median(taken[1:])) * 1000


def measured(size: int, real: Vectors, questions: Vectors, folder: Path) -> None:
    """Everything at one size, printed as it comes."""
    path = folder / f"{size}.db"
    with SqliteStore(path) as store:
        fill(store, real, size)
        start = time.process_time()
        backend = EmbeddingBackend(store, Ready(questions))
        backend.refresh()
        click.echo(
            f"{size:,} vectors\n  codes made in {time.process_time() - start:.1f} s of CPU ({codes.count(store, spaces.Space(1, WIDTH)):,})"
        )
        everything = np.ascontiguousarray(backend.vectors()[1].T)
        exact = milliseconds(lambda at: _ten(questions[at] @ everything), 20)
        ours = milliseconds(lambda at: backend.recall(str(at), 10), 60)
        click.echo(
            f"  exact product and the best ten {exact:.2f} ms; recall {ours:.2f} ms: {exact / ours:.1f} times faster"
        )
        click.echo(f"  recall@10 {agreement(backend, questions, everything, 1):.4f}")
        for share, name in SHARES.items():
            where = Filter(tags=(name,))
            taken = milliseconds(lambda at, where=where: backend.recall(str(at), 10, where), 20)
            uncached = milliseconds(
                lambda at, where=where: (
                    store.set_setting("x", str(time.perf_counter())),
                    backend.recall(str(at), 10, where),
                ),
                10,
            )
            click.echo(
                f"  filter that passes {name:>5}: {taken:.2f} ms, {uncached:.2f} after each change of the file; recall@10 {agreement(backend, questions, everything, share):.4f}"
            )
        store.compact()
    click.echo(f"  {first_recall(path, questions)}")
    click.echo(f"  disk {path.stat().st_size / size:.0f} bytes an episode, of which {4 * WIDTH} are the vector itself")


def agreement(backend: EmbeddingBackend, questions: Vectors, everything: Vectors, share: int) -> float:
    """The share of the ten nearest that are found."""
    same = 0
    where = Filter(tags=(SHARES[share],)) if share > 1 else Filter()
    for at, question in enumerate(questions):
        scores = question @ everything
        true = _ten(scores[share - 1 :: share]) * share + share
        same += len(set(true.tolist()) & {hit.id for hit in backend.recall(str(at), 10, where)})
    return same / len(questions) / 10


def _ten(scores: Vectors) -> NDArray[np.intp]:
    near = np.argpartition(-scores, min(10, len(scores) - 1))[:10]
    return near[np.argsort(-scores[near])]


FIRST = """
import sys, time
import numpy as np
sys.path.insert(0, {here!r})
from vectors import Ready
from experience import SqliteStore
from experience.backends.embedding import EmbeddingBackend
start = time.process_time(); wall = time.perf_counter()
with SqliteStore({path!r}, create=False) as store:
    backend = EmbeddingBackend(store, Ready(np.load({questions!r})))
    backend.recall("0", 10)
    taken = time.process_time() - start, time.perf_counter() - wall
[peak] = [int(line.split()[1]) / 1000 for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(f"opening and the first recall {{taken[0]:.2f}} s of CPU, {{taken[1]:.2f}} s; the process's peak {{peak:.0f}} MB")
"""


def first_recall(path: Path, questions: Vectors) -> str:
    """What a new process needs to open the store and to answer once."""
    saved = path.with_suffix(".npy")
    np.save(saved, questions)
    script = FIRST.format(here=str(Path(__file__).parent), path=str(path), questions=str(saved))
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


@click.command()
@click.option("--sizes", default="10000,100000", show_default=True, help="Vectors in the store, by commas.")
@click.option("--real", default=4000, show_default=True, help="Real sentences that are embedded and mixed.")
@click.option("--cache", type=click.Path(path_type=Path), default=None, help="A file that keeps the real vectors.")
def main(sizes: str, real: int, cache: Path | None) -> None:
    """Measure; one thread."""
    vectors = embedded(real + QUESTIONS, cache)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for size in sizes.split(","):
            measured(int(size), vectors[QUESTIONS:], vectors[:QUESTIONS], Path(folder))


if __name__ == "__main__":
    main()
