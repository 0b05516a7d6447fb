"""The command: data on stdout, remarks on stderr, and an exit code that says how it went."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from experience import Episode, Memory, SqliteStore
from experience.cli import main
from experience.testing import HashEncoder


@pytest.fixture
def run(path, monkeypatch):
    """Run the command on a store of its own, ranking by keyword; expects exit code 0 unless told."""
    monkeypatch.setenv("EXPERIENCE_DB", str(path))
    monkeypatch.setenv("EXPERIENCE_BACKEND", "keyword")

    def run_command(*args, code=0, stdin=None):
        result = CliRunner().invoke(main, list(map(str, args)), input=stdin)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run_command


@pytest.fixture
def recorded(run):
    run("record", "deploy the site", "--outcome", "live", "--tool", "shell", "--tool", "shell", "--skill", "runbook",
        "--tag", "prod", "--success", "--by", "ada", "--evidence", "saw it", "--run-id", "r1", "--started-at", "2026-05-04")  # fmt: skip
    run("record", "bake bread\nfor the party", "--outcome", "burnt", "--failure", "--kind", "self_claim")
    run("record", "water the plants", "--outcome", "")
    return run


def data(result):
    return json.loads(result.stdout)


def test_record_prints_the_id_and_nothing_else(run):
    result = run("record", "deploy", "--outcome", "done")

    assert (result.stdout, result.stderr) == ("1\n", "")
    assert data(run("--json", "record", "deploy", "--outcome", "done")) == {"id": 2}


def test_everything_that_was_recorded_is_shown(recorded):
    shown = data(recorded("show", 1, "--json"))

    assert shown["situation"] == "deploy the site"
    assert (shown["tools"], shown["skills"], shown["tags"]) == (["shell", "shell"], ["runbook"], ["prod"])
    assert (shown["success"], shown["confirmed"], shown["run_id"]) == (True, True, "r1")
    assert shown["started_at"] == "2026-05-04T00:00:00.000000Z"
    assert [(label["class"], label["by"], label["evidence"]) for label in shown["labels"]] == [
        ("human", "ada", "saw it")
    ]
    for part in (
        "episode",
        "success",
        "confirmed",
        "deploy the site",
        "shell, shell",
        "runbook",
        "prod",
        "live",
        "ada",
    ):
        assert part in recorded("show", 1).stdout


def test_show_text_prints_the_stable_text(recorded):
    assert recorded("show", 2, "--text").stdout == (
        "Situation: bake bread\n  for the party\nTools used: (none)\nResult: failure\nOutcome: burnt\n"
    )


def test_a_dash_reads_standard_input(run):
    run("record", "-", "--outcome", "o", stdin="from a pipe\n")
    run("record", "s", "--outcome", "-", stdin="read as well")

    assert data(run("recall", "-", "--json", stdin="pipe"))[0]["situation"] == "from a pipe"
    assert data(run("show", 2, "--json"))["outcome"] == "read as well"
    assert "only one of" in run("record", "-", "--outcome", "-", stdin="x", code=2).stderr


def test_recall_prints_what_a_person_wants_to_see(recorded):
    out = recorded("recall", "deploy site").stdout

    for part in ("1. [1]", "success", "deploy the site", "shell, shell", "runbook", "live", "keyword 1"):
        assert part in out


def test_recall_as_json_is_an_array_of_objects(recorded):
    [match] = data(recorded("recall", "deploy site", "--json"))

    assert {
        "id",
        "score",
        "why",
        "situation",
        "tools",
        "skills",
        "tags",
        "success",
        "outcome",
        "recorded_at",
    } <= match.keys()
    assert data(recorded("--json", "recall", "unheard")) == []


def test_nothing_similar_is_a_remark_and_no_error(recorded):
    result = recorded("recall", "unheard")

    assert (result.stdout, result.stderr) == ("", "nothing similar was found\n")


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ([], [3, 2, 1]), (["--success"], [1]), (["--failure"], [2]), (["--tool", "shell"], [1]), (["--skill", "runbook"], [1]),
        (["--tag", "x"], []), (["--until", "2026-05-05"], [1]), (["--since", "2026-05-05T00:00:00Z"], [3, 2]), (["--limit", "2"], [3, 2]),
        (["--limit", "0"], []),
    ],
)  # fmt: skip
def test_list_and_its_filters(recorded, options, ids):
    assert [found["id"] for found in data(recorded("list", *options, "--json"))] == ids


def test_list_is_one_line_a_run_and_says_what_it_left_out(recorded):
    result = recorded("list", "--limit", "2")

    assert len(result.stdout.splitlines()) == 2
    assert "bake bread for the party" in result.stdout
    assert "2 of 3" in result.stderr


def test_recall_takes_the_same_filters(recorded):
    assert data(recorded("recall", "deploy bake", "--failure", "--json"))[0]["id"] == 2


def test_labels_are_given_corrected_and_taken_back(recorded):
    assert data(recorded("--json", "label", 3, "--success"))["success"] is True
    assert data(recorded("--json", "label", 3, "--failure", "--kind", "verifier", "--by", "suite"))["success"] is False
    assert data(recorded("--json", "label", 3, "--withdraw"))["success"] is True
    assert [label["withdrawn"] is not None for label in data(recorded("show", 3, "--json"))["labels"]] == [False, True]
    assert "withdrawn" in recorded("show", 3).stdout
    assert data(recorded("--json", "label", 3, "--withdraw", "--label", 3))["label"] is None


def test_delete_takes_all_of_the_ids_or_none(recorded):
    assert "no episode 9" in recorded("delete", 1, 9, code=1).stderr
    assert len(data(recorded("list", "--json"))) == 3
    assert "deleted 2 records" in recorded("delete", 1, 1, 2).stderr
    assert [found["id"] for found in data(recorded("list", "--json"))] == [3]


@pytest.mark.parametrize(
    ("typed", "code", "left"), [("y\ndefault\n", 0, 0), ("n\n", 1, 3), ("y\nother\n", 1, 3), ("", 1, 3), ("y\n", 1, 3)]
)
def test_deleting_a_namespace_asks_twice(recorded, typed, code, left):
    recorded("delete", "--all", stdin=typed, code=code)

    assert len(data(recorded("list", "--json"))) == left


def test_a_script_confirms_by_name(recorded):
    recorded("delete", "--all", "--confirm", "wrong", code=1)
    recorded("delete", "--all", "--confirm", "default")

    assert data(recorded("list", "--json")) == []


def test_expired_runs_can_be_deleted(run):
    run("record", "s", "--outcome", "o", "--expires-in", "0")

    assert data(run("info", "--json"))["expired"] == 1
    assert "deleted 1 record" in run("delete", "--expired").stderr


def test_import_says_what_it_did_and_skips_bad_lines(run, tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text(
        '{"situation": "a", "tools": [], "outcome": "o"}\n{oops\n{"situation": "", "tools": [], "outcome": "o"}\n'
    )

    result = run("import", file)
    assert "1 new, 0 known already, 2 bad lines left out" in result.stderr
    assert "line 2: not JSON" in result.stderr
    [again] = data(run("import", file, "--json"))["own"]
    assert again["path"] == str(file)
    assert (again["new"], again["known"], [bad["line"] for bad in again["bad"]]) == (0, 1, [2, 3])
    assert "line 2" in run("import", "--strict", file, code=1).stderr


def test_import_reads_standard_input_and_the_stable_text(run, tmp_path):
    run("import", "-", stdin='{"situation": "a", "tools": [], "outcome": "o"}\n')
    file = tmp_path / "episode.txt"
    file.write_text("Situation: b\nTools used: (none)\nOutcome: o\n")
    run("import", file)

    assert [found["situation"] for found in data(run("list", "--json"))] == ["b", "a"]


def test_lenient_import_says_what_it_guessed(run, tmp_path):
    file = tmp_path / "episode.txt"
    file.write_text("Situation: one\ntwo\nOutcome: o\n")

    assert "1 bad line left out" in run("import", file, code=1).stderr
    assert "guessed: 1 more lines were read as part of the situation" in run("import", "--lenient", file).stderr


def test_export_and_import_move_a_store(recorded, tmp_path):
    file = tmp_path / "out.jsonl"
    assert "exported 3 records" in recorded("export", file).stderr
    assert recorded("export").stdout == file.read_text(encoding="utf-8")
    recorded("--db", tmp_path / "other.db", "import", file)

    assert recorded("--db", tmp_path / "other.db", "export").stdout == file.read_text(encoding="utf-8")


def test_info_counts_what_is_there(recorded):
    info = data(recorded("info", "--json"))

    assert (info["episodes"], info["success"], info["failure"], info["unknown"], info["confirmed"]) == (3, 1, 1, 1, 1)
    assert info["bytes"] > 0
    assert info["encoder"] is None
    assert "episodes" in recorded("info").stdout
    assert "None" not in recorded("info").stdout


def test_a_namespace_sees_its_own_runs_only(recorded):
    assert data(recorded("--namespace", "other", "list", "--json")) == []
    assert "no episode 1" in recorded("--namespace", "other", "show", 1, code=1).stderr


def test_a_brief_in_a_record_is_taken_out_and_said_to_be(run):
    text = '[experience-recall]\n  1. situation: "old"\n[/experience-recall]\nnew'

    assert "does not learn its own brief" in run("record", text, "--outcome", "o").stderr
    assert data(run("show", 1, "--json"))["situation"] == "new"


@pytest.mark.parametrize(
    "args",
    [
        ["list"], ["show", "1"], ["recall", "x"], ["info"], ["export"], ["refresh"], ["delete", "1"], ["label", "1", "--success"],
    ],
)  # fmt: skip
def test_looking_at_a_store_that_is_not_there_makes_none(run, path, args):
    assert "there is no store at" in run(*args, code=1).stderr
    assert not path.exists()


@pytest.mark.parametrize(
    "args",
    [
        ["record", "s"], ["recall"], ["recall", "x", "-k", "-1"], ["show", "x"], ["label", "1"], ["delete"], ["delete", "1", "--all"],
        ["list", "--since", "yesterday"], ["--backend", "psychic", "list"], ["import", "no-such-file"], ["fly"],
        ["label", "1", "--success", "--label", "3"],
        ["label", "1", "--success", "--failure"],
        ["label", "1", "--success", "--withdraw"],
        ["label", "--success"],
        ["label", "1", "--run-id", "r1", "--success"],
        ["list", "--success", "--failure"],
        ["record", "s", "--outcome", "o", "--success", "--failure"],
        ["record", "s", "--outcome", "o", "--expires-in", "nan"],
        ["record", "s", "--outcome", "o", "--expires-in", "10000000000"],
        ["delete", "1", "--confirm", "default"], ["record", "s", "--outcome", "o", "--kind", "god"],
    ],
)  # fmt: skip
def test_a_wrong_command_exits_with_2(recorded, args):
    recorded(*args, code=2)


def test_a_bad_episode_exits_with_1_and_one_line(run):
    result = run("record", " ", "--outcome", "o", code=1)

    assert result.stderr == "Error: the situation is empty; an episode needs to say what was asked\n"


def test_recorded_text_cannot_drive_the_terminal(run):
    run(
        "record",
        "a \x1b[2J\x07 \u202e evil \x9b",
        "--outcome",
        "\x1b]0;title\x07",
        "--tool",
        "\x1b[31m",
        "--by",
        "\x1b[1m",
        "--success",
    )

    for args in (["list"], ["show", "1"], ["recall", "evil"]):
        out = run(*args).stdout
        assert not set(out) & set("\x1b\x07\u202e\x9b")
        assert "\\x1b" in out


def test_text_is_cut_by_columns_and_east_asian_characters_take_two(monkeypatch):
    from experience.printing import shortened

    assert shortened("部署网站到服务器", 9) == "部署网站…"
    assert shortened("deploy it", 9) == "deploy it"


def experience(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "experience", *args], capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, "PYTHONUTF8": "1", **env},
    )  # fmt: skip


def test_the_real_command_recalls_by_meaning_from_a_cold_start(path):
    with Memory.open(path, "embedding") as memory:
        memory.record(Episode("publish my web site", "live"))
        memory.record(Episode("bake bread", "eaten"))

    done = experience(
        "--db", str(path), "--backend", "embedding", "recall", "put the homepage online", "-k", "1", "--json"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["situation"] == "publish my web site"


def test_colour_only_where_a_terminal_wants_it(path):
    with SqliteStore(path) as store:
        store.record(Episode("s", "o"))

    assert "\x1b[" not in experience("--db", str(path), "list").stdout


def test_no_color_is_honoured(path, run, monkeypatch):
    run("record", "s", "--outcome", "o")
    coloured = CliRunner().invoke(main, ["list"], color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = CliRunner().invoke(main, ["list"], color=True)

    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in plain.stdout


def test_the_version_is_the_packages():
    from experience import __version__

    assert experience("--version").stdout == f"experience, version {__version__}\n"


def test_completion_scripts_are_made_by_click():
    assert "_EXPERIENCE_COMPLETE" in experience(_EXPERIENCE_COMPLETE="bash_source").stdout


def test_the_demo_shows_every_mode():
    done = experience("demo")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Recorded 120 episodes; embedded 120" in done.stdout
    for part in ("== keyword", "== embedding", "== hybrid", "success", "tools", "skills", "outcome"):
        assert part in done.stdout


def test_refresh_fills_in_what_is_missing(run, path):
    run("record", "s", "--outcome", "o")
    encoder = HashEncoder()
    with Memory.open(path, "embedding", encoder) as memory:
        assert memory.backend.pending() == 1
    done = run("--backend", "embedding", "refresh")

    assert "embedded 1 episode" in done.stderr
    assert data(run("info", "--json"))["vectors"] == {"all-MiniLM-L6-v2@53aa5117-p16": 1}


def test_every_option_of_the_group_can_be_set_in_the_environment(run, monkeypatch, tmp_path):
    run("record", "s", "--outcome", "o")
    monkeypatch.setenv("EXPERIENCE_JSON", "1")
    assert data(run("list"))[0]["situation"] == "s"
    monkeypatch.setenv("EXPERIENCE_NAMESPACE", "other")
    assert data(run("list")) == []
    monkeypatch.setenv("EXPERIENCE_BACKEND", "psychic")
    run("list", code=2)
    monkeypatch.delenv("EXPERIENCE_BACKEND")
    monkeypatch.setenv("EXPERIENCE_ENCODER", "nobody/nothing")
    assert "nobody/nothing" in run("--namespace", "default", "recall", "s", code=1).stderr


def test_a_run_is_labelled_by_its_own_name(recorded):
    assert data(recorded("--json", "label", "--run-id", "r1", "--failure", "--kind", "verifier"))["success"] is False
    assert "no run 'r9'" in recorded("label", "--run-id", "r9", "--failure", code=1).stderr


def test_a_withdrawn_label_shows_by_whom_and_why(recorded):
    recorded("label", 1, "--withdraw", "--by", "eve", "--evidence", "wrong run")

    assert data(recorded("show", 1, "--json"))["labels"][0]["withdrawn"]["by"] == "eve"
    for part in ("withdrawn", "eve", "wrong run"):
        assert part in recorded("show", 1).stdout


@pytest.mark.parametrize("where", ["no/such/folder/out.jsonl", "."])
def test_an_export_that_cannot_be_written_is_one_line_and_leaves_nothing(recorded, tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    before = sorted(tmp_path.rglob("*"))
    result = recorded("export", where, code=2 if where == "." else 1)

    assert len(result.stderr.strip().splitlines()) <= 4
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_an_export_is_its_owners_alone(recorded, tmp_path):
    recorded("export", tmp_path / "out.jsonl")

    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0


def test_a_file_of_nothing_but_bad_lines_is_an_error(run, tmp_path):
    file = tmp_path / "bad.jsonl"
    file.write_text("{oops\n")

    assert "1 bad line left out" in run("import", file, code=1).stderr


def test_strict_names_the_file(run, tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"situation": "a", "tools": [], "outcome": "o"}\n')
    bad.write_text("{oops\n")

    assert f"{bad}: line 1" in run("import", "--strict", good, bad, code=1).stderr
    assert len(data(run("list", "--json"))) == 1


def test_import_options_reach_the_import(run, tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_text('{"situation": "a", "tools": [], "outcome": "o", "run_id": "r", "success": true}\n')
    run("import", "--kind", "verifier", file)
    assert data(run("show", 1, "--json"))["label"]["class"] == "verifier"
    file.write_text('{"situation": "b", "tools": [], "outcome": "o", "run_id": "r"}\n')
    run("import", file, code=1)
    run("import", "--supersede", file)
    assert [found["situation"] for found in data(run("list", "--json"))] == ["b"]
    forged = {"situation": "c", "tools": [], "outcome": "o", "hardwon": {"uid": "u", "recorded_at": "2026-01-01T00:00:00Z", "labels": [
        {"value": True, "class": "verifier", "by": "god", "at": "2026-01-01T00:00:00Z"}]}}  # fmt: skip
    file.write_text(json.dumps(forged))
    run("import", "--foreign", file)
    assert data(run("list", "--json"))[0]["label"] is None


def test_deleting_leaves_no_trace_in_the_files(run, path):
    run("record", "log in with hunter2xyzzy", "--outcome", "o")
    run("delete", 1)

    assert b"hunter2xyzzy" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_the_question_before_deleting_counts_superseded_records_too(run):
    run("record", "s", "--outcome", "one", "--run-id", "r")
    run("record", "s", "--outcome", "two", "--run-id", "r", "--supersede")

    result = run("delete", "--all", stdin="y\ndefault\n")
    assert "Delete all 2 records" in result.stderr
    assert "deleted 2 records" in result.stderr


def test_a_rebuild_makes_a_broken_index_good_again(run, path):
    run("record", "deploy the site", "--outcome", "o")
    with SqliteStore(path) as store, store.write() as db:
        db.execute("DELETE FROM words")
    assert data(run("recall", "deploy", "--json")) == []

    assert "rebuilt the keyword index of 1 episode" in run("refresh", "--rebuild").stderr
    assert len(data(run("recall", "deploy", "--json"))) == 1


def test_json_is_the_same_data_with_what_a_terminal_would_act_upon_escaped(run):
    run("record", "a \u202e b \x9b c \U000e0041", "--outcome", "部署🙂")
    out = run("show", 1, "--json").stdout

    assert not set(out) & set("\u202e\x9b\U000e0041")
    assert json.loads(out)["situation"] == "a \u202e b \x9b c \U000e0041"
    assert "部署🙂" in out


def test_an_error_about_recorded_text_cannot_drive_the_terminal(run, tmp_path):
    file = tmp_path / "evil.jsonl"
    file.write_text(
        '{"situation": "a", "tools": [], "outcome": "o", "\\u001b[2J\\u202e": 1, "meta": {"\\u001b[2J\\u202e": 2}}\n'
    )

    assert not set(run("import", file, code=1).stderr) & set("\x1b\u202e")


def test_names_with_commas_are_told_from_two_names(run):
    run("record", "s", "--outcome", "o", "--tool", "a, b", "--tool", "c")

    assert '"a, b", c' in run("show", 1).stdout


def test_a_warning_of_the_library_is_a_remark(recorded, run, monkeypatch):
    import warnings

    monkeypatch.setattr(
        "experience.store.SqliteStore.count", lambda *_: warnings.warn("mind the gap", stacklevel=1) or 0
    )
    result = run("list")

    assert "mind the gap" in result.stderr
    assert "UserWarning" not in result.stderr


def test_an_agents_own_claims_are_not_counted_as_confirmed(run):
    run("record", "s", "--outcome", "o", "--success", "--kind", "self_claim")
    run("record", "t", "--outcome", "o", "--success")
    info = data(run("info", "--json"))

    assert (info["success"], info["confirmed"]) == (2, 1)


def test_a_reader_that_stops_reading_is_no_error(path):
    with SqliteStore(path) as store:
        for number in range(2000):
            store.record(Episode(f"task {number} " + "x" * 100, "o"))
    lister = subprocess.Popen(
        [sys.executable, "-m", "experience", "--db", str(path), "list", "--limit", "2000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lister.stdout.readline()
    lister.stdout.close()

    assert b"Traceback" not in lister.stderr.read()
    lister.stderr.close()
    lister.wait()


def test_an_export_that_breaks_off_leaves_the_older_one_as_it_was(recorded, tmp_path, monkeypatch):
    file = tmp_path / "backup.jsonl"
    recorded("export", file)
    before = file.read_bytes()

    def broken(_store):
        yield "{}"
        raise KeyboardInterrupt

    monkeypatch.setattr("experience.transfer.export_lines", broken)
    recorded("export", file, code=1)

    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_export_does_not_write_over_the_store_itself(recorded, path):
    before = path.read_bytes()
    assert "is the store itself" in recorded("export", path, code=2).stderr

    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_an_export_to_a_pipe_goes_through_it(recorded, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    recorded("export", pipe)

    assert len(reader.communicate(timeout=30)[0].splitlines()) == 3
    assert pipe.is_fifo()


def test_show_text_is_exact_to_the_byte_where_it_is_no_terminal(run, path):
    outcome = "log: \x1b[31mERROR\x1b[0m 部署 \u202e"
    run("record", "s", "--outcome", outcome)
    done = subprocess.run(
        [sys.executable, "-m", "experience", "--db", path, "show", "1", "--text"],
        capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip

    assert done.stdout == f"Situation: s\nTools used: (none)\nOutcome: {outcome}\n".encode()


def test_an_encoding_that_lacks_characters_gets_escapes(run, path):
    run("record", "部署", "--outcome", "o")
    done = experience("--db", str(path), "list", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")

    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u90e8" in done.stdout


def test_a_name_that_no_file_can_have_is_one_line(run):
    result = run("--db", "x" * 300, "record", "s", "--outcome", "o", code=1)

    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [["list", "--tool", "\udcff"], ["recall", "x", "--tag", "\udcff"]])
def test_a_filter_that_is_no_text_is_one_line(recorded, args):
    assert "surrogate" in recorded(*args, code=1).stderr


def test_the_year_one_is_written_with_four_digits(run):
    run("record", "s", "--outcome", "o", "--started-at", "0001-01-01")

    assert "0001-01-01" in run("list").stdout


def test_recall_leaves_out_what_scores_too_little_and_counts_it(recorded):
    result = recorded("recall", "deploy the site", "--min-score", "1.5")
    assert result.stdout == ""
    assert "1 run scored less than 1.5" in result.stderr
    assert (
        recorded("recall", "deploy the site", "--min-score", "-1").stdout
        == recorded("recall", "deploy the site").stdout
    )
