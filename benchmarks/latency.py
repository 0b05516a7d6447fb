"""How long things take, and how much room, on made-up episodes that read like sentences.

    python benchmarks/latency.py --sizes 1000,10000

Words follow Zipf's law over common English words and made ones, so that an index has the shape it has for real text.
The encoder hashes, which takes microseconds, so that no figure contains a model. Recall is `Memory.recall` with k = 3,
after a few calls to warm up. Everything happens in one process whose imports are done; nothing is flushed from the
system's file cache. Times are the wall clock's; run it on a machine that is doing nothing else.
"""

import hashlib
import json
import os
import platform
import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import click
import numpy as np
from numpy.typing import NDArray

from experience.backends import NAMES, open_backend
from experience.episode import Episode
from experience.memory import Memory
from experience.protocols import Filter
from experience.store import SqliteStore

SEED = 0
MADE_WORDS = 4000
SINGLES = 200  # episodes recorded one by one
WARM_UP = 5
AREAS = 10  # each episode has one of so many tags, so that a filter by one passes 10 %

COMMON = (
    "the to of and a in is it for on that with as be at this from was by not are or an but have when so if which all no "
    "there can will has its into than then they we you one after before only been out up were their how what any where "
    "file time order user page list name data test date line change check number report run table service error value "
    "find account price request open message set customer new update first add result server item code read build write "
    "get key make folder two image work show version missing field old send fix same column wrong email state move "
    "last window until field keep record database total left small three log again right week place door water room "
    "ticket flight hotel seat refund address payment card phone label size weight colour paper office meeting team plan "
    "draft note letter answer question reason rule limit queue cache token cable port network disk memory branch"
).split()
STARTS, ENDS = "b d f g k l m n p r s t v br st tr".split(), ("", "n", "r")
SYLLABLES = [start + vowel + end for start in STARTS for vowel in "aeiou" for end in ENDS]
VERBS, THINGS = ("read", "write", "find", "list", "check"), ("file", "page", "user", "order")
TOOLS = [f"{verb}_{thing}" for verb in VERBS for thing in THINGS]


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured: in milliseconds its median and 95th percentile; in any other unit just a value."""

    name: str
    unit: str
    value: float
    p95: float | None = None


class Writer:
    """Writes sentences and episodes, the same ones every time."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        made = ("".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4))) for _ in range(MADE_WORDS))
        self._words = list(dict.fromkeys((*COMMON, *made)))
        # Zipf (1949): the word of rank r comes up in proportion to 1 / r. About half of a text are then function words.
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def sentence(self, words: int) -> str:
        """A sentence of so many words."""
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=words)).capitalize() + "."

    def episode(self, number: int) -> Episode:
        """A run with a situation of 12 to 20 words, an outcome of 30 to 50, one to six tool calls and a tag."""
        pick = self._random
        return Episode(
            situation=self.sentence(pick.randint(12, 20)),
            outcome=" ".join(self.sentence(pick.randint(10, 17)) for _ in range(3)),
            tools=tuple(pick.choices(TOOLS, k=pick.randint(1, 6))),
            tags=(f"area-{pick.randrange(AREAS)}",),
            success=pick.choice((True, False, None)),
            run_id=f"run-{number}",
        )


class HashEncoder:
    """Pseudo-random unit vectors that depend on the text alone, as fast as can be.

    The one in `experience.testing` adds up words, which would take longer than what is measured here.
    """

    name = "hash-384"
    width = 384

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector a text, float32 of shape (len(texts), 384)."""
        noise = b"".join(hashlib.shake_256(text.encode()).digest(2 * self.width) for text in texts)
        vectors = np.frombuffer(noise, dtype="<i2").reshape(-1, self.width).astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def milliseconds(action: Callable[..., object], *arguments: object) -> float:
    """How long one call takes."""
    start = perf_counter()
    action(*arguments)
    return 1000 * (perf_counter() - start)


def spread(name: str, times: Sequence[float]) -> Figure:
    """The figure of many times in milliseconds."""
    return Figure(name, "ms", float(np.median(times)), float(np.percentile(times, 95)))


def opened(path: Path, backend: str) -> Memory:
    """The memory at the path, over a new connection."""
    store = SqliteStore(path)
    return Memory(store, open_backend(backend, store, HashEncoder()))


def filling(memory: Memory, episodes: Sequence[Episode]) -> Iterator[Figure]:
    """Put episodes in, all in one transaction, and let the backend take them in."""

    def bulk() -> None:
        with memory.store.write():
            for episode in episodes:
                memory.record(episode)

    yield Figure("bulk import, one transaction", "episodes/s", 1000 * len(episodes) / milliseconds(bulk))
    yield Figure("refresh, encoder not counted", "episodes/s", 1000 * len(episodes) / milliseconds(memory.refresh))


def recording(memory: Memory, episodes: Sequence[Episode]) -> Iterator[Figure]:
    """Add some more, each in its own transaction."""
    yield spread("record one", [milliseconds(memory.record, episode) for episode in episodes])
    memory.refresh()


def beginning(path: Path, question: str) -> Iterator[Figure]:
    """Open the file, and ask for the first time."""
    for name in NAMES:
        start = perf_counter()
        memory = opened(path, name)
        if name == NAMES[0]:
            yield Figure("open the store", "ms", 1000 * (perf_counter() - start))
        yield Figure(f"first recall, {name}", "ms", milliseconds(memory.recall, question))
        memory.close()


def recalling(path: Path, questions: Sequence[str]) -> Iterator[Figure]:
    """Ask again and again, of all episodes and of a tenth of them."""
    for name in NAMES:
        with opened(path, name) as memory:
            for kind, where in (("", Filter()), (", filter passes 10 %", Filter(tags=("area-3",)))):
                times = [milliseconds(memory.recall, question, 3, where) for question in questions]
                yield spread(f"recall, {name}{kind}", times[WARM_UP:])


def measure(size: int, queries: int) -> list[Figure]:
    """Everything at one size."""
    writer = Writer()
    episodes = [writer.episode(number) for number in range(size + SINGLES)]
    questions = [writer.sentence(8) for _ in range(queries + WARM_UP)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "latency.db"
        with opened(path, "hybrid") as memory:
            figures = [*filling(memory, episodes[:size]), *recording(memory, episodes[size:])]
        figures += beginning(path, questions[0])
        figures += recalling(path, questions)
        figures.append(Figure("file", "MB", sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6))
    return figures


def machine() -> dict[str, str]:
    """What the figures were taken on."""
    return {
        "platform": platform.platform(),
        "cpus": str(os.cpu_count()),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "numpy": np.__version__,
    }


def table(measured: dict[int, list[Figure]]) -> str:
    """A line for each figure, a column for each size; milliseconds as median / 95th percentile where there are many."""
    head = ["", "unit", *(f"{size:,} episodes" for size in measured)]
    lines = [[rows[0].name, rows[0].unit, *map(text_of, rows)] for rows in zip(*measured.values(), strict=True)]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    form = "  ".join(f"{{:{'<' if at < 2 else '>'}{width}}}" for at, width in enumerate(widths))
    return "\n".join(form.format(*line) for line in (head, *lines))


def text_of(figure: Figure) -> str:
    """The figure's number, or its two."""
    if figure.p95 is not None:
        return f"{figure.value:.2f} / {figure.p95:.2f}"
    return f"{figure.value:,.1f}" if figure.value < 1000 else f"{figure.value:,.0f}"


def sizes_of(_: click.Context, __: click.Parameter, value: str) -> list[int]:
    """The numbers in a list with commas."""
    try:
        sizes = [int(part) for part in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{value!r} needs whole numbers and commas, such as 1000,10000") from error
    if min(sizes) < 1:
        raise click.BadParameter("a size needs at least one episode")
    return sizes


@click.command()
@click.option("--sizes", default="1000,10000,100000", callback=sizes_of, help="Numbers of episodes, with commas.")
@click.option("--queries", default=200, type=click.IntRange(min=1), help="Timed recalls of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(sizes: list[int], queries: int, as_json: bool) -> None:
    """Measure how long recording and recall take at some sizes."""
    measured = {size: measure(size, queries) for size in sizes}
    if as_json:
        figures = {size: [asdict(figure) for figure in rows] for size, rows in measured.items()}
        click.echo(json.dumps({"machine": machine(), "sizes": figures}, indent=2))
    else:
        click.echo(", ".join(f"{name} {value}" for name, value in machine().items()) + "\n\n" + table(measured))


if __name__ == "__main__":
    main()
