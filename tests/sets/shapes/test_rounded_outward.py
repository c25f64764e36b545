"""Bounds in closed form against exact arithmetic: rounding never brings them inside, and moves them by digits alone."""

from fractions import Fraction

import cvxpy as cp
import mpmath
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.shapes.box import Sides, bound_at
from dpcvx.sets.shapes.declared_ball import around

CENTER = np.array([0.7, -2.1, 1.3, 0.1])
AXES = np.array([3.1, 1.7, 0.6, 0.9])


def _exact(vector):
    return [Fraction(float(v)) for v in vector]


def _dot(x, y):
    return sum((a * b for a, b in zip(_exact(x), _exact(y), strict=True)), Fraction(0))


def _real(number):
    return mpmath.mpf(number.numerator) / number.denominator if isinstance(number, Fraction) else mpmath.mpf(number)


def _norm(entries, p):
    sizes = [abs(_real(entry)) for entry in entries]
    return max(sizes) if p == np.inf else mpmath.fsum(size**p for size in sizes) ** (1 / mpmath.mpf(p))


def _declared(make, n=4):
    x = cp.Variable(n)
    return DecisionSet(x, make(x)).recognised


def _box(shape, x):
    low, high = _exact(shape.lower), _exact(shape.upper)
    ends = [sorted((c * a, c * b)) for c, a, b in zip(_exact(x), low, high, strict=True)]
    return sum(a for a, _ in ends), sum(b for _, b in ends)


def _ball(shape, x, stretch):
    """<c, center> and the dual norm of (a_i c_i)."""
    middle, half = _real(_dot(x, shape.center)), stretch(shape, x)
    return middle - half, middle + half


def _q_ball(shape, x):
    dual = 1 if np.isinf(shape.q) else np.inf if shape.q == 1 else shape.q / (mpmath.mpf(shape.q) - 1)
    return _norm([c * a for c, a in zip(_exact(x), _exact(shape.axes), strict=True)], dual)


def _ellipsoid(shape, x):
    return _norm([_dot(x, column) for column in shape.body.M.T], 2)


def _tilted(x):
    return cp.norm2(np.random.default_rng(3).standard_normal((4, 4)) @ x - 1) <= 2


def _stretched(q):
    return lambda x: [cp.pnorm(cp.multiply(1 / AXES, x - CENTER), q, approx=False) <= 1]


# name: (shape, its least and largest <c, x> in exact arithmetic)
SHAPES = {
    "box": (lambda: _declared(lambda x: [x >= CENTER - AXES, x <= CENTER]), _box),
    "box far out": (lambda: _declared(lambda x: [x >= 1e6 - AXES, x <= 1e6 + AXES / 7]), _box),
    "simplex": (
        lambda: _declared(lambda x: [x >= 0, 0.3 * cp.sum(x) == 0.7]),
        lambda s, x: (Fraction(s.total) * min(_exact(x)), Fraction(s.total) * max(_exact(x))),
    ),
    "1-ball": (lambda: _declared(_stretched(1)), lambda s, x: _ball(s, x, _q_ball)),
    "1.7-ball": (lambda: _declared(_stretched(1.7)), lambda s, x: _ball(s, x, _q_ball)),
    "3-ball": (lambda: _declared(_stretched(3)), lambda s, x: _ball(s, x, _q_ball)),
    "ball": (
        lambda: _declared(lambda x: [cp.norm2(x - CENTER) <= 0.7]),
        lambda s, x: _ball(s, x, lambda s, x: s.scale * _norm(_exact(x), 2)),
    ),
    "ellipsoid": (lambda: _declared(lambda x: [_tilted(x)]), lambda s, x: _ball(s, x, _ellipsoid)),
    "aligned ellipsoid": (
        lambda: _declared(lambda x: [cp.sum_squares(cp.multiply(1 / AXES, x - CENTER)) <= 1]),
        lambda s, x: _ball(s, x, _ellipsoid),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(40):
        yield


@pytest.fixture(scope="module", params=SHAPES)
def shaped(request):
    make, truth = SHAPES[request.param]
    return make(), truth


def test_ends_of_linear_functions_are_outside_the_exact_ones_by_rounding(shaped):
    shape, truth = shaped
    x = np.random.default_rng(0).standard_normal((60, 4)) * 10.0 ** np.arange(-3, 3).repeat(10)[:, None]
    low, high = shape.interval(x)
    for one, least, most in zip(x, low, high, strict=True):
        size = float(np.abs(one) @ np.maximum(*map(np.abs, shape.box)))
        bottom, top = (_real(end) for end in truth(shape, one))
        assert bottom - 1e-11 * size <= least <= bottom and top <= most <= top + 1e-11 * size
        assert top <= shape.support_bound(one) <= top + 1e-11 * size


def test_ends_of_entries_are_outside_the_exact_ones_but_for_the_last_digit(shaped):
    shape, truth = shaped
    lower, upper = shape.box
    last = 0.0 if hasattr(shape, "body") else 3e-16  # what center +- axis is rounded by, once for each
    for i, unit in enumerate(np.eye(4)):
        bottom, top = (_real(end) for end in truth(shape, unit))
        size = np.abs(shape.box).max()
        assert bottom - 1e-11 * size <= lower[i] <= bottom + last * size
        assert top - last * size <= upper[i] <= top + 1e-11 * size


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_the_rounding_of_long_sums_is_within_what_is_added(n):
    """Equal terms, whose roundings all point in one direction; teeth: 1e-14 of the sum is too little for 100,000."""
    for a, b in np.random.default_rng(0).uniform(0.5, 1.0, (12, 2)):
        x, ends, truth = np.full(n, a), np.full(n, b), n * Fraction(a) * Fraction(b)
        assert truth <= Fraction(bound_at(x, ends)) <= truth * (1 + Fraction(1, 10**13) + n * Fraction(1, 10**15))
        low, high = around(ends, x, np.array(0.0))
        assert Fraction(float(low)) <= truth <= Fraction(float(high))
        low, high = Sides(None, None, ends, ends).interval(x)
        assert Fraction(float(low)) <= truth <= Fraction(float(high))
    slack = n * np.finfo(float).eps / 2  # by which a sum of n terms of size 1 may be off, for each of them
    wave = np.resize([1.0, -1.0], n)
    for low, high in (around(np.ones(n), wave, np.array(0.0)), around(np.ones(n), wave[None], np.zeros(1))):
        assert low == -high and slack * n <= high <= 20 * slack * n
    low, high = Sides(None, None, np.ones(n), np.ones(n)).interval(wave)
    assert low == -high and slack * n <= high <= (20 + 100 / n) * slack * n
    assert slack * n <= bound_at(wave, np.ones(n)) <= 1e-13 * n + 20 * slack * n


def test_lengths_of_whole_steps_are_never_below_the_root_of_their_squares():
    for widths in np.random.default_rng(1).integers(1, 10**6, (300, 3)).tolist():
        found = Fraction(
            Sides(None, None, np.zeros(3), np.array(widths, float)).grid_change(2, 1.0, from_zero=False).units
        )
        squares = sum(w * w for w in widths)
        assert squares <= found**2 <= squares * (1 + Fraction(1, 10**14))


def test_sizes_of_balls_are_never_below_the_exact_ones():
    rng = np.random.default_rng(2)
    for _ in range(4):
        center, scale = rng.standard_normal(3), float(rng.uniform(0.1, 9))
        shape = _declared(lambda x, c=center, r=scale: [cp.norm2(x - c) <= r], 3)
        truth = _norm(_exact(shape.center), 2) + shape.scale
        assert truth <= shape.norm_bound(2) <= truth * (1 + 1e-13)
        S = cp.Variable((2, 2), symmetric=True)
        flat = DecisionSet(S, [cp.norm(S - np.diag(center[:2]), "fro") <= scale]).recognised
        assert flat.scale == pytest.approx(scale, rel=1e-12)
        truth = _norm(_exact(flat.center), 2) + flat.scale
        assert truth <= flat.norm_bound(2) <= truth * (1 + 1e-13)
        assert 2 * Fraction(flat.scale) < Fraction(float(flat.diameter(2))) <= 2 * Fraction(flat.scale * (1 + 1e-13))
        assert Fraction(flat.scale) < Fraction(float(flat.reach)) <= Fraction(flat.scale * (1 + 1e-13))


def _grid_with_a_bridge(side):
    """Streets to the north and to the east of a town, behind one street that all have to take."""
    steps = [((a, b), (a + 1, b)) for a in range(side - 1) for b in range(side)]
    return nx.DiGraph([("home", (0, 0)), *steps, *(((b, a), (d, c)) for (a, b), (c, d) in steps)])


def test_longest_paths_are_bounded_outward_and_two_differ_in_all_edges_that_are_not_on_every_path():
    X = ds.flow_polytope(_grid_with_a_bridge(5), "home", (4, 4))
    shape = X.recognised
    assert shape.points is None and shape.argmin_name.startswith("shortest path")
    for c in np.random.default_rng(3).standard_normal((40, X.size)) * 10.0 ** np.arange(-4, 4).repeat(5)[:, None]:
        best = shape.farthest(c)
        assert set(best.tolist()) == {0.0, 1.0} and best.sum() == 9
        truth = _dot(c, best)
        assert truth < Fraction(shape.support_bound(c)) <= truth + Fraction(1e-12 * np.abs(c).max())
    for p in (1, 1.5, 2, 7):
        assert float(shape.radius(p)) == pytest.approx(9 ** (1 / p), rel=1e-14) and shape.radius(p).kind == "exact"
        truth = mpmath.mpf(16) ** (1 / mpmath.mpf(p))  # up and right, right and up: eight streets each
        assert truth <= shape.diameter(p) <= truth * (1 + 1e-14) and shape.diameter(p).kind == "bound"
    assert shape.diameter(np.inf) == 1 and shape.radius(np.inf) == 1
    lower, upper = shape.box
    assert lower.sum() == 1 and upper.sum() == X.size
