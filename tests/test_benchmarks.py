"""The scripts that measure: their formulas by hand, and that they run where there is no real data."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import astuple
from math import log2

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def quality():
    spec = importlib.util.spec_from_file_location("quality", ROOT / "benchmarks" / "quality.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["quality"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("ranked", "gains", "precision", "ndcg", "recall", "mrr"),
    [
        ([1, 2, 3], {1: 1, 2: 1, 3: 1}, 1, 1, 1, 1),
        ([9, 1], {1: 1}, 1, 1 / log2(3), 1, 1 / 2),
        ([9, 8, 7, 6, 5, 1], {1: 1, 2: 1}, 0, (1 / log2(7)) / (1 + 1 / log2(3)), 1 / 2, 1 / 6),
        ([2, 1], {1: 2, 2: 1}, 1, (1 + 2 / log2(3)) / (2 + 1 / log2(3)), 1, 1),
        ([], {1: 1}, 0, 0, 0, 0),
        ([*range(100, 110), 1], {1: 1}, 0, 0, 0, 0),
    ],
)
def test_marks_are_what_they_are_by_hand(quality, ranked, gains, precision, ndcg, recall, mrr):
    assert astuple(quality.scores_of(ranked, gains)) == pytest.approx((precision, ndcg, recall, mrr))


def script(name, *args):
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_quality_is_measured_on_the_sample_where_there_is_no_real_data(tmp_path):
    done = script("quality.py", "--data", tmp_path / "nothing", "--backend", "keyword", "--json")

    assert "only the sample is measured" in done.stderr
    assert {row["data"] for row in json.loads(done.stdout)["rows"]} == {"data"}


def test_abstention_is_measured_on_the_sample_where_there_is_no_real_data(tmp_path):
    done = script("quality.py", "--data", tmp_path / "nothing", "--part", "abstention", "--backend", "keyword")
    lines = done.stdout.splitlines()

    assert [line.split(":")[0] for line in lines[1:]] == [f"data, {size}, keyword" for size in (5, 20, 100, 120)]
    assert all(float(line.split("lost ")[1].split()[0]) < 2 for line in lines[1:])


def test_latency_is_measured_at_the_sizes_named():
    done = script("latency.py", "--sizes", "60", "--queries", "3", "--json")

    assert "60" in json.dumps(json.loads(done.stdout))


def test_recall_by_words_is_measured_beside_fts5_on_made_up_sentences(tmp_path):
    done = script("keywords.py", "--sizes", "1200", "--questions", "2", "--data", tmp_path / "nothing", "--json")

    assert [row["name"] for row in json.loads(done.stdout)["1200"]][:2] == ["add many", "room"]


def test_learning_is_measured_on_made_up_runs_where_there_is_no_real_data(tmp_path):
    done = script(
        "learning.py", "--part", "scale", "--part", "distill", "--runs", "200", "--data", tmp_path / "nothing"
    )

    assert "the parts distill and guilty are left out" in done.stderr
    assert "| 200 |" in done.stdout
    assert "Real runs" not in done.stdout


def test_compaction_is_measured_next_to_writing_json():
    done = script("exchange.py", "--size", "40000", "--rounds", "1", "--json")
    figures = json.loads(done.stdout)

    assert figures["messages"] == 9
    assert [row["name"].split()[0] for row in figures["rows"]] == ["json.dumps", *["compact,"] * 4]
    assert figures["rows"][0]["ratio"] == 1
    assert "times json.dumps" in script("exchange.py", "--size", "40000", "--rounds", "1").stdout


def test_encoding_is_measured_beside_sentence_transformers(tmp_path):
    done = script("encoding.py", "--data", tmp_path / "nothing", "--texts", "6", "--rounds", "1", "--no-cold", "--json")
    figures = json.loads(done.stdout)

    assert "the texts are made up" in done.stderr
    assert [row["name"].split()[0] for row in figures["rows"][:2]] == ["SentenceTransformer.encode,", "MiniLM"]
    assert min(row["cosine"] for row in figures["rows"]) > 0.999


def test_recall_by_words_is_measured_next_to_fts5(tmp_path):
    done = script("keywords.py", "--data", tmp_path / "nothing", "--sizes", "400", "--questions", "3", "--json")
    [figures] = json.loads(done.stdout).values()

    assert [figure["name"] for figure in figures[:3]] == ["add many", "room", "a question of 8 words (FTS5, all words)"]
    assert all(figure["ours"] > 0 for figure in figures)


def test_import_is_measured_next_to_sqlite_alone():
    [named, unnamed] = json.loads(script("bulk.py", "--sizes", "40", "--json").stdout)

    assert (named["run_id"], unnamed["run_id"]) == (True, False)
    assert next(iter(named["per_second"])) == "executemany and a trigger"
    assert len(named["per_second"]) == 5
    assert "| import_lines |" in script("bulk.py", "--sizes", "40", "--no-loop").stdout


def test_peers_are_measured_in_processes_of_their_own(tmp_path):
    args = ("--sizes", "200", "--part", "store", "--only", "hardwon", "--only", "numpy", "--data", tmp_path / "nothing")
    done = script("peers.py", *args, "--json")
    (part,) = json.loads(done.stdout)["parts"]

    assert "sentences are made up" in done.stderr
    for peer in ("hardwon", "numpy"):
        found = part["peers"][peer]
        assert "failed" not in found
        assert (found["rows"], found["vector recall"], found["filtered recall"]) == (200, 1, 1)
        assert min(found[key] for key in ("many", "one", "open", "vector", "filtered", "disk", "peak asking")) > 0
    assert {"words", "both"} <= part["peers"]["hardwon"].keys()


def test_peers_that_cannot_be_measured_are_a_line(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import peers

    stopped = peers.step(tmp_path, 0.01, step="fill", peer="numpy")
    broken = peers.step(tmp_path, 60, step="fill", peer="numpy")

    assert stopped == {"failed": "fill: no end within 0 s"}
    assert broken["failed"].startswith("fill: AttributeError")
    ours = {"rows": 5, "many": 10.0, "vector": 1.0}
    text = peers.text_of({"hardwon": ours, "numpy": {"rows": 5, "many": 40.0, "vector": 3.0}, "txtai": broken})
    assert "txtai: fill: AttributeError" in text
    assert text.splitlines()[-3].startswith("| numpy | **0.25** |  |  | 3.0 |")


def test_peers_explain_themselves_and_leave_out_what_is_not_installed(tmp_path):
    assert "--only" in script("peers.py", "--help").stdout
    done = script("peers.py", "--sizes", "20", "--part", "store", "--only", "tantivy", "--data", tmp_path / "nothing")
    assert "tantivy is left out: not installed" in done.stderr or "| tantivy | 20 |" in done.stdout


def test_grouping_says_that_it_has_no_data(tmp_path):
    assert "nothing is measured" in script("grouping.py", "--data", tmp_path / "nothing").stderr


def test_the_nearest_are_measured_beside_the_exact_product(tmp_path):
    done = script("vectors.py", "--sizes", "1500", "--real", "60", "--cache", tmp_path / "real.npy")

    assert "1,500 vectors" in done.stdout
    assert "recall@10 1.0000" in done.stdout
    assert "bytes an episode" in done.stdout


def test_the_import_of_a_long_transcript_is_measured():
    [first, again] = json.loads(script("importing.py", "--megabytes", "1", "--again", "--json").stdout)

    assert first["megabytes"] >= 1
    assert first["sessions"] == again["sessions"] >= 2
    assert min(first[key] for key in ("turns", "mb_per_second_wall", "mb_per_second_cpu", "peak_mb")) > 0
    assert "of memory at most" in script("importing.py", "--megabytes", "1", "--one-session").stdout
