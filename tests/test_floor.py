"""A question that nothing fits gets nothing, and what fits is not lost in a small store."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from experience import EncoderError, Episode, Filter, Hit, Memory, SqliteStore
from experience.backends import NAMES, open_backend
from experience.backends.encoders import MiniLM
from experience.backends.floor import MeaningFloor, NoFloor, WordsFloor, floor_under
from experience.backends.hybrid import HybridBackend, fused
from experience.cli import main
from experience.demo import sample
from experience.testing import HashEncoder
from experience.transfer import import_lines

FOREIGN = ("zxqv wprt mnbk", "prune the apple tree in spring", "lorem ipsum dolor sit amet consectetur")


@pytest.fixture(scope="module")
def minilm():
    return MiniLM()


@pytest.fixture(scope="module")
def shop(minilm):
    """A store of one kind of task."""
    with SqliteStore(":memory:") as store:
        memory = Memory(store, open_backend("hybrid", store, minilm))
        for what in ("torn", "late", "lost", "wet", "wrong", "heavy", "stolen", "opened"):
            for who in ("Ada", "Bob", "Cleo", "Dan"):
                memory.record(Episode(f"Refund the order of {who}, whose parcel was {what}", "done"))
        memory.refresh()
        yield memory


@pytest.mark.parametrize("question", FOREIGN)
def test_a_foreign_question_gets_nothing_and_is_told_how_many_came_near(shop, question):
    answer = shop.ask(question, k=3)

    assert (answer.matches, answer.near_misses) == ((), 3)
    assert answer.best_miss == pytest.approx(shop.recall(question, 3, floor=False)[0].score)


@pytest.mark.parametrize("question", ["parcel arrived damaged", "give the customer their money back", "Cleo"])
def test_what_fits_is_found_without_any_loss(shop, question):
    assert shop.recall(question, 3) == shop.recall(question, 3, floor=False) != []


def test_a_score_of_your_own_stands_in_place_of_the_floor(shop):
    assert len(shop.recall(FOREIGN[0], 3, min_score=-1)) == 3
    assert shop.recall("parcel arrived damaged", 3, min_score=2) == []
    assert shop.ask("parcel arrived damaged", 3, min_score=2).near_misses == 3


@pytest.mark.parametrize("question", ["put the documentation online", "publish the docs", "docs site"])
def test_the_only_episode_of_a_store_is_found(minilm, question, store):
    memory = Memory(store, open_backend("hybrid", store, minilm))
    id = memory.record(Episode("Publish the docs site", "live"))

    assert [match.id for match in memory.recall(question)] == [id]


@pytest.mark.parametrize("question", ["qzx wvk", "football results", "x", "1234"])
def test_the_only_episode_of_a_store_is_not_told_of_whatever_is_asked(minilm, question, store):
    memory = Memory(store, open_backend("hybrid", store, minilm))
    memory.record(Episode("Rotate the API keys of the payment service", "Two services kept the old key"))

    assert memory.recall(question) == []


def test_a_name_that_no_model_knows_is_found_by_its_letters(shop):
    id = shop.record(Episode("XK-4711 fails with E0042", "done"))
    try:
        assert [match.id for match in shop.recall("XK-4711", 1)] == [id]
    finally:
        shop.delete(id)


def test_the_sample_loses_none_of_what_it_finds(minilm):
    with SqliteStore(":memory:") as store:
        import_lines(store, sample("episodes.jsonl"))
        memory = Memory(store, open_backend("hybrid", store, minilm))
        memory.refresh()
        asked = [json.loads(line)["situation"] for line in sample("queries.jsonl")]
        empty = [text for text in asked if not memory.recall(text)]

    assert empty == []


def test_a_recall_writes_no_floor_and_a_refresh_does_once_until_there_are_twice_as_many(store):
    memory = Memory(store, open_backend("embedding", store, HashEncoder()))
    for number in range(8):
        memory.record(Episode(f"task {number}", "o"))
    memory.recall("task")
    assert store.setting("floor of hash-64") is None

    memory.refresh()
    kept = store.setting("floor of hash-64")
    for number in range(8, 15):
        memory.record(Episode(f"task {number}", "o"))
    memory.refresh()
    assert store.setting("floor of hash-64") == kept
    memory.record(Episode("task 15", "o"))
    memory.refresh()
    assert json.loads(store.setting("floor of hash-64"))["last"] == 16


def test_the_floor_is_the_same_for_the_same_store_whoever_finds_it_out(store):
    memory = Memory(store, open_backend("embedding", store, HashEncoder()))
    for number in range(30):
        memory.record(Episode(f"task {number} of {number % 7}", "o"))
    memory.backend.refresh()
    asked = MeaningFloor(store, memory.backend)._calibration()
    memory.refresh()

    assert MeaningFloor(store, memory.backend)._calibration().last == asked.last == 30
    assert MeaningFloor(store, memory.backend)._calibration().meaning == pytest.approx(asked.meaning, abs=1e-6)


class Given:
    """An encoder of given vectors."""

    name, width = "given", 4

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts):
        return np.stack([self.vectors.get(text, np.array([0, 0, 0, 1])) for text in texts]).astype(np.float32)


@settings(max_examples=25)
@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_no_floor_is_above_a_third_and_a_bit_and_none_below_nothing(count, alike, seed):
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((count, 4)) * (1 - alike) + alike * np.array([5.0, 0, 0, 0])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    with SqliteStore(":memory:") as store:
        memory = Memory(
            store, open_backend("embedding", store, Given({f"t{number}": row for number, row in enumerate(rows)}))
        )
        for number in range(count):
            memory.record(Episode(f"t{number}", "o"))
        memory.refresh()

        assert 0 <= MeaningFloor(store, memory.backend)._calibration().meaning <= 0.36


@pytest.mark.parametrize(
    ("hits", "reached"),
    [
        ([Hit(1, 9, "", 0.0, 0.02), Hit(2, 8, "", 0.0, 0.01)], [False, False]),
        ([Hit(1, 9, "", 0.0, 0.6), Hit(2, 8, "", 0.0, 0.05)], [True, False]),
        ([Hit(1, 9, "", 0.6, 0.0), Hit(2, 8, "", 0.2, 0.0), Hit(3, 7, "", 0.0, 0.0)], [True, True, False]),
        ([Hit(1, 9, "", 0.3, None)], [False]),
        ([], []),
    ],
)
def test_the_best_has_to_reach_it_by_meaning_or_by_half_of_the_words_and_the_rest_may_lie_lower(store, hits, reached):
    memory = Memory(store, open_backend("hybrid", store, HashEncoder(width=512)))
    for number in range(60):
        memory.record(Episode(f"a{number} b{number} c{number}", "o"))
    memory.refresh()

    assert floor_under(store, memory.backend).reached("q1 q2 q3", hits) == reached


def test_by_words_a_question_of_which_only_what_says_little_is_found_has_found_nothing(memory):
    for number in range(200):
        memory.record(Episode(f"please handle case{number} quickly now", "o"))

    assert memory.ask("handle chinchillas, volcanoes and harpsichords").near_misses == 3
    assert memory.recall("case17")[0].id == 18
    assert len(memory.recall("please handle quickly")) == 3, "it says no more than what stands everywhere"


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_is_applied_before_the_floor(store, name):
    memory = Memory(store, open_backend(name, store, HashEncoder(width=512)))
    for number in range(40):
        memory.record(Episode(f"deploy the docs site {number}", "x", success=True))
    failed = memory.record(Episode("deploy the docs site somewhere", "x", success=False))

    assert [match.id for match in memory.recall("deploy the docs site", where=Filter(success=False))] == [failed]


def test_a_backend_of_another_kind_has_no_floor(store):
    class Own:
        def recall(self, situation, k, where=Filter()):
            return [Hit(1, -5.0, "own")]

    assert isinstance(floor_under(store, Own()), NoFloor)
    assert isinstance(floor_under(store, HybridBackend(Own(), Own())), NoFloor)
    assert floor_under(store, Own()).reached("x", [Hit(1, -5.0, "own")]) == [True]
    assert isinstance(floor_under(store, open_backend("keyword", store)), WordsFloor)


def remarks(path, *args):
    done = CliRunner().invoke(main, ["--db", str(path), "--backend", "keyword", "recall", *args])
    assert done.exit_code in (0, 2), done.output
    return done.stderr


def test_the_command_says_what_was_left_out(path):
    with SqliteStore(path) as store:
        for number in range(50):
            store.record(Episode(f"handle case{number} quickly", "o", success=False))

    foreign = ("handle chinchillas, volcanoes and harpsichords",)
    assert remarks(path, *foreign).startswith("nothing similar was found; 3 near misses, the best 0.0")
    assert remarks(path, *foreign, "--no-floor") == ""
    assert remarks(path, *foreign, "--min-score", "1").startswith("3 runs scored less than 1, the best 0.0")
    assert remarks(path, "unheard") == "nothing similar was found\n"
    assert "not both" in remarks(path, "x", "--no-floor", "--min-score", "1")
    assert remarks(path, "handle quickly", "--success") == (
        "nothing similar has worked yet; 3 similar runs failed (--failure shows)\n"
    )
    assert remarks(path, "handle quickly", "--prefer-success") == "nothing similar has worked yet\n"


def test_a_store_of_other_runs_has_another_floor_once_the_old_ones_are_deleted(store):
    memory = Memory(store, open_backend("embedding", store, HashEncoder()))
    alike = [
        memory.record(Episode(f"please cancel my flight to the coast, case {number}", "o")) for number in range(60)
    ]
    memory.refresh()
    assert memory._floor._calibration().meaning == 0.36
    memory.delete(*alike)
    memory.record(Episode("bake bread", "o"))
    memory.refresh()

    assert memory._floor._calibration().meaning < 0.36


def test_an_encoder_that_fails_while_the_floor_is_found_out_leaves_none_behind(store):
    class Failing(HashEncoder):
        def encode(self, texts):
            return super().encode(texts)[: 0 if "blorp snarf quib" in texts else None]

    memory = Memory(store, open_backend("embedding", store, Failing()))
    for number in range(30):
        memory.record(Episode(f"task {number}", "o"))
    with pytest.raises(EncoderError, match="gave shape"):
        memory.refresh()

    assert store.setting("floor of hash-64") is None


def test_whether_anything_fits_does_not_hang_on_how_many_are_asked_for(store):
    class Arms(HybridBackend):
        def recall(self, situation, k, where=Filter()):
            return [Hit(1, 0.5, "", 0.3, 0.0), Hit(2, 0.4, "", 0.0, 0.9)][:k]

    given = open_backend("hybrid", store, HashEncoder(width=512))
    memory = Memory(store, Arms(*given._arms, store))
    for number in range(30):
        memory.record(Episode(f"a{number} b{number}", "o"))
    memory.refresh()

    assert [match.id for match in memory.recall("q1 q2 q3", 1)] == [1]
    assert [match.id for match in memory.recall("q1 q2 q3", 2)] == [1, 2]


def test_what_is_asked_word_for_word_comes_first_though_another_run_says_its_words_more_often():
    words = [Hit(2, 0.9, "keyword 1"), Hit(3, 0.8, "keyword 2"), Hit(1, 0.5, "keyword 3")]
    meaning = [Hit(1, 1.0, "embedding 1"), Hit(2, 0.95, "embedding 2"), Hit(3, 0.6, "embedding 3")]
    almost = [meaning[0]._replace(score=0.99), *meaning[1:]]

    assert [hit.id for hit in fused("change my flight", words, meaning, 9)] == [1, 2, 3]
    assert [hit.id for hit in fused("change my flight", words, almost, 9)] == [2, 1, 3]


def test_of_texts_that_the_encoder_cannot_tell_apart_words_decide():
    words, meaning = [Hit(1, 0.9, "keyword 1")], [Hit(2, 1.0, "embedding 1"), Hit(1, 1.0, "embedding 1")]

    assert [hit.id for hit in fused("你好", words, meaning, 9)] == [1, 2]


def test_remarks_go_to_standard_error_beside_json_too(path):
    with SqliteStore(path) as store:
        for number in range(50):
            store.record(Episode(f"handle case{number} quickly", "o"))
    asked = ("recall", "handle chinchillas, volcanoes and harpsichords", "--json")
    done = CliRunner().invoke(main, ["--db", str(path), "--backend", "keyword", *asked])

    assert json.loads(done.stdout) == []
    assert "3 near misses" in done.stderr
