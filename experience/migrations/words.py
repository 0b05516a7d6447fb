"""What recall by keyword reads."""

from sqlite_utils import Database

from experience.migrations import run


def m009_words(db: Database) -> None:
    """A keyword index of our own in place of FTS5's, which looks a row up for every place where a word stands."""
    run(
        db,
        # A namespace by its number, which is never given twice.
        "CREATE TABLE word_spaces (number INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL UNIQUE)",
        # One row for each episode that can be recalled, cut by our own tokeniser and parted by spaces.
        """
        CREATE TABLE words (
            episode_id INTEGER PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
            space INTEGER NOT NULL REFERENCES word_spaces (number),
            position INTEGER NOT NULL,
            situation TEXT NOT NULL,
            outcome TEXT NOT NULL,
            names TEXT NOT NULL,
            UNIQUE (space, position)
        )
        """,
        # A stretch of positions whose words have been turned into lists, with how many documents it still has.
        """
        CREATE TABLE segments (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            space INTEGER NOT NULL REFERENCES word_spaces (number),
            first INTEGER NOT NULL,
            room INTEGER NOT NULL,
            living INTEGER NOT NULL,
            tokens INTEGER NOT NULL,
            UNIQUE (space, first)
        )
        """,
        # By position: the episodes (int64) and their lengths (uint32); zeros where there is none. Apart, so that
        # the counts above can change without these being written again.
        "CREATE TABLE segment_documents (segment INTEGER PRIMARY KEY, ids BLOB NOT NULL, lengths BLOB NOT NULL)",
        # Words, sorted, some to a row: which (parted by spaces), where the list of each ends (uint32), and the lists: positions
        # modulo 65,536 (uint16), and how often the word is said there in halves (uint8).
        """
        CREATE TABLE postings (
            id INTEGER PRIMARY KEY,
            segment INTEGER NOT NULL,
            first TEXT NOT NULL,
            last TEXT NOT NULL,
            words TEXT NOT NULL,
            ends BLOB NOT NULL,
            places BLOB NOT NULL,
            weights BLOB NOT NULL,
            UNIQUE (segment, first)
        )
        """,
        """
        INSERT INTO word_spaces (namespace)
        SELECT DISTINCT namespace FROM episodes WHERE id IN (SELECT rowid FROM terms) ORDER BY namespace
        """,
        """
        INSERT INTO words
        SELECT e.id, s.number, row_number() OVER (PARTITION BY e.namespace ORDER BY e.id) - 1, t.situation, t.outcome, t.names
        FROM terms t JOIN episodes e ON e.id = t.rowid JOIN word_spaces s USING (namespace)
        """,
        "DROP TABLE terms",
    )
