"""Where a text goes that is too big for the window and must not be lost: a folder of files named by what they hold.

The bytes are on disk before anything is cut, and what stands in for them says where a copy can be read. It knows bytes
and files, not what texts are or who decided that one leaves.
"""

import hashlib
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from tempfile import mkstemp
from typing import NamedTuple

from experience.errors import InvalidInput, NotFound, StoreError, shown
from experience.tell import marks
from experience.tell.shorten import Strategy, decoded, encoded, parts, size_of, source

OFFLOAD_MIN_BYTES = 16_384
"""From this size on the founding system stored a text that could be cut."""
ATTACHMENT_CAP = 1_024
"""Bytes that stand in for a text of which half would be worth nothing."""

_TEMPORARY = ".rest-"
_OLD = 3_600  # seconds: nobody writes one file for so long
_LOCATOR = re.compile(r"cas:sha256-[0-9a-f]{64}")


class Stored(NamedTuple):
    """Where some bytes are kept."""

    locator: str
    """`cas:sha256-` and the hash in hexadecimal digits."""
    path: Path
    """The readable copy."""
    size: int
    """In bytes."""


def substitute(text: str, hint: str, cap: int) -> tuple[str, int] | None:
    """The beginning of a text and its hint in at most `cap` bytes, and how many bytes of the text are missing.

    None where it would be no shorter than the text, or where the cap does not hold the hint.
    """
    size = size_of(text)
    cap = min(cap, size - 1)
    if size_of(hint) > cap:
        return None
    kept = parts(encoded(text), cap - size_of(hint), size)
    return decoded(kept.before) + hint, kept.dropped


class ContentStore:
    """Bytes in a folder, each content once, never changed and never deleted by us.

    Several processes may write to one folder. The folder is made, for its owner alone, when something is first stored.
    Raises InvalidInput for a folder whose name a hint could not show on one line.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if not os.fspath(root):
            raise InvalidInput("the name of the folder is empty; name one, . for this one")
        self._root = Path(root).absolute()
        self._swept = False
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
            data = pinned.read_bytes() if _regular(pinned) else None
        except FileNotFoundError as error:
            raise NotFound(f"nothing is kept under {locator} in {self._root}") from error
        except OSError as error:
            raise StoreError(f"{pinned} cannot be read: {error.strerror}") from error
        if data is None or self.stored(data).locator != locator:
            raise StoreError(f"{pinned} was changed: it does not hold what its name says; restore it from a copy")
        return data

    def copy(self, locator: str) -> Path:
        """The readable copy of what has this locator, written again if it was deleted; raises what `read` raises."""
        return self.put(self.read(locator)).path

    def hint(self, text: str) -> str:
        """The line that ends the substitute of a text; nothing is written."""
        return self._hint(self.stored(encoded(text)))

    def original(self, text: str) -> str | None:
        """The text that this one stands in for; None where it is no substitute of ours.

        Anybody can write a line that reads like a hint. It is believed only where the content is kept here, the path is
        its own copy, and all that stands before the line is of that content; else the text would be lost for it.
        """
        hint = marks.hint_of(text)
        if hint is None or hint.path != str(self._of(hint.locator, 0).path):
            return None
        try:
            data = self.read(hint.locator)
            whole = data.decode("utf-8", "surrogatepass")
        except (NotFound, StoreError, UnicodeDecodeError):
            return None
        return whole if hint.total == len(data) and _is_of(text.removesuffix(hint.line), whole) else None

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
            self._sweep()
            _write_once(path, data)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}; name a folder that can be") from error

    def _sweep(self) -> None:
        """Remove what killed writers left, once for each store: what is ours, and too old to be written still."""
        if self._swept:
            return
        self._swept = True
        for path in self._root.glob(f"{_TEMPORARY}*"):
            with suppress(FileNotFoundError):
                found = path.lstat()
                if S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_mtime < time.time() - _OLD:
                    path.unlink()


def _is_of(body: str, whole: str) -> bool:
    """Whether all that a substitute shows is in the text that it stands for."""
    for strategy in Strategy:
        found, data = source(body, strategy), encoded(whole)
        if found.missing and found.size in (len(data), source(whole, strategy).size):
            before, after = found.data[: found.at], found.data[found.at :]
            lines_of_it = data.endswith(after) or set(after.split(b"\n")) <= {*data.split(b"\n"), b""}
            return data.startswith(before) and lines_of_it
    return whole.startswith(body)


def _regular(path: Path, size: int | None = None) -> bool:
    """Whether a file (of this size) stands there, and no link, folder or pipe, which a read could wait for for ever."""
    found = path.lstat()
    return S_ISREG(found.st_mode) and size in (None, found.st_size)


def _holds(path: Path, data: bytes) -> bool:
    with suppress(FileNotFoundError):
        return _regular(path, len(data)) and path.read_bytes() == data
    return False


def _write_once(path: Path, data: bytes) -> None:
    """The file is there whole or not at all, whoever else writes it at the same time."""
    descriptor, temporary = mkstemp(dir=path.parent, prefix=_TEMPORARY)
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
