"""Recall by words: whatever has happened to a store, it answers as one that never held anything else."""

import signal
import sqlite3
import subprocess
import sys
from datetime import timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experience import Episode, Filter, SqliteStore, postings
from experience.backends.keyword import KeywordBackend
from experience.backends.lists import Index
from experience.tell.past import store_as_of
from experience.wordlists import Block, Lists, blocks, found, inverted, joined, merged, without

WORDS = ("deploy", "website", "bread", "key", "the", "部署", "deploy.sh", "of")
TOGETHER = "deploy website bread key 部署 deploy.sh the unheard"


@pytest.fixture
def small(monkeypatch):
    """Segments of two documents, of four, and of eight: every kind of them with a handful of documents."""
    make_small(monkeypatch)


def make_small(monkeypatch):
    monkeypatch.setattr(postings, "SEGMENT", 2)
    monkeypatch.setattr(postings, "_FACTOR", 2)
    monkeypatch.setattr(postings, "BLOCK", 8)


def fill(store, count, text="deploy the website number {}"):
    return [store.record(Episode(text.format(number), "done")).id for number in range(count)]


def rooms(store):
    return [room for (room,) in store.read("SELECT room FROM segments ORDER BY space, first")]


sayings = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("record"), sayings, sayings),
        st.tuples(st.just("record"), sayings, sayings),
        st.tuples(st.just("supersede"), sayings, sayings),
        st.tuples(st.just("elsewhere"), sayings, sayings),
        st.tuples(st.just("delete"), st.integers(0, 50)),
        st.tuples(st.just("delete many"), st.integers(0, 50), st.integers(1, 9)),
        st.just(("refresh",)),
        st.just(("rebuild",)),
        st.just(("ask",)),
    ),
    max_size=40,
)


def act(store, other, living, what, *how):
    """Do it; `living` is what can be recalled, in the order of ids: id to situation and outcome."""
    if what == "record":
        living[store.record(Episode(*how)).id] = how
    elif what == "elsewhere":
        other.record(Episode(*how))
    elif what == "supersede":
        older = [id for id in living if store.get(id).episode.run_id == "r"]
        new = store.record(Episode(*how, run_id="r"), supersede=True)
        if new.new:
            for id in older:
                del living[id]
            living[new.id] = how
    elif what.startswith("delete") and living:
        ids = list(living)
        at, count = how[0] % len(ids), how[1] if len(how) > 1 else 1
        for id in store.delete(*ids[at : at + count]):
            living.pop(id, None)
    elif what == "refresh":
        KeywordBackend(store).refresh()
    elif what == "rebuild":
        store.rebuild()


@settings(max_examples=150)
@given(acts)
def test_whatever_was_done_the_answer_is_that_of_a_store_that_holds_only_what_is_left(done):
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        make_small(patch)
        store, other = SqliteStore(Path(folder, "a.db")), SqliteStore(Path(folder, "a.db"), "other")
        following, living = KeywordBackend(store), {}
        for one in done:
            act(store, other, living, *one)
            if one == ("ask",):
                following.recall(TOGETHER, 5)
        fresh = SqliteStore(":memory:")
        number = {fresh.record(Episode(*how)).id: id for id, how in living.items()}
        for asked in (TOGETHER, "deploy", "the of", "website bread bread"):
            expected = [(number[hit.id], hit.score) for hit in KeywordBackend(fresh).recall(asked, 60)]
            for backend in (following, KeywordBackend(store), KeywordBackend(SqliteStore(Path(folder, "a.db")))):
                assert [(hit.id, hit.score) for hit in backend.recall(asked, 60)] == expected


def test_segments_grow_by_merging(store, small):
    fill(store, 15)
    assert rooms(store) == [4, 4, 4, 2]
    KeywordBackend(store).refresh()
    assert rooms(store) == [8, 4, 2]
    assert store.read("SELECT DISTINCT segment FROM postings ORDER BY 1") == store.read(
        "SELECT number FROM segments ORDER BY 1"
    )
    before = store.read("SELECT * FROM segments")
    KeywordBackend(store).refresh()
    assert store.read("SELECT * FROM segments") == before


def test_what_is_left_in_a_segment_of_which_most_has_gone_moves_to_the_end(store, small):
    ids = fill(store, 16)
    KeywordBackend(store).refresh()
    store.delete(*ids[:5])
    assert store.read("SELECT living FROM segments ORDER BY first") == [(3,), (8,)]
    KeywordBackend(store).refresh()
    assert store.read("SELECT first, living FROM segments ORDER BY first") == [(8, 8), (16, 2)]
    assert {hit.id for hit in KeywordBackend(store).recall("website", 20)} == set(ids[5:])


def test_a_segment_goes_with_its_last_document(store, small):
    ids = fill(store, 4)
    store.delete(*ids[:3])
    store.delete(ids[3])
    for table in ("words", "segments", "segment_documents", "postings"):
        assert store.read(f"SELECT count(*) FROM {table}") == [(0,)], table


def test_no_word_of_a_deleted_run_is_left_in_the_file(path, small):
    with SqliteStore(path) as store:
        for number in range(30):
            store.record(Episode(f"task {number}", "done"))
            if number in (3, 20, 29):
                store.record(Episode(f"log in with hunter2x{number}", f"hunter3x{number}", tools=(f"hunter4x{number}",), run_id=f"r{number}"))  # fmt: skip
        KeywordBackend(store).refresh()
        for number in (3, 20, 29):
            id = store.get_run(f"r{number}").id
            assert KeywordBackend(store).recall(f"hunter3x{number}", 3)[0].id == id
            store.delete(id)
        store.compact()
        assert b"hunter" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert len(KeywordBackend(store).recall("task", 50)) == 30


def test_no_word_of_a_superseded_version_is_left_in_the_index(store, small):
    store.record(Episode("use hunter2x", "done", run_id="r"))
    fill(store, 9)
    store.record(Episode("use something else", "done", run_id="r"), supersede=True)
    everything = store.read("SELECT group_concat(words) FROM postings") + store.read(
        "SELECT group_concat(situation) FROM words"
    )
    assert "hunter" not in str(everything)


@pytest.mark.parametrize("segmented", [True, False])
def test_another_namespace_shifts_no_score(path, monkeypatch, segmented):
    if segmented:
        make_small(monkeypatch)
    ours, theirs = SqliteStore(path, "ours"), SqliteStore(path, "theirs")
    fill(ours, 7)
    backend = KeywordBackend(ours)
    before = backend.recall("deploy website number3", 10)
    fill(theirs, 9, "deploy website number3 {}")
    assert (
        backend.recall("deploy website number3", 10)
        == before
        == KeywordBackend(ours).recall("deploy website number3", 10)
    )
    theirs.delete_namespace()
    assert backend.recall("deploy website number3", 10) == before


def test_a_namespace_that_was_deleted_and_begun_anew_is_followed(path):
    store, there = SqliteStore(path), SqliteStore(path)
    fill(there, 3)
    backend = KeywordBackend(store)
    assert len(backend.recall("deploy", 5)) == 3
    there.delete_namespace()
    [id] = fill(there, 1)
    assert [hit.id for hit in backend.recall("deploy", 5)] == [id]


def test_an_index_made_anew_in_which_some_stand_where_they_stood_is_followed(store, clock):
    backend = KeywordBackend(store)
    for hours in (0, 3, 1, 2, 4):  # the new one may be in the order of these
        store.record(Episode("deploy the website", "x", started_at=clock.now + timedelta(hours=hours)))
    before = backend.recall("deploy", 9)
    store.rebuild()
    assert backend.recall("deploy", 9) == before
    assert len(before) == 5


def test_the_past_scores_as_it_did(store, clock, small):
    backend, told = KeywordBackend(store), []
    for number in range(13):
        clock.advance(hours=1)
        store.record(
            Episode(f"deploy website {'bread ' * (number % 3)}{number}", "done", run_id=f"r{number % 5}"),
            supersede=True,
        )
        told.append((clock.now, backend.recall("deploy bread 3", 20)))
    for moment, hits in told:
        with store_as_of(store, moment) as then:
            assert KeywordBackend(then).recall("deploy bread 3", 20) == hits


def test_words_that_stand_everywhere_find_what_rare_ones_do_not(store):
    ids = fill(store, 30, "deploy the website number{}")
    hits = KeywordBackend(store).recall("deploy website number3", 30)
    assert [hit.id for hit in hits] == [ids[3], *sorted(set(ids) - {ids[3]}, reverse=True)]
    assert hits[1].score < 0.1


def test_a_filter_is_asked_further_until_enough_pass(store, monkeypatch):
    monkeypatch.setattr("experience.backends.keyword._FIRST_LOOK", 4)
    monkeypatch.setattr("experience.backends.keyword._FEW", 2)
    ids = [store.record(Episode(f"deploy {'website ' * (40 - number)}", "o", tags=("old",) * (number > 30))).id for number in range(40)]  # fmt: skip
    backend = KeywordBackend(store)
    old = Filter(tags=("old",))
    everything = [hit.id for hit in backend.recall("deploy website", 40)]
    passing = [id for id in everything if id in ids[31:]]
    for k in (1, 3, 9, 20):
        assert [hit.id for hit in backend.recall("deploy website", k, old)] == passing[:k]
        monkeypatch.setattr("experience.backends.keyword._FEW", 20_000 if k == 3 else 2)
    assert [hit.id for hit in backend.recall("website", 2, Filter(ids=(ids[5], ids[7])))] == [ids[5], ids[7]]


def test_a_document_that_fills_a_book_is_one_document(store, small):
    letters = "bcdfghjklmnpqrstvwxz"
    words = ["".join(four) for four in product(letters, repeat=4)]
    long = store.record(Episode(" deploy ".join(words), "done")).id
    short = store.record(Episode(f"deploy {words[777]}", "done")).id
    assert [hit.id for hit in KeywordBackend(store).recall(f"deploy {words[777]}", 3)] == [short, long]
    store.delete(long)
    assert [hit.id for hit in KeywordBackend(store).recall(words[777], 3)] == [short]
    assert KeywordBackend(store).recall(words[776], 3) == []


def test_every_word_of_a_question_of_a_thousand_counts(store, small):
    ids = [store.record(Episode(f"word{number}x", "o")).id for number in range(20)]
    asked = " ".join(f"word{number}x" for number in range(1000))
    assert {hit.id for hit in KeywordBackend(store).recall(asked, 50)} == set(ids)


@pytest.mark.parametrize(
    "text",
    [
        "我们需要部署网站",
        "서버를 재시작",
        "Ελληνικά γράμματα",
        "перезапустить сервер",
        "हिन्दी में लिखो",
        "🙂 ok",
        "Straße",
    ],
)
def test_words_of_every_script_are_found_in_segments_too(store, small, text):
    ids = [store.record(Episode(f"{text} {number}", text)).id for number in range(9)]
    KeywordBackend(store).refresh()
    assert len(KeywordBackend(store).recall(text, 20)) == 9
    store.delete(*ids[:8])
    assert [hit.id for hit in KeywordBackend(store).recall(text, 20)] == [ids[8]]


def test_an_old_file_is_put_in_order_when_it_is_opened(path, small):
    import shutil

    from conftest import ROOT

    shutil.copy(ROOT / "tests" / "fixtures" / "schema-m005.db", path)
    with SqliteStore(path) as store:
        assert rooms(store) == [2]
        assert [hit.id for hit in KeywordBackend(store).recall("deploy 网站", 5)] == [1, 4]


# -- the lists as bytes --------------------------------------------------------------------------------------------------

vocabulary = [f"w{number}" for number in range(60)]
cut_texts = st.lists(st.sampled_from(vocabulary), max_size=12).map(" ".join)
some_documents = st.lists(st.tuples(cut_texts, cut_texts, cut_texts), max_size=12)


def as_dict(lists):
    """Word to place to weight."""
    known = {}
    for word, begin, end in zip(lists.words, [0, *lists.ends], lists.ends, strict=False):
        places = [int.from_bytes(lists.places[2 * at : 2 * at + 2], "little") for at in range(begin, end)]
        assert places == sorted(set(places))
        known[word] = dict(zip(places, lists.weights[begin:end], strict=True))
    return known


def by_hand(documents, first=0):
    known = {}
    for place, parts in enumerate(documents, first):
        for weight, text in zip((2, 1, 1), parts, strict=True):
            for word in text.split():
                places = known.setdefault(word, {})
                places[place] = min(places.get(place, 0) + weight, 255)
    return known


@given(some_documents)
def test_documents_turned_round_are_what_they_are_by_hand(documents):
    lists, lengths = inverted(documents, range(len(documents)))
    assert as_dict(lists) == by_hand(documents)
    assert list(lists.words) == sorted(by_hand(documents))
    assert lengths == [sum(len(text.split()) for text in parts) for parts in documents]
    rows = list(blocks(lists))
    assert joined(rows) == Lists(list(lists.words), list(lists.ends), lists.places, lists.weights)


def test_a_length_counts_no_stop_words_and_a_weight_has_an_end():
    lists, lengths = inverted([(" ".join(["the", "key"] * 200), "", "")], [7])
    assert lengths == [200]
    assert as_dict(lists) == {"key": {7: 255}, "the": {7: 255}}


@given(st.lists(some_documents, min_size=1, max_size=4))
def test_lists_that_are_merged_are_those_of_all_documents(parts):
    first, lists = 0, []
    for part in parts:
        lists.append(inverted(part, range(first, first + len(part)))[0])
        first += len(part)
    assert as_dict(merged(lists)) == by_hand([document for part in parts for document in part])


@given(some_documents, st.sets(st.integers(0, 11)))
def test_what_is_taken_out_of_blocks_was_never_there(documents, gone):
    left = by_hand(documents)
    going = {word: sorted(gone) for word in [*left, "unheard"]}
    left = {word: {at: n for at, n in places.items() if at not in gone} for word, places in left.items()}
    rows = [without(block, going) for block in blocks(inverted(documents, range(len(documents)))[0])]
    assert as_dict(joined([row for row in rows if row])) == {word: places for word, places in left.items() if places}


@given(some_documents, st.sampled_from([*vocabulary, "", "zzz"]))
def test_a_word_is_found_in_its_block_alone(documents, word):
    expected = by_hand(documents).get(word)
    here = [found(block, word) for block in blocks(inverted(documents, range(len(documents)))[0])]
    weights = [one[1] for one in here if one]
    assert weights == ([bytes(expected.values())] if expected else [])


def test_a_word_that_stands_in_many_documents_has_a_block_of_its_own():
    rows = list(blocks(inverted([("a b", f"c{number}", "") for number in range(300)], range(300))[0]))
    assert [(row.first, row.last, len(row.weights)) for row in rows[:2]] == [("a", "a", 300), ("b", "b", 300)]
    assert all(isinstance(row, Block) and len(row.words.split()) <= 32 for row in rows)


# -- several processes ---------------------------------------------------------------------------------------------------

WORK = """
import sys
from experience import Episode, SqliteStore, postings
from experience.backends.keyword import KeywordBackend
postings.SEGMENT, postings._FACTOR, postings.BLOCK = 4, 2, 32
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with SqliteStore(path) as store:
    backend = KeywordBackend(store)
    living = []
    for number in range(count):
        living.append(store.record(Episode(f"task {number} of {name}", "done")).id)
        backend.refresh()
        if number % 3 == 2:
            store.delete(living.pop(number // 2))
        assert sorted(hit.id for hit in backend.recall(name, 1000)) == living
"""

FOLD = """
import sys, time
from experience import Episode, SqliteStore, postings
inverted = postings.inverted
def slowly(*arguments):
    print("half way", flush=True)
    time.sleep(60)
postings.SEGMENT, postings.inverted = 8, slowly
with SqliteStore(sys.argv[1]) as store:
    for number in range(20):
        store.record(Episode(f"task {number}", "done"))
"""


def python(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_processes_that_record_fold_merge_and_delete_at_once_double_and_lose_nothing(path, monkeypatch):
    monkeypatch.setattr(postings, "SEGMENT", 4)
    monkeypatch.setattr(postings, "_FACTOR", 2)
    monkeypatch.setattr(postings, "BLOCK", 32)
    workers = [python(WORK, path, name, 60) for name in ("anna", "bertha", "clara")]
    for worker in workers:
        _, errors = worker.communicate(timeout=240)
        assert (worker.returncode, errors) == (0, "")

    with SqliteStore(path) as store:
        live = {record.id for record in store.records()}
        assert [hit.id for hit in KeywordBackend(store).recall("task", 1000)] == sorted(live, reverse=True)
        index = Index(store)
        index.follow()
        assert index.documents == len(live) == store.read("SELECT count(*) FROM words")[0][0]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_fold_that_is_killed_loses_nothing_that_was_recorded(path, monkeypatch):
    monkeypatch.setattr(postings, "SEGMENT", 8)
    worker = python(FOLD, path)
    assert worker.stdout.readline() == "half way\n"
    worker.send_signal(signal.SIGKILL)
    worker.communicate()

    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    with SqliteStore(path) as store:
        assert store.count() == len(KeywordBackend(store).recall("task", 50)) == 7
        fill(store, 20, "task {}")
        assert rooms(store) == [8, 8, 8]
        assert len(KeywordBackend(store).recall("task", 50)) == 27


def test_what_was_seen_in_a_transaction_that_failed_is_found_no_more(store):
    keyword = KeywordBackend(store)
    first = store.record(Episode("apples", "x")).id
    with pytest.raises(RuntimeError), store.write():
        store.record(Episode("pears", "x"))
        assert len(keyword.recall("pears", 3)) == 1
        raise RuntimeError
    assert keyword.recall("pears", 3) == []
    second = store.record(Episode("plums", "x")).id
    assert [hit.id for hit in keyword.recall("plums", 3)] == [second]
    assert [hit.id for hit in keyword.recall("apples", 3)] == [first]


def test_the_index_says_how_many_episodes_it_holds(store):
    small_segments = [store.record(Episode(f"apples {number}", "x")).id for number in range(2100)]
    assert store.indexed() == store.count() == 2100
    store.delete(*small_segments[:1500], small_segments[-1])
    assert store.indexed() == store.count() == 599
    store.record(Episode("pears", "x", run_id="r"))
    store.record(Episode("pears", "y", run_id="r"), supersede=True)
    assert store.indexed() == store.count() == 600
    store.delete_namespace()
    assert store.indexed() == 0
