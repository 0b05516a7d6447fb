"""A whole agent in one file, for any endpoint that speaks OpenAI's chat completions, with experience from run to run.

    OPENAI_API_KEY=... python openai_loop.py "What does notes.txt say about the release?"

OPENAI_BASE_URL names another endpoint, with its /v1 (https://api.openai.com/v1 where it is not set), and MODEL another model.

Each run is told what earlier ones say of its task, is recorded as it goes, and leaves its account for the next. Only the
standard library speaks to the endpoint here. With the official client `ask` becomes two lines:

    client = openai.OpenAI(base_url=base_url, api_key=key)
    return client.chat.completions.create(model=model, messages=messages, tools=TOOLS).model_dump()
"""

import json
import os
import sys
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experience import Cost, Learnings, Memory, Recorder, ToolDenied, brief, compose, current_run, keep_receipt, traced
from experience.tell.compose import Run as Work

AGENT = "reader"
INSTRUCTIONS = "Answer from the files of this folder. Look before you answer, and name the file that you found it in."
MOST_TURNS = 20


def inside(path: str) -> Path:
    """A path of the folder that the agent works in; whatever lies outside is denied, and noted as that."""
    found = Path(path).resolve()
    if not found.is_relative_to(Path.cwd().resolve()):
        raise ToolDenied(f"{path} lies outside of the folder")
    return found


@traced
def list_files(folder: str = ".") -> str:
    """Name the files of a folder."""
    return "\n".join(sorted(path.name for path in inside(folder).iterdir()))


@traced
def read_file(path: str) -> str:
    """Read a file, at most 20,000 characters of it."""
    return inside(path).read_text(encoding="utf-8", errors="replace")[:20_000]


def propose_learning(text: str, impact: str = "medium") -> str:
    """Propose what this run found to be so, for later runs."""
    run = current_run()
    assert run is not None  # noqa: S101 (tools are called within a run)
    return str(Learnings(run.memory.store).propose(text, agent=AGENT, impact=impact, run_id=run.run_id))


def correct_learning(which: str, text: str) -> str:
    """Say what is so in the place of something that is listed as learned."""
    run = current_run()
    assert run is not None  # noqa: S101
    return str(Learnings(run.memory.store).correct(which, text, agent=AGENT, run_id=run.run_id))


CALLED: dict[str, Callable[..., str]] = {
    tool.__name__: tool for tool in (list_files, read_file, propose_learning, correct_learning)
}


def described(name: str, required: tuple[str, ...], **parameters: str) -> dict[str, Any]:
    """A tool as the endpoint wants it described."""
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": CALLED[name].__doc__, "parameters": schema}}


TOOLS = [
    described("list_files", (), folder="The folder, by default the one you work in."),
    described("read_file", ("path",), path="The file."),
    described("propose_learning", ("text",), text="One plain sentence.", impact="high, medium or low"),
    described(
        "correct_learning", ("which", "text"), which="The learning, as it is quoted.", text="What is so instead."
    ),
]


def ask(base_url: str, key: str, model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One request to the endpoint, and its answer."""
    body = json.dumps({"model": model, "messages": messages, "tools": TOOLS}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{base_url}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def called(call: dict[str, Any]) -> str:
    """What a call of a tool gives; what goes wrong is for the model to read."""
    try:
        return CALLED[call["function"]["name"]](**json.loads(call["function"]["arguments"] or "{}"))
    except (LookupError, TypeError, ValueError, OSError, RecursionError) as error:  # a denied tool is an OSError too
        return f"error: {type(error).__name__}: {error}"


def plain(content: Any) -> str:
    """An answer as a text that can be recorded, whether it came as a text, in parts, with halves of characters, or not at all."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    whole = "".join(text for text in texts if isinstance(text, str)).replace("\0", "\ufffd")
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def counted(usage: Any, *names: str) -> int:
    """Tokens by an endpoint's own count; 0 where it gives none."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return sum(count for count in counts if isinstance(count, int) and count > 0)


def work(
    memory: Memory,
    task: str,
    *,
    base_url: str,
    key: str = "",
    model: str = "gpt-5-mini",
    check: Callable[[str], bool | None] = lambda _: None,
) -> str:
    """One run: told, done, recorded. `check` says whether an answer is right; None where nobody knows yet."""
    with Recorder(memory, by=AGENT).run(task, run_id=f"run-{uuid.uuid4().hex}") as run:
        told = compose(Work(AGENT, INSTRUCTIONS, task, brief=brief(memory, task, agent=AGENT)))
        keep_receipt(run, told)
        messages: list[dict[str, Any]] = [{"role": "user", "content": told.text}]
        tokens = 0
        for turn in range(1, MOST_TURNS + 1):
            answer = ask(base_url, key, model, messages)
            tokens += counted(answer.get("usage"), "total_tokens")
            run.cost = Cost(steps=turn, tokens=tokens)
            said = answer["choices"][0]["message"]
            messages.append(said)
            if not said.get("tool_calls"):
                run.outcome = plain(said.get("content"))
                run.success = check(run.outcome)
                run.evidence = "" if run.success is None else "the answer was checked"
                return run.outcome
            for call in said["tool_calls"]:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": called(call)})
        raise TimeoutError(f"no answer after {MOST_TURNS} turns")  # which is recorded as a failure


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit('usage: python openai_loop.py "WHAT IS TO BE DONE"')
    with Memory.open("runs.db") as opened:
        print(
            work(
                opened,
                sys.argv[1],
                base_url=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
                key=os.environ.get("OPENAI_API_KEY", ""),
                model=os.environ.get("MODEL", "gpt-5-mini"),
            )
        )
