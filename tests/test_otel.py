"""OpenTelemetry's GenAI spans: of an SDK and of OTLP, by the names of now and of before."""

import base64
import json

import pytest
from transcripts import OTEL, only, parts, read, span, tools, turns, written

from experience.importers.otel import FORMAT


def typed(value):
    """A JSON value as OTLP has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(inner)} for key, inner in value.items()]}}
    return {"stringValue": value}


def attributes(values):
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def otlp(spans, *, as_hex=True):
    """Spans of an SDK as an OTLP export."""

    def id(digits):
        bare = (digits or "").removeprefix("0x")
        return bare if as_hex else base64.b64encode(bytes.fromhex(bare)).decode()

    def nanoseconds(text):
        return str(int(text[17:19]) * 10**9 + 1_777_899_600 * 10**9)  # 2026-05-04T13:00:00Z and so many seconds

    made = [
        {
            "traceId": id(one["context"]["trace_id"]),
            "spanId": id(one["context"]["span_id"]),
            "parentSpanId": id(one["parent_id"]),
            "name": one["name"],
            "startTimeUnixNano": nanoseconds(one["start_time"]),
            "endTimeUnixNano": nanoseconds(one["end_time"]),
            "attributes": attributes(one["attributes"]),
            "events": [
                {"name": event["name"], "attributes": attributes(event["attributes"])} for event in one["events"]
            ],
            "status": {"code": 2, "message": "timed out"} if one["status"]["status_code"] == "ERROR" else {},
        }
        for one in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": made}]}]}


def test_a_trace_is_read_as_it_says(tmp_path):
    session = only(FORMAT, written(tmp_path, OTEL))

    assert session.id == "ab" * 16
    assert (session.asked, session.account) == ("Is it raining?", "I cannot tell.")
    assert (tools(session), session.finding) == (["weather!"], None)
    assert (session.kept, session.dropped) == (3, {"a span around others": 1, "a span of something else": 1})
    assert (session.cost.steps, session.cost.tokens, session.cost.seconds) == (2, 35, 4.0)
    assert session.started_at.isoformat() == "2026-05-04T13:00:00+00:00"
    assert (session.meta["agent"], session.meta["model"]) == ("w", "m")


@pytest.mark.parametrize("as_hex", [True, False])
def test_the_same_spans_by_otlp_are_the_same_session(as_hex, tmp_path):
    assert only(FORMAT, written(tmp_path, otlp(OTEL, as_hex=as_hex))) == only(FORMAT, written(tmp_path, OTEL))


def test_spans_of_a_trace_may_lie_on_any_lines(tmp_path):
    lines = [otlp([one]) for one in reversed(OTEL)]

    assert only(FORMAT, written(tmp_path, lines, "a.jsonl")) == only(FORMAT, written(tmp_path, OTEL))


def test_traces_of_one_conversation_are_one_session_and_others_are_their_own(tmp_path):
    def chat(trace, second, words, **more):
        one = span("chat", 1, 0, second, {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([parts("user", type="text", content=f"ask {words}")]),
            "gen_ai.output.messages": json.dumps([parts("assistant", type="text", content=f"say {words}")]),
            **more,
        })  # fmt: skip
        one["context"]["trace_id"] = "0x" + trace * 16
        return one

    named = {"gen_ai.conversation.id": "talk"}
    spans = [chat("02", 9, "two", **named), chat("03", 5, "three"), chat("01", 1, "one", **named)]

    sessions, _ = read(FORMAT, written(tmp_path, spans))

    assert {(one.id, one.asked, one.account) for one in sessions} == {
        ("talk", "ask one", "say two"),
        ("03" * 16, "ask three", "say three"),
    }


def chat(**has):
    return span("chat", 2, 0, 1, {"gen_ai.system": "openai", "gen_ai.request.model": "m", **has})


CALL = {"id": "c1", "type": "function", "function": {"name": "dig", "arguments": "{}"}}
OLDER = {
    "events by role": (
        {},
        [
            {"name": "gen_ai.system.message", "attributes": {"content": "Be kind."}},
            {"name": "gen_ai.user.message", "attributes": {"content": "Dig"}},
            {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "Dug.", "tool_calls": [CALL]})}},
        ],
    ),
    "events with JSON": (
        {},
        [
            {"name": "gen_ai.user.message", "attributes": {"gen_ai.event.content": json.dumps({"content": "Dig"})}},
            {
                "name": "gen_ai.choice",
                "attributes": {
                    "gen_ai.event.content": json.dumps({"message": {"content": "Dug.", "tool_calls": [CALL]}})
                },
            },
        ],
    ),
    "events of a prompt and a completion": (
        {},
        [
            {
                "name": "gen_ai.content.prompt",
                "attributes": {"gen_ai.prompt": json.dumps([{"role": "user", "content": "Dig"}])},
            },
            {
                "name": "gen_ai.content.completion",
                "attributes": {
                    "gen_ai.completion": json.dumps([{"role": "assistant", "content": "Dug.", "tool_calls": [CALL]}])
                },
            },
        ],
    ),
    "attributes as JSON": (
        {
            "gen_ai.prompt": json.dumps([{"role": "user", "content": "Dig"}]),
            "gen_ai.completion": json.dumps([{"content": "Dug.", "tool_calls": [CALL]}]),
        },
        [],
    ),
    "numbered attributes": (
        {
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be kind.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": "Dig",
            "gen_ai.completion.0.content": "Dug.",
            "gen_ai.completion.0.tool_calls.0.name": "dig",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
        },
        [],
    ),
}


@pytest.mark.parametrize("by_otlp", [False, True])
@pytest.mark.parametrize("name", OLDER)
def test_older_names_say_the_same(name, by_otlp, tmp_path):
    has, events = OLDER[name]
    one = {**chat(**has, **{"gen_ai.usage.prompt_tokens": 3, "gen_ai.usage.completion_tokens": 4}), "events": events}

    session = only(FORMAT, written(tmp_path, otlp([one]) if by_otlp else [one]))

    assert (session.asked, session.account, tools(session)) == ("Dig", "Dug.", ["dig"])
    assert (session.cost.tokens, turns(session)) == (7, 1)


def test_a_log_record_adds_to_the_span_that_it_names(tmp_path):
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"traceId": "ab" * 16, "spanId": f"{2:016x}", "eventName": "gen_ai.user.message", "body": typed({"content": "Dig"})},
        {"traceId": "ab" * 16, "spanId": f"{2:016x}", "eventName": "gen_ai.evaluation.result",
         "attributes": attributes({"gen_ai.evaluation.name": "correctness", "gen_ai.evaluation.score.value": 1.0})},
    ]}]}]}  # fmt: skip

    for lines in ([logs, otlp([chat()])], [otlp([chat()]), logs]):
        session = only(FORMAT, written(tmp_path, lines, "a.jsonl"))
        assert (session.asked, turns(session)) == ("Dig", 1)
        assert session.finding == (True, "verifier", "evaluation correctness = 1.0")


def test_answers_in_the_next_request_tell_failures_where_no_tool_has_a_span(tmp_path):
    request = parts("user", type="text", content="Dig")
    call = parts("assistant", type="tool_call", id="c1", name="dig", arguments={})
    answer = parts("tool", type="tool_call_response", id="c1", response="Error: rock")
    one = chat(**{"gen_ai.input.messages": json.dumps([request]), "gen_ai.output.messages": json.dumps([call])})
    two = span("chat", 3, 0, 5, {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([request, call, answer]),
        "gen_ai.output.messages": json.dumps([parts("assistant", type="text", content="Rock.")]),
    })  # fmt: skip

    assert tools(only(FORMAT, written(tmp_path, [one, two]))) == ["dig!"]


@pytest.mark.parametrize("second", [0, 1])
def test_a_tools_span_that_seems_to_begin_before_its_call_is_still_that_call(second, tmp_path):
    tool = {**OTEL[1], "start_time": f"2026-05-04T13:00:0{second}Z"}
    tool["context"] = {**tool["context"], "span_id": f"0x{0:016x}"}

    session = only(FORMAT, written(tmp_path, [OTEL[0], tool, *OTEL[2:]]))

    assert tools(session) == ["weather!"]
    assert turns(session) == 5


def test_what_runs_inside_another_agent_is_counted_and_not_told(tmp_path):
    inner = [
        span("invoke_agent helper", 20, 1, 2, {"gen_ai.operation.name": "invoke_agent"}),
        span("execute_tool secret", 21, 20, 2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "secret"}),
    ]

    session = only(FORMAT, written(tmp_path, [*OTEL, *inner]))

    assert tools(session) == ["weather!"]
    assert session.dropped["a sub-agent's"] == 2


def evaluated(*scores):
    events = [
        {
            "name": "gen_ai.evaluation.result",
            "attributes": {f"gen_ai.evaluation.{key}": value for key, value in one.items()},
        }
        for one in scores
    ]
    return [{**chat(), "events": events}]


@pytest.mark.parametrize(
    ("scores", "success"),
    [
        ([{"name": "Correctness", "score.label": "pass"}], True),
        ([{"name": "anything", "score.label": "incorrect", "score.value": 0.2}], False),
        ([{"name": "correctness", "score.value": 1}], True),
        ([{"name": "correctness", "score.value": 0.0}], False),
        ([{"name": "correctness", "score.value": 0.9}], None),
        ([{"name": "toxicity", "score.value": 0}], None),
        ([{"name": "fluency", "score.value": 0.4}, {"name": "correctness", "score.label": "correct"}], True),
        ([{"name": "a", "score.label": "pass"}, {"name": "b", "score.label": "fail"}], None),
        ([{"name": "correctness", "score.label": "pass", "score.value": 0}], None),
        ([{"name": "correctness", "score.label": "rather good"}], None),
        ([], None),
    ],
)
def test_an_evaluation_is_a_finding_where_it_plainly_says_so(scores, success, tmp_path):
    finding = only(FORMAT, written(tmp_path, evaluated(*scores))).finding

    assert (finding and finding.success) is success
    assert finding is None or finding.kind == "verifier"


def test_an_evaluation_may_stand_in_the_attributes_of_a_span(tmp_path):
    one = chat(**{"gen_ai.evaluation.name": "task", "gen_ai.evaluation.score.label": "fail"})

    assert only(FORMAT, written(tmp_path, [one])).finding == (False, "verifier", "evaluation task = fail")


def test_a_run_that_ended_with_an_error_says_so_and_is_not_labelled(tmp_path):
    root = {**OTEL[-1], "status": {"status_code": "ERROR", "description": "no more money"}}

    session = only(FORMAT, written(tmp_path, [*OTEL[:-1], root]))

    assert session.account == "I cannot tell.\n\nThe run ended with an error: no more money"
    assert session.finding is None


def test_spans_of_other_programs_are_told_of_and_not_recorded(tmp_path):
    sessions, [trouble] = read(FORMAT, written(tmp_path, [span("GET", 1, 0, 0, {"http.request.method": "GET"})]))

    assert sessions == []
    assert trouble.reason.endswith(": 1")


def test_spans_whose_parents_are_a_ring_are_read(tmp_path):
    ring = [span("invoke_agent", 7, 8, 1, {"gen_ai.operation.name": "invoke_agent"}), span("x", 8, 7, 1, {})]

    assert turns(only(FORMAT, written(tmp_path, ring))) == 2


def test_real_spans_are_read_as_a_person_reads_them(shared):
    folder = shared / "transcripts" / "otel_genai"
    by_sdk = only(FORMAT, folder / "openai_v2-toolcalls-latest.sdk.json")
    by_otlp = only(FORMAT, folder / "openai_v2-toolcalls-latest.otlp.json")
    silent = only(FORMAT, folder / "openai_v2-toolcalls-default.otlp.json")

    assert by_sdk == by_otlp
    assert by_sdk.asked == "What's the weather in Seattle and San Francisco today?"
    assert tools(by_sdk) == ["get_current_weather", "get_current_weather"]
    assert by_sdk.account.startswith("Today, the weather in Seattle is 50 degrees and raining")
    assert (by_sdk.finding, by_sdk.kept, by_sdk.dropped) == (None, 4, {"a span around others": 1})
    assert by_sdk.cost.tokens == 75 + 51 + 99 + 25
    assert (silent.asked, silent.account, silent.first_words) == ("", "", "")  # content was not captured
    assert tools(silent) == ["get_current_weather", "get_current_weather"]
    assert (silent.kept, silent.dropped) == (2, {"a span around others": 1, "without words": 2})
