"""One message of a chat as a turn, in OpenAI's shape, Anthropic's, and what others made of the two.

The shapes differ in where calls and answers stand, and nothing else here depends on whose message it is. It knows
messages, and not what a file is made of.
"""

from collections.abc import Iterator
from typing import Any

from experience.importers.lenient import fields, items, parsed, parts, text, words
from experience.importers.turns import INJECTED, REASONING, SYSTEM, UNREADABLE, Answer, Called, Turn, without_injected

_USERS = {"user", "human"}
_AGENTS = {"assistant", "ai", "model"}
_TOOLS = {"tool", "function", "ipython"}
_SYSTEMS = {"system", "developer"}
ROLES = _USERS | _AGENTS | _TOOLS | _SYSTEMS
_CALLING = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
_ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")
"""Types of items of OpenAI's Responses interface that stand for a message or a part of one."""
_OWN_TOOLS = ("web_search_call", "file_search_call", "code_interpreter_call", "computer_call", "image_generation_call",
              "local_shell_call", "mcp_call")  # fmt: skip


def is_message(value: Any) -> bool:
    """Whether a value has a role and what a message says, calls or answers."""
    return (
        isinstance(value, dict)
        and value.get("role") in tuple(ROLES)
        and not value.keys().isdisjoint({"content", "parts", "tool_calls", "function_call"})
    )


def is_item(value: Any) -> bool:
    """Whether a value is a message, or an item of OpenAI's Responses interface."""
    return is_message(value) or (isinstance(value, dict) and value.get("type") in (*_ITEMS, *_OWN_TOOLS))


def turn_of(message: Any) -> Turn:
    """The turn that a message is; one to be dropped where it is none."""
    if not isinstance(message, dict):
        return Turn("other", drop=UNREADABLE)
    role = message.get("role")
    if not isinstance(role, str):
        return _item(message)
    if role in _SYSTEMS:
        return Turn("other", drop=SYSTEM)
    content = message.get("content", message.get("parts"))
    if role in _USERS:
        return user_turn(content, tuple(_answers(content)))
    if role in _TOOLS:
        return Turn("tool", answers=tuple(_answers(content)) or (_answer(message, content),))
    return _agent_turn(message, content) if role in _AGENTS else Turn("other", drop=UNREADABLE)


def user_turn(content: Any, answers: tuple[Answer, ...] = ()) -> Turn:
    """What a user said, without what a host put among it."""
    said = [without_injected(part) for part in parts(content)]
    heard = "\n".join(filter(None, said))
    return Turn("user", heard, answers=answers, drop=INJECTED if said and not heard and not answers else "")


def _agent_turn(message: dict[str, Any], content: Any) -> Turn:
    calls, answers = (*_called_in(content), *_called_beside(message)), tuple(_answers(content))
    quiet = not calls and not answers and not words(content) and _thinks(message, content)
    return Turn("agent", words(content), calls, answers, REASONING if quiet else "")


def _item(item: dict[str, Any]) -> Turn:
    kind, id = item.get("type"), text(item.get("call_id")) or text(item.get("id"))
    if kind in ("function_call", "custom_tool_call"):
        return Turn("agent", calls=(Called(text(item.get("name")) or "unnamed", _arguments(item), id),))
    if kind in ("function_call_output", "custom_tool_call_output"):
        return Turn("tool", answers=(Answer(id, words(item.get("output"))),))
    if kind == "reasoning":
        return Turn("other", drop=REASONING)
    if kind in _OWN_TOOLS:
        worked = {"completed": True, "failed": False}.get(text(item.get("status")))
        return Turn("agent", calls=(Called(text(item.get("name")) or text(kind).removesuffix("_call"), worked=worked),))
    return Turn("other", drop=UNREADABLE)


def _called_in(content: Any) -> Iterator[Called]:
    """Calls among the blocks of a content: Anthropic's, and the parts of OpenTelemetry's messages."""
    for part in map(fields, items(content)):
        if part.get("type") in _CALLING:
            yield Called(text(part.get("name")) or "unnamed", _arguments(part), text(part.get("id")))


def _called_beside(message: dict[str, Any]) -> Iterator[Called]:
    """Calls beside a content: OpenAI's, of now and then, and Inspect's, whose function is a name."""
    old = message.get("function_call")
    for call in (*items(message.get("tool_calls")), *([{"function": old}] if isinstance(old, dict) else [])):
        outer = fields(call)
        inner = fields(outer.get("function")) or fields(outer.get("custom")) or outer
        name = text(inner.get("name")) or text(outer.get("function")) or "unnamed"
        yield Called(name, _arguments(inner), text(outer.get("id")))


def _arguments(call: dict[str, Any]) -> Any:
    return next((parsed(call[key]) for key in ("arguments", "input", "args") if key in call), None)


def _answers(content: Any) -> Iterator[Answer]:
    for part in map(fields, items(content)):
        kind = text(part.get("type"))
        if kind == "tool_call_response":
            answer = part.get("response", part.get("result"))
            yield Answer(text(part.get("id")), words(answer))
        elif kind.endswith("tool_result"):
            inner = part.get("content")
            failed = part.get("is_error") is True or text(fields(inner).get("type")).endswith("_error")
            told = failed or part.get("is_error") is False
            yield Answer(text(part.get("tool_use_id")), words(inner), not failed if told else None)


def _answer(message: dict[str, Any], content: Any) -> Answer:
    """The answer that a whole message is; `error` is Inspect's, `status` LangChain's, `is_error` of many."""
    failed = bool(fields(message.get("error"))) or message.get("status") == "error" or message.get("is_error") is True
    call = text(message.get("tool_call_id")) or text(message.get("name")) or text(message.get("function"))
    return Answer(call, words(content), False if failed else None)


def _thinks(message: dict[str, Any], content: Any) -> bool:
    kinds = {text(fields(part).get("type")) for part in items(content)}
    return bool(kinds & {"thinking", "redacted_thinking", "reasoning"} or text(message.get("reasoning_content")))
