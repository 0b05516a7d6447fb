"""Chat messages of OpenAI's and Anthropic's interfaces, in the many files that hold them."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import ANTHROPIC, OPENAI, only, read, tools, turns, written

from experience import SqliteStore
from experience.importers.anthropic import FORMAT as ANTHROPICS
from experience.importers.chat import turn_of
from experience.importers.importing import import_paths
from experience.importers.openai import FORMAT as OPENAIS
from experience.importers.turns import session_of


def test_a_conversation_is_read_as_it_says(tmp_path):
    session = only(OPENAIS, written(tmp_path, OPENAI))

    assert (session.asked, session.account) == ("A table for two", "Good night.")
    assert tools(session) == ["find", "book!"]
    assert session.finding == (True, "verifier", "reward 1.0")
    assert session.later == ("No, thanks.",)
    assert session.kept == 6
    assert session.dropped == {"a system prompt": 1, "said on the way": 1}
    assert (session.meta["model"], session.meta["transcript_id"]) == ("m-1", "conv-7")


def test_content_blocks_are_read_as_they_say(tmp_path):
    session = only(ANTHROPICS, written(tmp_path, ANTHROPIC))

    assert (session.asked, session.account) == ("Mend the pump", "It runs again.")
    assert tools(session) == ["Skill", "Bash!", "web_search!"]
    assert session.skills == (("pumps", "called Skill with pumps"),)
    assert (session.finding, session.kept, session.dropped) == (None, 4, {"a system prompt": 1})


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_many_conversations_come_in_a_list_or_one_a_line(name, tmp_path):
    other = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}

    sessions, troubles = read(OPENAIS, written(tmp_path, [OPENAI, other, {"prompt": "x"}], name))

    assert [one.asked for one in sessions] == ["A table for two", "Hello"]
    assert len({one.id for one in sessions}) == 2
    assert [one.reason for one in troubles] == ["an object without messages"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_messages_alone_are_one_conversation(name, tmp_path):
    session = only(OPENAIS, written(tmp_path, OPENAI["messages"], name))

    assert (session.asked, tools(session), turns(session)) == ("A table for two", ["find", "book!"], 8)


def test_a_conversation_that_grew_keeps_its_name_and_another_run_of_it_has_its_own(tmp_path):
    shorter = {**OPENAI, "messages": OPENAI["messages"][:5]}
    again = copy.deepcopy(OPENAI)
    again["messages"][2]["tool_calls"][0]["id"] = "c9"

    ids = [only(OPENAIS, written(tmp_path, one)).id for one in (OPENAI, shorter, again)]

    assert ids[0] == ids[1] != ids[2]


def conversation(*said):
    return {
        "messages": [
            {"role": role, "content": text} for role, text in zip(("user", "assistant") * 9, said, strict=False)
        ]
    }


HELLO = ("hi", "Hello! How can I help?")


def outcomes(store):
    return sorted(record.episode.outcome for record in store.records())


@pytest.mark.parametrize("apart", [True, False])
def test_conversations_that_begin_alike_and_go_on_differently_are_different_runs(tmp_path, apart):
    one, other = conversation(*HELLO, "Book it", "Booked."), conversation(*HELLO, "Cancel it", "Cancelled.")
    if apart:
        paths = [written(tmp_path, one, "one.json"), written(tmp_path, other, "other.json")]
    else:
        paths = [written(tmp_path, [one, other, one], "both.jsonl")]
    with SqliteStore(tmp_path / "runs.db") as store:
        assert import_paths(store, paths).new == 2
        assert outcomes(store) == ["Booked.", "Cancelled."]
        assert import_paths(store, list(reversed(paths))).new == 0


def test_each_of_two_conversations_that_begin_alike_keeps_its_name_as_it_grows(tmp_path):
    one, other = conversation(*HELLO, "Book it", "Booked."), conversation(*HELLO, "Cancel it", "Cancelled.")
    longer = conversation(*HELLO, "Cancel it", "Cancelled.", "And tell Ada", "Told.")
    with SqliteStore(tmp_path / "runs.db") as store:
        import_paths(store, [written(tmp_path, [one, other], "both.jsonl")])
        report = import_paths(store, [written(tmp_path, [longer, one], "both.jsonl")])
        assert (report.new, report.grown, report.known) == (0, 1, 1)
        assert outcomes(store) == ["Booked.", "Told."]


@pytest.mark.parametrize("first", ["ACB", "CBA", "BAC", "CAB"])
def test_conversations_and_a_copy_of_their_beginning_settle_in_whatever_order_they_come(tmp_path, first):
    said = {
        "A": ("Fix it", "Fixed A", "Thanks", "Bye"),
        "B": ("Fix it", "Fixed B", "More", "Done", "So long", "Ciao"),
        "C": (),
    }
    files = {name: written(tmp_path, conversation(*HELLO, *more), f"{name}.json") for name, more in said.items()}
    with SqliteStore(tmp_path / "runs.db") as store:
        for name in first:
            import_paths(store, [files[name]])
        assert outcomes(store) == ["Bye", "Ciao"]
        ids = {record.episode.outcome: record.id for record in store.records()}
        store.add_label(ids["Bye"], True, "human", "ada", "")
        for order in ("CBA", "ABC", "BCA", "CAB"):
            report = import_paths(store, [files[name] for name in order])
            assert (report.new, report.grown, report.known) == (0, 0, 3)
        assert store.get(ids["Bye"]).episode.success is True


def test_calls_of_the_old_interface_are_answered_by_name(tmp_path):
    messages = [
        {"role": "user", "content": "Add"},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
        {"role": "function", "name": "add", "content": "Error: of what?"},
    ]
    session = only(OPENAIS, written(tmp_path, {"messages": messages}))

    assert (tools(session), session.account, session.kept) == (["add!"], "", 3)


def exchange(messages, reply, id):
    """A recorded request with its response; without a name where `id` is None."""
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    return {
        "request": {"messages": messages, "model": "m"},
        "response": {"id": id, "choices": [{"message": reply}], "usage": usage},
    }


@pytest.mark.parametrize("ids", [("r1", "r2", "r3"), (None, None, None)])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_recorded_requests_that_go_on_from_one_another_are_one_session(name, ids, tmp_path):
    first = [{"role": "user", "content": "One?"}]
    reply = {"role": "assistant", "content": "First."}
    more = [*first, reply, {"role": "user", "content": "Two?"}]
    pairs = [
        exchange(first, reply, ids[0]),
        exchange(more, {"role": "assistant", "content": "Second."}, ids[1]),
        exchange([{"role": "user", "content": "Else?"}], reply, ids[2]),
    ]

    sessions, _ = read(OPENAIS, written(tmp_path, pairs, name))
    [begun], _ = read(OPENAIS, written(tmp_path, pairs[:1], "b.json"))

    assert [(one.asked, one.account) for one in sessions] == [("One?", "Second."), ("Else?", "First.")]
    assert [turns(one) for one in sessions] == [4, 2]
    assert sessions[0].cost.tokens == 12
    assert begun.id == sessions[0].id


def test_a_recorded_message_of_content_blocks_is_the_last_turn(tmp_path):
    pair = {
        "request": {"system": "s", "messages": [{"role": "user", "content": "Go"}]},
        "response": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Gone."}],
        },
    }

    assert ANTHROPICS.recognises([pair])
    session = only(ANTHROPICS, written(tmp_path, [pair]))
    assert (session.asked, session.account, turns(session)) == ("Go", "Gone.", 3)


def test_items_of_the_responses_interface_are_turns(tmp_path):
    run = {
        "model": "m",
        "instructions": "Be short.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look it up"}]},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "Error: closed"},
        ],
        "output": [
            {"type": "web_search_call", "id": "w", "status": "completed"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]},
        ],
    }

    assert OPENAIS.recognises(run)
    session = only(OPENAIS, written(tmp_path, run))

    assert (session.asked, session.account) == ("Look it up", "Found.")
    assert tools(session) == ["look!", "web_search"]
    assert (session.kept, session.dropped) == (5, {"a system prompt": 1, "reasoning": 1})


def test_results_of_tau_bench_are_read_from_their_traj(tmp_path):
    run = {"task_id": 3, "trial": 1, "reward": 0.0, "traj": OPENAI["messages"], "info": {}}

    assert OPENAIS.recognises([run])
    session = only(OPENAIS, written(tmp_path, [run]))
    assert (session.finding.success, session.meta["trial"], session.asked) == (False, 1, "A table for two")


messages = st.lists(
    st.one_of(
        st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant", "system", "x"]), st.sampled_from(["", "a", "b"])),
        st.builds(lambda id: {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": f"t{id}"}}]}, st.sampled_from("123")),
        st.builds(lambda id, text: {"role": "tool", "tool_call_id": id, "content": text}, st.sampled_from("123"), st.sampled_from(["ok", "Error: x"])),
        st.sampled_from([None, 3, {}, {"role": "user", "content": [{"type": "image"}]}]),
    ),
    max_size=12,
)  # fmt: skip


@given(messages)
def test_each_message_is_kept_or_dropped_for_a_reason(given_messages):
    session = session_of("x", map(turn_of, given_messages))

    assert turns(session) == len(given_messages)
    assert len(session.calls) == sum(
        bool((one or {}).get("tool_calls")) for one in given_messages if isinstance(one, dict)
    )
    assert sum(call.worked is False for call in session.calls) <= sum(
        isinstance(one, dict) and one.get("content") == "Error: x" for one in given_messages
    )


def test_an_answer_that_comes_twice_counts_once(tmp_path):
    twice = [*OPENAI["messages"][:4], OPENAI["messages"][3]]

    session = only(OPENAIS, written(tmp_path, {"messages": twice}))

    assert tools(session) == ["find", "book!"]
    assert session.dropped["an answer to no open call"] == 1


def test_real_conversations_are_read_as_a_person_reads_them(shared):
    folder = shared / "transcripts" / "openai_chat"
    failed = only(OPENAIS, folder / "tau-airline-task0-trial0-fail.json")
    worked = only(OPENAIS, folder / "tau-airline-task11-trial0-ok.json")

    assert failed.asked == "Hi! I'm looking to book a flight from New York to Seattle on May 20th."
    assert (
        tools(failed)
        == (
            "get_user_details search_direct_flight search_onestop_flight calculate book_reservation! think calculate book_reservation"
        ).split()
    )
    assert failed.account.startswith("Your flight from New York (JFK) to Seattle (SEA) has been successfully booked.")
    assert failed.finding == (False, "verifier", "reward 0.0")
    assert (failed.kept, turns(failed)) == (25, 32)
    assert (failed.requests, failed.later[0]) == (8, "Sure, my user ID is mia_li_3668.")
    assert worked.asked == "Hi, I'd like to book the same flights as my current reservation for my friend Ivan."
    assert (
        tools(worked)
        == (
            "get_user_details get_reservation_details think calculate calculate book_reservation! think calculate think book_reservation"
        ).split()
    )
    assert worked.account.startswith("The booking for Ivan Smith has been successfully completed.")
    assert worked.finding == (True, "verifier", "reward 1.0")
    assert (worked.kept, turns(worked)) == (29, 36)


def test_a_real_recording_of_three_requests_is_one_session(shared):
    file = shared / "transcripts" / "openai_chat" / "llm-test_tool_use_chain_of_two_calls.json"
    session = only(OPENAIS, file)

    assert session.asked == "Can the country of Crumpet have dragons? Answer with only YES or NO"
    assert (tools(session), session.account) == (["lookup_population", "can_have_dragons"], "YES")
    assert (session.finding, session.kept, session.dropped) == (None, 6, {})
    assert session.cost.tokens == 109 + 136 + 149
    assert json.loads(file.read_text())[-1]["response"]["model"].startswith(session.meta["model"])
