"""A file being imported: its lines with a limit to each, or its one JSON document with a limit to the whole.

It knows bytes and JSON, and no format.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experience.errors import InvalidInput
from experience.importers.session import Trouble

LONGEST_LINE = 32 * 2**20
"""Bytes of a line from which on it is skipped, not read."""
LARGEST_DOCUMENT = 256 * 2**20
"""Bytes of a file from which on it is not read as one JSON document."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, read anew by each call."""

    path: Path

    def objects(self) -> Iterator[tuple[int, dict[str, Any]] | Trouble]:
        """The JSON objects of a file of lines with their line's number, and a Trouble for each line that is none."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield Trouble(number, f"no JSON: {error}")
                    continue
                yield (number, value) if isinstance(value, dict) else Trouble(number, "no JSON object")

    def document(self) -> Any:
        """The file as one JSON value. Raises InvalidInput where it is none, or too large."""
        try:
            return json.loads(self.path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{self.path.name} is not one JSON document: {error}; give a file of JSON") from error
