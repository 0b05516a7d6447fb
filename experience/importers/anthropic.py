"""Messages of content blocks as Anthropic's interface takes them: alone, with a `system` beside them, or recorded.

They share their reading with OpenAI's. A conversation of plain texts alone could be of either; it is taken for OpenAI's.
"""

from typing import Any

from experience.importers.chat import is_message
from experience.importers.conversations import sessions
from experience.importers.lenient import fields, items, text
from experience.importers.session import Format

_OURS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use",
         "mcp_tool_result", "web_search_tool_result", "document")  # fmt: skip


def is_for_anthropic(value: Any) -> bool:
    """Whether messages, an object with them or a list of such objects is of Anthropic's interface beyond doubt."""
    for one in value[:20] if isinstance(value, list) else [value]:
        outer = fields(one)
        request = fields(outer.get("request")) or outer
        response = fields(outer.get("response"))
        if is_message(outer) and _has_blocks(outer):
            return True
        messages = items(request.get("messages"))
        if messages and all(map(is_message, messages[:20])):
            recorded = response.get("type") == "message" and isinstance(response.get("content"), list)
            if recorded or "system" in request or any(map(_has_blocks, messages)):
                return True
    return False


def _has_blocks(message: Any) -> bool:
    content = fields(message).get("content")
    return any(text(fields(part).get("type")) in _OURS for part in items(content))


FORMAT = Format("anthropic", "Anthropic content blocks", is_for_anthropic, sessions)
