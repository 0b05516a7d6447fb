"""Vectors by codes: the same answers as without, whatever was recorded, deleted or filtered in between."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from experience import Episode, Filter, Memory, SqliteStore
from experience.backends import codes, nearest
from experience.backends.embedding import EmbeddingBackend
from experience.backends.ranking import best

pytest.importorskip("faiss", reason="codes of vectors need faiss-cpu (the extra fast)")
WIDTH = 16


class Spots:
    """Vectors that are made up for each text; near texts have near numbers."""

    name, width = "spots", WIDTH

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        made = np.stack([vector(int(text.split()[-1]) if text.startswith("spot") else 10**6) for text in texts])
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def vector(number):
    near = np.random.default_rng(number // 10).standard_normal(WIDTH)
    return near + 0.3 * np.random.default_rng(10_000_000 + number).standard_normal(WIDTH)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(codes, "LEAST", 300)
    monkeypatch.setattr(codes, "CHUNK", 64)
    monkeypatch.setattr(nearest, "_FEW", 150)


def opened(store):
    return Memory(store, EmbeddingBackend(store, Spots()))


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    path = tmp_path_factory.mktemp("nearest") / "thousand.db"
    with SqliteStore(path) as store:
        fill(opened(store), range(1000))
        store.compact()
    return path


@pytest.fixture
def memory(path, thousand):
    shutil.copy(thousand, path)
    with SqliteStore(path) as store:
        made = opened(store)
        made.refresh()
        yield made


def fill(memory, numbers):
    with memory.store.write():
        for number in numbers:
            tags = [f"every {share}" for share in (2, 10, 100) if number % share == 0]
            memory.record(Episode(f"spot {number}", "x", tags=tuple(tags), success=(number % 3 == 0) or None))


def exact(memory, question, k, where=Filter()):
    """What is nearest, from the vectors themselves."""
    ids, vectors = memory.vectors()
    passing = [record.id for record in memory.records(where)]
    live = np.isin(ids, passing)
    scores = np.round(vectors[live] @ memory.backend.encoder.encode([question])[0], 6)
    return ids[live][best(ids[live], scores, k)].tolist()


def recalled(memory, question, k, where=Filter()):
    return [hit.id for hit in memory.backend.recall(question, k, where)]


def coded(memory):
    return memory.store.read("SELECT coalesce(sum(length(vectors)), 0) / 8 FROM codes")[0][0]


def agreement(memory, where=Filter(), k=10):
    """The share of the nearest that are found, over a few questions."""
    found = [(exact(memory, f"spot {n}", k, where), recalled(memory, f"spot {n}", k, where)) for n in range(5, 995, 40)]
    return sum(len(set(true) & set(ours)) for true, ours in found) / sum(len(true) for true, _ in found)


def test_a_large_space_has_codes_and_a_small_one_has_none(memory, tmp_path):
    assert coded(memory) == 960  # 15 full rows of 64; the others are looked through
    assert agreement(memory) > 0.99
    with SqliteStore(tmp_path / "small.db") as store:
        small = opened(store)
        fill(small, range(300))
        small.refresh()
        assert coded(small) == 0
        assert agreement(small) == 1


@pytest.mark.parametrize(
    "where",
    [
        Filter(tags=("every 2",)),
        Filter(tags=("every 10",)),
        Filter(tags=("every 100",)),
        Filter(tags=("every 2", "every 10")),
        Filter(success=True),
        Filter(ids=tuple(range(1, 1000, 7))),
        Filter(tags=("no such",)),
    ],
)
def test_filters_are_exact_whether_many_or_few_pass(memory, where):
    passing = {record.id for record in memory.records(where)}
    for number in (5, 555):
        assert set(recalled(memory, f"spot {number}", 10, where)) <= passing
        assert len(recalled(memory, f"spot {number}", 10, where)) == min(10, len(passing))
    if passing:
        assert agreement(memory, where) > 0.99
        everything = recalled(memory, "spot 5", 2000, where)
        assert sorted(everything) == sorted(passing)


def test_the_scores_are_the_exact_cosines(memory):
    ids, vectors = memory.vectors()
    query = memory.backend.encoder.encode(["spot 123"])[0]
    exactly = dict(zip(ids.tolist(), np.round(vectors @ query, 6).tolist(), strict=True))
    for hit in memory.backend.recall("spot 123", 50):
        assert hit.score == pytest.approx(exactly[hit.id], abs=2e-6)


def test_what_is_deleted_is_found_no_more_and_its_code_is_gone(memory):
    other = SqliteStore(memory.store.path)
    reader = opened(other)
    best_three = recalled(reader, "spot 500", 3)
    memory.delete(*best_three)

    assert not set(best_three) & set(recalled(reader, "spot 500", 1000))
    assert not set(best_three) & set(recalled(memory, "spot 500", 1000))
    assert coded(memory) == 957
    assert agreement(reader) > 0.99
    other.close()


def test_a_reader_reads_the_codes_again_when_most_of_them_have_gone(memory):
    with SqliteStore(memory.store.path) as other:
        reader = opened(other)
        recalled(reader, "spot 500", 3)
        memory.delete(*[record.id for record in memory.records()][100:])
        assert len(recalled(reader, "spot 500", 200)) == 100
        memory.store.rebuild()
        assert coded(memory) == 0
        memory.refresh()
        assert len(recalled(reader, "spot 500", 200)) == 100


def test_where_all_that_was_nearest_has_gone_what_comes_after_it_is_found(memory, monkeypatch):
    monkeypatch.setattr(nearest, "_LOOKED_AT", 80)
    fill(memory, [5000] * 90 + list(range(5001, 5010)) + list(range(6000, 6060)))
    memory.refresh()
    with SqliteStore(memory.store.path) as other:
        reader = opened(other)
        equal = recalled(reader, "spot 5000", 90)
        memory.delete(*equal)
        assert recalled(reader, "spot 5000", 5) == exact(memory, "spot 5000", 5)
        assert set(equal) < set(reader.backend._nearest._codes.episodes.tolist())  # which have not been read again


def test_a_namespace_that_was_deleted_and_begun_anew_is_followed(path):
    with SqliteStore(path) as store, SqliteStore(path) as there:
        memory, other = opened(store), opened(there)
        fill(memory, range(5))
        for reader in (memory, other):
            assert len(recalled(reader, "spot 3", 9)) == 5
        there.delete_namespace()
        for reader in (memory, other):
            assert recalled(reader, "spot 3", 9) == []
        fill(other, [3])
        for reader in (memory, other):
            assert recalled(reader, "spot 3", 9) == [6]


def test_vectors_that_go_while_they_get_codes_leave_no_empty_row(path, monkeypatch):
    with SqliteStore(path) as store, SqliteStore(path) as other:
        memory, made = opened(store), codes._rows
        fill(memory, range(400))

        def meanwhile(*how):
            rows = list(made(*how))
            other.rebuild()
            return iter(rows)

        monkeypatch.setattr(codes, "_rows", meanwhile)
        memory.refresh()
        assert store.read("SELECT count(*) FROM codes") == [(0,)]
        monkeypatch.setattr(codes, "_rows", made)
        memory.refresh()
        assert coded(memory) == 384
        assert agreement(memory) > 0.99


def test_what_is_new_is_found_at_once_and_gets_codes_at_the_next_refresh(memory):
    with SqliteStore(memory.store.path) as other:
        reader = opened(other)
        recalled(reader, "spot 500", 3)
        fill(memory, [1500, *range(2000, 2200)])
        memory.refresh()
        assert coded(memory) == 1152
        assert recalled(memory, "spot 1500", 1) == recalled(reader, "spot 1500", 1) == [1001]
        assert agreement(reader) > 0.99


def test_a_space_that_has_grown_four_times_over_gets_codes_of_its_own_time(memory):
    fill(memory, range(2000, 5000))
    memory.refresh()
    assert memory.store.read("SELECT trained_on FROM codebooks") == [(960,)]
    memory.refresh()
    [(trained,)] = memory.store.read("SELECT trained_on FROM codebooks")
    assert trained == coded(memory) == 3968
    assert agreement(memory) > 0.99


def test_codes_of_another_recipe_are_neither_read_nor_kept(memory):
    with memory.store.write() as db:
        db.execute("UPDATE codebooks SET recipe = 'of another release', codebook = x'00'")
    with SqliteStore(memory.store.path) as store:
        reader = opened(store)
        assert agreement(reader) == 1  # looked through
        reader.refresh()
        assert store.read("SELECT recipe FROM codebooks") == [(codes._RECIPE,)]
        assert coded(reader) == 960
        assert agreement(reader) > 0.99


def test_reading_codes_is_left_out_where_faiss_is_not_installed(memory, monkeypatch):
    monkeypatch.setattr(codes, "_faiss", lambda: None)
    with SqliteStore(memory.store.path) as other:
        assert agreement(opened(other)) == 1
        opened(other).refresh()
    monkeypatch.undo()


def test_expired_episodes_are_not_found_by_their_codes(memory):
    soon = datetime.now(UTC) + timedelta(days=1)
    id = memory.record(Episode("spot 4242", "x"), expires_at=soon)
    fill(memory, range(6000, 6100))
    memory.refresh()
    assert recalled(memory, "spot 4242", 1) == [id]
    with SqliteStore(memory.store.path, clock=lambda: soon + timedelta(days=1)) as later:
        assert id not in recalled(opened(later), "spot 4242", 2000)
        assert id not in recalled(opened(later), "spot 4242", 2000, Filter(since=datetime(2020, 1, 1, tzinfo=UTC)))


def test_namespaces_have_codes_of_their_own(memory):
    with SqliteStore(memory.store.path, namespace="theirs") as store:
        theirs = opened(store)
        assert recalled(theirs, "spot 5", 10) == []
        fill(theirs, range(500))
        theirs.refresh()
        assert len(store.read("SELECT DISTINCT space FROM codes")) == 2
        assert {memory.store.namespace, "theirs"} == {name for (name,) in store.read("SELECT namespace FROM spaces")}
        assert agreement(theirs) > 0.99
        store.delete_namespace()
        assert len(store.read("SELECT DISTINCT space FROM codes")) == 1
    assert agreement(memory) > 0.99


REFRESH = """
import sys
sys.path.insert(0, {tests!r})
from test_nearest import codes, nearest, opened
from experience import SqliteStore
codes.LEAST, codes.CHUNK = 300, 64
with SqliteStore({path!r}) as store:
    opened(store).refresh()
"""


def test_processes_that_refresh_together_double_nothing(path):
    with SqliteStore(path) as store:
        memory = opened(store)
        fill(memory, range(1500))
        script = REFRESH.format(tests=str(__file__).rsplit("/", 1)[0], path=str(path))
        running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
        assert [process.wait() for process in running] == [0, 0, 0]
        held = np.concatenate([np.frombuffer(blob, "<i8") for (blob,) in store.read("SELECT vectors FROM codes")])
        assert len(np.unique(held)) == len(held) == 1472
        assert agreement(memory) > 0.99


def test_equal_texts_are_embedded_once(path):
    with SqliteStore(path) as store:
        memory = opened(store)
        fill(memory, [1, 2, 1, 1])
        memory.refresh()
        fill(memory, [2, 3])
        memory.refresh()
        embedded = [text for text in memory.backend.encoder.texts if text.startswith("spot")]
        assert embedded == ["spot 1", "spot 2", "spot 3"]
        assert len(memory.vectors()[0]) == 6


def test_what_was_seen_in_a_transaction_that_failed_is_found_no_more(path):
    with SqliteStore(path) as store:
        memory = opened(store)
        fill(memory, [1, 2])
        memory.refresh()
        with pytest.raises(RuntimeError), store.write():
            fill(memory, [33])
            assert recalled(memory, "spot 33", 1) == [3]
            raise RuntimeError
        assert sorted(recalled(memory, "spot 33", 5)) == [1, 2]
        fill(memory, [44, 55])
        assert recalled(memory, "spot 44", 1) == [3]
        assert recalled(memory, "spot 55", 1) == [4]


def test_a_sample_is_spread_over_the_episodes_and_is_the_same_each_time(memory):
    sample = memory.backend.sample(100)
    assert sample.shape == (100, WIDTH)
    assert np.array_equal(sample, memory.backend.sample(100))
    assert np.array_equal(memory.backend.sample(5000), memory.vectors()[1])
