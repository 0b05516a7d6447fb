"""`distill_all`: everything that a store has, made into drafts."""

import json
import random

import pytest

from experience import (
    DistillPolicy,
    Episode,
    InvalidInput,
    Memory,
    Skill,
    SkillConflict,
    SkillFolder,
    SkillLibrary,
    SqliteStore,
    distill_all,
)
from experience.backends import open_backend
from experience.learn.refusals import (
    Covered,
    DecidedBefore,
    DuplicateSkill,
    NothingShared,
    TooFewSightings,
    TooFewToolCalls,
    Waiting,
)
from experience.testing import HashEncoder, Replies

DEPLOY = ("read_settings", "build", "test", "publish")
REFUND = ("find_order", "check_policy", "refund", "notify")


def deploys(count=3, **changes):
    whats = ["documentation", "marketing", "status", "support", "landing", "careers"]
    return [
        Episode(**{"situation": f"deploy the {what} site to production and check that it answers", "outcome": "live", "tools": DEPLOY, "success": True} | changes)
        for what in whats[:count]
    ]  # fmt: skip


def refunds(count=3, **changes):
    whats = ["broken", "late", "wrong", "lost", "used", "torn"]
    return [
        Episode(**{"situation": f"refund the customer whose parcel arrived {what} and tell them about it", "outcome": "paid", "tools": REFUND, "success": True} | changes)
        for what in whats[:count]
    ]  # fmt: skip


def opened(path, episodes, clock=None):
    store = SqliteStore(path, **({"clock": clock} if clock else {}))
    memory = Memory(store, open_backend("embedding", store, HashEncoder(width=256)))
    for episode in episodes:
        memory.record(episode)
    return memory


@pytest.fixture
def memory(path, clock):
    with opened(path, [*deploys(), *refunds()], clock) as memory:
        yield memory


@pytest.fixture
def library(memory):
    return SkillLibrary(memory.store)


@pytest.fixture
def folder(tmp_path):
    return SkillFolder(tmp_path / "skills")


def kinds(report):
    return sorted(type(skipped.refusal).__name__ for skipped in report.skipped)


def test_each_kind_of_success_gives_one_draft_that_waits(memory, library):
    report = distill_all(memory)

    assert (report.runs, report.successes, report.groups) == (6, 6, 2)
    assert sorted(tuple(draft.citation.worked) for draft in report.drafts) == [(1, 2, 3), (4, 5, 6)]
    assert tuple(library.drafts()) == report.drafts
    assert report.skipped == ()


def test_one_sighting_is_not_enough(path, clock):
    with opened(path, [*deploys(1), *refunds(2)], clock) as memory:
        report = distill_all(memory)

        assert [draft.citation.worked for draft in report.drafts] == [(2, 3)]
        assert report.skipped[0].refusal == TooFewSightings(1, 2)
        assert report.skipped[0].runs == (1,)
        assert len(distill_all(memory, DistillPolicy(min_support=1)).drafts) == 1


def test_failures_and_unknown_runs_and_the_agents_own_word_are_no_sightings(path, clock):
    with opened(path, [*deploys(2, success=None), *deploys(2, success=False, outcome="broke")], clock) as memory:
        for episode in deploys(2, outcome="I did it"):
            memory.record(episode, kind="self_claim")

        assert distill_all(memory).groups == 0
        assert len(distill_all(memory, DistillPolicy(trust_self_claim=True)).drafts) == 1


def test_the_same_task_five_times_gives_one_skill(path, clock, folder):
    with opened(path, deploys(1), clock) as memory:
        library = SkillLibrary(memory.store)
        for _ in range(4):
            memory.record(deploys(1)[0])
            for draft in distill_all(memory).drafts:
                library.approve(draft.id, folder, by="ada")

        assert len(folder.scan().skills) == 1


def test_the_same_runs_in_another_order_give_the_same_drafts(tmp_path, clock):
    episodes = [
        *deploys(6),
        *refunds(6),
        *deploys(2, success=False, tools=("build",)),
        *refunds(1, tools=("x", "y", "z", "w")),
    ]
    found = []
    for seed in range(4):
        random.Random(seed).shuffle(episodes)
        with opened(tmp_path / f"{seed}.db", episodes, clock) as memory:
            drafts = distill_all(memory).drafts
            found.append([draft.skill.text.split("## Evidence")[0] for draft in drafts])

    assert found[0]
    assert all(texts == found[0] for texts in found)


def test_a_store_with_nothing_new_does_nothing(memory):
    distill_all(memory)
    before = memory.store.size_on_disk()

    assert distill_all(memory).nothing_new
    assert memory.store.size_on_disk() == before
    memory.record(deploys(5)[4])
    assert not distill_all(memory).nothing_new


@pytest.mark.parametrize("change", ["label", "delete", "reject", "policy", "disk"])
def test_whatever_changes_the_answer_is_something_new(memory, library, change):
    distill_all(memory)
    policy, existing = DistillPolicy(), []
    if change == "label":
        memory.label(1, False)
    elif change == "delete":
        memory.delete(2)
    elif change == "reject":
        library.reject(1, "no", by="ada")
    elif change == "policy":
        policy = DistillPolicy(min_support=3)
    else:
        existing = [Skill.new("other", "Feeds cats. Use when they are hungry.", "# x")]

    assert not distill_all(memory, policy, existing=existing).nothing_new


def test_what_waits_is_not_made_twice_and_follows_its_runs(memory, library, folder):
    distill_all(memory)
    memory.record(deploys(5)[3])
    report = distill_all(memory)

    assert [draft.citation.worked for draft in report.drafts] == [(1, 2, 3, 7)]
    assert [type(skipped.refusal) for skipped in report.skipped] == [Waiting]
    assert len(library.drafts()) == 2
    assert "4 runs" in report.drafts[0].skill.text
    old = next(draft for draft in library.drafts("replaced"))
    assert (old.citation.worked, report.drafts[0].id) == ((1, 2, 3), 3)
    with pytest.raises(SkillConflict, match="a newer draft"):
        library.approve(old.id, folder, by="ada")


def test_a_draft_that_a_model_wrote_is_not_replaced_by_one_without(memory, library):
    model = Replies(
        {"name": "mine", "description": "Second and long enough to be told. Use when asked.", "steps": ["b"]}
    )
    distill_all(memory, DistillPolicy(min_support=3), model)
    memory.record(deploys(5)[3])

    assert all(isinstance(s.refusal, Waiting) for s in distill_all(memory).skipped)
    assert library.drafts("replaced") == []


def test_a_rejected_draft_is_not_made_again(memory, library):
    distill_all(memory)
    library.reject(1, "too narrow", by="ada")
    memory.record(deploys(5)[3])
    report = distill_all(memory)

    assert [str(s.refusal) for s in report.skipped if isinstance(s.refusal, DecidedBefore)] == [f"{library.draft(1).name} was turned down: too narrow"]  # fmt: skip
    assert not [draft for draft in report.drafts if draft.name == library.draft(1).name]


def test_a_retired_skill_is_not_made_again(memory, library, folder):
    distill_all(memory)
    library.approve(1, folder, by="ada")
    library.retire(library.draft(1).name, folder, by="ada", reason="useless")
    memory.record(deploys(5)[3])

    assert "DecidedBefore" in kinds(distill_all(memory))


def test_a_skill_that_its_runs_followed_covers_them(path, clock):
    existing = Skill.new("ship-it", "Publishes websites. Use when one is to go live.", "# Ship\n\n" + ", ".join(DEPLOY))
    with opened(path, deploys(4, skills=("ship-it",)), clock) as memory:
        report = distill_all(memory, existing=[existing])

        assert [s.refusal for s in report.skipped] == [Covered("ship-it")]


def test_a_skill_that_is_there_is_extended_before_another_is_made(path, clock, folder):
    body = "# Ship\n\n## Steps\n\n1. `build` and `publish`.\n\n## Pitfalls\n\n- Mind the gap."
    existing = Skill.new("ship-it", "Publishes. Use when asked.", body, license="MIT")
    bad = deploys(4, success=False, outcome="broke", tools=("build", "test", "publish"))
    with opened(path, [*deploys(5, skills=("ship-it",)), *bad], clock) as memory:
        library = SkillLibrary(memory.store)
        folder.write("ship-it", existing.text.encode())
        [draft] = distill_all(memory, existing=[existing]).drafts

        assert (draft.name, draft.kind) == ("ship-it", "extended")
        assert "- Mind the gap.\n- `read_settings` was left out in 4 of 4 runs that failed" in draft.skill.body
        assert "`test` was called too in 5 of 5 runs that worked." in draft.skill.body
        assert draft.skill.license == "MIT"
        assert library.approve(draft.id, folder, by="ada").number == 2
        assert [version.origin for version in library.history("ship-it")] == ["found", "extended"]
        memory.record(deploys(6, skills=("ship-it",))[5])
        assert kinds(distill_all(memory, existing=folder.scan().skills)) == ["Covered"]


def test_an_approved_skill_covers_the_runs_it_was_built_on(memory, library, folder):
    distill_all(memory)
    library.approve(1, folder, by="ada")
    memory.record(deploys(5)[3])

    assert Covered(library.draft(1).name) in [s.refusal for s in distill_all(memory).skipped]


def test_a_likeness_in_words_is_a_duplicate(memory):
    existing = Skill.new("deploy-site", "Deploy a production site and check that it answers. Use when asked.", "# x")
    report = distill_all(memory, existing=[existing])

    assert [type(s.refusal) for s in report.skipped] == [DuplicateSkill]


def test_runs_with_nothing_to_write_down_are_told(path, clock):
    names = [f"Ann{c} Bob{c} Cid{c} 12{c}" for c in "xyz"]
    with opened(
        path, [Episode(name, "", tools=("a", "b"), success=True) for name in names for _ in range(3)], clock
    ) as memory:
        report = distill_all(memory)

        assert {type(s.refusal) for s in report.skipped} == {NothingShared}
        assert report.drafts == ()


def test_short_runs_need_more_of_their_kind(path, clock):
    with opened(path, deploys(2, tools=("build",)), clock) as memory:
        assert distill_all(memory).skipped[0].refusal == TooFewToolCalls(2, 4)


def test_a_model_is_asked_once_a_draft_and_a_bad_reply_costs_nothing_else(memory, library):
    replies = iter(["nonsense", json.dumps({"name": "good", "description": "Fine and long enough to be told. Use when asked.", "steps": ["a"]})])  # fmt: skip
    prompts = []

    def model(prompt):
        prompts.append(prompt)
        return next(replies)

    report = distill_all(memory, complete=model)

    assert len(prompts) == 2
    assert [draft.name for draft in report.drafts] == ["good"]
    assert "nonsense" in report.errors[0]
    again = Replies(
        {"name": "other", "description": "Second and long enough to be told. Use when asked.", "steps": ["b"]}
    )
    assert [draft.name for draft in distill_all(memory, complete=again).drafts] == ["other"]
    assert len(again.prompts) == 1
    assert distill_all(memory, complete=again).nothing_new


def test_a_killed_job_goes_on_where_it_stopped(memory, library):
    def stops(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distill_all(memory, progress=stops)
    assert len(library.drafts()) == 1
    report = distill_all(memory)

    assert (len(report.drafts), kinds(report)) == (1, ["Waiting"])


def test_progress_counts_kinds(memory):
    seen = []
    distill_all(memory, progress=lambda done, total: seen.append((done, total)))

    assert seen == [(1, 2), (2, 2)]


def test_a_memory_without_vectors_says_what_to_do(store):
    memory = Memory(store, open_backend("keyword", store))
    memory.record(deploys()[0])
    with pytest.raises(InvalidInput, match="hybrid or embedding"):
        distill_all(memory)


def test_namespaces_do_not_see_each_others_runs_or_skills(path, clock, memory, library, folder):
    distill_all(memory)
    with SqliteStore(path, "other", clock=clock) as store:
        other = Memory(store, open_backend("embedding", store, HashEncoder(width=256)))

        assert distill_all(other).groups == 0
        assert SkillLibrary(store).drafts() == []
        assert store.delete_namespace() == 0
    assert len(library.drafts()) == 2
    memory.store.delete_namespace()
    assert library.drafts() == []


def test_real_runs_give_drafts_that_read_well(path, shared):
    for name, least in (("tau_airline_gpt4o", 5), ("hotpotqa_reflexion", 15)):
        with SqliteStore(path.with_name(f"{name}.db")) as store:
            memory = Memory(store, open_backend("embedding", store))
            for line in (shared / "episodes" / f"{name}.jsonl").read_text().splitlines():
                row = json.loads(line)
                memory.record(
                    Episode(row["situation"], row["outcome"], tools=tuple(row["tools"]), success=row["success"])
                )
            report = distill_all(memory)

            assert len(report.drafts) >= least
            for draft in report.drafts:
                told = draft.skill.body.split("## Evidence")[0]
                applies = told.split("## When this applies")[1].split("## Pitfalls")[0]
                words = applies.replace("(", " ").replace(")", " ").split()
                numbers = [word for word in words if any(char.isdigit() for char in word)]
                assert all(word.rstrip(".").isdigit() for word in numbers), applies  # counts and step numbers only
                assert not draft.hazards
                assert len(told) < 2500


def test_an_extension_is_built_on_the_very_bytes_that_stand_on_disk(path, clock, folder):
    body = "# Ship\r\n\r\n## Steps\r\n\r\n1. `build` and `publish`.\r\n"
    crlf = f"---\r\nname: ship-it\r\ndescription: Publishes. Use when asked.\r\n---\r\n{body}".encode()
    folder.write("ship-it", crlf)
    bad = deploys(4, success=False, outcome="broke", tools=("build", "test", "publish"))
    with opened(path, [*deploys(5, skills=("ship-it",)), *bad], clock) as memory:
        library = SkillLibrary(memory.store)
        [draft] = distill_all(memory, existing=folder.scan().skills).drafts
        library.approve(draft.id, folder, by="ada")
        library.rollback("ship-it", folder, by="ada")

        assert folder.read("ship-it") == crlf


def test_a_rejected_or_rolled_back_extension_does_not_come_back_with_the_next_run(path, clock, folder):
    existing = Skill.new("ship-it", "Publishes. Use when asked.", "# Ship\n\n1. `build`, `publish`.")
    folder.write("ship-it", existing.text.encode())
    bad = deploys(4, success=False, outcome="broke", tools=("build", "test", "publish"))
    with opened(path, [*deploys(4, skills=("ship-it",)), *bad], clock) as memory:
        library = SkillLibrary(memory.store)
        [draft] = distill_all(memory, existing=folder.scan().skills).drafts
        library.reject(draft.id, "no", by="ada")
        for episode in deploys(6, skills=("ship-it",))[4:]:
            memory.record(episode)
            assert kinds(distill_all(memory, existing=folder.scan().skills)) == ["DecidedBefore"]


def test_an_extension_keeps_what_the_skill_was_built_on(memory, library, folder):
    distill_all(memory)
    name = library.draft(1).name
    cited = library.draft(1).citation.worked
    library.approve(1, folder, by="ada")
    make = deploys if cited == (1, 2, 3) else refunds
    for n in range(4):
        memory.record(make(1, success=False, outcome=f"{n}", tools=("find_order", "build"))[0])
    memory.record(make(5)[4])
    drafts = [draft for draft in distill_all(memory).drafts if draft.kind == "extended"]

    assert [draft.name for draft in drafts] == [name]
    assert set(cited) < set(drafts[0].citation.worked)


def test_two_who_distil_at_once_lose_no_report(memory, library, monkeypatch):
    real = SkillLibrary.add_draft

    def faster(self, skill, *arguments, **options):
        monkeypatch.setattr(SkillLibrary, "add_draft", real)
        real(self, skill, *arguments, **options)
        return real(self, skill, *arguments, **options)

    monkeypatch.setattr(SkillLibrary, "add_draft", faster)
    report = distill_all(memory)

    assert len(report.drafts) == 1
    assert "waits" in report.errors[0]


def test_a_tool_with_another_number_in_its_name_is_another_claim():
    from experience.learn.batch import _claims

    assert _claims("- `scan_v1` was called too in 5 of 6 runs.") == _claims(
        "- `scan_v1` was called too in 7 of 9 runs."
    )
    assert _claims("- `scan_v1` was called.") != _claims("- `scan_v2` was called.")
