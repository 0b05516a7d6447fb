"""Files of every released schema open, and hold what they held."""

import shutil

import pytest
from conftest import ROOT

from experience import Memory, SqliteStore
from experience.backends import open_backend
from experience.backends.keyword import KeywordBackend
from experience.tell.past import store_as_of
from experience.testing import HashEncoder
from experience.transfer import export_lines

FIXTURES = sorted((ROOT / "tests" / "fixtures").glob("schema-*.db"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def old(request, path):
    shutil.copy(request.param, path)
    with SqliteStore(path) as store:
        yield store


def test_there_is_a_file_of_the_schema_as_it_is_now():
    from experience import schema

    assert FIXTURES[-1].stem == f"schema-{schema._HISTORY[-1].__name__[:4]}"


def test_an_old_file_holds_what_it_held(old):
    assert [record.id for record in old.records()] == [4, 3, 1]
    first = old.get(1)
    assert (first.episode.situation, first.episode.tools, first.confirmed) == (
        "deploy the site\nthen check",
        ("shell", "shell"),
        True,
    )
    assert (first.episode.cost.tokens, first.episode.meta, first.label.by) == (400, {"k": [1]}, "ada")
    assert old.get(2).superseded
    assert old.get(3).label is None
    assert old.labels(3)[0].withdrawal.by == "eve"
    assert len(list(export_lines(old))) == 4


def test_an_old_file_can_be_recalled_from_written_to_and_rebuilt(old):
    memory = Memory(old, open_backend("hybrid", old, HashEncoder(width=8)))
    assert memory.recall("deploy")[0].id == 1
    assert memory.recall("网站")[0].id == 4
    memory.record(memory.get(1).episode, run_id="new")
    old.rebuild()

    assert memory.refresh() == 4


def test_the_past_of_an_old_file_is_known_though_its_pages_are_of_another_size(old):
    with store_as_of(old, old.get(1).recorded_at) as then:
        assert 1 in [record.id for record in then.records()]
        assert KeywordBackend(then).recall("deploy", 1)[0].id == 1


def test_the_skills_in_an_old_file_are_what_they_were(path):
    from experience import SkillLibrary

    shutil.copy(ROOT / "tests" / "fixtures" / "schema-m003.db", path)
    with SqliteStore(path) as store:
        library = SkillLibrary(store)
        [version] = library.history("deploy-site")
        [draft] = library.drafts()

        assert (version.origin, version.by, version.citation.worked) == ("distilled", "ada", (1,))
        assert version.skill.metadata["experience-revision"] == "0"
        assert (draft.kind, draft.base, draft.flag, draft.note) == ("revised", 1, {"verdict": "skill_wrong"}, "checks")
        assert "+- Check after." in draft.diff()
        assert len(library.attempts("deploy-site")) == 1


def test_the_learnings_and_receipts_in_an_old_file_are_what_they_were(path):
    from experience.learn.learnings import Learnings
    from experience.tell.receipts import Receipts

    shutil.copy(ROOT / "tests" / "fixtures" / "schema-m005.db", path)
    with SqliteStore(path) as store:
        learnings = Learnings(store)
        assert [(one.id, one.agent, one.state, one.runs_left) for one in learnings.all()] == [
            (1, "scout", "provisional", 19), (2, "", "corrected", 20), (3, "", "provisional", 19),
        ]  # fmt: skip
        assert [event.what for event in learnings.history(1)] == ["proposed", "told"]
        [receipt] = Receipts(store).of("r1")
        assert [(item.part, item.id) for item in receipt.contents.told] == [
            ("learnings", 1), ("learnings", 3), ("worked", 1), ("skills", None),
        ]  # fmt: skip


def test_an_old_file_knows_at_once_who_followed_which_skill(old):
    assert old.read("SELECT name, episode_id FROM names WHERE namespace = 'default' AND kind = 'skills'") == [
        ("runbook", 1)
    ]
