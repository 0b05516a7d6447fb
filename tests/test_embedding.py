"""Vectors: pulled once, never mixed, and the same as a plain script would make."""

import threading
import warnings

import numpy as np
import pytest

from experience import EncoderError, Episode, Memory, SqliteStore
from experience.backends import embedding, open_backend
from experience.backends.floor import _NOTHING_SAID
from experience.testing import HashEncoder


def remember(store, encoder, count=0, backend="embedding"):
    memory = Memory(store, open_backend(backend, store, encoder))
    for number in range(count):
        memory.record(Episode(f"task number {number}", "o"))
    return memory


def vectors(store):
    return store.read(
        "SELECT episode_id, encoder, width, vector FROM vectors v JOIN spaces s ON s.id = v.space ORDER BY episode_id, encoder"
    )


def test_vectors_are_unit_little_endian_float32_beside_their_encoders_name(store):
    encoder = HashEncoder(width=48)
    remember(store, encoder, 3).refresh()

    for number, (id, name, width, blob) in enumerate(vectors(store)):
        vector = np.frombuffer(blob, dtype="<f4")
        assert (id, name, width, len(vector)) == (number + 1, "hash-48", 48, 48)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert vector == pytest.approx(encoder.encode([f"task number {number}"])[0])


def test_the_answer_is_the_exact_cosine_order(store):
    encoder = HashEncoder()
    memory = remember(store, encoder, 200)
    memory.refresh()
    query = "number 17 task and 3"
    cosines = encoder.encode([f"task number {number}" for number in range(200)]) @ encoder.encode([query])[0]

    hits = memory.backend.recall(query, 10)

    assert [hit.id - 1 for hit in hits] == sorted(range(200), key=lambda at: (-round(float(cosines[at]), 6), -at))[:10]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True)[:10], abs=2e-6)


def test_nothing_is_embedded_twice(store):
    encoder = HashEncoder()
    memory = remember(store, encoder, 10)
    memory.refresh()
    memory.record(Episode("one more", "o"))
    memory.refresh()
    remember(store, encoder).refresh()

    embedded = [text for call in encoder.calls for text in call if text not in _NOTHING_SAID]
    assert len(embedded) == len(set(embedded)) == 11


class Broken(HashEncoder):
    """Breaks down at its third call."""

    def encode(self, texts):
        if len(self.calls) == 2:
            raise KeyboardInterrupt
        return super().encode(texts)


def test_a_refresh_that_is_broken_off_goes_on_where_it_stopped(store):
    broken = Broken()
    memory = remember(store, broken, 300)
    with pytest.raises(KeyboardInterrupt):
        memory.refresh()
    done = len(vectors(store))
    assert 0 < done < 300

    whole = HashEncoder()
    assert remember(store, whole).refresh() == 300 - done
    assert len(vectors(store)) == 300
    assert {len(blob) for *_, blob in vectors(store)} == {256}


def test_another_encoder_fills_in_beside_the_old_one_and_never_mixes(store):
    old, new = HashEncoder(name="old"), HashEncoder(name="new", width=32)
    remember(store, old, 5).refresh()
    memory = remember(store, new)

    assert memory.backend.pending() == 5
    assert store.setting("encoder") == "old-64"
    assert memory.refresh() == 5
    assert store.setting("encoder") == "new-32"
    assert [name for _, name, *_ in vectors(store)] == ["new-32", "old-64"] * 5
    assert len(memory.recall("task number 3", k=9)) == 5
    assert len(remember(store, old).recall("task number 3", k=9)) == 5


def test_the_first_encoder_becomes_the_stores_own_and_only_a_refresh_changes_it(store):
    memory = remember(store, HashEncoder(name="first"), 3)
    assert store.setting("encoder") is None
    memory.recall("task")
    assert store.setting("encoder") == "first-64"
    other = remember(store, HashEncoder(name="other"))
    other.recall("task")
    assert store.setting("encoder") == "first-64"
    other.refresh()

    assert store.setting("encoder") == "other-64"


def test_two_encoders_of_one_width_are_not_compared(store):
    first, second = HashEncoder(name="first"), HashEncoder(name="second")
    remember(store, first, 3).refresh()
    memory = remember(store, second)
    memory.refresh()

    assert memory.backend.recall("task number 1", 1)[0].score == pytest.approx(1, abs=1e-5)


def test_a_recall_catches_up_with_a_few_and_warns_of_many(store, monkeypatch):
    monkeypatch.setattr(embedding, "_CATCH_UP", 4)
    memory = remember(store, HashEncoder(), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(memory.recall("task", k=9)) == 3
    for number in range(9):
        memory.record(Episode(f"later {number}", "o"))
    with pytest.warns(UserWarning, match=r"5 episodes have no vector yet.*refresh"):
        assert len(memory.recall("task", k=99, floor=False)) == 7

    memory.refresh()
    assert len(memory.recall("task", k=99, floor=False)) == 12


def test_an_encoder_that_gives_the_wrong_shape_is_an_error(store):
    class Short(HashEncoder):
        def encode(self, texts):
            return super().encode(texts)[:, :-1]

    memory = remember(store, Short(), 1)
    with pytest.raises(EncoderError, match=r"\(1, 63\) for 1 texts; it needs \(1, 64\)"):
        memory.refresh()
    assert vectors(store) == []


class Interfering(HashEncoder):
    """While it encodes, somebody else changes the store."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def encode(self, texts):
        if self.act:
            act, self.act = self.act, None
            act()
        return super().encode(texts)


@pytest.mark.parametrize("how", ["deleted", "superseded"])
def test_what_went_while_it_was_being_embedded_gets_no_vector(store, path, how):
    memory = remember(store, HashEncoder())
    memory.record(Episode("stays", "o"))
    gone = memory.record(Episode("goes", "o"), run_id="r")

    def act():
        with SqliteStore(path) as other:
            if how == "deleted":
                other.delete(gone)
            else:
                other.record(Episode("goes on", "o", run_id="r"), supersede=True)

    memory = remember(store, Interfering(act))
    memory.refresh()

    assert gone not in [id for id, *_ in vectors(store)]
    assert gone not in [match.id for match in memory.recall("goes", k=9)]


def test_the_matrix_grows_and_shrinks_with_the_store(store):
    memory = remember(store, HashEncoder(), 30)
    for round_ in range(6):
        for record in memory.records(limit=7):
            memory.delete(record.id)
        for number in range(11):
            memory.record(Episode(f"round {round_} number {number}", "o"))
        matches = memory.recall("number", k=999)
        assert sorted(match.id for match in matches) == sorted(record.id for record in memory.records())


def test_after_a_rebuild_an_open_backend_answers_each_episode_once(store, path):
    memory = remember(store, HashEncoder(), 5)
    memory.recall("task")
    with SqliteStore(path) as other:
        other.rebuild()
        open_backend("embedding", other, HashEncoder()).refresh()

    hits = memory.backend.recall("task number", 99)
    assert sorted(hit.id for hit in hits) == [1, 2, 3, 4, 5]


def test_a_rebuild_in_the_middle_of_a_refresh_leaves_nothing_without_a_vector(store, path):
    def act():
        with SqliteStore(path) as other:
            other.rebuild()

    memory = remember(store, HashEncoder(), 100)
    memory.backend._pull(64)
    remember(store, Interfering(act)).refresh()

    assert len(vectors(store)) == 100


@pytest.mark.parametrize("flaw", [5.0, float("nan"), 0.0])
def test_vectors_that_are_not_of_unit_length_are_an_error(store, flaw):
    class Flawed(HashEncoder):
        def encode(self, texts):
            return super().encode(texts) * flaw

    memory = remember(store, Flawed(), 1)
    with pytest.raises(EncoderError, match="need to be 1"):
        memory.refresh()


def test_an_encoder_may_answer_with_lists(store):
    class Lists(HashEncoder):
        def encode(self, texts):
            return super().encode(texts).tolist()

    assert remember(store, Lists(), 2).refresh() == 2


def test_one_name_for_two_widths_is_an_error(store):
    remember(store, HashEncoder(width=32), 1).refresh()
    same = HashEncoder(width=48)
    same.name = "hash-32"
    with pytest.raises(EncoderError, match="of width 32, and it makes them of width 48"):
        remember(store, same).recall("task")


def test_recalling_inside_a_transaction_while_others_recall_does_not_lock_up(store):
    memory = remember(store, HashEncoder(), 20)
    memory.refresh()

    def inside():
        for _ in range(30):
            with store.write():
                memory.recall("task")

    def outside():
        for _ in range(60):
            memory.recall("task")

    threads = [threading.Thread(target=work, daemon=True) for work in (inside, outside, outside)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_the_limit_on_threads_is_put_back_when_overlapping_blocks_have_ended():
    from threadpoolctl import threadpool_info

    from experience.backends.threads import one_thread

    def limits():
        return [pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]]

    before = limits()
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    assert set(limits()) <= {1}
    first.__exit__(None, None, None)
    assert set(limits()) <= {1}
    second.__exit__(None, None, None)

    assert limits() == before
