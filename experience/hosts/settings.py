"""A host's settings file, read and changed as a whole or not at all.

What a file says is decided elsewhere; here is only how it is put in place: beside the old one, with its permissions, behind
whatever links lead to it, and not at all when somebody else has written it in the meantime.
"""

import difflib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp

from experience.errors import InvalidInput, StoreError

_LARGEST = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Change:
    """What a file says, and what it is to say; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """The change as a unified diff; empty when there is none."""
        was, becomes = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(was, becomes, str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


def planned(path: Path, change: Callable[[str | None], str | None]) -> Change:
    """What a change makes of a file; nothing is written. Raises InvalidInput, StoreError, and what the change raises."""
    before = _read(path)
    return Change(path, before, change(before))


def carry_out(*changes: Change) -> None:
    """Write what changes say: all of them, or none. Raises StoreError when a file is not what it was, or cannot be written."""
    done: list[Change] = []
    try:
        for change in changes:
            _carry_out(change)
            done.append(change)
    except StoreError:
        for change in reversed(done):
            with suppress(StoreError):  # somebody else has written it since, and that stays
                _carry_out(Change(change.path, change.after, change.before))
        raise


def _carry_out(change: Change) -> None:
    if change.before == change.after:
        return
    path = Path(os.path.realpath(change.path))  # a link stays one, and what it leads to is changed
    if _read(path) != change.before:
        raise StoreError(f"{change.path} was changed by somebody else in the meantime; nothing was written, try again")
    try:
        if change.after is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, change.after.encode())
    except OSError as error:
        raise StoreError(f"{change.path} cannot be written: {error.strerror}") from error


def _read(path: Path) -> str | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise InvalidInput(f"{path} has {len(data)} bytes, which no settings have; nothing was changed")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8: {error.reason} at byte {error.start}; nothing was changed") from error


def _put(path: Path, content: bytes) -> None:
    """Whole or not at all, with the permissions of what stood there; a new file with those that files here have."""
    descriptor, temporary = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_permissions(path))
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def _permissions(path: Path) -> int:
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
