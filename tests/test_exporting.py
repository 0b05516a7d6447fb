"""What goes out to other tools: valid by their own standards, and nothing in it that is not this namespace's own."""

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from strategies import episodes

from experience import Episode, InvalidInput, Memory, MissingPackage, SqliteStore
from experience.backends.embedding import EmbeddingBackend
from experience.cli import main
from experience.exporting.atif import atif_lines
from experience.exporting.llm_collection import model_id, write_collection
from experience.exporting.table import COLUMNS, csv_lines, harmless
from experience.testing import HashEncoder
from experience.transfer import export_lines

needs_atif = pytest.mark.skipif(find_spec("atif") is None, reason="the package atif is not installed")
needs_llm = pytest.mark.skipif(find_spec("llm") is None, reason="the package llm is not installed")


@pytest.fixture
def full(store, clock):
    """A run that grew, what was said of it and taken back, one of which nobody has said anything, one that expires."""
    store.record(Episode("deploy", "half", ("shell",), run_id="r1"))
    grown = Episode(
        "deploy", "live", ("shell", "shell", "http_get"), ("runbook",), ("prod",), True, run_id="r1", started_at=clock(),
        meta={"agent": "scout", "model": "m-1", "deep": {"a": [1, None]}},
    )  # fmt: skip
    id = store.record(grown, by="ada", supersede=True).id
    store.add_label(id, False, "human", "eve", "=1+1")
    store.record(Episode("bake", ""))
    store.record(Episode("gone", "o"), expires_at=clock() + timedelta(seconds=1))
    clock.now += timedelta(days=1)
    return store


@pytest.fixture
def command(path, monkeypatch):
    monkeypatch.setenv("EXPERIENCE_DB", str(path))

    def call(*arguments, code=0):
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return call


def rows_of(lines):
    return list(csv.DictReader(io.StringIO("".join(lines), newline="")))


def read_trajectory(data):
    """What any reader of ATIF finds, in a few lines."""
    steps = data["steps"]
    asked = next((step["message"] for step in steps if step["source"] == "user"), None)
    calls = [call["function_name"] for step in steps for call in step.get("tool_calls") or ()]
    account = [step["message"] for step in steps if step["source"] == "agent"][-1]
    return asked, tuple(calls), account


# -- ATIF ----------------------------------------------------------------------------------------------------------------


@needs_atif
def test_trajectories_are_valid_and_say_what_is_known(full):
    from atif import Trajectory

    lines = list(map(json.loads, atif_lines(full)))
    for line in lines:
        Trajectory.model_validate(line)
    first, grown, bake = lines

    assert read_trajectory(grown) == ("deploy", ("shell", "shell", "http_get"), "live")
    assert grown["agent"] == {"name": "scout", "version": "unknown", "model_name": "m-1"}
    assert grown["steps"][0]["timestamp"] == grown["extra"]["hardwon"]["started_at"]
    assert grown["session_id"] == first["session_id"] == "r1"
    assert grown["extra"]["hardwon"]["supersedes"] == first["trajectory_id"]
    assert grown["extra"]["hardwon"]["success"] is False
    assert [label["value"] for label in grown["extra"]["hardwon"]["labels"]] == [True, False]
    assert (grown["extra"]["hardwon"]["skills"], grown["extra"]["hardwon"]["tags"]) == (["runbook"], ["prod"])
    assert read_trajectory(bake) == ("bake", (), "")
    assert bake["agent"] == {"name": "unknown", "version": "unknown"}


@needs_atif
@given(episodes)
def test_any_episode_makes_a_valid_trajectory_that_gives_it_back(episode):
    from atif import Trajectory

    with SqliteStore(":memory:") as store:
        store.record(episode)
        [line] = atif_lines(store)
    data = json.loads(line)
    Trajectory.model_validate(data)

    assert "\n" not in line
    assert read_trajectory(data) == (episode.situation, episode.tools, episode.outcome)
    ours = data["extra"]["hardwon"]
    assert (ours["skills"], ours["tags"], ours["success"]) == (
        list(episode.skills),
        list(episode.tags),
        episode.success,
    )


# -- CSV -----------------------------------------------------------------------------------------------------------------


def test_csv_has_a_row_a_record_and_json_in_its_lists(full):
    rows = rows_of(csv_lines(full))

    assert [row["situation"] for row in rows] == ["deploy", "deploy", "bake"]
    assert [row["superseded"] for row in rows] == ["true", "false", "false"]
    grown = rows[1]
    assert json.loads(grown["tools"]) == ["shell", "shell", "http_get"]
    assert (grown["success"], grown["label_class"], grown["label_by"]) == ("false", "human", "eve")
    assert grown["label_evidence"] == "'=1+1"
    assert json.loads(grown["labels"])[1]["evidence"] == "=1+1"
    assert json.loads(grown["meta"])["deep"] == {"a": [1, None]}
    assert grown["supersedes"] == rows[0]["uid"]
    assert (rows[2]["run_id"], rows[2]["success"], rows[2]["label_by"], rows[2]["started_at"]) == ("", "", "", "")
    assert rows_of(csv_lines(full, raw=True))[1]["label_evidence"] == "=1+1"


@given(episodes, st.booleans())
def test_any_episode_comes_back_out_of_a_row(episode, raw):
    with SqliteStore(":memory:") as store:
        store.record(episode)
        lines = list(csv_lines(store, raw=raw))
    [row] = rows_of(lines)
    if not raw:
        row = {name: cell.removeprefix("'") for name, cell in row.items()}

    assert all(line.endswith("\r\n") for line in lines)
    assert (
        Episode(
            row["situation"],
            row["outcome"],
            *(tuple(json.loads(row[name])) for name in ("tools", "skills", "tags")),
            success=json.loads(row["success"] or "null"),
        )
        == episode
    )


@given(
    st.text(max_size=8)
    | st.sampled_from(["=1", "+1", "-1", "@a", "\t=1", " =1", "\r1", "'=1", "''", "＝1", "", "a=1"])
    | st.text("\u200b\ufeff\u2060\u180e\u202e\u200d\ufe0f\x00 =+-@'a", max_size=5)
)
def test_no_cell_begins_with_what_a_spreadsheet_carries_out_and_each_comes_back(cell):
    safe = harmless(cell)

    seen = re.sub("[\u200b\ufeff\u2060\u180e\u202e\u200d\ufe0f\x00]", "", safe)
    assert not seen.strip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not safe.startswith(("\t", "\r"))
    assert safe.removeprefix("'") == cell
    assert safe in {cell, f"'{cell}"}


def test_a_formula_that_an_agent_recorded_is_harmless_unless_asked_for_raw(command, tmp_path):
    command("record", '=HYPERLINK("http://x.example","click")', "--outcome", "@SUM(A1)", "--tool", "=cmd")
    command("export", tmp_path / "safe.csv", "--format", "csv")
    command("export", tmp_path / "raw.csv", "--format", "csv", "--raw")
    safe, raw = ((tmp_path / name).read_bytes().decode() for name in ("safe.csv", "raw.csv"))

    assert rows_of([safe])[0]["situation"].startswith("'=HYPERLINK")
    assert rows_of([safe])[0]["outcome"] == "'@SUM(A1)"
    assert rows_of([safe])[0]["tools"] == '["=cmd"]'
    assert rows_of([raw])[0]["situation"].startswith("=HYPERLINK")
    assert "--raw is for --format csv" in command("export", "--raw", code=2).stderr


def test_an_empty_store_makes_an_empty_table(command, path):
    SqliteStore(path).close()

    result = command("export", "--format", "csv")
    assert (result.stdout.strip(), result.stderr) == (",".join(COLUMNS), "exported 0 records\n")
    assert command("export", "--format", "atif").stdout == ""


# -- a collection of llm ---------------------------------------------------------------------------------------------------


@pytest.fixture
def embedded(store):
    """Four runs that have vectors, one of them an older version, and one that has none."""
    memory = Memory(store, EmbeddingBackend(store, HashEncoder()))
    for situation in ("deploy the site", "deploy the shop", "bake bread"):
        memory.record(Episode(situation, f"{situation}: done", ("shell",), success=True))
    memory.record(Episode("water the plants", "half", run_id="w"))
    memory.refresh()
    memory.store.record(Episode("water the plants", "done", run_id="w"), supersede=True)
    return store


def llm_command(tmp_path, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "llm", *map(str, arguments)], capture_output=True, text=True, check=False,
        env={**os.environ, "LLM_USER_PATH": str(tmp_path / "llm"), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_llm
def test_the_command_llm_finds_similar_runs_in_a_collection(embedded, tmp_path):
    file = tmp_path / "runs-llm.db"
    done = write_collection(embedded, file)
    listed = llm_command(tmp_path, "collections", "list", "-d", file)
    [nearest, *others] = map(json.loads, llm_command(tmp_path, "similar", "default", "1", "-d", file).splitlines())

    assert (done.vectors, done.without) == (3, 1)
    assert "default:" in listed
    assert "3 embeddings" in listed
    assert (nearest["id"], nearest["content"]) == ("2", "deploy the shop")
    assert nearest["metadata"]["outcome"] == "deploy the shop: done"
    assert nearest["metadata"]["uid"] == embedded.get(2).uid
    assert [one["id"] for one in others] == ["3"]
    cosine = HashEncoder().encode(["deploy the site"])[0] @ HashEncoder().encode(["deploy the shop"])[0]
    assert nearest["score"] == pytest.approx(cosine, abs=1e-5)


_PLUGIN = """
import llm
from experience.backends.encoders import open_encoder

class Model(llm.EmbeddingModel):
    model_id = "sentence-transformers/all-MiniLM-L6-v2"
    def embed_batch(self, items):
        return [vector.tolist() for vector in open_encoder().encode(list(items))]

@llm.hookimpl
def register_embedding_models(register):
    register(Model())
"""


@needs_llm
def test_the_command_llm_finds_runs_by_text_where_it_knows_the_model(command, path, tmp_path):
    with Memory.open(path) as memory:
        memory.record(Episode("Publish the docs site", "Live"))
        memory.record(Episode("Bake bread for the office", "Burnt"))
        memory.refresh()
    said = command("export", tmp_path / "out.db", "--format", "llm-collection").stderr
    # In the place of the plugin llm-sentence-transformers, which would fetch its weights: the same model, as we have it.
    plugin = tmp_path / "plugin"
    (plugin / "stand_in-1.dist-info").mkdir(parents=True)
    (plugin / "stand_in.py").write_text(_PLUGIN)
    (plugin / "stand_in-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: stand-in\nVersion: 1\n")
    (plugin / "stand_in-1.dist-info" / "entry_points.txt").write_text("[llm]\nstand_in = stand_in\n")
    found = llm_command(
        tmp_path, "similar", "default", "-d", tmp_path / "out.db", "-c", "put the documentation online",
        PYTHONPATH=os.pathsep.join([str(plugin), str(Path(__file__).parent.parent)]),
    )  # fmt: skip

    assert said == "exported 2 vectors to the collection default of the model sentence-transformers/all-MiniLM-L6-v2\n"
    assert json.loads(found.splitlines()[0])["content"] == "Publish the docs site"


@needs_llm
def test_a_collection_has_the_tables_that_llm_makes_and_takes_more(embedded, tmp_path):
    import llm
    from sqlite_utils import Database

    class Named(llm.EmbeddingModel):
        model_id = "any"

        def embed_batch(self, items):
            return [[1.0] * HashEncoder().width for _ in items]

    file = tmp_path / "c.db"
    write_collection(embedded, file)
    db, fresh = Database(file), Database(tmp_path / "fresh.db")
    llm.Collection("default", fresh, model=Named())
    assert db.schema == fresh.schema
    ours = llm.Collection("default", db, model=Named())
    ours.embed("new", "deploy the site")  # llm knows the content again, by its hash
    assert ours.count() == 3
    ours.embed("new", "something else")
    assert ours.count() == 4
    vector = embedded.read("SELECT vector FROM vectors WHERE episode_id = 1")[0][0]
    assert next(db.query("SELECT embedding FROM embeddings WHERE id = '1'"))["embedding"] == vector
    db.close()
    fresh.close()


@needs_llm
def test_a_collection_without_vectors_is_refused_and_one_that_lacks_some_says_so(command, path, tmp_path, monkeypatch):
    monkeypatch.setattr("experience.backends.encoders.open_encoder", lambda _=None: HashEncoder())
    file = tmp_path / "out.db"
    command("record", "deploy", "--outcome", "live")
    assert (
        "no vectors yet; run: experience refresh"
        in command("export", file, "--format", "llm-collection", code=1).stderr
    )
    assert not file.exists()
    command("refresh")
    command("record", "bake", "--outcome", "done")
    assert "1 episode had no vector yet" in command("export", file, "--format", "llm-collection").stderr
    assert (
        "name one of those"
        in command("--encoder", "other", "export", file, "--format", "llm-collection", code=1).stderr
    )
    assert "name a PATH" in command("export", "--format", "llm-collection", code=2).stderr

    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.db", "runs.db"]
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0


def test_a_collection_needs_the_package_llm(embedded, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(MissingPackage, match=r"pip install 'hardwon\[llm\]'"):
        write_collection(embedded, tmp_path / "c.db")


def test_a_collection_is_of_one_encoder(store, tmp_path):
    for encoder in (HashEncoder(name="one@1-p16"), HashEncoder(name="two@2-p16")):
        backend = EmbeddingBackend(store, encoder)
        store.record(Episode(f"deploy for {encoder.name}", "live"))
        backend._pull(10)
    with pytest.raises(InvalidInput, match=r"one@1-p16-64, two@2-p16-64.*name one"):
        write_collection(store, tmp_path / "none.db")
    if find_spec("llm"):
        assert write_collection(store, tmp_path / "one.db", "one") == (1, 1, "sentence-transformers/one")
        assert write_collection(store, tmp_path / "two.db", "two@2-p16-64")[:2] == (2, 0)


def test_models_are_called_as_the_plugin_calls_them():
    assert model_id("all-MiniLM-L6-v2@1a2b3c4d-p16") == "sentence-transformers/all-MiniLM-L6-v2"
    assert model_id("all-MiniLM-L6-v2-bf16@1a2b3c4d-p16") == "sentence-transformers/all-MiniLM-L6-v2"
    assert model_id("org/model@x-p16") == "sentence-transformers/org/model"


# -- what holds for all ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["jsonl", "atif", "csv", "llm-collection"])
def test_nothing_of_another_namespace_and_nothing_expired_is_exported(command, path, tmp_path, monkeypatch, form):
    if form == "llm-collection" and find_spec("llm") is None:
        pytest.skip("the package llm is not installed")
    monkeypatch.setattr("experience.backends.encoders.open_encoder", lambda _=None: HashEncoder())
    for namespace in ("default", "other"):
        command(
            "--namespace",
            namespace,
            "record",
            f"deploy for {namespace}",
            "--outcome",
            "live",
            "--tool",
            f"tool-{namespace}",
        )
    with Memory.open(path) as memory:
        memory.refresh()
        memory.store.record(Episode("short-lived", "o"), expires_at=memory.store.now() + timedelta(milliseconds=1))
    with Memory.open(path, namespace="other") as memory:
        memory.refresh()
    command("export", tmp_path / "out", "--format", form)
    written = (tmp_path / "out").read_bytes()

    assert b"deploy for default" in written
    assert b"other" not in written
    assert b"short-lived" not in written


@pytest.mark.parametrize("form", ["jsonl", "atif", "csv", "llm-collection", "datasette-metadata"])
def test_no_export_writes_over_the_store_by_any_of_its_names(command, path, tmp_path, form):
    command("record", "deploy", "--outcome", "live")
    (tmp_path / "link.db").symlink_to(path)
    os.link(path, tmp_path / "twin.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    names = [
        "link.db",
        "twin.db",
        "folder/runs.db",
        "runs.db-wal",
        "runs.db-shm",
        "folder/runs.db-wal",
        "runs.db-journal",
    ]
    for name in names:
        assert "is the store itself" in command("export", tmp_path / name, "--format", form, code=2).stderr

    assert len(command("export").stdout.splitlines()) == 1


def export_by_itself(path, *arguments, **options):
    return subprocess.run([sys.executable, "-m", "experience", "--db", str(path), "export", *map(str, arguments)], check=False, capture_output="stdout" not in options, **options)  # fmt: skip


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc here")
def test_a_link_to_what_is_open_already_is_written_to_as_it_is(command, path, tmp_path):
    command("record", "deploy", "--outcome", "live")
    link, plain = tmp_path / "mystdout", tmp_path / "plain"
    link.symlink_to("/proc/self/fd/1")
    into_pipe = export_by_itself(path, link)
    assert (into_pipe.returncode, len(into_pipe.stdout.splitlines())) == (0, 1)

    with plain.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        assert export_by_itself(path, "/dev/stdout", stdout=file).returncode == 0
        file.seek(0, os.SEEK_END)
        file.write(b"after\n")
    assert [line[:6] for line in plain.read_bytes().splitlines()] == [b"before", b'{"situ', b"after"]
    assert link.is_symlink()
    for name in (link, "/dev/stdout", "-"):
        before = path.read_bytes()
        with path.open("ab") as file:
            assert export_by_itself(path, name, stdout=file).returncode == 2
        assert path.read_bytes() == before


@pytest.mark.parametrize("there", [True, False])
def test_an_export_to_a_link_changes_the_file_it_leads_to(command, tmp_path, there):
    command("record", "deploy", "--outcome", "live")
    (tmp_path / "other").mkdir()
    file, link = tmp_path / "other" / "file", tmp_path / "link"
    link.symlink_to("other/file")
    if there:
        file.write_text("before")
    command("export", link)

    assert link.is_symlink()
    assert len(file.read_text().splitlines()) == 1
    assert [one.name for one in file.parent.iterdir()] == ["file"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there are no such signals here")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_an_export_that_is_ended_leaves_nothing_beside_the_older_file(command, tmp_path, monkeypatch, number):
    command("record", "deploy", "--outcome", "live")
    file = tmp_path / "out"
    file.write_text("before")
    handler = signal.signal(getattr(signal, number), signal.SIG_DFL)

    def ended(*_, **__):
        signal.raise_signal(getattr(signal, number))
        return iter(())

    monkeypatch.setattr("experience.transfer.export_lines", ended)
    try:
        command("export", file, code=128 + getattr(signal, number))
        assert signal.getsignal(getattr(signal, number)) is signal.SIG_DFL
    finally:
        signal.signal(getattr(signal, number), handler)

    assert file.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_link_that_leads_to_itself_gives_way_to_the_export(command, tmp_path):
    command("record", "deploy", "--outcome", "live")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    command("export", tmp_path / "loop")

    assert len((tmp_path / "loop").read_text().splitlines()) == 1


@pytest.mark.parametrize(("form", "made_by"), [("atif", "atif.atif_lines"), ("csv", "table.csv_lines"), ("llm-collection", "llm_collection.write_collection")])  # fmt: skip
def test_an_export_that_breaks_off_leaves_the_older_file(command, tmp_path, monkeypatch, form, made_by):
    command("record", "deploy", "--outcome", "live")
    file = tmp_path / "out"
    file.write_text("before")

    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"experience.exporting.{made_by}", broken)
    command("export", file, "--format", form, code=1)

    assert file.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_run_that_grew_names_the_version_before_it_on_every_page(store, monkeypatch):
    for number in range(7):
        store.record(Episode("deploy", f"step {number}", run_id="r"), supersede=True)
        store.record(Episode("deploy", f"step {number}", run_id=f"other {number}"))
    pages = store.history
    monkeypatch.setattr(type(store), "history", lambda _, after: pages(after, 2))
    lines = [json.loads(line) for line in export_lines(store)]
    uids = [line["hardwon"]["uid"] for line in lines if line["run_id"] == "r"]

    assert [line["hardwon"].get("supersedes") for line in lines if line["run_id"] == "r"] == [None, *uids[:-1]]
    assert not any("supersedes" in line["hardwon"] for line in lines if line["run_id"] != "r")


def test_a_secret_is_as_masked_as_it_was_stored(store):
    store.record(Episode("deploy with [secret]", "live"))

    assert all("[secret]" in "".join(lines(store)) for lines in (export_lines, atif_lines, csv_lines))


def test_a_collection_holds_no_table_of_ours(embedded, tmp_path):
    if find_spec("llm") is None:
        pytest.skip("the package llm is not installed")
    write_collection(embedded, tmp_path / "c.db")
    db = sqlite3.connect(tmp_path / "c.db")
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    db.close()

    assert tables == {"collections", "embeddings", "_sqlite_migrations"}
