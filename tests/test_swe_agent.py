"""SWE-agent's .traj: the issue without its instructions, commands in order, and no verdict that nobody gave."""

import json

import pytest
from transcripts import SWE_AGENT, only, read, tools, turns, written

from experience.importers.atif import FORMAT as ATIF
from experience.importers.swe_agent import FORMAT

HUMANEVAL = "humanevalfix-0"
MARSHMALLOW = "marshmallow-1867-function-calling"
MARSHMALLOW_TOOLS = "create edit python ls find_file open edit! edit python rm submit".split()


def test_the_issue_is_what_was_asked_without_instructions_and_demonstration(tmp_path):
    session = only(FORMAT, written(tmp_path, SWE_AGENT, "a.traj"))

    assert session.asked == "The sum is wrong\n\nwhen empty"
    assert tools(session) == ["ls", "edit!", "submit"]
    assert session.account == "Done."
    assert session.finding is None
    assert (session.kept, session.dropped) == (4, {"a system prompt": 1, "a demonstration": 1})
    assert (session.cost.steps, session.cost.tokens, session.cost.money) == (3, 34, 0.1)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_problem_statement_goes_before_what_the_history_says(as_text, tmp_path):
    config = {"problem_statement": {"text": "Fix it.\n", "id": "p-1"}, "agent": {"model": {"name": "m"}}}
    run = {**SWE_AGENT, "replay_config": json.dumps(config) if as_text else config}

    session = only(FORMAT, written(tmp_path, run, "a.traj"))

    assert session.asked == "Fix it."
    assert (session.meta["transcript_id"], session.meta["model"]) == ("p-1", "m")
    assert turns(session) == 6


@pytest.mark.parametrize(
    ("request_text", "issue"),
    [
        (
            "<uploaded_files>\n/x\n</uploaded_files>\n<pr_description>\nIt fails\n</pr_description>\n\nNow do",
            "It fails",
        ),
        ("ISSUE:\none\n\nINSTRUCTIONS:\ntwo\n\nINSTRUCTIONS:\nthree", "one\n\nINSTRUCTIONS:\ntwo"),
        ("Just do it\n", "Just do it"),
        ("\n\nINSTRUCTIONS:\nx ISSUE:\n", "INSTRUCTIONS:\nx ISSUE:"),
    ],
)
def test_instructions_are_taken_away_where_a_known_template_put_them(request_text, issue, tmp_path):
    run = {**SWE_AGENT, "history": [{"role": "user", "content": request_text}]}

    assert only(FORMAT, written(tmp_path, run, "a.traj")).asked == issue


def test_submitted_is_no_success_and_another_end_is_told(tmp_path):
    run = {**SWE_AGENT, "info": {"exit_status": "exit_cost"}}

    session = only(FORMAT, written(tmp_path, run, "a.traj"))

    assert session.finding is None
    assert session.account == "Done.\n\nThe run ended with: exit_cost"


@pytest.mark.parametrize("resolved", [True, False])
def test_a_report_of_the_tests_is_a_finding(resolved, tmp_path):
    session = only(FORMAT, written(tmp_path, {**SWE_AGENT, "info": {"report": {"resolved": resolved}}}, "a.traj"))

    assert session.finding == (resolved, "verifier", f"report.resolved = {str(resolved).lower()}")


def test_without_a_history_the_first_query_holds_the_request(tmp_path):
    run = {**SWE_AGENT, "history": []}
    run["trajectory"] = [
        {**SWE_AGENT["trajectory"][0], "query": SWE_AGENT["history"][:3]},
        *SWE_AGENT["trajectory"][1:],
    ]

    assert only(FORMAT, written(tmp_path, run, "a.traj")).asked == "The sum is wrong\n\nwhen empty"


def test_attempts_at_one_issue_have_names_of_their_own_and_one_that_grew_keeps_its(tmp_path):
    def attempt(seconds, steps):
        begun = {**SWE_AGENT["trajectory"][0], "execution_time": seconds}
        run = {**SWE_AGENT, "trajectory": [begun, *SWE_AGENT["trajectory"][1:]][:steps]}
        return only(FORMAT, written(tmp_path, run, "a.traj")).id

    assert attempt(0.25, 3) == attempt(0.25, 1) != attempt(0.5, 3)


def test_a_file_without_a_trajectory_is_a_trouble(tmp_path):
    sessions, [trouble] = read(FORMAT, written(tmp_path, {"trajectory": 3}))

    assert sessions == []
    assert "a list under trajectory" in trouble.reason


def test_real_runs_are_read_as_a_person_reads_them(shared):
    folder = shared / "transcripts" / "swe_agent_traj"
    short, long = only(FORMAT, folder / f"{HUMANEVAL}.traj"), only(FORMAT, folder / f"{MARSHMALLOW}.traj")

    assert short.asked == "I have a function that has a bug and needs to be fixed, can you help?"
    assert tools(short) == ["ls", "open", "edit", "python", "submit"]
    assert short.account.startswith("It looks like the assertions succeeded!")
    assert (short.kept, short.dropped, short.finding) == (6, {"a system prompt": 1}, None)
    assert long.asked.startswith("TimeDelta serialization precision\nHi there!")
    assert long.asked.endswith("fields.py#L1474")
    assert tools(long) == MARSHMALLOW_TOOLS
    assert long.account == "Calling `submit` to submit."
    assert (long.kept, long.dropped, long.finding) == (12, {"a system prompt": 1}, None)


@pytest.mark.parametrize("name", [HUMANEVAL, MARSHMALLOW])
def test_a_real_run_is_the_same_as_atif_but_for_what_the_converter_left_out(shared, name):
    ours = only(FORMAT, shared / "transcripts" / "swe_agent_traj" / f"{name}.traj")
    converted = only(ATIF, shared / "transcripts" / "atif" / f"{name}.trajectory.json")

    assert (converted.calls, converted.account, converted.finding) == (ours.calls, ours.account, ours.finding)
    assert converted.cost.steps == ours.cost.steps
    assert converted.started_at is None  # its times are those of the conversion
    assert converted.asked == ""  # the converter leaves the history out, and with it the issue
    first = json.loads((shared / "transcripts" / "swe_agent_traj" / f"{name}.traj").read_text())["trajectory"][0]
    assert converted.first_words == first["response"]
