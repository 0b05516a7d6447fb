"""Rollouts of Codex: what was asked, which tools, which failed, how it ended, and where every line went."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experience.importers.codex import FORMAT
from experience.importers.session import Call, Leftover, Session, Trouble
from experience.importers.source import Source

META = {"type": "session_meta", "timestamp": "2026-11-01T10:00:00Z", "payload": {"id": "t1", "cwd": "/w", "cli_version": "0.9", "git": {"branch": "main"}}}  # fmt: skip


def item(kind, **more):
    return {"type": "response_item", "payload": {"type": kind, **more}}


def event(kind, **more):
    return {"type": "event_msg", "payload": {"type": kind, **more}}


def user(*texts):
    return item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts])


def agent(text):
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(id, name="shell", arguments="{}"):
    return item("function_call", name=name, arguments=arguments, call_id=id)


def answer(id, output):
    return item("function_call_output", call_id=id, output=output)


@pytest.fixture
def read(tmp_path):
    def read(*lines):
        path = tmp_path / "rollout.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return list(FORMAT.sessions(Source(path)))

    return read


def test_a_rollout_is_what_was_asked_what_was_called_and_what_was_said_last(read):
    [session] = read(
        META,
        {"type": "turn_context", "payload": {"model": "gpt", "cwd": "/elsewhere"}},
        item("message", role="developer", content=[{"type": "input_text", "text": "Be careful"}]),
        user("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        user("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        user("Fix the parser"),
        event("user_message", message="Fix the parser"),
        item("reasoning", summary=[]),
        event("agent_reasoning", text="hm"),
        call("c1", arguments='{"command": ["bash", "-lc", "pytest"]}'),
        answer("c1", "Exit code: 1\nWall time: 1 seconds\nOutput:\nExit code: 0\n"),
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output='{"output": "ok", "metadata": {"exit_code": 0}}'),
        item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}, status="completed"),
        item("web_search_call", id="w1", status="failed", action={"type": "search", "query": "x"}),
        event("token_count", info={"total_token_usage": {"total_tokens": 900}}),
        event("agent_message", message="Fixed."),
        agent("Fixed."),
        event("task_complete"),
        {"type": "compacted", "payload": {"message": "so far"}},
        {"type": "ghost", "payload": {}},
    )

    assert (session.id, session.asked, session.account) == ("t1", "Fix the parser", "Fixed.")
    assert session.calls == (
        Call("shell", False),
        Call("apply_patch", True),
        Call("local_shell"),
        Call("web_search", False),
    )
    assert (session.cost.tokens, session.cost.steps, session.finding) == (900, 4, None)
    assert session.meta == {"agent": "codex", "cwd": "/w", "version": "0.9", "branch": "main", "model": "gpt"}
    assert session.kept == 8
    assert session.dropped == {
        "header of the session": 1, "context of a turn": 1, "instructions": 1, "injected by the program": 2, "thinking": 2,
        "said twice: as an item and as an event": 2, "count of tokens": 1, "event for the screen: task_complete": 1,
        "compaction": 1, "unknown kind of line: ghost": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("output", "worked"),
    [
        ("Exit code: 0\nOutput:\nx", True), ("Exit code: 2\nOutput:\nx", False),
        ("Chunk ID: 1\nProcess exited with code 137\nOutput:\n", False),
        ('{"output": "x", "metadata": {"exit_code": 0, "duration_seconds": 1}}', True), ('{"exit_code": 3}', False),
        ({"content": "x", "success": False}, False), ({"content": "Exit code: 0", "success": None}, True),
        ([{"type": "input_text", "text": '{"exit_code":0}'}], True),
        ("Output:\nExit code: 1", None), ("all is well", None), ("it says Exit code: 1 here", None), ("", None), (None, None), (7, None), ([], None),
        ('{"exit_code": "no"}', None), ('{"exit_code": tru', None), ('{"metadata": 5, "exit_code": 1}', None),
    ],
)  # fmt: skip
def test_a_call_has_failed_where_its_own_report_says_so(read, output, worked):
    [session] = read(META, user("x"), call("c1"), answer("c1", output))

    assert session.calls == (Call("shell", worked),)


def test_the_same_said_again_later_is_not_said_twice(read):
    [session] = read(META, user("go on"), event("user_message", message="go on"), agent("1"), user("go on"), agent("2"))

    assert (session.asked, session.later) == ("go on", ("go on",))


def test_what_only_events_say_is_said(read):
    [session] = read(META, event("user_message", message="Do it"), event("agent_message", message="Done."))

    assert (session.asked, session.account, session.kept) == ("Do it", "Done.", 2)


def test_the_older_shape_is_read_too(read):
    [session] = read(
        {"id": "t0", "timestamp": "2025-06-01T10:00:00Z", "instructions": None, "git": {"branch": "b"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it"}]},
        {
            "type": "local_shell_call",
            "call_id": "c",
            "action": {"type": "exec", "command": ["cat", "skills/ship/SKILL.md"]},
        },
        {"type": "function_call_output", "call_id": "c", "output": "text"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    )

    assert (session.id, session.asked, session.account, session.kept) == ("t0", "Do it", "Done.", 4)
    assert session.skills == (("ship", "read skills/ship/SKILL.md"),)
    assert session.meta["branch"] == "b"


def test_a_file_without_a_header_is_named_by_how_it_begins(read):
    [short] = read(user("Do it"))
    [long] = read(user("Do it"), agent("Done."))
    [other] = read(user("Do that"), agent("Done."))

    assert short.id == long.id != other.id


def test_a_sub_agent_names_its_parent_and_copied_headers_change_nothing(read):
    spawned = {"id": "t2", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "t1"}}}}
    [session] = read({"type": "session_meta", "payload": spawned}, META, user("look"))

    assert (session.id, session.meta["parent"]) == ("t2", "t1")
    assert session.dropped["header of another session, which this one was begun from"] == 1


def test_turns_that_were_rolled_back_are_given_up(read):
    [session] = read(META, user("Do it"), agent("A"), user("no"), agent("B"), event("thread_rolled_back", num_turns=1))

    assert (session.asked, session.account) == ("Do it", "A")
    assert session.dropped["given up: the conversation was taken back to before it"] == 2
    assert (session.kept, session.length) == (2, 4)


def test_a_request_out_of_an_editor_is_what_was_typed(read):
    [session] = read(
        META, user("# Context from my IDE setup:\n\n## Open tabs:\n- x.py\n\n## My request for Codex:\nDo it\n")
    )

    assert session.asked == "Do it"


def test_a_skill_that_was_handed_over_is_followed(read):
    [session] = read(
        META, user("<skill>\n<name>ship</name>\n<path>/s/ship/SKILL.md</path>\ntext\n</skill>"), user("Use $ship")
    )

    assert session.asked == "Use $ship"
    assert session.skills == (("ship", "handed over with the request: /s/ship/SKILL.md"),)


def test_what_is_no_line_of_a_rollout_is_not_recognised():
    for value in (
        None,
        [],
        {},
        {"type": "user", "payload": {}},
        {"role": "user", "content": "x"},
        {"type": "message", "content": "x"},
        {"id": "x"},
        {"type": []},
    ):
        assert not FORMAT.recognises(value)
    for value in (META, user("x"), event("x"), {"type": "function_call", "call_id": "x"}, {"record_type": "state"}):
        assert FORMAT.recognises(value)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6)  # fmt: skip
PAYLOADS = st.fixed_dictionaries(
    {"type": JSON | st.sampled_from(["message", "function_call", "function_call_output", "user_message", "agent_message", "token_count", "reasoning", "web_search_call", "thread_rolled_back"])},
    optional={"role": st.sampled_from(["user", "assistant", "developer"]) | JSON, "content": JSON | st.lists(st.fixed_dictionaries({"text": st.text(max_size=5) | JSON}), max_size=2),
              "message": st.text(max_size=5) | JSON, "call_id": st.sampled_from("ab") | JSON, "name": JSON, "arguments": JSON, "output": JSON, "info": JSON, "id": JSON, "source": JSON, "num_turns": JSON},
)  # fmt: skip
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]) | JSON, "payload": PAYLOADS | JSON}
)  # fmt: skip


@given(st.lists(LINES | PAYLOADS | JSON, max_size=30))
def test_every_line_is_accounted_for(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("codex") / "rollout.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    found = list(FORMAT.sessions(Source(path)))
    kept = sum(one.kept for one in found if isinstance(one, Session))
    dropped = sum(sum(one.dropped.values()) for one in found if isinstance(one, Session | Leftover))

    assert kept + dropped + sum(isinstance(one, Trouble) for one in found) == len(values)


def test_the_shared_families_of_records_read_as_a_person_reads_them(shared):
    [session] = FORMAT.sessions(Source(shared / "transcripts" / "codex" / "record-families.jsonl"))

    assert (session.id, session.asked, session.account) == (
        "33333333-3333-4333-8333-333333333333",
        "List the synthetic files.",
        "",
    )
    assert session.calls == (
        Call("spawn_agent"), Call("exec_command"), Call("wait", True), Call("exec"), Call("exec_command"), Call("exec"),
    )  # fmt: skip
    assert (session.kept, sum(session.dropped.values()), session.finding) == (13, 7, None)


def test_the_shared_run_of_another_agent_reads_as_a_person_reads_it(shared):
    [session] = FORMAT.sessions(
        Source(shared / "transcripts" / "codex" / "harbor-marshmallow-1867-function-calling.jsonl")
    )

    assert session.asked == ""
    assert session.first_words.startswith("Let's first start by reproducing the results of the issue.")
    assert [call.name for call in session.calls] == [
        "create", "edit", "python", "ls", "find_file", "open", "edit", "edit", "python", "rm", "submit",
    ]  # fmt: skip
    assert session.account == "Calling `submit` to submit."
    assert (session.kept, sum(session.dropped.values()), session.finding) == (33, 12, None)
