"""What a run of LangChain was given and gave back, in the shapes that its messages have had.

Messages come as OpenAI's, as objects of LangChain's own written down with their constructor, or under the name of
their kind; a run's inputs and outputs hold them, or plain texts, under one of a few keys.
"""

from collections.abc import Iterator
from typing import Any

from experience.importers.chat import turn_of
from experience.importers.lenient import fields, items, text
from experience.importers.turns import Turn

_REQUESTS = ("input", "question", "query", "prompt", "user_input", "task")
_REPLIES = ("output", "answer", "result", "text", "response", "content")
_KINDS = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_MOST = 100_000
"""Messages of one run that are read."""


def request_in(inputs: Any) -> str:
    """What a user asked, out of a run's inputs; empty where that cannot be told."""
    given = fields(inputs)
    for message in _messages(given.get("messages", given.get("input"))):
        turn = turn_of(message)
        if turn.who == "user" and turn.text.strip():
            return turn.text
    plain = next((given[key] for key in _REQUESTS if text(given.get(key)).strip()), None)
    prompts = items(given.get("prompts"))
    return text(plain) or (text(prompts[0]) if prompts else "")


def reply_in(outputs: Any) -> Turn:
    """What the agent said and called last, out of a run's outputs."""
    given = fields(outputs)
    choices, generations = items(given.get("choices")), items(given.get("generations"))
    if choices:
        found = [fields(choices[0]).get("message")]
    elif generations:
        first = generations[0][0] if isinstance(generations[0], list) and generations[0] else generations[0]
        found = [fields(first).get("message") or {"role": "assistant", "content": text(fields(first).get("text"))}]
    else:
        found = [given.get("messages") or given.get("output") or given.get("message") or given]
    turns = [turn for turn in map(turn_of, _messages(found)) if turn.who == "agent"]
    if turns:
        return turns[-1]
    plain = next((given[key] for key in _REPLIES if text(given.get(key)).strip()), "")
    return Turn("agent", text(plain))


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    """The messages in a value, out of lists of lists too, each with a role."""
    waiting, passed = [value], 0
    while waiting and passed < _MOST:
        one, passed = waiting.pop(), passed + 1
        if isinstance(one, list):
            waiting += reversed(one)
        elif isinstance(one, dict):
            inner = fields(one.get("kwargs")) or fields(one.get("data")) or one
            kind = text(inner.get("type")) or text(one.get("type")) or _class_of(one)
            if isinstance(inner.get("role"), str):
                yield inner
            elif role := _KINDS.get(kind.removesuffix("MessageChunk").removesuffix("Message").lower()):
                beside = fields(inner.get("additional_kwargs"))
                calls = items(inner.get("tool_calls")) or items(beside.get("tool_calls"))
                yield {**inner, "role": role, "tool_calls": calls, "function_call": beside.get("function_call")}


def _class_of(message: dict[str, Any]) -> str:
    path = items(message.get("id"))
    return text(path[-1]) if path else ""
