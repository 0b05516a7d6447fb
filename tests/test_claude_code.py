"""Sessions of Claude Code: what was asked, which tools, which skills, how it ended, and where every line went."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experience.importers.claude_code import FORMAT
from experience.importers.episodes import episode_of, shortened
from experience.importers.session import Call, Leftover, Session, Trouble
from experience.importers.source import Source


class Writer:
    """Lines as Claude Code writes them, each a child of the one before."""

    def __init__(self, session="s1"):
        self.session, self.lines, self.number = session, [], 0

    def line(self, kind, **more):
        self.number += 1
        uuid = f"{self.session}-{self.number}"
        parent = self.lines[-1]["uuid"] if self.lines else None
        self.lines.append({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": self.session, **more})
        return self.lines[-1]

    def user(self, content, **more):
        return self.line("user", message={"role": "user", "content": content}, **more)

    def agent(self, *blocks, id=None, usage=None, **more):
        message = {"role": "assistant", "id": id or f"m{self.number}", "content": list(blocks), "usage": usage or {}}
        return self.line("assistant", message=message, **more)

    def call(self, id, name, **arguments):
        return self.agent({"type": "tool_use", "id": id, "name": name, "input": arguments})

    def answer(self, id, content="ok", **more):
        return self.user([{"type": "tool_result", "tool_use_id": id, "content": content, **more}])


def text(words):
    return {"type": "text", "text": words}


@pytest.fixture
def write():
    return Writer()


@pytest.fixture
def read(tmp_path):
    def read(*lines):
        path = tmp_path / "session.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return list(FORMAT.sessions(Source(path)))

    return read


def test_a_session_is_what_was_asked_what_was_called_and_what_was_said_last(write, read):
    write.user("Fix the parser", timestamp="2026-11-01T10:00:00Z", cwd="/work", version="2.0", gitBranch="main")
    write.agent(text("I look first."), usage={"input_tokens": 5, "output_tokens": 2})
    write.call("c1", "Read", file_path="parser.py")
    write.answer("c1", is_error=False)
    write.call("c2", "Bash", command="pytest")
    write.answer("c2", "1 failed", is_error=True)
    write.agent(text("Fixed: the parser takes commas."))

    [session] = read(*write.lines)

    assert (session.id, session.asked, session.account) == ("s1", "Fix the parser", "Fixed: the parser takes commas.")
    assert session.calls == (Call("Read", True), Call("Bash", False))
    assert (session.kept, session.dropped) == (7, {})
    assert session.started_at.isoformat() == "2026-11-01T10:00:00+00:00"
    assert (session.cost.tokens, session.cost.steps) == (7, 4)
    assert session.meta == {"agent": "claude-code", "cwd": "/work", "version": "2.0", "branch": "main"}
    assert session.finding is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<local-command-stdout>done</local-command-stdout>", "local command, or what it printed"),
        ("<bash-input>ls</bash-input>", "local command, or what it printed"),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", "command to the program itself"),
        ("[Request interrupted by user for tool use]", "interruption"),
        ("This session is being continued from a previous conversation that ran out", "summary of a compaction"),
        ("<system-reminder>be good</system-reminder>", "injected by the program (wrapped)"),
        ([{"type": "image", "source": {}}], "picture or document without words"),
        ([{"type": "tool_result", "tool_use_id": "nobody", "content": "x"}], "answer to a call that is not here"),
        ("", "message without content"), (None, "message without content"), ([1, None], "message without content"),
    ],
)  # fmt: skip
def test_what_nobody_asked_is_no_situation(write, read, content, reason):
    write.user(content)
    write.user("Do it")

    [session] = read(*write.lines)

    assert (session.asked, session.dropped) == ("Do it", {reason: 1})


def test_injected_context_is_taken_off_a_request(write, read):
    write.user(
        "<system-reminder>\nToday is Monday\n</system-reminder>\nDeploy <b>it</b> <ide_selection>x</ide_selection>"
    )

    [session] = read(*write.lines)

    assert session.asked == "Deploy <b>it</b>"


def test_what_the_program_says_by_a_mark_is_dropped(write, read):
    write.user("Caveat", isMeta=True)
    write.user("So far: all", isCompactSummary=True)
    write.user("Do it")
    write.agent(text("API Error"), isApiErrorMessage=True)
    write.agent({"type": "thinking", "thinking": "hm"})
    write.line("system", subtype="compact_boundary")
    write.line("system", subtype="turn_duration")
    write.line("attachment", attachment={"type": "todo_reminder"})
    write.line("file-history-snapshot", snapshot={})
    write.line("something-new")

    [session] = read(*write.lines)

    assert (session.asked, session.account, session.kept) == ("Do it", "", 1)
    assert session.dropped == {
        "injected by the program (meta)": 1, "summary of a compaction": 1, "message of the program in the agent's place": 1,
        "thinking": 1, "boundary of a compaction": 1, "note of the program (system)": 1,
        "injected by the program (attachment)": 1, "snapshot of files": 1, "unknown kind of line: something-new": 1,
    }  # fmt: skip


def test_a_command_of_the_user_s_own_is_a_request(write, read):
    write.user(
        "<command-message>fix</command-message>\n<command-name>/fix-issue</command-name>\n<command-args>12</command-args>"
    )

    [session] = read(*write.lines)

    assert session.asked == "/fix-issue 12"


def test_later_requests_follow_the_first_in_few_words(write, read):
    for number in range(30):
        write.user(f"request {number} " + "x" * (400 * (number == 1)))

    [session] = read(*write.lines)
    episode = shortened(episode_of(session, "claude_code"))
    lines = episode.situation.split("\n")

    assert lines[:3] == ["request 0", "", "Asked later:"]
    assert lines[3].startswith("- request 1 xxx")
    assert lines[3].endswith("bytes]")
    assert (lines[4], lines[-1]) == ("- request 2", "- and 9 more")
    assert episode.meta["requests"] == 30
    assert "asked_later" not in episode.meta


def test_a_request_that_waited_while_the_agent_worked_is_a_request(write, read):
    write.user("Do it")
    write.line("queue-operation", operation="enqueue", content="and test it")
    write.line("attachment", attachment={"type": "queued_command", "prompt": "and test it", "commandMode": "prompt"})
    write.line("attachment", attachment={"type": "queued_command", "prompt": "x", "commandMode": "task-notification"})

    [session] = read(*write.lines)

    assert (session.asked, session.later, session.requests) == ("Do it", ("and test it",), 2)
    assert session.dropped == {"queue of requests": 1, "injected by the program (attachment)": 1}


def test_pieces_of_one_message_are_one_account_and_cost_once(write, read):
    write.user("Do it")
    write.agent(text("First half."), id="m", usage={"input_tokens": 10, "output_tokens": 1})
    write.agent(
        {"type": "tool_use", "id": "c", "name": "Bash", "input": {}},
        id="m",
        usage={"input_tokens": 10, "output_tokens": 1},
    )
    write.agent(text("Second half."), id="m", usage={"input_tokens": 10, "output_tokens": 30})

    [session] = read(*write.lines)

    assert (session.account, session.cost.tokens, session.cost.steps) == ("First half.\n\nSecond half.", 40, 1)


def test_a_conversation_that_was_taken_back_leaves_what_came_instead(write, read):
    write.user("Do it")
    asked_from = write.agent(text("How?"))["uuid"]
    write.user("wrongly")
    write.call("c1", "rm")
    write.answer("c1")
    write.agent(text("Gone."))
    instead = write.user("rightly")
    instead["parentUuid"] = asked_from
    write.agent(text("Done."))

    [session] = read(*write.lines)

    assert (session.asked, session.later, session.requests) == ("Do it", ("rightly",), 2)
    assert (session.calls, session.account) == ((), "Done.")
    assert session.dropped == {"given up: the conversation was taken back to before it": 4}
    assert (session.kept, session.length) == (4, 8)


def test_side_chains_belong_to_their_parent_unless_they_name_themselves(write, read):
    write.user("Do it")
    write.call("c1", "Task", prompt="look")
    write.user("look", isSidechain=True)
    write.agent(text("side"), isSidechain=True)
    write.answer("c1", "found")
    write.user("look on", isSidechain=True, agentId="a7")
    write.agent(text("Found it."), isSidechain=True, agentId="a7")

    main, agent = read(*write.lines)

    assert (main.id, main.kept, main.dropped) == ("s1", 3, {"side chain: a sub-agent's own turns": 2})
    assert (agent.id, agent.asked, agent.account) == ("s1/a7", "look on", "Found it.")
    assert agent.meta["parent"] == "s1"


def test_a_file_of_a_resumed_session_holds_several(read):
    old, new = Writer("old"), Writer("new")
    old.user("first")
    old.agent(text("one"))
    new.user("second")
    new.agent(text("two"))

    found = read(*old.lines, *old.lines, *new.lines)

    assert [(one.id, one.asked, one.account) for one in found] == [("old", "first", "one"), ("new", "second", "two")]
    assert found[0].dropped == {"said twice: the same line again": 2}


def test_a_summary_before_everything_else_belongs_to_the_first_session(write, read):
    write.user("Do it")

    [session] = read({"type": "summary", "summary": "x", "leafUuid": "y"}, *write.lines)

    assert session.dropped == {"summary of a session, for a list": 1}


def test_lines_of_which_no_session_comes_are_accounted_for(write, read):
    write.line("system")
    write.answer("nobody")

    assert read({"type": "summary", "leafUuid": "y"}, {"type": "summary", "leafUuid": "z"}) == [
        Leftover({"summary of a session, for a list": 2})
    ]
    assert read(*write.lines) == [Leftover({"note of the program (system)": 1, "answer to a call that is not here": 1})]


@pytest.mark.parametrize(
    ("name", "arguments", "skill", "evidence"),
    [
        ("Skill", {"skill": "deploy-site"}, "deploy-site", "called Skill with deploy-site"),
        ("Skill", {"command": "/deploy-site now"}, "deploy-site", "called Skill with deploy-site"),
        (
            "Read",
            {"file_path": "/w/.claude/skills/deploy/SKILL.md"},
            "deploy",
            "read /w/.claude/skills/deploy/SKILL.md",
        ),
        ("Bash", {"command": "cd x && cat skills/deploy/SKILL.md | head"}, "deploy", "read skills/deploy/SKILL.md"),
        ("Bash", {"command": "sed -n '1,200p' 'skills/deploy/SKILL.md'"}, "deploy", "read skills/deploy/SKILL.md"),
        ("view", {"path": r"C:\skills\deploy\SKILL.md"}, "deploy", r"read C:\skills\deploy\SKILL.md"),
    ],
)
def test_a_skill_is_followed_where_the_transcript_shows_it(write, read, name, arguments, skill, evidence):
    write.user("Do it")
    write.call("c1", name, **arguments)
    write.answer("c1")

    [session] = read(*write.lines)

    assert session.skills == ((skill, evidence),)


def test_a_skill_whose_text_was_handed_over_is_followed(write, read):
    write.user("<command-name>/deploy</command-name><command-args>now</command-args>")
    write.user([text("Base directory for this skill: /w/.claude/skills/deploy\n\n# Deploy")], isMeta=True)

    [session] = read(*write.lines)

    assert session.asked == "/deploy now"
    assert session.skills == (("deploy", "handed over: /w/.claude/skills/deploy/SKILL.md"),)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Write", {"file_path": "skills/deploy/SKILL.md", "content": "cat skills/deploy/SKILL.md"}),
        ("Bash", {"command": "cat > skills/deploy/SKILL.md <<EOF"}),
        ("Bash", {"command": "git add skills/deploy/SKILL.md"}),
        ("Bash", {"command": "echo I follow deploy/SKILL.md"}),
        ("Bash", {"command": "cat skills/deploy/SKILL.md.bak"}),
        ("Read", {"file_path": "SKILL.md"}), ("Skill", {"skill": ""}), ("Skill", {}), ("Read", {"file_path": 5}),
    ],
)  # fmt: skip
def test_a_skill_is_not_guessed(write, read, name, arguments):
    write.user("Do it with the skill deploy")
    write.agent(text("I follow the skill deploy (skills/deploy/SKILL.md)."))
    write.call("c1", name, **arguments)

    [session] = read(*write.lines)

    assert session.skills == ()


def test_a_skill_that_could_not_be_read_was_not_followed(write, read):
    write.user("Do it")
    write.call("c1", "Read", file_path="skills/deploy/SKILL.md")
    write.answer("c1", "no such file", is_error=True)

    [session] = read(*write.lines)

    assert session.skills == ()


def test_more_sessions_than_are_kept_open_come_out_all_the_same(read):
    writers = [Writer(f"s{number}") for number in range(600)]
    for writer in writers:
        writer.user(writer.session)
    late = Writer("s0")
    late.user("late")
    late.user("later", uuid="late")

    found = read(*(line for writer in [*writers, late] for line in writer.lines))

    assert [one.asked for one in found if isinstance(one, Session)] == [writer.session for writer in writers]
    assert [one for one in found if isinstance(one, Leftover)] == [
        Leftover({"of a session that was closed to make room for others": 1})
    ] * 2


def test_what_is_no_line_of_ours_is_not_recognised():
    for value in (
        None,
        [],
        "x",
        {},
        {"type": 1},
        {"type": "user"},
        {"sessionId": "x"},
        {"type": "message", "role": "user"},
    ):
        assert not FORMAT.recognises(value)
    assert FORMAT.recognises({"type": "user", "sessionId": "s", "message": {}})


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6)  # fmt: skip
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image"]) | JSON},
    optional={"text": st.text(max_size=9) | JSON, "name": st.sampled_from(["Read", "Skill"]) | JSON, "id": st.sampled_from("ab") | JSON,
              "tool_use_id": st.sampled_from("ab") | JSON, "input": JSON, "is_error": JSON},
)  # fmt: skip
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "summary", "progress", "x"]) | JSON},
    optional={
        "sessionId": st.sampled_from(["s1", "s2"]) | JSON, "uuid": st.sampled_from("uvw") | JSON, "parentUuid": st.sampled_from("uvw") | JSON,
        "isSidechain": st.booleans() | JSON, "agentId": JSON, "isMeta": JSON, "timestamp": JSON,
        "message": JSON | st.fixed_dictionaries({"content": JSON | st.text(max_size=9) | st.lists(BLOCKS, max_size=3)}, optional={"id": JSON, "usage": JSON, "model": JSON}),
        "attachment": JSON | st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": JSON | st.text(max_size=5)}),
    },
)  # fmt: skip


@given(st.lists(LINES | JSON, max_size=30))
def test_every_line_is_accounted_for(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("claude") / "session.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    found = list(FORMAT.sessions(Source(path)))
    kept = sum(one.kept for one in found if isinstance(one, Session))
    dropped = sum(sum(one.dropped.values()) for one in found if isinstance(one, Session | Leftover))

    assert kept + dropped + sum(isinstance(one, Trouble) for one in found) == len(values)
    assert all(session.asked or session.first_words for session in found if isinstance(session, Session))


def test_the_shared_fixture_reads_as_a_person_reads_it(shared):
    trouble, session = FORMAT.sessions(Source(shared / "transcripts" / "claude_code" / "cc-session-fixture.jsonl"))

    assert (trouble.line, trouble.reason.split(":")[0]) == (8, "not JSON")
    assert session.asked == "Please list the files in this repo"
    assert session.account == "The repo has file1.py and file2.py."
    assert session.calls == (Call("Bash", True),)
    assert (session.kept, sum(session.dropped.values()), session.finding, session.skills) == (4, 3, None, ())
    assert session.meta["model"] == "claude-opus-5-20260601"


def test_the_shared_run_of_another_agent_reads_as_a_person_reads_it(shared):
    [session] = FORMAT.sessions(
        Source(shared / "transcripts" / "claude_code" / "harbor-marshmallow-1867-function-calling.jsonl")
    )

    assert session.asked == ""
    assert session.first_words.startswith("Let's first start by reproducing the results of the issue.")
    assert [call.name for call in session.calls] == [
        "create", "edit", "python", "ls", "find_file", "open", "edit", "edit", "python", "rm", "submit",
    ]  # fmt: skip
    assert session.account == "Calling `submit` to submit."
    assert (session.kept, session.dropped, session.finding) == (22, {}, None)
