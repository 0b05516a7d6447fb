"""What a tool is given, taken as the JSON that it was sent as.

The protocol's package reads a text that looks like JSON as what it looks like, and takes 1 for true, true for 1 and "yes" for
true. What is recorded should be what was said, so here a wrong type is refused. This module needs the extra `mcp` to be imported.
"""

import json
from typing import Any

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata


class AsJson(FuncMetadata):
    """Arguments of which none is turned into another type."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises ValidationError."""
        # As JSON, since a strict look at Python's values would refuse a list where a tuple is wanted.
        sent = json.dumps(arguments_to_validate)
        return self.arg_model.model_validate_json(sent, strict=True).model_dump_one_level()
