"""The JSON values that a file is made of: one a line, one alone, or several one after another over many lines each.

Formats that come both ways read through here. It looks at how a file begins, and at nothing in it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from experience.errors import InvalidInput
from experience.importers.session import Trouble
from experience.importers.source import LONGEST_LINE, Source

_TRIED = 20
"""Lines that are looked at before a file is taken for one document."""


class Document(NamedTuple):
    """A JSON value, and the line on which it stands; None where it is the whole file."""

    line: int | None
    value: Any


def documents(source: Source) -> Iterator[Document | Trouble]:
    """The values of a file in their order, streaming where there is one a line."""
    if has_lines(source):
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


def has_lines(source: Source) -> bool:
    """Whether one of a file's first lines is a JSON object by itself. A list over several lines is one document."""
    with source.path.open("rb") as file:
        for number in range(_TRIED):
            line = file.readline(LONGEST_LINE)
            bare = line.removeprefix(b"\xef\xbb\xbf").strip() if not number else line.strip()
            if not line or (not number and bare.startswith(b"[")):
                return False
            if line[:1] not in b" \t" and bare.startswith(b"{") and bare.endswith(b"}") and _is_object(bare):
                return True
    return False


def _stacked(source: Source) -> Iterator[Document | Trouble]:
    """Objects one after another, each from a `{` alone on its line to such a `}`: what printing many of them leaves."""
    piece: list[bytes] = []
    begun = size = 0
    with source.path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
            if line.rstrip() == b"{":
                piece, begun, size = [], number, 0
            size += len(line)
            if begun and size < LONGEST_LINE:
                piece.append(line)
            if begun and line.rstrip() == b"}":
                yield _document(b"".join(piece), begun)
                piece, begun = [], 0


def _document(raw: bytes, line: int) -> Document | Trouble:
    try:
        return Document(line, json.loads(raw))
    except (ValueError, RecursionError) as error:
        return Trouble(line, f"no JSON object: {error}")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
