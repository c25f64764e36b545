"""The Dikin ellipsoid: how tightly it touches the boundary, its samples, batches."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED
from geometry_checks import Judge

from dpcvx import DecisionSet


def _simplex():
    x = cp.Variable(6, nonneg=True, name="x")
    return x, [cp.sum(x) == 1], [np.eye(6)[i] for i in range(6)], np.zeros(6)


def _box():
    x = cp.Variable(5, name="x")
    rows = [*np.eye(5), *-np.eye(5)]
    return x, [x >= -1, x <= 2], rows, np.array([-1.0] * 5 + [-2.0] * 5)


def _flow():
    # two nodes between source and target, three parallel ways
    x = cp.Variable(6, nonneg=True, name="x")
    constraints = [x[0] + x[1] + x[2] == 1, x[0] == x[3], x[1] + x[3] == x[4], x[2] + x[4] == x[5]]
    return x, constraints, list(np.eye(6)), np.zeros(6)


@pytest.mark.parametrize("make", [_simplex, _box, _flow])
def test_ellipsoid_touches_the_most_active_constraint_and_a_larger_one_leaves(make):
    # each row says <a, x> >= b; at an argmin near the boundary the most active one is the row whose slack is the least
    # in units of its dual local norm
    rng = np.random.default_rng(5)
    variable, constraints, rows, bounds = make()
    X = DecisionSet(variable, constraints)
    judge = Judge(variable, constraints)
    for _ in range(10):
        y = X.barrier.argmin(1e5 * rng.standard_normal(X.shape))
        ellipsoid = X.dikin(y)
        steps = [ellipsoid.solve(a) for a in rows]
        reach = [np.sqrt(max(a @ d, 0)) for a, d in zip(rows, steps, strict=True)]
        active = [
            length / (a @ y - b) if length > 1e-12 else 0 for a, b, length in zip(rows, bounds, reach, strict=True)
        ]
        best = int(np.argmax(active))
        assert max(active) <= 1 + 1e-6
        inward = steps[best] / reach[best]
        assert judge.violation(y - 0.999 * inward) <= 1e-12
        assert rows[best] @ (y - 1.05 * inward) < bounds[best]
        assert X.contains(y - 0.999 * inward)
        assert not X.contains(y - 1.05 * inward, 0.0)


@pytest.mark.parametrize(
    "name", ["norm1", "simplex by parameter", "spectrahedron symmetric", "sum_squares", "polytope"]
)
def test_batches_equal_single_points(name):
    rng = np.random.default_rng(6)
    X = DecisionSet(*DECLARED[name]())
    points = X.dikin(X.center).sample(rng, 6, radius=0.6).reshape(2, 3, *X.shape)
    batch = X.dikin(points)
    w = rng.standard_normal((2, 3, X.dim))
    one = X.dikin(points[1, 2])
    assert np.allclose(batch.half_solve(w)[1, 2], one.half_solve(w[1, 2]), atol=1e-9)
    assert np.allclose(batch.half_apply(w)[1, 2], one.half_apply(w[1, 2]), rtol=1e-7, atol=1e-7)
    d = one.half_solve(w[1, 2])
    stacked = np.broadcast_to(d, points.shape)
    assert np.allclose(batch.apply(stacked)[1, 2], one.apply(d), rtol=1e-7, atol=1e-7)
    assert np.allclose(batch.solve(stacked)[1, 2], one.solve(d), atol=1e-9)
    assert np.allclose(X.barrier.gradient(points)[1, 2], X.barrier.gradient(points[1, 2]), rtol=1e-7, atol=1e-7)
    assert np.allclose(X.barrier.value(points)[1, 2], X.barrier.value(points[1, 2]))
    assert np.allclose(X.barrier.hessian(points)[1, 2], X.barrier.hessian(points[1, 2]), rtol=1e-6, atol=1e-6)
    for method in ("direction", "cholesky", "eigen"):
        sample = batch.sample(rng, 4, method)
        assert sample.shape == (4, 2, 3, *X.shape)
        assert all(X.contains(p) for p in sample.reshape(-1, *X.shape))
        assert batch.sample(rng, method=method).shape == points.shape


def test_hessian_matrix_agrees_with_the_operator():
    rng = np.random.default_rng(7)
    for name in ("polytope", "spectrahedron PSD", "entropy", "simplex by parameter"):
        X = DecisionSet(*DECLARED[name]())
        ellipsoid = X.dikin(X.center)
        d = ellipsoid.half_solve(rng.standard_normal(X.dim))
        vector = X.barrier.hessian(X.center) @ X.flatten(d)
        assert np.allclose(X.unflatten(vector), ellipsoid.apply(d), rtol=1e-8, atol=1e-8)
        assert np.allclose(X.barrier.gradient(X.center), 0, atol=1e-6)
        assert X.barrier.value(X.center) == 0


def test_directions_have_covariance_identity_over_dim():
    # 4e5 draws; each entry of the empirical covariance of w sqrt(dim) has standard deviation below 2.3e-3 * sqrt(dim),
    # so 6 standard deviations are exceeded with probability below 2e-9, in one of 16 entries and 3 methods: 1e-7
    X = DecisionSet(*DECLARED["polytope"]())
    ellipsoid = X.dikin(X.barrier.argmin(np.array([30.0, 5.0, 0.0, -2.0])))
    rng = np.random.default_rng(8)
    for method in ("direction", "cholesky", "eigen"):
        w = ellipsoid.directions(rng, 400_000, method)
        assert np.allclose((w * w).sum(-1), 1)
        error = X.dim * (w.T @ w) / len(w) - np.eye(X.dim)
        assert np.abs(error).max() < 6 * np.sqrt(X.dim) / np.sqrt(len(w))


def test_wrong_arguments_are_named():
    X = DecisionSet(*DECLARED["polytope"]())
    rng = np.random.default_rng(9)
    with pytest.raises(ValueError, match="eigen"):
        X.dikin(X.center).sample(rng, 3, "corner")
    with pytest.raises(ValueError, match="interior"):
        X.dikin(np.full(4, 9.0))
    with pytest.raises(ValueError, match="shape"):
        X.dikin(np.zeros(3))
    simplex = DecisionSet(*DECLARED["simplex by parameter"]())
    with pytest.raises(ValueError, match="affine hull"):
        simplex.dikin(np.full(5, 0.1))
