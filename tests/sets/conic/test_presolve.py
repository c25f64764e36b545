"""The same set written in different ways; sizes; pruning; what the summary says."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED
from scipy.sparse.linalg import LinearOperator

from dpcvx import DecisionSet, UnsupportedConeError


def _groups():
    x, y = cp.Variable(4, name="x"), cp.Variable(4, nonneg=True, name="y")
    b = cp.Variable(4, bounds=[0, 1], name="b")
    weights = 10.0 ** np.array([-8, -3, 4, 8])
    yield (
        "simplex",
        3,
        3,
        [
            (x, [x >= 0, cp.sum(x) == 1]),
            (y, [cp.sum(y) == 1]),
            (x, [x >= 0, x >= 0, cp.sum(x) == 1]),
            (x, [cp.multiply(weights, x) >= 0, 1e6 * cp.sum(x) == 1e6]),
            (x, [x >= 0, x >= -1, cp.sum(x) == 1, cp.sum(x) <= 2]),
            (x, [x >= 0, cp.sum(x) <= 1, cp.sum(x) >= 1]),
        ],
    )
    yield (
        "box",
        4,
        4,
        [
            (b, []),
            (x, [x >= 0, x <= 1]),
            (y, [y <= 1]),
            (x, [cp.abs(2 * x - 1) <= 1]),
            (x, [cp.norm_inf(x - 0.5) <= 0.5]),
            (x, [x >= 0, x <= 1, 3 * x <= 3, x <= 7]),
            (x, [cp.multiply(weights, x) <= weights, x >= 0]),
            (x, [cp.max(x) <= 1, cp.min(x) >= 0]),
        ],
    )
    yield (
        "ball",
        4,
        1,
        [
            (x, [cp.norm2(x) <= 1]),
            (x, [cp.sum_squares(x) <= 1]),
            (x, [cp.SOC(cp.Constant(1), x)]),
            (x, [cp.quad_form(x, np.eye(4)) <= 1]),
            (x, [1e5 * cp.norm2(x) <= 1e5]),
            (x, [cp.quad_over_lin(x, 1) <= 1]),
        ],
    )
    S, T, U = (cp.Variable((3, 3), name="S", **kind) for kind in ({"symmetric": True}, {"PSD": True}, {}))
    yield (
        "density matrices",
        5,
        2,
        [
            (S, [S >> 0, cp.trace(S) == 1]),
            (T, [cp.trace(T) == 1]),
            (S, [S >> 0, 7 * cp.trace(S) == 7]),
            (U, [U >> 0, U == U.T, cp.trace(U) == 1]),
        ],
    )


@pytest.mark.parametrize(("name", "dim", "nu", "ways"), list(_groups()), ids=lambda v: v if isinstance(v, str) else "")
def test_the_same_set_written_in_different_ways_has_the_same_geometry(name, dim, nu, ways):
    rng = np.random.default_rng(31)
    sets = [DecisionSet(variable, constraints) for variable, constraints in ways]
    inside = sets[0].dikin(sets[0].center).sample(rng, 10)
    edges = np.array([sets[0].argmin(rng.standard_normal(sets[0].shape)) for _ in range(5)])
    for X in sets:
        assert (X.dim, X.nu) == (dim, nu), X.summary()
        assert np.allclose(X.center, sets[0].center, atol=1e-7)
        assert all(X.contains(p) for p in inside)
        assert all(X.contains(p, 1e-7) for p in edges)
        assert not any(X.contains(X.center + 1.001 * (p - X.center)) for p in edges)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_parameters_of_named_sets(n):
    x = cp.Variable(n, name="x")
    assert DecisionSet(x, [cp.norm2(x) <= 1]).nu == 1
    assert DecisionSet(x, [x >= -1, x <= 2]).nu == n
    if n > 1:
        assert DecisionSet(x, [x >= 0, cp.sum(x) == 1]).nu == n - 1
        # of two capped coordinates with a fixed sum, one interval is left
        assert DecisionSet(x, [x >= 0, x <= 0.7, cp.sum(x) == 1]).nu == (n if n > 2 else 1)
    if n < 10:
        S = cp.Variable((n + 1, n + 1), symmetric=True)
        assert DecisionSet(S, [S >> 0, cp.trace(S) == 1]).nu == n


def test_the_parameter_of_the_simplex_cannot_be_smaller():
    # sup g'H^-1 g = N - 1/|x|^2 -> N - 1 toward a vertex: the teeth of the bound
    x = cp.Variable(5, name="x")
    X = DecisionSet(x, [x >= 0, cp.sum(x) == 1])
    y = X.barrier.argmin(1e7 * np.array([-1.0, 1, 1, 1, 1]))
    g = X.barrier.gradient(y)
    assert X.nu - 1e-3 < (g * X.dikin(y).solve(g)).sum() <= X.nu


def test_products_of_compact_factors_save_one_each():
    x = cp.Variable(6, nonneg=True, name="x")
    X = DecisionSet(x, [cp.sum(x[:3]) == 1, cp.sum(x[3:]) == 1])
    assert X.nu == 4 and X.geometry.parameter.factors == 2
    y = cp.Variable(4, name="y")
    Y = DecisionSet(y, [cp.norm2(y[:2]) <= 1, cp.norm2(y[2:]) <= 1])
    assert Y.nu == 2
    M = cp.Variable((3, 3), nonneg=True)
    birkhoff = DecisionSet(M, [cp.sum(M, axis=0) == 1, cp.sum(M, axis=1) == 1])
    assert birkhoff.dim == 4 and birkhoff.nu == 6  # nine entries, three disjoint rows with constant sum


def test_redundant_rows_go_only_when_asked():
    x = cp.Variable(2, name="x")
    constraints = [x >= 0, x <= 1, cp.sum(x) <= 5, x[0] - x[1] <= 3]
    plain, pruned = DecisionSet(x, constraints), DecisionSet(x, constraints, prune=True)
    assert pruned.nu == 2 and plain.nu > 2
    assert np.allclose(pruned.center, 0.5)
    mixed = DecisionSet(x, [cp.norm2(x) <= 1, x[0] <= 0.5, x[0] + 0.1 * x[1] <= 9, x >= -2, x <= 2], prune=True)
    assert mixed.contains([0.4, 0.1]) and not mixed.contains([0.6, 0.1])


def test_summary_tells_what_was_derived():
    X = DecisionSet(*DECLARED["pnorm3 tower"](), name="egg")
    text = X.summary()
    assert "egg" in text and "dimension        4" in text and "approx=False" in text
    assert f"{X.nu:g} = " in text
    Y = DecisionSet(*DECLARED["norm2"]())
    assert "approx" not in Y.summary() and "ball" in Y.summary()
    assert "dim 4" in repr(Y)


def test_basis_is_orthonormal_and_spans_the_tangent_space():
    for name, declare in DECLARED.items():
        X = DecisionSet(*declare())
        V = X.basis
        assert V.shape == (X.size, X.dim)
        assert np.allclose(V.T @ V, np.eye(X.dim), atol=1e-10), name
        d = X.flatten(X.argmin(np.ones(X.shape)) - X.center)
        assert np.allclose(V @ (V.T @ d), d, atol=1e-8), name


@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["simplex", "box", "ball", "budget"])
def test_many_thousand_dimensions_cost_no_square_matrix(kind, n):
    x = cp.Variable(n, name="x", nonneg=kind in ("simplex", "budget"))
    constraints = {
        "simplex": [cp.sum(x) == 1],
        "box": [x >= -1, x <= 1],
        "ball": [cp.norm2(x) <= 1],
        "budget": [cp.sum(x) <= 1],
    }[kind]
    X = DecisionSet(x, constraints)
    rng = np.random.default_rng(0)
    assert X.dim == n - (kind == "simplex")
    assert X.nu == {"simplex": n - 1, "box": n, "ball": 1, "budget": n}[kind]
    c = rng.standard_normal(n)
    assert X.contains(X.center)
    if kind != "budget":
        assert X.contains(X.argmin(c)) and X.contains(X.project(c))
    assert X.contains(X.dikin(X.center).sample(rng))
    assert X.contains(X.barrier.argmin(c))
    assert isinstance(X.basis, LinearOperator)
    projected = X.basis @ c
    assert np.allclose(X.basis @ projected, projected)
    lower, upper = X.bounding_box()
    assert np.all(lower <= X.center) and np.all(X.center <= upper)
    assert np.isfinite(X.norm_bound(2))
    with pytest.raises(UnsupportedConeError, match="axes"):
        X.dikin(X.center).sample(rng, method="eigen")
    with pytest.raises(UnsupportedConeError, match=r"vertex_sampler|polytope"):
        X.sample_vertex(X.center, rng)


def test_many_auxiliary_equalities_are_solved_one_by_one():
    x, chain = cp.Variable(2, name="x"), cp.Variable(300, name="u")
    X = DecisionSet(x, [chain[1:] == 2 * chain[:-1] - chain[1:], cp.norm2(x) <= chain[0], chain[0] <= 1])
    assert X.dim == 2 and X.nu == 1
