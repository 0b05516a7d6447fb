"""What goes out comes in again: other tools' forms of a store, read by the importers."""

import json

import pytest
from click.testing import CliRunner

from experience import Episode, SqliteStore
from experience.cli import main
from experience.exporting.atif import atif_lines
from experience.importers.importing import import_paths


def what_happened(record):
    return record.episode.situation, record.episode.tools, record.episode.outcome


def test_a_store_exported_as_atif_is_imported_with_what_happened_in_it(tmp_path):
    out, back = tmp_path / "out.jsonl", tmp_path / "back.db"
    with SqliteStore(tmp_path / "store.db") as store:
        store.record(
            Episode("Ship it\n\nall of it", "Shipped", tools=("git", "make", "git"), run_id="r1", success=True)
        )
        store.record(Episode("Ask nobody", "", tools=("mail",)))
        store.record(Episode("Say hello", "Hello"))
        before = sorted(map(what_happened, store.records()))
    done = CliRunner().invoke(main, ["--db", str(tmp_path / "store.db"), "export", "--format", "atif", str(out)])
    assert done.exit_code == 0, done.output

    with SqliteStore(back) as store:
        report = import_paths(store, [out])
        assert (report.new, report.bad_count, dict(report.files)) == (3, 0, {"atif": 1})
        assert sorted(map(what_happened, store.records())) == before
        assert import_paths(store, [out]).known == 3


def trajectory(*turns):
    steps = [{"step_id": number, "source": "agent", "message": "", **turn} for number, turn in enumerate(turns, 1)]
    return json.dumps({"schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": "a"}, "steps": steps})


SAID, CALLED, ENDED = (
    {"message": "Look at the log"},
    {"tool_calls": [{"tool_call_id": "c", "function_name": "shell", "arguments": {}}]},
    {"message": "Mended"},
)


@pytest.mark.parametrize(
    ("turns", "whose"),
    [
        ([SAID, CALLED, ENDED], "agent"),
        ([SAID], "agent"),
        ([SAID, CALLED], "agent"),
        ([CALLED, CALLED], "calls"),
    ],
)
def test_what_stood_in_for_a_request_is_not_put_into_a_users_mouth(tmp_path, turns, whose):
    (tmp_path / "session.jsonl").write_text(trajectory(*turns), encoding="utf-8")
    with SqliteStore(tmp_path / "store.db") as store:
        import_paths(store, [tmp_path / "session.jsonl"])
        [before] = store.records()
        lines = list(atif_lines(store))
    (tmp_path / "out.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with SqliteStore(tmp_path / "back.db") as store:
        import_paths(store, [tmp_path / "out.jsonl"])
        [after] = store.records()

    assert {step["source"] for step in json.loads(lines[0])["steps"]} == {"agent"}
    assert before.episode.meta["situation_from"] == after.episode.meta["situation_from"] == whose
    assert what_happened(after) == what_happened(before)
