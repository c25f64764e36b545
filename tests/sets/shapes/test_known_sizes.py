"""Sizes of sets whose sizes are known: the certified numbers are neither below them nor far above."""

from dataclasses import dataclass
from math import e, sqrt

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet

INF = float("inf")


@dataclass(frozen=True)
class Known:
    """A set with its true sizes by the norm (1, 2, infinity), and by which factor the certified ones may be above."""

    make: object
    n: object
    dim: int
    lower: object
    upper: object
    diameter: tuple[float, float, float]
    radius: tuple[float, float, float]
    slack: float = 1 + 1e-6
    attributes: tuple[tuple[str, object], ...] = ()

    def declared(self) -> DecisionSet:
        x = cp.Variable(self.n, **dict(self.attributes))
        return DecisionSet(x, self.make(x))


KNOWN = {
    "ball off the origin": Known(
        lambda x: [cp.norm2(x - np.array([3.0, 4.0])) <= 2], 2, 2, [1, 2], [5, 6],
        (4 * sqrt(2), 4, 4), (7 + 2 * sqrt(2), 7, 6), 1.011,
    ),
    "ball of nine dimensions in ten": Known(
        lambda x: [cp.norm2(x - 0.1) <= sqrt(2), cp.sum(x) == 1], 10, 9, 0.1 - sqrt(1.8), 0.1 + sqrt(1.8),
        (sqrt(80), 2 * sqrt(2), 2 * sqrt(1.8)), (sqrt(20), sqrt(2.1), 0.1 + sqrt(1.8)), 1.03,
    ),
    "ellipsoid": Known(
        lambda x: [cp.quad_form(x, np.diag([1.0, 4.0, 9.0])) <= 1], 3, 3, [-1, -1 / 2, -1 / 3], [1, 1 / 2, 1 / 3],
        (7 / 3, 2, 2), (7 / 6, 1, 1),
    ),
    "l1 ball": Known(lambda x: [cp.norm1(x - 1) <= 2], 3, 3, -1, 3, (4, 4, 4), (5, sqrt(11), 3)),
    "box": Known(
        lambda x: [x >= [-1, 0], x <= [1, 3]], 2, 2, [-1, 0], [1, 3], (5, sqrt(13), 3), (4, sqrt(10), 3)
    ),
    "simplex": Known(lambda x: [x >= 0, cp.sum(x) == 2], 4, 3, 0, 2, (4, 2 * sqrt(2), 2), (2, 2, 2)),
    "triangle": Known(lambda x: [x >= 0, x[0] + 2 * x[1] <= 2], 2, 2, 0, [2, 1], (3, sqrt(5), 2), (2, 2, 2)),
    "lens": Known(
        lambda x: [cp.norm2(x - np.array([0.5, 0])) <= 1, cp.norm2(x + np.array([0.5, 0])) <= 1], 2, 2,
        [-0.5, -sqrt(3) / 2], [0.5, sqrt(3) / 2], (2 * sqrt(2) - 1, sqrt(3), sqrt(3)),
        (sqrt(2) - 0.5, sqrt(3) / 2, sqrt(3) / 2), 1.011,
    ),
    "cylinder": Known(
        lambda x: [cp.norm2(x[:2]) <= 2, cp.abs(x[2]) <= 1], 3, 3, [-2, -2, -1], [2, 2, 1],
        (4 * sqrt(2) + 2, sqrt(20), 4), (2 * sqrt(2) + 1, sqrt(5), 2), 1.02,
    ),
    "parabola": Known(
        lambda x: [cp.square(x[0]) <= x[1], x[1] <= 4], 2, 2, [-2, 0], [2, 4],
        (6.25, 4.53634512848683, 4), (6, sqrt(20), 4), 1.011,  # from (2, 4) to (-a, a^2), a the best for the norm
    ),
    "exponential": Known(
        lambda x: [cp.exp(x[0]) <= x[1], x[1] <= e, x[0] >= 0], 2, 2, [0, 1], [1, e],
        (e, sqrt(1 + (e - 1) ** 2), e - 1), (1 + e, sqrt(1 + e * e), e),
    ),
    "geometric mean": Known(
        lambda x: [cp.geo_mean(x) >= 1, cp.sum(x) <= 2.5], 2, 2, 0.5, 2, (3, sqrt(4.5), 1.5), (2.5, sqrt(4.25), 2)
    ),
    "spectrahedron": Known(
        lambda X: [cp.trace(X) == 1], (2, 2), 2, [[0, -0.5], [-0.5, 0]], [[1, 0.5], [0.5, 1]],
        (2 * sqrt(2), sqrt(2), 1), (2, 1, 1), 1.01, (("PSD", True),),
    ),
    "interval": Known(lambda x: [x >= -1, x <= 3], (), 1, -1, 3, (4, 4, 4), (3, 3, 3)),
    "a point": Known(lambda x: [x == np.array([1.0, -2.0])], 2, 0, [1, -2], [1, -2], (0, 0, 0), (3, sqrt(5), 2)),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(KNOWN))
def known(request):
    return KNOWN[request.param], KNOWN[request.param].declared()


def test_the_bounding_box_is_the_known_one(known):
    truth, X = known
    lower, upper = X.bounding_box()
    assert X.dim == truth.dim
    assert lower == pytest.approx(np.broadcast_to(truth.lower, X.shape), abs=1e-7)
    assert upper == pytest.approx(np.broadcast_to(truth.upper, X.shape), abs=1e-7)


def test_diameters_are_above_the_known_ones_and_not_by_much(known):
    truth, X = known
    for p, wanted in zip((1, 2, INF), truth.diameter, strict=True):
        found = float(X.recognised.diameter(p))
        assert wanted * (1 - 1e-9) <= found <= wanted * truth.slack + 1e-7


def test_norms_are_above_the_known_ones_and_not_by_much(known):
    truth, X = known
    for p, wanted in zip((1, 2, INF), truth.radius, strict=True):
        assert wanted * (1 - 1e-9) <= X.norm_bound(p) <= wanted * truth.slack + 1e-7
        assert wanted * (1 - 1e-9) <= float(X.recognised.radius(p)) <= wanted * truth.slack + 1e-7


def test_the_reach_is_between_half_the_diameter_and_the_diameter(known):
    truth, X = known
    half = truth.diameter[1] / 2
    assert half * (1 - 1e-9) <= X.recognised.reach <= 2 * half * truth.slack + 1e-7


def test_support_bounds_are_the_support(known):
    _, X = known
    for c in np.random.default_rng(0).standard_normal((3, *X.shape)):
        assert X.support_bound(c) == pytest.approx(X.support(c), abs=1e-6)
        assert X.support_bound(c) >= X.support(c) - 1e-9


def test_intervals_are_the_range_of_a_linear_function():
    X = KNOWN["parabola"].declared()
    low, high = X.recognised.interval(np.array([[1.0, 0.0], [0.0, -2.0], [2.0, 1.0]]))
    assert low == pytest.approx([-2, -8, -1], abs=1e-6)
    assert high == pytest.approx([2, 0, 8], abs=1e-6)


def test_chords_bound_a_convex_sum_by_its_values_on_the_box():
    X = KNOWN["parabola"].declared()
    assert X.recognised.chord_bound(lambda x: x**2) == pytest.approx(4 + 16, abs=1e-5)
