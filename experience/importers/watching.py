"""Imports what grows, again and again, until it is told to stop.

What was imported is in the store and nowhere else: a watch that is killed begins anew and finds all of it known.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from experience.errors import InvalidInput, StoreError
from experience.importers.importing import Importer
from experience.importers.report import Report
from experience.importers.walking import Found, Missing, files_in

_LONGEST_WAIT = 24 * 60 * 60
_IMPATIENT = 10  # rounds after which a file that never rests is read all the same
_PATIENT = 10  # rounds in which the store could not be written


class _State(NamedTuple):
    size: int
    changed: int


def watch_paths(
    importer: Importer,
    paths: str | Path | Iterable[str | Path],
    *,
    interval: float = 5.0,
    once: bool = False,
    sleep: Callable[[float], None] | None = None,
    on_round: Callable[[Report], None] | None = None,
    on_trouble: Callable[[StoreError], None] | None = None,
) -> None:
    """Import what is there, and every `interval` seconds what has grown since and has then rested for one interval.

    A file that does not rest is read every ten rounds. With `once` it ends after the first round. Files may vanish, and
    paths that lead nowhere yet may come to be. `on_round` is told the report so far whenever something was read. Ends
    with whatever `sleep` raises, such as KeyboardInterrupt. A store that cannot be written is told to `on_trouble` and tried
    again in the next round, ten times in a row at most; then, and with `once`, StoreError is raised. Raises InvalidInput for
    an interval that cannot be.
    """
    if not 0 < interval <= _LONGEST_WAIT:
        raise InvalidInput(f"the interval is {interval!r}; it needs a number of seconds above 0, a day at most")
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    watched, failed = _Watched(), 0
    while True:
        found = list(files_in(paths))
        files = [one for one in found if isinstance(one, Found)]
        if due := watched.due(files):
            try:
                importer.take(due)
            except StoreError as error:  # such as a file that somebody else has been writing to for long
                failed += 1
                if once or failed >= _PATIENT:
                    raise
                watched.forget(due)
                if on_trouble:
                    on_trouble(error)
            else:
                failed = 0
                if on_round:
                    on_round(importer.tally.report())
        if once:
            importer.take([one for one in found if isinstance(one, Missing)])
            return
        (sleep or time.sleep)(interval)


class _Watched:
    """How files stood when they were looked at and when they were read."""

    def __init__(self) -> None:
        self._read: dict[Path, _State] = {}
        self._seen: dict[Path, _State] = {}
        self._restless: dict[Path, int] = {}
        self._first = True

    def due(self, files: Iterable[Found]) -> list[Found]:
        """The files to read now, which are then taken as read: at first all, later what has changed and rests."""
        seen: dict[Path, _State] = {}
        due: list[Found] = []
        for file in files:
            if (state := _state(file.path)) is None:
                continue
            seen[file.path] = state
            if state == self._read.get(file.path):
                continue
            rests = state == self._seen.get(file.path)
            waited = self._restless.get(file.path, 0) + 1
            if self._first or rests or waited >= _IMPATIENT:
                due.append(file)
                self._read[file.path] = state
                self._restless.pop(file.path, None)
            else:
                self._restless[file.path] = waited
        for gone in self._read.keys() - seen.keys():
            del self._read[gone]
        self._seen, self._first = seen, False
        self._restless = {path: waited for path, waited in self._restless.items() if path in seen}
        return due

    def forget(self, files: Iterable[Found]) -> None:
        """Files that were due and could not be read."""
        for file in files:
            self._read.pop(file.path, None)


def _state(path: Path) -> _State | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return _State(about.st_size, about.st_mtime_ns)
