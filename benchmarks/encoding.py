"""How fast texts become vectors, beside `SentenceTransformer.encode` with its defaults, in one run.

    python benchmarks/encoding.py --texts 400 --rounds 3

The ways take turns, so that whatever else the machine does falls on all of them; of each the best round counts. Real texts
are taken where the data is there (`--data`), else made ones. A cold recall is a process of its own over 10,000 episodes, and
what counts is its CPU time, user and system, since the wall clock also waits for others.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time

import click
import numpy as np
from latency import HashEncoder, Writer, machine
from numpy.typing import NDArray

from experience.backends import encoders, open_backend
from experience.backends.encoders import MiniLM, load_model, open_encoder
from experience.backends.minilm import model_folder
from experience.errors import EncoderError, MissingPackage
from experience.memory import Memory
from experience.store import SqliteStore

SEED = 0
QUERY = "Rotate the keys of the payment service and check that no old one is left over"  # 16 words
QUERIES = 60
STORE = 10_000
COLD_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One way to embed the texts: by the wall clock and by CPU time, and its least cosine to the first way."""

    name: str
    texts_per_second: float
    times_as_fast: float
    times_less_cpu: float
    cosine: float


def real_texts(data: Path, count: int) -> list[str]:
    """Sentences, requests and beginnings of abstracts, half, a tenth and the rest; made sentences where they are missing."""
    try:
        sentences = _field(data / "retrieval/metatool-rest/queries.jsonl", "text")
        requests = _field(data / "episodes/tau_airline_gpt4o.jsonl", "situation")
        abstracts = _field(data / "retrieval/scifact-train/corpus.jsonl", "text")
    except FileNotFoundError as error:
        click.echo(f"{error.filename} is not there: the texts are made up", err=True)
        writer = Writer()
        return [writer.sentence(10 + number % 50) for number in range(count)]
    pick = random.Random(SEED)
    tenth = min(count // 10, len(requests))
    short = [" ".join(text.split()[:60]) for text in pick.sample(abstracts, count - count // 2 - tenth)]
    texts = [*pick.sample(sentences, count // 2), *pick.sample(requests, tenth), *short]
    pick.shuffle(texts)
    return texts


def _field(path: Path, name: str) -> list[str]:
    return [json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines()]


def ways() -> dict[str, Callable[[Sequence[str]], NDArray[np.float32]]]:
    """Every way there is on this machine; the first is what the others are compared with."""
    plain, numpy_only = load_model(str(model_folder())), MiniLM()
    numpy_only._try_compiling = False  # noqa: SLF001 (as if the extra were not installed)
    found: dict[str, Callable[[Sequence[str]], NDArray[np.float32]]] = {
        "SentenceTransformer.encode, defaults": lambda texts: plain.encode(list(texts), show_progress_bar=False),
        "MiniLM without an extra (numpy)": numpy_only.encode,
    }
    encoders._MANY = 1  # noqa: SLF001
    for name, label in ((None, "MiniLM with the extra fast"), ("all-MiniLM-L6-v2-bf16", "the same in bfloat16")):
        try:
            encoder = open_encoder(name)
            if not encoder._try_compiling and encoder._compiled is None:  # type: ignore[attr-defined] # noqa: SLF001
                raise MissingPackage("pip install 'hardwon[fast]'")  # noqa: TRY301
        except (MissingPackage, EncoderError) as error:
            click.echo(f"left out: {label}: {error}", err=True)
        else:
            found[label] = encoder.encode
    return found


def bulk(texts: Sequence[str], rounds: int) -> list[Row]:
    """All ways, in turns."""
    all_ways = ways()
    vectors = {name: way(texts[:40]) for name, way in all_ways.items()}  # warms each up
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in all_ways}
    for _ in range(rounds):
        for name, way in all_ways.items():
            wall, cpu = perf_counter(), process_time()
            vectors[name] = way(texts)
            times[name].append((perf_counter() - wall, process_time() - cpu))
    best = {name: [min(column) for column in zip(*each, strict=True)] for name, each in times.items()}
    first = next(iter(all_ways))
    expected = vectors[first] / np.linalg.norm(vectors[first], axis=1, keepdims=True)
    return [
        Row(
            name,
            len(texts) / wall,
            best[first][0] / wall,
            best[first][1] / cpu,
            float((vectors[name] * expected).sum(axis=1).min()) if name != first else 1.0,
        )
        for name, (wall, cpu) in best.items()
    ]


def one_query() -> dict[str, float]:
    """Milliseconds of CPU of one warm query in numpy on one thread: the least and the median."""
    encoder = MiniLM()
    times = []
    for number in range(QUERIES):
        start = process_time()
        encoder.encode([QUERY if number % 2 else f"{QUERY}."])
        times.append(1000 * (process_time() - start))
    return {"least": min(times[10:]), "median": float(np.median(times[10:]))}


def cold() -> dict[str, float]:
    """Seconds of CPU, the least of some rounds: importing sentence-transformers, and a recall by each backend."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cold.db"
        _fill(path)
        recall = [sys.executable, "-m", "experience", "--db", str(path), "--backend"]
        commands = {"import sentence_transformers": [sys.executable, "-c", "import sentence_transformers"]}
        for backend in ("embedding", "hybrid", "keyword"):
            commands[f"experience recall, {backend}"] = [*recall, backend, "recall", QUERY]
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(COLD_ROUNDS):
            for name, command in commands.items():
                least[name] = min(least[name], _cpu_of(command))
    return least


def _fill(path: Path) -> None:
    """Made episodes, with vectors that say they are MiniLM's: what they are makes no difference to the time."""

    class Pretending(HashEncoder):
        name = MiniLM().name

    writer = Writer()
    store = SqliteStore(path)
    with Memory(store, open_backend("hybrid", store, Pretending())) as memory:
        with store.write():
            for number in range(STORE):
                memory.record(writer.episode(number))
        memory.refresh()


def _cpu_of(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env={**os.environ})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@click.command()
@click.option("--texts", default=400, show_default=True, help="How many texts to embed.")
@click.option("--rounds", default=3, show_default=True, help="How often each way gets its turn.")
@click.option(
    "--data", type=click.Path(path_type=Path), default=None, help="Where the real data is.  [default: ../shared/data]"
)
@click.option("--cold/--no-cold", "with_cold", default=True, help="Also start processes.")
@click.option("--json", "as_json", is_flag=True)
def main(texts: int, rounds: int, data: Path | None, with_cold: bool, as_json: bool) -> None:
    """Measure, and print tables."""
    where = data or Path(os.environ.get("HARDWON_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
    rows, query, starts = bulk(real_texts(where, texts), rounds), one_query(), cold() if with_cold else {}
    if as_json:
        click.echo(
            json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows], "query": query, "cold": starts})
        )
        return
    print(f"{texts} texts, the best of {rounds} rounds, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print("| way | texts/s | times as fast | times less CPU | least cosine |\n|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.name} | {row.texts_per_second:.1f} | {row.times_as_fast:.2f} | {row.times_less_cpu:.2f} | {row.cosine:.6f} |"
        )
    print(
        f"\nOne warm query of 16 words in numpy: {query['least']:.1f} ms at least, {query['median']:.1f} ms median (CPU)\n"
    )
    if starts:
        print("| cold start | CPU s | part of the import |\n|---|---|---|")
        imported = starts["import sentence_transformers"]
        for name, seconds in starts.items():
            print(f"| {name} | {seconds:.2f} | 1/{imported / seconds:.1f} |")


if __name__ == "__main__":
    main()
