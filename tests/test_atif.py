"""ATIF: one document or one a line, of each version, with sub-agents and continued runs."""

import copy

import pytest
from transcripts import ATIF, only, read, tools, turns, written

from experience.importers.atif import FORMAT


def test_a_trajectory_is_read_as_it_says(tmp_path):
    [session, _], troubles = read(FORMAT, written(tmp_path, ATIF))

    assert troubles == []
    assert session.id == "s-1/t-1"
    assert session.asked == "Find the leak"
    assert session.account == "The valve leaks."
    assert tools(session) == ["read_file", "shell!"]
    assert session.skills == (("leaks", "read skills/leaks/SKILL.md"),)
    assert session.finding is None
    assert (session.kept, session.dropped) == (3, {"a system prompt": 1})
    assert (session.cost.steps, session.cost.tokens, session.cost.money, session.cost.seconds) == (2, 120, 0.5, 60.0)
    assert session.started_at.isoformat() == "2026-05-04T13:00:00+00:00"
    assert (session.meta["agent"], session.meta["model"]) == ("digger", "m-1")


def test_an_embedded_sub_agent_is_a_session_that_names_its_parent(tmp_path):
    run = copy.deepcopy(ATIF)
    run["subagent_trajectories"][0]["subagent_trajectories"] = [
        {**run["subagent_trajectories"][0], "trajectory_id": "t-3"}
    ]

    sessions, _ = read(FORMAT, written(tmp_path, run))

    assert [(one.id, one.meta.get("parent")) for one in sessions] == [
        ("s-1/t-1", None),
        ("s-1/t-2", "s-1/t-1"),
        ("s-1/t-3", "s-1/t-2"),
    ]
    assert (sessions[1].asked, sessions[1].account) == ("Look at the tank", "It is dry.")


def test_trajectories_come_one_a_line_and_a_broken_line_is_told(tmp_path):
    file = written(
        tmp_path, [ATIF, {"schema_version": "ATIF-v1.2", "session_id": "b", "steps": []}, {"x": 1}], "a.jsonl"
    )
    with file.open("a", encoding="utf-8") as more:
        more.write('{"schema_version": "ATIF')

    sessions, troubles = read(FORMAT, file)

    assert [one.id for one in sessions] == ["s-1/t-1", "s-1/t-2", "b"]
    assert [one.line for one in troubles] == [3, 4]


def test_trajectories_come_in_a_list_too(tmp_path):
    two = [{**ATIF, "subagent_trajectories": []}, {**ATIF, "trajectory_id": "t-9", "subagent_trajectories": None}]

    assert FORMAT.recognises(two)
    assert [one.id for one in read(FORMAT, written(tmp_path, two))[0]] == ["s-1/t-1", "s-1/t-9"]


@pytest.mark.parametrize("version", [f"ATIF-v1.{minor}" for minor in range(9)])
def test_each_version_is_recognised(version):
    assert FORMAT.recognises({"schema_version": version, "steps": []})


def test_the_package_of_the_format_accepts_what_these_tests_read():
    atif = pytest.importorskip("atif", reason="the atif package, which knows the schema, is not installed")

    assert atif.Trajectory.model_validate(ATIF).session_id == "s-1"


def steps_of(*steps, **more):
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "steps": numbered, **more}


def test_what_was_copied_from_an_earlier_trajectory_is_dropped_but_for_the_request(tmp_path):
    old = {"source": "user", "message": "Sort them", "is_copied_context": True}
    said = {"source": "agent", "message": "Half done.", "is_copied_context": True}
    run = steps_of(old, said, {"source": "agent", "message": "Sorted."}, continued_trajectory_ref="next.json")

    session = only(FORMAT, written(tmp_path, run))

    assert (session.asked, session.account) == ("Sort them", "Sorted.")
    assert (session.kept, session.dropped) == (2, {"copied from an earlier trajectory": 1})
    assert session.meta["continued_in"] == "next.json"
    assert session.id.startswith("s/")
    assert session.id != "s/"


def test_a_request_of_its_own_goes_before_a_copied_one(tmp_path):
    old = {"source": "user", "message": "Sort them", "is_copied_context": True}
    session = only(FORMAT, written(tmp_path, steps_of(old, {"source": "user", "message": "Go on"})))

    assert (session.asked, session.dropped) == ("Go on", {"copied from an earlier trajectory": 1})


def test_where_nothing_was_asked_the_first_words_stand_in(tmp_path):
    session = only(
        FORMAT,
        written(
            tmp_path,
            steps_of(
                {"source": "agent", "message": "I begin."},
                {"source": "agent", "message": "I go on."},
                {"source": "agent", "message": "I end."},
            ),
        ),
    )

    assert (session.asked, session.first_words, session.account) == ("", "I begin.", "I end.")
    assert (session.kept, session.dropped) == (2, {"said on the way": 1})


def test_an_answer_can_come_in_a_later_step(tmp_path):
    call = {
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": "a", "function_name": "run", "arguments": {}}],
    }
    late = {
        "source": "system",
        "message": "",
        "observation": {"results": [{"source_call_id": "a", "content": "Error: no"}]},
    }
    event = {"source": "system", "message": "", "observation": {"results": [{"content": "compacted"}]}}

    session = only(FORMAT, written(tmp_path, steps_of(call, late, event, late)))

    assert tools(session) == ["run!"]
    assert (session.kept, session.dropped) == (2, {"a system event": 1, "an answer to no open call": 1})
    assert turns(session) == 4


def acting(*names, **more):
    calls = [{"tool_call_id": name, "function_name": name, "arguments": {}} for name in names]
    return {"source": "agent", "message": "", "tool_calls": calls, **more}


def test_an_answer_that_names_no_call_is_that_of_the_only_one(tmp_path):
    unnamed = {"results": [{"content": "Error: no"}]}
    said = {"observation": {"results": [{"content": "exit 1"}]}, "extra": {"tool_result_is_error": True}}
    run = steps_of(acting("a", observation=unnamed), acting("b", "c", observation=unnamed), acting("d", **said))

    session = only(FORMAT, written(tmp_path, run))

    assert tools(session) == ["a!", "b", "c", "d!"]
    assert session.kept == 3


@pytest.mark.parametrize(("reward", "success"), [(1.0, True), (0, False)])
def test_a_reward_in_extra_is_a_finding(reward, success, tmp_path):
    session = only(FORMAT, written(tmp_path, steps_of(extra={"reward": reward})))

    assert session.finding == (success, "verifier", f"reward {reward}")


def test_real_trajectories_are_read_as_a_person_reads_them(shared):
    session = only(FORMAT, shared / "transcripts" / "atif" / "humanevalfix-0.trajectory.json")

    assert (session.asked, session.finding, session.skills) == ("", None, ())
    assert session.first_words.startswith("To begin addressing the issue, we need more details about the function")
    assert session.account.startswith("It looks like the assertions succeeded!")
    assert tools(session) == ["ls", "open", "edit", "python", "submit"]
    assert (session.kept, session.dropped) == (5, {})
    assert session.meta["agent"] == "swe-agent"
