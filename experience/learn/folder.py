"""Skills in a folder, as agents read them: `<root>/<name>/SKILL.md`. Read leniently, written so that nothing is lost.

A name is checked before any path is made of it. A file is written beside its place and moved there once it can be read
back, and only over the very bytes that the writer expected to find. What the files mean is not its business.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from experience.errors import InvalidInput, InvalidSkill, SkillConflict, StoreError
from experience.learn.skill import LONGEST_TEXT, Skill, checked_skill_name

FILE = "SKILL.md"


class Places(NamedTuple):
    """Where an agent looks for skills."""

    project: str
    """Below the project's folder."""
    user: str
    """Below the user's home."""


_SHARED = ".agents/skills"

# Agents that are not named look in the first, or can be told to.
AGENT_FOLDERS = MappingProxyType(
    {
        "agents": Places(_SHARED, _SHARED),
        "amp": Places(_SHARED, ".config/agents/skills"),
        "augment": Places(".augment/skills", ".augment/skills"),
        "claude-code": Places(".claude/skills", ".claude/skills"),
        "cline": Places(_SHARED, _SHARED),
        "codex": Places(_SHARED, _SHARED),
        "continue": Places(".continue/skills", ".continue/skills"),
        "copilot": Places(_SHARED, ".copilot/skills"),
        "crush": Places(".crush/skills", ".config/crush/skills"),
        "cursor": Places(_SHARED, ".cursor/skills"),
        "devin": Places(".devin/skills", ".config/devin/skills"),
        "droid": Places(_SHARED, ".factory/skills"),
        "gemini": Places(_SHARED, ".gemini/skills"),
        "gemini-cli": Places(_SHARED, ".gemini/skills"),
        "github-copilot": Places(_SHARED, ".copilot/skills"),
        "goose": Places(".goose/skills", ".config/goose/skills"),
        "hermes": Places(".hermes/skills", ".hermes/skills"),
        "hermes-agent": Places(".hermes/skills", ".hermes/skills"),
        "junie": Places(".junie/skills", ".junie/skills"),
        "kilo": Places(_SHARED, ".kilo/skills"),
        "kiro-cli": Places(".kiro/skills", ".kiro/skills"),
        "openclaw": Places("skills", ".openclaw/skills"),
        "opencode": Places(_SHARED, ".config/opencode/skills"),
        "warp": Places(_SHARED, _SHARED),
        "zed": Places(_SHARED, _SHARED),
    }
)


class Problem(NamedTuple):
    """A folder that holds no skill that can be read."""

    folder: str
    message: str


class Found(NamedTuple):
    """What a scan came upon, by name."""

    skills: tuple[Skill, ...]
    problems: tuple[Problem, ...]


class SkillFolder:
    """The skills under one root, which need not exist yet."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    @classmethod
    def of_agent(cls, agent: str, project: Path | str = ".", *, home: Path | str | None = None) -> "SkillFolder":
        """Where an agent looks for a project's skills or, where a home is given, for its user's in every project.

        Raises InvalidInput for an agent that is not known.
        """
        if agent not in AGENT_FOLDERS:
            raise InvalidInput(
                f"there is no agent {agent!r}; choose one of {', '.join(AGENT_FOLDERS)}, or name a folder"
            )
        places = AGENT_FOLDERS[agent]
        return cls(Path(project) / places.project if home is None else Path(home) / places.user)

    def path(self, name: str) -> Path:
        """The file of a skill, links followed. Raises InvalidSkill for what is no name."""
        path = self.root / checked_skill_name(name) / FILE
        try:
            return path.resolve()
        except (OSError, RuntimeError) as error:  # a link that leads to itself
            raise StoreError(f"cannot follow {path}: {error}; mend the link") from error

    def read(self, name: str) -> bytes | None:
        """The bytes of a skill's file, None when there is none. Raises InvalidSkill, StoreError."""
        path = self.path(name)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > 4 * LONGEST_TEXT:
                raise InvalidSkill(f"{path} is no file of at most {4 * LONGEST_TEXT} bytes, and so no skill")
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error

    def changed_at(self, name: str) -> datetime | None:
        """When a skill's file was last written; None when there is none."""
        try:
            return datetime.fromtimestamp(self.path(name).stat().st_mtime, UTC)
        except OSError:
            return None

    def scan(self) -> Found:
        """Every skill under the root, and every folder whose SKILL.md is none. A missing root is an empty one."""
        skills, problems = [], []
        for folder in self._folders():
            try:
                content = self.read(folder)
                if content is None:
                    problems.append(Problem(folder, "it is a link that leads nowhere"))
                    continue
                skills.append(self._own(folder, content))
            except (InvalidSkill, StoreError) as error:
                problems.append(Problem(folder, str(error)))
        return Found(tuple(skills), tuple(problems))

    def write(self, name: str, content: bytes, expected: bytes | None = None) -> Path:
        """Put a skill's file where there is none, or in place of `expected`. Content that stands there already is left.

        Raises SkillConflict when something else stands there, InvalidSkill when the content is no skill of this name;
        nothing is changed then.
        """
        path = self.path(name)
        self._own(name, content)
        try:
            with self._locked():
                self._put(name, path, content, expected)
        except OSError as error:
            raise _refused(path, error) from error
        return path

    def _put(self, name: str, path: Path, content: bytes, expected: bytes | None) -> None:
        if any(link.is_symlink() and not link.exists() for link in (self.root / name, self.root / name / FILE)):
            raise StoreError(f"{self.root / name} is a link that leads nowhere; mend or remove it")
        made = not path.parent.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".SKILL-{secrets.token_hex(8)}.tmp")
        try:
            _write_beside(temporary, path, content)
            there = self._checked(name, expected, content)
            if there is None:
                _link(temporary, path)
            elif there != content:
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
            if made and not path.exists():
                path.parent.rmdir()

    def remove(self, name: str, expected: bytes) -> bool:
        """Take a skill's file away, and its folder when nothing else is in it; False when there was none.

        Of a linked skill the link goes, and what it leads to stays. Raises SkillConflict when the file is not what is
        expected.
        """
        folder = self.root / checked_skill_name(name)
        if self.read(name) is None:
            return False
        try:
            with self._locked():
                self._checked(name, expected, expected)
                if folder.is_symlink():
                    folder.unlink()
                    return True
                (folder / FILE).unlink()
                if not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise _refused(folder, error) from error
        return True

    def _folders(self) -> list[str]:
        try:
            return sorted(
                entry.name
                for entry in self.root.iterdir()
                if os.path.lexists(entry / FILE) or (entry.is_symlink() and not entry.exists())
            )
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreError(f"cannot read {self.root}: {error.strerror}") from error

    def _own(self, name: str, content: bytes) -> Skill:
        skill = Skill.parse(content)
        if skill.name != name:
            raise InvalidSkill(f"the folder {name} holds a skill that calls itself {skill.name}; give both one name")
        return skill

    def _checked(self, name: str, expected: bytes | None, content: bytes) -> bytes | None:
        """What stands there now, when it may be replaced by the content."""
        there = self.read(name)
        if there not in (None, expected, content):
            state = "is there already" if expected is None else "has been changed by somebody else"
            raise SkillConflict(f"{self.root / name / FILE} {state}; nothing was written: look at it, then decide anew")
        return there

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer of ours at a time, in this root. Where directories cannot be locked, the bytes are still compared."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:
            yield
            return
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _refused(path: Path, error: OSError) -> StoreError:
    return (
        error
        if isinstance(error, StoreError)
        else StoreError(f"cannot change {path}: {error.strerror}; it is as it was")
    )


def _write_beside(temporary: Path, path: Path, content: bytes) -> None:
    """Write what is to become `path`, with its mode, down to the disk, and read it back."""
    with temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        temporary.chmod(path.stat().st_mode & 0o777)
    if temporary.read_bytes() != content:
        raise StoreError(f"{temporary} does not hold what was written to it; check the disk")


def _link(temporary: Path, path: Path) -> None:
    """Put a new file in its place unless somebody has put one there, even just now."""
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise SkillConflict(f"{path} is there already; nothing was written: look at it, then decide anew") from error
    except OSError:  # a file system without links
        temporary.replace(path)
