"""Small transcripts of every format, made up for these tests, and how they are read in them."""

import json
from importlib import import_module

from experience.importers.session import Session, Trouble
from experience.importers.source import Source

MODULES = ("atif", "openai", "anthropic", "otel", "swe_agent", "inspect_log", "langsmith")


def formats():
    return [import_module(f"experience.importers.{name}").FORMAT for name in MODULES]


def read(format, path):
    """The sessions and the troubles of a file."""
    found = list(format.sessions(Source(path)))
    return [one for one in found if isinstance(one, Session)], [one for one in found if isinstance(one, Trouble)]


def only(format, path):
    [session], troubles = read(format, path)
    assert troubles == []
    return session


def written(folder, value, name="run.json"):
    """A file with a JSON document, or for a list under the name of lines, one a line."""
    path = folder / name
    lines = [json.dumps(one) for one in value] if name.endswith(".jsonl") else [json.dumps(value)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def turns(session):
    return session.kept + sum(session.dropped.values())


def tools(session):
    """The calls in order, with a mark at those that failed."""
    return [f"{call.name}!" if call.worked is False else call.name for call in session.calls]


ATIF = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s-1",
    "trajectory_id": "t-1",
    "agent": {"name": "digger", "version": "2.1", "model_name": "m-1"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You dig."},
        {
            "step_id": 2,
            "source": "user",
            "timestamp": "2026-05-04T13:00:00Z",
            "message": [
                {"type": "text", "text": "Find the leak"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            ],
        },
        {
            "step_id": 3,
            "source": "agent",
            "timestamp": "2026-05-04T13:00:05Z",
            "message": "Looking.",
            "reasoning_content": "a tank, perhaps",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "read_file", "arguments": {"path": "skills/leaks/SKILL.md"}},
                {"tool_call_id": "c2", "function_name": "shell", "arguments": {"command": "ls"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "# Leaks"},
                    {"source_call_id": "c2", "content": "no such file", "extra": {"exit_code": 2}},
                ]
            },
        },
        {"step_id": 4, "source": "agent", "timestamp": "2026-05-04T13:01:00Z", "message": "The valve leaks."},
    ],
    "final_metrics": {"total_prompt_tokens": 100, "total_completion_tokens": 20, "total_cost_usd": 0.5},
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.8",
            "session_id": "s-1",
            "trajectory_id": "t-2",
            "agent": {"name": "helper", "version": "1"},
            "steps": [
                {"step_id": 1, "source": "user", "message": "Look at the tank"},
                {"step_id": 2, "source": "agent", "message": "It is dry."},
            ],
        }
    ],
}

OPENAI = {
    "id": "conv-7",
    "model": "m-1",
    "reward": 1.0,
    "messages": [
        {"role": "developer", "content": "You book tables."},
        {"role": "user", "content": [{"type": "text", "text": "A table for two"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"seats": 2}'}},
                {"id": "c2", "type": "function", "function": {"name": "book", "arguments": "{not json"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no such table"},
        {"role": "tool", "tool_call_id": "c1", "content": "table 4"},
        {"role": "assistant", "content": "Table 4 is yours. Anything else?"},
        {"role": "user", "content": "No, thanks."},
        {"role": "assistant", "content": "Good night."},
    ],
}

ANTHROPIC = {
    "model": "m-2",
    "system": "You mend things.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>be brief</system-reminder>"},
                {"type": "text", "text": "Mend the pump"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "pumps"}},
                {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "false"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "# Pumps"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": "exit 1", "is_error": True},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "t3", "name": "web_search", "input": {"query": "pump"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "t3",
                    "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
                },
                {"type": "text", "text": "It runs again."},
            ],
        },
    ],
}


def span(name, id, parent, second, attributes, **more):
    """A span as an SDK writes it."""
    return {
        "name": name,
        "context": {"trace_id": "0x" + "ab" * 16, "span_id": f"0x{id:016x}"},
        "parent_id": f"0x{parent:016x}" if parent else None,
        "start_time": f"2026-05-04T13:00:{second:02}Z",
        "end_time": f"2026-05-04T13:00:{second + 1:02}Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        **more,
    }


def parts(role, **part):
    return {"role": role, "parts": [part]}


_QUESTION = parts("user", type="text", content="Is it raining?")
_CALL = parts("assistant", type="tool_call", id="c1", name="weather", arguments={"city": "Ulm"})
OTEL = [
    span(
        "chat m", 2, 1, 1,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.input.messages": json.dumps([parts("system", type="text", content="Be dry."), _QUESTION]),
            "gen_ai.output.messages": json.dumps([_CALL]),
        },
    ),
    span(
        "execute_tool weather", 3, 1, 2,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"},
        status={"status_code": "ERROR", "description": "timed out"},
    ),
    span(
        "chat m", 4, 1, 3,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.input.messages": json.dumps([_QUESTION, _CALL]),
            "gen_ai.output.messages": json.dumps([parts("assistant", type="text", content="I cannot tell.")]),
        },
    ),
    span("GET", 5, 4, 3, {"http.request.method": "GET"}),
    span("invoke_agent w", 1, 0, 0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"}),
]  # fmt: skip

SWE_AGENT = {
    "environment": "main",
    "trajectory": [
        {
            "action": "ls -a\n",
            "observation": "main.py",
            "response": "I look around.\n```\nls -a\n```",
            "thought": "...",
        },
        {
            "action": "KEY=hidden edit 1:1\nx\nend_of_edit",
            "observation": "Your proposed edit has introduced new syntax error(s). Please read",
            "response": "I edit.",
        },
        {"action": "submit", "observation": "diff", "response": "Done."},
    ],
    "history": [
        {"role": "system", "content": "You are a programmer.", "agent": "main"},
        {"role": "user", "content": "Here is a demonstration ISSUE:\nno", "agent": "main", "is_demo": True},
        {
            "role": "user",
            "content": "We solve this.\nISSUE:\nThe sum is wrong\n\nwhen empty\n\nINSTRUCTIONS:\nNow, you",
            "agent": "main",
        },
        {"role": "assistant", "content": "I look around.", "action": "ls -a\n", "agent": "main"},
    ],
    "info": {
        "exit_status": "submitted",
        "model_stats": {"tokens_sent": 30, "tokens_received": 4, "instance_cost": 0.1},
    },
}


def sample(id, value, **more):
    """A sample of an Inspect log, scored with `value`."""
    return {
        "id": id,
        "epoch": 1,
        "input": f"Question {id}",
        "target": "x",
        "messages": [
            {"role": "system", "content": "Answer."},
            {"role": "user", "content": f"Answer this: Question {id}", "source": "input"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "function": "search", "arguments": {"q": id}, "type": "function"}],
            },
            {"role": "tool", "content": "", "tool_call_id": "c", "function": "search", "error": {"type": "timeout", "message": "slow"}},
            {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "x"}]},
        ],
        "scores": {"includes": {"value": value}},
        "model_usage": {"m": {"total_tokens": 12}},
        "total_time": 1.5,
        "started_at": "2026-05-04T13:00:00+00:00",
        **more,
    }  # fmt: skip


INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"eval_id": "e1", "run_id": "r1", "task": "quiz", "model": "m"},
    "samples": [sample("a", "C"), sample(2, "I")],
}

LANGSMITH = [
    {
        "id": "r1",
        "trace_id": "r1",
        "name": "agent",
        "run_type": "chain",
        "inputs": {"input": "Add 2 and 2"},
        "outputs": {"output": "4"},
        "start_time": "2026-05-04T13:00:00",
        "end_time": "2026-05-04T13:00:09",
        "dotted_order": "1",
        "feedback_stats": {"correctness": {"n": 1, "avg": 1.0}, "helpfulness": {"n": 1, "avg": 0.2}},
    },
    {
        "id": "r2",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "name": "model",
        "run_type": "llm",
        "start_time": "2026-05-04T13:00:01",
        "inputs": {
            "messages": [[
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "SystemMessage"], "kwargs": {"content": "Sum."}},
                {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "Add 2 and 2"}},
            ]]
        },
        "outputs": {
            "generations": [[{
                "text": "",
                "message": {
                    "lc": 1,
                    "id": ["langchain", "schema", "AIMessage"],
                    "kwargs": {"content": "", "type": "ai", "tool_calls": [{"name": "add", "args": {"a": 2}, "id": "c1"}]},
                },
            }]]
        },
        "prompt_tokens": 7,
        "completion_tokens": 2,
    },
    {
        "id": "r3",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "name": "add",
        "run_type": "tool",
        "start_time": "2026-05-04T13:00:02",
        "inputs": {"input": "{'a': 2}"},
        "outputs": None,
        "error": "ToolException('no b')",
    },
    {
        "id": "r4",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "name": "model",
        "run_type": "llm",
        "start_time": "2026-05-04T13:00:03",
        "inputs": {},
        "outputs": {"generations": [[{"text": "It is 4."}]]},
    },
]  # fmt: skip

SAMPLES = {
    "atif": ATIF,
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "otel": OTEL,
    "swe_agent": SWE_AGENT,
    "inspect": INSPECT,
    "langsmith": LANGSMITH,
}
"""One transcript of each format, by its name."""
