"""Every shape against the general one on the same set: its formulas may be sharper than solvers, never wrong."""

import itertools

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.shapes import SHAPES, Shape, polytope
from dpcvx.sets.shapes.box import Box, Point
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.euclidean_ball import EuclideanBall, FlatBall
from dpcvx.sets.shapes.flow import Flow, PathFlow
from dpcvx.sets.shapes.hull import Hull
from dpcvx.sets.shapes.matrix_ball import MatrixBall
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.simplex import CappedSimplex, Simplex
from dpcvx.sets.shapes.simplex_product import SimplexProduct
from dpcvx.sets.shapes.spectrahedron import Spectrahedron

NORMS = (1, 1.5, 2, 4, np.inf)


def _vector(size=3):
    return cp.Variable(size, name="x")


def _flow():
    graph = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (0, 3)])
    D = -nx.incidence_matrix(graph, oriented=True).toarray()
    x = cp.Variable(6, nonneg=True)
    return x, [D @ x == np.array([1.0, 0, 0, -1])]


def _hull():
    x, w = _vector(2), cp.Variable(5, nonneg=True)
    return x, [x == np.random.default_rng(0).standard_normal((2, 5)) @ w, cp.sum(w) == 1]


def _with(size, make):
    x = _vector(size)
    return x, make(x)


def _square(size):
    return np.random.default_rng(2).standard_normal((size, size))


SETS = {
    "point": (Point, lambda: _with(3, lambda x: [x == np.array([1.0, -2.0, 0.0])])),
    "box": (Box, lambda: _with(3, lambda x: [x >= [-1, 0, 2], x <= [1, 0.5, 5]])),
    "box of symmetric matrices": (Box, lambda: ((x := cp.Variable((2, 2), symmetric=True)), [x >= -1, x <= 2])),
    "simplex": (Simplex, lambda: _with(4, lambda x: [x >= 0, cp.sum(x) == 2.5])),
    "capped simplex": (CappedSimplex, lambda: _with(4, lambda x: [x >= 0, x <= 1, cp.sum(x) == 2])),
    "simplices and intervals": (
        SimplexProduct,
        lambda: _with(7, lambda x: [x[:5] >= 0, x[5:] >= -1, x[5:] <= 2, cp.sum(x[:2]) == 1, 2 * cp.sum(x[2:5]) == 3]),
    ),
    "rows of a matrix": (SimplexProduct, lambda: ((x := cp.Variable((2, 3))), [x >= 0, cp.sum(x, axis=1) == 1])),
    "capped simplices": (
        Polytope,
        lambda: _with(4, lambda x: [x >= 0, x <= 0.7, cp.sum(x[:2]) == 1, cp.sum(x[2:]) == 1]),
    ),
    "box with a fixed entry": (Polytope, lambda: _with(3, lambda x: [x[:2] >= -1, x[:2] <= 2, x[2] == 3])),
    "knapsack": (CappedSimplex, lambda: _with(4, lambda x: [x >= -1, x <= 2, np.array([1.0, 2, -1, 0]) @ x == 0.5])),
    "ball": (EuclideanBall, lambda: _with(3, lambda x: [cp.norm2(x - np.array([1.0, 0, -2])) <= 2])),
    "centered ball": (EuclideanBall, lambda: _with(3, lambda x: [cp.norm2(x) <= 2])),
    "flat ball": (FlatBall, lambda: ((x := cp.Variable((2, 2), symmetric=True)), [cp.norm(x - 1, "fro") <= 2])),
    "1-ball": (NormBall, lambda: _with(3, lambda x: [cp.norm1(2 * x - 1) <= 3])),
    "3-ball": (NormBall, lambda: _with(3, lambda x: [cp.pnorm(x, 3) <= 2])),
    "3.3-ball in units": (
        NormBall,
        lambda: _with(3, lambda x: [2 * cp.pnorm(cp.multiply([1, 2, 5], x), 3.3, approx=False) <= 3]),
    ),
    "weighted 1-ball": (NormBall, lambda: _with(4, lambda x: [np.array([1, 2, 0.5, 3]) @ cp.abs(x - 1) <= 3])),
    "1-ball of units": (NormBall, lambda: _with(3, lambda x: [1.5 >= cp.norm1(cp.multiply([1, -2, 5], x) + 1) / 2])),
    "ellipsoid": (Ellipsoid, lambda: _with(3, lambda x: [cp.quad_form(x - [1, 0, 2], np.diag([1.0, 4, 9])) <= 2])),
    "tilted ellipsoid": (Ellipsoid, lambda: _with(3, lambda x: [cp.norm2(_square(3) @ x - 1) <= 2])),
    "disc": (Ellipsoid, lambda: _with(4, lambda x: [cp.norm2(x - 1) <= 2, cp.sum(x) == 3, x[0] == x[1] + 1])),
    "spectrahedron": (
        Spectrahedron,
        lambda: ((x := cp.Variable((3, 3), symmetric=True)), [x >> 0, cp.trace(x) == 2]),
    ),
    "nuclear ball": (MatrixBall, lambda: ((x := cp.Variable((2, 2))), [cp.normNuc(x - np.eye(2)) <= 2])),
    "spectral ball": (MatrixBall, lambda: ((x := cp.Variable((2, 3))), [cp.sigma_max(x) <= 2])),
    "hull": (Hull, _hull),
    "flow": (PathFlow, _flow),
    "polytope": (Polytope, lambda: _with(3, lambda x: [np.random.default_rng(1).standard_normal((9, 3)) @ x <= 1])),
    "anything": (Shape, lambda: _with(3, lambda x: [cp.log_sum_exp(x) <= 1, x >= -2])),
}


@pytest.fixture(scope="module", params=SETS)
def recognised(request):
    kind, declare = SETS[request.param]
    X = DecisionSet(*declare(), name=request.param)
    assert type(X.recognised) is kind
    return X


def _general(X):
    return Shape(X.geometry, X.layout)


def _slack(measure):
    """Bounds that are refined until they are within 1 % of the truth may differ by that."""
    return 1 + (1e-6 if measure.kind == "exact" else 0.0101)


def test_every_shape_is_tried_here():
    found_by = {PathFlow: Flow}  # who recognises it, where that is another class
    assert {found_by.get(kind, kind) for kind, _ in SETS.values()} == set(SHAPES)


def test_oracles_agree_with_solvers(recognised):
    X, rng = recognised, np.random.default_rng(0)
    general, size = _general(X), max(X.geometry.extent, 1e-12)
    if not X.dim:
        assert np.array_equal(X.argmin(np.ones(X.shape)), X.center)
        return
    for c in rng.standard_normal((6, X.size)):
        best = c @ general.argmin(c)
        assert c @ X.recognised.argmin(c) == pytest.approx(best, abs=1e-6 * size * np.linalg.norm(c))
        assert X.recognised.support_bound(-c) >= -best - 1e-6 * size * np.linalg.norm(c)
        near, reference = X.recognised.project(3 * c), general.project(3 * c)
        assert np.linalg.norm(3 * c - near) <= np.linalg.norm(3 * c - reference) + 1e-6 * size
        assert X.contains(X.unflatten(near), 1e-7)
        assert X.recognised.farthest(c) @ c == pytest.approx(-((-c) @ general.argmin(-c)), abs=1e-6 * size)
    assert X.recognised.clip(rng.standard_normal((2, 3, X.size))).shape == (2, 3, X.size)
    inside = X.flatten(X.center)
    assert np.allclose(X.recognised.clip(inside), inside, atol=1e-7 * size)
    far = rng.standard_normal((4, X.size)) * 10
    assert np.array_equal(X.recognised.clipper((4,))(far), X.recognised.clip(far))
    assert not X.recognised.surely_holds(10 * X.recognised.radius(2) * np.ones((2, X.size))).any()


def test_many_points_are_answered_as_one_by_one(recognised):
    """Near and far ones and the center: what they are clipped to, ends of linear functions, and whether they hold."""
    X, shape, rng = recognised, recognised.recognised, np.random.default_rng(4)
    size, center = max(X.geometry.extent, 1e-12), X.flatten(X.center)
    points = center + rng.standard_normal((8, X.size)) * np.array([0, 0.01, 0.1, 0.5, 1, 3, 10, 1e3])[:, None]
    clipped = np.array([shape.clip(point) for point in points])
    assert np.allclose(shape.clip(points), clipped, atol=1e-5 * size)
    ends = [shape.interval(point) for point in points]
    assert np.allclose(np.array(shape.interval(points)).T, ends, rtol=1e-9, atol=1e-9 * size)
    if isinstance(shape, Ellipsoid):
        near = np.array([shape.project(point) for point in points])
        assert np.allclose(shape.project(points), near, atol=1e-9 * size) and np.allclose(near[0], center)


@pytest.mark.sampled(3)
def test_sizes_hold_extreme_points_and_are_no_wider_than_the_general_bounds(recognised):
    X, rng = recognised, np.random.default_rng(1)
    shape, general = X.recognised, _general(X)
    covectors = np.concatenate([rng.standard_normal((40, X.size)), np.eye(X.size)])
    covectors = np.concatenate([covectors, -covectors])
    points = X.flatten(X.argmin(X.unflatten(covectors)))
    if not X.dim:
        assert shape.radius(2) == pytest.approx(np.linalg.norm(X.center)) and shape.diameter(1) == 0
        return
    lower, upper = shape.box
    assert np.all(points >= lower - 1e-7) and np.all(points <= upper + 1e-7)
    assert np.all(lower >= general.box[0] - 1e-6) and np.all(upper <= general.box[1] + 1e-6)
    for p in NORMS:
        seen = np.linalg.norm(points, p, axis=1).max()
        assert seen * (1 - 1e-7) <= shape.radius(p) <= general.radius(p) * _slack(shape.radius(p))
        apart = max(np.linalg.norm(a - b, p) for a, b in itertools.combinations(points, 2))
        assert apart * (1 - 1e-7) <= shape.diameter(p) <= general.diameter(p) * _slack(shape.diameter(p))
    low, high = shape.interval(covectors)
    values = covectors @ points.T
    assert np.all(low <= values.min(axis=1) + 1e-9) and np.all(high >= values.max(axis=1) - 1e-9)
    tied = isinstance(shape, Box) and X.dim < X.size  # its interval is that of a box whose entries are free
    assert tied or np.all(high - low <= values.max(axis=1) - values.min(axis=1) + 1e-5 * X.geometry.extent * X.size)
    assert X.contains(X.unflatten(shape.middle), 1e-7)
    assert np.linalg.norm(points - shape.middle, axis=1).max() <= shape.reach * (1 + 1e-7)


@pytest.mark.parametrize("from_zero", [False, True])
@pytest.mark.parametrize("p", [1, 2])
def test_rounded_points_are_no_farther_apart_than_stated(recognised, p, from_zero):
    X, rng = recognised, np.random.default_rng(2)
    step = 2.0**-4
    change = X.recognised.grid_change(p, step, from_zero=from_zero)
    points = X.recognised.clip(4 * rng.standard_normal((24, X.size)))
    units = np.trunc(points / step) if change.toward_zero else np.rint(points / step)
    others = np.zeros((1, X.size)) if from_zero else units
    farthest = max(np.linalg.norm(units - other, p, axis=1).max() for other in others)
    assert farthest <= change.units * (1 + 1e-12)
    assert p == 2 or isinstance(change.units, int)
    assert change.units <= X.recognised._measure(p, from_zero) * (1 + 1e-6) / step + X.size + 1


def test_corners_are_vertices_and_actions_are_the_corners(recognised):
    X = recognised
    if not X.is_polytope:
        with pytest.raises(UnsupportedConeError, match="not a polytope"):
            X.action_family()
        return
    corners = X.flatten(X.vertices())
    assert all(X.contains(X.unflatten(corner), 1e-7) for corner in corners)
    family = X.action_family()
    covector = np.random.default_rng(3).standard_normal(X.size)
    played = family.sample(100 * covector, np.random.default_rng(4), (5,))
    least = (corners @ covector).min()
    assert np.allclose(played @ covector, least, atol=1e-7)
    assert family.log_count == pytest.approx(np.log(len(corners)))
    points = X.recognised.points
    if points is not None:
        assert (points @ covector).min() == pytest.approx(least, abs=1e-7)


def test_random_extreme_points_lie_on_the_boundary(recognised):
    X = recognised
    points = X.recognised.extremes(np.random.default_rng(5), 20)
    if points is None:
        return
    for point in points:
        assert X.contains(X.unflatten(point), 1e-7)
        beyond = X.flatten(X.center) + 1.001 * (point - X.flatten(X.center))
        assert not X.contains(X.unflatten(beyond))


def test_differences_lie_in_the_difference_body(recognised):
    X = recognised
    for from_zero in (False, True):
        body = X.recognised.difference_body(from_zero=from_zero)
        if body is None:
            continue
        kind, half = body
        points = X.flatten(X.argmin(np.random.default_rng(6).standard_normal((60, *X.shape))))
        differences = points if from_zero else points[:, None] - points
        scaled = np.divide(differences, half, out=np.zeros_like(differences), where=half > 0)
        assert np.linalg.norm(scaled, np.inf if kind == "box" else 2, axis=-1).max() <= 1 + 1e-9


def test_entropy_formulas_beat_every_other_point(recognised):
    X, rng = recognised, np.random.default_rng(7)
    if np.min(X.recognised.box[0]) < 0 or X.recognised.entropy_argmin(np.zeros(X.size)) is None:
        return
    for c in rng.standard_normal((5, X.size)):
        best = X.recognised.entropy_argmin(c)
        assert X.contains(X.unflatten(best), 1e-7)

        def value(x, c=c):
            return c @ x + np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0).sum(axis=-1)

        others = X.flatten(X.argmin(rng.standard_normal((50, *X.shape))))
        mixed = others + rng.random((50, 1)) * (best - others)
        assert all(value(best) <= value(x) + 1e-9 for x in mixed)


def test_projections_onto_long_ellipsoids_keep_the_long_axes():
    """|x/S| <= 1 and a point that is outside along the shortest axis alone: the others hardly move."""
    lengths = np.array([1e5, 1.0, 1e-5])
    x = _vector()
    X = DecisionSet(x, [cp.norm2(cp.multiply(1 / lengths, x)) <= 1])
    assert isinstance(X.recognised, Ellipsoid)
    for share in ([0.5, 0.0, 3.0], [0.5, 0.5, -3.0], [-0.2, 0.7, 1e3], [0.99, 0.0, 0.2]):
        p = lengths * share
        found = X.project(p)
        room = np.sqrt(1 - share[0] ** 2 - share[1] ** 2)
        least = 1e-5 * (abs(share[2]) - room)
        assert np.linalg.norm(found - p) <= least * (1 + 1e-9) + 1e-15 * np.abs(p).max()
        assert np.linalg.norm(found / lengths) <= 1 + 1e-12


def test_projections_onto_capped_simplices_leave_entries_alone_that_count_most():
    """One entry in units 1e9 times larger than the others', which make up for the equality at no cost."""
    units = np.array([1e-5, 1e4, 2e-5, 3e-5])
    x = _vector(4)
    z = cp.multiply(1 / units, x)
    X = DecisionSet(x, [cp.norm_inf(z) <= 1, np.array([1.0, -0.1, 0.7, -0.8]) @ z == 0])
    assert "capped simplex" in X.summary()
    rng = np.random.default_rng(0)
    for p in rng.uniform(-3, 3, (50, 4)) * [1, 0.3, 1, 1]:
        found = X.project(units * p) / units
        assert abs(found[1] - p[1]) <= 1e-8
        assert np.abs(found).max() <= 1 + 1e-12


def _made(name):
    return DecisionSet(*SETS[name][1]()).recognised


def test_the_ends_of_a_box_are_in_it_and_what_is_next_to_them_is_not():
    shape = _made("box")
    lower, upper = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 5.0])
    assert shape.surely_holds(np.stack([lower, upper, (lower + upper) / 2])).all()
    assert not shape.surely_holds(np.stack([lower - 1e-6, upper + 1e-6])).any()


@pytest.mark.parametrize("p", NORMS)
def test_diameters_of_too_many_points_to_compare_are_bounded_around_their_mean(p, monkeypatch):
    exact = _made("polytope").diameter(p)
    monkeypatch.setattr(polytope, "_PAIRS", 0)
    found = _made("polytope").diameter(p)
    assert found.kind == "bound" and exact * (1 - 1e-9) <= found <= 2 * exact


@pytest.mark.parametrize(("p", "kind"), [(1, "bound"), (1.9, "bound"), (2, "exact"), (3, "exact"), (np.inf, "exact")])
def test_orthogonal_projectors_are_as_far_apart_as_a_spectrahedron_is_wide_from_p_2_on(p, kind):
    found = _made("spectrahedron").diameter(p)
    total = float(_made("spectrahedron").total)
    assert found.kind == kind and found >= total * 2 ** (1 / p)
    if kind == "exact":
        assert found == pytest.approx(total * 2 ** (1 / p), rel=1e-6)


def _density_matrices(order, total=1.0):
    return DecisionSet((S := cp.Variable((order, order), PSD=True)), [cp.trace(S) == total])


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("p", [1, 1.3, 1.9])
def test_the_diameter_of_an_even_spectrahedron_is_attained_by_matrices_of_even_entries(order, p):
    """For as many angles a of pi/8 as of 5 pi/8, cos a and sin a are orthogonal, and all |sin(a_i + a_j)| equal.

    The difference of the projectors onto cos a + sin a and cos a - sin a has the entries 2 sin(a_i + a_j)/order.
    """
    angles = np.repeat([np.pi / 8, 5 * np.pi / 8], order // 2)
    u, v = np.cos(angles) + np.sin(angles), np.cos(angles) - np.sin(angles)
    assert u @ v == pytest.approx(0, abs=1e-12)
    truth = 3 * np.linalg.norm((np.outer(u, u) / (u @ u) - np.outer(v, v) / (v @ v)).ravel(), p)
    assert truth == pytest.approx(3 * np.sqrt(2) * order ** (2 / p - 1), rel=1e-12)
    shape = _density_matrices(order, 3.0).recognised
    assert isinstance(shape, Spectrahedron)
    assert truth <= shape.diameter(p) <= truth * (1 + 1e-9)


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("p", [2, 2.5, 8])
def test_the_general_bound_of_a_norm_knows_the_ball_around_the_center(order, p):
    """Of density matrices it has the radius sqrt(1 - 1/order) around I/order; their box alone says far more."""
    X = _density_matrices(order)
    shape = Shape(X.geometry, X.layout)
    shape.box = X.recognised.box
    around = 1 / np.sqrt(order) + 1.01 * np.sqrt(1 - 1 / order)
    assert 1 <= shape.norm_bound(p) <= around * (1 + 1e-6)
    assert p > 2.5 or np.linalg.norm(shape.box[1], p) > 1.2 * around


def test_the_general_bound_of_the_one_norm_is_not_that_of_the_ball_around_the_center():
    X = _density_matrices(4)
    shape = Shape(X.geometry, X.layout)
    shape.box = X.recognised.box
    assert shape.norm_bound(1) >= 4 and shape.norm_bound(1.5) >= 4 ** (2 / 1.5 - 1)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_intervals_of_density_matrices_are_rounded_outward_also_where_most_eigenvalues_vanish(order):
    """The matrix of ones has the eigenvalues 0 and its order: both ends are beyond them by more than rounding."""
    shape = _density_matrices(order).recognised
    low, high = shape.interval(np.ones((2, order * order)) * [[1.0], [-1.0]])
    assert np.all(low < [-1e-15 * order, -order * (1 + 1e-15)]) and np.all(high > [order * (1 + 1e-15), 1e-15 * order])
    assert low == pytest.approx([0, -order], abs=1e-11) and high == pytest.approx([order, 0], abs=1e-11)


@pytest.mark.parametrize("unit", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("q", [1, 2, 3.3])
def test_clipping_leaves_points_of_a_stretched_ball_to_the_digit_and_brings_in_all_others(unit, q):
    """Points along all directions, a little inside and a little outside of the boundary."""
    axes, x = unit * np.array([1.0, 0.5, 3.0]), _vector()
    X = DecisionSet(x, [cp.pnorm(cp.multiply(1 / axes, x - unit), q, approx=False) <= 1])
    d = np.random.default_rng(0).standard_normal((20, 3))
    boundary = axes * d / np.linalg.norm(d, q, axis=1, keepdims=True)
    inside, outside = unit + (1 - 1e-6) * boundary, unit + 1.05 * boundary
    assert np.array_equal(X.recognised.clip(inside), inside)
    clipped = X.recognised.clip(outside)
    assert np.linalg.norm((clipped - unit) / axes, q, axis=1).max() <= 1 + 1e-7
    assert np.all((clipped != outside).any(axis=1))
