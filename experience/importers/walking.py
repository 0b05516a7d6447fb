"""Which files a path means: itself, what lies in it, or what it matches.

Each real file once, in an order that does not change, whatever links there are; it opens none of them.
"""

import glob
import os
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
        if path.exists() or path.is_symlink():
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


def _below(path: Path, seen: set[tuple[int, int]], *, named: bool) -> Iterator[Found | Missing]:
    try:
        about = path.stat()
        if (real := (about.st_dev, about.st_ino)) in seen:
            return
        inside = sorted(os.listdir(path)) if path.is_dir() else None  # noqa: PTH208 (names are all that is needed)
    except OSError as error:  # a link that leads nowhere or to itself, a folder that is closed to us
        if named or path.is_dir():
            yield Missing(str(path), error.strerror or str(error))
        return
    seen.add(real)
    if inside is None:
        if named or path.is_file():  # what else lies in a folder is a pipe or a device
            yield Found(path, named)
        return
    for name in inside:
        if not (name.startswith(".") and (path / name).is_dir()):
            yield from _below(path / name, seen, named=False)
