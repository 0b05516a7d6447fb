"""Our own episodes as an import meets them: JSON Lines and the stable text, read by `experience.transfer`.

What it adds is that no line is too long for the memory. It records by itself: such lines bring ids, times and labels.
"""

import json
from collections.abc import Iterator
from typing import Any, TypedDict, Unpack

from experience.hygiene import MASKING, Masking
from experience.importers.session import Trouble
from experience.importers.source import Source
from experience.store import SqliteStore
from experience.transfer import Imported, import_file


class OwnOptions(TypedDict, total=False):
    """What `import_file` takes."""

    strict: bool
    lenient: bool
    foreign: bool
    supersede: bool
    kind: str


def import_own(
    store: SqliteStore, source: Source, *, masking: Masking = MASKING, **how: Unpack[OwnOptions]
) -> tuple[Imported, tuple[Trouble, ...]]:
    """Record what stands in a file; what that did, and the lines that were too long to be read.

    One episode, or a list of them, may also be written as one JSON document. Raises InvalidInput for one that is broken.
    """
    if source.is_document():
        return import_file(store, _items(source.document()), masking=masking, **how), ()
    lines = _Lines(source)
    return import_file(store, lines, masking=masking, **how), tuple(lines.troubles)


def _items(document: Any) -> Iterator[bytes]:
    """A document's episodes as lines."""
    for item in document if isinstance(document, list) else [document]:
        yield json.dumps(item).encode() + b"\n"


class _Lines:
    """The lines of a source as of an open file; in place of one that is too long stands a blank one."""

    def __init__(self, source: Source) -> None:
        self._lines = source.lines()
        self.troubles: list[Trouble] = []

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = next(self._lines)
        if isinstance(line, Trouble):
            self.troubles.append(line)
            return b"\n"
        return line.data
