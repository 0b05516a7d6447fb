"""The same job by this project and by what one might take instead, side by side: same texts, same vectors, one run.

    python benchmarks/peers.py --sizes 10000                 every peer that is installed; make bench-peers installs them
    python benchmarks/peers.py --only hardwon --only numpy   some of them
    python benchmarks/peers.py --part store                  without the part that runs the model

Two parts. In the first, vectors come out of a table, so that what is measured is the store alone. In the second every peer
runs the packaged MiniLM, this project by its own way, the others through sentence-transformers. Each peer fills a store in
one process and is asked in another; one that dies or takes too long is a line that says so. Nothing reaches a network.

The texts are made of two real ones of ../shared/data, and their vectors of those two's: each in its share, and a little
noise. Questions are real texts that are in none of them. `--base` keeps the vectors of the real texts from run to run.
Where there is no such data, sentences are made up and their vectors hashed, and recall of vectors means little.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from grouping import real_base, unit
from latency import HashEncoder, Writer, machine, sizes_of
from numpy.typing import NDArray
from peers_child import K
from peers_stores import PEERS

OURS = "hardwon"
PARTS = ("store", "model")
HERE = Path(__file__).parent
SINGLES = 30
QUESTIONS = 103  # one to open with, two to warm up
BASE = 4000
Vectors = NDArray[np.float32]


class Column(NamedTuple):
    """One measurement: its name in the table, its key, whether more is better, and whether it is set against ours."""

    name: str
    key: str
    form: str = "{:.2f}"
    more_is_better: bool = False
    compared: bool = True


COLUMNS = (
    Column("rows", "rows", "{:,.0f}", compared=False),
    Column("add many /s", "many", "{:,.0f}", more_is_better=True),
    Column("add one ms", "one"),
    Column("p95", "one95", compared=False),
    Column("open+first ms", "open", "{:,.0f}"),
    Column("vector ms", "vector"),
    Column("p95", "vector95", compared=False),
    Column("recall", "vector recall", "{:.3f}", compared=False),
    Column("10 % ms", "filtered"),
    Column("p95", "filtered95", compared=False),
    Column("recall", "filtered recall", "{:.3f}", compared=False),
    Column("words ms", "words"),
    Column("both ms", "both"),
    Column("MB adding", "peak adding", "{:,.0f}"),
    Column("MB asking", "peak asking", "{:,.0f}"),
    Column("MB disk", "disk", "{:,.0f}"),
)


def base_of(data: Path, kept: Path | None) -> tuple[list[str], Vectors]:
    """Real texts, or made ones, and their vectors."""
    if data.is_dir() or (kept and kept.exists()):
        return real_base(data, kept, BASE)
    click.echo(f"no real data in {data}: sentences are made up, their vectors hashed", err=True)
    writer = Writer()
    texts = [writer.sentence(12) for _ in range(BASE)]
    return texts, HashEncoder().encode(texts)


def corpus(folder: Path, base: tuple[list[str], Vectors], count: int) -> Vectors:
    """Write so many texts, the questions, and the vectors of both into the folder; the vectors."""
    rng = np.random.default_rng(0)
    texts, vectors = base
    order = rng.permutation(len(texts))
    questions, rest = order[:QUESTIONS], order[QUESTIONS:]
    first, second = rng.choice(rest, size=(2, count))
    share = rng.uniform(0.2, 0.5, size=(count, 1)).astype(np.float32)
    mixed = unit((1 - share) * vectors[first] + share * vectors[second])
    mixed = unit(mixed + np.float32(0.3) * unit(rng.standard_normal(mixed.shape, dtype=np.float32)))
    made = [f"{texts[a]} {texts[b]} ({number})" for number, (a, b) in enumerate(zip(first, second, strict=True))]
    every = np.concatenate([mixed, vectors[questions]])
    (folder / "texts.json").write_text(json.dumps(made), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps([texts[at] for at in questions]), encoding="utf-8")
    np.save(folder / "vectors.npy", every)
    return every


def installed(peer: str) -> bool:
    """Whether all that the peer needs can be imported."""
    try:
        return all(importlib.util.find_spec(name) for name in PEERS[peer].needs)
    except ModuleNotFoundError:
        return False


def step(folder: Path, timeout: float, **task: Any) -> dict[str, Any]:
    """What a child measured, or the reason why nothing."""
    path, out = folder / "task.json", folder / "out.json"
    out.unlink(missing_ok=True)
    path.write_text(json.dumps(task | {"out": str(out)}), encoding="utf-8")
    command = [sys.executable, str(HERE / "peers_child.py"), str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False, env=dict(os.environ)
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"{task['step']}: no end within {timeout:.0f} s"}
    if done.returncode or not out.exists():
        return {
            "failed": f"{task['step']}: {(done.stderr.strip() or f'ended with {done.returncode}').splitlines()[-1]}"
        }
    return json.loads(out.read_text(encoding="utf-8"))


def measured(
    peer: str, made: Path, vectors: Vectors, size: int, real: bool, seconds: float, cpu: bool
) -> dict[str, Any]:
    """Everything about one peer at one size."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.mkdir()
        task = {
            "peer": peer, "store": str(store), "corpus": str(made), "rows": size, "singles": SINGLES, "real": real,
            "seconds": seconds, "cpu": cpu,
        }  # fmt: skip
        found = step(Path(folder), 4 * seconds + 60, step="fill", **task)
        if "failed" not in found:
            found |= step(Path(folder), 8 * seconds + 60, step="ask", **task | {"seconds": seconds / 8})
    if not real:
        stored = vectors[: found.get("rows", 0) + found.get("ones", 0)]
        questions = vectors[-QUESTIONS + 1 :]
        for kind, part in (("vector", 1), ("filtered", 10)):
            if found.get(f"{kind} answers") and PEERS[peer].has_vectors:
                found[f"{kind} recall"] = recall(found[f"{kind} answers"], stored, questions, part)
    return {key: value for key, value in found.items() if not key.endswith("answers")}


def side_by_side(
    peers: list[str], texts: tuple[list[str], Vectors], size: int, real: bool, seconds: float, cpu: bool
) -> dict[str, dict[str, Any]]:
    """What each measured at one size; with the model, only those that have vectors."""
    with tempfile.TemporaryDirectory() as folder:
        vectors = corpus(Path(folder), texts, size + SINGLES)
        found = {}
        for peer in peers:
            if PEERS[peer].has_vectors or not real:
                click.echo(f"{size:,} rows, {peer}", err=True)
                found[peer] = measured(peer, Path(folder), vectors, size, real, seconds, cpu)
        return found


def recall(answers: list[list[int]], stored: Vectors, questions: Vectors, part: int) -> float:
    """The share of the ten nearest that were answered, ties given; with `part` 10, of those in the question's area."""
    hits = 0
    for number, (answer, question) in enumerate(zip(answers, questions, strict=False)):
        scores = stored @ question
        among = scores[number % part :: part]
        least = np.partition(among, -K)[-K] - 1e-5
        hits += sum(scores[at] >= least and at % part == number % part for at in set(answer[:K]))
    return float(hits / (K * len(answers)))


def text_of(found: dict[str, dict[str, Any]]) -> str:
    """A line a peer, then how many times as good as ours, or as bad, each is: above 1 we are ahead."""
    ours = found.get(OURS, {})
    compared = [column for column in COLUMNS if column.compared]
    lines = [["", *(column.name for column in COLUMNS)]]
    lines += [[peer, *(shown(column, one) for column in COLUMNS)] for peer, one in found.items() if "rows" in one]
    ratios = [["times ours", *(column.name for column in compared)]]
    ratios += [
        [peer, *(ratio(column, one, ours) for column in compared)]
        for peer, one in found.items()
        if peer != OURS and "rows" in one
    ]
    failed = [f"{peer}: {one['failed']}" for peer, one in found.items() if "failed" in one]
    return "\n\n".join([markdown(lines), *([markdown(ratios)] if ours else []), *failed])


def shown(column: Column, one: dict[str, Any]) -> str:
    """The figure as text."""
    value = one.get(column.key)
    return "" if value is None else column.form.format(value)


def ratio(column: Column, one: dict[str, Any], ours: dict[str, Any]) -> str:
    """How far we are ahead of one, by one measurement."""
    theirs, value = one.get(column.key), ours.get(column.key)
    if not theirs or not value:
        return ""
    times = value / theirs if column.more_is_better else theirs / value
    return f"{times:.1f}" if times >= 0.95 else f"**{times:.2f}**"


def markdown(lines: list[list[str]]) -> str:
    """A table for the documentation."""
    head, *rest = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rest])


def versions(peers: list[str]) -> dict[str, str]:
    """What is installed of whom."""
    return {name: importlib.metadata.version(name) for name in sorted({PEERS[peer].package for peer in peers})}


@click.command()
@click.option("--sizes", default="10000", callback=sizes_of, help="Numbers of rows for the store alone, with commas.")
@click.option("--part", type=click.Choice(PARTS), multiple=True, help="Only this one.")
@click.option(
    "--real", default=1000, show_default=True, type=click.IntRange(min=1), help="Rows for the part with the model."
)
@click.option("--only", multiple=True, type=click.Choice(list(PEERS)), help="Only these peers.")
@click.option(
    "--seconds",
    default=240,
    show_default=True,
    help="After these adding stops where it is; a peer that hangs is ended.",
)
@click.option("--data", type=click.Path(path_type=Path), default=HERE.parents[1] / "shared" / "data")
@click.option("--base", type=click.Path(path_type=Path), help="An .npz that keeps the real texts' vectors.")
@click.option("--cpu", is_flag=True, help="Times of the processor over all threads, for a machine that is busy.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def main(
    sizes: list[int], part: tuple[str, ...], real: int, only: tuple[str, ...], seconds: float, data: Path, base: Path | None,
    cpu: bool, as_json: bool,
) -> None:  # fmt: skip
    """Measure this project and its peers at the same job."""
    peers = [peer for peer in only or PEERS if installed(peer)]
    for peer in set(only or PEERS).difference(peers):
        click.echo(f"{peer} is left out: not installed (make bench-peers installs it)", err=True)
    texts = base_of(data, base)
    about = {"clock": "cpu" if cpu else "wall", **machine(), **versions(peers)}
    parts = [(size, False) for size in sizes if "store" in (part or PARTS)]
    parts += [(real, True)] if "model" in (part or PARTS) else []
    report = []
    for size, with_model in parts:
        found = side_by_side(peers, texts, size, with_model, seconds, cpu)
        load = round(os.getloadavg()[1], 1)
        report.append({"rows": size, "model": with_model, "load": load, "peers": found})
        if not as_json:
            click.echo(
                f"\n{size:,} rows, {'the model runs' if with_model else 'vectors ready'}, load {load}\n\n{text_of(found)}"
            )
    if as_json:
        click.echo(json.dumps({"about": about, "parts": report}, indent=2))
    else:
        click.echo("\n" + ", ".join(f"{name} {value}" for name, value in about.items()))


if __name__ == "__main__":
    main()
