"""The history of the schema. Read it top to bottom and you have the schema and how it came about.

A released migration is never edited; another is added, and a file of the older schema is kept among the tests.
"""

from sqlite_utils import Database, Migrations

from experience import schema_words


def m001_episodes_and_labels(db: Database) -> None:
    """The truth. Rows are only added or deleted, and ids are never given twice, since skills and receipts cite them."""
    _run(
        db,
        """
        CREATE TABLE episodes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            uid TEXT NOT NULL,
            run_id TEXT,
            situation TEXT NOT NULL,
            outcome TEXT NOT NULL,
            tools TEXT NOT NULL,
            skills TEXT NOT NULL,
            tags TEXT NOT NULL,
            started_at TEXT,
            steps INTEGER,
            tokens INTEGER,
            seconds REAL,
            money REAL,
            meta TEXT NOT NULL,
            digest TEXT NOT NULL,
            recorded_at TEXT NOT NULL,
            expires_at TEXT,
            UNIQUE (namespace, uid)
        )
        """,
        "CREATE INDEX episodes_by_namespace ON episodes (namespace, id)",
        "CREATE INDEX episodes_by_run ON episodes (namespace, run_id, id) WHERE run_id IS NOT NULL",
        "CREATE INDEX episodes_by_expiry ON episodes (namespace, expires_at) WHERE expires_at IS NOT NULL",
        # A label is a statement (value) or takes one back (withdraws).
        """
        CREATE TABLE labels (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            value INTEGER CHECK (value IN (0, 1)),
            withdraws INTEGER UNIQUE REFERENCES labels (id) ON DELETE CASCADE,
            class TEXT NOT NULL CHECK (class IN ('verifier', 'human', 'host', 'exit_code', 'self_claim')),
            evidence TEXT NOT NULL,
            by TEXT NOT NULL,
            at TEXT NOT NULL,
            CHECK ((value IS NULL) = (withdraws IS NOT NULL))
        )
        """,
        "CREATE INDEX labels_by_episode ON labels (episode_id)",
        "CREATE TABLE settings (namespace TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (namespace, key))",
    )


def m002_what_is_derived(db: Database) -> None:
    """What recall reads. All of it can be made again from the rows above."""
    _run(
        db,
        # The label that counts, kept so that a filter on success is one look-up.
        """
        CREATE TABLE verdicts (
            episode_id INTEGER PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
            success INTEGER NOT NULL,
            label_id INTEGER NOT NULL REFERENCES labels (id) ON DELETE CASCADE
        )
        """,
        # One row for each episode that can be recalled, cut by our own tokeniser and parted by spaces. FTS5's ascii
        # tokenizer takes every non-ASCII character as part of a word, and of ASCII what tokenchars names.
        """
        CREATE VIRTUAL TABLE terms USING fts5 (
            situation, outcome, names, tokenize = "ascii tokenchars '-._/\\:@~+#='"
        )
        """,
        # Vectors beside the name and width of their encoder. Their ids grow in the order of commits, so that a reader
        # knows what is new by the last one it saw.
        """
        CREATE TABLE vectors (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            namespace TEXT NOT NULL,
            encoder TEXT NOT NULL,
            width INTEGER NOT NULL,
            vector BLOB NOT NULL,
            UNIQUE (namespace, encoder, episode_id)
        )
        """,
        "CREATE INDEX vectors_by_episode ON vectors (episode_id)",
        # Drawn anew whenever vectors go from a namespace: a reader with another stamp looks again at what is left.
        "CREATE TABLE removals (namespace TEXT PRIMARY KEY, stamp INTEGER NOT NULL)",
    )


def m003_skills(db: Database) -> None:
    """What was learned. Versions and drafts keep the exact bytes; runs are cited by id, and a citation may outlive its run."""
    _run(
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
    _run(
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


def m005_what_runs_are_told(db: Database) -> None:
    """Receipts of what runs were told: ids, never the words of a run."""
    _run(
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


def m006_words(db: Database) -> None:
    """A keyword index of our own in place of FTS5's, which looks a row up for every place where a word stands."""
    _run(db, *schema_words.STATEMENTS)


_HISTORY = (
    m001_episodes_and_labels,
    m002_what_is_derived,
    m003_skills,
    m004_learnings,
    m005_what_runs_are_told,
    m006_words,
)

_migrations = Migrations("hardwon")
for _step in _HISTORY:
    _migrations()(_step)


def newer(db: Database) -> list[str]:
    """Migrations that the file has had and this release does not know."""
    return sorted(_applied(db) - {step.__name__ for step in _HISTORY})


def pending(db: Database) -> bool:
    """Whether the file lacks a migration of this release."""
    return bool({step.__name__ for step in _HISTORY} - _applied(db))


def migrate(db: Database) -> None:
    """Bring the file to this release's schema; call it inside a BEGIN IMMEDIATE transaction.

    By itself it would begin a deferred one, which fails with "database is locked" when processes open a fresh file
    together; inside another it only sets savepoints.
    """
    _migrations.apply(db)


def _run(db: Database, *statements: str) -> None:
    for statement in statements:
        db.execute(statement)


def _applied(db: Database) -> set[str]:
    return {migration.name for migration in _migrations.applied(db)}
