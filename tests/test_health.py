"""Which skills do harm, how sure that is, and what it looks like."""

import os
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from experience import Episode, Memory, Skill, SkillFolder, SkillLibrary, health_of_skills, skill_health
from experience.backends import open_backend
from experience.learn.blame import blame
from experience.learn.causes import ENVIRONMENT_CHANGED, NOT_FOLLOWED, SKILL_WRONG, WRONG_SITUATION, Following, causes
from experience.learn.evidence import Citation
from experience.learn.health import flags
from experience.learn.statistics import (
    evidence_of_one_rate,
    evidence_of_two_rates,
    false_discovery,
    probability_lower,
    rate,
    ratio_of_means,
    upper_tail,
)
from experience.testing import HashEncoder

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(store):
    return Memory(store, open_backend("embedding", store, HashEncoder(width=256)))


def record(
    memory, count, success, skills=(), situation="deploy the site to production", tools=("build", "ship"), **changes
):
    return [
        memory.record(Episode(situation, f"outcome {n}", tools=tools, skills=skills, success=success, **changes))
        for n in range(count)
    ]


def health(memory, name="guilty", **options):
    return next(one for one in skill_health(memory, **options) if one.skill == name)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_rates_are_those_of_the_beta_distribution():
    from scipy.stats import beta

    for yes, no in ((0, 0), (3, 1), (0, 40), (500, 20)):
        found = rate(yes, no)
        assert found.mean == pytest.approx(beta.mean(1 + yes, 1 + no))
        assert (found.low, found.high) == pytest.approx(beta.interval(0.95, 1 + yes, 1 + no))


def test_the_probability_that_one_rate_is_lower_is_the_integral():
    rng = np.random.default_rng(0)
    for one, other in (((1, 9), (9, 1)), ((3, 3), (3, 3)), ((0, 2), (10, 1)), ((200, 100), (250, 80))):
        draws = [rng.beta(1 + yes, 1 + no, 400_000) for yes, no in (one, other)]
        assert probability_lower(one, other) == pytest.approx(np.mean(draws[0] < draws[1]), abs=3e-3)


def test_two_rates_cost_more_than_one_unless_they_differ():
    assert evidence_of_one_rate(0, 0) == pytest.approx(0)
    assert evidence_of_two_rates((5, 5), (5, 5)) < evidence_of_one_rate(10, 10)
    assert evidence_of_two_rates((0, 10), (10, 0)) > evidence_of_one_rate(10, 10)
    assert evidence_of_two_rates((10, 0), (0, 10)) < evidence_of_one_rate(10, 10)


def test_q_values_are_those_of_benjamini_and_hochberg():
    from scipy.stats import false_discovery_control

    for seed in range(5):
        chances = np.random.default_rng(seed).random(12) ** 3
        assert false_discovery(list(chances)) == pytest.approx(false_discovery_control(chances))
    assert false_discovery([]) == []


def test_the_upper_tail_is_the_normal_distributions():
    from scipy.stats import norm

    assert [upper_tail(z) for z in (0, 1.96, 5)] == pytest.approx(norm.sf([0, 1.96, 5]))


def test_a_ratio_of_means_needs_three_of_either():
    assert ratio_of_means([1, 2], [1, 2, 3]) is None
    assert ratio_of_means([0, 0, 0], [0, 0, 0]) is None
    found = ratio_of_means([2, 2, 2], [1, 1, 1])
    assert found == pytest.approx((2, 2, 2))
    wide = ratio_of_means([1, 2, 4], [1, 2, 4])
    assert (wide.mean, wide.low < 1 < wide.high) == (pytest.approx(1), True)


# -- blame -------------------------------------------------------------------------------------------------------------


def test_the_fit_is_the_mode_of_the_posterior():
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    failed, design = rng.random(60) < 0.4, (rng.random((60, 4)) < 0.4).astype(float)
    kinds = rng.integers(-1, 4, 60)
    design[:, 0] = 1
    from experience.learn import blame as module

    model = module._Model(failed.astype(float), design, kinds)
    (fixed, of_kinds), value = model.fit(np.ones(4, dtype=bool))
    best = minimize(lambda x: -model._value(x[:4], x[4:]), np.zeros(8), method="BFGS", options={"gtol": 1e-6})

    assert value == pytest.approx(-best.fun, abs=1e-6)
    assert [*fixed, *of_kinds] == pytest.approx(best.x, abs=1e-3)


def test_blame_goes_to_the_skill_that_fails_without_the_other_too():
    failed = [True] * 9 + [False] + [False] * 14 + [True]
    found = blame(failed, [["bad", "innocent"]] * 10 + [["innocent"]] * 15, [0] * 25)

    assert found["bad"].p_value < 0.01
    assert found["innocent"].p_value > 0.2


def test_skills_that_always_come_together_share_what_they_did():
    found = blame([True] * 9 + [False] * 11, [["a", "b"]] * 10 + [[]] * 10, [-1] * 20)

    assert found["a"].effect == pytest.approx(found["b"].effect)
    alone = blame([True] * 9 + [False] * 11, [["a"]] * 10 + [[]] * 10, [-1] * 20)
    assert found["a"].p_value > alone["a"].p_value


def test_a_hard_kind_of_task_is_not_the_skills_fault():
    failed = ([True] * 9 + [False]) * 2 + ([False] * 9 + [True]) * 2
    kinds = [0] * 20 + [1] * 20
    followed = [["s"]] * 10 + [[]] * 10 + [[]] * 20

    assert blame(failed, followed, kinds)["s"].p_value > 0.1
    assert blame(failed, followed, [-1] * 40)["s"].p_value < 0.05


def test_nothing_to_blame_is_no_error():
    assert blame([], [], []) == {}
    assert blame([True], [[]], [-1]) == {}
    assert blame([True, True], [["a"], ["a"]], [0, 0])["a"].p_value > 0.2
    assert blame([True] * 20, [["a"]] * 20, [0] * 20, suspects=())["a"].p_value == 1


def test_known_culprits_are_found_and_innocents_are_not_convicted():
    names = [f"s{n}" for n in range(60)]
    guilty, found, wrong = {"s0", "s1", "s2"}, 0, 0
    for seed in range(3):
        rng = random.Random(seed)
        followed = [rng.sample(names, 3) for _ in range(2000)]
        failed = [rng.random() < 0.3 + 0.35 * len(guilty & set(one)) for one in followed]
        judged = blame(failed, followed, [-1] * 2000)
        q = dict(zip(judged, false_discovery([judged[name].p_value for name in judged]), strict=True))
        flagged = {name for name in judged if q[name] <= 0.05}
        found, wrong = found + len(flagged & guilty), wrong + len(flagged - guilty)

    assert found == 9
    assert wrong <= 1


# -- causes ------------------------------------------------------------------------------------------------------------


def following(worked, day=0, kind=0, tools=("build", "ship")):
    return Following(worked, START + timedelta(days=day), kind, frozenset(tools))


SAYS = frozenset({"build", "ship"})


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([following(n in (0, 7, 11, 19), day=n * 7 % 10, kind=n % 2, tools=("build", "ship") if n % 3 else ("x",)) for n in range(20)], SKILL_WRONG),
        ([following(True, day=n) for n in range(10)] + [following(False, day=n, tools=("x",)) for n in range(10)], NOT_FOLLOWED),
        ([following(True, day=n) for n in range(10)] + [following(False, day=n, kind=1) for n in range(8)], WRONG_SITUATION),
        ([following(True, day=n) for n in range(10)] + [following(False, day=10 + n) for n in range(8)], ENVIRONMENT_CHANGED),
    ],
)  # fmt: skip
def test_each_cause_is_told_from_the_others(runs, verdict):
    found = causes(runs, SAYS)

    assert next(iter(found)) == verdict
    assert found[verdict] > 0.6
    assert sum(found.values()) == pytest.approx(1)


def test_what_cannot_be_judged_is_left_out():
    assert set(causes([following(False)], frozenset())) == {SKILL_WRONG}
    assert NOT_FOLLOWED not in causes([following(True), following(False, tools=("x",))], frozenset())
    assert causes([], SAYS)[SKILL_WRONG] == 1


# -- health ------------------------------------------------------------------------------------------------------------


def test_a_skill_whose_runs_fail_where_their_like_work_is_flagged(memory):
    record(memory, 1, True, ("guilty",))
    bad = record(memory, 9, False, ("guilty",))
    record(memory, 9, True)
    record(memory, 1, False)
    record(memory, 2, None, ("guilty",))
    found = health(memory)

    assert found.convicted
    assert (found.followed.worked, found.followed.failed, found.followed.unknown) == (1, 9, 2)
    assert (found.similar.worked, found.similar.failed) == (9, 1)
    assert found.compared_with == "similar"
    assert found.probability_of_harm > 0.99
    assert found.difference < -0.5
    assert found.success_rate.low < found.success_rate.mean < found.success_rate.high
    assert found.evidence == tuple(bad)
    assert found.verdict == SKILL_WRONG
    assert flags(skill_health(memory)) == [found]


def test_one_failure_alone_never_convicts(memory):
    record(memory, 1, False, ("guilty",))
    record(memory, 50, True)

    assert not health(memory).convicted


def test_a_success_that_only_the_agent_claims_is_unknown(memory):
    memory.record(Episode("deploy the site", "", skills=("guilty",), success=True), kind="self_claim")
    memory.record(Episode("deploy the site", "it failed", skills=("guilty",), success=False), kind="self_claim")
    found = health(memory)

    assert (found.followed.worked, found.followed.failed, found.followed.unknown) == (0, 1, 1)


def test_a_label_that_changes_is_right_at_once(memory):
    ids = record(memory, 9, False, ("guilty",))
    record(memory, 9, True)
    assert health(memory).convicted
    for id in ids:
        memory.label(id, True)

    assert not health(memory).convicted
    assert health(memory).followed.failed == 0


def test_without_anything_like_it_a_skill_is_compared_with_all_others(memory):
    record(memory, 4, False, ("guilty",))
    assert health(memory).compared_with == "nothing"
    assert health(memory).probability_of_harm == 0.5
    record(memory, 6, True, situation="water the plants on the balcony")

    # A kind of task that the skill has to itself: it may be the task.
    assert (health(memory).compared_with, health(memory).convicted) == ("nothing", False)
    for n, what in enumerate(("translate poems", "feed horses", "mend bicycles", "paint fences", "bake bread")):
        record(memory, 1, False, ("other",), situation=what, tools=(str(n),))
    assert health(memory, "other").compared_with == "others"
    assert health(memory, "other").similar.total == 0


def test_steps_and_cost_are_compared(memory):
    from experience import Cost

    record(memory, 4, True, ("guilty",), tools=("build",) * 6, cost=Cost(tokens=300))
    record(memory, 4, True, tools=("build",) * 3, cost=Cost(tokens=100))
    found = health(memory).changes

    assert found["steps"].mean == pytest.approx(2)
    assert found["tokens"].mean == pytest.approx(3)
    assert set(found) == {"steps", "tokens"}


def test_failures_that_rise_after_a_revision_flag_a_rollback(memory, clock, tmp_path):
    library, folder = SkillLibrary(memory.store), SkillFolder(tmp_path)
    first = Skill.new("guilty", "Deploys. Use when asked.", "# Deploy\n\nCall build, then ship.")
    library.approve(library.add_draft(first, "distilled", Citation()).id, folder, by="ada")
    record(memory, 10, True, ("guilty",))
    clock.advance(days=1)
    second = first.changed(body="# Deploy\n\nCall ship, then build.")
    library.approve(library.add_draft(second, "revised", Citation(), base=first.text.encode()).id, folder, by="ada")
    assert health_of_skills(memory, folder)[0].rollback_to is None
    clock.advance(days=1)
    record(memory, 6, False, ("guilty",))
    [found] = health_of_skills(memory, folder)

    assert (found.convicted, found.rollback_to) == (True, 1)
    clock.advance(days=1)
    library.rollback("guilty", folder, by="ada", number=1)
    assert health_of_skills(memory, folder)[0].rollback_to is None


def test_a_skill_that_was_not_followed_is_told_from_its_text(memory, tmp_path):
    folder = SkillFolder(tmp_path)
    folder.write(
        "guilty", Skill.new("guilty", "Deploys. Use when asked.", "# D\n\nCall `build`, `test`, `ship`.").text.encode()
    )
    record(memory, 6, True, ("guilty",), tools=("build", "test", "ship"))
    record(memory, 8, False, ("guilty",), tools=("ship", "chat"))
    record(memory, 20, True, tools=("build", "test"))
    [found] = health_of_skills(memory, folder)

    assert found.verdict == NOT_FOLLOWED


def test_one_namespace_does_not_judge_by_the_runs_of_another(memory, path, clock):
    from experience import SqliteStore

    record(memory, 9, False, ("guilty",))
    with SqliteStore(path, "other", clock=clock) as store:
        assert skill_health(Memory(store, open_backend("embedding", store, HashEncoder(width=256)))) == []


def test_a_hard_task_that_a_skill_is_mostly_used_for_is_not_its_fault(memory):
    record(memory, 30, False, ("guilty",), situation="migrate the old database with all of its broken rows")
    record(memory, 6, False, situation="migrate the old database with all of its broken rows")
    record(memory, 4, True, ("guilty",), situation="greet the customer politely in the chat")
    record(memory, 60, True, situation="greet the customer politely in the chat")
    found = health(memory)

    assert found.probability_of_harm < 0.8
    assert not found.convicted


@pytest.fixture
def mended(memory, clock, tmp_path):
    """A skill that failed, and was revised."""
    library, folder = SkillLibrary(memory.store), SkillFolder(tmp_path)
    first = Skill.new("guilty", "Deploys. Use when asked.", "# Deploy\n\nCall ship, then build.")
    library.approve(library.add_draft(first, "distilled", Citation()).id, folder, by="ada")
    record(memory, 12, False, ("guilty",))
    record(memory, 12, True)
    clock.advance(days=1)
    assert health_of_skills(memory, folder)[0].convicted
    second = first.changed(body="# Deploy\n\nCall build, then ship.")
    library.approve(library.add_draft(second, "revised", Citation(), base=first.text.encode()).id, folder, by="ada")
    clock.advance(days=1)
    return library, folder


def test_runs_that_followed_an_older_text_are_not_held_against_the_new_one(memory, mended, clock):
    library, folder = mended
    record(memory, 8, True, ("guilty",))
    [found] = health_of_skills(memory, folder)

    assert (found.convicted, found.followed.worked, found.followed.failed, found.earlier) == (False, 8, 0, 12)
    clock.advance(days=1)
    library.rollback("guilty", folder, by="ada")
    [found] = health_of_skills(memory, folder)
    assert (found.convicted, found.followed.failed, found.earlier) == (True, 12, 8)


def test_one_failure_after_a_revision_convicts_nobody(memory, clock, tmp_path):
    library, folder = SkillLibrary(memory.store), SkillFolder(tmp_path)
    first = Skill.new("guilty", "Deploys. Use when asked.", "# Deploy\n\nCall ship, then build.")
    library.approve(library.add_draft(first, "distilled", Citation()).id, folder, by="ada")
    record(memory, 97, True, ("guilty",))
    record(memory, 3, False, ("guilty",))
    clock.advance(days=1)
    second = first.changed(body="# Deploy\n\nCall build, then ship.")
    library.approve(library.add_draft(second, "revised", Citation(), base=first.text.encode()).id, folder, by="ada")
    clock.advance(days=1)
    record(memory, 1, False, ("guilty",))

    assert not health_of_skills(memory, folder)[0].convicted


def test_a_retired_skill_is_not_flagged(memory, mended):
    library, folder = mended
    library.retire("guilty", folder, by="ada", reason="x")

    assert health_of_skills(memory, folder) == []


def test_a_skill_in_health_has_no_verdict(memory):
    record(memory, 20, True, ("guilty",))
    record(memory, 20, True)

    assert (health(memory).verdict, health(memory).verdict_text) == (None, None)


def test_a_wrong_place_is_told_when_it_is_used_there_as_often_as_in_the_right_one():
    runs = [following(True, day=n, kind=1) for n in range(10)] + [following(False, day=n, kind=0) for n in range(10)]

    assert next(iter(causes(runs, SAYS))) == WRONG_SITUATION


def test_a_tools_name_within_another_word_is_not_that_tool():
    from experience.learn.extending import named

    assert not named("use the latest release", "test")
    assert named("run `test`, then go", "test")
    assert named("run test.", "test")


def test_extreme_costs_are_finite():
    found = ratio_of_means([1e300] * 3, [1e-300] * 3)

    assert np.isfinite(found).all()


def test_a_hard_part_of_one_kind_of_task_is_not_the_fault_of_a_skill_used_there():
    """Few runs of the hard part do without the skill: then nothing like enough is there to compare with."""
    from experience import SqliteStore

    convicted = 0
    for seed in range(6):
        rng = random.Random(seed)
        with SqliteStore(":memory:") as store:
            memory = Memory(store, open_backend("embedding", store, HashEncoder(width=256)))
            for n in range(120):
                hard = rng.random() < 0.3
                followed = rng.random() < (0.9 if hard else 0.05)
                what = f"deploy the {rng.choice('abcdefgh')} site to production and check that it answers"
                memory.record(
                    Episode(
                        what + " on the legacy cluster" * hard,
                        str(n),
                        skills=("innocent",) if followed else (),
                        success=rng.random() >= (0.9 if hard else 0.1),
                    )
                )
            convicted += sum(one.convicted for one in skill_health(memory))

    assert convicted == 0


def test_runs_that_followed_a_text_edited_by_hand_are_not_held_against_another(memory, clock, tmp_path):
    library, folder = SkillLibrary(memory.store), SkillFolder(tmp_path)
    first = Skill.new("guilty", "Deploys. Use when asked.", "# Deploy\n\nCall ship, then build.")
    library.approve(library.add_draft(first, "distilled", Citation()).id, folder, by="ada")
    record(memory, 12, False, ("guilty",))
    record(memory, 12, True)
    clock.advance(days=1)
    folder.path("guilty").write_text(first.text + "\nCall build first.")
    os.utime(folder.path("guilty"), (clock.now.timestamp(),) * 2)
    clock.advance(days=1)
    record(memory, 8, True, ("guilty",))
    [found] = health_of_skills(memory, folder)
    assert (found.convicted, found.followed.worked, found.earlier) == (False, 8, 12)

    library.rollback("guilty", folder, by="ada", number=1)
    assert [version.at.day for version in library.history("guilty")] == [1, 2, 3]
