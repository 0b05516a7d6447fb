"""A floor under the quality of recall: on the sample always, on real runs where they lie beside the checkout."""

import csv
import json
from collections import defaultdict
from statistics import fmean

import pytest

from experience import Episode, Filter, SqliteStore
from experience.backends import open_backend
from experience.backends.encoders import MiniLM
from experience.demo import sample
from experience.transfer import import_lines


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


def precision(found, relevant, k=5):
    return len(set(found[:k]) & relevant) / min(k, len(relevant))


# Measured on 2026-11-30: P@5 61.1, 81.5, 70.6; recall@10 63.3, 86.1, 84.1 (benchmarks/quality.py).
@pytest.mark.parametrize(
    ("backend", "floor", "deep"), [("keyword", 0.59, 0.61), ("embedding", 0.79, 0.84), ("hybrid", 0.68, 0.82)]
)
def test_recall_on_the_sample_keeps_its_floor(minilm, backend, floor, deep):
    judged = defaultdict(set)
    for row in csv.DictReader((line.decode() for line in sample("qrels.tsv")), delimiter="\t"):
        judged[row["query-id"]].add(row["corpus-id"])
    queries = {query["id"]: query["situation"] for query in map(json.loads, sample("queries.jsonl"))}
    with SqliteStore(":memory:") as store:
        import_lines(store, sample("episodes.jsonl"))
        ranked = open_backend(backend, store, minilm)
        ranked.refresh()
        runs = {record.id: record.episode.run_id for record in store.records()}
        found = {id: [runs[hit.id] for hit in ranked.recall(text, 10)] for id, text in queries.items()}

    assert fmean(precision(found[id], relevant) for id, relevant in judged.items()) >= floor
    assert fmean(len(set(found[id]) & relevant) / len(relevant) for id, relevant in judged.items()) >= deep


def leave_one_out(rows, backend, encoder, group):
    """P@5 of situations alone: each is the question once, and left out of the answer."""
    with SqliteStore(":memory:") as store:
        groups = {store.record(Episode(row["situation"], "", run_id=row["source_id"])).id: row[group] for row in rows}
        situations = {id: record.episode.situation for id, record in store.get_many(list(groups)).items()}
        ranked = open_backend(backend, store, encoder)
        ranked.refresh()
        scores = []
        for id, situation in situations.items():
            others = {other for other, name in groups.items() if name == groups[id] and other != id}
            if others:
                hits = ranked.recall(situation, 5, Filter(ids=tuple(other for other in groups if other != id)))
                scores.append(precision([hit.id for hit in hits], others))
    return fmean(scores)


@pytest.mark.parametrize(
    ("file", "group", "backend", "floor"),
    [
        ("tau_airline_gpt4o.jsonl", "task_id", "keyword", 0.64),
        ("tau_airline_gpt4o.jsonl", "task_id", "embedding", 0.70),
        ("tau_airline_gpt4o.jsonl", "task_id", "hybrid", 0.70),
        ("alfworld_tasks_norun.jsonl", "group", "keyword", 0.80),
    ],
)
def test_recall_on_real_runs_keeps_its_floor(shared, minilm, file, group, backend, floor):
    rows = [json.loads(line) for line in (shared / "episodes" / file).read_text(encoding="utf-8").splitlines()]

    assert leave_one_out(rows, backend, minilm, group) >= floor


def test_real_runs_are_imported_whole(shared, store):
    with (shared / "episodes" / "tau_airline_gpt4o.jsonl").open("rb") as file:
        done = import_lines(store, file)

    assert (done.new, done.bad) == (200, ())
    assert store.count(Filter(success=True)) == 84
    assert store.get(1).episode.meta["task_id"] is not None
