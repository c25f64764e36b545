"""Balls of any norm, in any units, and density matrices: oracles against dual norms, also for huge and tiny numbers."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.outline import MOST, Outline
from dpcvx.sets.shapes.spectrahedron import Spectrahedron

ORDERS = (1.0, 1.01, 1.5, 2.0, 3.3, 40.0, np.inf)


def _layout(*shape):
    return SimpleNamespace(shape=shape, size=int(np.prod(shape)))


def _ball(q, axes, center=0.0):
    axes = np.array(axes, float)
    return NormBall(None, _layout(len(axes)), np.full(len(axes), center), axes, q)


def _dual(q):
    return 1.0 if np.isinf(q) else np.inf if q == 1 else q / (q - 1)


@pytest.mark.parametrize("axes", [[2.0], [3.0, 3.0, 3.0], [0.5, 2.0, 7.0, 1.0]])
@pytest.mark.parametrize("q", ORDERS)
def test_minimisers_attain_what_the_dual_norm_says_in_the_ball(q, axes):
    rng, n = np.random.default_rng(0), len(axes)
    shape = _ball(q, axes, 0.7)
    for size in (1e-250, 1.0, 1e250):
        c = rng.standard_normal((3, 4, n)) * (rng.random((3, 4, n)) < 0.8)
        c[0, 0] = 0.0
        best = shape.argmin(size * c)
        half = np.linalg.norm(c * shape.axes, _dual(q), axis=-1)
        assert np.linalg.norm((best - shape.center) / shape.axes, q, axis=-1).max() <= 1 + 1e-13
        assert ((best - shape.center) * c).sum(axis=-1) == pytest.approx(-half, rel=1e-12, abs=1e-12)
        assert np.array_equal(best[0, 0], shape.center) and np.array_equal(shape.argmin(size * c[1, 2]), best[1, 2])
        low, high = (end / size for end in shape.interval(size * c))
        middle = c @ shape.center
        assert high == pytest.approx(middle + half, rel=1e-12, abs=1e-12)
        assert low == pytest.approx(middle - half, rel=1e-12, abs=1e-12)
        assert shape.support_bound(size * c[1, 2]) / size == pytest.approx(high[1, 2], rel=1e-12)


@pytest.mark.parametrize("p", [1, 1.25, 2, 5, np.inf])
@pytest.mark.parametrize("q", ORDERS)
def test_stretches_are_those_of_the_longest_axis_or_of_a_dual_norm_of_all(q, p):
    """Attained at u_i = a_i^t with the t that makes Hoelder's inequality an equality."""
    for axes in ([3.0, 3.0, 3.0], [0.5, 2.0, 7.0, 1.0]):
        shape = _ball(q, axes)
        a = shape.axes
        if p >= q:
            truth = a.max()
        else:
            inverse_p, inverse_q = (0.0 if np.isinf(s) else 1 / s for s in (p, q))
            u = a ** (1 / (inverse_p - inverse_q) * inverse_q)  # |u|_q = 1 after scaling
            truth = np.linalg.norm(a * u, p) / np.linalg.norm(u, q)
        assert float(shape.diameter(p)) == pytest.approx(2 * truth, rel=1e-11)
        assert float(shape.radius(p)) == pytest.approx(truth, rel=1e-11) and shape.radius(p).kind == "exact"
        assert float(shape.radius(p)) * (1 + 1e-13) < shape.norm_bound(p) < float(shape.radius(p)) * (1 + 1e-11)
    assert shape._reaches() == [pytest.approx(float(shape.diameter(2)) / 2, rel=1e-14)]


def test_who_projects_by_formula_says_so_and_who_has_even_axes_knows():
    assert _ball(1.0, [1, 2]).project_name == "closed form (norm ball)" == _ball(3.0, [2, 2]).project_name
    for q, axes, projects, even in (
        (1.0, [1, 2], True, False),
        (1.0, [2, 2], True, True),
        (3.0, [2, 2], True, True),
        (3.0, [2, 2 + 1e-12], False, False),
        (np.inf, [2, 2], False, True),
    ):
        shape = _ball(q, axes)
        assert (shape._projects, shape.is_uniform) == (projects, even) and shape.scale == max(axes)


@pytest.mark.parametrize("q", ORDERS)
def test_points_that_surely_hold_are_those_of_even_balls_around_the_origin(q):
    shape = _ball(q, [2, 2, 2])
    d = np.random.default_rng(1).standard_normal((30, 3))
    boundary = 2 * d / np.linalg.norm(d, q, axis=1, keepdims=True)
    assert shape.surely_holds(boundary * (1 - 1e-12)).all() and not shape.surely_holds(boundary * (1 + 1e-12)).any()
    assert shape._holds(boundary * (1 - 1e-12)).all() and not shape._holds(boundary * (1 + 1e-12)).any()
    for other in (_ball(q, [2, 2, 2], 1e-9), _ball(q, [2, 2, 3])):
        assert not other.surely_holds(0 * boundary).any()


def test_corners_of_the_one_norm_are_the_ends_of_its_axes():
    shape = _ball(1.0, [1, 2, 5], 3.0)
    found = shape._listed(None, 100)
    assert sorted(map(tuple, found)) == sorted(
        map(tuple, [[4.0, 3, 3], [2, 3, 3], [3, 5, 3], [3, 1, 3], [3, 3, 8], [3, 3, -2]])
    )


@pytest.mark.parametrize("order", [1, 2, 5])
def test_density_matrices_answer_by_eigenvalues(order):
    shape = Spectrahedron(None, _layout(order, order), 2.5)
    rng = np.random.default_rng(2)
    C = rng.standard_normal((3, 4, order * order))
    symmetric = shape._matrices(C)
    assert np.array_equal(symmetric, np.swapaxes(symmetric, -1, -2))
    assert symmetric[1, 2] == pytest.approx((C[1, 2].reshape(order, order) + C[1, 2].reshape(order, order).T) / 2)
    values = np.linalg.eigvalsh(symmetric)
    best = shape.argmin(C)
    assert (best * C).sum(axis=-1) == pytest.approx(2.5 * values[..., 0], rel=1e-10, abs=1e-10)
    low, high = shape.interval(C)
    assert low == pytest.approx(2.5 * values[..., 0], rel=1e-10) and high == pytest.approx(
        2.5 * values[..., -1], rel=1e-10
    )
    for far in (0.01, 1.0, 1e6):
        P = far * C + np.eye(order).ravel() / 2
        X = shape.project(P)
        eigenvalues = np.linalg.eigvalsh(shape._matrices(X))
        assert eigenvalues.min() >= -1e-12 and eigenvalues.sum(axis=-1) == pytest.approx(
            np.full((3, 4), 2.5), rel=1e-12
        )
        largest = np.linalg.eigvalsh(shape._matrices((P - X) / far))[..., -1]
        assert 2.5 * largest - ((P - X) / far * X).sum(axis=-1) == pytest.approx(0, abs=1e-9)
    lower, upper = (end.reshape(order, order) for end in shape.box)
    off = ~np.eye(order, dtype=bool)
    assert (
        np.all(lower[~off] == 0)
        and np.all(upper[~off] > 2.5)
        and np.all(upper[off] > 1.25)
        and np.all(lower[off] < -1.25)
    )
    assert upper[~off] == pytest.approx(2.5, rel=1e-11)
    assert upper[off] == pytest.approx(1.25, rel=1e-11) and lower[off] == pytest.approx(-1.25, rel=1e-11)
    assert shape.middle == pytest.approx(2.5 * np.eye(order).ravel() / order)
    assert shape.norm_bound(1.5) == float(shape.radius(1.5))


WEIGHTED = np.array([1.0, 2.0, 0.5])


def test_a_plane_through_a_sum_of_distances_is_read_in_any_order_and_only_with_positive_weights():
    """Epigraphs t_i of single entries, bounded by a sum with weights that may not be 0 or negative."""
    for order in ([0, 1, 2], [2, 0, 1]):
        x, t = cp.Variable(3), cp.Variable(3)
        rows = [cp.abs(x[i] - i) <= t[i] for i in order]
        shape = DecisionSet(x, [*rows, WEIGHTED @ t == 4]).recognised
        assert type(shape) is NormBall and shape.q == 1
        assert shape.center == pytest.approx([0, 1, 2], abs=1e-9) and shape.axes == pytest.approx(
            4 / WEIGHTED, rel=1e-9
        )
    x, t = cp.Variable(3), cp.Variable(3)
    shape = DecisionSet(x, [cp.abs(x) <= t, cp.sum(t) == 4, t[0] == 1]).recognised
    assert type(shape) is not NormBall
    y = cp.Variable()
    single = DecisionSet(y, [cp.abs(y - 3) <= 2]).recognised
    assert single.box[0] == pytest.approx([1]) and single.box[1] == pytest.approx([5])


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
@pytest.mark.parametrize("dim", [2, 3])
def test_outlines_of_turned_ellipsoids_end_within_one_percent_of_the_farthest_point(p, dim):
    """Around another origin, in a plane of a larger space."""
    rng = np.random.default_rng(dim)
    B, origin = rng.standard_normal((4, dim)), 0.3 * rng.standard_normal(4)
    M = rng.standard_normal((dim, dim))

    def support(covectors):
        return np.linalg.norm(covectors @ B @ M, axis=1)

    u = rng.standard_normal((200_000, dim))
    points = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ (B @ M).T
    first = np.concatenate([np.eye(4), -np.eye(4), rng.standard_normal((4, 4))])
    for symmetric in (False, True):
        at = 0 * origin if symmetric else origin
        truth = np.linalg.norm(at + points, p, axis=1).max()
        outline = Outline(at, B, support, first, support(first), symmetric=symmetric)
        assert truth * (1 - 1e-12) <= outline.norm_bound(p, 100 * truth) <= 1.0105 * truth
        assert outline.norm_bound(p, 0.5 * truth) == 0.5 * truth  # what is known already is not undone
    assert dim <= MOST
