"""What a run needs, not only what looks alike: copies, preferences, and their bounds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experience import Episode, Filter, InvalidInput, Match
from experience.choosing import FRESH_WEIGHT, NEAR_COPY, STANDING_WEIGHT, Answer, Choosing, distinct, in_order
from experience.protocols import Label, Record
from experience.tokens import tokens

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("deploy", "site", "docs", "refund", "order", "parcel")


def match(id, score, success=None, *, days=0, situation="deploy the site", kind="host"):
    label = None if success is None else Label(1, success, kind, "", "", NOW)
    episode = Episode(situation, f"outcome {id}", success=success)
    return Match(score, "", Record(id, episode, f"u{id}", NOW - timedelta(days=days), label))


matches = st.lists(
    st.tuples(
        st.floats(-1, 2),
        st.sampled_from([True, False, None]),
        st.integers(0, 4000),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    ),
    max_size=12,
).map(
    lambda rows: sorted(
        (match(id, score, success, days=days, situation=" ".join(words)) for id, (score, success, days, words) in enumerate(rows)),
        key=lambda one: -one.score,
    )
)  # fmt: skip


def ids(found):
    return [one.id for one in found]


def test_among_about_equals_what_worked_comes_first_then_unknown_then_failed():
    found = [match(1, 0.62, False), match(2, 0.60), match(3, 0.58, True)]

    assert ids(in_order(found, Choosing(prefer_success=True), NOW)) == [3, 2, 1]
    assert ids(in_order(found, Choosing(), NOW)) == [1, 2, 3]


def test_a_success_that_only_the_agent_claims_counts_as_unknown():
    found = [match(1, 0.6), match(2, 0.6, True, kind="self_claim"), match(3, 0.6, True)]

    assert ids(in_order(found, Choosing(prefer_success=True), NOW)) == [3, 1, 2]


def test_of_equals_the_fresh_one_comes_first_by_half_as_much_after_a_half_life():
    old, month, new = match(1, 0.6, days=3650), match(2, 0.6, days=30), match(3, 0.6)

    assert ids(in_order([old, month, new], Choosing(half_life=30), NOW)) == [3, 2, 1]
    assert ids(in_order([match(1, 0.626, days=30), new], Choosing(half_life=30), NOW)) == [1, 3]
    assert ids(in_order([match(1, 0.624, days=30), new], Choosing(half_life=30), NOW)) == [3, 1]


@given(matches, st.booleans(), st.sampled_from([None, 0.001, 30.0]))
def test_what_is_wished_never_overturns_a_clear_difference_and_loses_nothing(found, prefer_success, half_life):
    bound = STANDING_WEIGHT * prefer_success + FRESH_WEIGHT * (half_life is not None)
    ordered = in_order(found, Choosing(prefer_success=prefer_success, half_life=half_life), NOW)

    assert sorted(ids(ordered)) == sorted(ids(found))
    for at, before in enumerate(ordered):
        assert all(after.score <= before.score + bound + 1e-9 for after in ordered[at + 1 :])


@given(matches)
def test_without_a_wish_the_order_is_left_alone(found):
    assert in_order(found, Choosing(), NOW) == found


@given(matches, st.integers(1, 12))
def test_diverse_never_gives_two_near_copies_and_leaves_out_nothing_else(found, most):
    kept = distinct(found, diverse=True, most=most)
    words = {one.id: frozenset(tokens(one.episode.situation)) for one in found}

    def near(one, other):
        shared, every = words[one.id] & words[other.id], words[one.id] | words[other.id]
        return one.episode.success is other.episode.success and len(shared) >= NEAR_COPY * len(every)

    assert not any(near(one, other) for at, one in enumerate(kept) for other in kept[:at])
    if len(kept) < most:
        assert all(one in kept or any(near(one, other) for other in kept) for one in found)


def test_that_the_same_task_failed_and_worked_is_two_things_to_know():
    found = [match(1, 0.9, True), match(2, 0.8, False), match(3, 0.7, True)]

    assert ids(distinct(found, diverse=True, most=9)) == [1, 2]
    assert ids(distinct(found, diverse=False, most=9)) == [1, 2, 3]


@pytest.mark.parametrize("wish", [{"half_life": 0}, {"half_life": float("inf")}, {"min_score": float("nan")}])
def test_a_wish_that_cannot_be_is_refused(wish):
    with pytest.raises(InvalidInput, match="needs"):
        Choosing(**wish)


def test_nothing_has_worked_when_there_are_similar_runs_and_none_is_a_success():
    assert not Answer().nothing_worked
    assert Answer((match(1, 1, False), match(2, 1))).nothing_worked
    assert Answer(failures=2).nothing_worked
    assert not Answer((match(1, 1, False), match(2, 1, True))).nothing_worked


def test_near_copies_do_not_fill_a_diverse_answer(memory):
    for number in range(30):
        memory.record(Episode(f"deploy the public docs site to the staging machine for customer {number}", "done"))
    other = memory.record(Episode("deploy kernel", "done"))

    assert other not in ids(memory.recall("deploy the docs site to staging", k=3))
    assert len(memory.recall("deploy the docs site to staging", k=3)) == 3
    assert ids(memory.recall("deploy the docs site to staging", k=3, diverse=True))[1:] == [other]


def test_what_worked_is_brought_up_from_below_the_first_k(memory):
    failed = [memory.record(Episode(f"rotate the api keys, try {number}", "x", success=False)) for number in range(5)]
    worked = memory.record(Episode("rotate all the api keys, try again", "x", success=True))
    [plain] = memory.recall("rotate the api keys try", k=1)
    [preferred] = memory.recall("rotate the api keys try", k=1, prefer_success=True)

    assert plain.id in failed
    assert preferred.id == worked


def test_when_nothing_that_worked_is_similar_it_is_said_how_many_failed(memory):
    memory.record(Episode("bake bread", "eaten", success=True))
    for number in range(4):
        memory.record(Episode(f"rotate the api keys, try {number}", "x", success=False))
    answer = memory.ask("rotate api keys", k=3, where=Filter(success=True))

    assert (answer.matches, answer.failures, answer.nothing_worked) == ((), 3, True)
    assert memory.ask("rotate api keys", k=3).failures == 0
    assert memory.ask("something foreign", where=Filter(success=True)).failures == 0


def test_age_is_told_by_the_clock_of_the_store(memory, clock):
    first = memory.record(Episode("rotate the api keys", "a"))
    clock.advance(days=300)
    second = memory.record(Episode("rotate the api keys", "b"))
    memory.record(replace(memory.get(first).episode, outcome="c", started_at=clock.now - timedelta(days=900)))

    assert ids(memory.recall("rotate keys", k=2, half_life=30)) == [second, first]
