"""How long compacting takes: a megabyte of messages, next to what writing them as JSON takes in the same run.

    python benchmarks/exchange.py

The messages are made up: prose, logs, listings, source code, documents, JSON and Chinese, as assistants and tools
write, four kilobytes each. Reading them, deciding and putting the texts back is all counted; parsing the JSON that
they came in is not. Each figure is the median of several rounds, rounds of one kind after another. The ratio does not
depend much on the machine.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import click

from experience.tell.budget import estimate_tokens
from experience.tell.exchange import DEFAULT, EXCHANGE_BUDGET_BYTES, FOUNDING, CompactPolicy, compact
from experience.tell.messages import Conversation
from experience.tell.offload import ContentStore

KINDS = {
    "prose": "The deployment went well, and nobody had to be woken up at night. ",
    "log": "2024-01-05T10:00:00.123 INFO worker 7 took a job from the queue\n",
    "listing": "src/package/module_with_a_name/part_of_it.py\n",
    "code": "def part_of_it(value):\n    if value:\n        return value + 1\n\n\n",
    "chinese": "部署已经完成，所有服务都在正常运行，没有人需要在夜里被叫醒。",
    "document": "## A part of it\n\nA few words that say what this part is about.\n\n",
}


def made_messages(size: int, each: int) -> list[dict[str, Any]]:
    """A question, and calls with their results in turn until all texts together have `size` bytes."""
    rows = json.dumps([{"id": number, "name": "a name", "price": 1.5} for number in range(each // 40 + 1)])
    texts = [(sample * each).encode()[:each].decode("utf-8", "ignore") for sample in KINDS.values()] + [rows]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at all of it."}]
    for turn in range(size // (2 * each)):
        call = {"id": f"call-{turn}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        reply = texts[turn % 3 * 2 % len(texts)]
        messages.append({"role": "assistant", "content": reply, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": texts[turn % len(texts)]})
    return messages


def timed(function: Callable[[], object], rounds: int) -> float:
    """The median time of a call in milliseconds, after one that is not counted."""
    function()
    times = []
    for _ in range(rounds):
        start = perf_counter()
        function()
        times.append((perf_counter() - start) * 1000)
    return median(times)


def compacted(messages: list[dict[str, Any]], budget: int, policy: CompactPolicy, store: ContentStore | None) -> Any:
    """Messages in, messages out."""
    conversation = Conversation.of(messages)
    return conversation.with_exchange(compact(conversation.exchange(), budget, policy, store).exchange)


def measured(messages: list[dict[str, Any]], budget: int, rounds: int) -> list[tuple[str, float]]:
    """What was measured, in milliseconds, writing JSON first."""
    tokens = CompactPolicy(count=estimate_tokens)
    with tempfile.TemporaryDirectory() as folder:
        store = ContentStore(folder)
        ways: list[tuple[str, Callable[[], object]]] = [
            ("json.dumps of the same messages", lambda: json.dumps(messages)),
            ("compact, default policy", lambda: compacted(messages, budget, DEFAULT, None)),
            ("compact, founding policy", lambda: compacted(messages, budget, FOUNDING, None)),
            ("compact, counting tokens", lambda: compacted(messages, budget // 4, tokens, None)),
            ("compact, with a store that holds it already", lambda: compacted(messages, budget, DEFAULT, store)),
        ]
        return [(name, timed(way, rounds)) for name, way in ways]


@click.command()
@click.option("--size", default=1_000_000, show_default=True, help="Bytes of text in all messages together.")
@click.option("--each", default=4_096, show_default=True, help="Bytes of one text.")
@click.option("--budget", default=EXCHANGE_BUDGET_BYTES, show_default=True, help="Bytes; a quarter of it in tokens.")
@click.option("--rounds", default=9, show_default=True, help="How often each is measured.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(size: int, each: int, budget: int, rounds: int, as_json: bool) -> None:
    """Print how long compacting takes, and as how many times json.dumps of the same messages."""
    messages = made_messages(size, each)
    figures = measured(messages, budget, rounds)
    base = figures[0][1]
    if as_json:
        rows = [{"name": name, "ms": round(ms, 2), "ratio": round(ms / base, 2)} for name, ms in figures]
        print(json.dumps({"size": size, "budget": budget, "messages": len(messages), "rows": rows}, indent=2))
        return
    print(f"{size} bytes in {len(messages)} messages, budget {budget}; Python {sys.version.split()[0]}\n")
    print("| | ms | times json.dumps |\n|---|---:|---:|")
    for name, ms in figures:
        print(f"| {name} | {ms:.1f} | {ms / base:.1f} |")


if __name__ == "__main__":
    main()
