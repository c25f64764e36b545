"""Projections by a sort and directions of balls by a formula, against conditions that only the right answer meets."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import quad

from dpcvx import DecisionSet
from dpcvx.sets.shapes.clipped_exponentials import clipped_exponentials
from dpcvx.sets.shapes.simplex import CappedSimplex
from dpcvx.sets.shapes.sorted_projection import onto_one_norm_ball, onto_simplex, onto_weighted_ball
from dpcvx.sets.shapes.stretched_ball import ball_stretch_moment

RNG = np.random.default_rng(0)
POINTS = [scale * RNG.standard_normal((3, 4, n)) for scale in (0.01, 0.3, 1.0, 1e6) for n in (1, 2, 5)]


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("points", POINTS)
def test_what_the_simplex_takes_from_positive_entries_is_the_same_and_more_from_others(points, total):
    found = onto_simplex(points, total)
    assert found.shape == points.shape and found.min() >= 0
    assert found.sum(axis=-1) == pytest.approx(np.full(points.shape[:-1], total), rel=1e-9)
    taken = points - found
    price = np.where(found > 0, taken, -np.inf).max(axis=-1, keepdims=True)
    room = 1e-12 * max(total, np.abs(points).max())
    assert np.all(np.where(found > 0, np.abs(taken - price), np.maximum(points - price, 0.0)) <= room)


@pytest.mark.parametrize("axes", [1.0, 2.0, "own"])
@pytest.mark.parametrize("points", POINTS)
def test_entries_lose_in_proportion_to_their_weights_as_far_as_they_have_it(points, axes):
    """Of { sum |v_i|/a_i <= 1 }: a_i (|p_i| - |v_i|) is one number where v_i is not 0, and at most it elsewhere."""
    a = np.linspace(0.5, 3.0, points.shape[-1]) if axes == "own" else np.full(points.shape[-1], axes)
    both = [onto_weighted_ball(points, a)] + ([] if axes == "own" else [onto_one_norm_ball(points, axes)])
    for found in both:
        sizes = (np.abs(found) / a).sum(axis=-1)
        inside = (np.abs(points) / a).sum(axis=-1) <= 1
        assert np.array_equal(found[inside], points[inside])
        assert sizes[~inside] == pytest.approx(np.ones((~inside).sum()), rel=1e-9)
        assert np.all(found * points >= 0)
        lost = a * (np.abs(points) - np.abs(found))
        price = np.where(found != 0, lost, -np.inf).max(axis=-1, keepdims=True)
        room = 1e-11 * max(1.0, np.abs(points).max())
        off = np.where(found != 0, np.abs(lost - price), np.maximum(lost - price, 0.0))
        assert np.all(off[~inside] <= room)


@pytest.mark.parametrize("n", [2, 3, 4, 10, 40])
def test_the_mean_stretch_of_a_ball_is_that_of_its_worst_point_and_hardly_more(n):
    """By a Hessian, a chord and an integral over the angle of the direction, at points from the center outward."""

    def stretch(r, angle):
        w, u = np.array([r, 0.0]), np.array([np.cos(angle), np.sin(angle)])
        H = 2 / (1 - r * r) * np.eye(2) + 4 / (1 - r * r) ** 2 * np.outer(w, w)
        d = np.linalg.solve(np.linalg.cholesky(H).T, u)
        ends = [np.roots([d @ d, 2 * sign * (w @ d), w @ w - 1]).max() for sign in (1, -1)]
        return min(ends) ** -2.0

    def mean(r):
        density = lambda angle: np.sin(angle) ** (n - 2)  # noqa: E731
        top = quad(lambda angle: stretch(r, angle) * density(angle), 0, np.pi / 2, epsabs=1e-7)[0]
        return top / quad(density, 0, np.pi / 2)[0]

    truth = max(mean(r) for r in (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.999))
    assert min(1.0, truth) * (1 - 1e-6) <= ball_stretch_moment(n) <= min(1.0, truth * 1.02)


def test_on_a_line_a_direction_is_not_stretched():
    assert ball_stretch_moment(1) == 1.0


@pytest.mark.parametrize("far", [1.0, 50.0, 1e3, 1e6])
def test_entropy_on_a_box_is_clipped_and_never_overflows(far):
    lower, upper = np.array([0.1, 0.0, 2.0]), np.array([0.5, 1e300, 3.0])
    c = far * np.array([[1.0, -1.0, 0.2], [-1.0, 1.0, -0.2], [0.0, 0.0, 0.0]])
    found = clipped_exponentials(lower, upper, None, c)
    with np.errstate(over="ignore"):
        assert found == pytest.approx(np.clip(np.exp(np.minimum(-1 - c, 700)), lower, upper), rel=1e-12)


@pytest.mark.parametrize("far", [1.0, 30.0, 1e3])
def test_entropy_on_a_capped_simplex_has_its_sum_however_far_the_costs_are(far):
    lower, upper = np.array([0.0, 0.1, 0.0, 0.2]), np.array([1.0, 0.9, 0.3, 0.4])
    c = far * np.random.default_rng(1).standard_normal((30, 4))
    found = clipped_exponentials(lower, upper, 1.2, c)
    assert found.sum(axis=1) == pytest.approx(np.full(30, 1.2), rel=1e-11)
    assert np.all(found >= lower) and np.all(found <= upper)
    cheapest = c.argmin(axis=1)
    if far == 1e3:
        most = np.minimum(upper, 1.2 - (lower.sum() - lower))  # that the others leave
        assert found[np.arange(30), cheapest] == pytest.approx(most[cheapest], rel=1e-9)


CAPPED = {
    "plain": ([1.0, 1, 1, 1], [0.0, 0, 0, 0], [1.0, 1, 1, 1], 2.0),
    "weights of both signs": ([1.0, -2, 0.5, 3], [-1.0, 0, -2, 0], [2.0, 1, 3, 1], 1.0),
    "an entry that the sum does not see": ([1.0, 0, 2, -1], [-1.0, -1, 0, -3], [1.0, 2, 1, 1], 0.5),
    "all weights negative": ([-1.0, -2, -1, -4], [0.0, 0, 0, 0], [9.0, 1, 3, 1], -3.0),
}


@pytest.mark.parametrize("name", CAPPED)
@pytest.mark.parametrize("far", [1.0, 1e3, 1e12])
def test_projections_onto_capped_simplices_meet_the_conditions_of_the_nearest_point(name, far):
    """p - x is a multiple of the weights where x is between its bounds, and points outward where it is not."""
    a, lower, upper, total = (np.array(part) for part in CAPPED[name])
    x = cp.Variable(4)
    X = DecisionSet(x, [x >= lower, x <= upper, a @ x == total])
    assert type(X.recognised) is CappedSimplex
    points = far * np.random.default_rng(2).standard_normal((40, 4))
    found = X.project(points)
    assert np.all(found >= lower - 1e-12) and np.all(found <= upper + 1e-12)
    assert found @ a == pytest.approx(np.full(40, float(total)), abs=1e-11)
    corners = X.vertices()
    gain = ((points - found)[:, None] * (corners - found[:, None])).sum(axis=-1)  # no point is nearer
    assert gain.max() <= 1e-9 * far
    for c in points[:10]:
        assert c @ X.argmin(c) == pytest.approx((corners @ c).min(), rel=1e-9, abs=1e-9)
        assert X.argmin(c) == pytest.approx(np.clip(X.argmin(c), lower, upper), abs=1e-12)
    assert X.bounding_box()[0] == pytest.approx(corners.min(axis=0), abs=1e-12)
    assert X.bounding_box()[1] == pytest.approx(corners.max(axis=0), abs=1e-12)
