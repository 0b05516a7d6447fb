"""Datasette shows a store as a page: every question runs, and nothing that only an index reads stands on it."""

import asyncio
import json
import sqlite3
from datetime import timedelta
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from experience import Episode, Learnings, Memory, Skill, SkillFolder, SkillLibrary, SqliteStore
from experience.backends.embedding import EmbeddingBackend
from experience.cli import main
from experience.exporting.datasette_page import HIDDEN, QUERIES, TABLES, metadata
from experience.learn.evidence import Citation
from experience.testing import HashEncoder

needs_datasette = pytest.mark.skipif(find_spec("datasette") is None, reason="the package datasette is not installed")
SKILL = Skill.new("runbook", "Deploys the site. Use when a release is ready.", "# Deploy\n\nBuild it, then ship it.\n")


@pytest.fixture
def full(store, clock, tmp_path):
    """Something in every table that the page shows."""
    memory = Memory(store, EmbeddingBackend(store, HashEncoder()))
    memory.record(Episode("deploy the site", "half", ("shell",), run_id="r1"))
    memory.record(
        Episode("deploy the site", "100% live", ("shell", "http"), ("runbook",), ("prod",), True, run_id="r1"),
        supersede=True,
    )
    memory.record(Episode("deploy the shop", "broke", ("shell", "shell"), ("runbook", "stray"), success=False))
    memory.record(Episode("bake bread", "done", ("oven",)))
    store.record(Episode("gone", "o", ("oven",), success=False), expires_at=clock() + timedelta(seconds=1))
    with SqliteStore(store.path, "other", clock=clock) as other:
        other.record(Episode("water the plants", "done", ("can",), success=True))
    library = SkillLibrary(store)
    library.approve(library.add_draft(SKILL, "distilled", Citation()).id, SkillFolder(tmp_path / "skills"), by="ada")
    learnings = Learnings(store)
    learnings.propose("The docs build needs Node 20", agent="scout")
    learnings.correct(1, "The docs build needs Node 20 or 22", agent="scout")
    learnings.propose("Bread burns at noon")
    learnings.confirm(3, by="ada")
    memory.refresh()
    clock.now += timedelta(days=1)
    return store


def pages(path, *addresses, answer=lambda response: response.json()):
    """What Datasette, in this process, answers at these addresses below the store's own."""
    from datasette.app import Datasette

    async def asked():
        site = Datasette([str(path)], metadata=metadata(path.stem))
        await site.invoke_startup()
        got = [await site.client.get(f"/{path.stem}{address}") for address in addresses]
        for database in site.databases.values():
            database.close()
        site.executor.shutdown()
        return got

    responses = asyncio.run(asked())
    assert [response.status_code for response in responses] == [200] * len(addresses)
    return [answer(response) for response in responses]


def rows(path, question, **parameters):
    given = "&".join(f"{name}={value}" for name, value in parameters.items())
    [found] = pages(path, f"/{question}.json?_shape=array&{given}")
    return found


@needs_datasette
def test_every_question_runs_on_a_store_with_data_and_on_an_empty_one(full, tmp_path):
    empty = tmp_path / "empty.db"
    SqliteStore(empty).close()
    for path, some in ((full.path, True), (empty, False)):
        answers = pages(path, *(f"/{name}.json?_shape=array" for name in QUERIES))
        assert [bool(answer) for answer in answers] == [some] * len(QUERIES)
        pages(path, "", *(f"/{name}" for name in (*QUERIES, *TABLES)), answer=lambda response: response.text)


@needs_datasette
def test_the_page_lists_what_people_read_and_describes_it(full):
    found, front = pages(full.path, ".json", "", answer=lambda response: response.text)
    shown = {table["name"] for table in json.loads(found)["tables"] if not table["hidden"]}

    assert shown == set(TABLES)
    assert "every namespace" in front
    for question in QUERIES.values():
        assert question["title"] in front
    answers = pages(
        full.path, *(f"/{name}.json?_shape=array" for name in QUERIES), answer=lambda response: response.text
    )
    assert "$base64" not in "".join(answers)  # as Datasette writes bytes
    assert "$base64" in pages(full.path, "/vectors.json", answer=lambda response: response.text)[0]


def test_every_table_and_column_of_a_store_is_described_or_hidden(full):
    db = sqlite3.connect(full.path)
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {table: {row[1] for row in db.execute(f"PRAGMA table_info({table})")} for table in TABLES}
    db.close()

    assert there - set(HIDDEN) == set(TABLES)
    assert not set(HIDDEN) & set(TABLES)
    for name, table in TABLES.items():
        assert set(table.get("columns", ())) <= columns[name], name
        assert {facet for facet in table.get("facets", ()) if isinstance(facet, str)} <= columns[name], name
    assert set(TABLES["episodes"]["columns"]) == columns["episodes"]


@needs_datasette
def test_questions_about_runs_leave_out_what_is_old_and_expired(full):
    everything = rows(full.path, "recent-runs")

    assert [(row["situation"], row["ended"]) for row in everything] == [
        ("water the plants", "worked"), ("bake bread", "unknown"), ("deploy the shop", "failed"), ("deploy the site", "worked"),
    ]  # fmt: skip
    assert [row["situation"] for row in rows(full.path, "recent-runs", namespace="other")] == ["water the plants"]
    assert [row["situation"] for row in rows(full.path, "search", word="LIVE")] == ["deploy the site"]
    assert [row["situation"] for row in rows(full.path, "search", word="%25", namespace="default")] == [
        "deploy the site"
    ]
    assert [row["situation"] for row in rows(full.path, "failed-runs", tool="shell")] == ["deploy the shop"]
    assert rows(full.path, "failed-runs", tool="oven") == []
    assert [row["situation"] for row in rows(full.path, "unlabelled-runs")] == ["bake bread"]


@needs_datasette
def test_questions_about_tools_and_skills_count_how_runs_ended(full):
    tools = {
        row["tool"]: [row[name] for name in ("runs", "worked", "failed", "unknown")]
        for row in rows(full.path, "failures-by-tool")
    }
    skills = {
        row["skill"]: [row[name] for name in ("state", "runs", "worked", "failed", "unknown")]
        for row in rows(full.path, "skills")
    }

    assert tools == {"shell": [2, 1, 1, 0], "http": [1, 1, 0, 0], "oven": [1, 0, 0, 1], "can": [1, 1, 0, 0]}
    assert skills == {"runbook": ["in use", 2, 1, 1, 0], "stray": ["not in the store", 1, 0, 1, 0]}
    [text] = rows(full.path, "skill-texts", skill="runbook")
    assert text["text"] == SKILL.text
    SkillLibrary(full).retire("runbook", SkillFolder("nowhere"), by="ada", reason="old")
    assert {row["skill"]: row["state"] for row in rows(full.path, "skills")}["runbook"] == "retired"


@needs_datasette
def test_learnings_stand_as_the_library_says(full):
    with full.write() as db:  # told to as many runs as it takes to lapse
        Learnings(full).propose("Lapses", agent="scout")
        [(event,)] = full.read("SELECT max(id) FROM learning_events")
        for number in range(20):
            db.execute("INSERT INTO tellings (learning_id, event_id, namespace, run_id, at) VALUES (4, ?, 'default', ?, ?)", (event, f"t{number}", "2026-01-01T00:00:00.000000Z"))  # fmt: skip
    stand = {one.id: one for one in Learnings(full).all()}
    found = {row["id"]: row for row in rows(full.path, "learnings")}

    assert found[4]["state"] == stand[4].state == "lapsed"
    assert found[3]["state"] == stand[3].state == "confirmed"
    assert found[2]["state"] == stand[2].state == "provisional"
    assert found[2]["runs_left"] == stand[2].runs_left
    assert (found[1]["corrected_by"], stand[1].corrected_by) == ("2", 2)
    assert {id: row["text"] for id, row in found.items()} == {id: one.text for id, one in stand.items()}


def test_the_command_writes_metadata_for_the_file_and_warns(full, tmp_path):
    done = CliRunner().invoke(main, ["--db", str(full.path), "export", "--format", "datasette-metadata"])
    full_text = done.stdout

    assert json.loads(full_text) == metadata("runs")
    assert f"datasette {full.path} -m metadata.json" in done.stderr
    assert "every namespace" in done.stderr
    for recorded in ("deploy the", "bread", "Node", "scout", "prod", "Build it"):
        assert recorded not in full_text


@needs_datasette
def test_counts_leave_out_what_a_run_was_before_it_grew(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        told = {"tools": ("sh",), "skills": ("ship",), "run_id": "r1"}
        store.record(Episode("Ship it", "No", success=False, **told))
        store.record(Episode("Ship it", "Yes", success=True, **told), supersede=True)

    for name in ("failures-by-tool", "skills"):
        [row] = rows(path, name)
        assert (row["runs"], row["failed"], row["worked"]) == (1, 0, 1)
