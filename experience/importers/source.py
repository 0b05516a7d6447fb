"""A file being imported: its lines with a limit to each, or its one JSON document with a limit to the whole.

It knows bytes and JSON, and no format.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        raise NotImplementedError

    def document(self) -> Any:
        """The file as one JSON value. Raises InvalidInput where it is none, or too large."""
        return json.loads(self.path.read_bytes())
