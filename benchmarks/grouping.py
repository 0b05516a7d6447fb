"""How fast runs of one kind are found among many, beside the product of each with all, and how many pairs are missed.

    python benchmarks/grouping.py --runs 100000

The vectors are made from real ones: texts of ../shared/data go through the packaged model; a run is one of them with up to
half of another mixed in and a little noise, and one run in twenty is a near copy of another run (cosine of about .93 to
.995). Five in six runs of one text have its four tools, the others one less. The exact product, cosines only and each pair
once, is taken in tiles that fit the processor's cache, for every eighth block of rows, and reckoned up to all of them; recall
is counted on those rows. CPU time of this process, one thread.
"""

import json
import random
import resource
from collections.abc import Iterable
from pathlib import Path
from time import process_time

import click
import numpy as np
from numpy.typing import NDArray

from experience.backends.encoders import open_encoder
from experience.backends.threads import one_thread
from experience.episode import Episode
from experience.learn.groups import Tools, group
from experience.learn.near import Near

FILES = (
    "retrieval/metatool-rest/queries.jsonl",
    "episodes/hotpotqa_reflexion.jsonl",
    "episodes/tau_airline_gpt4o.jsonl",
)
BLOCK, EVERY, TILE = 1024, 8, 4096
Vectors = NDArray[np.float32]


def texts_of(data: Path, most: int) -> list[str]:
    """Different real texts of all files, shuffled."""
    found: dict[str, None] = {}
    for name in reversed(FILES):  # the short files first, so that the long one fills up what they leave
        rows = [json.loads(line) for line in (data / name).read_text(encoding="utf-8").splitlines()]
        texts = list(dict.fromkeys(row.get("text") or row["situation"] for row in rows))
        found |= dict.fromkeys(texts[:: max(1, len(texts) // max(1, most - len(found)))])
    return random.Random(0).sample(list(found), min(most, len(found)))


def real_base(data: Path, kept: Path | None, most: int) -> tuple[list[str], Vectors]:
    """Real texts and their vectors; out of the file that keeps them, if it is there, else it is written."""
    if kept and kept.exists():
        with np.load(kept) as file:
            return file["texts"].tolist()[:most], file["vectors"][:most]
    texts = texts_of(data, most)
    vectors = open_encoder(None).encode(texts)
    if kept:
        np.savez(kept, texts=np.array(texts), vectors=vectors)
    return texts, vectors


def unit(vectors: NDArray[np.floating]) -> Vectors:
    """The same at length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def made(base: Vectors, runs: int) -> tuple[Vectors, NDArray[np.int64]]:
    """So many vectors of real texts mixed, and which text is most of each."""
    rng = np.random.default_rng(0)

    def noise(count: int) -> Vectors:
        return unit(rng.standard_normal((count, base.shape[1]), dtype=np.float32))

    copies = runs // 20
    most, other = rng.integers(len(base), size=(2, runs - copies))
    share = rng.uniform(0, 0.5, size=(len(most), 1)).astype(np.float32)
    mixed = unit(unit((1 - share) * base[most] + share * base[other]) + np.float32(0.3) * noise(len(most)))
    of = rng.integers(len(mixed), size=copies)
    near = unit(mixed[of] + rng.uniform(0.1, 0.4, size=(copies, 1)).astype(np.float32) * noise(copies))
    order = rng.permutation(runs)
    return np.concatenate([mixed, near])[order], np.concatenate([most, most[of]])[order]


def exact(vectors: Vectors, least: float) -> tuple[float, list[NDArray[np.int64]], list[int]]:
    """CPU seconds for the product of each with all that follow it, and of the rows that were looked at: their neighbours."""
    found, rows, seconds, share = [], [], 0.0, 0
    for at in range(0, len(vectors), EVERY * BLOCK):
        near = []
        for across in range(0, len(vectors), TILE):
            began = process_time()
            tile = vectors[at : at + BLOCK] @ vectors[across : across + TILE].T >= least
            near.append(tile)
            tile.sum(axis=1)
            if across >= at:
                seconds += process_time() - began
                share += tile.size
        found += [np.flatnonzero(row) for row in np.concatenate(near, axis=1)]
        rows += range(at, min(at + BLOCK, len(vectors)))
    return seconds * len(vectors) ** 2 / 2 / share, found, rows


def recall(near: Near, true: Iterable[NDArray[np.int64]], rows: Iterable[int]) -> float:
    """The share of the exact pairs of these rows that are found."""
    pairs = [(row, np.setdiff1d(others, [row])) for row, others in zip(rows, true, strict=True)]
    hits = sum(len(np.intersect1d(near.of(row), others)) for row, others in pairs)
    return hits / max(1, sum(len(others) for _, others in pairs))


def measured(base: Vectors, runs: int) -> list[dict[str, object]]:
    """A row a threshold, and one for grouping as the distiller does it."""
    vectors, text = made(base, runs)
    ones = np.ones(runs, dtype=np.int64)
    lines: list[dict[str, object]] = []
    for least in (0.7, 0.9):
        seconds, true, rows = exact(vectors, least)
        began = process_time()
        near = Near(vectors, ones, least)
        ours = process_time() - began
        lines.append(
            {
                "": f"cosine {least}", "pairs": int(near.density.sum() - runs) // 2, "exact s": round(seconds, 1),
                "cells s": round(ours, 1), "times": round(seconds / ours, 1), "recall": round(recall(near, true, rows), 4),
            }
        )  # fmt: skip
    return [*lines, kinds(vectors, text)]


def kinds(vectors: Vectors, text: NDArray[np.int64]) -> dict[str, object]:
    """Grouping by cosine 0.7 and tools."""
    tools = [
        tuple(f"tool-{(int(one) * 7 + 13 * n) % 200}" for n in range(4 - (at % 6 == 0))) for at, one in enumerate(text)
    ]
    episodes = [Episode(f"run {at:07}", "", tools=used) for at, used in enumerate(tools)]
    seconds, true, rows = exact(vectors, 0.7)
    shared = Tools(episodes, range(len(episodes))).shared
    true = [others[shared(np.full(len(others), row), others)] for row, others in zip(rows, true, strict=True)]
    found = recall(Near(vectors, np.ones(len(text), dtype=np.int64), 0.7, shared), true, rows)
    began = process_time()
    groups = group(episodes, vectors)
    ours = process_time() - began
    return {
        "": "grouping, .7 and tools", "pairs": f"{len(groups):,} groups", "exact s": round(seconds, 1),
        "cells s": round(ours, 1), "times": round(seconds / ours, 1), "recall": round(found, 4),
    }  # fmt: skip


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parents[2] / "shared" / "data")
@click.option("--runs", default=100_000, show_default=True, type=click.IntRange(min=100))
@click.option(
    "--texts", default=4000, show_default=True, type=click.IntRange(min=10), help="Real texts they are made of."
)
@click.option("--base", type=click.Path(path_type=Path), help="An .npz that keeps the real texts' vectors.")
def main(data: Path, runs: int, texts: int, base: Path | None) -> None:
    """Measure grouping against the exact product."""
    if not data.is_dir() and not (base and base.exists()):
        click.echo(f"no real data in {data}: nothing is measured", err=True)
        return
    vectors = real_base(data, base, texts)[1]
    with one_thread():
        lines = measured(vectors, runs)
    print(f"{runs:,} runs made from {len(vectors):,} texts\n\n| {' | '.join(lines[0])} |\n|{'---|' * len(lines[0])}")
    for line in lines:
        print(f"| {' | '.join(str(value) for value in line.values())} |")
    print(f"\npeak of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
