"""LangSmith's runs: in a list, a tree, lines or batches, a session for each trace."""

import copy

import pytest
from transcripts import LANGSMITH, only, read, tools, turns, written

from experience.importers.langsmith import FORMAT


def test_a_trace_is_read_as_it_says(tmp_path):
    session = only(FORMAT, written(tmp_path, LANGSMITH))

    assert session.id == "r1"
    assert (session.asked, session.account, tools(session)) == ("Add 2 and 2", "It is 4.", ["add!"])
    assert session.finding == (True, "host", "feedback correctness = 1.0")
    assert (session.kept, session.dropped) == (3, {"a run around others": 1})
    assert (session.cost.steps, session.cost.tokens, session.cost.seconds) == (2, 9, 9.0)


def test_a_tree_lines_and_batches_say_the_same(tmp_path):
    listed = only(FORMAT, written(tmp_path, LANGSMITH))
    tree = copy.deepcopy(LANGSMITH[0])
    tree["child_runs"] = [{key: value for key, value in run.items() if "_id" not in key} for run in LANGSMITH[1:]]
    begun = [{**run, "outputs": {}, "error": None} for run in LANGSMITH]
    ended = [{key: run.get(key) for key in ("id", "trace_id", "dotted_order", "outputs", "error")} for run in LANGSMITH]

    assert only(FORMAT, written(tmp_path, tree)) == listed
    assert only(FORMAT, written(tmp_path, LANGSMITH[::-1], "a.jsonl")) == listed
    assert only(FORMAT, written(tmp_path, {"post": begun, "patch": ended})) == listed
    assert (
        only(FORMAT, written(tmp_path, [{"post": begun[:2]}, {"post": begun[2:], "patch": ended}], "b.jsonl")) == listed
    )


def test_traces_of_one_file_are_sessions_of_their_own(tmp_path):
    other = {**LANGSMITH[0], "id": "q", "trace_id": "q", "inputs": {"question": "Why?"}, "feedback_stats": None}

    sessions, _ = read(FORMAT, written(tmp_path, [*LANGSMITH, other]))

    assert [(one.id, one.asked, one.account) for one in sessions] == [
        ("r1", "Add 2 and 2", "It is 4."),
        ("q", "Why?", "4"),
    ]


def scored(**more):
    return {**LANGSMITH[0], "feedback_stats": None, **more}


@pytest.mark.parametrize(
    ("more", "finding"),
    [
        ({"feedback_stats": {"correctness": {"n": 3, "avg": 0}}}, (False, "host", "feedback correctness = 0")),
        ({"feedback_stats": {"correctness": {"n": 2, "avg": 0.5}}}, None),
        ({"feedback_stats": {"correctness": {"n": 0, "avg": 1.0}}}, None),
        ({"feedback_stats": {"helpfulness": {"n": 1, "avg": 1.0}}}, None),
        ({"feedback_stats": {"correct": {"n": 1, "avg": 1}, "passed": {"n": 1, "avg": 0}}}, None),
        ({"feedback": [{"key": "correctness", "score": 1, "feedback_source": {"type": "app"}}]}, (True, "human", "feedback correctness = 1")),
        ({"feedback": [{"key": "correctness", "score": True, "feedback_source": {"type": "model"}}]}, (True, "host", "feedback correctness = True")),
        ({"feedback": [{"key": "correctness", "score": 1}], "error": "boom"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_feedback_is_a_finding_where_it_plainly_says_so(more, finding, tmp_path):
    assert only(FORMAT, written(tmp_path, [scored(**more)])).finding == finding


def test_calls_of_a_model_are_the_calls_where_no_tool_has_a_run(tmp_path):
    session = only(FORMAT, written(tmp_path, [run for run in LANGSMITH if run["run_type"] != "tool"]))

    assert (tools(session), turns(session)) == (["add"], 3)


def test_tools_are_the_calls_where_no_model_is_seen_to_have_called_them(tmp_path):
    session = only(FORMAT, written(tmp_path, [run for run in LANGSMITH if run["id"] in ("r1", "r3")]))

    assert (tools(session), session.account) == (["add!"], "4")


def test_a_run_that_ended_with_an_error_says_so(tmp_path):
    session = only(FORMAT, written(tmp_path, [scored(error="ValueError('x')", outputs=None)]))

    assert session.account == "The run ended with an error: ValueError('x')"


def test_a_graph_of_many_messages_has_its_last_as_the_account(tmp_path):
    run = scored(
        inputs={"messages": [{"type": "human", "content": "Go"}]},
        outputs={
            "messages": [
                {"type": "human", "content": "Go"},
                {"type": "ai", "content": "Going"},
                {"type": "ai", "content": "Gone"},
            ]
        },
    )

    session = only(FORMAT, written(tmp_path, [run]))

    assert (session.asked, session.account) == ("Go", "Gone")


def test_a_real_batch_is_read_as_a_person_reads_it(shared):
    session = only(FORMAT, shared / "transcripts" / "langsmith" / "langsmith_py_wrap_openai_.json")

    assert session.id == "d0d84d31-923d-4cb5-94a8-40a0a0087578"
    assert (session.asked, session.account) == ("howdy", "Howdy! How can I assist you today?")
    assert (session.calls, session.finding, session.kept, session.dropped) == ((), None, 1, {})
    assert (session.cost.tokens, session.meta["model"]) == (18, "gpt-4o-mini")
