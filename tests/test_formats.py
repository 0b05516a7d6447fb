"""Formats of transcripts together: each file is known for what it is, and nothing in one makes a reader fail."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import SAMPLES, formats, read, written

from experience.importers.documents import Document, documents
from experience.importers.followed import skill_of
from experience.importers.naming import command_name, says_it_failed, tool_name
from experience.importers.session import Session, Trouble
from experience.importers.source import Source
from experience.importers.turns import Called, tool_turn, without_injected
from experience.importers.verdicts import Verdict, agreed, of_label, of_number, of_reward

RUN = "marshmallow-1867-function-calling"
BY_NAME = {one.name: one for one in formats()}
OURS = {
    "atif": "atif",
    "openai_chat": "openai",
    "otel_genai": "otel",
    "swe_agent_traj": "swe_agent",
    "inspect": "inspect",
    "langsmith": "langsmith",
}
"""Folders of real transcripts, and the format of each."""


def claimants(value):
    return [name for name, one in BY_NAME.items() if one.recognises(value)]


def values_of(path):
    """What a format is asked about: the document, or the first lines that are JSON."""
    try:
        return [json.loads(path.read_bytes())]
    except ValueError:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


@pytest.mark.parametrize("name", SAMPLES)
def test_each_transcript_is_claimed_by_its_own_format_alone(name):
    assert claimants(SAMPLES[name]) == [name]


@pytest.mark.parametrize("name", ["otel", "langsmith"])
def test_each_of_its_lines_is_claimed_by_its_own_format_alone(name):
    assert [claimants(one) for one in SAMPLES[name]] == [[name]] * len(SAMPLES[name])


def test_every_real_transcript_is_claimed_by_exactly_one_format(shared):
    seen = set()
    for path in sorted((shared / "transcripts").glob("*/*")):
        expected = [OURS[path.parent.name]] if path.parent.name in OURS else []
        assert {tuple(claimants(value)) for value in values_of(path)} == {tuple(expected)}, path.name
        seen.add(path.parent.name)
    assert seen > set(OURS)


@pytest.mark.parametrize(
    "value",
    [None, 3, "text", [], {}, [[]], [{}], [None], {"messages": []}, {"messages": [3]}, {"trajectory": []}, {"eval": {}},
     {"role": ["x"], "content": 1}, [{"type": ["message"]}], {"schema_version": 1, "steps": []}, {"spans": []},
     {"situation": "s", "outcome": "o", "tools": []}, {"type": "user", "message": {"role": "user", "content": "hi"}},
     {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}}],
)  # fmt: skip
def test_what_is_of_none_of_these_formats_is_claimed_by_none(value):
    assert claimants(value) == []


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["\x00", "\ud800", "9" * 5000, "2026-05-04", "[" * 3000, "attachment://", "user", "text", 2**80, -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "text", "content", "role", "id", "name", "value", "attributes"]), inner, max_size=3
    ),
    max_leaves=6,
)  # fmt: skip


def places(value):
    """The paths of all that is in a JSON value."""
    waiting = [((), value)]
    while waiting:
        path, one = waiting.pop()
        yield path
        keys = one if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        waiting += [((*path, key), one[key]) for key in keys]


def changed(value, path, new, delete):
    """The value with one place in it replaced or taken out."""
    if not path:
        return new
    copy = json.loads(json.dumps(value))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if delete:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return copy


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=150)
@given(data=st.data())
def test_nothing_in_a_transcript_makes_its_reader_fail(name, data, tmp_path_factory):
    value = SAMPLES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(value), key=str)))
        value = changed(value, path, data.draw(junk), data.draw(st.booleans()))
    as_lines = isinstance(value, list) and data.draw(st.booleans())
    file = written(tmp_path_factory.mktemp("f"), value, "run.jsonl" if as_lines else "run.json")

    for one in BY_NAME.values():
        assert one.recognises(value) in (True, False)
    sessions, troubles = read(BY_NAME[name], file)

    for session in sessions:
        assert isinstance(session, Session)
        assert session.id
        assert {type(part) for part in (session.id, session.asked, session.account, session.first_words)} == {str}
        assert all(
            isinstance(call.name, str) and call.name and call.worked in (True, False, None) for call in session.calls
        )
        assert type(session.kept) is int
        assert all(type(count) is int and count > 0 for count in session.dropped.values())
        assert json.dumps(dict(session.meta), allow_nan=False)
        assert not (session.asked and session.first_words)
    assert all(isinstance(one, Trouble) and one.reason for one in troubles)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("other", SAMPLES)
def test_a_file_of_another_format_gives_troubles_rather_than_errors(name, other, tmp_path):
    file = written(tmp_path, SAMPLES[other])

    sessions, troubles = read(BY_NAME[name], file)

    assert sessions or troubles


@pytest.mark.parametrize("name", SAMPLES)
def test_what_nests_too_deep_is_a_trouble_or_read_around(name, tmp_path):
    deep = '{"a":' * 300 + "1" + "}" * 300
    file = tmp_path / "deep.json"
    for text in (
        json.dumps(SAMPLES[name])[:-1] + ("," if name in ("otel", "langsmith") else ', "extra": ') + deep,
        "[" * 9000,
    ):
        file.write_text(text + ("]" if name in ("otel", "langsmith") else "}"), encoding="utf-8")
        sessions, troubles = read(BY_NAME[name], file)
        assert sessions or troubles


@pytest.mark.parametrize("raw", [b"", b"\x00\xff\xfe", b'{"half": ', b"\n\n", b"[]"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_no_transcript_gives_no_session(name, raw, tmp_path):
    file = tmp_path / "x.json"
    file.write_bytes(raw)

    assert read(BY_NAME[name], file)[0] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_reading_a_file_again_gives_the_same_sessions(name, tmp_path):
    file = written(tmp_path, SAMPLES[name])

    assert read(BY_NAME[name], file) == read(BY_NAME[name], file)


# Whether a file is one document or many.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('\ufeff{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('{\n "a": 1\n}\n', [(None, {"a": 1})]),
        ('[\n{"a": 1},\n{"a": 2}\n]', [(None, [{"a": 1}, {"a": 2}])]),
        ('[{"a": 1}]', [(None, [{"a": 1}])]),
    ],
)
def test_a_file_is_lines_where_a_line_is_an_object(text, found, tmp_path):
    file = tmp_path / "x"
    file.write_text(text, encoding="utf-8")

    assert list(documents(Source(file))) == [Document(*one) for one in found]


def test_objects_printed_one_after_another_are_read(tmp_path):
    file = tmp_path / "x"
    file.write_text(
        "".join(json.dumps(one, indent=4) + "\n" for one in ({"a": {}}, {"b": [1]})) + '{\n  "c":\n}\n',
        encoding="utf-8",
    )

    *found, trouble = documents(Source(file))

    assert found == [Document(1, {"a": {}}), Document(4, {"b": [1]})]
    assert trouble.line == 9


def test_a_broken_first_line_does_not_hide_the_others(tmp_path):
    file = tmp_path / "x"
    file.write_text('{"a": \n{"a": 2}\n', encoding="utf-8")

    trouble, document = documents(Source(file))

    assert (trouble.line, document) == (1, Document(2, {"a": 2}))


# Names, failures, skills, verdicts.


def converted_calls(folder):
    """The calls of one SWE-agent run, with their answers, as its three converted files have them."""
    lines = [json.loads(line) for line in (folder / "claude_code" / f"harbor-{RUN}.jsonl").read_text().splitlines()]
    blocks = [block for line in lines for block in line["message"]["content"]]
    yield (
        [(one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"],
        [one["content"] for one in blocks if one["type"] == "tool_result"],
    )
    lines = [
        json.loads(line)["payload"] for line in (folder / "codex" / f"harbor-{RUN}.jsonl").read_text().splitlines()
    ]
    yield (
        [(one["name"], one["arguments"]) for one in lines if one.get("type") == "function_call"],
        [one["output"] for one in lines if one.get("type") == "function_call_output"],
    )


def test_one_run_has_the_same_tools_and_failures_however_it_was_converted(shared):
    ours, troubles = read(BY_NAME["swe_agent"], shared / "transcripts" / "swe_agent_traj" / f"{RUN}.traj")
    expected = [(call.name, call.worked is False) for call in ours[0].calls]

    assert troubles == []
    for calls, answers in converted_calls(shared / "transcripts"):
        failed = [says_it_failed(answer) for answer in answers]
        assert list(zip([tool_name(*call) for call in calls], failed, strict=True)) == expected


def test_a_wrapped_command_is_named_by_its_first_word():
    assert tool_name("swe_agent_action", {"raw_action": "edit 1:2\nx"}) == "edit"
    assert tool_name("swe_agent_action", '{"raw_action": "submit"}') == "submit"
    assert tool_name("swe_agent_action", {"raw_action": "  "}) == "swe_agent_action"
    assert tool_name("shell", {"raw_action": "edit"}) == "shell"


def test_values_set_before_a_command_are_never_its_name():
    assert command_name("TOKEN=hunter2 A=1 python x.py") == "python"
    assert command_name("TOKEN=\"hunter 2\" B='c d'\\ e  python") == "python"
    assert command_name(f"TOKEN={'x' * 9000} python") == "python"
    assert command_name("TOKEN=hunter2") == command_name(" \n") == ""


@pytest.mark.parametrize(
    ("answer", "failed"),
    [("Error: no", True), ("\nTraceback (most recent call last):\n", True), ("errors: 0", False), ("", False),
     ("All good. Error: none", False), ("Your proposed edit has introduced new syntax error(s). Please", True)],
)  # fmt: skip
def test_only_an_answer_that_begins_as_a_failure_is_one(answer, failed):
    assert says_it_failed(answer) is failed


@pytest.mark.parametrize(
    ("name", "arguments", "skill"),
    [
        ("Skill", {"skill": "deploy"}, "deploy"),
        ("Skill", {"command": "plugin:deploy"}, "deploy"),
        ("Read", {"file_path": "/h/.claude/skills/deploy/SKILL.md"}, "deploy"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "skills/deploy/SKILL.md"}, "deploy"),
        ("Bash", {"command": "cd /x && cat skills/deploy/SKILL.md | head"}, "deploy"),
        ("shell", {"command": ["bash", "-lc", "sed -n 1,9p skills/deploy/SKILL.md"]}, "deploy"),
        ("Write", {"file_path": "skills/deploy/SKILL.md", "content": "x"}, None),
        ("Bash", {"command": "cat x > skills/deploy/SKILL.md"}, None),
        ("Bash", {"command": "ls skills/deploy/SKILL.md"}, None),
        ("Grep", {"pattern": "skills/deploy/SKILL.md"}, None),
        ("Skill", {}, None),
        ("Read", {"file_path": "SKILL.md"}, None),
        ("Read", ["skills/deploy/SKILL.md"], None),
    ],
)
def test_a_skill_is_followed_where_it_was_loaded_or_read(name, arguments, skill):
    found = skill_of(name, arguments)

    assert (found and found.name) == skill


def test_what_a_host_put_before_a_request_is_no_request():
    assert (
        without_injected("<system-reminder>a</system-reminder>\n<environment_context>b</environment_context>\nDo it")
        == "Do it"
    )
    assert without_injected("<system-reminder>never closed") == "<system-reminder>never closed"
    assert without_injected("Why <system-reminder>a</system-reminder>?") == "Why <system-reminder>a</system-reminder>?"


@pytest.mark.parametrize(
    ("reward", "success"), [(1, True), (1.0, True), (2.5, True), (0, False), (0.0, False), (True, True)]
)
def test_a_reward_of_at_least_one_is_a_success_and_of_none_a_failure(reward, success):
    finding = of_reward(reward)

    assert (finding.success, finding.kind, finding.evidence) == (success, "verifier", f"reward {reward}")


@pytest.mark.parametrize("reward", [0.5, 0.999, -1, float("nan"), float("-inf"), None, "1.0", [1]])
def test_a_reward_between_says_nothing(reward):
    assert of_reward(reward) is None


def test_a_label_or_a_number_is_a_verdict_only_where_it_is_plain():
    assert [of_label(one) for one in ("pass", " Correct ", "FAILED", "partial", None, 1)] == [
        True,
        True,
        False,
        None,
        None,
        None,
    ]
    assert [of_number(one) for one in (1, 0.0, True, 0.5, float("nan"), "1")] == [True, False, True, None, None, None]


def test_verdicts_count_when_all_of_them_agree_in_the_class_of_the_weakest():
    yes, weak, no, silent = Verdict(True, "a"), Verdict(True, "b", "host"), Verdict(False, "c"), Verdict(None, "d")

    assert agreed([yes, weak]) == (True, "host", "a, b")
    assert agreed([yes, no]) is agreed([yes, silent]) is agreed([silent]) is agreed([]) is None


@pytest.mark.parametrize(("asked", "done"), [("", ""), ("c1", ""), ("", "c1"), ("c1", "c1")])
def test_a_tools_own_account_answers_the_models_call_by_its_name_where_one_of_them_has_no_id(asked, done):
    expected = [Called("find", None, asked)]
    turn = tool_turn(Called("find", None, done, True), "found", expected)

    assert (turn.who, turn.answers[0].call, expected) == ("tool", asked or "find", [])
