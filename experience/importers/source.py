"""A file being imported: its lines with a limit to each, or its one JSON document with a limit to the whole.

A file is read as far as it stood when it was opened, since an agent may be writing to it; what is gzipped is unpacked on
the way. It knows bytes and JSON, and no format.
"""

import gzip
import json
import os
import stat
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from experience.errors import InvalidInput
from experience.importers.session import Trouble

LONGEST_LINE = 32 * 2**20
"""Bytes of a line from which on it is skipped, not read."""
LARGEST_DOCUMENT = 256 * 2**20
"""Bytes of a file from which on it is not read as one JSON document."""

_HEAD = 4096
_GZIP = b"\x1f\x8b"
_TOLD_EVERY = 2**20  # bytes between two calls of `progress`
_MARKS = {BOM_UTF32_LE: "UTF-32", BOM_UTF32_BE: "UTF-32", BOM_UTF16_LE: "UTF-16", BOM_UTF16_BE: "UTF-16"}


class Line(NamedTuple):
    """A line as it stands in the file, without a byte order mark."""

    number: int
    """From 1."""
    data: bytes
    whole: bool = True
    """False for a last line that nothing ends: somebody may still be writing it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, read anew by each call. All of them raise OSError for a file that cannot be opened or read."""

    path: Path
    progress: Callable[[int], None] | None = None
    """Told now and then how many bytes of the file have been read."""

    def head(self) -> bytes:
        """The first bytes, unpacked. Raises InvalidInput, with the reason, where the file holds no UTF-8 text at all."""
        with self._opened() as (file, _):
            try:
                start = file.read(_HEAD)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InvalidInput(f"what is packed in it is damaged: {error}") from error
        if reason := _unreadable(start):
            raise InvalidInput(reason)
        return start.removeprefix(BOM_UTF8)

    def lines(self) -> Iterator[Line | Trouble]:
        """Every line, blank ones too, and a Trouble for each that is too long."""
        with self._opened() as (file, left):
            read = _LineReader(file, left)
            told = 0
            while True:
                try:
                    line = read.next()
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    yield Trouble(read.number + 1, f"what is packed in the file is damaged from here on: {error}")
                    return
                if line is None:
                    break
                yield line
                if self.progress and read.done - told >= _TOLD_EVERY:
                    told = read.done
                    self.progress(told)
            if self.progress:
                self.progress(read.done)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]] | Trouble]:
        """The JSON objects of a file of lines with their line's number, and a Trouble for each line that is none."""
        for line in self.lines():
            if isinstance(line, Trouble):
                yield line
            elif not (line.data.isspace() or not line.data):
                yield _object_in(line)

    def is_document(self) -> bool:
        """Whether the file is one JSON value over several lines, or a list; one object on one line is as good as a line."""
        lines = (line for line in self.lines() if isinstance(line, Trouble) or line.data.strip())
        line, following = next(lines, None), next(lines, None)
        if line is None or isinstance(line, Trouble):
            return line is not None and following is None  # one line that is too long for a line, not for a document
        start = line.data.lstrip()
        if start.startswith(b"[") or not start.startswith(b"{") or not isinstance(_object_in(line), Trouble):
            return start.startswith(b"[")
        return isinstance(following, Line) and not following.data.startswith(b"{")

    def document(self) -> Any:
        """The file as one JSON value. Raises InvalidInput where it is none, or too large."""
        with self._opened() as (file, left):
            try:
                data = file.read(LARGEST_DOCUMENT + 1 if left is None else min(left, LARGEST_DOCUMENT + 1))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InvalidInput(f"what is packed in it is damaged: {error}") from error
        if len(data) > LARGEST_DOCUMENT:
            raise InvalidInput(
                f"it is one JSON document of more than {LARGEST_DOCUMENT // 2**20} MB, which would have to be held in memory; "
                "split it, or write it as lines"
            )
        if self.progress:
            self.progress(len(data))
        if reason := _unreadable(data[:_HEAD]):
            raise InvalidInput(reason)
        try:
            return json.loads(data.removeprefix(BOM_UTF8).decode())
        except UnicodeDecodeError as error:
            raise InvalidInput(f"not UTF-8: {error.reason} at byte {error.start}") from error
        except RecursionError as error:
            raise InvalidInput("not JSON that can be read: nested too deeply") from error
        except MemoryError as error:
            raise InvalidInput(
                "it is one JSON document that this machine has no memory for; write it as lines"
            ) from error
        except ValueError as error:
            raise InvalidInput(_no_json(error)) from error

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], int | None]]:
        """The file, and how many bytes of it there are; None where only reading tells."""
        with self.path.open("rb") as raw:
            about = os.fstat(raw.fileno())
            if raw.peek(2)[:2] == _GZIP:
                with gzip.open(raw) as packed:
                    yield cast("IO[bytes]", packed), None
            else:
                yield raw, about.st_size if stat.S_ISREG(about.st_mode) else None


class _LineReader:
    """Reads line by line, never more of one than the limit."""

    def __init__(self, file: IO[bytes], left: int | None) -> None:
        self._file = file
        self._left = left
        self.number = 0
        self.done = 0

    def next(self) -> Line | Trouble | None:
        data = self._piece()
        if not data:
            return None
        self.number += 1
        if self.number == 1:
            data = data.removeprefix(BOM_UTF8)
        if data.endswith(b"\n"):
            return Line(self.number, data)
        size, whole = len(data), False
        while piece := self._piece():  # only where the limit has cut it
            size, whole = size + len(piece), piece.endswith(b"\n")
            if whole:
                break
        if size > LONGEST_LINE:
            return Trouble(self.number, f"skipped, because it has {size:,} bytes; {LONGEST_LINE:,} are read at most")
        return Line(self.number, data, whole)

    def _piece(self) -> bytes:
        data = self._file.readline(LONGEST_LINE + 1 if self._left is None else min(LONGEST_LINE + 1, self._left))
        self.done += len(data)
        if self._left is not None:
            self._left -= len(data)
        return data


def _object_in(line: Line) -> tuple[int, dict[str, Any]] | Trouble:
    try:
        value = json.loads(line.data.decode())
    except RecursionError:
        return Trouble(line.number, "not JSON that can be read: nested too deeply")
    except ValueError as error:
        return Trouble(line.number, _broken(line, error))
    if not isinstance(value, dict):
        return Trouble(line.number, f"{type(value).__name__} where a JSON object is due")
    return line.number, value


def _broken(line: Line, error: ValueError) -> str:
    if not line.whole:
        return f"cut short: the last line ends after {len(line.data):,} bytes and is no whole JSON"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} at byte {error.start}"
    return "holds NUL bytes, which no JSON has" if b"\0" in line.data else _no_json(error)


def _no_json(error: ValueError) -> str:
    said = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
    return f"not JSON: {said}"


def _unreadable(start: bytes) -> str | None:
    """Why a file that begins so holds no text that can be read."""
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return f"it is {encoding}; convert it to UTF-8 first (iconv -f {encoding} -t UTF-8)"
    if b"\0" in start[:64]:  # further down it is a line that a crash has left
        return "it is binary, or text in another encoding than UTF-8"
    return None
