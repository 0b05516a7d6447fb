"""The JSON values that a file is made of: one a line, one alone, or several one after another over many lines each.

Formats that come both ways read through here. It looks at how a file begins, and at nothing in it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from experience.errors import InvalidInput
from experience.importers.session import Trouble
from experience.importers.source import LONGEST_LINE, Source


class Document(NamedTuple):
    """A JSON value, and the line on which it stands; None where it is the whole file."""

    line: int | None
    value: Any


def documents(source: Source) -> Iterator[Document | Trouble]:
    """The values of a file in their order, streaming where there is one a line. Raises OSError."""
    if not source.is_document():
        for found in source.objects():
            yield found if isinstance(found, Trouble) else Document(*found)
        return
    try:
        yield Document(None, source.document())
    except InvalidInput as error:
        stacked = _stacked(source)
        first = next(stacked, None)
        yield first or Trouble(None, str(error))
        yield from stacked


def _stacked(source: Source) -> Iterator[Document | Trouble]:
    """Objects one after another, each from a `{` alone on its line to such a `}`: what printing many of them leaves."""
    piece: list[bytes] = []
    begun = size = 0
    for line in source.lines():
        if isinstance(line, Trouble):
            yield line
            continue
        if line.data.rstrip() == b"{":
            piece, begun, size = [], line.number, 0
        size += len(line.data)
        if begun and size < LONGEST_LINE:
            piece.append(line.data)
        if begun and line.data.rstrip() == b"}":
            yield _document(b"".join(piece), begun)
            piece, begun = [], 0


def _document(raw: bytes, line: int) -> Document | Trouble:
    try:
        return Document(line, json.loads(raw))
    except (ValueError, RecursionError) as error:
        return Trouble(line, f"no JSON object: {error}")
