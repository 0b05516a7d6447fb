"""What a run was told, line by line: from its receipt, and from what the store still knows of what that names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from experience.episode import moment_text
from experience.errors import NotFound
from experience.learn.learning import Learning
from experience.learn.learnings import Learnings
from experience.protocols import Record
from experience.screen import revealed
from experience.store import SqliteStore
from experience.tell.contents import Item
from experience.tell.receipts import Receipt

GONE = "deleted since"
_NAMES = {
    "propose": "how to propose a learning",
    "help": "how to ask for help",
    "learnings": "learned",
    "worked": "worked",
    "failed": "failed",
    "unknown": "end unknown",
    "skills": "skill",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a run was told, or was not told for want of room."""

    item: Item
    told: bool
    text: str
    """What it said; `deleted since` where the store does not know it any more."""
    now: str
    """How it stands now, where that is something else than it was."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A receipt with what the store says today about what it names."""

    receipt: Receipt
    episode: Record | None
    """What was recorded of the run; None while it has not been."""
    lines: tuple[Line, ...]

    def to_json(self) -> dict[str, Any]:
        """The receipt, the run's episode and end, and each line."""
        ended = self.episode.ended if self.episode else None
        return {
            **self.receipt.to_json(),
            "episode": self.episode.id if self.episode else None,
            "success": ended,
            "lines": [
                {**line.item.to_json(), "told": line.told, "text": line.text, "now": line.now} for line in self.lines
            ],
        }


def explained(store: SqliteStore, receipt: Receipt) -> Explanation:
    """What a receipt names, as the store knows it now. Raises StoreError."""
    contents = receipt.contents
    items = [(item, True) for item in contents.told] + [(item, False) for item in contents.left_out]
    ids = [item.id for item, _ in items if item.id is not None and item.part != "learnings"]
    records = store.get_many(ids)
    then = {one.id: one for one in Learnings(store).all(at=receipt.at)}
    now = {one.id: one for one in Learnings(store).all()}
    lines = []
    for item, told in items:
        if item.id is None:
            text, standing = "", ""
        elif item.part == "learnings":
            text, standing = _of_learning(item, then.get(item.id), now.get(item.id))
        else:
            text, standing = _of_run(records.get(item.id), item.part)
        lines.append(Line(item, told, text, standing))
    return Explanation(receipt, _episode(store, receipt.run_id), tuple(lines))


def explanation_lines(found: Explanation) -> Iterable[str]:
    """The same for people."""
    receipt = found.receipt
    yield f"run {revealed(receipt.run_id)}" + (f", agent {revealed(receipt.agent)}" if receipt.agent else "")
    yield f"told {moment_text(receipt.at)}, {receipt.bytes} bytes, sha256 {receipt.hash}"
    if found.episode is None:
        yield "not recorded yet"
    else:
        ended = {True: "it worked", False: "it failed", None: "its end is not known"}[found.episode.ended]
        yield f"recorded as episode {found.episode.id}: {ended}"
    for part in receipt.parts:
        cut = f", {part['cut']} bytes of it cut" if part["cut"] else ""
        quoted = f", {part['quoted']} lines quoted" if part["quoted"] else ""
        yield f"  {part['name']:<13}{part['bytes']:>7} bytes{cut}{quoted}"
    for line in found.lines:
        yield _line(line)


def _line(line: Line) -> str:
    item = line.item
    which = f"{'learning' if item.part == 'learnings' else 'episode'} {item.id}" if item.id is not None else item.name
    version = f", version {item.version}" if item.version is not None else ""
    score = f"score {item.score:.3g}" if item.score is not None else ""
    now = f"[now {line.now}]" if line.now else ""
    text = " ".join(revealed(line.text).split())[:160]
    said = (f"{which}{version}", item.standing, score, f"({item.why})" if item.why else "", now, text)
    head = f"{_NAMES[item.part]} {item.number}" if line.told else f"left out, {_NAMES[item.part]}"
    return f"  {head}: {'  '.join(part for part in said if part)}"


def _of_learning(item: Item, then: Learning | None, now: Learning | None) -> tuple[str, str]:
    if then is None or now is None:
        return GONE, ""
    return then.text, "" if now.active and now.standing == item.standing else now.state


def _of_run(record: Record | None, part: str) -> tuple[str, str]:
    if record is None:
        return GONE, ""
    was = {"worked": True, "failed": False, "unknown": None}[part]
    now = {True: "worked", False: "failed", None: "unknown"}[record.ended]
    changed = "superseded" if record.superseded else now if record.ended is not was else ""
    return record.episode.situation, changed


def _episode(store: SqliteStore, run_id: str) -> Record | None:
    try:
        return store.get_run(run_id)
    except NotFound:
        return None
