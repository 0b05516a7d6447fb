"""Runs of one kind: the same by cells and by looking at every pair, the same however the runs came in."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experience.episode import Episode
from experience.learn.groups import LEAST_ALIKE, LEAST_TOOLS, group
from experience.learn.near import _LISTED, Near, probes


def kinds_of_vectors(seed, kinds, each, spread, width=32):
    """Unit vectors around some centres, the nearer to them the smaller the spread."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rng.standard_normal((kinds, width)), each, axis=0)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    noise = rng.standard_normal(centres.shape)
    vectors = centres + spread * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def runs_of(seed, count, tools=3):
    pick = random.Random(seed)
    return [Episode(f"run {at}", "", tools=tuple(pick.sample("abcdefgh", tools))) for at in range(count)]


def as_written(episodes, vectors, tools=True):
    """Star clustering by its definition, a pair at a time."""
    order = sorted(range(len(episodes)), key=lambda at: episodes[at].situation)
    spread = Counter(tool for episode in episodes for tool in set(episode.tools))

    def weight(used):
        return sum(np.log1p(len(episodes) / spread[tool]) for tool in used)

    def kin(one, other):
        ours, theirs = set(episodes[one].tools), set(episodes[other].tools)
        shared = weight(ours & theirs) >= LEAST_TOOLS * weight(ours | theirs) - 1e-6
        return float(vectors[one] @ vectors[other]) >= LEAST_ALIKE - 5e-6 and (shared or not tools)

    near = {one: {other for other in order if kin(one, other)} for one in order}
    free, groups = set(order), []
    for centre in sorted(order, key=lambda at: -len(near[at])):
        if centre in free:
            members = (near[centre] & free) | {centre}
            free -= members
            groups.append((centre, tuple(sorted(members))))
    return groups


@pytest.mark.parametrize("cells", [None, 2, 5])
@pytest.mark.parametrize("tools", [True, False])
def test_groups_are_stars_by_cells_too_where_every_cell_is_looked_into(cells, tools):
    vectors = kinds_of_vectors(0, 8, 15, 0.9)
    episodes = runs_of(0, len(vectors))

    found = [(kind.centre, kind.members) for kind in group(episodes, vectors, tools=tools, cells=cells)]

    assert found == as_written(episodes, vectors, tools)
    assert 8 < len(found) < len(vectors)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([None, 20]), st.permutations(range(60)))
def test_groups_are_the_same_however_the_runs_came_in(seed, cells, order):
    vectors = kinds_of_vectors(seed, 12, 5, 0.8)
    episodes = runs_of(seed, len(vectors))

    first = group(episodes, vectors, cells=cells)
    again = group([episodes[at] for at in order], vectors[order], cells=cells)

    assert [(order[kind.centre], {order[at] for at in kind.members}) for kind in again] == [
        (kind.centre, set(kind.members)) for kind in first
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40))
def test_every_run_is_in_one_group_near_its_centre(seed, cells):
    vectors = kinds_of_vectors(seed, 10, 12, 0.7)

    groups = group(runs_of(seed, len(vectors), tools=1), vectors, cells=cells, tools=False)

    assert sorted(at for kind in groups for at in kind.members) == list(range(len(vectors)))
    assert all((vectors[list(kind.members)] @ vectors[kind.centre] >= LEAST_ALIKE - 1e-5).all() for kind in groups)


def test_copies_of_a_run_count_and_stay_together():
    vectors = kinds_of_vectors(1, 6, 6, 0.8)[[at // 3 for at in range(108)]]
    episodes = [Episode(f"run {at // 3:02}", f"{at}", tools=("a", "b")[: 1 + at % 2]) for at in range(108)]

    found = [(kind.centre, kind.members) for kind in group(episodes, vectors)]

    by_definition = as_written([Episode(f"{at:03}", "", tools=run.tools) for at, run in enumerate(episodes)], vectors)
    assert {members for _, members in found} == {members for _, members in by_definition}


def test_neighbours_by_cells_are_true_and_hardly_any_is_missed():
    vectors = kinds_of_vectors(2, 60, 40, 0.6)
    ones = np.ones(len(vectors), dtype=np.int64)
    exact, cells = Near(vectors, ones, 0.7, cells=1), Near(vectors, ones, 0.7, cells=49)

    for row in range(0, len(vectors), 7):
        assert set(cells.of(row)) <= set(exact.of(row)) == set(np.flatnonzero(vectors @ vectors[row] >= 0.7))
    assert cells.density.sum() >= 0.995 * exact.density.sum()
    assert (cells.density <= exact.density).all()


def test_neighbourhood_is_mutual_and_as_large_as_it_was_counted():
    vectors = kinds_of_vectors(3, 30, 30, 1.0)
    near = Near(vectors, np.ones(len(vectors), dtype=np.int64), 0.6, cells=100)
    of = [set(near.of(row)) for row in range(len(vectors))]

    assert [len(kin) for kin in of] == near.density.tolist()
    assert all(row in of[other] for row, kin in enumerate(of) for other in kin)


@pytest.mark.parametrize("cells", [1, 15])
def test_a_row_with_very_many_neighbours_has_them_all(cells):
    vectors = np.concatenate([kinds_of_vectors(4, 1, 3 * _LISTED, 0.3), kinds_of_vectors(5, 20, 2, 0.3)])
    near = Near(vectors, np.ones(len(vectors), dtype=np.int64), 0.7, cells=cells)

    assert near.density[0] == len(near.of(0)) == 3 * _LISTED


def test_the_nearest_cells_come_first_and_every_row_has_one():
    vectors = kinds_of_vectors(6, 5, 20, 0.3)
    cells = probes(vectors, 20)

    assert cells.shape == (100, 12)
    assert all(len(set(row)) == 12 for row in cells.tolist())
    assert len({tuple(cells[at : at + 20, 0].tolist()) for at in range(0, 100, 20)}) == 5
    assert not probes(vectors, 1).any()


def test_no_runs_have_no_groups():
    assert group([], np.empty((0, 8), dtype=np.float32)) == []
