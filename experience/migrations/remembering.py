"""Episodes and labels, and what recall reads of them."""

from sqlite_utils import Database

from experience.migrations import run


def m001_episodes_and_labels(db: Database) -> None:
    """The truth. Rows are only added or deleted, and ids are never given twice, since skills and receipts cite them."""
    run(
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
    run(
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


def m006_what_filters_look_up(db: Database) -> None:
    """Names and times, so that what passes a filter is found without looking at all there is."""
    run(
        db,
        # Tools, skills and tags of each episode that can be recalled. No reference to episodes: with one, deleting would look
        # through the whole table, which is not ordered by episode.
        """
        CREATE TABLE names (
            namespace TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('tools', 'skills', 'tags')),
            name TEXT NOT NULL,
            episode_id INTEGER NOT NULL,
            PRIMARY KEY (namespace, kind, name, episode_id)
        ) WITHOUT ROWID
        """,
        *(
            f"""
            INSERT OR IGNORE INTO names SELECT e.namespace, '{kind}', n.value, e.id FROM episodes e, json_each(e.{kind}) n
            WHERE e.id IN (SELECT rowid FROM terms)
            """
            for kind in ("tools", "skills", "tags")
        ),
        "DROP TABLE followed",
        "CREATE INDEX episodes_by_time ON episodes (namespace, coalesce(started_at, recorded_at))",
        "CREATE INDEX verdicts_by_success ON verdicts (success, episode_id)",
    )


def m007_spaces(db: Database) -> None:
    """Vectors by their space, with a hash of what was embedded."""
    run(
        db,
        # What one encoder makes of one namespace: vectors of one space are compared with each other and with nothing else.
        """
        CREATE TABLE spaces (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            namespace TEXT NOT NULL,
            encoder TEXT NOT NULL,
            width INTEGER NOT NULL,
            UNIQUE (namespace, encoder)
        )
        """,
        "INSERT INTO spaces (namespace, encoder, width) SELECT DISTINCT namespace, encoder, width FROM vectors GROUP BY 1, 2",
        "ALTER TABLE vectors RENAME TO older_vectors",
        # `text` is a hash of what was embedded: equal texts are embedded once. Ids grow in the order of commits, so that a
        # reader knows what is new by the last one it saw.
        """
        CREATE TABLE vectors (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            space INTEGER NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
            episode_id INTEGER NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
            text INTEGER,
            vector BLOB NOT NULL,
            UNIQUE (space, episode_id)
        )
        """,
        """
        INSERT INTO vectors (id, space, episode_id, vector) SELECT v.id, s.id, v.episode_id, v.vector
        FROM older_vectors v JOIN spaces s USING (namespace, encoder) WHERE length(v.vector) = 4 * s.width ORDER BY v.id
        """,
        "DROP TABLE older_vectors",
        "CREATE INDEX vectors_by_episode ON vectors (episode_id)",
        "CREATE INDEX vectors_by_space ON vectors (space)",
        "CREATE INDEX vectors_by_text ON vectors (space, text) WHERE text IS NOT NULL",
    )


def m008_codes(db: Database) -> None:
    """Vectors of large spaces in short."""
    run(
        db,
        # Vectors of a large space in short: which are worth a look. A row holds the codes of some thousand vectors, one
        # after the other, with their ids and their episodes' beside them.
        """
        CREATE TABLE codebooks (
            space INTEGER PRIMARY KEY REFERENCES spaces (id) ON DELETE CASCADE,
            recipe TEXT NOT NULL,
            trained_on INTEGER NOT NULL,
            codebook BLOB NOT NULL
        )
        """,
        """
        CREATE TABLE codes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            space INTEGER NOT NULL REFERENCES codebooks (space) ON DELETE CASCADE,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            vectors BLOB NOT NULL,
            episodes BLOB NOT NULL,
            codes BLOB NOT NULL
        )
        """,
        "CREATE INDEX codes_by_first ON codes (space, first)",
    )
