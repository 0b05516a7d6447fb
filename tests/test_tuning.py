"""What a store learns from its own history: only where it helps, and never by more than it can show."""

import json

import pytest
from click.testing import CliRunner

from experience import Episode, Filter, Hit, Memory, SqliteStore
from experience.backends import open_backend
from experience.backends.hybrid import HybridBackend, fused
from experience.backends.tuning import keep, tuned
from experience.cli import main
from experience.testing import HashEncoder


class Misled(HashEncoder):
    """Sees only how long a text is, and says so of everything."""

    def encode(self, texts):
        return super().encode(["x" * (len(text) % 7 + 1) for text in texts])


KINDS = ("bread oven flour", "refund order money", "deploy site docs", "rotate key vault", "lint python module")


def filled(store, encoder, runs=120):
    memory = Memory(store, open_backend("hybrid", store, encoder))
    with store.write():
        for number in range(runs):
            kind = number % len(KINDS)
            memory.record(Episode(f"{KINDS[kind]} case{'x' * (number % 11)} {number}", "o", tools=(f"tool{kind}",)))
    memory.refresh()
    return memory


def test_where_meaning_misleads_words_are_given_more_weight_and_recall_gets_better(store):
    memory = filled(store, Misled())
    found = tuned(store, memory.backend)

    assert found.better
    assert found.lean > 0
    assert found.after > found.before
    assert memory.backend.lean() == 0, "nothing is written before it is kept"
    keep(store, memory.backend, found.lean)
    assert tuned(store, memory.backend).before == pytest.approx(found.after)


def test_what_was_learned_is_kept_for_one_encoder_in_one_namespace(store, path):
    memory = filled(store, Misled(), 10)
    keep(store, memory.backend, 0.45)

    assert open_backend("hybrid", store, Misled()).lean() == 0.45
    assert open_backend("hybrid", store, HashEncoder(width=32)).lean() == 0
    with SqliteStore(path, "other") as other:
        assert open_backend("hybrid", other, Misled()).lean() == 0


def test_without_names_in_common_there_is_nothing_to_learn_from(store):
    memory = Memory(store, open_backend("hybrid", store, HashEncoder()))
    for number in range(60):
        memory.record(Episode(f"task {number}", "o", tools=(f"tool{number}",)))
    memory.refresh()

    assert (tuned(store, memory.backend).asked, tuned(store, memory.backend).better) == (0, False)


def test_where_all_is_well_nothing_changes(store):
    memory = filled(store, HashEncoder(width=256))

    assert not tuned(store, memory.backend).better


def test_a_lean_moves_weight_from_meaning_to_words_and_no_further_than_all_of_it():
    words, meaning = [Hit(1, 1.0, "w")], [Hit(2, 1.0, "m")]

    assert [hit.id for hit in fused("one", words, meaning, 9)] == [2, 1]
    assert [hit.id for hit in fused("one", words, meaning, 9, 0.5)] == [1, 2]
    assert fused("one", words, meaning, 9, 0.7) == fused("one", words, meaning, 9, 5.0)


def test_a_hybrid_without_a_store_leans_to_nothing():
    class Arm:
        def recall(self, situation, k, where=Filter()):
            return []

    assert HybridBackend(Arm(), Arm()).lean() == 0


@pytest.fixture
def run(path):
    def call(*args, backend="hybrid"):
        return CliRunner().invoke(main, ["--db", str(path), "--backend", backend, *args])

    return call


def test_the_command_says_before_and_after_and_keeps_only_what_is_better(run, path, monkeypatch):
    monkeypatch.setattr("experience.backends.encoders.open_encoder", lambda _: Misled())
    with SqliteStore(path) as store:
        filled(store, Misled())

    assert json.loads(run("tune", "--dry-run", "--json").stdout)["kept"] is False
    done = run("tune")
    assert (done.exit_code, done.stderr) == (0, "kept\n")
    assert done.stdout.startswith("held-out nDCG@10")
    assert run("tune", "--forget").exit_code == 0
    with SqliteStore(path) as store:
        assert open_backend("hybrid", store, Misled()).lean() == 0


def test_the_command_refuses_a_backend_that_has_nothing_to_tune(run, path):
    SqliteStore(path).close()
    done = run("tune", backend="keyword")

    assert done.exit_code == 1
    assert "only hybrid has something to tune" in done.stderr


def test_a_dry_run_forgets_nothing_and_what_is_forgotten_is_told_to_programs(run, path, monkeypatch):
    monkeypatch.setattr("experience.backends.encoders.open_encoder", lambda _: Misled())
    with SqliteStore(path) as store:
        keep(store, open_backend("hybrid", store, Misled()), 0.45)

    assert run("tune", "--dry-run", "--forget").exit_code == 2
    assert json.loads(run("tune", "--forget", "--json").stdout) == {"lean": 0.0, "was": 0.45, "kept": True}
