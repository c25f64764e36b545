"""Every answer of a chart and its factors, against dense matrices made from the conic form alone."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg

from dpcvx import DecisionSet
from dpcvx.sets.geometry.charts import DenseChart

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((3, 66))


def _vector(n):
    return cp.Variable(n, name="x")


def _units():
    x = _vector(3)
    far = cp.multiply([1e-3, 1.0, 1e3], x)
    return x, [cp.norm1(far - [1.0, 2, 3]) <= 2, far[0] + far[1] <= 3.5]


def _transport():
    x = cp.Variable((8, 11), nonneg=True)
    a, b = (np.random.default_rng(k).dirichlet(np.ones(n)) for k, n in ((1, 8), (2, 11)))
    return x, [cp.sum(x, axis=1) == a, cp.sum(x, axis=0) == b]


def _twins():
    """Rows that coincide share one weight, and some coordinates are bounded on both sides."""
    x = _vector(90)
    return x, [x >= 0, x[:30] <= 1, x[30:60] == 2 * x[:30], x[60:] == 3 * x[:30], cp.sum(x[:30]) == 10]


SETS = {
    "dense polytope": (lambda: (x := _vector(3), [ROWS[:, :3] @ x <= 1, x >= -2, x[0] <= 1]), "dense"),
    "dense, one fixed": (lambda: (x := _vector(4), [cp.norm2(x[:3]) <= 2, x[3] == 7, x[0] + x[1] <= 1]), "dense"),
    "dense, auxiliaries and units": (_units, "dense"),
    "dense, equalities": (
        lambda: (x := _vector(5), [x >= 0, cp.sum(x) == 1, x[0] + 2 * x[1] == x[2], cp.log_sum_exp(x) <= 1.85]),
        "dense",
    ),
    "dense matrices": (lambda: (x := cp.Variable((2, 2), symmetric=True), [x >> 0, cp.trace(x) <= 2]), "dense"),
    "box": (lambda: (x := _vector(4), [x >= [-1, -2, -3, -4], x <= 2]), "diagonal"),
    "simplex": (lambda: (x := _vector(5), [x >= 0, np.arange(1, 6) @ x == 3]), "diagonal"),
    "partly capped": (
        lambda: (x := _vector(5), [x >= 0, x[1:3] <= 0.4, cp.sum(x) == 1, ROWS[0, :5] @ x == 0.1]),
        "diagonal",
    ),
    "rows and balls": (
        lambda: (
            x := _vector(66),
            [x >= -1, x <= 1, ROWS[:2] @ x <= 3, cp.norm2(x[:9] - 0.1) <= 1, cp.norm2(x) <= 4, ROWS[2] @ x == 0.5],
        ),
        "diagonal",
    ),
    "transport": (_transport, "sparse"),
    "twins": (_twins, "sparse"),
}
BATCHES = [(), (3,), (2, 2)]


class Dense:
    """The barrier of a chart in lifted coordinates v = v0 + W z, with full matrices, at one point z."""

    def __init__(self, conic, chart, z):
        self.W = np.array([chart.lifted(one) - chart.v0 for one in np.eye(chart.size)]).T
        E = conic.E.toarray() @ self.W
        is_full = isinstance(chart, DenseChart) or not len(
            E
        )  # the dense chart has coordinates of tangent vectors alone
        self.N = np.eye(chart.size) if is_full else scipy.linalg.null_space(E, rcond=1e-10)
        self.v = chart.v0 + self.W @ z
        self.slack = conic.b - conic.A @ self.v
        self.G = conic.A @ self.W
        half = conic.cones.half(self.slack, self.G)
        self.H = half.T @ half
        self.gradient = -self.G.T @ conic.cones.gradient(self.slack)
        u = chart.auxiliaries
        self.B = (conic.P @ self.W)[:, u:]
        self.V = np.eye(chart.width) if u else self.N  # the tangent vectors of y
        self.S = self.H[u:, u:] - self.H[u:, :u] @ np.linalg.solve(self.H[:u, :u], self.H[:u, u:]) if u else self.H

    def inverse(self):
        return self.N @ np.linalg.solve(self.N.T @ self.H @ self.N, self.N.T)

    def schur_inverse(self):
        return self.V @ np.linalg.solve(self.V.T @ self.S @ self.V, self.V.T)


@pytest.fixture(params=SETS, scope="module")
def case(request):
    declare, kind = SETS[request.param]
    geometry = DecisionSet(*declare()).geometry
    assert geometry.chart.name == kind
    return geometry.conic, geometry.chart


def _points(conic, chart, batch, seed=1):
    """Points strictly inside, away from the center."""
    N = Dense(conic, chart, np.zeros(chart.size)).N
    z = np.random.default_rng(seed).standard_normal((*batch, N.shape[1])) @ N.T
    return 0.6 * z / np.linalg.norm(z, axis=-1, keepdims=True)


def _close(one, other, digits=1e-7):
    scale = max(np.abs(other).max(initial=0.0), 1e-300)
    assert np.asarray(one).shape == np.asarray(other).shape
    assert np.abs(one - other).max(initial=0.0) <= digits * scale


@pytest.mark.parametrize("batch", BATCHES)
def test_points_slacks_and_the_barrier_are_those_of_the_conic_form(case, batch):
    conic, chart = case
    z = _points(conic, chart, batch)
    at = [Dense(conic, chart, one) for one in z.reshape(-1, chart.size)]
    shape = lambda name: np.array([getattr(one, name) for one in at]).reshape(*batch, -1)  # noqa: E731  # four times
    units = conic.cones.unit_factors(conic.slack(chart.v0)) if isinstance(chart, DenseChart) else 1.0
    _close(chart.lifted(z), shape("v"))
    _close(chart.slack(z), shape("slack") * units)
    _close(chart.point(z), conic.offset + shape("v") @ conic.P.toarray().T)
    _close(chart.gradient(z), shape("gradient"))
    _close(chart.hessian(z), np.array([one.H for one in at]).reshape(*batch, chart.size, chart.size))
    values = conic.cones.value(shape("slack")) - conic.cones.value(conic.slack(chart.v0))
    assert chart.value(z) == pytest.approx(values, rel=1e-9, abs=1e-9)
    assert np.all(chart.interior(z)) and not np.any(chart.interior(1e3 * z))
    assert conic.E @ chart.lifted(_points(conic, chart, ())) == pytest.approx(conic.e, abs=1e-9)


def test_covectors_and_displacements_are_moved_as_the_map_to_x_says(case):
    conic, chart = case
    dense, rng = Dense(conic, chart, np.zeros(chart.size)), np.random.default_rng(2)
    for batch in BATCHES:
        dy, c, q = (rng.standard_normal((*batch, n)) for n in (chart.width, len(chart.x0), conic.columns))
        _close(chart.push(dy), dy @ dense.B.T)
        _close(chart.pull(c) @ dense.V, c @ dense.B @ dense.V)
        _close(chart.pull_lifted(q) @ dense.N, q @ dense.W @ dense.N)
        joint = rng.standard_normal((*batch, chart.size))
        _close(chart.tangential(joint), joint @ dense.N @ dense.N.T)
        spread = chart.spread(dy)
        _close(spread @ dense.B @ dense.V, dy @ dense.V)
        onto = dense.B @ dense.V
        _close(spread @ np.linalg.pinv(onto).T @ onto.T, spread, 1e-6)
        inside = rng.standard_normal((*batch, dense.V.shape[1])) @ dense.V.T
        _close(chart.coordinates(chart.x0 + inside @ dense.B.T), inside, 1e-6)
        _close(chart.joint(dy), np.concatenate([np.zeros((*batch, chart.auxiliaries)), dy], axis=-1))
    basis = chart.tangent_basis()
    _close(basis.T @ basis, np.eye(chart.dim))
    _close(dense.V @ (dense.V.T @ basis), basis)


@pytest.mark.parametrize("batch", [*BATCHES, (70,)])
def test_a_factor_solves_and_measures_by_the_hessian_at_its_point(case, batch):
    conic, chart = case
    if batch == (70,) and chart.size > 20:
        batch = (1,)
    z, rng = _points(conic, chart, batch), np.random.default_rng(3)
    at = [Dense(conic, chart, one) for one in z.reshape(-1, chart.size)]
    N, V = at[0].N, at[0].V
    count = len(at)
    for factor in (chart.factor(z), chart.factor(z, accurate=True)):
        assert factor.dim == chart.dim == V.shape[1]
        _close(factor.gradient @ N, np.array([one.gradient @ N for one in at]).reshape(*batch, -1))
        g, c = rng.standard_normal((*batch, chart.size)), rng.standard_normal((*batch, chart.width))
        rows, short = g.reshape(count, -1), c.reshape(count, -1)
        _close(factor.solve(g), np.array([a.inverse() @ b for a, b in zip(at, rows, strict=True)]).reshape(g.shape))
        _close(factor.newton_step(g), factor.solve(g), 1e-6)
        wanted = [a.schur_inverse() @ b for a, b in zip(at, short, strict=True)]
        _close(factor.solve_schur(c), np.array(wanted).reshape(c.shape))
        step = factor.newton_step(g)
        products = [b @ a.inverse() @ b for a, b in zip(at, rows, strict=True)]
        _close((factor.tangential(g, step) * step).sum(axis=-1), np.array(products).reshape(batch))
        d = rng.standard_normal((*batch, chart.dim)) @ V.T
        wanted = [V.T @ a.S @ b for a, b in zip(at, d.reshape(count, -1), strict=True)]
        _close(factor.apply(d) @ V, np.array(wanted).reshape(*batch, -1))
        units = np.broadcast_to(
            np.eye(chart.dim).reshape(-1, *[1] * len(batch), chart.dim), (chart.dim, *batch, chart.dim)
        )
        roots, measures = (each(units).reshape(chart.dim, count, -1) for each in (factor.half_solve, factor.half_apply))
        for k, one in enumerate(at):
            _close(roots[:, k].T @ roots[:, k], one.schur_inverse())
            _close(measures[:, k] @ roots[:, k].T, np.eye(chart.dim))
            _close(measures[:, k] @ V, roots[:, k] @ one.S @ V)


@pytest.mark.parametrize("leading", [(), (5,)])
@pytest.mark.parametrize("batch", BATCHES)
def test_draws_end_on_the_ellipsoid_and_come_with_what_measures_them(case, batch, leading):
    conic, chart = case
    z = _points(conic, chart, batch)
    at = [Dense(conic, chart, one) for one in z.reshape(-1, chart.size)]
    V = at[0].V
    d, measure = chart.factor(z).sample(np.random.default_rng(4), 0.5, leading)
    assert d.shape == measure.shape == (*leading, *batch, chart.width)
    assert (d * measure).sum(axis=-1) == pytest.approx(np.full((*leading, *batch), 0.25), rel=1e-6)
    assert len(np.unique(np.round(d, 12).reshape(-1, chart.width), axis=0)) == d.size // chart.width
    for row, force in zip(d.reshape(-1, len(at), chart.width), measure.reshape(-1, len(at), chart.width), strict=True):
        for one, mine, covector in zip(at, row, force, strict=True):
            _close(V @ (V.T @ mine), mine)
            _close(covector @ V, mine @ one.S @ V, 1e-6)


def test_a_stretch_ends_just_before_the_boundary(case):
    conic, chart = case
    for batch in BATCHES:
        z = _points(conic, chart, batch)
        factor = chart.factor(z)
        d, _ = factor.sample(np.random.default_rng(5), 0.99)
        for found in (chart.stretch(z, d), chart.stretch_at(factor, d)):
            flat, ways, at = np.reshape(found, -1), d.reshape(-1, chart.width), z.reshape(-1, chart.size)
            assert np.shape(found) == batch and np.all(flat >= 1)
            for t, way, point in zip(flat, ways, at, strict=True):
                if chart.auxiliaries:
                    assert t == 1
                    continue
                assert chart.interior(point + t * way) and chart.interior(point - t * way)
                further = 1.00001 * t
                assert not (chart.interior(point + further * way) and chart.interior(point - further * way))


def test_sizes_at_the_center_are_those_of_the_dikin_ellipsoid_there(case):
    conic, chart = case
    dense = Dense(conic, chart, np.zeros(chart.size))
    triangle = np.linalg.cholesky(np.linalg.inv(dense.V.T @ dense.S @ dense.V))
    M = dense.B @ dense.V @ triangle  # the ellipsoid { x0 + M u }
    extent = np.linalg.norm(M, axis=1)
    moving = extent > 1e-9 * extent.max()
    assert np.array_equal(chart.moving(), moving)
    least = np.linalg.svd(M[moving] / extent[moving, None], compute_uv=False)[chart.dim - 1]
    inverse = dense.W @ dense.inverse() @ dense.W.T
    if isinstance(chart, DenseChart):
        assert chart.radius() == pytest.approx(np.linalg.norm(M, 2), rel=1e-7)
        assert chart.least_width() == pytest.approx(least, rel=1e-6)
        _close(dense.H, np.eye(chart.size))
        widths = np.sqrt(np.diagonal(inverse))
        _close(chart.column_widths(), np.where(widths > 1e-12, widths, 1.0))
    else:
        assert chart.radius() == np.inf
        if chart.name == "diagonal":
            assert chart.least_width() == pytest.approx(least, rel=1e-6)
        assert np.all(
            np.abs(chart.column_widths()) >= np.sqrt(np.diagonal(inverse)) * (1 - 1e-9)
        )  # equalities left out
