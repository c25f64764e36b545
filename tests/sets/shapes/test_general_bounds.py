"""What any set knows of its sizes without a formula: which of several bounds the number is, wherever it lies."""

import math

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes.box import Box
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Shape


def _declared(size, make, **attributes):
    x = cp.Variable(size, **attributes)
    return DecisionSet(x, make(x)).recognised


def _general(shape):
    return Shape(shape.geometry, shape.layout)


@pytest.mark.parametrize("away", [0.0, 5.0, -3.0])
def test_the_reach_is_that_of_the_ball_around_the_center_wherever_the_set_lies(away):
    """Density matrices moved along the identity: sqrt(3/4) from their middle, of which the box knows nothing."""
    shape = _general(
        _declared((4, 4), lambda S: [S - away * np.eye(4) >> 0, cp.trace(S) == 4 * away + 1], symmetric=True)
    )
    assert math.sqrt(3 / 4) <= shape.reach <= 1.02 * math.sqrt(3 / 4)
    assert shape.diameter(2) <= 2 * 1.02 * math.sqrt(3 / 4)
    truth = np.linalg.norm(away * np.eye(4) + np.eye(4) / 4) + math.sqrt(3 / 4)
    assert shape.norm_bound(2) <= 1.02 * truth


@pytest.mark.parametrize(("p", "apart"), [(1, 2 * 8**0.5), (1.5, 2 * 8 ** (1 / 6)), (2, 2.0), (3, 2.0), (np.inf, 2.0)])
def test_a_cut_ball_is_as_wide_as_the_ball_and_as_far_as_its_end(p, apart):
    G = np.random.default_rng(0).standard_normal((3, 8))
    shape = _declared(8, lambda x: [cp.norm2(x - 5) <= 1, G @ (x - 5) <= 0.5])
    assert type(shape) is Shape
    ends = np.array([shape.farthest(c) - shape.farthest(-c) for c in np.random.default_rng(1).standard_normal((30, 8))])
    assert np.linalg.norm(ends, p, axis=1).max() * (1 - 1e-9) <= shape.diameter(p) <= apart * (1 + 1e-8)
    if p == 2:
        assert shape.norm_bound(2) <= (5 * 8**0.5 + 1) * (1 + 1e-8)
        assert shape.reach <= 2 * (1 + 1e-8)


@pytest.mark.parametrize("from_zero", [False, True])
@pytest.mark.parametrize("p", [1, 2])
def test_steps_of_clipped_points_count_what_rounding_adds_far_from_the_origin(p, from_zero):
    """A triangle of size 1e-3 a million from the origin, where numbers have a distance of 1e-10."""
    shape, n, far = _declared(3, lambda x: [x >= 1e6, cp.sum(x) <= 3e6 + 1e-3]), 3, 1e6
    step, size = 1e-9, float((shape.radius if from_zero else shape.diameter)(p))
    more = shape._clipped_steps(p, step, from_zero) * step - size
    entries = n if p == 1 else n**0.5
    assert 4 * np.finfo(float).eps * far * entries + 4e-16 * size <= more <= 1e-11 * far * entries + 2e-9 * size


def _corner(n):
    """x >= 0, sum x <= 1, as m = n + 1 inequalities."""
    return lambda x: [x >= 0, cp.sum(x) <= 1, x[0] <= 0.9]


@pytest.mark.parametrize("n", [2, 5, 12, 30, 60])
def test_directions_of_polytopes_are_stretched_as_random_slacks_say(n):
    shape = _declared(n, _corner(n))
    assert type(shape) is Polytope and shape.geometry.conic.A.shape[0] == n + 2
    stated = shape.stretch_moment
    assert stated == pytest.approx(min(1.0, (2 * math.log(2 * (n + 2)) + 2) / n), rel=1e-12)
    chart = shape.geometry.chart
    G = chart.slack_step(chart.tangent_basis().T).T / chart.s0[:, None]  # slacks, relative, of steps w
    half = np.linalg.inv(np.linalg.cholesky(G.T @ G)).T  # |G half u| = |u|
    u = np.random.default_rng(0).standard_normal((500, n))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    assert ((np.abs(u @ (G @ half).T).max(axis=1)) ** 2).mean() <= stated


def test_curved_sets_and_those_with_auxiliary_variables_have_no_better_stretch_than_one():
    assert _declared(3, lambda x: [cp.log_sum_exp(x) <= 1, x >= -2]).stretch_moment == 1
    assert _declared(30, lambda x: [cp.norm1(x) <= 1, x[0] <= 0.5]).stretch_moment == 1
    assert _declared(30, lambda x: [x == 1]).stretch_moment == 1


def test_corners_of_a_box_and_points_of_a_ball_are_drawn_evenly():
    """By Hoeffding a mean of 4,000 numbers from -1 to 1 is off by 0.1 with probability at most 5e-9, 40 by 2e-7."""
    box = _declared((2, 2), lambda x: [x >= np.array([[-1, 0], [2, 3]]), x <= np.array([[1, 5], [3, 7]])])
    assert type(box) is Box
    drawn = box.extremes(np.random.default_rng(0), 4000)
    assert np.all((drawn == box.lower) | (drawn == box.upper))
    signs = np.where(drawn == box.upper, 1.0, -1.0)
    assert np.abs(signs.mean(axis=0)).max() <= 0.1
    assert np.abs((signs.T @ signs / 4000)[~np.eye(4, dtype=bool)]).max() <= 0.1
    sphere = _declared(3, lambda x: [cp.norm2(x) <= 2]).extremes(np.random.default_rng(1), 4000)
    assert np.linalg.norm(sphere, axis=1) == pytest.approx(np.full(4000, 2.0), rel=1e-12)
    assert np.abs(sphere.mean(axis=0) / 2).max() <= 0.1
    assert np.abs(sphere.T @ sphere / 4000 / 4 - np.eye(3) / 3).max() <= 0.1
    cross = _declared(3, lambda x: [cp.norm1(x) <= 2]).extremes(np.random.default_rng(2), 4000)
    assert np.all(np.sort(np.abs(cross), axis=1) == [0, 0, 2]) and np.abs(cross.mean(axis=0) / 2).max() <= 0.1
    assert np.abs((cross != 0).mean(axis=0) - 1 / 3).max() <= 0.1
    for other in (
        _declared(3, lambda x: [cp.norm2(x - 1) <= 2]),
        _declared(3, lambda x: [cp.norm1(cp.multiply([1, 2, 3], x)) <= 2]),
        _declared(3, lambda x: [cp.pnorm(x, 3, approx=False) <= 2]),
        _declared((2, 2), lambda x: [x >= 0, x <= 1], symmetric=True),
    ):
        assert other.extremes(np.random.default_rng(3), 5) is None
