"""What a tool is given, taken as the JSON that it was sent as.

The protocol's package reads a text that looks like JSON as what it looks like, and takes 1 for true, true for 1 and "yes" for
true. What is recorded should be what was said, so here a wrong type is refused, but for a list in a text: some hosts send
lists so. This module needs the extra `mcp` to be imported.
"""

import json
from typing import Any, get_origin

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata


class AsJson(FuncMetadata):
    """Arguments of which none is turned into another type, but a list in a text into the list."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises ValidationError."""
        # As JSON, since a strict look at Python's values would refuse a list where a tuple is wanted.
        lists = {name for name, field in self.arg_model.model_fields.items() if get_origin(field.annotation) is tuple}
        given = {name: _listed(value) if name in lists else value for name, value in arguments_to_validate.items()}
        sent = json.dumps(given)
        return self.arg_model.model_validate_json(sent, strict=True).model_dump_one_level()


def _listed(value: Any) -> Any:
    """The list that stands in a text; anything else as it is."""
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, list) else value
