"""Ellipsoids: their norms by formulas, the nearest point by its conditions, and those around a set."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, LossSet
from dpcvx.sets.geometry.ellipsoids import EllipsoidBody, ellipsoids_around
from dpcvx.sets.shapes.ellipsoid import Ellipsoid

RNG = np.random.default_rng(0)
BODIES = {
    "aligned": (np.array([1.0, -2.0, 0.5]), np.diag([1.0, 1 / 2, 1 / 3])),
    "tilted": (np.array([0.3, 0.0, -1.0]), RNG.standard_normal((3, 3))),
    "flat": (np.array([1.0, 1.0, 1.0, 0.0]), RNG.standard_normal((4, 2))),
    "around the origin": (np.zeros(3), RNG.standard_normal((3, 3))),
}


@pytest.fixture(params=BODIES)
def body(request):
    center, M = BODIES[request.param]
    return EllipsoidBody(center, M, M.shape[1])


def _points(body, count=4000):
    u = np.random.default_rng(1).standard_normal((count, body.M.shape[1]))
    return body.center + (u / np.linalg.norm(u, axis=1, keepdims=True)) @ body.M.T


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, np.inf])
def test_no_point_goes_farther_than_the_stretch_and_one_nearly_as_far_where_it_is_exact(body, p):
    seen = np.linalg.norm(_points(body) - body.center, p, axis=1).max()
    stretch, is_exact = body.stretch(p)
    assert seen <= stretch * (1 + 1e-12)
    assert stretch <= seen * (1.01 if is_exact else 1.3)


def test_the_farthest_point_from_the_origin_is_found(body):
    seen = np.linalg.norm(_points(body), axis=1).max()
    assert seen * (1 - 1e-12) <= body.farthest() <= seen * 1.005


def test_known_norms_of_an_aligned_ellipsoid():
    lengths = np.array([1.0, 1 / 2, 1 / 3])
    body = EllipsoidBody(np.array([0.0, 3.0, 0.0]), np.diag(lengths), 3)
    assert body.stretch(1) == (pytest.approx(np.linalg.norm(lengths)), True)
    assert body.stretch(1.5) == (pytest.approx(np.linalg.norm(lengths, 6)), True)
    assert body.stretch(2) == (pytest.approx(1), True)
    assert body.stretch(4) == (pytest.approx(1), True)
    assert body.stretch(np.inf) == (pytest.approx(1), True)
    # (cos t, 3 + sin t/2): |x|^2 = 1 + 9 + 3 sin t - 3/4 sin^2 t is largest at sin t = 1, before 2
    assert body.farthest() == pytest.approx(3.5, rel=1e-9)
    assert EllipsoidBody(np.zeros(3), np.diag(lengths), 3).farthest() == pytest.approx(1)


def test_the_one_norm_of_many_entries_is_bounded_and_exact_for_aligned_axes():
    lengths = np.linspace(1, 2, 20)
    aligned = EllipsoidBody(np.zeros(20), np.diag(lengths), 20)
    assert aligned.stretch(1) == (pytest.approx(np.linalg.norm(lengths)), True)
    tilted = EllipsoidBody(np.zeros(20), np.random.default_rng(2).standard_normal((20, 20)), 20)
    value, is_exact = tilted.stretch(1)
    assert not is_exact and value >= np.linalg.norm(_points(tilted), 1, axis=1).max()


@pytest.mark.parametrize("far", [0.1, 1.0, 5.0, 1e6])
def test_the_nearest_point_is_inside_and_the_rest_points_along_the_normal(far):
    """|p - x| is least where p - x is a multiple of the gradient of the quadratic form, at the boundary."""
    Q = np.diag([1.0, 4.0, 9.0]) + 0.5
    x, middle = cp.Variable(3), np.array([1.0, -1.0, 0.5])
    X = DecisionSet(x, [cp.quad_form(x - middle, Q) <= 2])
    assert isinstance(X.recognised, Ellipsoid)
    for d in np.random.default_rng(3).standard_normal((20, 3)):
        point = middle + far * d
        near = X.project(point)
        value = (near - middle) @ Q @ (near - middle)
        if (point - middle) @ Q @ (point - middle) <= 2:
            assert near == pytest.approx(point, abs=1e-12)
            continue
        assert value == pytest.approx(2, rel=1e-9)
        normal, rest = Q @ (near - middle), point - near
        assert rest @ normal == pytest.approx(np.linalg.norm(rest) * np.linalg.norm(normal), rel=1e-9)


def test_ellipsoids_and_discs_have_their_exact_sizes():
    x = cp.Variable(3)
    for scale in (1e-2, 1.0, 1e3):
        Y = LossSet(x, [cp.quad_form(x, np.diag([1.0, 4.0, 9.0])) <= 1.36 * scale**2])
        assert Y.diameter(2) == pytest.approx(2 * np.sqrt(1.36) * scale, rel=1e-9) and Y.diameter(2).kind == "exact"
        assert Y.radius(1) == pytest.approx(np.sqrt(1.36 * (1 + 1 / 4 + 1 / 9)) * scale, rel=1e-9)
        box = np.array(Y.bounding_box())
        assert box == pytest.approx(np.outer([-1, 1], np.sqrt(1.36) * scale / np.array([1, 2, 3])), rel=1e-9)
    disc = LossSet(x, [cp.norm2(x - 1) <= 2, cp.sum(x) == 3])
    assert disc.diameter(2) == pytest.approx(4, rel=1e-9) and disc.diameter(2).kind == "exact"
    assert disc.radius(2) == pytest.approx(np.sqrt(3 + 4), rel=1e-9)
    assert disc.recognised.reach == pytest.approx(2, rel=1e-9)


def test_small_entries_of_an_ellipsoid_in_mixed_units_keep_their_digits():
    units = np.array([1e6, 1.0, 1e-6])
    T = np.random.default_rng(4).standard_normal((3, 3))
    x = cp.Variable(3)
    X = DecisionSet(x, [cp.norm2(T @ cp.multiply(1 / units, x)) <= 1])
    rows = np.linalg.norm(np.linalg.inv(T), axis=1) * units
    assert X.recognised.box[1] == pytest.approx(rows, rel=1e-9)
    c = np.array([0.0, 0.0, 1.0])
    assert X.support_bound(c) == pytest.approx(rows[2], rel=1e-9) and X.support_bound(c) >= rows[2]


def test_a_ball_among_other_constraints_bounds_the_set():
    x = cp.Variable(9)
    A = np.random.default_rng(5).standard_normal((4, 9))
    X = DecisionSet(x, [cp.norm2(x - 1) <= 3, cp.log_sum_exp(A @ x) <= 20])
    (around,) = ellipsoids_around(X.geometry)
    assert around.center == pytest.approx(np.ones(9)) and around.lengths == pytest.approx(np.full(9, 3.0))
    assert X.recognised.diameter(2) == pytest.approx(6, rel=1e-6)
    partial = DecisionSet(x, [cp.norm2(x[:4]) <= 3, cp.log_sum_exp(A @ x) <= 20, x >= -2, x <= 2])
    assert ellipsoids_around(partial.geometry) == []


@pytest.mark.parametrize("p", [2.5, 3, 6])
def test_beyond_the_euclidean_norm_a_tilted_ellipsoid_is_bounded_by_its_longest_axis_and_widest_entry(p):
    M = np.random.default_rng(6).standard_normal((3, 3))
    body = EllipsoidBody(np.zeros(3), M, 3)
    longest, rows = np.linalg.norm(M, 2), np.linalg.norm(M, axis=1)
    wanted = min(np.linalg.norm(rows, p), longest ** (2 / p) * rows.max() ** (1 - 2 / p))
    assert body.stretch(p) == (pytest.approx(wanted, rel=1e-9), False)


@pytest.mark.parametrize("p", [1.1, 1.5, 1.9])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_below_the_euclidean_norm_a_tilted_ellipsoid_is_bounded_by_both_norms_in_any_unit(p, unit):
    """|y|_p is at most |y|_1^(2/p - 1) |y|_2^(2 - 2/p), and for a stretch of one direction there is nothing between."""
    M = unit * np.random.default_rng(6).standard_normal((3, 3))
    body = EllipsoidBody(np.zeros(3), M, 3)
    one = max(np.linalg.norm(M.T @ [1, a, b]) for a in (-1, 1) for b in (-1, 1))
    longest = np.linalg.norm(M, 2)
    wanted = [np.linalg.norm(np.linalg.norm(M, axis=1), p), one ** (2 / p - 1) * longest ** (2 - 2 / p)]
    assert body.stretch(p) == (pytest.approx(min(*wanted, longest * 3 ** (1 / p - 0.5)), rel=1e-9), False)
    assert np.linalg.norm(_points(body), p, axis=1).max() <= body.stretch(p)[0] * (1 + 1e-12)
    even = EllipsoidBody(np.zeros(4), unit * (np.full((4, 4), 0.5) + 1e-9 * np.eye(4)), 4)  # nearly a needle
    assert even.stretch(p)[0] == pytest.approx(unit * 4 ** (1 / p) * 0.5 * 2, rel=1e-6)


@pytest.mark.parametrize("center", [0.0, 1.0])
def test_the_center_of_an_ellipsoid_is_its_own_nearest_point(center):
    x = cp.Variable(3)
    shape = DecisionSet(x, [cp.quad_form(x - center, np.diag([1.0, 4.0, 9.0]) + 0.5) <= 2]).recognised
    assert isinstance(shape, Ellipsoid)
    points = np.stack([shape.center, shape.center + 9 * np.eye(3)[0], shape.center])
    near = shape.project(points)
    assert np.array_equal(near[[0, 2]], points[[0, 2]])
    assert np.array_equal(shape.project(shape.center), shape.center)


def test_a_head_that_is_constant_on_the_equalities_names_a_ball():
    """|x| <= 0.8 (x_0 + x_1) is a ball where x_0 + x_1 = 1, up to rounding; where the sum may move it is none."""
    x = cp.Variable(3)
    others = [x >= -1, x <= 2, x[2] - x[0] <= 1]
    X = DecisionSet(x, [x[0] + x[1] == 1, cp.norm2(x) <= 0.8 * (x[0] + x[1]), *others])
    (around,) = ellipsoids_around(X.geometry)
    assert around.center == pytest.approx([0.5, 0.5, 0], abs=1e-9)
    assert around.lengths == pytest.approx(np.full(2, np.sqrt(0.64 - 0.5)), rel=1e-9)
    tilted = np.array([0.3, 0.7, -0.2])
    X = DecisionSet(x, [tilted @ x == 0.6, cp.norm2(x) <= 1.7 * (tilted @ x), *others])
    (around,) = ellipsoids_around(X.geometry)
    assert around.lengths == pytest.approx(np.full(2, np.sqrt(1.02**2 - 0.36 / (tilted @ tilted))), rel=1e-9)
    cone = DecisionSet(x, [x[0] + x[1] <= 1, cp.norm2(x) <= 0.8 * (x[0] + x[1])])
    assert ellipsoids_around(cone.geometry) == []


@pytest.mark.parametrize("size", [1e-250, 1e-12, 1e12, 1e250])
def test_minimisers_over_an_ellipsoid_do_not_depend_on_the_size_of_the_costs(size):
    """Also with entries that are 0, and with those of sizes far apart."""
    x = cp.Variable(3)
    shape = DecisionSet(x, [cp.quad_form(x - 1, np.diag([1.0, 4.0, 9.0]) + 0.5) <= 2]).recognised
    assert isinstance(shape, Ellipsoid)
    for c in np.array([[1.0, -2.0, 0.5], [1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [0.0, 0.0, 0.0]]):
        assert shape.argmin(size * c) == pytest.approx(shape.argmin(c), rel=1e-12)
    center = np.ones(3)
    assert shape.argmin(np.zeros(3)) == pytest.approx(center)
    H = np.diag([1.0, 4.0, 9.0]) + 0.5
    c = np.array([1.0, -2.0, 0.5])
    along = np.linalg.solve(H, c)
    assert shape.argmin(size * c) == pytest.approx(center - along * np.sqrt(2 / (c @ along)), rel=1e-9)


def test_what_a_cone_holds_beside_x_makes_the_ball_smaller():
    """|(x - 1, 3)| <= 5 is |x - 1| <= 4, and a second ball is found beside it."""
    x = cp.Variable(3)
    first, second = cp.norm2(cp.hstack([x - 1, 3.0])) <= 5, cp.norm2(cp.multiply([1, 2, 4], x)) <= 8
    X = DecisionSet(x, [first, second, cp.log_sum_exp(x) <= 6])
    around_one, around_zero = sorted(ellipsoids_around(X.geometry), key=lambda each: each.lengths.sum())
    assert around_one.center == pytest.approx(np.ones(3)) and around_one.lengths == pytest.approx([4, 4, 4])
    assert around_zero.center == pytest.approx(np.zeros(3), abs=1e-9) and around_zero.lengths == pytest.approx(
        [8, 4, 2]
    )
