"""What Datasette has to be told of a store to show it as a page: titles, questions ready to ask, what each column holds.

Made for `datasette STORE -m metadata.json`, which only reads. Datasette shows the whole file, every namespace of it and what
has expired too; the questions here leave expired and superseded runs out. Tables that only an index reads are hidden, which
is no protection: it keeps them off the page. Nothing of what is recorded goes into this.
"""

from typing import Any

_DESCRIPTION = (
    "What agents' runs did, what was said of them, and what was learned. This shows the whole file: every namespace, and "
    "what has expired until it is deleted. Texts are as agents recorded them: data, not instructions."
)

# Of no use to a reader: indexes, vectors and numbers of our own.
HIDDEN = (
    "_sqlite_migrations", "codebooks", "codes", "names", "postings", "removals", "segment_documents", "segments", "settings", "spaces",
    "sqlite_sequence", "sqlite_stat1", "sqlite_stat4", "vectors", "verdicts", "word_spaces", "words",
)  # fmt: skip

_EPISODES = {
    "id": "Number in this file, as the command takes it",
    "namespace": "Whose run it is",
    "uid": "Name that stays the same in other files",
    "run_id": "The host's name for the run; of several rows with one the last counts",
    "situation": "What was asked",
    "outcome": "The final account",
    "tools": "Names in the order of calls, JSON",
    "skills": "Skills that the run followed, JSON",
    "tags": "JSON",
    "started_at": "UTC",
    "steps": "Turns taken",
    "tokens": "Input and output together",
    "seconds": "Wall-clock time",
    "money": "In the host's own currency",
    "meta": "Anything else, JSON",
    "digest": "SHA-256 of what happened",
    "recorded_at": "UTC",
    "expires_at": "From then on no command shows it",
}

TABLES: dict[str, dict[str, Any]] = {
    "episodes": {
        "title": "Runs",
        "description": "One row a record, older versions of a run too. Whether a run worked stands in labels.",
        "columns": _EPISODES,
        "facets": ["namespace", {"array": "tools"}, {"array": "skills"}, {"array": "tags"}],
        "sort_desc": "id",
        "label_column": "situation",
        "size": 25,
    },
    "labels": {
        "title": "Who said whether a run worked",
        "description": "One row a statement, or one that takes a statement back. The latest of the best class counts: verifier, human, host, exit_code, self_claim.",
        "columns": {
            "value": "1 worked, 0 failed; empty where the row takes another back",
            "withdraws": "The statement that this takes back",
            "class": "Who can say so",
            "evidence": "Why",
            "by": "Who said so",
            "at": "UTC",
        },
        "facets": ["class", "value", "by"],
        "sort_desc": "id",
    },
    "skill_versions": {
        "title": "Versions of skills",
        "description": "Every approved text of a skill; the highest number is how it stands. The question skill-texts shows the texts.",
        "columns": {
            "content": "SKILL.md, byte for byte",
            "origin": "How it came about; retired: taken out of use",
            "parent": "The version that it came from",
            "evidence": "The runs it was built on, JSON",
            "by": "Who approved it",
            "note": "Why",
        },
        "facets": ["namespace", "name", "origin"],
        "sort_desc": "id",
        "label_column": "name",
    },
    "skill_drafts": {
        "title": "Drafts of skills",
        "description": "Waiting for a person, or decided about.",
        "columns": {
            "content": "SKILL.md as it would be",
            "base_content": "The text that it changes",
            "evidence": "The runs it was built on, JSON",
            "flag": "What a revision is to mend, JSON",
        },
        "facets": ["namespace", "state", "kind"],
        "sort_desc": "id",
        "label_column": "name",
    },
    "skill_attempts": {"title": "Tries to revise a skill", "description": "Counted, since a skill may be revised twice a day."},
    "learnings": {
        "title": "Learnings",
        "description": "Whose each is; what it says, and how it stands, is told by the question of the same name.",
        "columns": {"agent": "Whose it is; empty: every agent's"},
        "facets": ["namespace", "agent"],
        "sort_desc": "id",
    },
    "learning_events": {
        "title": "What happened to learnings",
        "description": "One row an event, and how the learning stood after it.",
        "columns": {"runs_left": "How many runs may be told it before it lapses", "proposals": "How often it was found"},
        "facets": ["what", "state", "impact"],
        "sort_desc": "id",
        "label_column": "text",
    },
    "learning_corrections": {
        "title": "Which learning is told in whose place",
        "columns": {"by_id": "The learning that is told", "same": "1 where it claims the same for more agents"},
    },
    "tellings": {"title": "Runs that were told a learning", "facets": ["namespace"], "sort_desc": "id"},
    "receipts": {
        "title": "What runs were told",
        "description": "No words: a hash of the text, its size, and what went in by number.",
        "columns": {"hash": "SHA-256 of the text", "contents": "What went in, JSON", "bytes": "Size of the text"},
        "facets": ["namespace", "agent"],
        "sort_desc": "id",
    },
    "tombstones": {
        "title": "Deleted runs",
        "description": "That there was a run, and nothing of it.",
        "facets": ["namespace"],
        "sort_desc": "id",
    },
}  # fmt: skip

# Times are text with microseconds; SQLite's own has milliseconds, which order alike.
_STANDS = """(e.expires_at IS NULL OR e.expires_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
  AND (:namespace = '' OR e.namespace = :namespace)"""
_NEWEST = """NOT EXISTS (SELECT 1 FROM episodes later
    WHERE later.namespace = e.namespace AND later.run_id = e.run_id AND later.id > e.id)"""
_RUNS = f"""SELECT e.id, e.namespace, e.recorded_at,
  CASE d.success WHEN 1 THEN 'worked' WHEN 0 THEN 'failed' ELSE 'unknown' END AS ended, l.class AS says,
  e.situation, e.tools, e.skills, e.outcome, e.run_id
FROM episodes e LEFT JOIN verdicts d ON d.episode_id = e.id LEFT JOIN labels l ON l.id = d.label_id
WHERE {_STANDS}
  AND {_NEWEST}"""
_LATEST_100 = "\nORDER BY e.id DESC LIMIT 100"
_COUNTS = """count(e.id) AS runs, coalesce(sum(d.success = 1), 0) AS worked, coalesce(sum(d.success = 0), 0) AS failed,
  coalesce(sum(e.id IS NOT NULL AND d.success IS NULL), 0) AS unknown"""
_LAPSED = "e.state = 'provisional' AND e.runs_left <= (SELECT count(*) FROM tellings WHERE event_id = e.id)"


def _asked(title: str, description: str, sql: str, *more: str) -> dict[str, Any]:
    return {
        "title": title,
        "description": f"{description} A namespace, where one is given, is the only one looked at.",
        "sql": sql,
        "params": [*more, "namespace"],
        "hide_sql": True,
    }


QUERIES = {
    "recent-runs": _asked("Recent runs", "The last hundred recorded.", f"{_RUNS}{_LATEST_100}"),
    "search": _asked(
        "Runs that hold a word",
        "The last hundred whose situation or outcome holds it, letter for letter. By meaning: experience recall.",
        f"{_RUNS}\n  AND (instr(lower(e.situation), lower(:word)) OR instr(lower(e.outcome), lower(:word))){_LATEST_100}",
        "word",
    ),
    "failed-runs": _asked(
        "Runs that failed",
        "The last hundred; those that used a tool where one is given.",
        f"""{_RUNS}
  AND d.success = 0 AND (:tool = '' OR EXISTS (SELECT 1 FROM json_each(e.tools) WHERE value = :tool)){_LATEST_100}""",
        "tool",
    ),
    "failures-by-tool": _asked(
        "Failures by tool",
        "How the runs ended that used each tool. That a tool was used does not mean that it is to blame.",
        f"""SELECT n.namespace, n.name AS tool, {_COUNTS}
FROM names n JOIN episodes e ON e.id = n.episode_id LEFT JOIN verdicts d ON d.episode_id = e.id
WHERE n.kind = 'tools' AND {_STANDS} AND {_NEWEST}
GROUP BY n.namespace, n.name ORDER BY failed DESC, runs DESC, tool LIMIT 200""",
    ),
    "unlabelled-runs": _asked(
        "Runs of which nobody has said whether they worked",
        "The last hundred. Say so with: experience label ID --success (or --failure).",
        f"{_RUNS}\n  AND d.success IS NULL{_LATEST_100}",
    ),
    "skills": _asked(
        "Skills, and how the runs ended that followed them",
        "Counts only. Whether a skill is to blame is told by: experience skills health.",
        f"""WITH known AS (SELECT namespace, name FROM skill_versions UNION SELECT namespace, name FROM names WHERE kind = 'skills')
SELECT k.namespace, k.name AS skill, v.number AS version,
  CASE WHEN v.origin IS NULL THEN 'not in the store' WHEN v.origin = 'retired' THEN 'retired' ELSE 'in use' END AS state, {_COUNTS}
FROM known k
LEFT JOIN skill_versions v ON v.namespace = k.namespace AND v.name = k.name AND v.number = (
  SELECT max(number) FROM skill_versions WHERE namespace = k.namespace AND name = k.name)
LEFT JOIN names n ON n.namespace = k.namespace AND n.kind = 'skills' AND n.name = k.name
LEFT JOIN episodes e ON e.id = n.episode_id AND {_STANDS} AND {_NEWEST}
LEFT JOIN verdicts d ON d.episode_id = e.id
WHERE :namespace = '' OR k.namespace = :namespace
GROUP BY k.namespace, k.name ORDER BY failed DESC, runs DESC, skill""",
    ),
    "skill-texts": _asked(
        "Texts of skills",
        "Every version of one skill, or of all, the newest first.",
        """SELECT namespace, name AS skill, number AS version, origin, by, note, at, CAST(content AS TEXT) AS text
FROM skill_versions WHERE (:skill = '' OR name = :skill) AND (:namespace = '' OR namespace = :namespace)
ORDER BY id DESC LIMIT 100""",
        "skill",
    ),
    "learnings": _asked(
        "Learnings as they stand",
        "Which of those that correct one another is told is worked out by: experience learn list.",
        f"""SELECT l.id, l.namespace, l.agent, e.text, e.impact, CASE WHEN {_LAPSED} THEN 'lapsed' ELSE e.state END AS state,
  CASE e.state WHEN 'provisional' THEN max(e.runs_left - (SELECT count(*) FROM tellings WHERE event_id = e.id), 0) END AS runs_left,
  e.proposals, (SELECT group_concat(DISTINCT by_id) FROM learning_corrections WHERE learning_id = l.id) AS corrected_by, e.at
FROM learnings l JOIN learning_events e ON e.id = (SELECT max(id) FROM learning_events WHERE learning_id = l.id)
WHERE :namespace = '' OR l.namespace = :namespace
ORDER BY l.id DESC LIMIT 500""",
    ),
}


def metadata(database: str) -> dict[str, Any]:
    """Datasette's metadata for a store that it calls `database`: the file's name without its ending."""
    tables = {**{name: {"hidden": True} for name in HIDDEN}, **TABLES}
    return {
        "title": "Experience of agents",
        "description": _DESCRIPTION,
        "databases": {database: {"description": _DESCRIPTION, "tables": tables, "queries": QUERIES}},
    }
