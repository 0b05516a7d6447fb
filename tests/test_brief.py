"""The brief: what it says, in which order, how much of it, and that it is the same every time."""

import cProfile
import json
import random
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from experience import Episode, InvalidInput, Memory, SkillFolder, SkillLibrary, SqliteStore
from experience.backends import open_backend
from experience.backends.keyword import KeywordBackend
from experience.echoes import strip_recalled
from experience.learn.evidence import Citation
from experience.learn.learnings import Learnings
from experience.learn.skill import Skill
from experience.recalled import CLOSING, OPENING, TITLES
from experience.tell.brief import BLOCKERS, Blocker, BriefPolicy, brief, laid_out
from experience.tell.budget import count_bytes
from experience.tell.contents import FIXED_PARTS
from experience.tell.receipts import Receipts
from experience.tell.sources import Sources, by_task
from experience.testing import Clock, HashEncoder

TASK = "deploy the shop to production"


def headings(text):
    return [line.strip("= ") for line in text.split("\n") if line.startswith("==")]


def section(text, title):
    _, _, rest = text.partition(f"\n== {title} ==\n")
    return rest.partition("\n\n== ")[0]


@pytest.fixture
def told(memory):
    """A memory with something of everything."""
    memory.record(Episode(TASK, "live after a retry", ("build", "push"), ("deploy-shop",), success=True))
    memory.record(Episode("deploy the shop to staging", "credentials had expired", ("push",), success=False))
    memory.record(Episode("deploy the shop at night", "done", ("push",)))
    memory.record(Episode("bake a cake", "tasty", success=True))
    return memory


def approve(memory, name, description, tmp_path, worked=()):
    library = SkillLibrary(memory.store)
    skill = Skill.parse(f"---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n".encode())
    draft = library.add_draft(skill, "distilled", Citation(worked=tuple(worked)))
    library.approve(draft.id, SkillFolder(tmp_path / "skills"), by="ada")


def test_it_says_what_worked_then_what_failed_under_its_own_heading(told):
    text = brief(told, TASK).text

    assert headings(text) == [
        "PROPOSE A LEARNING (optional)",
        "RUNS LIKE THIS THAT WORKED",
        "RUNS LIKE THIS THAT FAILED",
        "RUNS LIKE THIS WHOSE END NOBODY CONFIRMED",
    ]
    worked, failed = section(text, "RUNS LIKE THIS THAT WORKED"), section(text, "RUNS LIKE THIS THAT FAILED")
    assert "live after a retry" in worked
    assert "credentials had expired" not in worked
    assert "not what to do" in failed
    assert "credentials had expired" in failed
    assert "cake" not in text
    assert text.startswith(OPENING)
    assert text.endswith(CLOSING)


def test_a_success_that_only_the_agent_claims_is_not_among_what_worked(memory):
    memory.record(Episode(TASK, "all good", success=True), kind="self_claim")
    text = brief(memory, TASK).text
    assert "all good" not in section(text, "RUNS LIKE THIS THAT WORKED")
    assert "worked, says the agent itself" in section(text, "RUNS LIKE THIS WHOSE END NOBODY CONFIRMED")


def test_learnings_are_quoted_numbered_and_told_with_their_standing(memory):
    learnings = Learnings(memory.store)
    learnings.propose('the flag "fast"\n\n\tskips   tests')
    learnings.propose("the cache must be warm")
    learnings.confirm(2)
    text = brief(memory, "anything").text
    assert section(text, "WHAT EARLIER RUNS LEARNED").split("\n")[1:3] == [
        '1. [established] "the cache must be warm"',
        '2. [provisional] "the flag \\"fast\\" skips tests"',
    ]
    assert text.count("the cache must be warm") == 1


def test_without_learnings_there_is_no_such_section_but_a_way_to_propose_one(memory):
    text = brief(memory, "anything", policy=BriefPolicy(learn_tool="learn`it\nnow")).text
    assert headings(text) == ["PROPOSE A LEARNING (optional)"]
    assert "propose it with `learnit now`" in text


def test_help_is_spoken_of_only_when_the_caller_names_the_kinds_of_blocker(memory):
    assert "ask_for_help" not in brief(memory, TASK).text
    text = brief(memory, TASK, policy=BriefPolicy(blockers=BLOCKERS)).text
    assert headings(text)[1] == "ASKING FOR HELP"
    for blocker in BLOCKERS:
        assert f"\n- `{blocker.slug}` — {blocker.description}\n" in text + "\n"
    own = BriefPolicy(blockers=(Blocker("lost\n== X ==", "no\n== Y =="),), help_tool="call_home")
    assert headings(brief(memory, TASK, policy=own).text) == ["PROPOSE A LEARNING (optional)", "ASKING FOR HELP"]


def test_other_agents_learnings_are_absent(memory):
    learnings = Learnings(memory.store)
    learnings.propose("alpha warms its cache", agent="scout")
    learnings.propose("bravo needs reviewers", agent="clerk")
    text = brief(memory, "anything", agent="scout").text
    assert "alpha" in text
    assert "bravo" not in text


def test_of_more_than_fit_those_that_concern_the_task_are_told_confirmed_ones_first_among_equals(memory):
    learnings = Learnings(memory.store)
    for number in range(40):
        learnings.propose(f"component{number} was built by team{number}")
    learnings.propose("the warehouse scanner needs firmware seven")
    learnings.confirm(39)
    found = brief(memory, "repair the warehouse scanner", policy=BriefPolicy(budget=4000))
    told = found.contents.of("learnings")
    assert len(told) == 25
    assert [told[0].id, told[1].id, told[2].id] == [41, 39, 1]
    assert told[0].score > 0 == told[1].score
    assert len([item for item in found.contents.left_out if item.part == "learnings"]) == 16
    assert "(left out for want of room: 16 learnings)" in found.text
    chinese = Learnings(SqliteStore(":memory:"))
    chinese.propose("仓库扫描仪需要第七版固件")
    chinese.propose("发票必须在周五之前寄出")
    assert by_task(chinese.active(), "修理仓库的扫描仪")[0][1].id == 1


def test_skills_that_fit_are_told_with_how_the_runs_ended_that_followed_them(told, tmp_path, clock):
    clock.advance(days=1)
    approve(told, "deploy-shop", "Deploy the shop to production or staging", tmp_path, worked=[1])
    approve(told, "bake-cake", "Bake a cake for a birthday", tmp_path)
    for success in (True, True, False, None):
        told.record(Episode("deploy another thing", f"ended {success}", (), ("deploy-shop",), success=success))
    told.record(Episode("deploy yet another", "fine", (), ("deploy-shop",), success=True), kind="self_claim")
    found = brief(told, TASK)
    assert section(found.text, "SKILLS THAT FIT").split("\n")[1:3] == [
        '1. skill `deploy-shop` (version 1): "Deploy the shop to production or staging"',
        "   5 runs followed it: 2 worked, 1 failed, 2 unknown",
    ]
    [item] = found.contents.of("skills")
    assert (item.name, item.version, item.id) == ("deploy-shop", 1, None)
    assert "bake-cake" not in found.text
    assert "no run has followed it yet" in brief(told, "bake a birthday cake").text


def test_a_skill_that_runs_have_convicted_is_told_as_suspected(told, tmp_path):
    approve(told, "deploy-shop", "Deploy the shop to production", tmp_path)
    library = SkillLibrary(told.store)
    skill = library.current("deploy-shop").skill
    library.add_draft(skill, "revised", Citation(), base=skill.text.encode(), flag={"convicted": True})
    assert "suspected of misleading" in brief(told, TASK).text


def test_what_does_not_depend_on_the_task_stands_first_and_stays_the_same(told):
    Learnings(told.store).propose("the flag skips tests")
    policy = BriefPolicy(blockers=BLOCKERS)
    one, other = brief(told, TASK, policy=policy), brief(told, "bake a cake", policy=policy)
    assert one.stable == other.stable > 1000
    assert one.text[: one.stable] == other.text[: other.stable]
    assert headings(one.text[: one.stable]) == [
        "PROPOSE A LEARNING (optional)", "ASKING FOR HELP", "WHAT EARLIER RUNS LEARNED",
    ]  # fmt: skip
    told.record(Episode(TASK, "once more", success=True))
    assert brief(told, TASK, policy=policy).text[: one.stable] == one.text[: one.stable]


def test_a_task_without_words_gets_the_learnings_alone(told):
    Learnings(told.store).propose("the flag skips tests")
    assert headings(brief(told, " ?! ").text) == ["PROPOSE A LEARNING (optional)", "WHAT EARLIER RUNS LEARNED"]


def test_a_preview_writes_nothing(told):
    Learnings(told.store).propose("the flag skips tests")
    before = told.store.read("SELECT total_changes()")
    for _ in range(3):
        brief(told, TASK)
    assert told.store.read("SELECT total_changes()") == before


def test_long_runs_are_told_shorter_before_any_is_left_out(memory):
    for number in range(3):
        memory.record(Episode(f"{TASK} {number} " + "very " * 300, "so it " * 300, success=True))
    found = brief(memory, TASK, policy=BriefPolicy(budget=500))
    assert len(found.contents.of("worked")) == 3
    assert found.contents.left_out == ()
    assert "more characters)" in found.text
    small = brief(memory, TASK, policy=BriefPolicy(budget=170))
    assert len(small.contents.of("worked")) < 3
    assert len(small.contents.told) + len([item for item in small.contents.left_out if item.part == "worked"]) == 3
    assert "(left out for want of room: how to propose a learning, " in small.text
    assert "runs that worked)" in small.text


def test_every_part_gets_its_share_when_there_is_not_enough(told, tmp_path):
    for number in range(5):
        told.record(Episode(f"{TASK} again {number}", "x " * 400, success=True))
        told.record(Episode(f"{TASK} once more {number}", "y " * 400, success=False))
    told.record(Episode(TASK, "nobody saw how it ended"))
    approve(told, "deploy-shop", "Deploy the shop to production " + "well " * 60, tmp_path)
    found = brief(told, TASK, policy=BriefPolicy(budget=560, worked=5, failed=5))
    for part in ("worked", "failed", "unknown", "skills"):
        assert found.contents.of(part), part
    assert found.contents.left_out


@pytest.mark.parametrize("budget", [1, 20, 60, 90, 150, 300, 600, 1200, 5000])
@pytest.mark.parametrize("count", [None, count_bytes, lambda text: len(text.split()), lambda text: len(text) // 7 + 3])
def test_it_never_costs_more_than_its_budget_and_loses_count_of_nothing(told, tmp_path, budget, count):
    learnings = Learnings(told.store)
    for number in range(12):
        learnings.propose(f"component{number} was built by team{number}")
    approve(told, "deploy-shop", "Deploy the shop to production", tmp_path)
    policy = BriefPolicy(budget=budget, blockers=BLOCKERS) if count is None else BriefPolicy(budget=budget, count=count)
    found = brief(told, TASK, policy=policy)

    assert found.cost <= budget
    assert found.cost == (policy.count(found.text) if found.text else 0)
    everything = [item for item in (*found.contents.told, *found.contents.left_out) if item.part not in FIXED_PARTS]
    assert sorted((item.part, item.id or 0) for item in everything) == sorted(
        [("worked", 1), ("failed", 2), ("unknown", 3), ("skills", 0), *(("learnings", id) for id in range(1, 13))]
    )
    fixed = {item.part for item in found.contents.left_out if item.part in FIXED_PARTS}
    assert ("PROPOSE A LEARNING" in found.text) != ("propose" in fixed)


@pytest.mark.parametrize("name", ["budget", "worked", "skills"])
def test_numbers_that_cannot_be_are_refused(name):
    with pytest.raises(InvalidInput, match=name):
        BriefPolicy(**{name: -1})


@given(texts, texts, st.lists(texts, max_size=3), st.integers(40, 900))
def test_no_text_opens_a_section_or_ends_the_brief(situation, outcome, learned, budget):
    with SqliteStore(":memory:") as store:
        memory = Memory(store, KeywordBackend(store))
        for success in (True, False, None):
            memory.record(Episode(f"deploy {situation}", outcome, (situation,), success=success))
        for text in learned:
            Learnings(store).propose(f"deploy {text}")
        found = brief(memory, "deploy", policy=BriefPolicy(budget=budget))

    assert set(headings(found.text)) <= set(TITLES.values())
    assert found.text.count(CLOSING) == found.text.count(OPENING) <= 1
    assert len(headings(found.text)) == len(set(headings(found.text)))
    assert found.cost <= budget


EPISODES = [
    *(Episode(f"deploy the shop {n % 3}", f"outcome {n}", ("push",), success=[True, False, None][n % 3]) for n in range(18)),
    *(Episode("deploy the shop 0", f"same situation {n}", success=True) for n in range(6)),
]  # fmt: skip
LEARNED = [f"component{number} was built by team{number}" for number in range(6)]


def brief_of(path, backend, seed, budget):
    order = random.Random(seed)
    episodes, learned = order.sample(EPISODES, len(EPISODES)), order.sample(LEARNED, len(LEARNED))
    with SqliteStore(path, clock=Clock()) as store:
        memory = Memory(store, open_backend(backend, store, HashEncoder()))
        for episode in episodes:
            memory.record(episode)
        for text in learned:
            Learnings(store).propose(text)
        memory.refresh()
        return brief(memory, "deploy the shop", policy=BriefPolicy(budget=budget, worked=8)).text


@pytest.mark.parametrize("backend", ["keyword", "embedding", "hybrid"])
def test_equal_stores_give_equal_briefs_whatever_was_recorded_first(backend):
    first = brief_of(":memory:", backend, 0, 3000)
    assert "same situation" in first
    for seed in range(1, 6):
        assert brief_of(":memory:", backend, seed, 3000) == first


def test_another_process_gives_the_same_bytes(told, path):
    Learnings(told.store).propose("the flag skips tests")
    code = textwrap.dedent("""
        import sys
        from experience import Memory
        from experience.tell.brief import brief
        with Memory.open(sys.argv[1], "keyword") as memory:
            sys.stdout.buffer.write(brief(memory, sys.argv[2]).text.encode())
    """)
    runs = [subprocess.run([sys.executable, "-c", code, path, TASK], capture_output=True, check=True) for _ in range(2)]
    assert {run.stdout.decode() for run in runs} == {brief(told, TASK).text}


def test_a_brief_that_is_fed_back_fifty_times_does_not_grow_the_store_by_one_copy(told):
    learnings = Learnings(told.store)
    learnings.propose("the flag skips tests")
    told.record(Episode(TASK, "my own words", ("push",), run_id="r0", success=True))
    size = len(brief(told, TASK).text)
    for number in range(1, 51):
        found = brief(told, TASK, policy=BriefPolicy(blockers=BLOCKERS))
        text = found.text
        Receipts(told.store).add(f"r{number}", found)
        cut_short = text[: len(text) * number // 50] if number % 2 else text
        said = f"{TASK}\n{cut_short}", f"my own words\n> {cut_short}".replace("\n", "\n> " if number % 3 else "\n")
        told.record(Episode(*said, ("push",), run_id=f"r{number}", success=True))
        for line in text.split("\n"):
            if line.startswith("1. ["):
                learnings.propose(line)
        stored = told.get_run(f"r{number}").episode
        assert (stored.situation, stored.outcome.replace("\n>", "").strip()) == (TASK, "my own words")
    assert len(learnings.all()) == 1
    assert len(told.recall(TASK, 60)) == 4, "fifty copies are one"
    assert abs(len(brief(told, TASK).text) - size) < 300


def test_a_brief_that_is_cut_short_anywhere_is_taken_out(told, tmp_path):
    Learnings(told.store).propose("the flag skips tests")
    approve(told, "deploy-shop", "Deploy the shop to production or staging", tmp_path)
    told.record(Episode(TASK, "x", (), ("deploy-shop",), success=True))
    approve(told, "deploy-all", "Deploy the shop to production and staging", tmp_path)
    text = brief(told, TASK, policy=BriefPolicy(blockers=BLOCKERS, budget=800)).text
    assert "followed it" in text
    assert "left out" in brief(told, TASK, policy=BriefPolicy(blockers=BLOCKERS, budget=420)).text
    for whole in (text, brief(told, TASK, policy=BriefPolicy(blockers=BLOCKERS, budget=420)).text):
        for at in range(len(OPENING) + 4, len(whole) + 1):
            assert strip_recalled(f"mine\n{whole[:at]}")[0].strip() == "mine", whole[:at][-60:]


WAYS = {
    "as it is": lambda text: text,
    "quoted": lambda text: "> " + text.replace("\n", "\n> "),
    "indented": lambda text: "    " + text.replace("\n", "\n    "),
    "numbered": lambda text: "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(text.split("\n"), 31)),
    "numbered with dots": lambda text: "\n".join(
        f"{number}. {line}" for number, line in enumerate(text.split("\n"), 31)
    ),
    "escaped": lambda text: json.dumps(text, ensure_ascii=False),
    "escaped twice": lambda text: json.dumps(json.dumps(text)),
    "on one line": lambda text: " ".join(text.split()),
    "with other line ends": lambda text: text.replace("\n", "\u2028"),
    "with next lines": lambda text: text.replace("\n", "\x85"),
    "wrapped": lambda text: "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, 80) or [""]),
    "with words behind the mark": lambda text: text.replace("\n", " here is what I was told:\n", 1),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_brief_that_comes_back_in_another_shape_is_taken_out(told, way):
    Learnings(told.store).propose("the flag skips tests")
    text = brief(told, TASK).text
    for part in (text, text[: len(text) * 3 // 5], text[: len(text) * 9 // 10]):
        left, found = strip_recalled(f"my own words before\n{WAYS[way](part)}")
        assert found >= 1
        assert "RUNS LIKE THIS" not in left
        assert "the flag skips tests" not in left
        assert left.startswith("my own words before")


def test_a_brief_whose_beginning_was_cut_off_is_taken_out_up_to_the_line_that_was_cut(told):
    text = brief(told, TASK).text
    for at in range(len(OPENING), len(text) - len(CLOSING) - 20, 37):
        left, _ = strip_recalled(f"mine\n{text[at:]}\nmine too")
        assert len([line for line in left.split("\n") if line.strip()]) <= 3
        assert left.startswith("mine\n")
        assert left.endswith("mine too")


def test_what_stands_in_meta_is_taken_out_too(told):
    text = brief(told, TASK).text
    id = told.record(Episode("x", "y", meta={"log": [f"a\n{text}\nb", 1], "n": {"deep": text}}))
    assert told.get(id).episode.meta == {"log": ["a\nb", 1], "n": {"deep": ""}, "recalled_blocks_stripped": 2}


@pytest.mark.parametrize(
    "text",
    [
        f"The mark is\n{OPENING}\n42",
        f"{OPENING}\n- `make` — run it\n{CLOSING}",
        f"{OPENING}\n- `make`",
        f"{OPENING}\n== RESULTS ==\n{CLOSING}",
        f"the mark {OPENING} opens and {CLOSING} closes",
        f"a\n{CLOSING}\nb",
        "1. go\n2. result: fine",
    ],
)
def test_somebodys_own_words_about_the_marks_stay(text):
    assert strip_recalled(text) == (text, 0)


@given(texts, texts)
def test_what_stands_around_a_brief_stays(before, after):
    with SqliteStore(":memory:") as store:
        memory = Memory(store, KeywordBackend(store))
        memory.record(Episode("deploy", "done", success=True))
        text = brief(memory, "deploy").text
    left, found = strip_recalled(f"b{before}\n{text}\na{after}")
    assert found == 1
    assert left == f"b{before}\na{after}"


def test_what_is_laid_out_of_nothing_is_how_to_propose():
    assert headings(laid_out(Sources(), "x", BriefPolicy()).text) == ["PROPOSE A LEARNING (optional)"]
    assert laid_out(Sources(), "x", BriefPolicy(budget=5)).text == ""


@pytest.mark.parametrize("line", ["", "- `a`", "12", "word word", OPENING, CLOSING, '  1. situation: "x"'])
def test_looking_for_echoes_takes_time_in_proportion_to_the_text(line):
    def calls(lines):
        profile = cProfile.Profile()
        profile.runcall(strip_recalled, f"{OPENING}\n\n" + f"{line}\n" * lines + '  1. situation: "x"\nmine')
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(2000) < 2.5 * calls(1000)
