"""An episode is well formed from the moment it is made, and its JSON loses nothing."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import episodes

from experience import Cost, Episode, InvalidEpisode


def test_an_episode_needs_only_what_was_asked_and_how_it_ended():
    episode = Episode("deploy", "done")

    assert (episode.tools, episode.skills, episode.tags, episode.success) == ((), (), (), None)


def test_only_an_explicit_yes_is_a_success():
    assert [Episode("s", "o", success=said).succeeded for said in (True, False, None)] == [True, False, False]


def test_outer_white_space_and_foreign_line_ends_are_gone_from_the_normal_form():
    episode = Episode(" \u3000a\r\nb\rc \n", "\u2028 o\x85")

    assert (episode.situation, episode.outcome) == ("a\nb\nc", "o")


def test_inner_line_separators_stay():
    assert Episode("a\x85b\u2028c\vd\fe", "o").situation == "a\x85b\u2028c\vd\fe"


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_an_empty_situation_is_refused(blank):
    with pytest.raises(InvalidEpisode, match="situation is empty"):
        Episode(blank, "o")


@pytest.mark.parametrize("field", ["situation", "outcome"])
@pytest.mark.parametrize(
    ("text", "said"), [("a\0b", "NUL"), ("a\ud800b", "surrogate"), (7, "needs text"), (None, "text")]
)
def test_what_no_store_can_hold_is_refused(field, text, said):
    with pytest.raises(InvalidEpisode, match=said):
        replace(Episode("s", "o"), **{field: text})


@pytest.mark.parametrize("field", ["tools", "skills", "tags"])
@pytest.mark.parametrize("value", ["shell", 7, [1], ["a\0"], None])
def test_names_need_a_list_of_texts(field, value):
    with pytest.raises(InvalidEpisode, match=field):
        replace(Episode("s", "o"), **{field: value})


@pytest.mark.parametrize("success", [1, 0, "yes", "success"])
def test_success_is_yes_no_or_unknown_and_nothing_like_it(success):
    with pytest.raises(InvalidEpisode, match="success"):
        Episode("s", "o", success=success)


def test_an_episode_is_frozen_and_changing_it_makes_another():
    episode = Episode("s", "o")
    with pytest.raises(FrozenInstanceError):
        episode.situation = "t"

    assert episode.with_success(True).success is True
    assert episode.success is None


def test_meta_is_a_copy_that_cannot_be_changed_through_the_episode():
    given_meta = {"a": {"b": 1}}
    episode = Episode("s", "o", meta=given_meta)
    given_meta["a"]["b"] = 2

    assert episode.meta == {"a": {"b": 1}}
    with pytest.raises(TypeError):
        episode.meta["a"] = 3


@pytest.mark.parametrize("meta", [{1: "x"}, {"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, ["x"], "x"])
def test_meta_that_is_not_json_is_refused(meta):
    with pytest.raises(InvalidEpisode, match="meta"):
        Episode("s", "o", meta=meta)


def test_meta_nested_without_end_is_refused():
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    with pytest.raises(InvalidEpisode, match="meta"):
        Episode("s", "o", meta=deep)


def test_times_are_kept_in_utc_and_naive_ones_refused():
    there = timezone(timedelta(hours=2))

    assert Episode("s", "o", started_at=datetime(2026, 5, 4, 12, tzinfo=there)).started_at == datetime(
        2026, 5, 4, 10, tzinfo=UTC
    )
    with pytest.raises(InvalidEpisode, match="time zone"):
        Episode("s", "o", started_at=datetime(2026, 5, 4))  # noqa: DTZ001
    with pytest.raises(InvalidEpisode, match="no moment in UTC"):
        Episode("s", "o", started_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))))


@pytest.mark.parametrize(
    "cost",
    [{"steps": -1}, {"steps": 1.5}, {"steps": True}, {"tokens": 2**63}, {"seconds": float("nan")}, {"money": "1"}],
)
def test_a_cost_that_cannot_be_is_refused(cost):
    with pytest.raises(InvalidEpisode, match="cost"):
        Cost(**cost)


def test_an_episode_can_be_pickled_copied_and_hashed():
    episode = Episode("s", "o", tools=["a"], cost=Cost(steps=3), meta={"k": [1]})

    assert pickle.loads(pickle.dumps(episode)) == episode
    assert copy.deepcopy(episode) == episode
    assert hash(episode) == hash(copy.copy(episode))


def test_the_founding_json_without_skills_and_success_loads():
    episode = Episode.from_json({"situation": "s", "tools": ["a"], "outcome": "o", "tags": []})

    assert episode == Episode("s", "o", tools=("a",))


def test_json_always_has_the_six_founding_keys():
    assert Episode("s", "o").to_json() == {
        "situation": "s", "tools": [], "outcome": "o", "tags": [], "skills": [], "success": None,
    }  # fmt: skip


@pytest.mark.parametrize("key", ["situation", "tools", "outcome"])
def test_the_three_required_keys_are_required(key):
    data = {"situation": "s", "tools": [], "outcome": "o"}
    del data[key]
    with pytest.raises(InvalidEpisode, match=f"{key} missing"):
        Episode.from_json(data)


def test_unknown_keys_are_kept_in_meta():
    episode = Episode.from_json({"situation": "s", "tools": [], "outcome": "o", "model": "m", "meta": {"a": 1}})

    assert episode.meta == {"a": 1, "model": "m"}
    with pytest.raises(InvalidEpisode, match="both in meta and beside it"):
        Episode.from_json({"situation": "s", "tools": [], "outcome": "o", "a": 2, "meta": {"a": 1}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"tools": "shell"}, {"tools": [1]}, {"skills": {}}, {"success": "true"}, {"success": 1}, {"meta": []}, {"meta": 0},
        {"cost": 3}, {"cost": {"steps": "3"}}, {"cost": {"stops": 3}}, {"started_at": 5}, {"started_at": "yesterday"},
        {"run_id": ""}, {"run_id": 5}, {"situation": None},
    ],
)  # fmt: skip
def test_json_of_the_wrong_shape_is_refused(wrong):
    with pytest.raises(InvalidEpisode):
        Episode.from_json({"situation": "s", "tools": [], "outcome": "o"} | wrong)


@pytest.mark.parametrize("wrong", [None, [], "x", 3])
def test_json_that_is_no_object_is_refused(wrong):
    with pytest.raises(InvalidEpisode, match="JSON object"):
        Episode.from_json(wrong)


def test_a_time_without_an_offset_in_json_is_utc():
    data = {"situation": "s", "tools": [], "outcome": "o", "started_at": "2026-05-04T13:00:00"}

    assert Episode.from_json(data).started_at == datetime(2026, 5, 4, 13, tzinfo=UTC)


moments = st.datetimes(timezones=st.just(UTC))
costs = st.builds(
    Cost,
    steps=st.none() | st.integers(0, 2**63 - 1),
    tokens=st.none() | st.integers(0, 10**9),
    seconds=st.none() | st.floats(0, 1e12),
    money=st.none() | st.floats(0, 1e12),
)
metas = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=3)  # fmt: skip


@given(episodes, st.none() | moments, costs, metas)
def test_json_out_and_in_is_the_same_episode(episode, started_at, cost, meta):
    episode = replace(episode, run_id="r", started_at=started_at, cost=cost, meta=meta)

    written = json.dumps(episode.to_json())

    assert Episode.from_json(json.loads(written)) == episode


def test_meta_may_nest_a_hundred_levels_and_no_more():
    def nested(levels):
        value = "x"
        for _ in range(levels):
            value = [value]
        return {"k": value}

    assert Episode("s", "o", meta=nested(99)).meta == nested(99)
    with pytest.raises(InvalidEpisode, match="deeper than 100"):
        Episode("s", "o", meta=nested(100))
