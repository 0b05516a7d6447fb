"""`experience install`, `uninstall` and `hook`: into Claude Code's settings and out again, nothing else touched."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from experience import Episode, InvalidInput, Learnings, Memory, Receipts, SqliteStore, StoreError
from experience.cli import main
from experience.hosts import claude_code
from experience.hosts.settings import carry_out, planned

COMMANDS = {"SessionStart": "experience hook session-start", "SessionEnd": "experience hook session-end"}
FOREIGN = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check || true"}]}

names = st.sampled_from(["hooks", "SessionStart", "SessionEnd", "mcpServers", "env", 'a"b', "ü", ""]) | st.text(
    max_size=5
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)
groups = st.lists(
    st.just(FOREIGN) | st.fixed_dictionaries({"hooks": st.lists(values, max_size=2)}) | values, max_size=3
)
settings = st.dictionaries(names, values, max_size=4).map(
    lambda data: {key: value for key, value in data.items() if key not in ("hooks", "mcpServers")}
)
hooks = st.dictionaries(st.sampled_from(["SessionStart", "SessionEnd", "PreToolUse", "Stop"]), groups, max_size=4)
servers = st.dictionaries(st.text(max_size=4), values, max_size=3)
layouts = st.sampled_from([None, 1, 2, 4, "\t"])


@st.composite
def texts(draw):
    """Settings as somebody may have laid them out."""
    data = draw(settings)
    for key, inner in (("hooks", hooks), ("mcpServers", servers)):
        if draw(st.booleans()):
            data[key] = draw(inner)
    keys = draw(st.permutations(list(data)))
    text = json.dumps({key: data[key] for key in keys}, indent=draw(layouts), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("[]", "[ ]").replace("{}", "{\n}")  # also within strings, where a line break must not be
        try:
            json.loads(text)
        except ValueError:
            text = json.dumps(data)
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\n", " "])) + text + draw(st.sampled_from(["", "\n", "\r\n\r\n"]))


@given(texts() | st.none())
def test_what_was_installed_is_taken_out_again_to_the_byte(text):
    installed = claude_code.with_hooks(text, COMMANDS, "settings.json")

    assert claude_code.without_hooks(installed, "settings.json") == text
    assert claude_code.with_hooks(installed, COMMANDS, "settings.json") == installed
    served = claude_code.with_server(text, "python", ["-m", "experience", "mcp"], ".mcp.json")
    assert claude_code.without_server(served, ".mcp.json") == text
    assert claude_code.with_server(served, "python", ["-m", "experience", "mcp"], ".mcp.json") == served


@given(texts())
def test_what_is_installed_stands_behind_everything_that_was_there(text):
    before = json.loads(text)
    after = json.loads(claude_code.with_hooks(text, COMMANDS, "settings.json"))

    assert list(after) == [*before, *([] if "hooks" in before else ["hooks"])]
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    was, now = before.get("hooks", {}), after["hooks"]
    for event in {*was, *COMMANDS}:
        kept, added = was.get(event, []), now[event]
        assert added[: len(kept)] == kept
        if event in COMMANDS:
            [group] = added[len(kept) :]
            [hook] = group["hooks"]
            assert hook["command"].startswith(f"{COMMANDS[event]} || true #")
        else:
            assert added == kept


@given(texts(), texts())
def test_what_somebody_adds_after_us_outlives_us(text, other):
    installed = json.loads(claude_code.with_hooks(text, COMMANDS, "settings.json"))
    theirs = {**json.loads(other), **installed}
    theirs["hooks"]["SessionStart"].append(FOREIGN)
    theirs["hooks"]["Stop"] = [FOREIGN]
    left = json.loads(claude_code.without_hooks(json.dumps(theirs), "settings.json"))

    assert left["hooks"]["SessionStart"] == [*json.loads(text).get("hooks", {}).get("SessionStart", []), FOREIGN]
    assert left["hooks"]["Stop"] == [FOREIGN]
    assert "hardwon" not in json.dumps(left)
    assert ("SessionEnd" in left["hooks"]) == ("SessionEnd" in json.loads(text).get("hooks", {}))


def test_a_hook_of_ours_that_was_moved_into_another_group_is_taken_out_of_it():
    ours = {"type": "command", "command": "experience hook session-start || true # hardwon +event"}
    theirs = {"type": "command", "command": "echo hello # hardwon is nice"}
    text = json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [theirs, ours]}]}})

    left = json.loads(claude_code.without_hooks(text, "settings.json"))
    assert left == {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [theirs]}]}}


@pytest.mark.parametrize(
    "theirs",
    [
        "make lint || true # hardwonder",
        "experience hook session-start || true # hardwon +event; notify-send hi",
        "experience hook session-start || true # hardwon\nnotify-send hi",
        "experience hook session-start || true # hardwon +lunch",
        "make lint || true # hardwon",
        "experience hook session-start || true # hardwon ",
    ],
)
def test_a_command_that_only_holds_our_mark_is_left_to_its_owner(theirs):
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": theirs}]}]}})

    assert claude_code.without_hooks(text, "settings.json") == text
    assert claude_code.without_hooks(claude_code.with_hooks(text, COMMANDS, "settings.json"), "settings.json") == text


@pytest.mark.parametrize("event", ["Stop", "PreToolUse", "Whatever", ""])
def test_a_hook_of_ours_that_was_moved_to_another_event_is_found_there(event):
    moved = json.loads(claude_code.with_hooks("{}", COMMANDS, "settings.json"))
    moved["hooks"][event] = moved["hooks"].pop("SessionStart")
    moved["hooks"][event].append(FOREIGN)
    left = json.loads(claude_code.without_hooks(json.dumps(moved), "settings.json"))
    again = claude_code.with_hooks(json.dumps(moved), COMMANDS, "settings.json")

    assert left == {"hooks": {event: [FOREIGN]}}
    assert again.count("hook session-start") == 1


def test_of_a_key_that_stands_twice_the_one_that_counts_is_changed():
    text = '{"hooks": {"Stop": []}, "hooks": {"SessionStart": []}}'
    installed = claude_code.with_hooks(text, COMMANDS, "settings.json")

    assert len(json.loads(installed)["hooks"]["SessionStart"]) == 1
    assert claude_code.without_hooks(installed, "settings.json") == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON"),
        ("// mine\n{}", "line 1; nothing was changed"),
        ('{\n  "a": 1, // why\n}', "line 2; nothing was changed"),
        ('{"a": NaN}', "NaN is no JSON"),
        ("\ufeff{}", "not valid JSON"),
        ("[]", "is list; it needs an object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"hooks": []}', "hooks of settings.json is list; it needs an object"),
        ('{"hooks": null}', "hooks of settings.json is NoneType; it needs an object"),
        ('{"hooks": {"SessionStart": {}}}', "hooks.SessionStart of settings.json is dict; it needs a list"),
    ],
)
def test_settings_that_are_none_are_refused_in_a_sentence_and_left(tmp_path, text, says):
    path = tmp_path / "settings.json"
    path.write_text(text)
    result = CliRunner().invoke(main, ["install", "claude-code", "--settings", str(path)])

    assert result.exit_code == 1
    assert says in result.stderr.replace(str(path), "settings.json")
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_another_server_of_our_name_is_left_to_its_owner():
    with pytest.raises(InvalidInput, match="another server that is called experience"):
        claude_code.with_server('{"mcpServers": {"experience": {"command": "theirs"}}}', "python", [], ".mcp.json")


# -- the files -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "my shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


def command(*arguments, stdin=None, code=0):
    result = CliRunner().invoke(main, [str(part) for part in arguments], input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_install_and_uninstall_leave_no_trace(project):
    command("--db", "runs.db", "install", "claude-code", "--mcp", "--on-prompt")
    written = json.loads((project / ".claude" / "settings.json").read_text())
    assert list(written["hooks"]) == ["SessionStart", "SessionEnd", "UserPromptSubmit"]
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["experience"]["args"][-1] == "mcp"

    again = command("--db", "runs.db", "install", "claude-code", "--mcp", "--on-prompt")
    assert again.stderr.count("nothing to change") == 2
    command("uninstall", "claude-code")
    assert [path for path in project.rglob("*") if path.is_file()] == []
    assert command("uninstall", "claude-code").stderr.count("nothing to change") == 2


def test_installing_anew_leaves_what_is_asked_for_this_time(project):
    command("install", "claude-code", "--on-prompt")
    command("--namespace", "shop", "install", "claude-code")
    written = (project / ".claude" / "settings.json").read_text()

    assert list(json.loads(written)["hooks"]) == ["SessionStart", "SessionEnd"]
    assert written.count("--namespace shop") == 2


def test_a_dry_run_shows_the_change_and_makes_none(project):
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  "model": "opus"\n}\n')
    shown = command("install", "claude-code", "--dry-run").stdout

    assert path.read_text() == '{\n  "model": "opus"\n}\n'
    assert '-  "model": "opus"\n+  "model": "opus",\n+  "hooks": {' in shown
    command("install", "claude-code")
    assert '-          "hooks": [' not in shown
    assert "+" not in "".join(
        line[0]
        for line in command("uninstall", "claude-code", "--dry-run").stdout.splitlines()[3:]
        if '"model"' not in line
    )
    command("uninstall", "claude-code")
    assert path.read_text() == '{\n  "model": "opus"\n}\n'


def test_settings_of_the_user_and_others_are_reached_by_their_options(project, tmp_path):
    command("install", "claude-code", "--user")
    command("install", "claude-code", "--settings", ".claude/settings.local.json")
    assert (tmp_path / "home" / ".claude" / "settings.json").exists()
    assert (project / ".claude" / "settings.local.json").exists()
    assert not (project / ".claude" / "settings.json").exists()
    refused = command("install", "claude-code", "--user", "--mcp", code=2)
    assert "claude mcp add --scope user experience -- " in " ".join(refused.stderr.split())
    command("uninstall", "claude-code", "--user")
    assert not (tmp_path / "home" / ".claude" / "settings.json").exists()


def test_permissions_stay_and_a_link_stays_a_link(project, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text('{"a": 1}')
    real.chmod(0o640)
    (project / ".claude").mkdir()
    link = project / ".claude" / "settings.json"
    link.symlink_to(real)
    command("install", "claude-code")

    assert link.is_symlink()
    assert "hooks" in json.loads(real.read_text())
    assert real.stat().st_mode & 0o777 == 0o640
    command("uninstall", "claude-code")
    assert real.read_text() == '{"a": 1}'
    assert sorted(path.name for path in link.parent.iterdir()) == ["settings.json"]


def test_a_file_that_somebody_else_writes_in_the_meantime_is_not_overwritten(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = planned(path, lambda text: claude_code.with_hooks(text, COMMANDS, "settings.json"))
    path.write_text('{"theirs": 1}')

    with pytest.raises(StoreError, match="changed by somebody else in the meantime"):
        carry_out(change)
    assert path.read_text() == '{"theirs": 1}'


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = planned(path, lambda text: claude_code.with_hooks(text, COMMANDS, "settings.json"))
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    with pytest.raises(StoreError, match="No space left on device"):
        carry_out(change)
    assert path.read_text() == "{}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", [None, '{"a": 1}'])
def test_where_the_second_file_cannot_be_written_the_first_is_as_it_was(project, monkeypatch, before):
    path = project / ".claude" / "settings.json"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    replace = Path.replace

    def refusing(self, target):
        if Path(target).name == ".mcp.json":
            raise PermissionError(13, "Permission denied")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refusing)
    result = command("install", "claude-code", "--mcp", code=1)

    assert ".mcp.json cannot be written: Permission denied" in result.stderr
    assert "written\n" not in result.stderr
    assert (path.read_text() if path.exists() else None) == before
    assert not (project / ".mcp.json").exists()


def test_installing_anew_says_what_it_takes_out_and_what_still_names_another_store(project):
    command("--db", "old.db", "install", "claude-code", "--on-prompt", "--mcp")
    said = command("--db", "new.db", "install", "claude-code").stderr
    again = command("--db", "new.db", "install", "claude-code", "--mcp").stderr

    assert "the earlier hook user-prompt-submit goes" in said
    assert ".mcp.json: still starts the server as" in said
    assert "old.db" in said
    assert "still starts" not in again
    assert "goes" not in again
    assert "still" not in command("--db", "new.db", "install", "claude-code").stderr


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "settings.json"
    path.write_bytes(b"{\xff}")
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        planned(path, lambda text: text)
    with pytest.raises(StoreError, match="cannot be read"):
        planned(tmp_path, lambda text: text)


# -- what the hooks do -------------------------------------------------------------------------------------------------------


def told(result):
    return json.loads(result.stdout)["hookSpecificOutput"]


def said(**more):
    return json.dumps({"session_id": "abc", "cwd": "/home/ada/shop", "hook_event_name": "SessionStart", **more})


def test_a_session_begins_with_learnings_and_with_runs_that_speak_of_its_folder(path):
    with Memory.open(path, "keyword") as memory:
        Learnings(memory.store).propose("The docs build needs Node 20")
        memory.record(Episode("Deploy the shop", "The mirror was down", success=False))
        memory.record(Episode("Bake bread", "Burnt", success=False))
    found = told(command("--db", path, "hook", "session-start", stdin=said()))

    assert found["hookEventName"] == "SessionStart"
    assert '"The docs build needs Node 20"' in found["additionalContext"]
    assert '"The mirror was down"' in found["additionalContext"]
    assert "Burnt" not in found["additionalContext"]
    assert f"-m experience --db {path}" in found["additionalContext"]
    with SqliteStore(path) as store:
        [receipt] = Receipts(store).of("claude_code:abc")
        assert [item.id for item in receipt.contents.of("learnings")] == [1]


def test_a_prompt_is_told_similar_runs_without_the_learnings_again_and_nothing_where_nothing_is_similar(path):
    with Memory.open(path, "keyword") as memory:
        Learnings(memory.store).propose("The docs build needs Node 20")
        memory.record(Episode("Publish the docs site", "Live; the cache had to be purged", success=True))
    options = ("--db", path, "--backend", "keyword", "hook", "user-prompt-submit")
    found = told(command(*options, stdin=said(prompt="publish the docs site")))

    assert found["hookEventName"] == "UserPromptSubmit"
    assert '"Live; the cache had to be purged"' in found["additionalContext"]
    assert "Node 20" not in found["additionalContext"]
    assert command(*options, stdin=said(prompt="qzx wvk")).stdout == ""


def test_where_there_is_no_store_yet_a_session_begins_without_one(path):
    result = command("--db", path, "hook", "session-start", stdin=said())
    assert (result.stdout, "nothing to tell" in result.stderr, path.exists()) == ("", True, False)


def transcript_line(session, kind, text, **more):
    message = {"role": kind, "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": kind, "sessionId": session, "message": message, **more}) + "\n"


def test_the_end_of_a_session_imports_its_transcript_those_of_its_subagents_and_no_other(path, tmp_path):
    transcript, subagents = tmp_path / "abc.jsonl", tmp_path / "abc" / "subagents"
    transcript.write_text(transcript_line("abc", "user", "Ship it") + transcript_line("abc", "assistant", "Shipped."))
    subagents.mkdir(parents=True)
    part = {"agentId": "a1", "isSidechain": True}
    (subagents / "agent-a1.jsonl").write_text(
        transcript_line("abc", "user", "Look for it", **part) + transcript_line("abc", "assistant", "There.", **part)
    )
    (tmp_path / "other.jsonl").write_text(transcript_line("other", "user", "Not this"))
    result = command(
        "--db", path, "--namespace", "shop", "hook", "session-end", stdin=said(transcript_path=str(transcript))
    )

    with SqliteStore(path, "shop") as store:
        found = {record.episode.run_id: record.episode.outcome for record in store.records()}
    assert found == {"claude_code:abc": "Shipped.", "claude_code:abc/a1": "There."}
    assert result.output == ""


def test_what_a_session_was_told_belongs_to_the_run_that_it_is_imported_as(path, tmp_path):
    with Memory.open(path, "keyword") as memory:
        memory.record(Episode(f"Tidy {tmp_path.name}", "Tidied"), "r1")
    command(
        "--db", path, "--backend", "keyword", "hook", "session-start", stdin=said(session_id="abc", cwd=str(tmp_path))
    )
    transcript = tmp_path / "abc.jsonl"
    transcript.write_text(transcript_line("abc", "user", "Ship it"))
    command("--db", path, "hook", "session-end", stdin=said(transcript_path=str(transcript)))

    with SqliteStore(path) as store:
        assert store.get_run("claude_code:abc").episode.situation == "Ship it"
        assert len(Receipts(store).of("claude_code:abc")) == 1


@pytest.mark.parametrize("hook", ["session-start", "session-end", "user-prompt-submit"])
@pytest.mark.parametrize(
    "stdin",
    ["", "no json", "[]", '{"cwd": 5, "prompt": 5, "transcript_path": 5}', '{"session_id": {}, "prompt": "x", "cwd": "/"}', "[" * 100_000, '{"transcript_path": "/nowhere/at/all.jsonl", "prompt": null, "cwd": null}'],
)  # fmt: skip
def test_a_hook_that_can_do_nothing_says_so_and_never_fails_the_session(path, hook, stdin):
    with Memory.open(path, "keyword") as memory:
        memory.record(Episode("x", "y"))
    result = command("--db", path, "--backend", "keyword", "hook", hook, stdin=stdin)

    assert result.stdout == ""
    assert result.stderr.startswith("the hook did nothing: ")
    with SqliteStore(path) as store:
        assert store.count() == 1


def test_a_home_that_nobody_has_does_not_fail_the_session(path):
    result = command("--db", path, "hook", "session-end", stdin=said(transcript_path="~nosuchuser/x"))
    assert result.stderr.startswith("the hook did nothing: ")


@pytest.mark.parametrize("hook", ["session-start", "session-end", "user-prompt-submit"])
def test_a_closed_standard_input_does_not_fail_the_session(path, hook):
    words = shlex.join([sys.executable, "-m", "experience", "--db", str(path), "hook", hook])
    done = subprocess.run(
        ["sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("the hook did nothing: the hook was told nothing, since standard input is closed")


@pytest.mark.parametrize(
    "error", [RecursionError(), KeyError("x"), TypeError("x"), MemoryError(), ZeroDivisionError("x")]
)
def test_whatever_goes_wrong_in_a_hook_is_one_line_and_no_failure(path, monkeypatch, error):
    def failing(*_):
        raise error

    monkeypatch.setattr("experience.hosts.hooks.at_session_end", failing)
    result = command("--db", path, "hook", "session-end", stdin=said())
    assert result.stderr.startswith("the hook did nothing: ")
    assert result.stderr.count("\n") == 1


def test_a_session_does_not_wait_long_for_somebody_who_writes_the_store(path, monkeypatch):
    with Memory.open(path, "keyword") as memory:
        Learnings(memory.store).propose("The docs build needs Node 20")
    monkeypatch.setattr("experience.commands.hosting._PATIENCE", 0.01)
    noting, waited = SqliteStore.wait_at_most, []
    monkeypatch.setattr(
        SqliteStore, "wait_at_most", lambda self, seconds: (waited.append(seconds), noting(self, seconds))
    )
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    result = command("--db", path, "hook", "session-start", stdin=said())
    db.execute("ROLLBACK")
    db.close()

    assert waited == [0.01]
    assert (result.stdout, "is being written by another process" in result.stderr) == ("", True)
    with SqliteStore(path) as store:
        assert store.read("PRAGMA busy_timeout") == [(30_000,)]
        store.wait_at_most(2)
        assert store.read("PRAGMA busy_timeout") == [(2_000,)]


def test_a_file_that_is_no_store_does_not_fail_the_session(path, tmp_path):
    path.write_text(
        "this is no store, and longer than the header of one would be, so that it is looked at as a file\n" * 20
    )
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("{}\n")
    for hook in ("session-start", "session-end"):
        result = command("--db", path, "hook", hook, stdin=said(transcript_path=str(transcript)))
        assert (result.stdout, result.stderr.startswith("the hook did nothing: ")) == ("", True)


def test_the_command_in_the_settings_runs_from_anywhere_and_no_folder_of_the_project_in_our_place(project, path):
    with Memory.open(path, "keyword") as memory:
        Learnings(memory.store).propose("The docs build needs Node 20")
    command("--db", path, "install", "claude-code")
    trap = project / "experience"
    trap.mkdir()
    (trap / "__init__.py").write_text("raise SystemExit('this must not be run')\n")
    (trap / "__main__.py").write_text("raise SystemExit('this must not be run')\n")
    hook = json.loads((project / ".claude" / "settings.json").read_text())["hooks"]["SessionStart"][0]["hooks"][0]
    done = subprocess.run(
        ["sh", "-c", hook["command"]], input=said(), capture_output=True, text=True, check=False, cwd=project,
        env={"PATH": "/usr/bin:/bin", "HOME": str(project), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "Node 20" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_a_command_whose_python_has_gone_does_not_fail_the_session(project):
    command("install", "claude-code")
    hook = json.loads((project / ".claude" / "settings.json").read_text())["hooks"]["SessionStart"][0]["hooks"][0]
    gone = hook["command"].replace(shlex.quote(sys.executable), "/nowhere/python")
    assert gone != hook["command"]
    done = subprocess.run(["sh", "-c", gone], input="{}", capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


def test_paths_with_blanks_and_quotes_are_quoted_for_the_shell(project, monkeypatch):
    odd = project / 'it\'s "mine" $(touch trap).db'
    command("--db", odd, "--namespace", "a; b", "--backend", "keyword", "install", "claude-code")
    hook = json.loads(Path(".claude/settings.json").read_text())["hooks"]["SessionStart"][0]["hooks"][0]

    words = shlex.split(hook["command"], comments=True)
    assert words[1:4] == ["-P", "-m", "experience"]
    assert words[words.index("--db") + 1] == str(odd)
    assert words[words.index("--namespace") + 1] == "a; b"
    assert words[words.index("--backend") + 1] == "keyword"
    assert words[-4:] == ["hook", "session-start", "||", "true"]


def test_settings_are_the_users_or_a_named_file_not_both(project):
    refused = command("install", "claude-code", "--user", "--settings", "x.json", code=2)
    assert "not both" in refused.stderr
    assert not (project / "x.json").exists()


def test_the_users_hooks_go_whatever_stands_in_a_projects_servers(project):
    command("install", "claude-code", "--user")
    (project / ".mcp.json").write_text("no JSON")
    command("uninstall", "claude-code", "--user")
    assert (project / ".mcp.json").read_text() == "no JSON"
