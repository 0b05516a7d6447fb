"""What goes out comes in again: other tools' forms of a store, read by the importers."""

from click.testing import CliRunner

from experience import Episode, SqliteStore
from experience.cli import main
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
