"""The primal-dual method ends close to the minimisers of the barrier, inside, however large the covector is."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from catalogue_sets import CATALOGUE

from dpcvx import DecisionSet
from dpcvx.sets.geometry import primal_dual
from dpcvx.sets.geometry.batch_newton import minimise_all
from dpcvx.sets.geometry.newton import decrement, minimise
from dpcvx.sets.geometry.primal_dual import approach, approach_sparse

SIZES = 10.0 ** np.arange(-3, 9)


def cut_cube():
    x = cp.Variable(4, name="x")
    return DecisionSet(x, [x <= 1, x >= -1, cp.sum(x) <= 4, x[0] + x[1] <= 2, x[2] - 2 * x[3] <= 3])


SETS = {
    "portfolio": CATALOGUE["portfolio"][0],
    "polytope": CATALOGUE["polytope"][0],
    "transport": CATALOGUE["transport polytope"][0],
    "cut cube": cut_cube,
}


def charts():
    return [pytest.param(make().geometry.chart, id=name) for name, make in SETS.items()]


def covectors(chart, seed=0):
    g = np.random.default_rng(seed).standard_normal((len(SIZES), chart.width))
    return SIZES[:, None] * g / np.linalg.norm(g, axis=1, keepdims=True)


def decrements(chart, linear, z):
    gradient = linear + chart.gradient(z)
    return np.array(
        [np.sqrt(g @ chart.factor(one, accurate=True).solve(g)) for g, one in zip(gradient, z, strict=True)]
    )


@pytest.mark.parametrize("chart", charts())
def test_it_ends_where_newton_steps_converge_at_once(chart):
    linear = chart.joint(covectors(chart))
    z = approach(chart.inequalities, chart.s0, linear)
    assert chart.interior(z).all()
    assert decrements(chart, linear, z).max() < 0.25
    cold = decrements(chart, linear, np.zeros_like(z))
    assert cold.max() > 1e6  # the teeth: where it began it was not


@pytest.mark.parametrize("chart", charts())
def test_rows_of_a_batch_do_not_see_each_other(chart):
    linear = chart.joint(covectors(chart, 1))
    together = approach(chart.inequalities, chart.s0, linear)
    alone = np.concatenate([approach(chart.inequalities, chart.s0, one[None]) for one in linear])
    assert decrements(chart, linear, alone).max() < 0.25
    assert np.allclose(together, alone, atol=1e-6 * np.abs(alone).max())


@pytest.mark.parametrize("chart", charts())
@pytest.mark.parametrize("warm", [False, True])
def test_minimisers_are_those_of_the_central_path(chart, warm):
    c = covectors(chart, 2)[:9]
    start = minimise_all(chart, covectors(chart, 3)[:9]) if warm else None
    kept = None if start is None else start.copy()
    found = minimise_all(chart, c, start)
    assert start is None or np.array_equal(start, kept)
    for one, z in zip(c, found, strict=True):
        assert np.allclose(chart.point(z), chart.point(minimise(chart, one).z), atol=2e-6)
        assert np.allclose(minimise_all(chart, one[None])[0], z, atol=1e-4)


def test_curved_sets_and_charts_without_rows_go_on_as_before():
    assert CATALOGUE["spectrahedron"][0]().geometry.chart.inequalities is None
    assert CATALOGUE["cube"][0]().geometry.chart.inequalities is None
    assert cut_cube().geometry.chart.inequalities is not None


def test_weights_too_far_apart_are_said_to_be_so():
    with pytest.raises(np.linalg.LinAlgError, match="too far apart"):
        approach(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2), np.array([[1.0, 0.0]]))


@pytest.mark.parametrize("chart", charts())
@pytest.mark.parametrize("size", [1e15, 1e18, 1e24])
def test_points_stay_inside_where_rounding_hides_the_boundary(chart, size):
    """A slack of 1/size is then rounded to none: the last point that has one is the answer."""
    toward = chart.joint(np.random.default_rng(4).standard_normal((6, chart.width)))
    z = approach(chart.inequalities, chart.s0, size * toward)
    assert np.isfinite(z).all() and chart.interior(z).all()
    near = approach(chart.inequalities, chart.s0, 1e6 * toward)
    assert np.all((toward * z).sum(axis=1) <= (toward * near).sum(axis=1) + 1e-6)


def twins(copies, pairs=60):
    """Every coordinate together with multiples of it, whose lower ends coincide and share one weight."""
    x = cp.Variable((copies, pairs), name="x")
    others = [x[k] == (k + 1) * x[0] for k in range(1, copies)]
    return DecisionSet(x, [x >= 0, x[0] <= 1, *others, cp.sum(x[0]) == pairs / 3])


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("size", [1e-2, 1.0, 1e2, 1e5])
def test_on_a_sparse_chart_slack_times_multiplier_is_the_weight_of_the_row(copies, size):
    X = twins(copies, 120 // copies)
    chart = X.geometry.chart
    weights = chart.structure.weights
    assert chart.name == "sparse" and weights.min() == pytest.approx(1 / copies)
    linear = chart.pull(size * np.random.default_rng(5).standard_normal(X.size))
    z, loads = approach_sparse(chart, linear)
    slack = chart.slack(z)
    assert (slack > 0).all()
    assert np.abs(slack * loads / weights - 1).max() <= 0.1
    missing = chart.tangential(linear + chart.gradient_of(-loads))
    assert np.linalg.norm(missing) <= 1e-5 * max(1.0, np.linalg.norm(linear))
    assert decrement(chart.factor(z), linear)[1] < 0.25


class Path:
    """Mehrotra's steps by the full linear equations of z, slacks and multipliers, on the tangent vectors N."""

    def __init__(self, G, s0, weights, g, size, N):
        self.G, self.s0, self.weights, self.g, self.N = G, s0, weights, g, N
        self.z, self.s, self.loads, self.left = np.zeros(len(g)), s0.copy(), size * weights / s0, 1.0

    def _solved(self, products):
        """Steps (dz, ds, dl) with ds = -G dz, g + G'(l + dl) = 0 on N, and l ds + s dl = products."""
        m, n = len(self.s), self.N.shape[1]
        zeros, eye, GN = np.zeros, np.eye(m), self.G @ self.N
        K = np.block([
            [GN, eye, zeros((m, m))],
            [zeros((n, n)), zeros((n, m)), GN.T],
            [zeros((m, n)), np.diag(self.loads), np.diag(self.s)],
        ])  # fmt: skip
        rest = -self.N.T @ (self.g + self.G.T @ self.loads)
        step = np.linalg.solve(K, np.concatenate([zeros(m), rest, products]))
        return self.N @ step[:n], step[n : n + m], step[n + m :]

    def _reach(self, ds, dl):
        rates = np.concatenate([-ds / self.s, -dl / self.loads])
        return min([10.0, *(1 / rates[rates > 0])])

    def step(self):
        _, ds, dl = self._solved(-self.s * self.loads)
        t, total = self._reach(ds, dl), self.weights.sum()
        average, ahead = self.s @ self.loads / total, (self.s + t * ds) @ (self.loads + t * dl) / total
        target = max(average * np.clip(ahead / average, 0, 1) ** 3, 1.0)
        share = max(1 - target / average, 0.0)
        dz, ds, dl = self._solved(target * self.weights - self.s * self.loads - share**2 * ds * dl)
        length = min(1.0, 0.99 * self._reach(ds, dl))
        self.z, self.loads, self.left = self.z + length * dz, self.loads + length * dl, self.left * (1 - length)
        self.s = self.s0 - self.G @ self.z

    def run(self, steps, done):
        for _ in range(steps):
            if done(self):
                break
            self.step()
        return self


@pytest.mark.parametrize("steps", [1, 2, 30])
def test_steps_are_mehrotras_for_every_row_of_a_batch(steps, monkeypatch):
    chart = cut_cube().geometry.chart
    linear, G = chart.joint(covectors(chart, 6)[::3]), chart.inequalities
    monkeypatch.setattr(primal_dual, "_ITERATIONS", steps)
    found = approach(G, chart.s0, linear)
    for g, z in zip(linear, found, strict=True):
        size = max(np.linalg.norm(g), 1.0)
        path = Path(G, chart.s0, np.ones(len(G)), g, size, np.eye(len(g))).run(
            steps,
            lambda at, size=size: (
                np.abs(at.g + G.T @ at.loads).max() <= 1e-6 * size and np.abs(at.s * at.loads - 1).max() <= 0.1
            ),
        )
        assert z == pytest.approx(path.z, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("rounds", [1, 2, 30])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_steps_on_a_sparse_chart_are_mehrotras_with_weights(size, rounds, monkeypatch):
    X = twins(2, 50)
    chart = X.geometry.chart
    weights, G = chart.structure.weights, -chart.slack_step(np.eye(chart.width)).T
    N = scipy.linalg.null_space((X.geometry.conic.E * chart.unit[None, :]).toarray(), rcond=1e-10)
    g = chart.pull(size * np.random.default_rng(7).standard_normal(X.size))
    monkeypatch.setattr(primal_dual, "_ITERATIONS", rounds)
    z, loads = approach_sparse(chart, g)
    path = Path(G, chart.s0, weights, g, max(np.linalg.norm(N.T @ g), 1.0), N).run(
        2 * rounds, lambda at: at.left <= 1e-6 and np.abs(at.s * at.loads / weights - 1).max() <= 0.1
    )
    assert z == pytest.approx(path.z, rel=1e-5, abs=1e-8)
    assert loads == pytest.approx(path.loads, rel=1e-4)
