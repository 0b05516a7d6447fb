"""What a run did lands in that run, however many go on at once."""

import asyncio
import contextvars
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from experience import (
    Filter,
    InvalidEpisode,
    Recorder,
    RunConflict,
    SkillTrace,
    SqliteStore,
    StoreError,
    ToolCall,
    ToolDenied,
    ToolTrace,
    current_run,
    note_skill,
    traced,
)
from experience.backends.keyword import KeywordBackend
from experience.memory import Memory


@pytest.fixture
def recorder(memory):
    return Recorder(memory)


def test_a_tool_trace_keeps_order_and_repeats_and_drains_once():
    trace = ToolTrace()
    for name in ("read_file", "shell", "read_file"):
        trace.note(name)

    assert [call.name for call in trace.snapshot()] == ["read_file", "shell", "read_file"]
    assert len(trace.drain()) == 3
    assert trace.drain() == trace.snapshot() == ()


def test_a_skill_trace_keeps_each_once_in_the_order_of_first_use():
    trace = SkillTrace()
    trace.note("a")
    trace.note("b", "c")
    trace.note("d", " ", "")
    trace.note("a")

    assert trace.snapshot() == ("a", "b", "c", "d")
    assert trace.drain() == ("a", "b", "c", "d")
    assert trace.drain() == ()


def test_a_run_is_recorded_when_its_block_ends(recorder, memory):
    with recorder.run("deploy the site", run_id="r", tags=("prod",)) as run:
        run.tools.note("shell", worked=True)
        note_skill("runbook")
        run.outcome, run.success, run.evidence = "live", True, "answers 200"
        run.meta["model"] = "m"

    record = memory.get(run.episode_id)
    episode = record.episode
    assert (episode.situation, episode.outcome, episode.tools, episode.skills) == (
        "deploy the site",
        "live",
        ("shell",),
        ("runbook",),
    )
    assert (episode.run_id, episode.tags, episode.meta) == ("r", ("prod",), {"model": "m"})
    assert (record.label.kind, record.label.by, record.label.evidence) == ("host", "recorder", "answers 200")
    assert episode.started_at is not None
    assert episode.cost.seconds >= 0


def test_a_run_that_says_nothing_of_success_stays_unknown(recorder, memory):
    with recorder.run("s") as run:
        pass

    assert memory.get(run.episode_id).label is None


def test_an_exception_records_a_failure_and_is_raised_again(recorder, memory):
    with pytest.raises(ValueError, match="no such host"), recorder.run("s") as run:
        run.outcome, run.success = "half way", True
        raise ValueError("no such host")

    record = memory.get(run.episode_id)
    assert record.episode.outcome == "half way\nValueError: no such host"
    assert (record.episode.success, record.label.evidence) == (False, "ValueError: no such host")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interruption_is_recorded_without_a_verdict(recorder, memory, interruption):
    with pytest.raises(interruption), recorder.run("s") as run:
        raise interruption

    assert memory.get(run.episode_id).label is None
    assert memory.get(run.episode_id).episode.outcome == interruption.__name__


def test_a_run_that_cannot_be_recorded_raises(recorder, memory):
    with pytest.raises(StoreError), recorder.run("s"):
        memory.close()


def test_the_runs_own_error_is_seen_even_when_recording_fails(recorder, memory):
    with pytest.raises(ZeroDivisionError) as caught, recorder.run("s"):
        memory.close()
        raise ZeroDivisionError

    assert "could not be recorded" in caught.value.__notes__[0]


def test_denied_and_failed_calls_are_told_apart(recorder, memory):
    @traced()
    def shell():
        return "ok"

    @traced("delete")
    def forbidden():
        raise ToolDenied("not on a Friday")

    @traced()
    def broken():
        raise PermissionError("the disk says so, not the host")

    with recorder.run("s") as run:
        shell()
        for tool in (forbidden, broken):
            with pytest.raises(OSError):  # noqa: PT011 (PermissionError is one)
                tool()

    assert run.tools.snapshot() == (
        ToolCall("shell", True, True),
        ToolCall("delete", False, None),
        ToolCall("broken", True, False),
    )
    episode = memory.get(run.episode_id).episode
    assert episode.tools == ("shell", "broken")
    assert [call["name"] for call in episode.meta["tool_trouble"]] == ["delete", "broken"]


def test_a_traced_tool_outside_of_a_run_simply_runs():
    @traced()
    def add(a, b=1):
        """Adds."""
        return a + b

    assert add(2, b=3) == 5
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert current_run() is None
    note_skill("nobody hears")


def test_runs_in_threads_do_not_mix(path):
    def work(name):
        with SqliteStore(path) as store, Recorder(Memory(store, KeywordBackend(store))).run(name) as run:

            @traced(name)
            def tool():
                pass

            for _ in range(50):
                tool()
                note_skill(name)
        return run

    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(work, "abcdefgh"))

    for run in runs:
        assert {call.name for call in run.tools.snapshot()} == {run.situation}
        assert len(run.tools.snapshot()) == 50
        assert run.skills.snapshot() == (run.situation,)
    with SqliteStore(path) as store:
        assert store.count() == 8


def test_runs_in_tasks_do_not_mix_and_their_threads_stay_with_them(recorder, memory):
    @traced()
    async def think():
        await asyncio.sleep(0)

    @traced()
    def work():
        pass

    async def run_one(name):
        with recorder.run(name, tags=(name,)) as run:
            for _ in range(5):
                await think()
                await asyncio.to_thread(work)
                note_skill(name)
        return run

    async def run_all():
        return await asyncio.gather(*map(run_one, "abcdef"))

    for run in asyncio.run(run_all()):
        assert [call.name for call in run.tools.snapshot()] == ["think", "work"] * 5
        assert run.skills.snapshot() == (run.situation,)
    assert memory.count() == 6


def test_a_bare_thread_can_be_given_the_run(recorder):
    @traced()
    def tool():
        pass

    with recorder.run("s") as run, ThreadPoolExecutor(1) as pool:
        pool.submit(contextvars.copy_context().run, tool).result()

    assert len(run.tools.snapshot()) == 1


def test_a_run_inside_a_run_is_its_own(recorder):
    with recorder.run("outer") as outer:
        with recorder.run("inner") as inner:
            note_skill("in")
        note_skill("out")

    assert (outer.skills.snapshot(), inner.skills.snapshot()) == (("out",), ("in",))
    assert current_run() is None


def test_a_run_that_recalls_does_not_record_what_it_was_told(recorder, memory):
    with recorder.run("deploy the site") as first:
        first.outcome = "worked"
    with recorder.run("deploy the site again") as run:
        block = run.recall(where=Filter(success=None))
        run.outcome = f"I was told:\n{block}\nand did it"

    assert '"deploy the site"' in block
    assert memory.get(run.episode_id).episode.outcome == "I was told:\nand did it"


def run_once(recorder, outcome, **how):
    with recorder.run("deploy", run_id="r", **how) as run:
        run.outcome, run.success = outcome, True
    return run.episode_id


def test_a_run_that_is_tried_again_with_the_same_account_is_the_same_episode(recorder, memory):
    assert run_once(recorder, "live") == run_once(recorder, "live")
    assert memory.count() == 1


def test_a_run_that_ends_otherwise_needs_to_supersede(recorder, memory):
    run_once(recorder, "live")
    with pytest.raises(RunConflict):
        run_once(recorder, "down")
    newer = run_once(recorder, "down", supersede=True)

    assert [record.id for record in memory.records()] == [newer]


def test_an_agent_that_judges_itself_confirms_nothing(recorder, memory):
    assert not memory.get(run_once(recorder, "live", kind="self_claim")).confirmed


def test_a_situation_that_cannot_be_recorded_is_refused_before_the_work(recorder):
    with pytest.raises(InvalidEpisode), recorder.run(" "):
        raise AssertionError("the work was done")


def test_a_run_takes_its_time(recorder, memory):
    with recorder.run("s") as run:
        time.sleep(0.02)

    assert 0.02 <= memory.get(run.episode_id).episode.cost.seconds < 5


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unprintable(), "exception str() failed"),
        (ValueError("bad \0 \udcff"), "\\x00 \\udcff"),
        (KeyError("k"), "KeyError: 'k'"),
    ],
)
def test_whatever_an_exception_says_the_failure_is_recorded(recorder, memory, error, said):
    with pytest.raises(type(error)), recorder.run("s"):
        raise error

    [record] = memory.records()
    assert record.episode.success is False
    assert said in record.episode.outcome


def test_a_host_that_spoils_its_run_sees_its_own_error(recorder):
    with pytest.raises(KeyError) as caught, recorder.run("s") as run:
        run.cost = run.meta = None
        raise KeyError("mine")

    assert "could not be recorded" in caught.value.__notes__[0]


def test_a_tool_can_be_traced_without_brackets(recorder):
    @traced
    def shell(command):
        return command

    with recorder.run("s") as run:
        assert shell("ls") == "ls"
    assert run.tools.snapshot() == (ToolCall("shell", True, True),)


def test_a_run_that_is_left_in_another_context_is_recorded_all_the_same(recorder, memory):
    def steps():
        with recorder.run("s"):
            yield 1

    walking = steps()
    contextvars.copy_context().run(next, walking)
    walking.close()

    assert memory.count() == 1
