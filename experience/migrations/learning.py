"""Skills and learnings."""

from sqlite_utils import Database

from experience.migrations import run


def m003_skills(db: Database) -> None:
    """What was learned. Versions and drafts keep the exact bytes; runs are cited by id, and a citation may outlive its run."""
    run(
        db,
        # Every state a skill has been in, never changed: the last row of a name is how it stands.
        """
        CREATE TABLE skill_versions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            name TEXT NOT NULL,
            number INTEGER NOT NULL,
            content BLOB NOT NULL,
            origin TEXT NOT NULL,
            parent INTEGER,
            evidence TEXT NOT NULL,
            by TEXT NOT NULL,
            note TEXT NOT NULL,
            at TEXT NOT NULL,
            UNIQUE (namespace, name, number)
        )
        """,
        """
        CREATE TABLE skill_drafts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            content BLOB NOT NULL,
            base INTEGER,
            base_content BLOB,
            evidence TEXT NOT NULL,
            flag TEXT NOT NULL,
            note TEXT NOT NULL,
            made_at TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'rejected', 'replaced')),
            by TEXT NOT NULL,
            reason TEXT NOT NULL,
            decided_at TEXT
        )
        """,
        "CREATE INDEX skill_drafts_by_state ON skill_drafts (namespace, state, name)",
        # Each try to revise a skill, whatever came of it: the caps count these.
        """
        CREATE TABLE skill_attempts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            name TEXT NOT NULL,
            at TEXT NOT NULL
        )
        """,
        "CREATE INDEX skill_attempts_by_name ON skill_attempts (namespace, name)",
    )


def m004_learnings(db: Database) -> None:
    """Learnings as logs, and which runs were told them."""
    run(
        db,
        # A learning is its events: the last of them is how it stands, but for the runs that were told it since.
        """
        CREATE TABLE learnings (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            agent TEXT NOT NULL
        )
        """,
        "CREATE INDEX learnings_by_agent ON learnings (namespace, agent)",
        """
        CREATE TABLE learning_events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            learning_id INTEGER NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
            what TEXT NOT NULL,
            text TEXT NOT NULL,
            impact TEXT NOT NULL CHECK (impact IN ('low', 'medium', 'high')),
            state TEXT NOT NULL CHECK (state IN ('provisional', 'confirmed', 'rejected')),
            proposals INTEGER NOT NULL,
            runs_left INTEGER NOT NULL,
            run_id TEXT,
            by TEXT NOT NULL,
            note TEXT NOT NULL,
            at TEXT NOT NULL
        )
        """,
        "CREATE INDEX learning_events_by_learning ON learning_events (learning_id, id)",
        # Which learning stands in whose place, from when on, as long as it stands itself: because it corrects it, or because
        # it claims the same for more agents.
        """
        CREATE TABLE learning_corrections (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            learning_id INTEGER NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
            by_id INTEGER NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
            same INTEGER NOT NULL CHECK (same IN (0, 1)),
            at TEXT NOT NULL
        )
        """,
        "CREATE INDEX learning_corrections_by_learning ON learning_corrections (learning_id)",
        # A run that was told a learning and was then recorded; the event is the one that it used up a run of.
        """
        CREATE TABLE tellings (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            learning_id INTEGER NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
            event_id INTEGER NOT NULL REFERENCES learning_events (id) ON DELETE CASCADE,
            namespace TEXT NOT NULL,
            run_id TEXT,
            at TEXT NOT NULL,
            UNIQUE (learning_id, run_id)
        )
        """,
        "CREATE INDEX tellings_by_event ON tellings (event_id)",
        "CREATE INDEX tellings_by_run ON tellings (namespace, run_id) WHERE run_id IS NOT NULL",
    )
