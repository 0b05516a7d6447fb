"""`experience mcp`: a real client drives it in memory, over pipes and over HTTP, and nobody else gets in."""

import http.client
import json
import logging
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest
from click.testing import CliRunner
from conftest import ROOT
from hostile import HOSTILE

from experience import Episode, Learnings, Memory, Receipts, SqliteStore
from experience.backends import open_backend
from experience.cli import main
from experience.errors import EncoderError, InvalidInput, MissingPackage, StoreError
from experience.learn.evidence import Citation
from experience.learn.folder import SkillFolder
from experience.learn.library import SkillLibrary
from experience.learn.skill import Skill
from experience.recalled import CLOSING, OPENING
from experience.screen import revealed
from experience.serving.answers import LONGEST_TEXT
from experience.serving.running import (
    _catch_up,
    _OneLine,
    allowed_hosts,
    checked_host,
    is_loopback,
    may_listen,
    read_token,
    run_http,
)
from experience.testing import HashEncoder

mcp = pytest.importorskip("mcp", reason="the package mcp is not installed (pip install 'hardwon[mcp]')")

TASK = "Publish the docs site"
TOKEN = "a-token-of-some-length"
TOOLS = {
    "recall_experience", "get_brief", "record_episode", "report_outcome", "propose_learning", "list_skills", "get_skill",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Here connections are made, to this machine only; names are still not looked up."""
    connect = socket.socket.connect
    strange = []

    def local(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
            strange.append(address)
            raise OSError("nothing here needs a network")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local)
    yield
    assert strange == []


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "EXPERIENCE_MCP_TOKEN": ""}


def command(path, *more, backend="keyword"):
    return [sys.executable, "-m", "experience", "--db", str(path), "--backend", backend, *more]


@asynccontextmanager
async def in_memory(memory, **options):
    from experience.serving.server import make_server

    async with mcp.Client(make_server(memory, **options)) as client:
        yield client


@asynccontextmanager
async def over_pipes(path, *options, log=None, mode="auto", **how):
    from mcp.client.stdio import StdioServerParameters, stdio_client

    words = command(path, "mcp", *options, **how)
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=environment())
    async with mcp.Client(stdio_client(parameters, errlog=log or sys.__stderr__), mode=mode) as client:
        yield client


def interruptible():
    """What a process does before it begins: a shell that runs these tests in the background has interrupts ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def http_server(path, *options, token=None, said=None, **how):
    """A server on a free port of this machine, and the port; ended afterwards, and what it then has said is put in `said`."""
    environ = environment() | ({"EXPERIENCE_MCP_TOKEN": token} if token else {})
    process = subprocess.Popen(
        command(path, "mcp", "--http", "--port", "0", *options, **how),
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
        preexec_fn=interruptible,  # noqa: PLW1509
    )
    try:
        line = process.stderr.readline()
        found = re.match(r"serving http://127\.0\.0\.1:(\d+)/mcp$", line)
        assert found, line + process.stderr.read()
        yield int(found.group(1))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if said is not None:
            said.append(process.stderr.read())
        process.stderr.close()


@asynccontextmanager
async def over_http(port, token=None, mode="auto"):
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as web,
        mcp.Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web), mode=mode) as client,
    ):
        yield client


async def ask(client, tool, **arguments):
    """What a tool answers, as data; the test fails when the tool says that it failed."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content[0].text
    return found.structured_content


async def refused(client, tool, **arguments):
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    assert "Traceback" not in found.content[0].text
    return found.content[0].text


async def whole_loop(client):
    """Brief, record, outcome, and the next run is told of it."""
    told = await ask(client, "get_brief", task=TASK)
    assert told["episodes"] == []
    assert (await ask(client, "propose_learning", text="The docs build needs Node 20", run_id=told["run_id"]))[
        "changed"
    ]
    recorded = await ask(
        client, "record_episode", situation=TASK, outcome="Live; the cache had to be purged first", tools=["shell"], success=True,
        run_id=told["run_id"],
    )  # fmt: skip
    assert (recorded["success"], recorded["said_by"], recorded["confirmed"]) == (True, "self_claim", False)
    outcome = await ask(client, "report_outcome", run_id=told["run_id"], success=False, evidence="the site answers 404")
    assert (outcome["id"], outcome["success"]) == (recorded["id"], False)
    again = await client.call_tool("get_brief", {"task": f"{TASK} again"})
    assert again.structured_content["episodes"] == [recorded["id"]]
    assert again.structured_content["learnings"] == [1]
    assert '"Live; the cache had to be purged first"' in again.content[0].text
    found = await ask(client, "recall_experience", situation=TASK, success=False)
    assert [run["outcome"] for run in found["runs"]] == ["Live; the cache had to be purged first"]


def test_an_agent_drives_the_whole_loop_over_pipes_and_the_next_one_is_told(path):
    async def drive():
        for mode in ("auto", "legacy"):
            async with over_pipes(path.with_name(f"{mode}.db"), mode=mode) as client:
                await whole_loop(client)

    anyio.run(drive)


def test_an_agent_drives_the_whole_loop_over_http_and_the_next_one_is_told(path):
    async def drive(port, mode):
        async with over_http(port, mode=mode) as client:
            await whole_loop(client)

    for mode in ("auto", "legacy"):
        with http_server(path.with_name(f"{mode}.db")) as port:
            anyio.run(drive, port, mode)


def test_recall_by_meaning_works_over_pipes_with_the_packaged_model(path):
    with Memory.open(path) as memory:
        memory.record(Episode(TASK, "Live; the cache had to be purged first", success=True))
        memory.record(Episode("Bake bread for the office", "Burnt", success=False))

    async def drive():
        async with over_pipes(path, backend="hybrid") as client:
            return await ask(client, "recall_experience", situation="put the documentation online", k=1)

    assert [run["situation"] for run in anyio.run(drive)["runs"]] == [TASK]


def test_the_tools_are_few_and_say_what_they_do_to_the_store(memory):
    async def drive():
        async with in_memory(memory) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(drive)}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all(part.get("description") for part in tool.input_schema["properties"].values()), tool.name
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.destructive_hint is False
        assert not {"namespace", "db", "kind", "by", "supersede"} & set(tool.input_schema["properties"])
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {"recall_experience", "list_skills", "get_skill"}
    assert reading == {name for name, tool in tools.items() if tool.annotations.idempotent_hint}


def test_a_tool_that_says_it_only_reads_writes_nothing(memory, store):
    memory.record(Episode(TASK, "Live", success=True))
    before = "\n".join(store._db.conn.iterdump())

    async def drive():
        async with in_memory(memory) as client:
            await ask(client, "recall_experience", situation=TASK)
            await ask(client, "list_skills")
            await refused(client, "get_skill", name="nothing")
            await client.read_resource("experience://episodes/recent")

    anyio.run(drive)
    assert "\n".join(store._db.conn.iterdump()) == before


def test_what_was_told_is_a_receipt_of_the_run_and_ages_a_learning_once_the_run_is_recorded(memory, store):
    Learnings(store).propose("The docs build needs Node 20")

    async def drive():
        async with in_memory(memory) as client:
            told = await ask(client, "get_brief", task=TASK)
            before = Learnings(store).get(1).runs_left
            await ask(client, "record_episode", situation=TASK, outcome="Live", run_id=told["run_id"])
            echo = await ask(client, "propose_learning", text="The docs build needs Node 20!", run_id=told["run_id"])
            return told, before, echo

    told, before, echo = anyio.run(drive)
    [receipt] = Receipts(store).of(told["run_id"])
    assert [item.id for item in receipt.contents.of("learnings")] == [1]
    assert (before, Learnings(store).get(1).runs_left) == (20, 19)
    assert (echo["reply"], echo["changed"]) == ("Echo", False)


def test_a_run_keeps_the_name_that_it_came_with_and_gets_one_of_its_own_without(memory, store):
    async def drive():
        async with in_memory(memory) as client:
            return [
                (await ask(client, "get_brief", task=TASK, **named))["run_id"] for named in ({"run_id": "mine"}, {}, {})
            ]

    mine, one, other = anyio.run(drive)
    assert mine == "mine"
    assert one != other
    assert all(len(Receipts(store).of(name)) == 1 for name in (mine, one, other))


def test_a_learning_is_corrected_by_its_number_or_its_words(memory, store):
    async def drive():
        async with in_memory(memory, agent="scout") as client:
            await ask(client, "propose_learning", text="The docs build needs Node 20")
            await ask(client, "propose_learning", text="The docs build needs Node 20 or 22", corrects=1)
            words = "The docs build needs Node 20 or 22"
            await ask(client, "propose_learning", text="The docs build needs Node 24", corrects=words)
            return await refused(client, "propose_learning", text="Anything else", corrects="what nobody said")

    assert "no learning that is told says" in anyio.run(drive)
    assert [(one.text, one.agent) for one in Learnings(store).active("scout")] == [
        ("The docs build needs Node 24", "scout")
    ]


def test_an_agents_own_word_is_a_self_claim_by_the_client_and_confirms_nothing(memory):
    async def drive():
        async with in_memory(memory) as client:
            await ask(client, "record_episode", situation=TASK, outcome="Live", success=True, evidence="I saw it")
            await ask(client, "report_outcome", id=1, success=True, evidence="it still answers")

    anyio.run(drive)
    said = [(label.kind, label.by, label.evidence) for label in memory.labels(1)]
    assert said == [("self_claim", "mcp:mcp", "I saw it"), ("self_claim", "mcp:mcp", "it still answers")]
    assert not memory.get(1).confirmed


def test_only_who_started_the_server_can_trust_an_outcome_with_more(memory):
    async def drive():
        async with in_memory(memory, trust="host") as client:
            await ask(client, "record_episode", situation=TASK, outcome="Live", success=False)
            await ask(client, "report_outcome", id=1, success=True, evidence="the site answers 200")
            return await refused(client, "report_outcome", id=1, success=True, evidence="x", kind="verifier")

    assert "has no argument 'kind'" in anyio.run(drive)
    assert [label.kind for label in memory.labels(1)] == ["self_claim", "host"]
    assert memory.get(1).confirmed


def test_a_recalled_block_that_comes_back_in_an_account_is_not_recorded(memory):
    memory.record(Episode(TASK, "Live; the cache had to be purged first", success=True))

    async def drive():
        async with in_memory(memory) as client:
            told = await client.call_tool("get_brief", {"task": TASK})
            text = f"{told.content[0].text}\n\n{TASK} again"
            await ask(
                client, "record_episode", situation=text, outcome=f"I was told:\n{told.content[0].text}\nand it is live"
            )

    anyio.run(drive)
    episode = memory.get(2).episode
    assert OPENING not in episode.situation + episode.outcome
    assert "purged" not in episode.situation + episode.outcome
    assert TASK in episode.situation
    assert episode.meta == {"recalled_blocks_stripped": 2}


@pytest.mark.parametrize("hostile", [text for _, text in HOSTILE], ids=[name for name, _ in HOSTILE])
def test_hostile_text_comes_back_as_a_quoted_string_that_ends_nothing(memory, hostile):
    memory.record(Episode(f"Publish the docs site {hostile}", f"Live {hostile}", tools=("shell",), success=True))

    async def drive():
        async with in_memory(memory) as client:
            return (
                await client.call_tool("recall_experience", {"situation": TASK}),
                await client.call_tool("get_brief", {"task": TASK}),
                await client.read_resource("experience://episodes/1"),
                await client.get_prompt("brief", {"task": TASK}),
            )

    recalled, told, resource, prompt = anyio.run(drive)
    stored = memory.get(1).episode
    for text in (recalled.content[0].text, told.content[0].text, prompt.messages[0].content.text):
        assert (text.count(OPENING), text.count(CLOSING)) == (1, 1)
        [line] = [line for line in text.split("\n") if line.startswith("     outcome: ")]
        said = json.loads(re.search(r'outcome: (".*")', line).group(1))
        assert said == stored.outcome[: len(said)]
        assert len(said) >= min(len(stored.outcome), 90)
        assert revealed(text) == text
    assert recalled.structured_content["runs"][0]["outcome"] == stored.outcome[:LONGEST_TEXT]
    assert json.loads(resource.contents[0].text)["outcome"] == stored.outcome


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("recall_experience", {}, "the argument situation cannot be used: Field required"),
        ("recall_experience", {"situation": TASK, "k": 99}, "the argument k cannot be used"),
        ("recall_experience", {"situation": TASK, "k": "many"}, "the argument k cannot be used"),
        (
            "recall_experience",
            {"situation": TASK, "namespace": "other"},
            "has no argument 'namespace'; it takes situation, k",
        ),
        ("record_episode", {"situation": " ", "outcome": "x"}, "the situation is empty"),
        ("record_episode", {"situation": "a\0b", "outcome": "x"}, "holds a NUL character"),
        ("record_episode", {"situation": TASK, "outcome": "another", "run_id": "r"}, "r"),
        ("record_episode", {"situation": TASK, "outcome": "x", "tools": {"a": 1}}, "the argument tools cannot be used"),
        ("report_outcome", {"success": True, "evidence": "x"}, "say which run by one of the two"),
        (
            "report_outcome",
            {"success": True, "evidence": "x", "id": 1, "run_id": "r"},
            "say which run by one of the two",
        ),
        ("report_outcome", {"success": True, "evidence": "x", "id": 99}, "there is no episode 99"),
        ("report_outcome", {"success": None, "evidence": "x", "id": 1}, "the argument success cannot be used"),
        ("report_outcome", {"success": True, "evidence": "", "id": 1}, "the argument evidence cannot be used"),
        ("report_outcome", {"success": True, "evidence": "  ", "id": 1}, "the evidence is blank"),
        ("report_outcome", {"success": True, "evidence": "x", "id": True}, "the argument id cannot be used"),
        ("report_outcome", {"success": True, "evidence": "x", "id": "1"}, "the argument id cannot be used"),
        ("report_outcome", {"success": "yes", "evidence": "x", "id": 1}, "the argument success cannot be used"),
        ("report_outcome", {"success": 1, "evidence": "x", "id": 1}, "the argument success cannot be used"),
        ("propose_learning", {"text": TASK, "corrects": True}, "the argument corrects"),
        ("record_episode", {"situation": TASK, "outcome": "x", "tools": "a"}, "the argument tools cannot be used"),
        ("record_episode", {"situation": TASK, "outcome": "x", "tools": "[1]"}, "the argument tools.0 cannot be used"),
        ("record_episode", {"situation": TASK, "outcome": "x", "tags": [1]}, "the argument tags.0 cannot be used"),
        ("record_episode", {"situation": TASK, "outcome": "x", "steps": True}, "the argument steps cannot be used"),
        ("record_episode", {"situation": TASK, "outcome": "x", "success": "null"}, "the argument success cannot be"),
        ("record_episode", {"situation": TASK, "outcome": "x", "run_id": "r" * 501}, "the argument run_id cannot be"),
        ("record_episode", {"situation": TASK, "outcome": "x", "evidence": " "}, "the evidence is blank"),
        ("propose_learning", {"text": TASK, "run_id": "r" * 501}, "the argument run_id cannot be used"),
        ("get_brief", {"task": TASK, "run_id": "r" * 501}, "the argument run_id cannot be used"),
        ("get_brief", {"task": TASK, "run_id": " "}, "blank"),
        ("get_brief", {"task": TASK, "budget": 0}, "the argument budget cannot be used"),
        ("propose_learning", {"text": TASK, "impact": "huge"}, "the argument impact cannot be used"),
        ("get_skill", {"name": "../../etc/passwd"}, "name"),
        ("delete_episode", {"id": 1}, "Unknown tool"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_changes_nothing(memory, store, tool, arguments, says):
    memory.record(Episode(TASK, "Live", run_id="r"))
    before = "\n".join(store._db.conn.iterdump())

    async def drive():
        async with in_memory(memory) as client:
            return await refused(client, tool, **arguments)

    assert says in anyio.run(drive)
    assert "\n".join(store._db.conn.iterdump()) == before


def test_long_texts_are_cut_in_an_answer_with_the_count_and_whole_in_their_resource(memory):
    memory.record(Episode(TASK, "x" * 10_000, tools=("shell",) * 5000, success=True))

    async def drive():
        async with in_memory(memory) as client:
            found = await ask(client, "recall_experience", situation=TASK)
            return found["runs"][0], (await client.read_resource("experience://episodes/1")).contents[0].text

    run, whole = anyio.run(drive)
    assert (len(run["outcome"]), len(run["tools"]), run["left_out"]) == (4000, 800, 6000 + 4200)
    assert json.loads(whole)["outcome"] == "x" * 10_000


def test_skills_are_listed_and_read_as_tools_and_as_resources(memory, store, tmp_path):
    library = SkillLibrary(store)
    skill = Skill.new(
        "publish-docs", "Publish the docs site. Use it before a release.", "# Publish\n\n1. Purge the cache.\n"
    )
    library.approve(library.add_draft(skill, "distilled", Citation()).id, SkillFolder(tmp_path), by="ada")
    memory.record(Episode(TASK, "Live", skills=("publish-docs",), success=True))

    async def drive():
        async with in_memory(memory) as client:
            listed = await ask(client, "list_skills")
            got = await ask(client, "get_skill", name="publish-docs")
            return listed, got, (await client.read_resource("experience://skills/publish-docs")).contents[0].text

    listed, got, text = anyio.run(drive)
    assert [(one["name"], one["version"], one["worked"]) for one in listed["skills"]] == [("publish-docs", 1, 1)]
    assert got["text"] == text == skill.text
    library.retire("publish-docs", SkillFolder(tmp_path), by="ada", reason="outdated")

    async def drive_again():
        async with in_memory(memory) as client:
            return await ask(client, "list_skills"), await refused(client, "get_skill", name="publish-docs")

    assert anyio.run(drive_again) == (
        {"skills": []},
        "the store has no skill 'publish-docs' in use; list_skills names those that are",
    )


def test_a_resource_that_is_not_there_is_said_not_to_be(memory):
    async def drive():
        async with in_memory(memory) as client:
            for address in ("experience://episodes/77", "experience://skills/none", "experience://episodes/x"):
                with pytest.raises(mcp.MCPError, match=r"no episode 77|no skill 'none'|needs the number"):
                    await client.read_resource(address)

    anyio.run(drive)


def test_the_prompt_tells_the_brief_the_task_and_how_to_record_it(memory, store):
    memory.record(Episode(TASK, "Live", success=True))

    async def drive():
        async with in_memory(memory) as client:
            return (await client.get_prompt("brief", {"task": f"{TASK} now"})).messages[0].content.text

    text = anyio.run(drive)
    assert text.startswith(OPENING)
    assert f"\n\n{TASK} now\n\n" in text
    assert Receipts(store).of(re.search(r'run_id "(run-[0-9a-f]+)"', text).group(1))


def test_a_text_that_looks_like_json_is_kept_as_the_text_that_it_is(memory, store):
    async def drive():
        async with in_memory(memory) as client:
            return [(await ask(client, "get_brief", task=TASK, run_id=name))["run_id"] for name in ("null", "[1]", "7")]

    assert anyio.run(drive) == ["null", "[1]", "7"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"task": TASK, "budget": "5"}, "brief has no argument 'budget'; it takes task"),
        ({}, "the argument task cannot be used: Field required"),
    ],
)
def test_what_the_prompt_cannot_take_is_said_in_a_sentence(memory, arguments, says):
    async def drive():
        async with in_memory(memory) as client:
            with pytest.raises(mcp.MCPError) as refused:
                await client.get_prompt("brief", arguments)
            with pytest.raises(mcp.MCPError, match="there is no prompt 'other'; there is brief"):
                await client.get_prompt("other", {})
            return refused.value

    error = anyio.run(drive)
    assert (error.code, error.message) == (-32602, says)


def test_what_the_store_says_to_the_prompt_reaches_the_client_and_no_traceback_the_log(memory, monkeypatch, caplog):
    def locked(*_):
        raise StoreError("the store is being written by another process; try again")

    monkeypatch.setattr(Receipts, "add", locked)

    async def drive():
        async with in_memory(memory) as client:
            with pytest.raises(mcp.MCPError, match="is being written by another process; try again"):
                await client.get_prompt("brief", {"task": TASK})

    anyio.run(drive)
    assert caplog.text == ""


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}}  # fmt: skip


@contextmanager
def piped(path):
    """A server at two pipes that has answered the greeting."""
    with subprocess.Popen(
        command(path, "mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=interruptible  # noqa: PLW1509
    ) as process:  # fmt: skip
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        yield process
        if process.poll() is None:
            process.kill()


def test_an_interrupt_ends_the_server_at_two_pipes_and_leaves_the_store_whole(path):
    with piped(path) as process:
        call = {"name": "record_episode", "arguments": {"situation": TASK, "outcome": "Live"}}
        for message in (
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 2
        process.send_signal(signal.SIGINT)
        assert (process.wait(20), process.stderr.read()) == (0, "")
    with SqliteStore(path) as store:
        assert store.count() == 1


@pytest.mark.parametrize("wait", [0, 0.001, 0.01])
def test_an_interrupt_just_as_a_message_arrives_ends_the_server_quietly(path, wait):
    with piped(path) as process:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}) + "\n")
        process.stdin.flush()
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        assert (process.wait(20), process.stderr.read()) == (0, "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_an_interrupt_ends_the_server_at_a_terminal(path):
    ours, theirs = os.openpty()
    try:
        with subprocess.Popen(
            command(path, "mcp"), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=interruptible  # noqa: PLW1509
        ) as process:  # fmt: skip
            os.write(ours, json.dumps(HELLO).encode() + b"\n")
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGINT)
            assert (process.wait(20), process.stderr.read()) == (0, "")
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\ud83d hi"}}', 7, -32700),
        ('{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', None, -32700),
        ('{"id": 8, "method": "ping"}', 8, -32700),
        ("this is no JSON", None, -32700),
        ("[" * 100_000, None, -32700),
        ("[]", None, -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(path, line, id, code):
    with piped(path) as process:
        process.stdin.write(line + "\n" + json.dumps({"jsonrpc": "2.0", "id": 99, "method": "ping"}) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert (process.wait(20), process.stderr.read()) == (0, "")
    assert (answers[0]["id"], answers[0]["error"]["code"], answers[1]["id"]) == (id, code, 99)


def test_a_client_that_no_longer_reads_ends_the_server_without_a_traceback(path):
    with piped(path) as process:
        process.stdout.close()
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}) + "\n")
        process.stdin.flush()
        assert (process.wait(20), process.stderr.read()) == (0, "")


def test_what_goes_wrong_is_one_line_of_the_log():
    error = ExceptionGroup("several", [ValueError("one\ntwo \x1b[31m")])
    failed = (type(error), error, None)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "x.py", 1, "Exception in %s\n", ("application",), failed)
    said = _OneLine().format(record)
    assert said.startswith("uvicorn.error: Exception in application: ValueError: one two \\x1b[31m")
    assert "\n" not in said


def test_a_request_that_is_half_sent_leaves_no_traceback(path):
    said = []
    with http_server(path, said=said) as port:
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port)) as half:
                half.sendall(
                    f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 500\r\n\r\n{{".encode()
                )
        assert posted(port) == 200
    assert "Traceback" not in said[0]
    assert said[0].count("\n") <= 3


def test_nothing_but_the_protocol_is_on_standard_output(path):
    lines = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "record_episode", "arguments": {"situation": TASK, "outcome": "Live"}}},
        {"id": 3, "method": "tools/call", "params": {"name": "recall_experience", "arguments": {"situation": TASK, "k": -1}}},
    ]  # fmt: skip
    asked = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines) + "this is no JSON\n"
    with subprocess.Popen(
        command(path, "mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:  # fmt: skip
        process.stdin.write(asked)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        process.stdin.close()
        rest = process.stdout.read()

    answers = [*answers, *map(json.loads, rest.splitlines())]
    assert sorted(answer["id"] or 0 for answer in answers) == [0, 1, 2, 3]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert process.returncode == 0


def test_two_clients_at_once_lose_nothing(path):
    async def record(client, name, count):
        for number in range(count):
            await ask(
                client,
                "record_episode",
                situation=f"{name} does task {number}",
                outcome="done",
                run_id=f"{name}-{number}",
            )
            await ask(client, "get_brief", task=f"task {number}")

    async def drive(port):
        async with (
            over_http(port) as one,
            over_http(port) as two,
            over_pipes(path) as three,
            anyio.create_task_group() as tasks,
        ):
            for name, client in (("ada", one), ("bob", two), ("cyd", three)):
                tasks.start_soon(record, client, name, 10)
                tasks.start_soon(record, client, f"{name} too", 10)

    with http_server(path) as port:
        anyio.run(drive, port)
    with SqliteStore(path) as store:
        assert store.count() == 60
        assert len({record.episode.run_id for record in store.records()}) == 60


def test_a_server_that_is_killed_midway_leaves_the_store_whole(path):
    process = subprocess.Popen(
        command(path, "mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    )  # fmt: skip
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}

    def send(method, id=None, **params):
        process.stdin.write(
            json.dumps({"jsonrpc": "2.0", "method": method, "params": params} | ({"id": id} if id else {})) + "\n"
        )
        process.stdin.flush()

    send("initialize", 1, **hello)
    process.stdout.readline()
    send("notifications/initialized")
    for number in range(200):
        arguments = {"situation": f"task {number} " + "word " * 200, "outcome": "done", "run_id": f"run-{number}"}
        send("tools/call", number + 2, name="record_episode", arguments=arguments)
    answered = [json.loads(process.stdout.readline())["id"] for _ in range(20)]
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()

    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    with Memory.open(path, "keyword") as memory:
        for id in answered:
            record = memory.get_run(f"run-{id - 2}")
            assert memory.recall(record.episode.situation, k=1)
        assert memory.store.indexed() == memory.count() >= 20


# -- who may reach the port ----------------------------------------------------------------------------------------------


def posted(port, body=None, path="/mcp", method="POST", host=None, **headers):
    """The status that a request gets which was written by hand."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}}  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        content = json.dumps(message).encode() if body is None else body
        given = {
            "Host": host or f"127.0.0.1:{port}", "Content-Type": "application/json", "Content-Length": str(len(content)),
            "Accept": "application/json, text/event-stream", **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(content)
        return connection.getresponse().status
    finally:
        connection.close()


def test_pages_of_other_origins_and_requests_by_other_names_are_refused(path):
    with http_server(path) as port:
        assert posted(port) == 200
        assert posted(port, Origin=f"http://127.0.0.1:{port}") == 200
        assert posted(port, host=f"localhost:{port}") == 200
        for origin in (
            "http://evil.example",
            "null",
            f"http://localhost.evil.example:{port}",
            f"http://127.0.0.1:{port + 1}",
            f"https://127.0.0.1:{port}",
        ):
            assert posted(port, Origin=origin) == 403, origin
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1",
            f"127.0.0.1:{port + 1}",
            f"localhost.evil.example:{port}",
        ):
            assert posted(port, host=host) == 421, host


def test_a_body_beyond_the_limit_is_refused(path):
    with http_server(path) as port:
        assert posted(port, body=b" " * (2**20 + 1)) == 413
        assert posted(port) == 200


def test_without_the_token_nobody_is_let_in(path, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    with http_server(path, "--token-file", str(file)) as port:
        assert posted(port) == 401
        assert posted(port, Authorization=f"Bearer {TOKEN}") == 200
        assert posted(port, Authorization=f"bearer  {TOKEN}") == 200
        for wrong in (
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer ",
            "Bearer",
            TOKEN,
            f"Basic {TOKEN}",
            "Bearer \xff",
        ):
            assert posted(port, Authorization=wrong) == 401, wrong
        assert posted(port, Authorization=f"Bearer {TOKEN}", Origin="http://evil.example") == 403
        assert posted(port, path="/", method="GET") == 401

        async def drive():
            async with over_http(port, token=TOKEN) as client:
                await whole_loop(client)

        anyio.run(drive)


def test_the_token_may_come_from_the_environment(path):
    with http_server(path, token=TOKEN) as port:
        assert (posted(port), posted(port, Authorization=f"Bearer {TOKEN}")) == (401, 200)


def test_a_port_that_others_reach_is_refused_without_a_token(path, monkeypatch, tmp_path):
    monkeypatch.delenv("EXPERIENCE_MCP_TOKEN", raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org"):
        result = CliRunner().invoke(main, ["--db", str(path), "mcp", "--http", "--host", host])
        assert (result.exit_code, "can be reached from elsewhere" in result.stderr) == (1, True), host
    assert not path.exists()
    may_listen("0.0.0.0", TOKEN)
    with socket.socket() as open_to_all:
        open_to_all.bind(("0.0.0.0", 0))
        with pytest.raises(InvalidInput, match="can be reached from elsewhere"):
            run_http(None, None, open_to_all)
    monkeypatch.setenv("EXPERIENCE_MCP_TOKEN", "short")
    result = CliRunner().invoke(main, ["--db", str(path), "mcp", "--http"])
    assert (result.exit_code, "needs at least 16" in result.stderr) == (1, True)
    result = CliRunner().invoke(main, ["--db", str(path), "mcp", "--token-file", str(tmp_path / "token")])
    assert (result.exit_code, "would do nothing without --http" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True), ("", False), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("127.0.0.1.example.org", False)],
)  # fmt: skip
def test_what_only_this_machine_reaches_is_told_by_the_address(host, loopback):
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    "token", ["", " ", "short", "with a blank in it, long", "ünïcödé-and-long-enough", "a\x00" + "b" * 20]
)
def test_a_token_that_could_not_be_kept_or_sent_is_refused(tmp_path, token):
    (tmp_path / "token").write_text(token, encoding="utf-8")
    with pytest.raises(InvalidInput, match="the token has"):
        read_token(tmp_path / "token", None)
    assert read_token(None, None) is None


def test_a_name_that_clients_use_is_taken_with_any_port_given_or_the_servers():
    assert allowed_hosts("127.0.0.1", 81) == ["127.0.0.1:81", "localhost:81"]
    assert allowed_hosts("::1", 81) == ["[::1]:81", "localhost:81"]
    assert allowed_hosts("0.0.0.0", 81) == ["0.0.0.0:81", "localhost:81", "127.0.0.1:81"]
    assert set(allowed_hosts("10.0.0.1", 81, ["box", "box:443"])) == {"10.0.0.1:81", "box:81", "box:443", "box"}
    assert "[fe80::1]:81" in allowed_hosts("10.0.0.1", 81, ["[fe80::1]"])


def test_at_the_port_that_no_client_names_a_host_is_known_without_it():
    assert allowed_hosts("127.0.0.1", 80) == ["127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost"]
    assert "127.0.0.1" not in allowed_hosts("127.0.0.1", 8080)


def test_a_name_is_allowed_as_it_is_written_and_as_browsers_write_it():
    assert {"Box", "box", "Box:81", "box:81"} < set(allowed_hosts("127.0.0.1", 81, ["Box"]))


@pytest.mark.parametrize(
    "name", ["", " ", "*", "*:*", "http://box", "box/mcp", "box:", "box:http", "a b", "::1", "box,other", "-box", "böx"]
)
def test_a_name_that_no_host_header_has_is_refused(path, name):
    done = CliRunner().invoke(main, ["--db", str(path), "mcp", "--http", "--allow-host", name])
    assert (done.exit_code, "it needs NAME or NAME:PORT" in done.stderr, path.exists()) == (1, True, False)
    for fine in ("box", "box.example.org:443", "10.0.0.1", "[::1]:80", "Box_2"):
        assert checked_host(fine) == fine


def test_what_was_recorded_elsewhere_is_embedded_as_a_server_starts_and_trouble_with_that_ends_nothing(store, caplog):
    memory = Memory(store, open_backend("embedding", store, HashEncoder()))
    for number in range(100):
        memory.record(Episode(f"task {number}", "done"))
    _catch_up(memory)
    assert memory.backend.pending() == 0

    def broken(texts):
        raise EncoderError("no weights")

    memory.record(Episode("one more", "done"))
    memory.backend.encoder.encode = broken
    _catch_up(memory)
    assert "could not be embedded: no weights" in caplog.text


def test_without_the_package_the_command_says_how_to_get_it(monkeypatch, memory):
    from experience.serving.server import make_server

    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingPackage, match=r"pip install 'hardwon\[mcp\]'"):
        make_server(memory)


def test_tools_run_beside_one_another_off_the_event_loop(memory):
    ran = set()
    recall = memory.backend.recall

    def noting(*arguments, **named):
        ran.add(threading.get_ident())
        return recall(*arguments, **named)

    memory.backend.recall = noting

    async def drive():
        async with in_memory(memory) as client:
            await ask(client, "recall_experience", situation=TASK)

    anyio.run(drive)
    assert ran
    assert threading.get_ident() not in ran


@pytest.mark.parametrize(
    "option", [("--host", "127.0.0.1"), ("--port", "99"), ("--allow-host", "box"), ("--token-file", "x")]
)
def test_what_belongs_to_a_port_is_refused_without_one(path, option):
    done = CliRunner().invoke(main, ["--db", str(path), "mcp", *option])
    assert (done.exit_code, f"{option[0]} would do nothing without --http" in done.output) == (2, True)


def test_a_list_that_a_host_sends_as_a_text_is_the_list_and_no_other_text_is_read_so():
    protocol = pytest.importorskip("mcp.server.mcpserver.utilities.func_metadata", reason="this needs the extra mcp")
    from experience.serving.arguments import AsJson

    class Given(protocol.ArgModelBase):
        tools: tuple[str, ...] = ()
        run_id: str | None = None

    arguments = AsJson(arg_model=Given)
    assert arguments.validate_arguments({"tools": '["shell", "http"]'})["tools"] == ("shell", "http")
    assert arguments.validate_arguments({"run_id": '["x"]'})["run_id"] == '["x"]'
    with pytest.raises(ValueError, match="tools"):
        arguments.validate_arguments({"tools": "shell"})
