"""Out as JSON Lines and in again, and nothing is lost, doubled, or let in that is not an episode."""

import io
import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import episodes

from experience import Cost, Episode, InvalidEpisode, InvalidInput, SqliteStore, transfer
from experience.testing import Clock
from experience.transfer import export_lines, import_file, import_lines


def lines(*data):
    return [item if isinstance(item, bytes) else json.dumps(item).encode() for item in data]


def plain(situation, **more):
    return {"situation": situation, "tools": [], "outcome": "o", **more}


def contents(store):
    return store.history()


@pytest.fixture
def full(store, clock):
    """A store with something of everything."""
    store.record(
        Episode("a\nb", "o", tools=("x", "y"), success=True, started_at=datetime(2026, 5, 4, tzinfo=UTC), cost=Cost(1, 2, 3.5, 4), meta={"k": [1, None]}),
        by="ada", evidence="saw it",
    )  # fmt: skip
    clock.advance(days=1)
    store.record(Episode("run", "one", run_id="r", success=False), kind="self_claim")
    store.record(Episode("run", "two", run_id="r"), supersede=True)
    store.record(Episode("run", "three", run_id="r", success=True), supersede=True)
    store.delete(store.record(Episode("gone", "o")).id)
    last = store.record(
        Episode("部署🙂 \u2028", "", skills=("s",), tags=("t",)), expires_at=clock() + timedelta(days=9)
    ).id
    store.add_label(last, True, "human", "bob")
    clock.advance(hours=1)
    store.withdraw(last, by="eve", evidence="mistaken")
    return store


def test_export_and_import_lose_nothing(full, tmp_path, clock):
    exported = list(export_lines(full))
    with SqliteStore(tmp_path / "copy.db", clock=clock) as copy:
        done = import_lines(copy, [line.encode() for line in exported])

        assert (done.new, done.known, done.bad) == (5, 0, ())
        assert [
            (replace(r, label=None), [replace(label, id=0) for label in labels]) for r, labels in contents(copy)
        ] == [(replace(r, label=None), [replace(label, id=0) for label in labels]) for r, labels in contents(full)]
        assert [r.episode for r in copy.records()] == [r.episode for r in full.records()]
        assert list(export_lines(copy)) == exported


def test_importing_ones_own_export_changes_nothing(full):
    before = contents(full)
    done = import_lines(full, [line.encode() for line in export_lines(full)])

    assert (done.new, done.known) == (0, 5)
    assert contents(full) == before


def test_a_merge_brings_the_labels_that_were_given_elsewhere(full, tmp_path, clock):
    exported = [line.encode() for line in export_lines(full)]
    with SqliteStore(tmp_path / "copy.db", clock=clock) as copy:
        copy.record(Episode("was here before", "o"))
        import_lines(copy, exported)
        there = next(r for r in copy.records() if r.episode.outcome == "three")
        copy.add_label(there.id, False, "verifier", "suite")
        back = [line.encode() for line in export_lines(copy)]

    done = import_lines(full, back)

    assert (done.new, done.known) == (1, 5)
    assert next(r for r in full.records() if r.episode.outcome == "three").label.by == "suite"


def test_ids_are_kept_where_they_were_never_given_and_new_ones_made_elsewhere(full, tmp_path, clock):
    exported = [line.encode() for line in export_lines(full)]
    assert [record.id for record, _ in full.history()] == [1, 2, 3, 4, 6]
    with (
        SqliteStore(tmp_path / "fresh.db", clock=clock) as fresh,
        SqliteStore(tmp_path / "used.db", clock=clock) as used,
    ):
        import_lines(fresh, exported)
        assert [record.id for record, _ in fresh.history()] == [1, 2, 3, 4, 6]
        for number in range(9):
            used.record(Episode(f"mine {number}", "o"))
        import_lines(used, exported)
        assert len({record.id for record, _ in used.history()}) == 14


def test_an_id_near_the_end_of_the_range_is_not_taken_over(store):
    ours = {"uid": "u", "id": 2**63 - 1, "recorded_at": "2026-01-01T00:00:00Z", "labels": []}

    assert import_lines(store, lines(plain("s", hardwon=ours))).new == 1
    assert store.record(Episode("room for more", "o")).id == 2


def test_lines_from_elsewhere_are_recorded_once_however_often_they_are_read(store):
    data = lines(plain("a"), plain("a"), plain("b", run_id="r"), plain("c", success=True, source="x"))

    assert import_lines(store, data).new == 4
    assert (import_lines(store, data).new, import_lines(store, data).known) == (0, 4)
    [c] = [record for record in store.records() if record.episode.situation == "c"]
    assert c.episode.meta == {"source": "x"}
    assert (c.label.kind, c.label.by, c.confirmed) == ("host", "import", True)


def test_a_verdict_that_a_line_has_gained_is_taken_as_a_label(store):
    import_lines(store, lines(plain("a")))
    done = import_lines(store, lines(plain("a", success=False)), kind="verifier")

    assert (done.new, done.known) == (0, 1)
    assert store.get(1).label.kind == "verifier"


BAD = [
    (b"{", "not JSON"),
    (b"[1]", "JSON object"),
    (b"null", "JSON object"),
    (b'{"situation": "s"}', "tools, outcome missing"),
    (b"\xff\xfe", "not UTF-8"),
    (b'{"situation": "s", "tools": "x", "outcome": "o"}', "tools"),
    (b'{"situation": " ", "tools": [], "outcome": "o"}', "situation is empty"),
    (b'{"situation": "a\\u0000", "tools": [], "outcome": "o"}', "NUL"),
    (b'{"situation": "a\\ud800", "tools": [], "outcome": "o"}', "surrogate"),
    (b'{"situation": "s", "tools": [], "outcome": "o", "x": ' + b"[" * 100_000, "deep"),
    (b'{"situation": "s", "tools": [], "outcome": "o", "x": ' + b"9" * 5000 + b"}", "not JSON"),
    (b'{"situation": "s", "tools": [], "outcome": "o", "x": NaN}', "meta"),
    (json.dumps(plain("s", run_id="taken")).encode(), "'taken' is episode 1"),
    (json.dumps(plain("s", hardwon={"uid": 5, "recorded_at": "2026-01-01"})).encode(), "uid"),
    (json.dumps(plain("s", hardwon={"uid": "u"})).encode(), "recorded_at"),
    (json.dumps(plain("s", hardwon={"uid": "u", "recorded_at": "2026-01-01", "id": "1"})).encode(), "id"),
    (json.dumps(plain("s", hardwon={"uid": "u", "recorded_at": "2026-01-01", "labels": 3})).encode(), "labels"),
    (json.dumps(plain("s", hardwon={"uid": "u", "recorded_at": "2026-01-01", "labels": [3]})).encode(), "label"),
    (json.dumps(plain("s", hardwon={"uid": "u", "recorded_at": "2026-01-01", "labels": [{"value": 1, "class": "human", "at": "2026-01-01"}]})).encode(), "value"),
    (json.dumps(plain("s", hardwon={"uid": "u", "recorded_at": "2026-01-01", "labels": [{"value": True, "class": "god", "at": "2026-01-01"}]})).encode(), "kind"),
    (json.dumps(plain("s", hardwon={"uid": "known", "recorded_at": "2026-01-01"})).encode(), "this uid is episode 1"),
]  # fmt: skip


@pytest.fixture
def taken(store):
    store.add(Episode("already here", "o", run_id="taken"), uid="known")
    return store


@pytest.mark.parametrize(("bad", "said"), BAD)
def test_a_bad_line_is_left_out_and_named(taken, bad, said):
    done = import_lines(taken, [*lines(plain("first")), b"", bad, *lines(plain("last"))])

    assert (done.new, taken.count()) == (2, 3)
    [line] = done.bad
    assert line.number == 3
    assert said in line.reason


@pytest.mark.parametrize(("bad", "said"), BAD)
def test_strict_refuses_all_because_of_one(taken, bad, said):
    with pytest.raises(InvalidEpisode, match=r"line 2: .*nothing of it was imported"):
        import_lines(taken, [*lines(plain("first")), bad, *lines(plain("last"))], strict=True)

    assert taken.count() == 1


def test_a_run_that_grew_elsewhere_can_take_its_older_selfs_place(taken):
    done = import_lines(taken, lines(plain("grown", run_id="taken")), supersede=True)

    assert done.new == 1
    assert [record.episode.situation for record in taken.records()] == ["grown"]


def test_a_recalled_block_in_a_line_is_taken_out_and_counted(store):
    text = '[experience-recall]\n  1. situation: "old"\n[/experience-recall]\nnew task'

    assert import_lines(store, lines(plain(text))).stripped == 1
    assert store.get(1).episode.situation == "new task"


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_a_file_is_known_by_its_content(store, head):
    text = Episode("s", "o\nmore", tools=("a, b",), success=True)

    assert import_file(store, io.BytesIO(head + text.render().encode() + b"\n"), kind="host").new == 1
    assert (
        import_file(store, io.BytesIO(head + b'{"situation": "t", "tools": [], "outcome": "o"}\n'), kind="host").new
        == 1
    )
    assert [record.episode for record in store.records()] == [Episode("t", "o"), text]


def test_a_text_read_twice_is_recorded_once(store):
    text = Episode("s", "o").render().encode()

    assert [import_file(store, io.BytesIO(text), kind="host").new for _ in range(2)] == [1, 0]


def test_founding_text_is_read_only_when_asked_and_says_what_was_guessed(store):
    text = b"Situation: one\ntwo\nTools used: a\nOutcome: o"
    [bad] = import_file(store, io.BytesIO(text), kind="host").bad
    assert "line 2" in bad.reason
    with pytest.raises(InvalidEpisode, match="nothing of it was imported"):
        import_file(store, io.BytesIO(text), strict=True, kind="host")

    done = import_file(store, io.BytesIO(text), lenient=True, kind="host")

    assert done.new == 1
    assert "part of the situation" in done.guesses[0]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_no_episode_and_no_error(store, content):
    assert import_file(store, io.BytesIO(content), kind="host").new == 0


def test_a_text_that_is_not_utf_8_is_a_bad_line(store):
    [bad] = import_file(store, io.BytesIO(b"Situation: \xff\nOutcome: o"), kind="host").bad

    assert "utf-8" in bad.reason


@settings(max_examples=100)
@given(episodes)
def test_any_episode_survives_the_journey(episode):
    with SqliteStore(":memory:") as one, SqliteStore(":memory:") as two:
        one.record(episode)
        import_lines(two, [line.encode() for line in export_lines(one)])

        assert two.get(1).episode == episode


def exported(situation, uid, **ours):
    return plain(situation, hardwon={"uid": uid, "recorded_at": "2026-01-01T00:00:00Z", **ours})


FORGED = [{"value": True, "class": "verifier", "by": "god", "at": "2026-01-01T00:00:00Z"}]


def test_a_strangers_line_is_not_believed_where_that_is_said(store):
    import_lines(store, lines(exported("s", "u", id=77, labels=FORGED)), foreign=True, kind="self_claim")

    [record] = store.records()
    assert (record.id, record.label, record.uid == "u") == (1, None, False)


def test_a_line_takes_the_place_only_of_the_version_that_it_names(taken):
    done = import_lines(taken, lines(exported("grown", "new", supersedes="nonsense") | {"run_id": "taken"}))
    assert "'taken' is episode 1" in done.bad[0].reason
    done = import_lines(taken, lines(exported("grown", "new", supersedes="known") | {"run_id": "taken"}))

    assert done.new == 1
    assert [record.episode.situation for record in taken.records()] == ["grown"]


def test_a_line_that_is_believed_is_put_back_as_it_was_and_another_is_stripped(store):
    text = '[experience-recall]\n  1. situation: "old"\n[/experience-recall]\nnew task'
    import_lines(store, lines(exported(text, "u")))
    done = import_lines(store, lines(exported(text, "u")), foreign=True)

    assert done.stripped == 1
    assert [record.episode.situation for record in store.records()] == ["new task", text]


def test_a_run_whose_newest_version_has_expired_is_not_exported(store, clock):
    store.record(Episode("v1", "o", run_id="r"))
    store.record(Episode("v2", "o", run_id="r"), supersede=True, expires_at=clock() + timedelta(days=1))
    clock.advance(days=2)

    assert list(export_lines(store)) == []


@pytest.mark.parametrize("uid", ["", " "])
def test_a_blank_uid_is_a_bad_line(store, uid):
    assert "uid is blank" in import_lines(store, lines(exported("s", uid))).bad[0].reason
    assert store.count() == 0


@pytest.mark.parametrize("how", [{"kind": "oracle"}, {"by": "a\0"}])
def test_an_impossible_label_is_refused_before_anything_is_stored(store, how):
    with pytest.raises(InvalidInput):
        import_lines(store, lines(plain("s", success=True)), **how)

    assert store.count() == 0


def test_lines_may_be_text(store):
    assert import_lines(store, [json.dumps(plain("s"))]).new == 1


def test_an_export_shows_one_namespace_only(path):
    with SqliteStore(path, "ours") as ours, SqliteStore(path, "theirs") as theirs:
        theirs.record(Episode("secret", "o", success=True))
        ours.record(Episode("mine", "o"))

        assert [json.loads(line)["situation"] for line in export_lines(ours)] == ["mine"]


def test_an_export_goes_on_when_records_are_deleted_meanwhile(store, path):
    ids = [store.record(Episode(f"s {number}", "o")).id for number in range(5)]
    walking = export_lines(store)
    next(walking)
    with SqliteStore(path) as other:
        other.delete(ids[2])

    assert len(list(walking)) >= 3


def test_expired_records_are_not_exported(store, clock):
    store.record(Episode("s", "o"), expires_at=clock() + timedelta(days=1))
    clock.advance(days=2)

    assert list(export_lines(store)) == []


def test_a_strict_import_waits_for_its_lines_before_it_writes(store, path):
    def slow_lines():
        yield from lines(plain("first"))
        with SqliteStore(path) as other:  # would wait for half a minute if the import held the file
            other.record(Episode("meanwhile", "o"))

    assert import_lines(store, slow_lines(), strict=True).new == 1
    assert store.count() == 2


def test_many_bad_lines_are_counted_in_a_time_that_grows_with_their_number(store):
    assert len(import_lines(store, [b"{"] * 20_000).bad) == 20_000


def test_the_stable_text_is_read_strictly_even_when_lenient(store):
    episode = Episode("one\ntwo", "o", tools=("a, b",), tags=("t",), success=True)
    done = import_file(store, io.BytesIO(episode.render().encode()), lenient=True)

    assert done.guesses == ()
    assert store.get(1).episode == episode


def test_a_label_that_stands_twice_in_a_line_is_one(store):
    label = {
        "value": True,
        "class": "human",
        "by": "a",
        "at": "2026-01-01T00:00:00Z",
        "withdrawn": {"at": "2026-01-02T00:00:00Z"},
    }
    for _ in range(2):
        done = import_lines(store, lines(exported("s", "u", labels=[label, label])))
        assert done.bad == ()

    assert len(store.labels(1)) == 1
    assert store.get(1).label is None


@pytest.mark.parametrize(
    "bad", [b'{"situation": "s", "tools": [], "outcome": "o", "cost": {"seconds": 1' + b"0" * 400 + b"}}",
            b'{"situation": "s", "tools": [], "outcome": "o", "x": ' + b"[" * 900 + b"]" * 900 + b"}"]
)  # fmt: skip
def test_numbers_and_nests_beyond_reason_are_bad_lines(store, bad):
    done = import_lines(store, [*lines(plain("first")), bad, *lines(plain("last"))])

    assert (done.new, [line.number for line in done.bad]) == (2, [2])


def test_lenient_reads_json_lines_that_begin_badly_line_by_line(store):
    done = import_file(store, io.BytesIO(b"oops\n" + b"\n".join(lines(plain("a"), plain("b")))), lenient=True)

    assert (done.new, len(done.bad)) == (2, 1)


def test_a_verdict_that_a_text_has_gained_is_a_label(store):
    for success in (None, True):
        import_file(store, io.BytesIO(Episode("s", "o", success=success).render().encode()))

    [record] = store.records()
    assert record.episode.success is True


SAID = {"value": True, "class": "human", "by": "a", "at": "2026-01-02T00:00:00Z"}
TAKEN_BACK = {**SAID, "value": False, "withdrawn": {"at": "2026-01-03T00:00:00Z"}}
few = st.sampled_from
names = few([None, "r", "taken", "é\u2028\U0001f642", '"\\', "[1]"])


@st.composite
def line(draw):
    """A line that is likely to meet another: of few runs, contents, uids, ids and labels."""
    data = plain(draw(few(["s", "t", "[experience-recall]\nx\n[/experience-recall]\nu"])))
    data |= {"success": draw(few([None, True, False])), "skills": draw(few([[], ["a"], ["b", "a", "b"]]))}
    data |= {"run_id": run} if (run := draw(names)) is not None else {}
    if draw(st.booleans()):
        ours = {"uid": draw(names), "recorded_at": "2026-01-01T00:00:00Z", "id": draw(few([None, 1, 5, 9, 2**60]))}
        ours |= (
            {"expires_at": draw(few(["2026-01-02T00:00:00Z", "2999-01-01T00:00:00Z"]))} if draw(st.booleans()) else {}
        )
        ours |= {
            "labels": draw(st.lists(few([SAID, TAKEN_BACK, {**SAID, "class": "verifier", "value": False}]), max_size=3))
        }
        data |= {"hardwon": ours}
    return draw(few([b"", b"{", *[json.dumps(data).encode()] * 8]))


def everything(store):
    """Every row of every table; made-up uids by where they stand."""
    tables = [name for (name,) in store.read("SELECT name FROM sqlite_master WHERE type = 'table'")]
    left_out = {"_sqlite_migrations", "removals"}
    rows = repr(
        [(table, sorted(map(repr, store.read(f"SELECT * FROM {table}")))) for table in tables if table not in left_out]
    )
    uids = [uid for (uid,) in store.read("SELECT uid FROM episodes ORDER BY id") if len(uid) == 32]
    for number, uid in enumerate(uids):
        rows = rows.replace(uid, f"made {number}")
    return rows


@settings(max_examples=60, deadline=None)
@given(st.lists(line(), max_size=9), st.booleans())
def test_lines_taken_together_are_recorded_as_they_would_be_one_by_one(data, supersede):
    outcomes = []
    for batch in (1, 2, 100):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(transfer, "_BATCH", batch)
            with SqliteStore(Path(folder) / "a.db", clock=Clock()) as store:
                store.add(Episode("already here", "o", run_id="taken"), uid="r")
                store.record(Episode("gone", "o", run_id="é\u2028\U0001f642"), expires_at=store.now())
                with store.write() as db:
                    db.execute("INSERT INTO learnings VALUES (1, 'default', 'a')")
                    db.execute(
                        "INSERT INTO learning_events VALUES (1, 1, 'proposed', 't', 'low', 'provisional', 1, 9, NULL, '', '', '')"
                    )
                    told = ("default", '"\\', "a", "h", 1, '{"learnings": [{"id": 1}]}', "2026-01-01T00:00:00Z")
                    db.execute(
                        "INSERT INTO receipts (namespace, run_id, agent, hash, bytes, contents, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                        told,
                    )
                outcomes.append((import_lines(store, data, supersede=supersede), everything(store)))

    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_batch_ends_with_a_long_line(store, path, monkeypatch):
    monkeypatch.setattr(transfer, "_LARGEST_BATCH", 1000)
    seen = []

    def watched():
        for number in range(4):
            with SqliteStore(path) as other:
                seen.append(other.count())
            yield from lines(plain(f"{number} " + "long " * 300))

    assert import_lines(store, watched()).new == 4
    assert seen == [0, 1, 2, 3]
