"""The store keeps what it was given, says who said what, and shows one namespace only."""

import os
import sqlite3
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from experience import (
    LABEL_CLASSES,
    Cost,
    Episode,
    ExperienceError,
    Filter,
    InvalidInput,
    Label,
    NewerSchema,
    NotFound,
    RunConflict,
    SqliteStore,
    StoreError,
)

NAIVE = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
EPISODE = Episode("deploy the site", "done", tools=("shell", "shell"), skills=("runbook",), tags=("prod",))


def test_what_was_recorded_comes_back_whole(store, clock):
    episode = replace(
        EPISODE,
        success=True,
        run_id="r",
        started_at=datetime(2026, 5, 4, tzinfo=UTC),
        cost=Cost(3, 400, 1.5, 0.02),
        meta={"a": [1]},
    )

    record = store.get(store.record(episode, by="ada", evidence="saw it").id)

    assert record.episode == episode
    assert record.recorded_at == clock()
    assert (record.label.value, record.label.kind, record.label.by, record.label.evidence) == (
        True,
        "host",
        "ada",
        "saw it",
    )


def test_it_is_still_there_when_the_file_is_opened_again(path):
    with SqliteStore(path) as store:
        id = store.record(EPISODE).id

    with SqliteStore(path) as store:
        assert store.get(id).episode == EPISODE


def test_ids_are_never_given_twice(store):
    first = store.record(EPISODE).id
    store.delete(first)

    assert store.record(EPISODE).id == first + 1


# -- labels ------------------------------------------------------------------------------------------------------------


def test_nobody_has_said_until_somebody_does(store):
    id = store.record(EPISODE).id

    assert store.get(id).episode.success is None
    assert not store.get(id).confirmed
    store.add_label(id, False, "human", "ada", "it is down")
    assert store.get(id).episode.success is False


@pytest.mark.parametrize(("better", "worse"), list(pairwise(LABEL_CLASSES)))
def test_the_better_class_counts_whenever_it_came(store, clock, better, worse):
    id = store.record(EPISODE).id
    store.add_label(id, True, better)
    clock.advance(hours=1)
    store.add_label(id, False, worse)

    assert store.get(id).label.kind == better


def test_within_a_class_the_latest_counts(store, clock):
    id = store.record(EPISODE).id
    for said in (True, False, True):
        clock.advance(seconds=1)
        store.add_label(id, said, "human")
    assert store.get(id).episode.success is True
    store.add_label(id, False, "human")  # the same moment: the one that was said last

    assert store.get(id).episode.success is False
    assert [label.value for label in store.labels(id)] == [True, False, True, False]


@pytest.mark.parametrize(("kind", "confirmed"), [(kind, kind != "self_claim") for kind in LABEL_CLASSES])
def test_the_agents_own_claim_confirms_nothing(store, kind, confirmed):
    record = store.get(store.record(replace(EPISODE, success=True), kind=kind).id)

    assert record.episode.succeeded
    assert record.confirmed is confirmed


def test_a_failure_is_not_confirmed(store):
    assert not store.get(store.record(replace(EPISODE, success=False), kind="verifier").id).confirmed


def test_a_withdrawn_label_counts_no_more_and_stays_on_record(store):
    id = store.record(replace(EPISODE, success=False)).id
    store.add_label(id, True, "human", "ada")

    taken = store.withdraw(id, by="bob", evidence="wrong run")

    assert taken.by == "ada"
    assert store.get(id).episode.success is False
    assert [label.withdrawal is not None for label in store.labels(id)] == [False, True]
    assert store.labels(id)[1].withdrawal[:2] == ("bob", "wrong run")
    store.withdraw(id)
    assert store.get(id).label is None
    with pytest.raises(NotFound, match="no label to withdraw"):
        store.withdraw(id)


def test_a_named_label_can_be_withdrawn_once(store):
    id = store.record(EPISODE).id
    first = store.add_label(id, True, "human")
    store.add_label(id, False, "human")

    store.withdraw(id, first.id)

    assert store.get(id).episode.success is False
    with pytest.raises(NotFound, match=f"label {first.id}"):
        store.withdraw(id, first.id)


def test_a_late_label_reaches_every_count(store):
    id = store.record(EPISODE).id
    assert store.count(Filter(success=True)) == 0
    store.add_label(id, True, "verifier")

    assert store.count(Filter(success=True)) == 1
    assert store.records(Filter(success=False)) == []


@pytest.mark.parametrize(("value", "kind"), [(True, "oracle"), (None, "human"), (1, "human"), ("yes", "human")])
def test_a_label_that_says_nothing_is_refused(store, value, kind):
    id = store.record(EPISODE).id
    with pytest.raises(InvalidInput):
        store.add_label(id, value, kind)

    assert store.labels(id) == ()


def test_labelling_what_is_not_there_is_said(store):
    for act in (
        lambda: store.add_label(9, True, "human"),
        lambda: store.withdraw(9),
        lambda: store.labels(9),
        lambda: store.get(9),
    ):
        with pytest.raises(NotFound, match="no episode 9"):
            act()


# -- runs --------------------------------------------------------------------------------------------------------------


def test_the_same_run_with_the_same_content_is_the_same_episode(store):
    episode = replace(EPISODE, run_id="r")

    first, second = store.record(episode), store.record(episode)

    assert (first.id, first.new, second.new) == (second.id, True, False)
    assert store.count() == 1


def test_other_content_under_the_same_run_is_refused_naming_both(store):
    store.record(replace(EPISODE, run_id="r"))
    with pytest.raises(RunConflict, match=r"'r' is episode 1 \('deploy the site'\).*'another thing'.*supersede"):
        store.record(Episode("another thing", "o", run_id="r"))

    assert [record.episode.situation for record in store.records()] == ["deploy the site"]


def test_a_run_that_grew_takes_its_older_selfs_place(store):
    old = store.record(replace(EPISODE, run_id="r", success=True)).id
    new = store.record(replace(EPISODE, run_id="r", outcome="done and checked"), supersede=True).id

    assert new != old
    assert [record.id for record in store.records()] == [new]
    assert (store.count(), store.count(Filter(success=True))) == (1, 0)
    assert store.get(old).superseded
    assert not store.get(new).superseded


def test_an_older_version_recorded_again_does_not_come_back_to_the_front(store):
    old, new = replace(EPISODE, run_id="r"), replace(EPISODE, run_id="r", outcome="more")
    first = store.record(old).id
    store.record(new, supersede=True)

    assert store.record(old, supersede=True).id == first
    assert [record.episode.outcome for record in store.records()] == ["more"]


def test_a_verdict_that_comes_with_the_second_recording_is_a_label(store):
    id = store.record(replace(EPISODE, run_id="r")).id
    for _ in range(2):
        store.record(replace(EPISODE, run_id="r", success=True), by="ci")

    assert store.get(id).episode.success is True
    assert len(store.labels(id)) == 1


def test_a_withdrawn_verdict_is_not_revived_by_recording_the_run_again(store):
    episode = replace(EPISODE, run_id="r", success=True)
    id = store.record(episode).id
    store.withdraw(id)
    store.record(episode)

    assert store.get(id).label is None


def test_runs_of_two_namespaces_are_two_runs(path):
    with SqliteStore(path, "a") as a, SqliteStore(path, "b") as b:
        a.record(replace(EPISODE, run_id="r"))
        b.record(Episode("other", "o", run_id="r"))

        assert (a.count(), b.count()) == (1, 1)


# -- deleting and expiring ---------------------------------------------------------------------------------------------


def every_row(path):
    with sqlite3.connect(path) as db:
        tables = ["episodes", "labels", "verdicts", "vectors", "names", "words"]
        found = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    db.close()
    return found


def test_deleting_deletes_everywhere(store, path):
    id = store.record(replace(EPISODE, success=True)).id
    store.withdraw(id)
    with store.write() as db:
        db.execute("INSERT INTO spaces VALUES (1, 'default', 'x', 1)")
        db.execute("INSERT INTO vectors (episode_id, space, vector) VALUES (?, 1, x'00')", (id,))

    assert store.delete(id) == (id,)
    assert set(every_row(path).values()) == {0}
    with pytest.raises(NotFound):
        store.delete(id)


def test_deleting_a_run_deletes_the_versions_whose_place_it_took(store):
    ids = [store.record(replace(EPISODE, run_id="r", outcome=outcome), supersede=True).id for outcome in "abc"]

    assert store.delete(ids[2]) == tuple(ids)
    assert store.count() == 0


def test_deleting_an_older_version_leaves_the_run(store):
    ids = [store.record(replace(EPISODE, run_id="r", outcome=outcome), supersede=True).id for outcome in "ab"]

    assert store.delete(ids[0]) == (ids[0],)
    assert [record.id for record in store.records()] == [ids[1]]


def test_a_whole_namespace_can_go_and_only_that(path):
    with SqliteStore(path, "a") as a, SqliteStore(path, "b") as b:
        for store in (a, a, b):
            store.record(EPISODE)
        a.set_setting("encoder", "x")

        assert a.delete_namespace() == 2
        assert (a.count(), b.count(), a.setting("encoder")) == (0, 1, None)


def test_nothing_of_what_was_deleted_is_left_in_the_file_once_it_is_compacted(path):
    secret = "hunter2xyzzy"
    with SqliteStore(path) as store:
        for number in range(50):
            store.record(Episode(f"task {number}", "o"))
        id = store.record(Episode(f"log in with {secret}", secret, tools=(secret,), meta={"k": secret})).id
        store.add_label(id, True, "human", secret, secret)
        store.delete(id)
        store.compact()

        left = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert secret.encode() not in left


def test_what_has_expired_is_hidden_at_once_and_deleted_when_asked(store, clock):
    id = store.record(EPISODE, expires_at=clock() + timedelta(days=1)).id
    store.record(Episode("stays", "o"))
    assert store.count() == 2
    clock.advance(days=1)

    assert store.count() == 1
    assert [record.episode.situation for record in store.records()] == ["stays"]
    with pytest.raises(NotFound):
        store.get(id)
    assert (store.delete_expired(), store.delete_expired()) == (1, 0)


def test_a_run_whose_episode_has_expired_can_be_recorded_again(store, clock):
    episode = replace(EPISODE, run_id="r")
    first = store.record(episode, expires_at=clock() + timedelta(days=1)).id
    clock.advance(days=2)

    again = store.record(episode)

    assert again.new
    assert again.id != first
    assert store.count() == 1


def test_what_is_derived_can_be_made_again_from_the_records(store):
    first = store.record(replace(EPISODE, success=True)).id
    store.record(Episode("old", "o", run_id="r"))
    store.record(Episode("new", "o", run_id="r"), supersede=True)
    derived = (
        "SELECT episode_id, situation, outcome, names FROM words ORDER BY 1",
        "SELECT * FROM verdicts ORDER BY 1",
    )
    before = [store.read(sql) for sql in derived]
    with store.write() as db:
        db.execute("DELETE FROM words")
        db.execute("DELETE FROM verdicts")
    assert store.get(first).label is None

    assert store.rebuild() == 2
    assert [store.read(sql) for sql in derived] == before
    assert store.get(first).confirmed


@pytest.fixture
def grown(store, clock):
    """A run whose older version stays for ever and whose newer one expires in a day."""
    old = store.record(replace(EPISODE, run_id="r")).id
    new = store.record(
        replace(EPISODE, run_id="r", outcome="more"), supersede=True, expires_at=clock() + timedelta(days=1)
    ).id
    clock.advance(days=2)
    return old, new


def test_an_older_version_does_not_come_back_when_the_newest_has_expired(store, grown):
    assert store.count() == 0
    assert store.delete_expired() == 2
    assert store.total() == 0


def test_a_run_whose_newest_version_has_expired_begins_anew(store, grown):
    again = store.record(replace(EPISODE, run_id="r"))

    assert again.new
    assert again.id not in grown
    assert store.read("SELECT episode_id FROM words") == [(again.id,)]


def test_an_older_version_that_expires_goes_alone(store, clock):
    store.record(replace(EPISODE, run_id="r"), expires_at=clock() + timedelta(days=1))
    new = store.record(replace(EPISODE, run_id="r", outcome="more"), supersede=True).id
    clock.advance(days=2)

    assert store.delete_expired() == 1
    assert [record.id for record in store.records()] == [new]


def test_everything_that_was_not_deleted_says_so_of_what_has_expired(store, clock):
    id = store.record(EPISODE, expires_at=clock() + timedelta(days=1)).id
    clock.advance(days=2)
    for act in (lambda: store.labels(id), lambda: store.add_label(id, True, "human"), lambda: store.withdraw(id)):
        with pytest.raises(NotFound):
            act()
    assert store.get_many([id]) == {}
    assert store.delete(id) == (id,)


def test_several_are_deleted_together_or_not_at_all(store):
    ids = [store.record(EPISODE).id for _ in range(3)]
    with pytest.raises(NotFound):
        store.delete(ids[0], 99)
    assert store.count() == 3

    assert store.delete(ids[2], ids[0], ids[0]) == (ids[0], ids[2])


def test_compacting_says_when_a_reader_keeps_traces_in_the_log(path):
    with SqliteStore(path) as store:
        id = store.record(Episode("hunter2xyzzy", "o")).id
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episodes").fetchone()
        store._db.execute("PRAGMA busy_timeout = 10")
        store.delete(id)
        assert store.compact() is False
        reader.close()
        assert store.compact() is True
        assert b"hunter2xyzzy" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_a_part_of_a_transaction_can_fail_by_itself(store):
    with store.write():
        store.record(Episode("kept", "o"))
        with pytest.raises(InvalidInput):
            store.record(Episode("not kept", "o", success=True), kind="oracle")

    assert [record.episode.situation for record in store.records()] == ["kept"]


def test_the_newest_record_of_a_run_is_found_by_its_name(store):
    store.record(replace(EPISODE, run_id="r"))
    new = store.record(replace(EPISODE, run_id="r", outcome="more"), supersede=True).id

    assert store.get_run("r").id == new
    with pytest.raises(NotFound, match="no run 'q'"):
        store.get_run("q")


def test_when_it_began_and_what_it_cost_make_no_other_run(store, clock):
    first = store.record(replace(EPISODE, run_id="r", started_at=clock(), cost=Cost(seconds=1.0)))
    clock.advance(seconds=5)
    second = store.record(replace(EPISODE, run_id="r", started_at=clock(), cost=Cost(seconds=2.0)))

    assert (second.id, second.new) == (first.id, False)


def test_naive_times_are_refused_wherever_they_come_in(store):
    for moment in ({"expires_at": NAIVE}, {"recorded_at": NAIVE}):
        with pytest.raises(InvalidInput, match="time zone"):
            store.add(EPISODE, **moment)
    assert store.count() == 0


# -- filters -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(store):
    store.record(
        Episode(
            "a",
            "o",
            tools=("shell", "grep"),
            skills=("x",),
            tags=("t",),
            success=True,
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
    )
    store.record(
        Episode("b", "o", tools=("shell",), tags=("t", "u"), success=False, started_at=datetime(2026, 2, 1, tzinfo=UTC))
    )
    store.record(Episode("c", "o", tools=('sh"ell%',), started_at=datetime(2026, 3, 1, tzinfo=UTC)))
    return store


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "cba"),
        (Filter(success=True), "a"),
        (Filter(success=False), "b"),
        (Filter(tools=["shell"]), "ba"),
        (Filter(tools=["shell", "grep"]), "a"),
        (Filter(tools=['sh"ell%']), "c"),
        (Filter(tools=["shel"]), ""),
        (Filter(skills=["x"]), "a"),
        (Filter(tags=["t"], success=False), "b"),
        (Filter(since=datetime(2026, 2, 1, tzinfo=UTC)), "cb"),
        (Filter(until=datetime(2026, 2, 1, tzinfo=UTC)), "a"),
        (Filter(ids=[1, 3, 99]), "ca"),
        (Filter(ids=[]), ""),
        (Filter(ids=range(1, 100_000)), "cba"),
    ],
)
def test_a_filter_lets_through_what_has_all_it_names(three, where, expected):
    assert "".join(record.episode.situation for record in three.records(where)) == expected
    assert three.count(where) == len(expected)


def test_a_filter_knows_whether_it_filters():
    assert not Filter()
    assert Filter(success=False)
    assert Filter(ids=())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tools": "shell"},
        {"since": NAIVE},
        {"until": "2026"},
        {"success": "yes"},
        {"success": 1},
        {"tools": None},
        {"tags": [1]},
        {"skills": ["\ud800"]},
        {"ids": "12"},
        {"ids": 5},
        {"ids": [1.5]},
        {"ids": [2**63]},
        {"ids": [-(2**63) - 1]},
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(InvalidInput):
        Filter(**wrong)


# -- the file ----------------------------------------------------------------------------------------------------------


def test_a_directory_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="is a directory; name a file in it"):
        SqliteStore(tmp_path)


def test_a_file_that_is_no_database_is_left_as_it_was(path):
    path.write_text("dear diary, " * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        SqliteStore(path)

    assert path.read_text() == "dear diary, " * 100


def test_another_programs_database_is_left_as_it_was(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE episodes (id)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        SqliteStore(path)

    assert path.read_bytes() == before


def test_a_newer_schema_is_not_touched(path):
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('hardwon', 'm999_later', '')"
        )
    db.close()
    with pytest.raises(NewerSchema, match=r"newer release.*m999_later.*pip install -U hardwon"):
        SqliteStore(path)


def test_a_damaged_file_is_said_to_be(path):
    with SqliteStore(path) as store:
        for _ in range(200):
            store.record(EPISODE)
        store.compact()
    content = bytearray(path.read_bytes())
    content[8192:-4096] = b"\xff" * (len(content) - 12288)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), SqliteStore(path) as store:
        store.records()


def test_a_store_that_is_not_there_is_not_made_by_looking(path):
    with pytest.raises(StoreError, match="there is no store at"):
        SqliteStore(path, create=False)

    assert not path.exists()


def test_missing_folders_are_made(tmp_path):
    SqliteStore(tmp_path / "a" / "b" / "runs.db").close()

    assert (tmp_path / "a" / "b" / "runs.db").exists()


@pytest.fixture
def powerless(tmp_path):
    """Root may write anywhere, so for a while it is nobody."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o555)
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)
    tmp_path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no read-only folders")
def test_a_read_only_folder_is_said_to_be(path, powerless):
    with pytest.raises(StoreError, match=r"^cannot make .*; choose a place that can be written to$"):
        SqliteStore(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no read-only folders")
def test_a_read_only_file_is_said_to_be(path, request):
    SqliteStore(path).close()
    path.chmod(0o444)
    request.getfixturevalue("powerless")
    with (
        pytest.raises(StoreError, match=r"(lies in a read-only place; copy it|cannot be opened|unable to open)"),
        SqliteStore(path) as store,
    ):
        store.record(EPISODE)


@pytest.mark.parametrize("namespace", ["", " ", None, 3, "a\0"])
def test_a_namespace_needs_a_name(path, namespace):
    with pytest.raises(InvalidInput, match="namespace"):
        SqliteStore(path, namespace)

    assert not path.exists()


def test_a_closed_store_says_so(path):
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.count()


def test_a_new_file_is_its_owners_alone(path):
    SqliteStore(path).close()
    if sys.platform == "win32":
        pytest.skip("Windows has no such modes")

    assert path.stat().st_mode & 0o077 == 0


def test_a_store_in_memory_needs_no_file():
    with SqliteStore(":memory:") as store:
        store.record(EPISODE)

        assert store.count() == 1


def test_many_threads_may_share_a_store(store):
    def work(name):
        for number in range(25):
            store.record(Episode(f"{name} {number}", "o", run_id=f"{name} {number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.count() == 100


def test_a_transaction_that_fails_leaves_nothing(store):
    def fail_half_way():
        with store.write():
            store.record(EPISODE)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()

    assert store.count() == 0
    store.record(EPISODE)
    assert store.count() == 1


def test_a_number_beyond_sqlites_range_is_refused(store):
    with pytest.raises(ExperienceError):
        store.get(2**63)


def test_labels_restored_from_elsewhere_are_not_doubled(store, clock):
    said = Label(0, True, "human", "ada", "", clock())
    added = store.add(EPISODE, labels=[said], uid="u")
    store.add(EPISODE, labels=[said, replace(said, value=False)], uid="u")

    assert [label.value for label in store.labels(added.id)] == [True, False]


def test_a_filter_of_a_thousand_names_is_one_condition(store):
    names = tuple(f"tool{number}" for number in range(1000))
    id = store.record(Episode("s", "o", tools=names)).id

    assert [record.id for record in store.records(Filter(tools=names))] == [id]
    assert store.records(Filter(tools=(*names, "one more"))) == []


def test_a_run_that_grew_many_times_keeps_one_row_in_the_index(store):
    for number in range(30):
        store.record(Episode("s", f"outcome {number}", run_id="r"), supersede=True)

    assert store.read("SELECT count(*) FROM words") == [(1,)]
    assert store.count() == 1


def test_a_deleted_namespace_leaves_not_even_its_name(path):
    with SqliteStore(path, "hunter2xyzzy") as store:
        store.record(EPISODE)
        store.delete_namespace()
        store.compact()

    assert b"hunter2xyzzy" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_the_same_run_told_with_and_without_its_brief_is_the_same(store):
    from experience.echoes import without_recalled

    brief = '[experience-recall]\n1. situation: "x"\n[/experience-recall]\n'
    first = store.record(without_recalled(Episode(brief + "s", "o", run_id="r")))

    assert store.record(Episode("s", "o", run_id="r")) == (first.id, False)


def test_every_write_begins_by_taking_the_file(store, clock):
    from experience.transfer import export_lines, import_lines

    said = []
    store._db.conn.set_trace_callback(said.append)
    first = store.record(Episode("s", "o", run_id="r", success=True)).id
    store.record(Episode("s", "more", run_id="r"), supersede=True)
    store.withdraw(first)
    store.add_label(first, False, "human")
    store.record(Episode("gone", "o"), expires_at=clock())
    store.set_setting("key", "value")
    import_lines(store, [*export_lines(store), '{"situation": "t", "tools": [], "outcome": "o"}'])
    store.rebuild()
    store.delete_expired()
    store.delete(first + 1)
    store.compact()
    store.delete_namespace()

    inside, writes = False, 0
    for statement in said:
        word = statement.split()[0].upper()
        if word == "BEGIN":
            assert statement == "BEGIN IMMEDIATE"
        inside = word == "BEGIN" or (inside and word not in {"COMMIT", "ROLLBACK"})
        if word in {"INSERT", "DELETE", "UPDATE", "SAVEPOINT"}:
            assert inside, statement
            writes += 1
    assert writes > 30
