"""Where a text goes that is too big for the window and must not be lost: a folder of files named by what they hold.

The bytes are on disk before anything is cut, and what stands in for them says where a copy can be read. It knows bytes
and files, not what texts are or who decided that one leaves.
"""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import NamedTuple

from experience.errors import InvalidInput, NotFound, StoreError, shown
from experience.tell import marks
from experience.tell.shorten import decoded, encoded, parts

OFFLOAD_MIN_BYTES = 16_384
"""A text that could be cut is stored from this size on."""
ATTACHMENT_CAP = 1_024
"""Bytes that stand in for a text of which half would be worth nothing."""

_LOCATOR = re.compile(r"cas:sha256-[0-9a-f]{64}")


class Stored(NamedTuple):
    """Where some bytes are kept."""

    locator: str
    """`cas:sha256-` and the hash in hexadecimal digits."""
    path: Path
    """The readable copy."""
    size: int
    """In bytes."""


class Substitute(NamedTuple):
    """What stands in for a text that was stored."""

    text: str
    dropped: int
    """Bytes of the original that it does not hold."""
    stored: Stored


def under_hint(text: str, hint: str, cap: int) -> tuple[str, int]:
    """The beginning of a text and this hint in at most `cap` bytes, and how many bytes of the text are missing."""
    kept = parts(encoded(text), cap - len(encoded(hint)), 2**63)
    return decoded(kept.before) + hint, kept.dropped


class ContentStore:
    """Bytes in a folder, each content once, never changed and never deleted by us.

    Several processes may write to one folder. The folder is made, for its owner alone, when something is first stored.
    Raises InvalidInput for a folder whose name a hint could not show on one line.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).absolute()
        if not str(self._root).isprintable():
            raise InvalidInput(
                f"the folder {shown(str(self._root))} has characters that do not print; take another name"
            )

    @property
    def root(self) -> Path:
        """The folder, whether it is there or not."""
        return self._root

    def stored(self, data: bytes) -> Stored:
        """Where these bytes are kept, or would be: nothing is written."""
        return self._of(f"cas:sha256-{hashlib.sha256(data).hexdigest()}", len(data))

    def put(self, data: bytes) -> Stored:
        """Keep some bytes, and a copy for reading; what is there already is not written again.

        Raises StoreError when the folder cannot be written.
        """
        stored = self.stored(data)
        self._write(self._pinned(stored.locator), data)
        self._write(stored.path, data)
        return stored

    def read(self, locator: str) -> bytes:
        """The bytes with this locator.

        Raises InvalidInput for what is no locator, NotFound when nothing is kept under it, StoreError when the file
        cannot be read or holds something else.
        """
        pinned = self._pinned(locator)
        try:
            data = pinned.read_bytes()
        except FileNotFoundError as error:
            raise NotFound(f"nothing is kept under {locator} in {self._root}") from error
        except OSError as error:
            raise StoreError(f"{pinned} cannot be read: {error.strerror}") from error
        if self.stored(data).locator != locator:
            raise StoreError(f"{pinned} was changed: it does not hold what its name says; restore it from a copy")
        return data

    def copy(self, locator: str) -> Path:
        """The readable copy of what has this locator, written again if it was deleted; raises what `read` raises."""
        return self.put(self.read(locator)).path

    def hint(self, text: str) -> str:
        """The line that ends the substitute of a text; nothing is written."""
        return self._hint(self.stored(encoded(text)))

    def substitute(self, text: str, cap: int) -> Substitute:
        """Store a text, and say in at most `cap` bytes how it begins and where it is.

        Raises InvalidInput, and stores nothing, when the text fits in `cap` or `cap` does not hold the hint; StoreError
        when the folder cannot be written.
        """
        data = encoded(text)
        if len(data) <= cap:
            raise InvalidInput(f"a text of {len(data)} bytes fits in {cap}; keep it as it is")
        hint = self._hint(self.stored(data))
        if len(encoded(hint)) > cap:
            raise InvalidInput(f"a cap of {cap} bytes does not hold the hint; it needs at least {len(encoded(hint))}")
        stored = self.put(data)
        return Substitute(*under_hint(text, hint, cap), stored)

    def _of(self, locator: str, size: int) -> Stored:
        last = "".join(char for char in locator if char.isalnum())[-16:]
        return Stored(locator, self._root / f"rest-{last}.dat", size)

    def _hint(self, stored: Stored) -> str:
        return marks.hint(stored.size, str(stored.path), stored.locator)

    def _pinned(self, locator: str) -> Path:
        if not _LOCATOR.fullmatch(locator):
            raise InvalidInput(f"{shown(locator)} is no locator; one is cas:sha256- and 64 hexadecimal digits")
        return self._root / locator.removeprefix("cas:")

    def _write(self, path: Path, data: bytes) -> None:
        try:
            if _holds(path, data):
                return
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_once(path, data)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}; name a folder that can be") from error


def _holds(path: Path, data: bytes) -> bool:
    with suppress(FileNotFoundError):
        return path.read_bytes() == data
    return False


def _write_once(path: Path, data: bytes) -> None:
    """The file is there whole or not at all, whoever else writes it at the same time."""
    descriptor, temporary = mkstemp(dir=path.parent, prefix=".rest-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o400)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
