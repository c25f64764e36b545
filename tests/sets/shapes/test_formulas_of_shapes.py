"""Sizes in closed form against the same numbers by hand: to the digits of the arithmetic, and never below them."""

from itertools import permutations, product

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet

NORMS = (1, 1.3, 2, 3, np.inf)
OUTWARD = 1e-11  # by which a formula may be above the truth, relative


def _set(size, make, **attributes):
    x = cp.Variable(size, name="x", **attributes)
    return DecisionSet(x, make(x)).recognised


def _units(scales, center=0.0):
    """center +- scale e_i."""
    ends = np.diag(scales)
    return center + np.concatenate([ends, -ends])


def _capped(scales=(1.0, 1.0, 1.0, 1.0)):
    """Two of four entries at 1."""
    return np.array(sorted(set(permutations([1.0, 1.0, 0.0, 0.0])))) * scales


CENTER = np.array([0.5, -2.0, 1.0])
AXES = np.array([3.0, 1.5, 0.6])

# name: (how the set is declared, its corners)
CORNERS = {
    "box": (
        lambda: _set(3, lambda x: [x >= [-1, 0, -5], x <= [1, 0.5, -2]]),
        np.array(list(product([-1, 1], [0, 0.5], [-5, -2]))),
    ),
    "point": (lambda: _set(2, lambda x: [x == np.array([3.0, -4.0])]), np.array([[3.0, -4.0]])),
    "simplex": (lambda: _set(4, lambda x: [x >= 0, cp.sum(x) == 2.5]), 2.5 * np.eye(4)),
    "simplex in units": (lambda: _set(3, lambda x: [x >= 0, 0.5 * cp.sum(x) == 3]), 6 * np.eye(3)),
    "simplex with the other sign": (lambda: _set(3, lambda x: [x >= 0, -2 * cp.sum(x) == -3]), 1.5 * np.eye(3)),
    "negative simplex": (lambda: _set(3, lambda x: [x <= 0, cp.sum(x) == -2]), -2 * np.eye(3)),
    "capped simplex": (lambda: _set(4, lambda x: [x >= 0, x <= 1, cp.sum(x) == 2]), _capped()),
    "capped simplex in other units": (
        lambda: _set(4, lambda x: [x >= 0, x <= [1, 2, 4, 8], np.array([8, 4, 2, 1]) @ x == 16]),
        _capped([1, 2, 4, 8]),
    ),
    "simplices": (
        lambda: _set(4, lambda x: [x >= 0, cp.sum(x[:2]) == 1, cp.sum(x[2:]) == 3]),
        np.array([[*a, *b] for a in np.eye(2) for b in 3 * np.eye(2)]),
    ),
    "simplex and interval": (
        lambda: _set(3, lambda x: [x[:2] >= 0, 2 * cp.sum(x[:2]) == 1, x[2] >= -1, x[2] <= 2]),
        np.array([[*a, b] for a in 0.5 * np.eye(2) for b in (-1, 2)]),
    ),
    "1-ball": (lambda: _set(3, lambda x: [cp.norm1(x) <= 2]), _units([2.0] * 3)),
    "1-ball off the origin": (lambda: _set(3, lambda x: [cp.norm1(x - CENTER) <= 2]), _units([2.0] * 3, CENTER)),
    "1-ball in units": (
        lambda: _set(3, lambda x: [cp.norm1(cp.multiply(1 / AXES, x - CENTER)) <= 1]),
        _units(AXES, CENTER),
    ),
    "hull": (
        lambda: DecisionSet(
            (x := cp.Variable(2)),
            [x == np.array([[-1.0, 4, 1], [-1, 0.5, 3]]) @ (w := cp.Variable(3, nonneg=True)), cp.sum(w) == 1],
        ).recognised,
        np.array([[-1.0, -1], [4, 0.5], [1, 3]]),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=CORNERS)
def cornered(request):
    declare, corners = CORNERS[request.param]
    return declare(), corners


def _from_above(found, truth, slack=OUTWARD):
    """Whether a certified number is the truth, rounded outward."""
    scale = np.maximum(np.abs(truth), 1e-3)
    return bool(np.all(found >= truth - 4e-16 * scale) and np.all(found <= truth + slack * scale))


def _slack(shape):
    """Corners that Qhull found have an error, and a margin for it."""
    return 1e-8 if getattr(shape, "_margin", 0.0) and shape.points is not None else OUTWARD


def test_boxes_are_those_of_the_corners(cornered):
    shape, corners = cornered
    lower, upper = shape.box
    assert lower == pytest.approx(corners.min(axis=0), abs=1e-9)
    assert upper == pytest.approx(corners.max(axis=0), abs=1e-9)


@pytest.mark.parametrize("p", NORMS)
def test_radii_and_diameters_are_those_of_the_corners(cornered, p):
    shape, corners = cornered
    radius = np.linalg.norm(corners, p, axis=1).max()
    apart = max(np.linalg.norm(corners - corner, p, axis=1).max() for corner in corners)
    assert _from_above(float(shape.radius(p)), radius, _slack(shape))
    assert _from_above(float(shape.norm_bound(p)), radius, 0.0101)
    assert _from_above(float(shape.diameter(p)), apart, _slack(shape))


def test_intervals_are_those_of_the_corners(cornered):
    shape, corners = cornered
    x = np.random.default_rng(0).standard_normal((3, 2, corners.shape[1])) * 10.0 ** np.arange(-3, 3, 2)[:, None, None]
    values = x @ corners.T
    low, high = shape.interval(x)
    size = np.abs(x).sum(axis=-1) * np.abs(corners).max()
    assert low.shape == high.shape == (3, 2)
    for found, truth in ((-low, -values.min(axis=-1)), (high, values.max(axis=-1))):
        assert np.all(found >= truth - 2e-16 * size) and np.all(found <= truth + _slack(shape) * size)


def test_support_bounds_are_attained_at_a_corner(cornered):
    shape, corners = cornered
    for c in np.random.default_rng(1).standard_normal((6, corners.shape[1])):
        truth = (corners @ c).max()
        slack = 1e-6 if not shape.has_formulas and not hasattr(shape, "axes") else OUTWARD
        assert truth - 1e-15 * np.abs(corners).max() <= shape.support_bound(c) <= truth + slack * np.abs(corners).max()
        assert shape.farthest(c) @ c == pytest.approx(truth, abs=1e-9)
        assert shape.argmin(c) @ c == pytest.approx((corners @ c).min(), abs=1e-9)


def test_the_middle_is_that_of_the_box_where_the_set_holds_it(cornered):
    shape, corners = cornered
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    assert shape.middle == pytest.approx(shape.project(middle), abs=1e-9)
    reach = np.linalg.norm(corners - shape.middle, axis=1).max()
    assert _from_above(shape.reach, reach, 1e-6)


def test_chords_of_convex_functions_are_exact_at_the_ends_of_the_box(cornered):
    """max sum (x_i - c_i)^2 over the corners is never above the chords, and a linear sum is met."""
    shape, corners = cornered
    c = np.random.default_rng(2).standard_normal(corners.shape[1])
    assert shape.chord_bound(lambda x: c * x) == pytest.approx((corners @ c).max(), abs=1e-6)
    assert shape.chord_bound(lambda x: (x - c) ** 2) >= ((corners - c) ** 2).sum(axis=1).max() - 1e-12


@pytest.mark.parametrize("name", ["box", "simplex", "capped simplex", "simplices", "1-ball", "hull", "point"])
def test_the_corners_are_listed_each_once(name):
    declare, corners = CORNERS[name]
    shape = declare()
    found = shape.vertices(lambda c: np.array([shape.argmin(one) for one in np.atleast_2d(c)]))
    assert sorted(map(tuple, found.round(9) + 0.0)) == sorted(map(tuple, corners.round(9) + 0.0))


# curved sets: (how the set is declared, radius by p, diameter by p, reach), None where it is only bounded


def _power(p):
    return 0.0 if np.isinf(p) else 1 / p


CURVED = {
    "ball": (
        lambda: _set(4, lambda x: [cp.norm2(x) <= 1.5]),
        lambda p: 1.5 * 4 ** max(0.0, _power(p) - 0.5),
        lambda p: 3.0 * 4 ** max(0.0, _power(p) - 0.5),
        1.5,
    ),
    "ball off the origin": (
        lambda: _set(3, lambda x: [cp.norm2(x - CENTER) <= 2]),
        lambda p: {1: 3.5 + 2 * np.sqrt(3), 2: np.sqrt(5.25) + 2, np.inf: 4.0}.get(p),
        lambda p: 4.0 * 3 ** max(0.0, _power(p) - 0.5),
        2.0,
    ),
    "3-ball in units": (
        lambda: _set(3, lambda x: [cp.pnorm(cp.multiply(1 / AXES, x), 3, approx=False) <= 1]),
        lambda p: 3.0 if p >= 3 else np.linalg.norm(AXES, 1 / (1 / p - 1 / 3)),
        lambda p: 6.0 if p >= 3 else 2 * np.linalg.norm(AXES, 1 / (1 / p - 1 / 3)),
        np.linalg.norm(AXES, 6),
    ),
    "1.5-ball": (
        lambda: _set(3, lambda x: [2 * cp.pnorm(x, 1.5, approx=False) - 1 <= 3]),
        lambda p: 2.0 if p >= 1.5 else 2 * 3 ** (1 / p - 1 / 1.5),
        lambda p: 4.0 if p >= 1.5 else 4 * 3 ** (1 / p - 1 / 1.5),
        2.0,
    ),
    "infinity-ball in a norm": (
        lambda: _set(3, lambda x: [cp.norm_inf(x) <= 2]),
        lambda p: 2 * 3 ** _power(p),
        lambda p: 4 * 3 ** _power(p),
        2 * np.sqrt(3),
    ),
    "ellipsoid": (
        lambda: _set(3, lambda x: [cp.sum_squares(cp.multiply(1 / AXES, x)) <= 1]),
        lambda p: 3.0 if p >= 2 else np.linalg.norm(AXES, 1 / (1 / p - 0.5)),
        lambda p: 6.0 if p >= 2 else 2 * np.linalg.norm(AXES, 1 / (1 / p - 0.5)),
        3.0,
    ),
    "spectrahedron": (
        lambda: _set((3, 3), lambda x: [cp.trace(x) == 2], PSD=True),
        lambda p: 2 * 3 ** max(0.0, 2 * _power(p) - 1),
        lambda p: 2 * 2 ** _power(p) if p >= 2 else None,
        2 * np.sqrt(2 / 3),
    ),
    "nuclear ball": (
        lambda: _set((2, 3), lambda x: [cp.normNuc(x) <= 1.5]),
        lambda p: 1.5 * 6 ** max(0.0, _power(p) - 0.5),
        lambda p: 3.0 * 6 ** max(0.0, _power(p) - 0.5),
        1.5,
    ),
    "spectral ball": (
        lambda: _set((2, 3), lambda x: [cp.sigma_max(x) <= 1.5]),
        lambda p: {2: 1.5 * np.sqrt(2), np.inf: 1.5}.get(p),
        lambda p: {2: 3.0 * np.sqrt(2), np.inf: 3.0}.get(p),
        1.5 * np.sqrt(2),
    ),
}


@pytest.fixture(scope="module", params=CURVED)
def curved(request):
    declare, *truths = CURVED[request.param]
    return declare(), *truths


@pytest.mark.parametrize("p", NORMS)
def test_curved_sets_are_as_large_as_the_formula_says_and_call_that_exact(curved, p):
    shape, radius, diameter, _ = curved
    for found, truth in ((shape.radius(p), radius(p)), (shape.diameter(p), diameter(p))):
        if truth is None:
            assert found.kind == "bound"
        else:
            assert found.kind == "exact" and _from_above(float(found), truth)


def test_curved_sets_reach_from_their_middle_as_far_as_the_formula_says(curved):
    shape, *_, reach = curved
    assert _from_above(shape.reach, reach)


# what is rounded to a grid


@pytest.mark.parametrize("from_zero", [False, True])
@pytest.mark.parametrize("name", ["ball", "3-ball in units", "1.5-ball"])
def test_balls_around_the_origin_are_rounded_toward_it_and_gain_nothing(name, from_zero):
    declare, radius, diameter, _ = CURVED[name]
    for p in (1, 2):
        units = (radius if from_zero else diameter)(p) / 0.07
        found = declare().grid_change(p, 0.07, from_zero=from_zero)
        assert found.toward_zero and found.kind == "exact"
        assert found.units == int(units) if p == 1 else units <= found.units <= units * (1 + 1e-8)


@pytest.mark.parametrize("from_zero", [False, True])
@pytest.mark.parametrize("name", ["simplex", "capped simplex", "1-ball off the origin"])
def test_other_sets_are_rounded_to_the_nearest_and_gain_half_a_step_for_each_end(name, from_zero):
    declare, corners = CORNERS[name]
    shape, n = declare(), corners.shape[1]
    for p in (1, 2):
        size = np.linalg.norm(corners, p, axis=1).max()
        if not from_zero:
            size = max(np.linalg.norm(corners - corner, p, axis=1).max() for corner in corners)
        units = size / 0.07 + (0.5 if from_zero else 1) * (n if p == 1 else np.sqrt(n))
        found = shape.grid_change(p, 0.07, from_zero=from_zero)
        assert not found.toward_zero
        assert found.units == int(units) if p == 1 else units <= found.units <= units * (1 + 1e-7)


def test_ends_of_boxes_are_rounded_and_nothing_is_added():
    shape = CORNERS["box"][0]()
    assert shape.grid_widths(0.3, from_zero=False) == [6, 2, 10]
    assert shape.grid_widths(0.3, from_zero=True) == [3, 2, 17]
    assert shape.grid_change(1, 0.3, from_zero=False).units == 18
    assert shape.grid_change(2, 0.3, from_zero=False).units == pytest.approx(np.sqrt(36 + 4 + 100), rel=1e-14)
    assert shape.grid_change(1, 0.3, from_zero=True).units == 22
    kind, half = shape.difference_body(from_zero=False)
    assert kind == "box" and half.tolist() == [2, 0.5, 3]
    assert shape.difference_body(from_zero=True)[1].tolist() == [1, 0.5, 5]


def test_only_euclidean_balls_around_the_origin_have_differences_that_are_balls():
    kind, radii = CURVED["ball"][0]().difference_body(from_zero=False)
    assert kind == "ball" and radii.tolist() == [3.0] * 4
    assert CURVED["ball"][0]().difference_body(from_zero=True)[1].tolist() == [1.5] * 4
    for other in (CURVED["ball off the origin"], CURVED["1.5-ball"], CURVED["3-ball in units"], CURVED["ellipsoid"]):
        assert other[0]().difference_body(from_zero=False) is None


def test_a_centered_radius_is_that_of_the_norm_of_the_ball_alone():
    assert CURVED["ball"][0]().centered_radius(2) == 1.5 and CURVED["ball"][0]().centered_radius(1) is None
    assert CORNERS["1-ball"][0]().centered_radius(1) == 2 and CURVED["1.5-ball"][0]().centered_radius(1.5) == 2
    assert CURVED["ball off the origin"][0]().centered_radius(2) is None
    assert CURVED["3-ball in units"][0]().centered_radius(3) is None
    assert CORNERS["simplex"][0]().centered_radius(1) is None
