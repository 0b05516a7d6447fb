"""How well recall ranks: nDCG@10, P@5, recall@10 and MRR@10 of every backend, on judged data.

    python benchmarks/quality.py                                   the standard measurements
    python benchmarks/quality.py runs.jsonl --group-by task_id     leave one out, on episodes of your own
    python benchmarks/quality.py folder                            a BEIR folder, or one laid out like `data/`
    python benchmarks/quality.py --part abstention                 how often nothing is said, rightly and wrongly
    python benchmarks/quality.py --part tune                       what `experience tune` makes of it

Beside the backends stand baselines, over the same episodes: `rrf60`, reciprocal rank fusion of both arms with the paper's
constant, and `bm25s` (Lucene's variant, k1 1.2, b 0.75, English stop words, Snowball stems), where that package is installed;
`embedding` is plain MiniLM.

Backends are asked directly: `Memory.recall` gives each content once, and here copies have to count. Figures are
means over queries, printed x100 (in the JSON: 0 to 1). A judged score is the gain itself, as in trec_eval.
"""

import importlib.util
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from experience.backends import NAMES, open_backend
from experience.backends.encoders import open_encoder
from experience.backends.tuning import keep, tuned
from experience.episode import Episode
from experience.memory import Memory
from experience.protocols import Backend, Encoder, Filter, Hit, Progress
from experience.store import SqliteStore

if TYPE_CHECKING:
    from experience.backends.hybrid import HybridBackend

CHECKOUT = Path(__file__).resolve().parents[1]
DEPTH, SEED, RESAMPLES = 10, 0, 1000
CONTENTS = ("situations", "episodes")


@dataclass(frozen=True, slots=True)
class Query:
    """A situation to ask about, and what an answer is judged by; episodes are named by their places in the task.

    `gains`: how relevant an episode is, above 0, or missing. `left_out`: what may not be found, such as the query itself.
    """

    text: str
    gains: Mapping[int, int]
    left_out: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Task:
    """One judged collection, and the ways to record it that differ."""

    name: str
    episodes: tuple[Episode, ...]
    queries: tuple[Query, ...]
    contents: tuple[str, ...] = CONTENTS


@dataclass(frozen=True, slots=True)
class Scores:
    """The marks of one answer, or the means of many: each from 0 to 1, higher is better.

    `precision`: hits in the top 5 / min(5, relevant), so that 1 can be reached with fewer than 5 relevant episodes.
    `ndcg`: gains over log2(1 + rank), relative to the best order, to depth 10 (Järvelin and Kekäläinen, TOIS 2002).
    `recall`: the part of all relevant episodes that is in the top 10; below 1 at best when there are more than 10.
    `mrr`: 1 / rank of the first relevant episode, 0 when the top 10 hold none.
    """

    precision: float
    ndcg: float
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `chance` is the precision that a random order can expect, from 0 to 1."""

    data: str
    recorded: str
    backend: str
    episodes: int
    queries: int
    chance: float
    scores: Scores
    ndcg_interval: tuple[float, float]


class Prepared:
    """An encoder that has seen these texts before, all in one batch, so that no query pays for its own."""

    def __init__(self, encoder: Encoder, texts: Iterable[str]) -> None:
        self.name, self.width = encoder.name, encoder.width
        self._encoder = encoder
        distinct = list(dict.fromkeys(texts))
        self._vectors = dict(zip(distinct, encoder.encode(distinct), strict=True))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector a text, float32 of shape (len(texts), width)."""
        known = bool(texts) and self._vectors.keys() >= set(texts)
        return np.stack([self._vectors[text] for text in texts]) if known else self._encoder.encode(texts)


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def judgements(path: Path) -> dict[str, dict[str, int]]:
    """Query to document to gain, those above 0, from tab-separated lines (query, document, score), header or not."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        query, document, score = line.split("\t")
        if (number or score.isdigit()) and int(score) > 0:
            judged.setdefault(query, {})[document] = int(score)
    return judged


def judged_queries(folder: Path, texts: Mapping[str, str], places: Mapping[str, int]) -> Iterator[Query]:
    """The folder's queries that have a relevant episode; `places` says where each document is."""
    for query, gains in judgements(folder / "qrels.tsv").items():
        if strangers := ({query} - texts.keys()) | (gains.keys() - places.keys()):
            raise click.ClickException(f"{folder}: qrels.tsv names {min(strangers)}, which is not there")
        yield Query(texts[query], {places[document]: gain for document, gain in gains.items()})


def beir_task(folder: Path) -> Task:
    """A folder in BEIR's layout (Thakur et al., NeurIPS 2021); a document is `title + " " + text`."""
    corpus = json_lines(folder / "corpus.jsonl")
    texts = {row["_id"]: row["text"] for row in json_lines(folder / "queries.jsonl")}
    places = {row["_id"]: place for place, row in enumerate(corpus)}
    episodes = (Episode(f"{row.get('title', '')} {row['text']}", "", run_id=row["_id"]) for row in corpus)
    return Task(folder.resolve().name, tuple(episodes), tuple(judged_queries(folder, texts, places)), ("situations",))


def sample_task(folder: Path) -> Task:
    """A folder laid out like `data/`: judgements name episodes by their run_id."""
    episodes = tuple(map(Episode.from_json, json_lines(folder / "episodes.jsonl")))
    texts = {row["id"]: row["situation"] for row in json_lines(folder / "queries.jsonl")}
    places = {str(episode.run_id): place for place, episode in enumerate(episodes)}
    return Task(folder.resolve().name, episodes, tuple(judged_queries(folder, texts, places)))


def episodes_task(path: Path, group_by: str, *, cross_task: bool) -> Task:
    """Leave one out: each episode asks for the others of its group. Without such others it asks nothing."""
    rows = json_lines(path)
    episodes = (replace(Episode.from_json(row), run_id=f"run-{place}") for place, row in enumerate(rows))
    queries = []
    for place, row in enumerate(rows):
        left_out = {place} | (alike(rows, place, "task_id") if cross_task else set())
        if relevant := alike(rows, place, group_by) - left_out:
            queries.append(Query(row["situation"], dict.fromkeys(relevant, 1), frozenset(left_out)))
    name = f"{path.stem}, {group_by}{', cross-task' if cross_task else ''}"
    return Task(name, tuple(episodes), tuple(queries))


def alike(rows: Sequence[Mapping[str, Any]], place: int, key: str) -> set[int]:
    """The places of the rows with the same value of `key` as the one at `place`; none when it has no value."""
    value = rows[place].get(key)
    return {other for other, row in enumerate(rows) if value is not None and row.get(key) == value}


def open_task(path: Path, group_by: str, *, cross_task: bool) -> Task:
    """Whatever lies at the path, by what is in it."""
    if path.is_file():
        return episodes_task(path, group_by, cross_task=cross_task)
    return beir_task(path) if (path / "corpus.jsonl").exists() else sample_task(path)


def standard_tasks(data: Path) -> Iterator[Task]:
    """The measurements that docs and releases quote; of the real data, what lies in the folder."""
    airline, alfworld = (data / "episodes" / name for name in ("tau_airline_gpt4o.jsonl", "alfworld_tasks_norun.jsonl"))
    if airline.exists() and alfworld.exists():
        for group_by, cross_task in (("task_id", False), ("group", False), ("group", True)):
            yield episodes_task(airline, group_by, cross_task=cross_task)
        yield episodes_task(alfworld, "group", cross_task=False)
        for name in ("metatool-rest", "scifact-train"):
            yield beir_task(data / "retrieval" / name)
    else:
        click.echo(f"no real data in {data}; only the sample is measured", err=True)
    yield sample_task(CHECKOUT / "data")


def scores_of(ranked: Sequence[int], gains: Mapping[int, int]) -> Scores:
    """The marks of one answer: places of episodes, best first."""
    won = [gains.get(place, 0) for place in ranked[:DEPTH]]
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    value, ideal = (sum(gain / log2(1 + rank) for rank, gain in enumerate(order, 1)) for order in (won, best))
    first = next((rank for rank, gain in enumerate(won, 1) if gain), None)
    precision, recall = sum(map(bool, won[:5])) / min(5, len(gains)), sum(map(bool, won)) / len(gains)
    return Scores(precision, value / ideal, recall, 1 / first if first else 0.0)


def chance(task: Task) -> float:
    """The precision, from 0 to 1, that random orders have on average: 5 * relevant / candidates / min(5, relevant)."""
    counts = [(len(query.gains), len(task.episodes) - len(query.left_out)) for query in task.queries]
    return float(np.mean([5 * relevant / candidates / min(5, relevant) for relevant, candidates in counts]))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap of a mean over queries (Efron 1979; for retrieval: Sakai, SIGIR 2006)."""
    draw = np.random.default_rng(SEED)
    means = [draw.choice(values, len(values)).mean() for _ in range(RESAMPLES)]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def recorded(store: SqliteStore, episodes: Sequence[Episode], what: str) -> list[int]:
    """The ids under which the episodes now are in the store, in their order."""
    if what == "situations":
        episodes = [Episode(episode.situation, "", run_id=episode.run_id) for episode in episodes]
    with store.write():
        return [store.add(episode).id for episode in episodes]


class Rrf60:
    """A baseline: both arms with equal weight, 1 / (60 + rank), over the best 50 of each."""

    def __init__(self, keyword: Backend, embedding: Backend) -> None:
        self._arms = (keyword, embedding)

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits, best first."""
        scores: dict[int, float] = {}
        for arm in self._arms:
            for rank, hit in enumerate(arm.recall(situation, 50, where), 1):
                scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (60 + rank)
        return [Hit(id, scores[id], "") for id in sorted(scores, key=lambda id: (-scores[id], -id))[:k]]

    def refresh(self, progress: Progress | None = None) -> int:
        """Both arms."""
        return max(arm.refresh(progress) for arm in self._arms)

    def pending(self) -> int:
        """Of both arms."""
        return max(arm.pending() for arm in self._arms)


class Bm25s:
    """A baseline: the package bm25s over the whole text of each episode, without its labels."""

    def __init__(self, store: SqliteStore) -> None:
        import bm25s
        import Stemmer

        self._stemmer = Stemmer.Stemmer("english")
        self._bm25s = bm25s
        records = sorted(store.records(), key=lambda record: record.id)
        self._ids = [record.id for record in records]
        texts = [
            " ".join((e.situation, e.outcome, *e.tools, *e.skills, *e.tags))
            for e in (record.episode for record in records)
        ]
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        self._index.index(self._cut(texts), show_progress=False)

    def _cut(self, texts: Sequence[str]) -> Any:
        return self._bm25s.tokenize(list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False)

    def recall(self, situation: str, k: int, where: Filter = Filter()) -> list[Hit]:
        """At most k hits, best first."""
        deep = len(self._ids) if where.ids is not None else min(k, len(self._ids))
        places, scores = self._index.retrieve(self._cut([situation]), k=deep, show_progress=False)
        found = [Hit(self._ids[int(at)], float(score), "") for at, score in zip(places[0], scores[0], strict=True)]
        return [hit for hit in found if where.ids is None or hit.id in where.ids][:k]

    def refresh(self, progress: Progress | None = None) -> int:  # noqa: ARG002
        """Nothing to do."""
        return 0

    def pending(self) -> int:
        """Nothing."""
        return 0


def opened(name: str, store: SqliteStore, encoder: Encoder | None) -> Backend:
    """A backend or a baseline by its name."""
    if name == "rrf60":
        return Rrf60(open_backend("keyword", store), open_backend("embedding", store, encoder))
    return Bm25s(store) if name == "bm25s" else open_backend(name, store, encoder)


def baselines() -> tuple[str, ...]:
    """Those that can be measured here."""
    return ("rrf60", "bm25s") if importlib.util.find_spec("bm25s") else ("rrf60",)


def answers(backend: Backend, ids: Sequence[int], queries: Sequence[Query]) -> Iterator[Scores]:
    """Ask every query; what it leaves out is filtered away before the ranking."""
    places = {id: place for place, id in enumerate(ids)}
    for query in queries:
        others = [id for id, place in places.items() if place not in query.left_out] if query.left_out else None
        hits = backend.recall(query.text, DEPTH, Filter(ids=None if others is None else tuple(others)))
        yield scores_of([places[hit.id] for hit in hits], query.gains)


def measure(task: Task, what: str, backends: Sequence[str], encoder: Encoder | None) -> Iterator[Row]:
    """One row a backend, over a store that is thrown away afterwards."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "quality.db") as store:
        ids = recorded(store, task.episodes, what)
        for name in backends:
            backend = opened(name, store, encoder)
            backend.refresh()
            marks = list(answers(backend, ids, task.queries))
            means = Scores(*(float(np.mean([getattr(mark, part.name) for mark in marks])) for part in fields(Scores)))
            within = interval([mark.ndcg for mark in marks])
            yield Row(task.name, what, name, len(ids), len(marks), chance(task), means, within)


def limited(task: Task, limit: int | None) -> Task:
    """The task with at most `limit` of its queries, drawn at random but the same ones every time."""
    if not task.queries:
        raise click.ClickException(f"{task.name}: no query has anything relevant to find")
    if limit is None or limit >= len(task.queries):
        return task
    return replace(task, queries=tuple(random.Random(SEED).sample(task.queries, limit)))


def run(task: Task, what: str | None, backends: Sequence[str], model: Encoder | None) -> Iterator[Row]:
    """All rows of one task."""
    texts = [*(query.text for query in task.queries), *(episode.situation for episode in task.episodes)]
    encoder = model and Prepared(model, texts)
    for content in task.contents:
        if what in (None, content) or len(task.contents) == 1:
            yield from measure(task, content, backends, encoder)


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text; quality x100."""
    head = "data recorded backend episodes queries chance P@5 nDCG@10 95% recall@10 MRR@10".split()
    lines = [head, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    form = "  ".join(f"{{:{'<' if at < 3 else '>'}{width}}}" for at, width in enumerate(widths))
    return "\n".join(form.format(*line) for line in lines)


def cells(row: Row) -> list[str]:
    """One row as text."""
    names, marks, (low, high) = (row.data, row.recorded, row.backend), row.scores, row.ndcg_interval
    percent = [f"{100 * value:.1f}" for value in (row.chance, marks.precision, marks.ndcg, marks.recall, marks.mrr)]
    within = f"{100 * low:.1f} to {100 * high:.1f}"
    return [*names, f"{row.episodes}", f"{row.queries}", *percent[:3], within, *percent[3:]]


def nonsense() -> list[str]:
    """Sixty questions that mean nothing: random letters, words of a made-up Latin, data."""
    draw = random.Random(SEED)
    letters = [" ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(draw.randint(1, 9))) for _ in range(25)]  # fmt: skip
    latin = "tempor incididunt labore magna aliqua enim minim veniam quis nostrud exercitation ullamco laboris nisi aliquip commodo".split()
    return [*letters, *(" ".join(draw.choices(latin, k=draw.randint(3, 12))) for _ in range(20)), *("".join(draw.choices("0123456789abcdef", k=draw.randint(8, 40))) for _ in range(15))]  # fmt: skip


def small_store(task: Task, size: int, draw: random.Random) -> tuple[list[int], list[Query]]:
    """Places of so many episodes, and queries that some of them answer, in the places of that choice."""
    queries = draw.sample(task.queries, min(len(task.queries), max(2, size // 3) if size < len(task.episodes) else 100))
    places = list(dict.fromkeys(draw.choice(sorted(query.gains)) for query in queries))[:size]
    others = [place for place in range(len(task.episodes)) if place not in set(places)]
    places += draw.sample(others, min(size - len(places), len(others)))
    now = {place: at for at, place in enumerate(places)}
    moved = [
        replace(
            query,
            gains={now[place]: gain for place, gain in query.gains.items() if place in now},
            left_out=frozenset(now[place] for place in query.left_out if place in now),
        )
        for query in queries
    ]
    return places, [query for query in moved if query.gains]


def refused(
    task: Task, size: int, foreign: Mapping[str, Sequence[str]], backend: str, encoder: Encoder | None
) -> dict[str, float]:
    """Over stores of that size: the share of true answers that the floor loses, and of foreign questions that are answered.

    A true answer has something relevant among the first three without a floor; it is lost when with it it has none.
    """
    draw = random.Random(SEED)
    counts: dict[str, list[bool]] = {"lost": []}
    for _ in range(max(1, min(60, 600 // size))):
        places, queries = small_store(task, size, draw)
        with SqliteStore(":memory:") as store:
            ids = recorded(store, [task.episodes[place] for place in places], "situations")
            memory = Memory(store, open_backend(backend, store, encoder))
            memory.refresh()
            for query in queries:
                relevant = {ids[at] for at in query.gains}
                where = Filter(ids=tuple(id for at, id in enumerate(ids) if at not in query.left_out))
                if relevant & {match.id for match in memory.recall(query.text, 3, where, floor=False)}:
                    counts["lost"].append(not relevant & {match.id for match in memory.recall(query.text, 3, where)})
            for name, texts in foreign.items():
                asked = draw.sample(texts, min(len(texts), max(2, min(size // 6, 30))))
                counts.setdefault(name, []).extend(bool(memory.recall(text, 3)) for text in asked)
    return {name: float(np.mean(values)) for name, values in counts.items() if values}


def abstention(tasks: Sequence[Task], backends: Sequence[str], model: Encoder | None) -> Iterator[str]:
    """Lines of a table: each kind of data asked by its own questions, by those of the others, and by nonsense."""
    draw = random.Random(SEED)
    kinds = {task.name.split(",")[0]: [query.text for query in limited(task, 60).queries] for task in tasks}
    kinds["nonsense"] = nonsense()
    texts = [text for asked in kinds.values() for text in asked]
    encoder = model and Prepared(model, [*texts, *(q.text for t in tasks for q in t.queries), *(e.situation for t in tasks for e in t.episodes)])  # fmt: skip
    yield "data, size, backend: true matches lost %; questions answered % of each foreign kind"
    for task in tasks:
        foreign = {
            name: draw.sample(asked, len(asked)) for name, asked in kinds.items() if name != task.name.split(",")[0]
        }
        for size in sorted({size for size in (5, 20, 100) if size < len(task.episodes)} | {len(task.episodes)}):
            for backend in backends:
                shares = refused(task, size, foreign, backend, encoder)
                told = "  ".join(f"{name} {100 * share:.1f}" for name, share in shares.items())
                yield f"{task.name}, {size}, {backend}: {told}"


def tuning(tasks: Sequence[Task], model: Encoder | None) -> Iterator[str]:
    """Lines of a table: what is learned on each store's own names, and nDCG@10 of the judged queries before and after it."""
    yield "data: episodes that asked, lean, held-out gain with its 95 % interval, kept?, judged nDCG@10 before and after"
    for task in tasks:
        encoder = model and Prepared(model, [*(q.text for q in task.queries), *(e.situation for e in task.episodes)])
        with SqliteStore(":memory:") as store:
            ids = recorded(store, task.episodes, "episodes")
            backend = open_backend("hybrid", store, encoder)
            backend.refresh()
            found = tuned(store, cast("HybridBackend", backend))
            before = float(np.mean([mark.ndcg for mark in answers(backend, ids, task.queries)]))
            keep(store, cast("HybridBackend", backend), found.lean)
            after = float(np.mean([mark.ndcg for mark in answers(backend, ids, task.queries)]))
        low, high = found.gain
        yield f"{task.name}: {found.asked}, {found.lean:+.2f}, {100 * (found.after - found.before):+.1f} ({100 * low:+.1f} to {100 * high:+.1f}), {'yes' if found.better else 'no'}, {100 * before:.1f}, {100 * after:.1f}"


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--data", default=CHECKOUT.parent / "shared" / "data", type=Path, help="Where the standard data lies.")
@click.option("--group-by", default="group", help="Key whose value relevant episodes share, in an episodes file.")
@click.option("--cross-task", is_flag=True, help="Leave out all other runs with the query's task_id, too.")
@click.option("--what", type=click.Choice(CONTENTS), help="What to record; both when left out.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice([*NAMES, "rrf60", "bm25s"]),
    default=(*NAMES, *baselines()),
    show_default=True,
)
@click.option("--encoder", help="Name of a sentence-transformers model; the packaged MiniLM when left out.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most so many queries, drawn with a fixed seed.")
@click.option("--part", type=click.Choice(["ranking", "abstention", "tune"]), default="ranking", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table; figures from 0 to 1.")
def main(
    paths: Sequence[Path],
    data: Path,
    group_by: str,
    cross_task: bool,
    what: str | None,
    backends: Sequence[str],
    encoder: str | None,
    limit: int | None,
    part: str,
    as_json: bool,
) -> None:
    """Measure how well recall ranks PATHS: episodes files, BEIR folders, folders like data/."""
    tasks = (open_task(path, group_by, cross_task=cross_task) for path in paths) if paths else standard_tasks(data)
    model = open_encoder(encoder) if {"embedding", "hybrid", "rrf60"} & set(backends) else None
    if part != "ranking":
        chosen = [limited(task, limit) for task in tasks]
        own = [name for name in backends if name in NAMES]
        for line in abstention(chosen, own, model) if part == "abstention" else tuning(chosen, model):
            click.echo(line)
        return
    rows = [row for task in tasks for row in run(limited(task, limit), what, backends, model)]
    about = {"encoder": model.name if model else None, "seed": SEED, "rows": [asdict(row) for row in rows]}
    click.echo(json.dumps(about, indent=2) if as_json else table(rows))


if __name__ == "__main__":
    main()
