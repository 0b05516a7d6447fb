"""Approved skills put into a folder where an agent reads them, as many as can be, and what became of each.

Only bytes that this store has once approved are replaced or removed. A file of somebody else's, or one that was changed by
hand, is left alone, and so is what the standard does not allow; that is an answer, and no failure. Within the folder no
link is written through or removed: whoever made it says what it leads to, which may lie anywhere.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from experience.errors import InvalidSkill, NotFound, SkillConflict, StoreError
from experience.learn.folder import FILE, SkillFolder
from experience.learn.library import SkillLibrary
from experience.learn.lint import lint
from experience.learn.versions import RETIRED, Version

WRITTEN, SAME, REMOVED, LEFT = "written", "same", "removed", "left alone"
_OTHER = "another file stands there, or ours was changed by hand"


class Placed(NamedTuple):
    """What became of one skill."""

    skill: str
    state: str
    """written, same (it stood there already), removed, or left alone."""
    path: Path
    why: str = ""
    """Why it was left alone."""
    wanted: bool = True
    """Whether the store has it in use, so that to be left alone is to lack it; False for one that is retired."""


def place(
    library: SkillLibrary,
    folder: SkillFolder,
    names: Collection[str] = (),
    *,
    prune: bool = False,
    dry_run: bool = False,
) -> list[Placed]:
    """Write the newest version of every skill in use (or of those named), by name, and say what became of each.

    With `prune` the files of retired ones go; without it those that still stand there are left alone. With `dry_run`
    nothing is changed, and what is said is what would be. Raises NotFound for a name that the store does not have.
    """
    known = library.skills(retired=True)
    if missing := set(names) - {version.name for version in known if prune or version.origin != RETIRED}:
        raise NotFound(f"the store has no skill {min(missing)!r} in use; see: experience skills list")
    chosen = [version for version in known if not names or version.name in names]
    placed = (_placed(library, folder, version, prune=prune, dry_run=dry_run) for version in chosen)
    return [one for one in placed if one is not None]


def _placed(
    library: SkillLibrary, folder: SkillFolder, version: Version, *, prune: bool, dry_run: bool
) -> Placed | None:
    path = folder.root / version.name / FILE
    try:
        there = folder.read(version.name)
        ours = any(there == older.content for older in library.history(version.name))
        if version.origin == RETIRED:
            return _retired(folder, version, there, path, ours=ours, prune=prune, dry_run=dry_run)
        if there == version.content:
            return Placed(version.name, SAME, path)
        if there is not None and not ours:
            return Placed(version.name, LEFT, path, _OTHER)
        if why := _forbidden(version) or _hindrance(folder, version.name):
            return Placed(version.name, LEFT, path, why)
        if not dry_run:
            folder.write(version.name, version.content, there)
    except (InvalidSkill, SkillConflict, StoreError) as error:
        return Placed(version.name, LEFT, path, str(error))
    return Placed(version.name, WRITTEN, path)


def _retired(
    folder: SkillFolder,
    version: Version,
    there: bytes | None,
    path: Path,
    *,
    ours: bool,
    prune: bool,
    dry_run: bool,
) -> Placed | None:
    """What becomes of a retired skill's file; None when there is none."""
    if there is None:
        return None
    if not (ours and prune):
        why = "it is retired; --prune removes it" if ours else f"it is retired, and {_OTHER}"
        return Placed(version.name, LEFT, path, why, wanted=False)
    if hindrance := _hindrance(folder, version.name):
        return Placed(version.name, LEFT, path, f"it is retired, and {hindrance}", wanted=False)
    if not dry_run:
        folder.remove(version.name, there)
    return Placed(version.name, REMOVED, path)


def _forbidden(version: Version) -> str:
    """What the standard has against a skill; empty when nothing."""
    errors = [found.message for found in lint(version.skill) if found.severity == "error"]
    return f"the standard does not allow it: {'; '.join(errors)}" if errors else ""


def _hindrance(folder: SkillFolder, name: str) -> str:
    """What stands in the way of changing a skill's file, told without changing anything; empty when nothing does."""
    own = folder.root / name
    for link in (own, own / FILE):
        if link.is_symlink():
            nowhere = "" if link.exists() else " that leads nowhere"
            return f"{link} is a link{nowhere}, and nothing is written through one or removed by it"
    nearest = next(at for at in (own, *own.absolute().parents) if os.path.lexists(at))
    if not nearest.is_dir():
        return f"{nearest} is {'a link that leads nowhere' if nearest.is_symlink() else 'no folder'}; mend or remove it"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to; see its permissions"
