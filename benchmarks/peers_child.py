"""One peer of `peers.py` in a process of its own: fill a store, or open one that is filled and ask.

    python peers_child.py TASK.json

Reads a task, writes what it measured to the file named there. Nothing it runs can reach a network.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from peers_store import Encode, Row, Store, Vectors
from peers_stores import PEERS

K = 10
Clock = Callable[[], float]
AT_LEAST = 3  # calls of a kind, however slow


class Task:
    """What is to be done: the file's fields as attributes."""

    def __init__(self, path: Path) -> None:
        for name, value in json.loads(path.read_text(encoding="utf-8")).items():
            setattr(self, name, value)

    peer: str
    step: str  # fill or ask
    store: str  # the peer's folder
    corpus: str  # the folder of texts and vectors
    out: str
    rows: int
    singles: int
    real: bool
    cpu: bool  # whether times are those of the processor, over all threads, and not those of the clock on the wall
    seconds: float  # for all rows, and for the questions of one kind


def no_network() -> None:
    """Refuse every connection but those within this machine's files, and tell who asks for a model that it is here."""

    def refuse(_: socket.socket, address: Any) -> None:
        raise OSError(f"a benchmark may not connect to {address!r}")

    socket.socket.connect = refuse  # type: ignore[assignment,method-assign]
    os.environ |= {
        "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False",
        "TOKENIZERS_PARALLELISM": "false", "ALLOW_RESOLVE_TRANSFORM": "True", "DO_NOT_TRACK": "1",
    }  # fmt: skip


def table(task: Task, texts: Sequence[str], rows: range) -> Encode:
    """An encoder that looks vectors up: those of these texts, which have these rows; any other text has the first."""
    vectors = np.load(Path(task.corpus) / "vectors.npy", mmap_mode="r")
    at = dict(zip(texts, rows, strict=True))
    return lambda asked: np.asarray(vectors[[at.get(text, rows[0]) for text in asked]])


def model(peer: str) -> Encode:
    """The packaged MiniLM through sentence-transformers with its defaults; this project brings its own."""
    if peer == "hardwon":
        return lambda _: np.empty((0, 0), dtype=np.float32)
    from sentence_transformers import SentenceTransformer

    from experience.backends.minilm import model_folder

    loaded = SentenceTransformer(str(model_folder()), device="cpu")

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(loaded.encode(list(texts), show_progress_bar=False))

    return encode


def peak() -> float:
    """The most memory this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says begins with the parent's
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lines(task: Task, name: str) -> list[str]:
    """The texts of one file."""
    return json.loads((Path(task.corpus) / name).read_text(encoding="utf-8"))


def fill(task: Task) -> dict[str, Any]:
    """Add many, then some one by one; how fast, how many fitted into the time, and the room they take."""
    texts = lines(task, "texts.json")[: task.rows + task.singles]
    encode = model(task.peer) if task.real else table(task, texts, range(len(texts)))
    rows = [Row(number, text, number % 10) for number, text in enumerate(texts)]
    before = peak()
    store = PEERS[task.peer](Path(task.store), encode, real=task.real)
    if task.real and task.peer == "hardwon":
        store.add([Row(-1, "a first one, for the model to be loaded", 0)])  # as the others' is loaded by now
    step = store.batch or task.rows
    clock = process_time if task.cpu else perf_counter
    done, until, began = 0, perf_counter() + task.seconds, clock()
    while done < task.rows and perf_counter() < until:
        store.add(rows[done : min(done + step, task.rows)])
        done = min(done + step, task.rows)
    store.finish()
    many = done / (clock() - began)
    times = []
    for row in rows[task.rows : task.rows + task.singles]:
        try:
            times.append(timed(clock, store.add, [row._replace(number=done + len(times))]))
        except NotImplementedError:
            break
        if sum(times) > task.seconds * 1000:
            break
    store.close()
    size = sum(file.stat().st_size for file in Path(task.store).rglob("*") if file.is_file())
    return {
        "rows": done, "ones": len(times), "many": many, "one": median(times), "one95": p95(times), "disk": size / 1e6,
        "peak adding": peak(), "before adding": before,
    }  # fmt: skip


def ask(task: Task) -> dict[str, Any]:
    """Open what is filled, and ask: the first time, and then question after question of each kind."""
    questions = lines(task, "questions.json")
    total = len(lines(task, "texts.json"))
    encode = (lambda _: np.empty(0)) if task.real else table(task, questions, range(total, total + len(questions)))
    before = peak()
    clock = process_time if task.cpu else perf_counter
    began = clock()
    if task.real:
        encode = model(task.peer)
    store = PEERS[task.peer](Path(task.store), encode, real=task.real)
    kinds = ("vector", "filtered", "words", "both")
    first = next(kind for kind in kinds if getattr(store, kind, None))
    questioned(store, first)(0, questions[0])
    measured: dict[str, Any] = {"open": 1000 * (clock() - began)}
    for kind in kinds:
        if getattr(store, kind, None):
            times, answers = asked(clock, questioned(store, kind), questions[1:], task.seconds)
            measured |= {kind: median(times), f"{kind}95": p95(times), f"{kind} answers": answers}
    measured |= {"peak asking": peak(), "before asking": before}
    store.close()
    return measured


def questioned(store: Store, kind: str) -> Callable[[int, str], list[int]]:
    """A way to put one question, the filtered ones to an area that goes round."""
    method = getattr(store, kind)
    if kind == "filtered":
        return lambda number, text: method(text, K, number % 10)
    return lambda _, text: method(text, K)


def asked(
    clock: Clock, put: Callable[[int, str], list[int]], questions: Sequence[str], seconds: float
) -> tuple[list[float], list[list[int]]]:
    """The times and answers of these questions, or of as many as the time allows; the first two warm up."""
    times, answers, until = [], [], perf_counter() + seconds
    for number, question in enumerate(questions):
        times.append(timed(clock, lambda at=number, text=question: answers.append(put(at, text))))
        if number + 1 >= AT_LEAST and perf_counter() > until:
            break
    return times[2:], answers


def timed(clock: Clock, action: Callable[..., object], *arguments: object) -> float:
    """Milliseconds of one call."""
    began = clock()
    action(*arguments)
    return 1000 * (clock() - began)


def median(times: Sequence[float]) -> float | None:
    """The median, or none."""
    return float(np.median(times)) if len(times) else None


def p95(times: Sequence[float]) -> float | None:
    """The 95th percentile, or none."""
    return float(np.percentile(times, 95)) if len(times) else None


def main() -> None:
    """Do the task."""
    task = Task(Path(sys.argv[1]))
    no_network()
    found = fill(task) if task.step == "fill" else ask(task)
    Path(task.out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
