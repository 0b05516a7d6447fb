"""How runs ended, counted: those that were told a learning, those that followed a skill.

Counted anew each time from the labels as they stand, so that a label that comes late or is corrected counts at once. What
the counts prove is judged elsewhere.
"""

from dataclasses import dataclass
from datetime import datetime

from experience.episode import moment_text
from experience.store import SqliteStore

MOST_FOLLOWERS = 500


@dataclass(frozen=True, slots=True)
class Counts:
    """Runs by how they ended; a success that only the agent claims is unknown."""

    worked: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def known(self) -> int:
        """Runs whose end is known."""
        return self.worked + self.failed

    @property
    def total(self) -> int:
        """All of them."""
        return self.worked + self.failed + self.unknown


# Columns of a query over runs `e`, with what is said of each.
_ENDS = """
    coalesce(sum(v.success = 1 AND l.class <> 'self_claim'), 0), coalesce(sum(v.success = 0), 0), count(e.id)
"""
_LABELLED = "LEFT JOIN verdicts v ON v.episode_id = e.id LEFT JOIN labels l ON l.id = v.label_id"


def told_learnings(store: SqliteStore) -> dict[int, Counts]:
    """How the runs ended that were told each learning; a run by its newest record, deleted ones not at all."""
    sql = f"""
        SELECT t.learning_id, {_ENDS} FROM tellings t
        JOIN episodes e ON e.id = (SELECT max(id) FROM episodes WHERE namespace = t.namespace AND run_id = t.run_id)
        {_LABELLED} WHERE t.namespace = ? GROUP BY t.learning_id
    """
    return {id: _counts(*row) for id, *row in store.read(sql, (store.namespace,))}


def followed_skill(store: SqliteStore, name: str, since: datetime) -> Counts:
    """How the last runs ended, MOST_FOLLOWERS of them at most, that followed a skill and were recorded since a moment."""
    sql = f"""
        SELECT {_ENDS} FROM (
            SELECT episode_id FROM names WHERE namespace = ? AND kind = 'skills' AND name = ? ORDER BY episode_id DESC LIMIT ?
        ) f JOIN episodes e ON e.id = f.episode_id {_LABELLED}
        WHERE e.recorded_at >= ? AND (e.expires_at IS NULL OR e.expires_at > ?)
    """
    moments = moment_text(since), moment_text(store.now())
    return _counts(*store.read(sql, (store.namespace, name, MOST_FOLLOWERS, *moments))[0])


def _counts(worked: int, failed: int, total: int) -> Counts:
    return Counts(worked, failed, total - worked - failed)
