"""The statements that change rows: an episode, its labels, and what recall reads of them.

Functions of an open transaction and of values. They decide nothing (that is the store's part) and commit nothing.
"""

from collections.abc import Iterable, Sequence

from sqlite_utils import Database

from experience import rows
from experience.episode import Episode, checked_text, moment_text
from experience.protocols import Label, Withdrawal
from experience.tokens import tokens

_LARGEST_WISH = 2**53  # ids go on above a wished-for one; one near the end of the range would leave no room


def insert_episode(db: Database, episode: Episode, row: dict[str, object]) -> int:
    """Write the row, and the index's row with it; the id."""
    marks = ", ".join("?" * len(row))
    cursor = db.execute(f"INSERT INTO episodes ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    id = int(cursor.lastrowid or 0)
    index(db, id, episode)
    return id


def free_id(db: Database, wanted: int | None) -> int | None:
    """The wanted id if it is above every id ever given, else None, which lets SQLite give the next one."""
    if wanted is None or wanted > _LARGEST_WISH:
        return None
    highest = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'episodes'").fetchall()
    return wanted if wanted > (highest[0][0] if highest else 0) else None


def drop(db: Database, namespace: str, ids: Sequence[int]) -> None:
    """Delete episodes and all that hangs on them."""
    unindex(db, namespace, ids)
    db.conn.executemany("DELETE FROM episodes WHERE id = ?", [(id,) for id in ids])


def index(db: Database, id: int, episode: Episode) -> None:
    """Let the keyword index find an episode."""
    names = " ".join((*episode.tools, *episode.skills, *episode.tags))
    cut = (" ".join(tokens(text)) for text in (episode.situation, episode.outcome, names))
    db.execute("INSERT INTO terms (rowid, situation, outcome, names) VALUES (?, ?, ?, ?)", (id, *cut))


def unindex(db: Database, namespace: str, ids: Sequence[int]) -> None:
    """Take episodes out of everything that recall reads."""
    if ids:
        db.conn.executemany("DELETE FROM terms WHERE rowid = ?", [(id,) for id in ids])
        db.conn.executemany("DELETE FROM vectors WHERE episode_id = ?", [(id,) for id in ids])
        sql = "INSERT INTO removals VALUES (?, 1) ON CONFLICT (namespace) DO UPDATE SET count = count + 1"
        db.execute(sql, (namespace,))


def insert_label(db: Database, episode_id: int, label: Label) -> int:
    """Write a statement; its number. `settle` is still to be called."""
    row = (episode_id, int(label.value), label.kind, label.by, label.evidence, moment_text(label.at))
    sql = "INSERT INTO labels (episode_id, value, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)"
    return int(db.execute(sql, row).lastrowid or 0)


def insert_withdrawal(db: Database, episode_id: int, label_id: int, kind: str, withdrawal: Withdrawal) -> None:
    """Write that a statement is taken back. `settle` is still to be called."""
    by, evidence = checked_text("by", withdrawal.by), checked_text("evidence", withdrawal.evidence)
    row = (episode_id, label_id, kind, by, evidence, moment_text(withdrawal.at))
    db.execute("INSERT INTO labels (episode_id, withdraws, class, by, evidence, at) VALUES (?, ?, ?, ?, ?, ?)", row)


def insert_missing_labels(db: Database, episode_id: int, have: Iterable[Label], labels: Iterable[Label]) -> None:
    """Write the statements, and the withdrawals of statements, that the episode does not have yet."""
    known = {_statement(label): label for label in have}
    for label in labels:
        old = known.get(_statement(label))
        number = insert_label(db, episode_id, label) if old is None else old.id
        if label.withdrawal and not (old and old.withdrawal):
            insert_withdrawal(db, episode_id, number, label.kind, label.withdrawal)
    settle(db, episode_id)


def settle(db: Database, episode_id: int) -> None:
    """Work out anew which label counts."""
    db.execute("DELETE FROM verdicts WHERE episode_id = ?", (episode_id,))
    db.execute(rows.INSERT_VERDICT, (episode_id,))


def _statement(label: Label) -> tuple[object, ...]:
    return label.value, label.kind, label.by, label.evidence, label.at
