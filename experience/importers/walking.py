"""Which files a path means: itself, what lies in it, or what it matches.

Each real file once, in an order that does not change, whatever links there are; it opens none of them.
"""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from experience.errors import InvalidInput

_MAGIC = "*?["


class Found(NamedTuple):
    """A file to import."""

    path: Path
    named: bool
    """True where somebody named it; False where it was met in a folder or matched."""


class Missing(NamedTuple):
    """A path that leads to no file."""

    path: str
    reason: str


def files_in(paths: str | Path | Iterable[str | Path]) -> Iterator[Found | Missing]:
    """The files that paths mean: files, folders with all below them, and patterns that no shell has expanded.

    Folders are walked in the order of names, hidden ones within them left out. Links are followed, but nothing is given
    twice. Raises InvalidInput for a blank path.
    """
    seen: set[tuple[int, int]] = set()
    for given in [paths] if isinstance(paths, str | Path) else paths:
        if not str(given).strip():
            raise InvalidInput("a path is blank; name a file, a folder or a pattern")
        path = Path(given).expanduser()
        if os.path.lexists(path):
            yield from _below(path, seen, named=True)
        elif matched := _matched(path):
            for one in matched:
                yield from _below(Path(one), seen, named=False)
        else:
            yield Missing(str(given), "nothing matches it" if is_pattern(given) else "there is no such file or folder")


def is_pattern(path: str | Path) -> bool:
    """Whether a path that leads nowhere may be meant as a pattern."""
    return any(sign in str(path) for sign in _MAGIC)


def _matched(path: Path) -> list[str]:
    return sorted(glob.glob(str(path), recursive=True)) if is_pattern(path) else []  # noqa: PTH207 (Path.glob wants a root)


def _below(top: Path, seen: set[tuple[int, int]], *, named: bool) -> Iterator[Found | Missing]:
    """A file, or those of a folder, from a list of what is still to be looked at, since folders may be nested deeply."""
    waiting = [(top, named)]
    while waiting:
        path, is_top = waiting.pop()
        try:
            about = path.stat()
            if (real := (about.st_dev, about.st_ino)) in seen:
                continue
            inside = sorted(os.listdir(path), reverse=True) if stat.S_ISDIR(about.st_mode) else None  # noqa: PTH208 (names are all that is needed)
        except (
            OSError
        ) as error:  # a link that leads nowhere or to itself, a folder that is closed to us, too long a path
            if is_top or not os.path.islink(path):  # noqa: PTH114 (False where it cannot be told)
                yield Missing(str(path), error.strerror or str(error))
            continue
        seen.add(real)
        if inside is not None:
            waiting += [
                (path / name, False) for name in inside if not (name.startswith(".") and _is_folder(path / name))
            ]
        elif stat.S_ISREG(about.st_mode):
            yield Found(path, is_top)
        elif is_top:
            yield Missing(str(path), "it is no file: a pipe, a socket or a device")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False
