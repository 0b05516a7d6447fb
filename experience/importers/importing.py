"""Files, folders and patterns in; what became of them out. The one way in for all formats.

Whatever is wrong with one file, the others are read. What is broken is a line of the report; what raises is a store that
cannot be written, and options that cannot be.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from experience.errors import InvalidEpisode, InvalidInput, StoreError
from experience.hygiene import MASKING, Masking
from experience.importers.labelling import Judge, command_judge
from experience.importers.own import OwnOptions, import_own
from experience.importers.recognising import AUTO, OWN, Unknown, format_named, recognised
from experience.importers.recording import Inflow
from experience.importers.report import Bad, OwnFile, Report, Tally
from experience.importers.session import Format, Session, Trouble
from experience.importers.source import Source
from experience.importers.walking import Found, Missing, files_in
from experience.protocols import LABEL_CLASSES, Progress
from experience.store import SqliteStore


def import_paths(
    store: SqliteStore,
    paths: str | Path | Iterable[str | Path],
    *,
    format: str = AUTO,
    label_with: str | Sequence[str] | None = None,
    timeout: float = 60.0,
    tags: Sequence[str] = (),
    progress: Progress | None = None,
    masking: Masking = MASKING,
    **own: Unpack[OwnOptions],
) -> Report:
    """Record the sessions in files, in folders and in what patterns match; what became of all of it.

    `format` is auto (each file is known by its content) or a name of `recognising.NAMES`. `label_with` is a command that is
    run once for each session that is new or has grown, for `timeout` seconds at most (see `labelling`). `progress` is told
    bytes. `masking` says what is masked before anything is stored. The other options belong to files of our own episodes, but for `supersede`: it lets any session take the place of
    what was recorded of it before.

    Importing again changes nothing. Raises InvalidInput for options that cannot be, InvalidEpisode with `strict`, StoreError.
    """
    judge = None if label_with is None else command_judge(label_with, timeout)
    importer = Importer(store, format=format, judge=judge, tags=tags, masking=masking, own=own)
    importer.take(list(files_in(paths)), progress)
    return importer.tally.report()


class Importer:
    """Takes files, one import after another, and counts."""

    def __init__(
        self,
        store: SqliteStore,
        *,
        format: str = AUTO,
        judge: Judge | None = None,
        tags: Sequence[str] = (),
        masking: Masking = MASKING,
        own: OwnOptions | None = None,
    ) -> None:
        """Raises InvalidInput for a format that there is not, and for options that cannot be."""
        self._forced: Format | str | None = None if format == AUTO else OWN if format == OWN else format_named(format)
        self._own: OwnOptions = own or {}
        if self._own.get("kind", "host") not in LABEL_CLASSES:
            raise InvalidInput(f"kind is {self._own.get('kind')!r}; it needs one of {', '.join(LABEL_CLASSES)}")
        self._store = store
        self._masking = masking
        self.tally = Tally()
        self._inflow = Inflow(
            store,
            self.tally,
            judge=judge,
            tags=tags,
            supersede=bool(self._own.get("supersede", False)),
            masking=masking,
        )

    def take(self, files: Sequence[Found | Missing], progress: Progress | None = None) -> None:
        """Record what is in files. Raises InvalidEpisode with `strict`, StoreError."""
        done = _Done(progress, sum(_size(one.path) for one in files if isinstance(one, Found)) if progress else 0)
        for one in files:
            if isinstance(one, Missing):
                self.tally.unread.append(Bad(one.path, None, one.reason))
                continue
            try:
                self._take(one, Source(one.path, done.of_this if progress else None))
            except StoreError:
                raise
            except OSError as error:
                self._refuse(one, error.strerror or str(error))
            done.next(_size(one.path) if progress else 0)
        self._inflow.flush()

    def flush(self) -> None:
        """Record what was read and is not yet written. Raises StoreError."""
        self._inflow.flush()

    def _take(self, file: Found, source: Source) -> None:
        kind = self._forced_on(source) or recognised(source)
        if isinstance(kind, Unknown):
            if not (file.named and (kind.broken or (self._own.get("lenient") and not kind.empty))):
                self._leave(file, kind)
                return
            kind = OWN  # which names every line that is wrong
        if isinstance(kind, str):
            self._take_own(file, source)
        else:
            self._take_sessions(file, source, kind)

    def _forced_on(self, source: Source) -> Format | str | None:
        """The format that was named, where the file holds any text that can be read."""
        try:
            return self._forced if self._forced and source.head().strip() else None
        except InvalidInput:
            return None

    def _leave(self, file: Found, why: Unknown) -> None:
        if file.named and not why.empty:
            self._refuse(file, why.reason)
        else:
            self.tally.skipped[why.in_short] += 1

    def _refuse(self, file: Found, reason: str) -> None:
        if file.named:
            self.tally.unread.append(Bad(str(file.path), None, reason))
        else:
            self.tally.trouble(str(file.path), Trouble(None, reason))

    def _take_sessions(self, file: Found, source: Source, format: Format) -> None:
        path = str(file.path)
        try:
            for found in format.sessions(source):
                if isinstance(found, Trouble):
                    self.tally.trouble(path, found)
                elif isinstance(found, Session):
                    self._inflow.take(path, format.name, found)
                else:
                    self.tally.turns_of(found)
        except InvalidInput as error:
            self._refuse(file, str(error))
            return
        self.tally.files[format.name] += 1

    def _take_own(self, file: Found, source: Source) -> None:
        path = str(file.path)
        self._inflow.flush()  # in the order in which they come
        try:
            how: OwnOptions = self._own if file.named else {**self._own, "foreign": True}  # nobody vouched for it
            done, troubles = import_own(self._store, source, masking=self._masking, **how)
        except InvalidEpisode as error:
            raise InvalidEpisode(f"{path}: {error}") from error
        except InvalidInput as error:
            self._refuse(file, str(error))
            return
        bad = tuple(
            sorted([*((line.number, line.reason) for line in done.bad), *((t.line or 0, t.reason) for t in troubles)])
        )
        told = OwnFile(path, done.new, done.known, done.stripped, done.guesses, bad)
        self.tally.own = [
            *(one for one in self.tally.own if one.path != path),
            told,
        ]  # read again, the last time counts
        self.tally.files[OWN] += 1
        self.tally.fates.update(new=done.new, known=done.known)
        self.tally.kept += done.new + done.known
        self.tally.echoes += done.stripped
        self.tally.masked.update(done.masked)
        for number, reason in bad:
            self.tally.trouble(path, Trouble(number, reason))


@dataclass(slots=True)
class _Done:
    """How many bytes of all files have been read."""

    progress: Progress | None
    total: int
    before: int = 0

    def of_this(self, read: int) -> None:
        if self.progress:
            self.progress(min(self.before + read, self.total), self.total)

    def next(self, size: int) -> None:
        self.before += size
        self.of_this(0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
