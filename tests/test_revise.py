"""Flag first, then a proposal that has to pass, then a person's word."""

import json
from datetime import date, timedelta

import pytest

from experience import (  # fmt: skip
    BadReply,
    Episode,
    InvalidInput,
    InvalidSkill,
    Memory,
    NotFound,
    RevisePolicy,
    Skill,
    SkillConflict,
    SkillFolder,
    SkillLibrary,
    propose,
)
from experience.backends import open_backend
from experience.learn.ledger import Ledger
from experience.learn.refusals import (
    DailyCapReached,
    EpisodeSucceeded,
    LifetimeCapReached,
    LosesSteps,
    NotFlagged,
    NothingToChange,
    SkillNotUsedInEpisode,
    TooLarge,
)
from experience.learn.revise import Allowed, Request, Revision, check, revise
from experience.learn.versions import Draft
from experience.testing import HashEncoder, Replies

TODAY = date(2026, 1, 2)
TEXT = """\
---
name: deploy
description: Deploys the site to production. Use when a release is ready.
license: Apache-2.0
allowed-tools: Bash Read
x-team: web
metadata:
  harness:
    depth: 2
---
# Deploy

## Steps

1. Call `build`, then `ship` the result to production.
"""
SKILL = Skill.parse(TEXT)
BODY = "# Deploy\n\n## Steps\n\n1. Call `build`, run the tests, then `ship` the result to production.\n"
BAD = Episode("deploy the site", "broke", tools=("build", "ship"), skills=("deploy",), success=False)


def request(**changes):
    return Request(**{"skill": SKILL, "skill_name": "deploy", "episode": BAD} | changes)


def ledgered(revision, revised_on=None, today=0):
    return SKILL.changed(metadata=Ledger(revision, revised_on, today, "distilled").entries())


def test_a_revision_changes_the_body_and_nothing_else():
    made = revise(request(), TODAY, complete=Replies({"body": BODY, "rationale": "tests", "description_change": None}))

    assert isinstance(made, Revision)
    assert made.skill.body == BODY.strip()
    assert (made.skill.name, made.skill.description) == (SKILL.name, SKILL.description)
    for line in ("license: Apache-2.0", "allowed-tools: Bash Read", "x-team: web", "    depth: 2"):
        assert line in made.skill.text
    assert Ledger.of(made.skill) == Ledger(1, TODAY, 1, "")
    assert made.rationale == "tests"


def test_an_origin_is_kept_through_revisions():
    made = revise(request(skill=ledgered(0)), TODAY, complete=Replies({"body": BODY}))

    assert Ledger.of(made.skill).origin == "distilled"


@pytest.mark.parametrize(("change", "taken"), [({"new": "Ships. Use when asked."}, False), ({"new": " ", "why": "x"}, False), ({"new": "Ships. Use when asked.", "why": "clearer"}, True), (None, False), ("x", False)])  # fmt: skip
def test_a_description_changes_only_with_a_reason(change, taken):
    made = revise(request(), TODAY, complete=Replies({"body": BODY, "description_change": change}))

    assert (made.skill.description == "Ships. Use when asked.") is taken
    assert taken or made.skill.description == SKILL.description


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"episode": Episode("s", "", skills=("deploy",), success=True)}, EpisodeSucceeded()),
        ({"episode": Episode("s", "", success=True)}, EpisodeSucceeded()),
        ({"episode": Episode("s", "", skills=("other",))}, SkillNotUsedInEpisode("deploy")),
        ({"skill": ledgered(10, date(2025, 1, 1), 1)}, LifetimeCapReached(10, 10)),
        ({"skill": ledgered(10, TODAY, 2)}, LifetimeCapReached(10, 10)),
        ({"skill": ledgered(2, TODAY, 2)}, DailyCapReached(2, 2, "2026-01-02")),
        ({"attempts": [TODAY] * 2}, DailyCapReached(2, 2, "2026-01-02")),
        ({"attempts": [TODAY - timedelta(days=n) for n in range(10)]}, LifetimeCapReached(10, 10)),
    ],
)
def test_the_first_reason_that_holds_refuses_and_costs_no_call(changes, refusal):
    assert revise(request(**changes), TODAY, complete=Replies()) == refusal
    assert str(refusal)


def test_a_run_whose_end_is_unknown_may_be_a_reason():
    assert check(request(episode=Episode("s", "", skills=("deploy",))), TODAY) == Allowed(0, 0)


def test_a_third_revision_waits_for_the_next_day():
    skill = SKILL
    for number, day in ((1, TODAY), (2, TODAY)):
        made = revise(request(skill=skill), day, complete=Replies({"body": f"{BODY} {number}"}))
        skill = Skill.parse(made.skill.text)
    assert isinstance(revise(request(skill=skill), TODAY, complete=Replies()), DailyCapReached)
    tomorrow = TODAY + timedelta(days=1)
    made = revise(request(skill=skill), tomorrow, complete=Replies({"body": f"{BODY} 3"}))

    assert Ledger.of(made.skill) == Ledger(3, tomorrow, 1, "")


def test_the_counters_add_up_through_the_written_file():
    skill, day = SKILL, TODAY
    for number in range(3):
        made = revise(
            request(skill=skill), day, RevisePolicy(max_total_revisions=3), Replies({"body": f"{BODY} {number}"})
        )
        skill, day = Skill.parse(made.skill.text), day + timedelta(days=1)

    assert revise(request(skill=skill), day, RevisePolicy(max_total_revisions=3), Replies()) == LifetimeCapReached(3, 3)


@pytest.mark.parametrize("body", [None, "", "   ", "# Deploy", 7, "---\nname: x\n---\n# Deploy"])
def test_a_skill_is_never_blanked(body):
    with pytest.raises(BadReply, match="no body"):
        revise(request(), TODAY, complete=Replies({"body": body, "rationale": "x"}))


def test_frontmatter_in_a_returned_body_is_taken_off():
    made = revise(request(), TODAY, complete=Replies({"body": f"---\nname: evil\nlicense: none\n---\n{BODY}"}))

    assert made.skill.body == BODY.strip()
    assert made.skill.license == "Apache-2.0"


def test_names_that_do_not_match_are_refused():
    with pytest.raises(InvalidSkill, match="calls itself deploy and not other"):
        check(request(skill_name="other"), TODAY)


def test_a_ledger_that_cannot_be_read_is_an_error():
    with pytest.raises(InvalidSkill, match="cannot be read"):
        check(request(skill=SKILL.changed(metadata={"experience-revision": "?"})), TODAY)


def test_a_model_that_finds_the_fault_elsewhere_changes_nothing():
    made = revise(request(), TODAY, complete=Replies({"body": SKILL.body, "rationale": "the network was down"}))

    assert made == NothingToChange("the network was down")


def test_a_proposal_still_names_the_tools_of_the_successes_or_says_why_not():
    worked = [Episode("deploy", "", tools=("build", "ship"), success=True)]
    lost = "# Deploy\n\n## Steps\n\n1. Call `build` and wait until somebody else takes over from there.\n"

    assert revise(request(worked=worked), TODAY, complete=Replies({"body": lost})) == LosesSteps(("ship",))
    made = revise(
        request(worked=worked), TODAY, complete=Replies({"body": lost, "dropped": {"ship": "it is automatic now"}})
    )
    assert isinstance(made, Revision)
    assert "without ship: it is automatic now" in made.rationale
    assert isinstance(
        revise(request(worked=worked), TODAY, complete=Replies({"body": lost, "dropped": {"ship": " "}})), LosesSteps
    )


def test_a_proposal_has_its_bound():
    made = revise(request(), TODAY, complete=Replies({"body": BODY * 40}))

    assert isinstance(made, TooLarge)
    assert str(made.max) in str(made)


def test_a_policy_is_checked():
    with pytest.raises(InvalidInput, match="max_total_revisions"):
        RevisePolicy(max_total_revisions=-1)


def test_without_a_model_the_evidence_adds_pitfalls_and_what_it_is_not_for():
    worked = [Episode("deploy the site to production", "", tools=("build", "test", "ship"), success=True)] * 5
    failed = [Episode("deploy the database schema to production", "", tools=("build", "ship"), success=False)] * 5
    made = revise(request(worked=worked, failed=failed, verdict="wrong_situation"), TODAY)

    assert "- `test` was left out in 5 of 5 runs that failed, and in 0 of 5 that worked." in made.skill.body
    assert 'Not when the situation speaks of "deploy the database schema" (5 of 5' in made.skill.body
    assert "Call `build`, then `ship`" in made.skill.body
    assert revise(request(worked=worked, failed=worked[:0]), TODAY) == NothingToChange("the runs support no change")


def test_a_complaint_is_noted_masked():
    made = revise(request(complaint="Never mail ada@example.org\nagain."), TODAY)

    assert "- Never mail [email] again." in made.skill.body


# -- over a store --------------------------------------------------------------------------------------------------------


@pytest.fixture
def memory(store):
    return Memory(store, open_backend("embedding", store, HashEncoder(width=256)))


@pytest.fixture
def folder(tmp_path):
    folder = SkillFolder(tmp_path / "skills")
    folder.write("deploy", TEXT.encode())
    return folder


def guilty(memory):
    for success, count, skills, tools in ((False, 9, ("deploy",), ("build", "ship")), (True, 4, ("deploy",), ("build", "test", "ship")), (True, 20, (), ("build", "test"))):  # fmt: skip
        for n in range(count):
            memory.record(Episode("deploy the site to production", f"{n}", tools=tools, skills=skills, success=success))


def test_a_flag_comes_first(memory, folder):
    memory.record(BAD)
    made = propose(memory, folder, "deploy", complete=Replies())

    assert (made.followed, made.failed) == (1, 1)
    assert isinstance(made, NotFlagged)
    assert isinstance(propose(memory, folder, "deploy", complete=Replies({"body": BODY}), episode=1), Draft)


def test_a_flagged_skill_gets_a_draft_with_its_flag_diff_and_runs(memory, folder):
    guilty(memory)
    made = propose(memory, folder, "deploy")

    assert (made.kind, made.name, made.state) == ("revised", "deploy", "waiting")
    assert made.flag["convicted"]
    assert set(made.flag["evidence"]) == set(made.citation.failed) == set(range(1, 10))
    assert "+- `test` was left out in 9 of 9 runs that failed" in made.diff()
    assert folder.read("deploy") == TEXT.encode()
    library = SkillLibrary(memory.store)
    library.approve(made.id, folder, by="ada")
    assert [version.origin for version in library.history("deploy")] == ["found", "revised"]
    library.rollback("deploy", folder, by="ada")
    assert folder.read("deploy") == TEXT.encode()


def test_each_try_counts_whatever_comes_of_it(memory, folder, clock):
    guilty(memory)
    for _ in range(2):
        with pytest.raises(BadReply):
            propose(memory, folder, "deploy", complete=lambda _: "nonsense")

    assert propose(memory, folder, "deploy", complete=Replies()) == DailyCapReached(2, 2, "2026-01-01")
    clock.advance(days=1)
    assert isinstance(propose(memory, folder, "deploy", complete=Replies({"body": BODY})), Draft)


def test_a_draft_that_waits_costs_no_try(memory, folder):
    guilty(memory)
    propose(memory, folder, "deploy")
    with pytest.raises(SkillConflict, match="waits"):
        propose(memory, folder, "deploy", complete=Replies())

    assert len(SkillLibrary(memory.store).attempts("deploy")) == 1


def test_a_skill_that_is_nowhere_is_not_found(memory, folder):
    with pytest.raises(NotFound, match="neither in the store nor in"):
        propose(memory, folder, "nothing")
    with pytest.raises(InvalidSkill):
        propose(memory, folder, "../deploy")


def test_the_whole_skill_the_run_and_the_complaint_are_what_a_model_sees(memory, folder):
    memory.record(BAD)
    model = Replies({"body": BODY})
    propose(memory, folder, "deploy", complete=model, episode=1, complaint="it </data> forgot the tests")
    [prompt] = model.prompts

    data = json.loads(prompt.split("<data>")[1].split("</data>")[0])
    assert data["skill"]["body"] == SKILL.body
    assert data["run"]["tools"] == ["build", "ship"]
    assert data["complaint"] == "it </data> forgot the tests"


def test_what_the_skill_held_before_is_not_masked_away():
    own = SKILL.changed(body=SKILL.body + "\n\nAsk ops@example.org, or look at 127.0.0.1.")
    same = revise(request(skill=own), TODAY, complete=Replies({"body": own.body, "rationale": "fine"}))
    assert same == NothingToChange("fine")
    made = revise(request(skill=own), TODAY, complete=Replies({"body": own.body + "\n\nOr eve@example.org."}))

    assert "ops@example.org" in made.skill.body
    assert "eve@example.org" not in made.skill.body


def test_a_new_description_fits_once_it_is_masked():
    new = "Deploys for " + " ".join(f"a{n}@b.org" for n in range(120)) + ". Use when asked."
    made = revise(request(), TODAY, complete=Replies({"body": BODY, "description_change": {"new": new, "why": "x"}}))

    assert len(made.skill.description.encode()) <= 1024


def test_runs_that_did_not_follow_the_skill_show_what_it_lacks(memory, folder):
    for success, skills, tools in ((False, ("deploy",), ("build", "ship")), (True, (), ("build", "test", "ship"))):
        for n in range(16):
            memory.record(Episode("deploy the site to production", f"{n}", tools=tools, skills=skills, success=success))
    made = propose(memory, folder, "deploy")

    assert "`test` was left out in 16 of 16 runs that failed" in made.skill.body


def test_a_model_that_revises_sees_the_counts(memory, folder):
    guilty(memory)
    model = Replies({"body": BODY})
    propose(memory, folder, "deploy", complete=model, complaint="x" * 3000)
    data = json.loads(model.prompts[0].split("<data>")[1].split("</data>")[0])

    assert {"tool": "test", "kind": "skipped", "in_failed": 9, "in_worked": 0, "of": [9, 24]} in data["differences"]
    assert data["runs_that_worked"]
    assert data["complaint"] == "x" * 3000
