"""Messages go in and come out as they were, whatever is in them."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.errors import InvalidInput
from experience.tell.blocks import Exchange, RedactedThinking, Text, Thinking, ToolResult, ToolUse
from experience.tell.exchange import CompactPolicy, Fate, compact
from experience.tell.messages import Conversation
from experience.tell.offload import ContentStore

PROSE = "The deployment went well and nobody had to be woken up at night. " * 100
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": json.dumps({"long": PROSE})}}
OPENAI = [
    {"role": "developer", "content": PROSE},
    {
        "role": "user",
        "content": [{"type": "text", "text": PROSE}, {"type": "image_url", "image_url": {"url": "data:"}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}], "refusal": None},
    {"role": "tool", "tool_call_id": "c2", "content": PROSE},
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "text": "one"}, {"type": "text", "text": PROSE}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": PROSE}, {"type": "refusal", "refusal": "no"}], "x": [1]},
    {"role": "assistant", "content": PROSE, "tool_calls": None},
    {"role": "user", "content": PROSE},
]
ANTHROPIC = [
    {"role": "user", "content": PROSE},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": PROSE, "signature": "s"},
            {"type": "redacted_thinking", "data": "d"},
            {"type": "text", "text": PROSE, "citations": None},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"long": PROSE}},
            {"type": "server_tool_use", "id": "s1", "name": "web", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "is_error": True,
                "content": [
                    {"type": "image", "source": {"type": "base64", "data": "x" * 5000}},
                    {"type": "text", "text": PROSE, "cache_control": {"type": "ephemeral"}},
                ],
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "text", "text": PROSE},
        ],
    },
]


def compacted(data, budget, policy=None, store=None):
    """The messages after compaction, and the account; that the input did not change is checked."""
    before = copy.deepcopy(data)
    conversation = Conversation.of(data)
    done = compact(conversation.exchange(), budget, policy or CompactPolicy(), store)
    after = conversation.with_exchange(done.exchange)
    assert data == before
    return after, done


def test_the_blocks_of_openai_messages_are_found_in_order():
    found = Conversation.of(OPENAI).exchange()

    assert [type(block) for block in found.assistant] == [ToolUse, ToolUse, Text, Text]
    assert found.results == (ToolResult("c2", PROSE), ToolResult("c1", "one"), ToolResult("c1", PROSE))
    assert found.assistant[0].raw is CALL


def test_the_blocks_of_anthropic_messages_are_found_in_order():
    found = Conversation.of(ANTHROPIC).exchange()
    picture = ANTHROPIC[2]["content"][0]["content"][0]

    assert [type(block) for block in found.assistant] == [Thinking, RedactedThinking, Text, ToolUse]
    assert found.results == (ToolResult("t1", PROSE, True, (picture,)),)
    assert found.results[0].attachments[0] is picture


def test_what_came_with_several_texts_of_one_answer_is_carried_once():
    parts = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}, "odd"]
    block = {"type": "tool_result", "tool_use_id": "t", "content": parts}

    assert Conversation.of([{"role": "user", "content": [block]}]).exchange().results == (
        ToolResult("t", "one", False, ({"type": "image"}, "odd")),
        ToolResult("t", "two"),
    )


def test_only_texts_of_assistants_and_tools_are_cut():
    after, done = compacted(OPENAI, 1000)

    assert done.fits
    assert after[:3] == OPENAI[:3]
    assert after[7] == OPENAI[7]
    assert after[4]["content"][0] == {"type": "text", "text": "one"}
    for then, now in zip(OPENAI[3:7], after[3:7], strict=True):
        assert {**now, "content": 0} == {**then, "content": 0}
        assert len(json.dumps(now)) < 1500
    assert after[5]["content"][1] == {"type": "refusal", "refusal": "no"}

    after, done = compacted({"system": PROSE, "messages": ANTHROPIC, "model": "m"}, 1000)
    assert done.before == 2 * len(PROSE)
    assert (after["system"], after["model"], after["messages"][0]) == (PROSE, "m", ANTHROPIC[0])
    said, answered = after["messages"][1]["content"], after["messages"][2]["content"]
    assert [said[at] for at in (0, 1, 3, 4)] == [ANTHROPIC[1]["content"][at] for at in (0, 1, 3, 4)]
    assert (said[2]["citations"], len(said[2]["text"])) == (None, 500)
    assert answered[1] == ANTHROPIC[2]["content"][1]
    assert answered[0]["content"][1]["cache_control"] == answered[0]["cache_control"] == {"type": "ephemeral"}
    assert answered[0]["content"][0] is ANTHROPIC[2]["content"][0]["content"][0]


def test_what_did_not_change_is_the_very_same():
    conversation = Conversation.of(OPENAI)

    assert conversation.with_exchange(conversation.exchange()) is OPENAI
    after, _ = compacted(OPENAI, 1000)
    assert after[0] is OPENAI[0]
    assert after[2] is OPENAI[2]


def test_a_single_turn_is_enough():
    turn = [OPENAI[2], {"role": "tool", "tool_call_id": "c1", "content": PROSE}, OPENAI[3]]
    after, done = compacted(turn, 400)

    assert done.fits
    assert after[0] is turn[0]
    assert after[1]["tool_call_id"] == "c1"


@pytest.mark.parametrize(
    ("messages", "waiting"),
    [
        (OPENAI[:3], 1),
        (OPENAI[:4], 2),
        (OPENAI[:5], 0),
        ([OPENAI[6], *OPENAI[2:4]], 2),
        ([*OPENAI[:4], OPENAI[7]], 0),
        (ANTHROPIC[:2], 1),
        (ANTHROPIC, 0),
        ([OPENAI[2], OPENAI[3], {**OPENAI[3], "tool_call_id": "c1"}, OPENAI[2]], 1),
        ([OPENAI[2], {"role": "assistant", "tool_calls": [{**CALL, "id": "c3"}]}, OPENAI[3]], 3),
    ],
    ids=[
        "none landed",
        "one of two",
        "all",
        "text before",
        "a person went on",
        "Anthropic",
        "landed",
        "an id again",
        "split",
    ],
)
def test_a_landing_wave_is_never_compacted_half_way(messages, waiting):
    after, done = compacted(messages, 100)
    landed = len(messages) - waiting

    assert Conversation.of(messages).waiting == waiting
    assert after[landed:] == messages[landed:]
    assert all(now is then for now, then in zip(after[landed:], messages[landed:], strict=True))
    assert done.before == sum(len(part) for part in [*_texts(messages[:landed])]), "what waits is not counted either"


def test_a_call_that_is_never_answered_holds_up_nothing_after_the_next_turn():
    def turn(id, *answers):
        call = {k: v for k, v in {**CALL, "id": id}.items() if v is not None}
        results = [{"role": "tool", "tool_call_id": answer, "content": PROSE} for answer in answers]
        return [{"role": "assistant", "content": PROSE, "tool_calls": [call]}, *results]

    twice = [{"role": "assistant", "content": PROSE, "tool_calls": [CALL, CALL]}, *turn("c1", "c1")[1:]]
    for lost in (turn("lost", "other"), twice, turn(None, "c1"), [*turn("lost"), {"role": "tool", "content": PROSE}]):
        messages = [*lost, *turn("c1", "c1"), *turn("c2", "c2")]
        after, done = compacted(messages, 1000)
        assert Conversation.of(messages).waiting == 0
        assert done.fits
        assert done.before == sum(bool(message.get("content")) for message in messages) * len(PROSE)
        assert len(json.dumps(after)) < len(json.dumps(messages)) / 2

        waits = Conversation.of([*messages, *turn("c3")])
        assert (waits.waiting, waits.waiting_cost(), waits.waiting_cost(len)) == (1, len(PROSE), len(PROSE))
        done = compact(waits.exchange(), 1000, not_counted=waits.waiting_cost())
        assert (done.after <= 1000, done.not_counted, done.fits) == (True, len(PROSE), False)
    assert Conversation.of(messages).waiting_cost() == 0


def _texts(messages):
    exchange = Conversation.of([*messages, {"role": "user", "content": "and?"}]).exchange() if messages else Exchange()
    return [b.text for b in exchange.assistant if isinstance(b, Text)] + [one.content for one in exchange.results]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "got null"),
        ("text", "got the text 'text'"),
        (7, "got '7'"),
        ({}, "nothing in it"),
        ({"note": "x"}, "an object with 'note'"),
        ({"messages": {}}, "nothing in it"),
        ([], "no messages in the list"),
        ({"messages": []}, "no messages in the list"),
        (["a"], "message 0 has no role: got the text 'a'"),
        ([{"role": "user", "content": "a"}, {"content": "b"}], "message 1 has no role"),
        ([{"role": 1}], "message 0 has no role"),
        ([{"role": "user", "content": {"a": 1}}], "content of message 0 is an object with 'a'"),
        ([{"role": "assistant", "tool_calls": {"a": 1}}], "tool_calls of message 0 are an object"),
        ([{"request": {}, "response": {}}], "give the messages of the last request"),
    ],
)
def test_what_is_no_messages_is_refused(data, said):
    with pytest.raises(InvalidInput, match=said):
        Conversation.of(data)


def test_an_exchange_of_other_messages_is_refused():
    conversation = Conversation.of(OPENAI)
    with pytest.raises(InvalidInput, match="other blocks"):
        conversation.with_exchange(Exchange())
    with pytest.raises(InvalidInput, match="other blocks"):
        conversation.with_exchange(Conversation.of(ANTHROPIC).exchange())
    empty = Conversation.of([{"role": "tool", "tool_call_id": "a", "content": None}])
    assert empty.exchange().results == (ToolResult("a", ""),)
    with pytest.raises(InvalidInput, match="a result without text got one"):
        empty.with_exchange(Exchange((), (ToolResult("a", "x"),)))


# Any messages

json_values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda one: st.lists(one, max_size=3) | st.dictionaries(texts, one, max_size=3), max_leaves=6)  # fmt: skip
ids = st.sampled_from(["a", "b", "c"])
unknown = st.dictionaries(st.sampled_from(["cache_control", "name", "refusal", "z"]), json_values, max_size=2)


def blocks(**keys):
    return st.builds(lambda known, more: {**more, **known}, st.fixed_dictionaries(keys), unknown)


text_parts = blocks(type=st.just("text"), text=texts | st.none())
parts = st.one_of(
    text_parts,
    blocks(type=st.sampled_from(["thinking", "redacted_thinking", "image", "image_url", "new"]), data=json_values),
    blocks(type=st.just("tool_use"), id=ids, input=json_values),
    blocks(type=st.just("tool_result"), tool_use_id=ids, is_error=st.booleans(), content=texts | st.none() | st.lists(text_parts | json_values, max_size=3)),
    json_values,
)  # fmt: skip
calls = st.lists(blocks(id=ids, function=json_values) | json_values, max_size=3)
messages = st.one_of(
    blocks(role=st.sampled_from(["system", "developer", "user", "tool", "assistant", "function"]), content=texts | st.none() | st.lists(parts, max_size=4)),
    blocks(role=st.just("assistant"), content=texts | st.none(), tool_calls=calls | st.none()),
    blocks(role=st.just("tool"), tool_call_id=ids, content=texts | st.lists(text_parts, max_size=3)),
)  # fmt: skip
lists = st.lists(messages, min_size=1, max_size=6)
shapes = lists | st.builds(lambda one, more: {**more, "messages": one}, lists, unknown)


@given(shapes)
def test_whatever_comes_in_comes_out(data):
    conversation = Conversation.of(data)

    assert conversation.with_exchange(conversation.exchange()) == data


@given(shapes, st.integers(0, 200))
def test_cutting_changes_nothing_but_the_texts_it_names(data, budget):
    conversation = Conversation.of(data)
    before = conversation.exchange()
    after, done = compacted(data, budget, CompactPolicy(detect=lambda _: "prose"))
    read = Conversation.of(after)

    assert read.exchange() == done.exchange
    assert read.waiting == conversation.waiting
    assert read.with_exchange(before) == data


# Real conversations


@pytest.mark.parametrize("name", ["tau-airline-task0-trial0-fail", "tau-airline-task11-trial0-ok"])
@pytest.mark.parametrize("budget", [32_768, 4_096, 1_024])
@pytest.mark.parametrize("stored", [False, True])
def test_a_real_conversation_stays_one(shared, tmp_path, name, budget, stored):
    path = shared / "transcripts" / "openai_chat" / f"{name}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    kept = ContentStore(tmp_path / "kept") if stored else None
    after, done = compacted(data, budget, store=kept)
    before = Conversation.of(data).exchange()

    assert done.fits or not stored or budget == 1_024
    assert {**after, "messages": 0} == {**data, "messages": 0}
    for then, now in zip(data["messages"], after["messages"], strict=True):
        assert {**now, "content": 0} == {**then, "content": 0}
        if then["role"] in ("system", "user"):
            assert now == then
        if then["role"] == "tool" and (then["content"] or "").startswith(("{", "[")):
            if now == then:
                json.loads(now["content"])
            else:
                assert stored
                assert now["content"].endswith("]")
    for change in done.changes:
        if stored and change.fate is not Fate.WHOLE:
            now, then = (blocks.results if change.result else blocks.assistant for blocks in (done.exchange, before))
            text = then[change.block].content if change.result else then[change.block].text
            assert kept.read(change.locator).decode() == text
            assert now[change.block] != then[change.block]
    assert compacted(after, budget, store=kept)[0] == after
