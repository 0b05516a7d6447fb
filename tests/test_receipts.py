"""Receipts: what a run was told, tied to what became of it; and the store as it was on a day."""

from datetime import timedelta
from tempfile import TemporaryDirectory

import pytest

from experience import Episode, InvalidInput, Memory, NotFound, Recorder, SkillFolder, SkillLibrary, SqliteStore
from experience.backends import open_backend
from experience.backends.keyword import KeywordBackend
from experience.episode import moment_text
from experience.learn.evidence import Citation
from experience.learn.learnings import Learnings
from experience.learn.skill import Skill
from experience.tell.brief import BriefPolicy, brief
from experience.tell.compose import Run, compose
from experience.tell.contents import Contents, text_hash
from experience.tell.explain import explained
from experience.tell.past import gone_since, store_as_of
from experience.tell.receipts import Receipts, keep_receipt
from experience.testing import HashEncoder

TASK = "deploy the shop to production"


@pytest.fixture
def told(memory):
    """A brief with a learning, a run that worked and one that failed."""
    Learnings(memory.store).propose("The push fails while the nightly backup runs")
    memory.record(Episode(TASK, "fine", success=True))
    memory.record(Episode(TASK + " again", "credentials had expired", success=False))
    return brief(memory, TASK, agent="scout")


def test_a_receipt_names_what_went_in_and_holds_none_of_its_words(memory, told):
    payload = compose(Run("scout", "I", TASK, brief=told))
    receipt = Receipts(memory.store).add("r1", payload)

    assert (receipt.hash, receipt.bytes) == (text_hash(payload.text), len(payload.text.encode()))
    assert [(item.part, item.id) for item in receipt.contents.told] == [("learnings", 1), ("worked", 1), ("failed", 2)]
    assert receipt.contents.of("worked")[0].score > 0
    assert [part["name"] for part in receipt.parts] == ["identity", "instructions", "brief", "body"]
    assert Receipts(memory.store).of("r1") == [receipt]
    [(stored,)] = memory.store.read("SELECT contents FROM receipts")
    assert "push" not in stored
    assert "deploy" not in stored
    assert "fine" not in stored


def test_contents_come_back_as_they_went_in(memory, told, tmp_path):
    library = SkillLibrary(memory.store)
    skill = Skill.parse(b"---\nname: deploy-shop\ndescription: Deploy the shop to production\n---\n\nDo it.\n")
    library.approve(library.add_draft(skill, "distilled", Citation(worked=(1,))).id, SkillFolder(tmp_path), by="ada")
    for budget in (150, 400, 3000):
        found = brief(memory, TASK, policy=BriefPolicy(budget=budget)).contents
        assert Contents.from_json(found.to_json()) == found


def test_what_a_budget_cut_from_the_payload_is_not_in_its_receipt(memory, told):
    for number in range(8):
        Learnings(memory.store).propose(f"component{number} was built by team{number}")
    whole = brief(memory, TASK, agent="scout")
    payload = compose(Run("scout", "I", TASK, brief=whole), budget=220)
    receipt = Receipts(memory.store).add("r1", payload)

    assert payload.cost <= 220
    for item in receipt.contents.told:
        assert item.part != "learnings" or Learnings(memory.store).get(item.id).text in payload.text
    assert len(receipt.contents.told) < len(whole.contents.told)
    everything = {(item.part, item.id) for item in (*receipt.contents.told, *receipt.contents.left_out) if item.id}
    assert everything == {(item.part, item.id) for item in whole.contents.told}


def test_the_same_text_for_the_same_run_is_the_same_receipt(memory, told):
    receipts = Receipts(memory.store)
    assert receipts.add("r1", told) == receipts.add("r1", told)
    assert receipts.add("r2", told).id != receipts.add("r1", told).id
    assert len(receipts.of_run("r1")) == 1
    with pytest.raises(InvalidInput, match="run_id"):
        receipts.add(" ", told)


def test_a_recorder_ties_the_run_to_what_it_was_told(memory, told):
    with Recorder(memory).run(TASK) as run:
        receipt = keep_receipt(run, compose(Run("scout", "I", TASK, brief=told)))
        run.outcome, run.success = "fine again", True
    found = explained(memory.store, receipt)
    assert (found.episode.id, found.episode.ended) == (run.episode_id, True)
    assert Learnings(memory.store).get(1).runs_left == 19
    assert Receipts(memory.store).of(str(run.episode_id)) == [receipt]
    assert memory.get(run.episode_id).episode.run_id == receipt.run_id


def test_an_explanation_says_what_has_changed_since(memory, told):
    receipt = Receipts(memory.store).add("r1", told)
    memory.label(1, False)
    memory.delete(2)
    Learnings(memory.store).confirm(1)
    lines = {(line.item.part, line.item.id): (line.text, line.now) for line in explained(memory.store, receipt).lines}
    assert lines == {
        ("learnings", 1): ("The push fails while the nightly backup runs", "confirmed"),
        ("worked", 1): (TASK, "failed"),
        ("failed", 2): ("deleted since", ""),
    }


def test_a_run_without_a_receipt_is_said_to_have_none(memory, told):
    memory.record(Episode("x", "y"))
    for run in ("r9", "3", "77"):
        with pytest.raises(NotFound):
            Receipts(memory.store).of(run)


def test_no_namespace_reads_the_receipts_of_another(path, memory, told):
    Receipts(memory.store).add("r1", told)
    with SqliteStore(path, "other") as other, pytest.raises(NotFound):
        Receipts(other).of("r1")


# -- the past ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["keyword", "hybrid"])
def test_a_brief_is_rebuilt_byte_for_byte_as_it_was_at_every_moment(store, clock, tmp_path, backend):
    memory = Memory(store, open_backend(backend, store, HashEncoder()))
    other = SqliteStore(store.path, "other", clock=clock)
    learnings, library, folder = Learnings(store), SkillLibrary(store), SkillFolder(tmp_path / "skills")
    skill = Skill.parse(b"---\nname: deploy-shop\ndescription: Deploy the shop to production\n---\n\nDo it.\n")
    told = []

    def step(change):
        clock.advance(hours=1)
        change()
        memory.refresh()
        told.append((clock.now, brief(memory, TASK).text))

    step(lambda: memory.record(Episode(TASK, "first try", success=True, run_id="grows")))
    step(lambda: memory.record(Episode(TASK + " at night", "nobody saw it")))
    step(lambda: other.record(Episode(TASK, "another tenant's shop", success=True)))
    step(lambda: learnings.propose("The push fails while the nightly backup runs"))
    step(lambda: library.add_draft(skill, "distilled", Citation(worked=(1,))))
    step(lambda: library.approve(1, folder, by="ada"))
    step(lambda: memory.record(Episode(TASK, "second try, longer", success=True, run_id="grows"), supersede=True))
    step(lambda: memory.label(2, False))
    step(lambda: learnings.correct(1, "The push fails on Sundays only"))
    step(lambda: memory.withdraw(2))
    step(lambda: memory.record(Episode(TASK + " twice", "ok", (), ("deploy-shop",), success=True)))
    step(lambda: learnings.reject(2))
    step(lambda: library.retire("deploy-shop", folder, by="ada", reason="old"))
    assert len({text for _, text in told}) >= 10

    for moment, text in told:
        with store_as_of(store, moment) as then:
            past = Memory(then, open_backend(backend, then, HashEncoder()))
            past.refresh()
            assert brief(past, TASK).text == text, moment
    assert brief(memory, TASK).text == told[-1][1], "looking back changes nothing"


def test_what_was_deleted_since_is_gone_from_the_past_and_counted(memory, clock):
    memory.record(Episode(TASK, "words to forget", success=True))
    memory.record(Episode(TASK + " again", "fine", success=True))
    moment = clock.now
    clock.advance(days=1)
    memory.record(Episode(TASK + " afterwards", "fine", success=True))
    memory.delete(1, 3)
    with store_as_of(memory.store, moment) as then:
        text = brief(Memory(then, KeywordBackend(then)), TASK).text
    assert "words to forget" not in text
    assert "again" in text
    assert "afterwards" not in text
    assert gone_since(memory.store, moment) == 1
    assert gone_since(memory.store, moment - timedelta(days=1)) == 0
    assert gone_since(memory.store, clock.now) == 0


def test_what_had_not_expired_then_is_there_then(memory, clock):
    memory.record(Episode(TASK, "for a week", success=True), expires_at=clock.now + timedelta(days=7))
    moment = clock.now
    clock.advance(days=8)
    assert memory.recall(TASK) == []
    with store_as_of(memory.store, moment) as then:
        assert len(Memory(then, KeywordBackend(then)).recall(TASK)) == 1


def test_nothing_younger_is_left_in_a_store_as_of_a_moment(memory, told, clock, monkeypatch):
    clock.advance(days=1)
    moment = clock.now
    clock.advance(days=1)
    monkeypatch.setattr("experience.postings.SEGMENT", 2)
    fill_every_table(memory, told)
    clocks = ("at", "recorded_at", "made_at", "decided_at", "deleted_at")
    with store_as_of(memory.store, moment) as then:
        for table, columns in columns_of(then).items():
            for column in set(clocks) & set(columns):
                assert then.read(f"SELECT {column} FROM {table} WHERE {column} > ?", (moment_text(moment),)) == [], (
                    table
                )


def test_a_namespace_that_is_deleted_leaves_no_row_anywhere(memory, told, monkeypatch):
    monkeypatch.setattr("experience.postings.SEGMENT", 2)
    fill_every_table(memory, told)
    memory.store.delete_namespace()
    for table, columns in columns_of(memory.store).items():
        if "namespace" in columns and table != "removals":
            assert memory.store.read(f"SELECT count(*) FROM {table} WHERE namespace = 'default'") == [(0,)], table
    derived = ("verdicts", "words", "segments", "segment_documents", "postings", "vectors", "codebooks", "codes")
    for table in ("labels", "learning_events", "learning_corrections", *derived):
        assert memory.store.read(f"SELECT count(*) FROM {table}") == [(0,)], table


def fill_every_table(memory, told):
    """Something young in each table, so that a table that is forgotten is found."""
    library = SkillLibrary(memory.store)
    skill = Skill.parse(b"---\nname: deploy-shop\ndescription: Deploy the shop to production\n---\n\nDo it.\n")
    with TemporaryDirectory() as folder:
        library.approve(library.add_draft(skill, "distilled", Citation()).id, SkillFolder(folder), by="ada")
    library.note_attempt("deploy-shop")
    Receipts(memory.store).add("r9", told)
    gone = memory.record(Episode("to be deleted", "x"))
    memory.record(Episode("told", "x", (), ("deploy-shop",), success=True, run_id="r9"))
    memory.delete(gone)
    Learnings(memory.store).correct(1, "The push fails on Sundays only")
    memory.store.set_setting("encoder", "x")
    with memory.store.write() as db:
        db.execute("INSERT INTO spaces VALUES (1, 'default', 'x', 1)")
        db.execute("INSERT INTO vectors (space, episode_id, vector) VALUES (1, 1, x'00')")
        db.execute("INSERT INTO codebooks VALUES (1, 'x', 1, x'00')")
        db.execute(
            "INSERT INTO codes (space, first, last, vectors, episodes, codes) VALUES (1, 1, 1, zeroblob(8), zeroblob(8), x'00')"
        )
    for table in columns_of(memory.store):
        if table != "removals":
            assert memory.store.read(f"SELECT count(*) FROM {table}") != [(0,)], f"nothing in {table}"


def columns_of(store):
    tables = [name for (name,) in store.read("SELECT name FROM sqlite_master WHERE type = 'table'")]
    ours = [name for name in tables if not name.startswith(("sqlite_", "_sqlite"))]
    return {name: [row[1] for row in store.read(f"PRAGMA table_info({name})")] for name in ours}
