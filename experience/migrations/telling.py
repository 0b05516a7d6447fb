"""What runs were told."""

from sqlite_utils import Database

from experience.migrations import run


def m005_what_runs_are_told(db: Database) -> None:
    """Receipts of what runs were told: ids, never the words of a run."""
    run(
        db,
        """
        CREATE TABLE receipts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            run_id TEXT NOT NULL,
            agent TEXT NOT NULL,
            hash TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            contents TEXT NOT NULL,
            at TEXT NOT NULL,
            UNIQUE (namespace, run_id, hash)
        )
        """,
        # That there was a run, and nothing of it: what was told once cannot be told again, and that is said.
        """
        CREATE TABLE tombstones (
            id INTEGER PRIMARY KEY,
            namespace TEXT NOT NULL,
            recorded_at TEXT NOT NULL,
            deleted_at TEXT NOT NULL
        )
        """,
        # Derived: which episodes that can be recalled followed which skill.
        """
        CREATE TABLE followed (
            namespace TEXT NOT NULL,
            skill TEXT NOT NULL,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            PRIMARY KEY (namespace, skill, episode_id)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX followed_by_episode ON followed (episode_id)",
        """
        INSERT OR IGNORE INTO followed SELECT e.namespace, s.value, e.id FROM episodes e, json_each(e.skills) s
        WHERE e.id IN (SELECT rowid FROM terms)
        """,
    )
