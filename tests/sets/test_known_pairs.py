"""Sizes of a decision set and a loss set against each other: equal to what their corners say, where it is known."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses

from dpcvx import DecisionSet, LossSet
from dpcvx.sets.sizes import Sizes

LOW, HIGH = np.array([-1.0, 0.0, 2.0]), np.array([3.0, 1.0, 2.5])


def losses(low=LOW, high=HIGH):
    loss = cp.Variable(3)
    return LossSet(loss, [loss >= low, loss <= high])


def triangle():
    """Three points of the plane in space, as a polytope."""
    x = cp.Variable(3)
    return DecisionSet(x, [x >= [-1, 0, 1], x[0] + 2 * x[1] <= 3, x[2] == 1 + x[1]])


def simplex():
    x = cp.Variable(3, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 2])


def box():
    x = cp.Variable(3)
    return DecisionSet(x, [x >= [-2, 0, 1], x <= [1, 0.5, 4]])


SETS = {"simplex": simplex, "triangle": triangle, "box": box}


@pytest.fixture(scope="module", params=SETS)
def sized(request):
    X = SETS[request.param]()
    return Sizes(X, losses()), X.vertices(), np.array([(a, b, c) for a in (-1, 3) for b in (0, 1) for c in (2, 2.5)])


def test_values_and_magnitudes_are_those_of_the_corners(sized):
    sizes, points, extremes = sized
    values = extremes @ points.T
    low, high = sizes.values
    assert low == pytest.approx(values.min(), rel=1e-6, abs=1e-6) and low <= values.min() + 1e-12
    assert high == pytest.approx(values.max(), rel=1e-6, abs=1e-6) and high >= values.max() - 1e-12
    assert (
        np.abs(values).max() - 1e-12
        <= sizes.magnitude
        <= np.abs(values).max() * (1.25 if sizes.vertices is None else 1 + 1e-6)
    )
    assert sizes.box_values[0] <= values.min() + 1e-12 and sizes.box_values[1] >= values.max() - 1e-12


def test_one_loss_moves_the_feedback_as_far_as_the_corners_say(sized):
    sizes, points, extremes = sized
    truth = np.ptp(extremes @ points.T, axis=0).max()
    assert truth - 1e-12 <= sizes.feedback_range <= truth * (1 + 1e-6)


def test_a_round_costs_no_more_than_the_corners_say(sized):
    sizes, points, extremes = sized
    truth = np.ptp(extremes @ points.T, axis=1).max()
    assert truth - 1e-12 <= sizes.variation


def test_a_point_costs_at_least_what_the_corners_say(sized):
    sizes, points, extremes = sized
    for point in (points[0], points[-1], points.mean(axis=0)):
        assert sizes.regret_of(point) >= (extremes @ (point - points).T).max() - 1e-9


def test_a_point_costs_no_more_than_the_corners_say_nor_than_a_round(sized):
    sizes, points, extremes = sized
    for point in (points[0], points[-1], points.mean(axis=0)):
        cost = (extremes @ (point - points).T).max()
        assert sizes.regret_of(point) <= min(cost * (1 + 1e-6) + 1e-9, sizes.variation)


def test_variations_are_attained_on_a_box_and_bounded_by_the_middle_on_a_simplex():
    assert Sizes(box(), losses()).variation == pytest.approx(3 * 3 + 1 * 0.5 + 2.5 * 3, rel=1e-6)
    assert 2 * 3.5 <= Sizes(simplex(), losses()).variation <= 9 * (1 + 1e-6)


def test_sums_and_masses_are_those_of_the_corners(sized):
    sizes, points, _ = sized
    lower = points.min(axis=0)
    assert sizes.mass == pytest.approx((points - lower).sum(axis=1).max(), abs=1e-6)
    if np.ptp(points.sum(axis=1)) > 1e-9:
        assert sizes.total is None
    else:
        assert sizes.total == pytest.approx(points[0].sum(), rel=1e-9)
    assert sizes.radius >= np.linalg.norm(points - sizes.middle, axis=1).max() - 1e-9
    for p in (1, 2, np.inf):
        assert sizes.used_radius(p) == pytest.approx(np.linalg.norm(points, p, axis=1).max(), rel=1e-6)
        apart = max(np.linalg.norm(points - point, p, axis=1).max() for point in points)
        assert sizes.used_diameter(p) == pytest.approx(apart, rel=1e-6)
    assert sizes.one_norm_diameter == sizes.used_diameter(1)


def test_what_is_said_of_losses_alone_is_said_by_their_box(sized):
    sizes, _, extremes = sized
    assert sizes.loss_middle == pytest.approx((LOW + HIGH) / 2)
    assert sizes.loss_spread == pytest.approx(np.linalg.norm(HIGH - LOW) / 2)
    assert sizes.loss_ends == pytest.approx((-1, 3))
    for shift in (0.0, 1.0, -2.0):
        assert sizes.largest_squares(shift) == pytest.approx(((extremes - shift) ** 2).max(axis=0))
    assert sizes.noise_gain == 1 and sizes.used_reach == sizes.radius
    tangential = max(np.linalg.norm(sizes.tangential(one)) for one in extremes)
    assert tangential - 1e-12 <= sizes.loss_radius
    assert sizes.loss_radius == pytest.approx(
        min(np.linalg.norm([3, 1, 2.5]), np.linalg.norm(sizes.tangential((LOW + HIGH) / 2)) + sizes.loss_spread)
    )
    assert sizes.used_loss_radius == sizes.loss_radius


def test_a_part_of_losses_that_is_the_same_for_all_decisions_does_not_count():
    sizes = Sizes(simplex(), losses([9, 9, 9], [10, 10, 10]))
    assert sizes.loss_radius == pytest.approx(np.sqrt(3) / 2, rel=1e-9)
    assert sizes.tangential(np.ones(3)) == pytest.approx(np.zeros(3), abs=1e-12)
    assert sizes.variation == pytest.approx(2, rel=1e-6)
    assert sizes.magnitude == pytest.approx(20, rel=1e-6) and sizes.values == pytest.approx((18, 20), rel=1e-6)


@pytest.mark.parametrize(("p", "truth"), [(1, 2.0), (2, 2.0), (np.inf, 2.0)])
def test_dual_norms_bound_losses_of_a_ball_on_a_simplex(p, truth):
    sizes = Sizes(simplex(), ball_losses(3, p))
    assert sizes.magnitude == pytest.approx(truth, rel=1e-6)
    assert sizes.feedback_range == pytest.approx(2 * truth, rel=1e-6)


def test_a_point_has_no_variation_and_no_reach():
    x = cp.Variable(3)
    sizes = Sizes(DecisionSet(x, [x == np.array([1.0, 2, 0])]), losses())
    assert sizes.variation == 0 and sizes.radius == 0
    assert sizes.values == pytest.approx((-1, 5), rel=1e-6) and sizes.magnitude == pytest.approx(5, rel=1e-6)


def test_what_is_no_set_is_refused_by_its_name():
    with pytest.raises(ValueError, match="decision_set must be a DecisionSet, not"):
        Sizes("simplex", losses())
    with pytest.raises(ValueError, match="loss_set must be a LossSet, not"):
        Sizes(simplex(), simplex())
