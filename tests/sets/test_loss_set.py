"""Loss sets: norms and diameters against enumeration, ranges against cvxpy, clipping."""

import itertools
import pickle
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from dpcvx import LossSet
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.box import Sides
from dpcvx.sets.shapes.matrix_ball import MatrixBall
from dpcvx.sets.shapes.shape import Shape

NORMS = (1, 2, np.inf)


def _points_measures(points, p):
    pairs = itertools.combinations(points, 2)
    return max(np.linalg.norm(v, p) for v in points), max((np.linalg.norm(a - b, p) for a, b in pairs), default=0.0)


def _named():
    l = cp.Variable(3, name="l")  # noqa: E741  (the name of a loss in the literature)
    corners = np.array(list(itertools.product((-1.0, 2.0), repeat=3)))
    yield "box", l, [l >= -1, l <= 2], corners
    yield "simplex", l, [l >= 0, cp.sum(l) == 1], np.eye(3)
    yield "scaled simplex", l, [l >= 0, cp.sum(l) == 4], 4 * np.eye(3)
    yield "1-ball", l, [cp.norm1(l) <= 2], 2 * np.concatenate([np.eye(3), -np.eye(3)])
    shifted = np.array([1.0, -2.0, 0.5])
    yield "1-ball off center", l, [cp.norm1(l - shifted) <= 2], shifted + 2 * np.concatenate([np.eye(3), -np.eye(3)])
    yield "maximum ball", l, [cp.norm_inf(l) <= 1], np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    points = np.random.default_rng(5).standard_normal((6, 3))
    w = cp.Variable(6, nonneg=True)
    yield "hull", l, [l == points.T @ w, cp.sum(w) == 1], points
    yield "a point", l, [l == 1.5], np.full((1, 3), 1.5)


@pytest.mark.parametrize(
    ("name", "variable", "constraints", "vertices"), list(_named()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_named_sets_are_exact(name, variable, constraints, vertices):
    Y = LossSet(variable, constraints)
    for p in NORMS:
        radius, diameter = _points_measures(vertices, p)
        assert Y.radius(p).kind == Y.diameter(p).kind == "exact"
        assert float(Y.radius(p)) == pytest.approx(radius, rel=1e-9)
        assert float(Y.diameter(p)) == pytest.approx(diameter, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("center", [np.zeros(4), np.array([1.0, -2.0, 0.0, 0.3])])
@pytest.mark.parametrize("q", [1.5, 2, 3])
def test_norm_balls_by_dense_sampling(center, q):
    l = cp.Variable(4, name="l")  # noqa: E741
    Y = LossSet(l, [cp.pnorm(l - center, q, approx=False) <= 2])
    rng = np.random.default_rng(0)
    d = rng.standard_normal((200_000, 4))
    d = np.concatenate([d, np.sign(d[:500]), np.eye(4), -np.eye(4)])
    d *= 2 / np.linalg.norm(d, q, axis=1, keepdims=True)
    for p in NORMS:
        seen = np.linalg.norm(center + d, p, axis=1).max()
        assert seen <= float(Y.radius(p)) * (1 + 1e-12)
        assert Y.radius(p).kind == "bound" or seen >= 0.97 * float(Y.radius(p))
        assert 2 * np.linalg.norm(d, p, axis=1).max() == pytest.approx(float(Y.diameter(p)), rel=0.02)
        assert Y.diameter(p).kind == "exact"


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_random_polytopes_are_never_underestimated(count):
    ratios = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = 2 + seed % 4, 8 + seed % 9
        A, b = rng.standard_normal((m, n)), rng.uniform(0.3, 1.5, m)
        rows = np.concatenate([A, np.eye(n), -np.eye(n)])
        right = np.concatenate([b, np.full(2 * n, 3.0)])
        vertices = HalfspaceIntersection(np.column_stack([rows, -right]), np.zeros(n)).intersections
        l = cp.Variable(n, name="l")  # noqa: E741
        Y = LossSet(l, [A @ l <= b, l <= 3, l >= -3])
        general = Shape(Y.recognised.geometry, Y.recognised.layout)  # the bounds that larger polytopes get
        for p in NORMS:
            radius, diameter = _points_measures(vertices, p)
            box = np.linalg.norm(np.ptp(vertices, axis=0), p)
            for body in (Y, general):
                assert float(body.radius(p)) >= radius * (1 - 1e-12)
                assert float(body.diameter(p)) >= diameter * (1 - 1e-12)
                assert float(body.diameter(p)) <= box * (1 + 1e-6)
            if p == 2:
                ratios.append((float(Y.diameter(2)) / diameter, float(general.diameter(2)) / diameter))
    assert np.all(np.median(ratios, axis=0) <= 1.5)


def test_small_polytopes_go_by_their_vertices():
    l = cp.Variable(3, name="l")  # noqa: E741
    rows = np.random.default_rng(1).standard_normal((9, 3))
    Y = LossSet(l, [rows @ l <= 1, l <= 2, l >= -2])
    assert Y.recognised.points is not None and Y.diameter(2).kind == "bound"


@pytest.mark.parametrize("kind", ["box", "flat", "polytope", "ball and plane", "hull", "3-ball", "matrix"])
def test_range_holds_the_values_of_cvxpy_and_is_hardly_wider(kind):
    rng = np.random.default_rng(3)
    l = cp.Variable((2, 2) if kind == "matrix" else 4, name="l")  # noqa: E741
    w = cp.Variable(6, nonneg=True)
    constraints = {
        "box": lambda: [l >= -1, l <= 2],
        "flat": lambda: [l >= 0, l <= 1, cp.sum(l) == 2],
        "polytope": lambda: [rng.standard_normal((12, 4)) @ l <= 1, l <= 2, l >= -2],
        "ball and plane": lambda: [cp.norm2(l) <= 1, cp.sum(l) <= 0.3],
        "hull": lambda: [l == rng.standard_normal((4, 6)) @ w, cp.sum(w) == 1],
        "3-ball": lambda: [cp.pnorm(l, 3, approx=False) <= 1],
        "matrix": lambda: [cp.sigma_max(l) <= 1],
    }[kind]()
    Y = LossSet(l, constraints)
    for _ in range(4):
        x = rng.standard_normal(Y.shape)
        lo, hi = Y.range(x)
        for value, sense in ((lo, cp.Minimize), (hi, cp.Maximize)):
            problem = cp.Problem(sense(cp.sum(cp.multiply(x, l))), constraints)
            problem.solve(solver=cp.CLARABEL)
            assert abs(value - problem.value) <= 1e-6
            # the solver itself is only good to about 1e-7
            assert value <= problem.value + 1e-7 if sense is cp.Minimize else value >= problem.value - 1e-7
    assert Y.range(np.zeros(Y.shape)) == pytest.approx((0, 0), abs=1e-12)


def _exact_ends(lower, upper, x):
    """min and max of <l, x> over a box, in rational arithmetic."""
    sides = [(Fraction(a) * Fraction(c), Fraction(b) * Fraction(c)) for a, b, c in zip(lower, upper, x, strict=True)]
    return sum(min(side) for side in sides), sum(max(side) for side in sides)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [1, 3, 50, 700])
@pytest.mark.parametrize("far", [0.0, 1.0, 1e6, 1e14])
def test_the_range_of_a_box_is_rounded_outward_and_no_further_than_rounding(size, far):
    rng = np.random.default_rng(size)
    l = cp.Variable(size, name="l")  # noqa: E741
    geometry = LossSet(l, [l >= 0, l <= 1]).recognised.geometry
    for _ in range(20):
        lower = far * rng.standard_normal(size) + rng.standard_normal(size)
        upper = lower + rng.exponential(size=size)
        x = rng.standard_normal(size) * 10.0 ** rng.integers(-5, 5, size)
        box = Sides(geometry, Layout((size,)), lower, upper)
        low, high = box.interval(x)
        least, most = _exact_ends(lower, upper, x)
        assert Fraction(float(low)) <= least and Fraction(float(high)) >= most
        reach = np.abs(x) @ np.maximum(np.abs(lower), np.abs(upper))
        assert low >= float(least) - 1e-15 * (size + 10) * reach
    box._half = upper / 2 - lower / 2  # teeth: without room for rounding an end is on the wrong side now and then
    ends = [(box.interval(x)[1], _exact_ends(lower, upper, x)[1]) for x in rng.standard_normal((50, size))]
    assert any(Fraction(float(high)) < most for high, most in ends)


def test_clip_is_the_identity_inside_and_lands_in_the_set():
    rng = np.random.default_rng(4)
    l = cp.Variable(4, name="l")  # noqa: E741
    for constraints in ([l >= 0, l <= 1], [cp.norm2(l) <= 1], [cp.norm1(l) <= 1], [l >= 0, cp.sum(l) == 1]):
        Y = LossSet(l, constraints)
        assert np.allclose(Y.clip(Y.center), Y.center, atol=1e-9)
        for scale in (0.1, 10.0, 1e300):
            assert Y.contains(Y.clip(scale * rng.standard_normal(4)))
        assert Y.clip(np.zeros((3, 2, 4)) + 5).shape == (3, 2, 4)


def test_measures_are_numbers_that_say_what_they_are():
    l = cp.Variable(2, name="l")  # noqa: E741
    Y = LossSet(l, [l >= 0, l <= 1])
    measure = Y.diameter(1)
    assert measure == 2.0 and measure.kind == "exact" and "exact" in repr(measure)
    assert pickle.loads(pickle.dumps(measure)).kind == "exact"
    with pytest.raises(ValueError, match="at least 1"):
        Y.radius(0.5)
    assert "diameter" in Y.summary()


def test_clipping_keeps_the_symmetry_of_the_variable():
    L = cp.Variable((2, 2), symmetric=True, name="L")
    Y = LossSet(L, [L >= 0, L <= 1])
    clipped = Y.clip(np.array([[0.5, 3.0], [-1.0, 0.2]]))
    assert np.array_equal(clipped, clipped.T) and Y.contains(clipped)


@pytest.mark.parametrize("norm", ["normNuc", "sigma_max"])
def test_matrix_balls_are_measured_by_their_singular_values(norm):
    """Against the extreme points of the balls, sampled: never below, and attained where it says exact."""
    rng = np.random.default_rng(5)
    l = cp.Variable((3, 2), name="l")  # noqa: E741
    center = np.array([[1.0, 0], [0, -1], [0.5, 0.5]])
    for middle in (np.zeros((3, 2)), center):
        Y = LossSet(l, [getattr(cp, norm)(l - middle) <= 2])
        assert isinstance(Y.recognised, MatrixBall)
        U, V = (np.linalg.qr(rng.standard_normal((4000, k, k)))[0] for k in (3, 2))
        rank = 1 if norm == "normNuc" else 2
        points = middle + 2 * U[:, :, :rank] @ V[:, :rank, :]
        flat = Y.flatten(points)
        for p in NORMS:
            assert np.linalg.norm(flat, p, axis=1).max() <= float(Y.radius(p)) * (1 + 1e-12)
            reach = 2 * np.linalg.norm(flat - Y.flatten(middle), p, axis=1).max()  # the ball is symmetric
            assert reach <= float(Y.diameter(p)) * (1 + 1e-12)
            if Y.diameter(p).kind == "exact":
                assert reach >= 0.9 * float(Y.diameter(p))
        x = rng.standard_normal((3, 2))
        low, high = Y.range(x)
        values = (points * x).sum(axis=(1, 2))
        assert low <= values.min() and values.max() <= high
        assert high == pytest.approx(np.sum(x * Y.argmin(-x)), abs=1e-5)
        assert Y.range(np.zeros((3, 2))) == pytest.approx((0.0, 0.0))
