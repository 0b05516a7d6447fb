"""The example loops in docs/examples run as they stand, twice each, against a scripted endpoint on this machine."""

import importlib.util
import json
import socket
import subprocess
import sys
import threading
import urllib.error
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import ROOT

from experience import Filter, Learnings, Memory, Receipts
from experience.recalled import OPENING

TASK = "What does notes.txt say about the release?"
FOUND = "The release is on Friday (notes.txt); the file was in another encoding"
EXAMPLES = ["openai_loop", "anthropic_loop"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Here connections are made, to this machine only."""
    connect, strange = socket.socket.connect, []

    def local(self, address):
        if address[0] != "127.0.0.1":
            strange.append(address)
            raise OSError("nothing here needs a network")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)
    monkeypatch.setenv("no_proxy", "*")
    yield
    assert strange == []


@pytest.fixture(params=EXAMPLES)
def example(request):
    found = importlib.util.spec_from_file_location(request.param, ROOT / "docs" / "examples" / f"{request.param}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def as_openai(step):
    """A step of the script in the shape of a chat completion: a text, or calls as (name, arguments)."""
    if isinstance(step, str):
        message = {"role": "assistant", "content": step}
    else:
        calls = [
            {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for at, (name, arguments) in enumerate(step)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"choices": [{"message": message}], "usage": {"total_tokens": 10}}


def as_anthropic(step):
    blocks = [{"type": "text", "text": step}]
    if not isinstance(step, str):
        blocks = [
            {"type": "text", "text": "Let me look."},
            *(
                {"type": "tool_use", "id": f"c{at}", "name": name, "input": arguments}
                for at, (name, arguments) in enumerate(step)
            ),
        ]
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    return {
        "role": "assistant",
        "content": blocks,
        "stop_reason": reason,
        "usage": {"input_tokens": 6, "output_tokens": 4},
    }


@contextmanager
def endpoint(shape, steps):
    """An endpoint that answers by a script, its address, and what it was asked: (path, headers, body)."""
    asked, left = [], list(steps)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, dict(self.headers), body))
            content = json.dumps(shape(left.pop(0))).encode() if left else b"no more"
            self.send_response(200 if content != b"no more" else 500)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def shape_of(example):
    return as_openai if "openai" in example.__name__ else as_anthropic


FIRST = [
    [("list_files", {}), ("read_file", {"path": "note.txt"})],
    [("read_file", {"path": "notes.txt"}), ("read_file", {"path": "/etc/hostname"})],
    [("propose_learning", {"text": "The release notes stand in notes.txt", "impact": "low"}), ("no_such_tool", {})],
    [
        (
            "correct_learning",
            {"which": "The release notes stand in notes.txt", "text": "The release notes are in notes.txt, as UTF-8"},
        )
    ],
    FOUND,
]


def test_the_second_run_is_told_what_the_first_did(example, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("The release is on Friday.\n")
    with (
        Memory.open(path, "keyword") as memory,
        endpoint(shape_of(example), [*FIRST, "Friday, says notes.txt"]) as (url, asked),
    ):
        first = example.work(memory, TASK, base_url=url, key="k", check=lambda answer: "Friday" in answer)
        second = example.work(memory, f"{TASK} Please.", base_url=url, key="k")
        later, earlier = memory.records()
        receipts = Receipts(memory.store)

        assert (first, second) == (FOUND, "Friday, says notes.txt")
        # The first run is on record as it went.
        assert earlier.episode.tools == ("list_files", "read_file", "read_file")
        assert [call["name"] for call in earlier.episode.meta["tool_trouble"]] == ["read_file", "read_file"]
        assert [call["allowed"] for call in earlier.episode.meta["tool_trouble"]] == [True, False]
        assert (earlier.confirmed, earlier.label.by, earlier.episode.cost.tokens, earlier.episode.cost.steps) == (
            True,
            "reader",
            50,
            5,
        )
        # The second was told of it, knew nothing of it otherwise, and does not record what it was told.
        told = json.dumps(asked[5][2]["messages"][0], ensure_ascii=False)
        assert len(asked[5][2]["messages"]) == 1
        assert FOUND in told
        assert "The release notes are in notes.txt, as UTF-8" in told
        assert FOUND not in json.dumps(asked[0][2]["messages"])
        assert [item.id for item in receipts.of(later.episode.run_id)[0].contents.of("worked")] == [earlier.id]
        assert OPENING not in later.episode.situation + later.episode.outcome
        assert later.episode.success is None
        assert Learnings(memory.store).get(2).runs_left == 19


def test_what_the_tools_gave_reaches_the_model_in_the_wires_own_shape(example, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("The release is on Friday.\n")
    with Memory.open(path, "keyword") as memory, endpoint(shape_of(example), FIRST) as (url, asked):
        example.work(memory, TASK, base_url=url, key="secret-key")

    (place, headers, body) = asked[2]
    assert {tool["function"]["name"] if "function" in tool else tool["name"] for tool in body["tools"]} == set(
        example.CALLED
    )
    if shape_of(example) is as_openai:
        assert (place, headers["Authorization"]) == ("/chat/completions", "Bearer secret-key")
        answers = [(one["tool_call_id"], one["content"]) for one in body["messages"] if one["role"] == "tool"]
        assert answers[2] == ("c0", "The release is on Friday.\n")
        assert answers[1][1].startswith("error: FileNotFoundError")
        assert answers[3][1].startswith("error: ToolDenied")
    else:
        sent = {name.lower(): value for name, value in headers.items()}
        assert (place, sent["x-api-key"], sent["anthropic-version"]) == ("/v1/messages", "secret-key", "2023-06-01")
        first, second = [one["content"] for one in body["messages"][1:] if one["role"] == "user"]
        assert second[0] == {"type": "tool_result", "tool_use_id": "c0", "content": "The release is on Friday.\n"}
        assert (first[1]["is_error"], second[1]["is_error"]) == (True, True)
        assert second[1]["content"].startswith("ToolDenied")


def test_a_run_whose_endpoint_fails_or_never_ends_is_recorded_as_failed(example, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(example, "MOST_TURNS", 2)
    with Memory.open(path, "keyword") as memory, endpoint(shape_of(example), [[("list_files", {})]] * 2) as (url, _):
        with pytest.raises(TimeoutError, match="no answer after 2 turns"):
            example.work(memory, TASK, base_url=url)
        with pytest.raises(urllib.error.HTTPError):
            example.work(memory, TASK, base_url=url)
        assert [record.episode.outcome[:12] for record in memory.records(Filter(success=False))] == [
            "HTTPError: H",
            "TimeoutError",
        ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_as_a_script(name, tmp_path):
    shape = as_openai if "openai" in name else as_anthropic
    with endpoint(shape, [FOUND]) as (url, asked):
        done = subprocess.run(
            [sys.executable, ROOT / "docs" / "examples" / f"{name}.py", TASK], capture_output=True, text=True, check=False, cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "no_proxy": "*", "OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url, "MODEL": "tiny"},
        )  # fmt: skip

    assert (done.stdout, done.stderr) == (FOUND + "\n", "")
    assert asked[0][2]["model"] == "tiny"
    with Memory.open(tmp_path / "runs.db", "keyword") as memory:
        assert memory.count() == 1


def final(example, content, **more):
    """An endpoint's last answer as it is, whatever its content is."""
    if shape_of(example) is as_openai:
        return {"choices": [{"message": {"role": "assistant", **content}}], **more}
    return {"role": "assistant", **content, **more}


def as_it_is(step):
    return step


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ({"content": "a\0b"}, "a\ufffdb"),
        ({"content": "half \ud83d of it"}, "half \ufffd of it"),
        ({"content": "whole \ud83d\ude00"}, "whole \U0001f600"),
        ({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts\0"}]}, "in parts\ufffd"),
        ({"content": [{"type": "text", "text": None}, {"type": "image"}, 5]}, ""),
        ({"content": None}, ""),
        ({}, ""),
    ],
)
@pytest.mark.parametrize(
    "usage", [{}, {"usage": None}, {"usage": []}, {"usage": {"total_tokens": None, "input_tokens": None}}]
)
def test_a_last_answer_is_recorded_whatever_it_is_made_of(example, path, content, outcome, usage):
    steps = [final(example, content, **usage)]
    with Memory.open(path, "keyword") as memory, endpoint(as_it_is, steps) as (url, _):
        assert example.work(memory, TASK, base_url=url) == outcome
        [record] = memory.records()
    assert (record.episode.outcome, record.episode.success, record.episode.cost.tokens) == (outcome, None, 0)


@pytest.mark.parametrize(
    "call",
    [
        ("correct_learning", {"which": "nope", "text": "so"}),
        ("correct_learning", {"which": "\ud83d", "text": "so"}),
        ("propose_learning", {"text": "a\0b"}),
        ("read_file", {"path": "a\0b"}),
        ("read_file", {"path": "\ud83d"}),
        ("read_file", {"path": [[[]]]}),
        ("read_file", {"no": "such"}),
        ("read_file", ["notes.txt"]),
    ],
)
def test_a_call_that_cannot_be_done_is_an_answer_to_the_model_and_not_the_end_of_the_run(example, path, call, tmp_path, monkeypatch):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with Memory.open(path, "keyword") as memory, endpoint(shape_of(example), [[call], "done"]) as (url, asked):
        assert example.work(memory, TASK, base_url=url) == "done"
        [record] = memory.records()
    assert record.episode.outcome == "done"
    assert "rror: " in json.dumps(asked[1][2]["messages"]) or "is_error" in json.dumps(asked[1][2]["messages"])


def test_arguments_that_nest_too_deeply_are_an_answer_to_the_model(path):
    found = importlib.util.spec_from_file_location("openai_loop", ROOT / "docs" / "examples" / "openai_loop.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    assert module.called({"function": {"name": "read_file", "arguments": "[" * 200_000}}).startswith("error: Recursion")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_without_a_task_says_how_it_is_called(name, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "examples" / f"{name}.py"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f'usage: python {name}.py "WHAT IS TO BE DONE"\n')
    assert list(tmp_path.iterdir()) == []
