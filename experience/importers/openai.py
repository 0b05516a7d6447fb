"""Chat messages as OpenAI's interfaces take them, and the many files that were made of them.

`{"messages": [...]}` alone or one a line, a list of messages, a message a line, recorded requests with their responses,
items of the Responses interface, and results of tau-bench. What belongs to Anthropic's interface alone is left to it.
"""

from typing import Any

from experience.importers.anthropic import is_for_anthropic
from experience.importers.chat import is_item, is_message
from experience.importers.conversations import sessions
from experience.importers.lenient import items
from experience.importers.session import Format


def _recognises(value: Any) -> bool:
    if isinstance(value, list):
        first = value[:20]
        known = bool(first) and (all(map(is_item, first)) or all(map(_holds_messages, first)))
        return known and not is_for_anthropic(value)
    return (_holds_messages(value) or (is_message(value) and "type" not in value)) and not is_for_anthropic(value)


def _holds_messages(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("request"), dict):
        return isinstance(value.get("response"), dict) and _holds_messages(value["request"])
    for key in ("messages", "traj", "input"):
        if isinstance(value.get(key), list) and value[key]:
            return all(map(is_item, items(value[key])[:20]))
    return isinstance(value.get("input"), str) and ("output" in value or "model" in value)


FORMAT = Format("openai", "OpenAI chat messages", _recognises, sessions)
