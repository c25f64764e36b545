"""Sizes of pairs on which one bound is the truth and all others are above it; and through a map, exactly rounded."""

from fractions import Fraction
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import decision_sets as ds
from dpcvx import DecisionSet, LossSet
from dpcvx.sets.pairing import Pairing, PulledLosses, _interval
from dpcvx.sets.sizes import Sizes, sizes_of


def _box_losses(low, high):
    loss = cp.Variable(len(low))
    return LossSet(loss, [loss >= np.array(low, float), loss <= np.array(high, float)])


def _ball_losses(center, radius):
    loss = cp.Variable(len(center))
    return LossSet(loss, [cp.norm2(loss - np.array(center, float)) <= radius])


def _box(low, high):
    x = cp.Variable(len(low))
    return DecisionSet(x, [x >= np.array(low, float), x <= np.array(high, float)])


def _ball(center, radius):
    x = cp.Variable(len(center))
    return DecisionSet(x, [cp.norm2(x - np.array(center, float)) <= radius])


def _disc():
    x = cp.Variable(3)
    return DecisionSet(x, [cp.norm2(x) <= 1, cp.sum(x) == 0])


def _uneven(n):
    """Losses of a width of 1.8 in the first entry and of 0.2 in all others, around 4."""
    half = np.append(0.9, np.full(n - 1, 0.1))
    return _box_losses(4 - half, 4 + half)


def test_magnitudes_are_those_of_corners_of_dual_norms_and_of_the_middle():
    assert Sizes(_box([1, 0], [2, 3]), _box_losses([2, 1], [5, 2])).magnitude == pytest.approx(2 * 5 + 3 * 2, rel=1e-9)
    assert Sizes(_box([-2, -3], [-1, 0]), _box_losses([2, 1], [5, 2])).magnitude == pytest.approx(16, rel=1e-9)
    assert Sizes(_ball([0, 0, 0], 2), _ball_losses([0, 0, 0], 3)).magnitude == pytest.approx(6, rel=1e-9)
    for side in (1, -1):  # losses that hardly see where the ball is: (10, 9.5) against side (5, -4.9)
        truth = 10 * 5 - 9.5 * 4.9 + np.hypot(10, 9.5)
        found = Sizes(_ball([side * 5, -side * 4.9], 1), _box_losses([9, 9.5], [10, 9.5])).magnitude
        assert truth <= found <= 1.01 * truth


def test_variations_are_those_of_corners_of_dual_norms_and_of_the_middle():
    sizes = Sizes(_ball([1, 2, 3], 2), _ball_losses([0, 0, 0], 3))
    assert sizes.variation == pytest.approx(12, rel=1e-9)
    flat = Sizes(_disc(), _box_losses([4.5] * 3, [5.5] * 3))  # of (0.5, 0.5, -0.5) two thirds of the square lie on it
    assert 2 * np.sqrt(2 / 3) <= flat.variation <= np.sqrt(3) * (1 + 1e-6)
    assert Sizes(ds.simplex(2), _box_losses([4.5, 4.9], [5.5, 5.1])).variation == pytest.approx(0.6, rel=1e-6)
    chosen = Sizes(ds.capped_simplex(20, 3), _uneven(20))  # the first entry and two others, and back
    assert 0.9 + 5 * 0.1 <= chosen.variation == pytest.approx(2 * (0.9 + 2 * 0.1), rel=1e-6)
    x = cp.Variable(20)
    moved = Sizes(DecisionSet(x, [x >= 7, x <= 8, cp.sum(x) == 143]), _uneven(20))
    assert moved.variation == pytest.approx(chosen.variation, rel=1e-6)
    assert Sizes(_box([0, 1], [2, 4]), _box_losses([-1, 3], [2, 5])).variation == pytest.approx(2 * 2 + 3 * 5, rel=1e-6)


def test_how_far_one_loss_moves_the_feedback_is_the_largest_sum_of_widths_times_entries():
    assert Sizes(_box([-3, 0], [1, 2]), _box_losses([0, 1], [1, 5])).feedback_range == pytest.approx(3 * 1 + 2 * 4)
    assert Sizes(_ball([0, 0, 0], 2), _ball_losses([5, 0, 1], 3)).feedback_range == pytest.approx(12, rel=1e-9)
    chosen = Sizes(ds.capped_simplex(20, 3), _uneven(20))
    assert chosen.feedback_range == pytest.approx(2 * (0.9 + 2 * 0.1), rel=1e-6)


def test_values_are_between_those_of_the_box_and_the_magnitude():
    sizes = Sizes(_ball([0, 0, 0], 2), _ball_losses([0, 0, 0], 3))
    assert sizes.values == pytest.approx((-6, 6), rel=1e-9)
    low, high = sizes.box_values
    assert low < -6 and high > 6
    sizes = Sizes(_box([1, -2], [2, 3]), _box_losses([-1, 2], [5, 4]))
    assert sizes.values == pytest.approx((-1 * 2 - 2 * 4, 2 * 5 + 3 * 4), rel=1e-9) == sizes.box_values
    assert sizes.loss_ends == (-1, 5) and sizes.loss_middle.tolist() == [2, 3]


def test_points_cost_what_the_farther_end_of_each_entry_says():
    """On a box max <l, point - x> is a sum over entries."""
    low, high, least, most = np.array([1, -2]), np.array([2, 3]), np.array([-1, 2]), np.array([5, 4])
    sizes = Sizes(_box(low, high), _box_losses(least, most))
    for point in ([1.0, -2.0], [1.25, 2.0], [2.0, 3.0]):
        truth = sum(
            max(l * (p - x) for l, x in product(*pair))  # noqa: E741
            for p, pair in zip(
                point, zip(zip(least, most, strict=True), zip(low, high, strict=True), strict=True), strict=True
            )
        )
        assert sizes.regret_of(np.array(point)) == pytest.approx(truth, rel=1e-9)


def test_sizes_are_measured_once_for_all_who_ask():
    X, Y = _box([0], [1]), _box_losses([0], [1])
    assert sizes_of(X, Y) is sizes_of(X, Y) and sizes_of(X, _box_losses([0], [1])) is not sizes_of(X, Y)


# through a map that doubles two things and does not use the third


DOUBLED = np.array([[2.0, 0], [0, 2], [0, 0]])
CORNERS = np.array(list(product([-1.0, 2], [0.5, 3], [-7, 8])))


def _doubled():
    x = cp.Variable(2, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 3], links_map=DOUBLED), _box_losses(CORNERS.min(axis=0), CORNERS.max(axis=0))


def test_everything_is_twice_as_large_through_a_map_that_doubles_and_leaves_out_an_entry():
    X, Y = _doubled()
    sizes, points = Sizes(X, Y), 3 * np.eye(2)
    used, values = points @ DOUBLED.T, CORNERS @ DOUBLED @ points.T
    for p in (1, 1.5, 2, 3, np.inf):
        assert sizes.pairing.stretch(p) == pytest.approx(2, rel=1e-11) and sizes.pairing.stretch(p) >= 2
        assert sizes.pairing.back_stretch(p) == pytest.approx(2, rel=1e-11) and sizes.pairing.back_stretch(p) >= 2
        assert sizes.used_radius(p) == pytest.approx(np.linalg.norm(used, p, axis=1).max(), rel=1e-9)
        assert sizes.used_diameter(p) == pytest.approx(np.linalg.norm(used[0] - used[1], p), rel=1e-9)
        covectors = CORNERS @ DOUBLED
        apart = max(np.linalg.norm(covectors - one, p, axis=1).max() for one in covectors)
        for found, truth in (
            (sizes.losses.radius(p), np.linalg.norm(covectors, p, axis=1).max()),
            (sizes.losses.diameter(p), apart),
        ):
            assert truth * (1 - 1e-15) <= found <= truth * (1 + 1e-11)
    assert isinstance(sizes.losses, PulledLosses) and sizes.losses.size == 2
    assert not sizes.pairing.isometric and not sizes.pairing.selects and not sizes.pairing.plain
    assert sizes.noise_gain == pytest.approx(4, rel=1e-11)
    assert sizes.used_reach == pytest.approx(2 * sizes.radius, rel=1e-11)
    assert sizes.one_norm_diameter == pytest.approx(12, rel=1e-9)
    assert sizes.used_loss_radius == pytest.approx(np.hypot(2, 3), rel=1e-9)  # without the entry from -7 to 8
    assert sizes.magnitude == pytest.approx(np.abs(values).max(), rel=1e-6)
    assert sizes.values == pytest.approx((values.min(), values.max()), rel=1e-6)
    assert sizes.feedback_range == pytest.approx(np.ptp(values, axis=0).max(), rel=1e-6)
    lower, upper = sizes.pairing.usage_box()
    assert lower.tolist() == [0, 0, 0] and upper == pytest.approx([6, 6, 0], rel=1e-12)
    low, high = sizes.losses.ranges(np.array([[1.0, 0], [1, -1]]))
    assert low == pytest.approx([-2, -8]) and high == pytest.approx([4, 3])


def test_a_ball_of_losses_is_pulled_back_by_the_norm_of_the_map():
    X, _ = _doubled()
    pulled = Sizes(X, _ball_losses([0, 0, 0], 1.5)).losses
    assert pulled.radius(2) == pytest.approx(3, rel=1e-9) and pulled.diameter(2) == pytest.approx(6, rel=1e-9)


def test_boxes_go_through_matrices_as_in_exact_arithmetic_rounded_outward_by_digits():
    rng = np.random.default_rng(0)
    for columns in (1, 3, 40):
        M = sparse.csr_array(rng.standard_normal((6, columns)) * (rng.random((6, columns)) < 0.7))
        lower = rng.standard_normal(columns)
        upper = lower + rng.random(columns)
        least, most = _interval(M, lower, upper)
        sizes = abs(M) @ np.maximum(np.abs(lower), np.abs(upper))
        for i, row in enumerate(M.toarray()):
            terms = [
                sorted(Fraction(float(c)) * Fraction(float(end)) for end in ends)
                for c, ends in zip(row, np.column_stack([lower, upper]), strict=True)
            ]
            low, high = sum(a for a, _ in terms), sum(b for _, b in terms)
            own = 0 if np.count_nonzero(row) > 1 else Fraction(1e-15 * sizes[i])  # one product is as good as a number
            slack = Fraction(5e-15 * sizes[i])
            assert low - slack <= Fraction(float(least[i])) <= low + own
            assert high - own <= Fraction(float(most[i])) <= high + slack


def test_entries_that_are_used_once_keep_their_ends_to_the_bit():
    least, most = _interval(
        sparse.csr_array(np.array([[0, 1.0], [1, 0], [0, -1]])), np.array([0.1, -0.7]), np.array([0.3, 0.9])
    )
    assert least.tolist() == [-0.7, 0.1, -0.9] and most.tolist() == [0.9, 0.3, 0.7]


def test_an_isometry_takes_a_loss_of_its_own_length_to_each_coordinate():
    x = cp.Variable(2, nonneg=True)
    turned = np.array([[0.6, 0.8], [-0.8, 0.6], [0, 0]])
    X = DecisionSet(x, [cp.sum(x) == 1], links_map=np.array([[0.0, 1], [1, 0], [0, 0]]))
    assert Pairing(X, (3,)).isometric and Pairing(X, (3,)).selects
    sizes = Sizes(X, _box_losses([-1, -1, -5], [1, 2, 5]))
    assert sizes.noise_gain == 1 and sizes.used_reach == sizes.radius and sizes.used_loss_radius == sizes.loss_radius
    assert not Pairing(DecisionSet(x, [cp.sum(x) == 1], links_map=turned), (3,)).selects
