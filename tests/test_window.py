"""The live window and one made again from records are the same, block for block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience.errors import InvalidInput
from experience.tell.blocks import Exchange, Text, Thinking, ToolResult, ToolUse
from experience.tell.exchange import DEFAULT, FOUNDING, compact
from experience.tell.window import Announced, Landed, Window, rebuild

PROSE = "The deployment went well and nobody had to be woken up at night. " * 1000


def call(id):
    return ToolUse({"id": id, "name": "look"})


def test_an_exchange_is_compacted_once_when_the_whole_wave_has_landed():
    window = Window(32_768).reply(Text(PROSE), call("a"), call("b"))
    assert window.waiting() == ("a", "b")
    half = window.land(ToolResult("b", PROSE))
    assert half.open == Exchange((Text(PROSE), call("a"), call("b")), (ToolResult("b", PROSE),))
    assert (half.waiting(), half.exchanges) == (("a",), (half.open,))

    whole = half.land(ToolResult("a", "fine"))
    raw = half.open.with_result(ToolResult("a", "fine"))
    assert whole.open is None
    assert whole.exchanges == (compact(raw, 32_768).exchange,)
    for policy in (DEFAULT, FOUNDING):
        soon = compact(half.open, 32_000, policy).exchange.with_result(ToolResult("a", PROSE))
        late = compact(half.open.with_result(ToolResult("a", PROSE)), 32_000, policy)
        assert compact(soon, 32_000, policy) != late


def test_a_reply_without_calls_closes_at_once():
    assert Window(100).reply(Text(PROSE)).closed == (compact(Exchange((Text(PROSE),)), 100).exchange,)


def test_what_nobody_waits_for_and_a_reply_that_comes_too_soon_are_refused():
    window = Window(100).reply(call("a"))
    with pytest.raises(InvalidInput, match="land those first"):
        window.reply(Text("next"))
    with pytest.raises(InvalidInput, match="no call waits for the result of 'b'"):
        window.land(ToolResult("b", ""))
    with pytest.raises(InvalidInput, match="no call waits"):
        window.land(ToolResult("a", "")).land(ToolResult("a", ""))


def test_an_incomplete_wave_is_left_out_whole():
    records = [
        Announced((Text("one"),)),
        Announced((call("a"), call("b"))),
        Landed(ToolResult("a", "x")),
        Landed(ToolResult("b", "y")),
    ]

    assert [rebuild(records, 100, upto=upto).upto for upto in range(5)] == [0, 1, 1, 1, 4]
    assert rebuild(records, 100, upto=3).window.exchanges == (Exchange((Text("one"),)),)
    assert rebuild(records, 100).upto == 4


@pytest.mark.parametrize("upto", [-1, 2])
def test_a_cut_past_the_end_is_refused(upto):
    with pytest.raises(InvalidInput, match="from 0 to 1, where the steps end"):
        rebuild([Announced(())], 100, upto=upto)


said = st.builds(Text, texts | st.integers(0, 300).map("a few words of it. ".__mul__)) | st.builds(Thinking, texts)
answers = (
    texts
    | st.integers(0, 30).map("2024-01-05T10:00:00 INFO a line\n".__mul__)
    | st.integers(0, 900).map(lambda n: f'["{"x" * n}"]')
)


@st.composite
def runs(draw):
    records = []
    for turn in range(draw(st.integers(0, 4))):
        ids = [f"{turn}-{number}" if draw(st.booleans()) else "again" for number in range(draw(st.integers(0, 3)))]
        records.append(Announced((*draw(st.lists(said, max_size=2)), *map(call, ids))))
        records += [Landed(ToolResult(id, draw(answers), draw(st.booleans()))) for id in draw(st.permutations(ids))]
    return records


@given(runs(), st.integers(0, 2000), st.sampled_from([DEFAULT, FOUNDING]), st.data())
def test_a_rebuild_is_the_live_window_block_for_block(records, budget, policy, data):
    upto = data.draw(st.integers(0, len(records)))
    live, raw, waiting = Window(budget, policy), [], []
    closed_after = {0: ()}
    for number, record in enumerate(records, 1):
        if isinstance(record, Announced):
            live = live.reply(*record.blocks)
            raw.append(Exchange(record.blocks))
            waiting = [block.id for block in record.blocks if isinstance(block, ToolUse)]
        else:
            live = live.land(record.result)
            raw[-1] = raw[-1].with_result(record.result)
            waiting.remove(record.result.tool_use_id)
        if not waiting:
            closed_after[number] = tuple(compact(one, budget, policy).exchange for one in raw)
            assert live.exchanges == closed_after[number]
    window, safe = rebuild(records, budget, policy, upto)

    assert safe == max(number for number in closed_after if number <= upto)
    assert window.exchanges == closed_after[safe]
    assert window.open is None
    assert rebuild(records, budget, policy).window == live


def test_a_window_with_a_budget_below_nothing_is_refused_at_once():
    with pytest.raises(InvalidInput, match="whole number"):
        Window(-1)
