"""No secret gets into a store, by whichever door a run comes in; what was masked is counted, and identity holds."""

import builtins
import json
import sqlite3
from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from corpus_of_secrets import HITS, MISSES, MIX, PW, STRONG
from hypothesis import given
from hypothesis import strategies as st
from strategies import episodes

from experience import Episode, Learnings, Memory, MissingPackage, Recorder, RunConflict, SqliteStore
from experience.caps import CUT, Bounds, capped
from experience.cli import main
from experience.errors import InvalidInput
from experience.hygiene import MASKED, Masking
from experience.learn.replies import Unacceptable
from experience.scanning import _scanner
from experience.tell.receipts import Receipts
from experience.transfer import export_lines, import_file, import_lines

TOKEN = "ghp" + "_" + MIX + MIX
LINE = f"API_KEY={MIX}"
BOUNDS = Bounds()
OFF = Masking(secrets=False)
SECRETS = [secret for _, secret in HITS]


def everything_in(path):
    db = sqlite3.connect(path)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = [row for table in tables for row in db.execute(f'SELECT * FROM "{table}"')]
    db.close()
    return "\n".join(str(value) for row in rows for value in row)


def full(run_id="r1"):
    return Episode(
        situation=f"Deploy with {LINE}",
        outcome=f"postgres://app:{PW}@db/x answered",
        tools=(f"curl -H 'Authorization: Bearer {MIX}'", "shell"),
        skills=(f"deploy-{TOKEN}",),
        tags=(f"token={MIX}",),
        success=True,
        run_id=run_id,
        meta={
            "env": {"DB_PASSWORD": PW, TOKEN: [LINE]},
            "max_tokens": 100,
            "pairs": [{"name": "API_KEY", "value": "abcdefgh"}],
        },
    )


def test_every_field_is_masked_and_counted():
    clean, counts = Masking().episode(full(f"run-{TOKEN}"))

    assert [secret for secret in (MIX, PW, TOKEN, "abcdefgh") if secret in json.dumps(clean.to_json())] == []
    assert clean.meta["max_tokens"] == 100
    assert clean.meta["env"] == {"DB_PASSWORD": "[secret]", "[token]": ["API_KEY=[secret]"]}
    assert clean.meta[MASKED] == dict(counts)
    assert counts == {"secret": 5, "credentials": 1, "token": 4}
    assert clean.tools == ("curl -H 'Authorization: Bearer [token]'", "shell")


def test_what_holds_nothing_is_the_very_same_episode():
    episode = Episode("Refund order 1042", "done", ("refund",), meta={"password": "", "token_count": 12, "ok": True})

    assert Masking().episode(episode).episode is episode
    assert not Masking().episode(episode).masked


@given(episodes, st.lists(st.sampled_from([*(line for line, _ in HITS), *MISSES]), max_size=3), st.booleans())
def test_cleaning_what_is_clean_changes_nothing(episode, lines, personal):
    data = episode.to_json()
    data["outcome"] += "\n".join(lines)
    data["meta"] = {**data.get("meta", {}), "api_key": lines, "nested": [{line: line} for line in lines]}
    once = Masking(personal=personal).episode(Episode.from_json(data)).episode
    again = Masking(personal=personal).episode(once)

    assert again.episode == once
    assert not again.masked


def test_two_names_of_which_only_the_secret_differed_are_two_still():
    clean = Masking().episode(Episode("s", "o", meta={TOKEN: 1, TOKEN + "x": 2})).episode

    assert dict(clean.meta) == {"[token]": 1, "[token] (2)": 2, MASKED: {"token": 2}}


def test_a_meta_of_the_hosts_own_under_our_key_is_not_lost():
    clean = Masking().episode(Episode("s", LINE, meta={MASKED: {"secret": 2}})).episode

    assert clean.meta[MASKED] == {"secret": 3}


def test_personal_values_stay_unless_asked_for():
    episode = Episode("mail ada@example.org", "done")

    assert Masking().episode(episode).episode is episode
    assert Masking(personal=True).episode(episode).episode.situation == "mail [email]"


def test_what_does_not_go_together_is_refused():
    with pytest.raises(InvalidInput, match="detect-secrets"):
        Masking(scan="another")
    with pytest.raises(InvalidInput, match="say one of them"):
        Masking(secrets=False, personal=True)


def test_nothing_of_a_secret_reaches_the_file(tmp_path):
    path = tmp_path / "runs.db"
    with Memory.open(path, "keyword") as memory:
        id = memory.record(full(), evidence=f"it printed {LINE}", by="ci")
        memory.label(id, False, evidence=f"password={PW}")
        memory.withdraw(id, evidence=TOKEN)
        with (
            pytest.raises(ValueError, match=MIX[:4]),
            Recorder(memory).run(f"again {LINE}", run_id=f"x-{TOKEN}") as run,
        ):
            run.tools.note(f"login --password {STRONG}")
            raise ValueError(LINE)
        learnings = Learnings(memory.store)
        told = learnings.propose("The docs build needs Node", run_id=f"y-{TOKEN}").id
        learnings.reject(told, note=f"it says {LINE}")
        assert memory.get_run(f"x-{TOKEN}").episode.succeeded is False
        assert [label.evidence for label in memory.labels(id)] == ["it printed API_KEY=[secret]", "password=[secret]"]

    held = everything_in(path)
    assert [secret for secret in (MIX, PW, STRONG, TOKEN) if secret in held] == []


@pytest.mark.parametrize("number", range(0, len(HITS), 9))
def test_no_secret_of_the_corpus_is_found_by_a_recall(number):
    line, secret = HITS[number]
    with Memory.open(":memory:", "keyword") as memory:
        memory.record(Episode(f"deploy it: {line}", line, tools=(line,), meta={"said": line}))
        assert secret not in json.dumps(memory.records()[0].episode.to_json())


def test_a_learning_with_a_secret_is_refused():
    with SqliteStore(":memory:") as store:
        assert isinstance(Learnings(store).propose(f"The key is {LINE}"), Unacceptable)
        assert Learnings(store).all() == []


def test_a_receipt_and_its_run_are_tied_by_a_name_with_a_token_in_it():
    from experience import brief

    with Memory.open(":memory:", "keyword") as memory:
        memory.record(Episode("deploy", "done", success=True))
        receipts = Receipts(memory.store)
        receipts.add(f"r-{TOKEN}", brief(memory, "deploy"))
        assert TOKEN not in receipts.of_run(f"r-{TOKEN}")[0].run_id


def test_the_same_raw_run_again_is_the_same_episode():
    with Memory.open(":memory:", "keyword") as memory:
        assert memory.record(full()) == memory.record(full()) == memory.record(Masking().episode(full()).episode)
        assert memory.count() == 1
        with pytest.raises(RunConflict):
            memory.record(Episode("Another", f"account with {LINE}", run_id="r1"))


def test_a_run_recorded_before_it_would_have_been_masked_is_known():
    with Memory.open(":memory:", "keyword") as memory:
        assert memory.record(full(), masking=OFF) == memory.record(full())
        assert memory.get_run("r1").episode == full().with_success(True)


def test_masking_can_be_turned_off_for_a_memory():
    with Memory.open(":memory:", "keyword", masking=OFF) as memory:
        memory.record(full(), evidence=LINE)
        assert memory.get_run("r1").episode == full()
        assert memory.get_run("r1").label.evidence == LINE


def line_of(outcome, **more):
    return json.dumps({"situation": "Deploy", "tools": [], "outcome": outcome, **more})


def test_lines_from_elsewhere_are_masked_counted_and_known_again():
    lines = [line_of(LINE), line_of(LINE), line_of(f"API_KEY={MIX}x"), line_of("plain"), line_of(LINE, run_id="r9")]
    with SqliteStore(":memory:") as store:
        done = import_lines(store, lines)
        again = import_lines(store, lines)

        assert (done.new, done.masked, done.bad) == (5, {"secret": 4}, ())
        assert (again.new, again.known, again.bad) == (0, 5, ())
        assert [record for record in store.records() if MIX in record.episode.outcome] == []


def test_lines_imported_before_there_was_masking_are_known():
    lines = [line_of(LINE), line_of(LINE), line_of("plain"), line_of(LINE, run_id="r9")]
    with SqliteStore(":memory:") as store:
        import_lines(store, lines, masking=OFF)
        done = import_lines(store, lines)

        assert (done.new, done.known, done.bad) == (0, 4, ())


def test_a_uid_says_nothing_of_the_secret_in_a_line():
    with SqliteStore(":memory:") as one, SqliteStore(":memory:") as other:
        import_lines(one, [line_of(f"password={PW}")])
        import_lines(other, [line_of(f"password={STRONG}")])

        assert one.records()[0].uid == other.records()[0].uid


def test_a_text_is_masked_and_known_again(tmp_path):
    path = tmp_path / "run.txt"
    path.write_bytes(Episode("Deploy", LINE).render().encode())
    with SqliteStore(":memory:") as store:
        for new in (1, 0):
            with path.open("rb") as file:
                done = import_file(store, file)
            assert (done.new, done.masked) == (new, {"secret": 1})
        assert store.records()[0].episode.outcome == "API_KEY=[secret]"


def test_an_export_comes_back_byte_for_byte_and_a_foreign_one_is_masked():
    with Memory.open(":memory:", "keyword", masking=OFF) as memory, SqliteStore(":memory:") as other:
        memory.record(full(), evidence=LINE)
        lines = list(export_lines(memory.store))
        assert import_lines(other, lines).masked == {}
        assert list(export_lines(other)) == lines
    with SqliteStore(":memory:") as store:
        assert sum(import_lines(store, lines, foreign=True).masked.values()) == 9
        assert MIX not in "".join(export_lines(store))


def run(*arguments, **how):
    return CliRunner().invoke(main, arguments, catch_exceptions=False, **how)


def test_the_command_masks_says_so_and_can_be_told_not_to(tmp_path):
    db = ("--db", str(tmp_path / "runs.db"))
    masked = run(*db, "record", "Deploy", "--outcome", LINE, "--success", "--evidence", LINE)
    kept = run(*db, "record", "Deploy again", "--outcome", LINE, "--no-mask")
    personal = run(*db, "record", "Mail", "--outcome", "to ada@example.org", "--mask-personal")
    label = run(*db, "label", "3", "--success", "--evidence", LINE)

    assert "1 value masked before storing: 1 secret (--no-mask keeps them)" in masked.stderr
    assert [one.exit_code for one in (masked, kept, personal, label)] == [0, 0, 0, 0]
    with SqliteStore(tmp_path / "runs.db") as store:
        assert [store.get(id).episode.outcome for id in (1, 2, 3)] == ["API_KEY=[secret]", LINE, "to [email]"]
        assert [store.labels(id)[0].evidence for id in (1, 3)] == ["API_KEY=[secret]"] * 2
    assert run(*db, "record", "x", "--outcome", "y", "--no-mask", "--mask-personal").exit_code == 2


def test_the_import_command_reports_what_it_masked(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(line_of(LINE) + "\n", encoding="utf-8")
    done = run("--db", str(tmp_path / "runs.db"), "import", str(path), "--json")
    told = run("--db", str(tmp_path / "told.db"), "import", str(path))
    other = run("--db", str(tmp_path / "other.db"), "import", str(path), "--no-mask")

    assert json.loads(done.stdout)["masked"] == {"secret": 1}
    assert "masked: 1 (secret 1)" in told.stderr
    assert "masked: 0" in other.stderr


@pytest.mark.skipif(find_spec("detect_secrets") is None, reason="detect-secrets is not installed")
def test_the_scanner_is_a_second_look():
    line = "Softlayer: sl_api_key = " + "b7" * 32
    artifactory = "AKC" + "p5budTFpbypBqQbGJPz3pGCi28pPivfWczqjfYb9drAmd9LbRZbj6UpKFxJXA8ksWGc9fM"
    clean = Masking(scan="detect-secrets").episode(Episode(artifactory, line))

    assert clean.episode.situation == "[secret]"
    assert Masking(scan="detect-secrets").episode(clean.episode).episode == clean.episode
    plain = Episode("commit 3f786850e387550fdab836ed7e6dc881de23001b", "The deployment of internationalization worked")
    assert Masking(scan="detect-secrets").episode(plain).episode is plain


def test_a_scanner_that_is_not_there_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def importing(name, *rest, **more):
        if name.startswith("detect_secrets"):
            raise ImportError(name)
        return real(name, *rest, **more)

    _scanner.cache_clear()
    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingPackage, match=r"pip install 'hardwon\[secrets\]'"):
        Masking(scan="detect-secrets").episode(Episode("s", "o"))


def test_what_is_too_large_is_cut_and_counted_to_the_byte():
    big = Episode(
        "é" * BOUNDS.situation,
        "x" * (BOUNDS.situation + 1),
        tools=("n" * (BOUNDS.name + 5), *["t"] * (BOUNDS.names + 2)),
        meta={"a": "y" * BOUNDS.meta, "b": 1},
    )
    within = capped(big)

    assert len(within.situation.encode()) <= BOUNDS.situation
    assert len(within.tools) == BOUNDS.names
    lost = within.meta[CUT]
    assert lost["meta"] == BOUNDS.meta + 2
    assert f"[truncated: {lost['situation']} bytes]" in within.situation
    kept = len(within.situation.encode()) - len(f"\n[truncated: {lost['situation']} bytes]\n")
    assert kept + lost["situation"] == len(big.situation.encode())
    assert within.meta["b"] == 1
    assert capped(within) == within
    assert capped(full()) == full()


def test_a_value_in_an_object_under_a_name_that_tells_is_judged_by_that_name():
    clean = Masking().episode(Episode("s", "o", meta={"db_password": {"value": "hunter2xyz9"}})).episode
    assert clean.meta["db_password"] == {"value": "[secret]"}
