"""Nearest points of curved sets by formula: x is in the set, p - x is a normal there, and nothing is clipped twice."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.euclidean_ball import EuclideanBall, FlatBall
from dpcvx.sets.shapes.matrix_ball import MatrixBall

FAR = (1 + 1e-9, 1.001, 2.0, 1e3, 1e12, 1e200)


def _declared(size, make, **attributes):
    x = cp.Variable(size, **attributes)
    return DecisionSet(x, make(x)).recognised


def _square(n, seed=2):
    return np.random.default_rng(seed).standard_normal((n, n))


def _orthogonal(rows, columns):
    return np.linalg.qr(_square(rows))[0][:, :columns]


ELLIPSOIDS = {
    "one entry": lambda: _declared(2, lambda x: [cp.sum_squares(cp.multiply([2.0, 0.25], x)) <= 9, x[0] == x[1]]),
    "aligned": lambda: _declared(3, lambda x: [cp.quad_form(x - [1, 0, 2], np.diag([1.0, 4, 9])) <= 2]),
    "tilted": lambda: _declared(4, lambda x: [cp.norm2(_square(4) @ x - 1) <= 2]),
    "far from the origin": lambda: _declared(3, lambda x: [cp.norm2(_square(3) @ (x - 1e3)) <= 0.5]),
    "long": lambda: _declared(3, lambda x: [cp.norm2(cp.multiply([1e-3, 1.0, 1e3], x)) <= 1]),
    "disc": lambda: _declared(4, lambda x: [cp.norm2(_square(4) @ x) <= 2, cp.sum(x) == 1]),
}


@pytest.mark.parametrize("name", ELLIPSOIDS)
def test_what_an_ellipsoid_takes_from_a_point_is_a_normal(name):
    """<p - x, z - x> is at most 0 on the set, |(p - x)'M| being the largest <p - x, z - center>."""
    shape = ELLIPSOIDS[name]()
    assert type(shape) is Ellipsoid
    M, center = shape.body.M, shape.center
    rng = np.random.default_rng(0)
    u = rng.standard_normal((15, M.shape[1]))
    boundary = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ M.T
    size = float(np.abs(center).max() + shape.body.lengths.max())
    aside = rng.standard_normal((15, len(center)))
    for far in FAR:
        points = center + far * boundary + (far > 1.5) * far * shape.body.lengths.min() * aside
        found = shape.project(points)
        away = points - found
        unit = np.maximum(np.abs(away).max(axis=1), 1e-7 * shape.body.lengths.min())
        gain = np.linalg.norm((away / unit[:, None]) @ M, axis=1) - ((away / unit[:, None]) * (found - center)).sum(
            axis=1
        )
        assert np.all(np.abs(gain) <= (1e-10 + 1e-14 * size / unit) * size)
        inside = np.linalg.lstsq(M, (found - center).T, rcond=None)[0]
        assert np.linalg.norm(inside, axis=0).max() <= 1 + 1e-11
        assert np.allclose(shape.project(points[0]), found[0], rtol=1e-14, atol=1e-14 * size)
    within = center + rng.uniform(0, 1 - 1e-9, (15, 1)) * boundary
    assert np.abs(shape.project(within) - within).max() <= 1e-14 * size


@pytest.mark.parametrize("name", ELLIPSOIDS)
def test_farthest_points_of_ellipsoids_are_where_the_dual_norm_says(name):
    shape = ELLIPSOIDS[name]()
    for size in (1e-300, 1.0, 1e300):
        c = size * np.random.default_rng(1).standard_normal((20, len(shape.center)))
        best = shape.argmin(c)
        least = (c / size) @ shape.center - np.linalg.norm((c / size) @ shape.body.M, axis=1)
        assert ((c / size) * best).sum(axis=1) == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert np.array_equal(shape.argmin(np.zeros(len(shape.center))), shape.center)


BALLS = {  # (shape, its kind, center, radius)
    "plain": (lambda: _declared(3, lambda x: [cp.norm2(x - [1, 0, -2]) <= 1.5]), EuclideanBall, [1, 0, -2], 1.5),
    "in other units": (
        lambda: _declared(3, lambda x: [cp.norm2(2 * x - [1, 0, -2]) <= 3]), EuclideanBall, [0.5, 0, -1], 1.5
    ),
    "with a constant entry": (
        lambda: _declared(3, lambda x: [cp.norm2(cp.hstack([x - 1, np.array([3.0])])) <= 5]),
        EuclideanBall, [1, 1, 1], 4.0,
    ),
    "turned, with more rows than entries": (
        lambda: _declared(3, lambda x: [cp.norm2(3 * _orthogonal(5, 3) @ (x - 2)) <= 6]), EuclideanBall, [2, 2, 2], 2.0
    ),
    "symmetric matrices": (
        lambda: _declared((2, 2), lambda x: [cp.norm(x - np.array([[1, 2], [2, 0]]), "fro") <= 2], symmetric=True),
        FlatBall, [1, 2, 2, 0], 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BALLS)
def test_points_beyond_a_ball_are_moved_toward_its_center_along_its_plane(name):
    make, kind, center, radius = BALLS[name]
    shape = make()
    assert type(shape) is kind
    assert shape.center == pytest.approx(np.array(center, float), abs=1e-11)
    assert shape.scale == pytest.approx(radius, rel=1e-11)
    center, n = shape.center, len(shape.center)
    plane = {4: lambda d: (d + d[..., [0, 2, 1, 3]]) / 2, 3: lambda d: d}[n]
    rng = np.random.default_rng(3)
    for far in (1e-3, 0.5, 1 - 1e-9, *FAR):
        d = rng.standard_normal((10, n))
        along = plane(d)
        norms = np.linalg.norm(along, axis=1, keepdims=True)
        found = shape.project(center + far * radius * d / norms)
        assert found - center == pytest.approx(min(far, 1.0) * radius * along / norms, rel=1e-7, abs=1e-9)
        c = d * (far / norms)
        assert shape.argmin(c) - center == pytest.approx(-radius * along / norms, rel=1e-9, abs=1e-9)
    assert np.array_equal(shape.argmin(np.zeros(n)), center) and np.array_equal(shape.project(center), center)
    lower, upper = shape.box
    for i, unit in enumerate(np.eye(n)):
        assert upper[i] - center[i] == pytest.approx(radius * np.linalg.norm(plane(unit)), rel=1e-9, abs=1e-9)
        assert lower[i] + upper[i] == pytest.approx(2 * center[i], abs=1e-9)


MATRICES = {
    "nuclear": lambda: _declared((2, 3), lambda x: [cp.normNuc(x - np.arange(6.0).reshape(2, 3)) <= 1.5]),
    "nuclear, tall": lambda: _declared((3, 2), lambda x: [cp.normNuc(2 * x) <= 1.5]),
    "spectral": lambda: _declared((2, 3), lambda x: [cp.sigma_max(x - np.arange(6.0).reshape(2, 3)) <= 1.5]),
    "spectral, square": lambda: _declared((3, 3), lambda x: [cp.sigma_max(x / 2) <= 1]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_what_clipping_takes_from_a_matrix_near_a_ball_is_a_normal(name):
    """<P - X, Z - X> is at most 0 on the ball, the dual norm of P - X being the largest <P - X, Z - center>."""
    shape = MATRICES[name]()
    assert type(shape) is MatrixBall
    rng = np.random.default_rng(4)
    points = shape.center + shape.scale * rng.uniform(-1, 1, (40, len(shape.center)))
    found = shape.clip(points)

    def norms(vectors, order):
        values = np.linalg.svd(vectors.reshape(-1, *shape.layout.shape[::-1]), compute_uv=False)
        return values.sum(axis=-1) if order == 1 else values.max(axis=-1)

    inside = norms(points - shape.center, shape.q) <= shape.scale
    assert 0 < (~inside).sum() and np.array_equal(found[inside], points[inside])
    assert norms(found - shape.center, shape.q) == pytest.approx(
        np.minimum(norms(points - shape.center, shape.q), shape.scale), rel=1e-13
    )
    away = points - found
    gain = shape.scale * norms(away, np.inf if shape.q == 1 else 1) - (away * (found - shape.center)).sum(axis=1)
    assert np.abs(gain).max() <= 1e-12 * shape.scale**2
    away = away[~inside]
    low, high = shape.interval(away)
    middle = away @ shape.center
    half = shape.scale * norms(away, np.inf if shape.q == 1 else 1)
    assert high == pytest.approx(middle + half, rel=1e-11, abs=1e-11) and np.all(high - middle > half)
    assert low == pytest.approx(middle - half, rel=1e-11, abs=1e-11) and np.all(middle - low > half)


FULL = {  # all of which a formula tells their points
    **{name: make for name, make in ELLIPSOIDS.items() if name in ("aligned", "tilted", "long")},
    **MATRICES,
    "stretched 1-ball": lambda: _declared(3, lambda x: [cp.norm1(cp.multiply([1, -2, 5], x) + 1) <= 2]),
    "3-ball": lambda: _declared(3, lambda x: [cp.pnorm(x - 1, 3, approx=False) <= 2]),
}


@pytest.mark.parametrize("name", FULL)
def test_what_was_clipped_is_clipped_to_itself_to_the_bit(name):
    """Half of the points are outside, and end on the boundary but for rounding, which counts as inside."""
    shape = FULL[name]()
    lower, upper = shape.box
    points = (lower + upper) / 2 + (upper - lower) * np.random.default_rng(5).standard_normal((300, len(lower)))
    once = shape.clip(points)
    assert (once != points).any(axis=1).mean() > 0.5
    assert np.array_equal(shape.clip(once), once)
    beyond = shape.center + (1 + 1e-9) * (once - shape.center)
    assert (shape.clip(beyond) != beyond).any(axis=1).mean() > 0.5
