"""Prompt files that are put together from others: `@include path`, and `@include(flag) path` for a part that may be off.

A prompt that leaves its folder reads what nobody meant it to, and one that takes an unknown flag for false loses a part
that nobody misses. So every path is followed through its links before anything is read, and whatever is in doubt is an
error that names file and line. It guards against what files say, not against somebody who swaps folders while it reads.
It knows no agent and no run.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from experience.errors import IncludeError, InvalidInput, shown

DEEPEST = 8
"""Files that may be open below the first one, each included by the one before."""
MOST_INCLUDES = 1000
"""Includes that are followed altogether."""
LARGEST = 1024 * 1024
"""Bytes of one file."""
LONGEST = 16 * 1024 * 1024
"""Characters of all of it."""

Path = str | os.PathLike[str]

_NO_FLAGS: Mapping[str, bool] = MappingProxyType({})
_FLAG = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NAME = "@include"
_DIRECTIVE = re.compile(
    rf'{_NAME}(?:\((?P<without>!?)(?P<flag>{_FLAG.pattern})\))?[ \t]+(?:"(?P<quoted>[^"\x00-\x1f]+)"|(?P<bare>[^\s"\x00-\x1f]+))'
)
_FORMS = "@include path, @include(flag) path or @include(!flag) path, the path in double quotes where it holds spaces"
# A pipe that nobody writes to must not hold the run up, and a link put there since it was looked at must not be followed.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


def expand(path: Path, root: Path | None = None, flags: Mapping[str, bool] = _NO_FLAGS) -> str:
    """The text of a prompt file, each directive replaced by the lines of the file that it names.

    A line that begins with `@include`, white space aside, is a directive; its path is relative to the file it stands in,
    links followed. With a flag it holds only when the flag is true, with `!` only when it is false; otherwise the line is
    left out and the file not looked at. All other text stays as it is; what is included ends with a line break. A byte
    order mark at the start of a file is no text. `root` is the folder that nothing is read from outside of, without one
    the folder that `path` is in.

    Raises IncludeError, its kind one of Missing (no such file), Unreadable (no regular file, not UTF-8, larger than 1 MiB,
    no permission), Escapes (an absolute path, or one that leaves the root), MalformedDirective, UnknownFlag (not among
    `flags`), Cycle, TooDeep (more than 8 files below the first), TooWide (more than 1,000 includes, or 16 Mi characters). Raises InvalidInput
    for flags that are no names with True or False.
    """
    for name, value in flags.items():
        _check_flag(name)
        if type(value) is not bool:
            raise InvalidInput(f"the flag {name} is {shown(repr(value))}; it needs True or False")

    def holds(test: _Test) -> bool:
        if test.flag not in flags:
            known = ", ".join(sorted(flags)) or "none"
            raise test.unknown(f"set it to True or False (known: {known})")
        return flags[test.flag] is not test.negated

    parts, size = [], 0
    for part in _Walk.into(path, root, holds):
        size += len(part)
        if size > LONGEST:
            raise IncludeError(
                "TooWide", os.fspath(path), None, "", f"all of it has more than {LONGEST} characters; include less"
            )
        parts.append(part)
    return "".join(parts)


def referenced_flags(path: Path, root: Path | None = None) -> frozenset[str]:
    """The flags that a prompt file and all it can include test, in any branch. Raises IncludeError as `expand` does."""
    return frozenset(_tests(path, root))


def check_flags(path: Path, declared: Iterable[str], root: Path | None = None) -> None:
    """Raises IncludeError (UnknownFlag) when a prompt file, or one that it can include, tests a flag that is not declared.

    The first one counts. Otherwise raises as `expand` does, and InvalidInput for a declared flag that is no name.
    """
    if isinstance(declared, str):
        raise InvalidInput(f"declared is {shown(declared)}; it needs a list of names")
    known = list(declared)
    for name in known:
        _check_flag(name)
    for flag, test in _tests(path, root).items():
        if flag not in known:
            raise test.unknown(f"declare it (declared: {', '.join(sorted(known)) or 'none'})")


@dataclass(frozen=True, slots=True)
class _Test:
    """A directive asks whether a flag is true, or whether it is false."""

    flag: str
    negated: bool
    file: str
    line: int

    def unknown(self, repair: str) -> IncludeError:
        message = f"nobody knows the flag {self.flag}; {repair}"
        return IncludeError("UnknownFlag", self.file, self.line, self.flag, message)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file is asked for; without a line, by the caller."""

    file: str
    line: int | None

    def error(self, kind: str, subject: str, message: str) -> IncludeError:
        return IncludeError(kind, self.file, self.line, subject, message)


@dataclass(slots=True)
class _Walk:
    """One way through a prompt file and all that it includes."""

    root: str
    holds: Callable[[_Test], bool]
    includes: int = 0

    @classmethod
    def into(cls, path: Path, root: Path | None, holds: Callable[[_Test], bool]) -> Iterator[str]:
        """The pieces of the whole text."""
        given = os.fspath(path)
        if "\0" in given:
            raise InvalidInput(f"the path {given!r} holds a NUL character; remove it")
        folder = os.path.realpath(PurePath(given).parent if root is None else root)
        place, real = _Place(given, None), os.path.realpath(given)
        if not PurePath(real).is_relative_to(folder):
            raise place.error("Escapes", given, f"it leads out of {folder}; give a root that it is in")
        return cls(folder, holds).pieces(real, place, given, ())

    def pieces(self, real: str, place: _Place, subject: str, above: tuple[str, ...]) -> Iterator[str]:
        """The text of a file, what it includes put in; `above` are the files that are open."""
        file = PurePath(real).relative_to(self.root).as_posix()
        text = _text_of(real, place, subject)
        for number, line in enumerate(_lines(text), 1):
            if not line.lstrip().startswith(_NAME):
                yield line
                continue
            here = _Place(file, number)
            included = self.included(line.strip(), here)
            if included is not None:
                yield from self.follow(included, here, (*above, real))

    def included(self, directive: str, here: _Place) -> str | None:
        """The path that a directive names, if it holds."""
        match = _DIRECTIVE.fullmatch(directive)
        if not match:
            raise here.error("MalformedDirective", directive, f"{shown(directive)} is no directive; it needs {_FORMS}")
        if match["flag"] and not self.holds(_Test(match["flag"], bool(match["without"]), here.file, here.line or 0)):
            return None
        return match["quoted"] or match["bare"]

    def follow(self, path: str, here: _Place, above: tuple[str, ...]) -> Iterator[str]:
        """The lines of the file that a path names, seen from the innermost of those that are open."""
        real = self.real(path, here, PurePath(above[-1]).parent)
        if real in above:
            raise here.error("Cycle", path, f"{path!r} is being included already; take out one of the two directives")
        if len(above) > DEEPEST:
            raise here.error(
                "TooDeep", path, f"{path!r} lies {len(above)} files below the first; {DEEPEST} are allowed"
            )
        self.includes += 1
        if self.includes > MOST_INCLUDES:
            raise here.error("TooWide", path, f"{path!r} is one include too many; {MOST_INCLUDES} are allowed")
        last = ""
        for piece in self.pieces(real, here, path, above):
            last = piece
            yield piece
        if last and not last.endswith("\n"):
            yield "\n"

    def real(self, path: str, here: _Place, folder: PurePath) -> str:
        """Where a path leads once links are followed; never out of the root, nor out and in again."""
        if path.startswith("/") or PurePath(path).is_absolute():
            raise here.error("Escapes", path, f"{path!r} is absolute; it needs a path relative to this file")
        depth = len(folder.relative_to(self.root).parts)
        for part in PurePath(path).parts:
            depth += -1 if part == ".." else 1
            if depth < 0:
                raise here.error("Escapes", path, f"{path!r} climbs out of the root; it needs a file within")
        real = os.path.realpath(folder / path)
        if not PurePath(real).is_relative_to(self.root):
            raise here.error("Escapes", path, f"{path!r} leads out of the root by a link; it needs a file within")
        return real


def _tests(path: Path, root: Path | None) -> dict[str, _Test]:
    """Every flag with the first place that tests it."""
    found: dict[str, _Test] = {}

    def note(test: _Test) -> bool:
        found.setdefault(test.flag, test)
        return True

    for _ in _Walk.into(path, root, note):
        pass
    return found


def _check_flag(name: object) -> None:
    if not isinstance(name, str) or not _FLAG.fullmatch(name):
        raise InvalidInput(
            f"the flag is {shown(str(name))}; it needs a name of ASCII letters, digits and underscores that begins with no digit"
        )


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends. Only `\\n` ends one: str.splitlines also breaks at U+2028 and others."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _text_of(real: str, place: _Place, subject: str) -> str:
    try:
        data = _bytes_of(real)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise place.error("Missing", subject, f"there is no {subject!r}; create it, or correct the path") from error
    except OSError as error:
        raise place.error("Unreadable", subject, f"{subject!r} cannot be read: {error.strerror}") from error
    if data is None:
        raise place.error("Unreadable", subject, f"{subject!r} is no regular file; only those are read")
    if len(data) > LARGEST:
        raise place.error("Unreadable", subject, f"{subject!r} has more than {LARGEST} bytes; part it into several")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.error(
            "Unreadable", subject, f"{subject!r} is not UTF-8 at byte {error.start}; convert it"
        ) from error


def _bytes_of(real: str) -> bytes | None:
    """What stands in a file, up to one byte more than is allowed; None when it is no regular file."""
    if not stat.S_ISREG(os.lstat(real).st_mode):
        return None
    with open(real, "rb", opener=lambda name, mode: os.open(name, mode | _AT_ONCE)) as file:
        return file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
