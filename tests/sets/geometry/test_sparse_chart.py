"""The sparse chart: the same barrier, center and oracles as the dense route, and its factor by identities."""

import pickle
from itertools import pairwise
from typing import ClassVar

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

import decision_sets
from dpcvx import FTRL, DecisionSet, DeclarationError, EmptySetError, LossSet, SCRiBLe, UnsupportedConeError
from dpcvx.sets.conic.rows import unweighted
from dpcvx.sets.geometry.centering import analytic_center
from dpcvx.sets.geometry.charts import SparseChart
from dpcvx.sets.geometry.charts.sparse import structure
from dpcvx.sets.geometry.charts.sparse.factor import SparseFactor


def _grid(side):
    return nx.grid_2d_graph(side, side, create_using=nx.DiGraph)


def _forward(side):
    graph = nx.DiGraph()
    graph.add_edges_from((u, v) for u, v in _grid(side).edges if v > u)
    return graph


def _roads():
    """A grid that is entered by a bridge, has a corridor of two blocks beside it, and roads on no path."""
    graph = _forward(6)
    graph.add_edges_from([("start", (0, 0)), ("aside", (2, 2)), ((3, 3), "dead end"), ("dead end", "deader end")])
    block = nx.relabel_nodes(_forward(3), lambda node: ("first", node))
    graph.update(nx.compose(block, nx.relabel_nodes(_forward(3), lambda node: ("second", node))))
    graph.add_edge((0, 0), ("first", (0, 0)))  # whose flow leaves the first block, and then the second, as it came
    graph.add_edge(("first", (2, 2)), ("second", (0, 0)))
    graph.add_edge(("second", (2, 2)), (5, 5))
    return graph


def _incidence(graph, source, target):
    nodes = list(graph.nodes)
    demand = np.zeros(len(nodes))
    demand[nodes.index(source)], demand[nodes.index(target)] = 1.0, -1.0
    return -sparse.csr_array(nx.incidence_matrix(graph, oriented=True)), demand


def _flow(graph, source, target):
    E, demand = _incidence(graph, source, target)
    x = cp.Variable(E.shape[1], name="x")
    return x, [x >= 0, E @ x == demand]


def _capped_flow():
    x, constraints = _flow(_forward(8), (0, 0), (7, 7))
    return x, [*constraints, x <= np.random.default_rng(0).uniform(0.5, 1, x.size)]


def _transport(rows=9, columns=11):
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(rows)), rng.dirichlet(np.ones(columns))
    x = cp.Variable((rows, columns), nonneg=True)
    return x, [cp.sum(x, axis=1) == a, cp.sum(x, axis=0) == b]


def _inventory(periods=60):
    x, demand = cp.Variable(2 * periods, name="x"), np.random.default_rng(2).uniform(0.5, 1, periods)
    made, stored = x[:periods], x[periods:]
    rows = [stored[0] == made[0] - demand[0], stored[1:] == stored[:-1] + made[1:] - demand[1:]]
    return x, [made >= 0, made <= 2, stored >= 0, stored <= 3, *rows]


def _twins(pairs=60):
    """Coordinates of which the second half is twice the first: its lower ends coincide, its upper ends are loose."""
    x = cp.Variable(2 * pairs, name="x")
    first, second = x[:pairs], x[pairs:]
    return x, [first >= 0, first <= 1, second == 2 * first, second >= 0, second <= 5, cp.sum(first) == pairs / 3]


SETS = {
    "grid": lambda: _flow(_forward(8), (0, 0), (7, 7)),
    "roads": lambda: _flow(_roads(), "start", (5, 5)),
    "capped flow": _capped_flow,
    "transport": _transport,
    "inventory": _inventory,
    "twins": _twins,
}


@pytest.fixture(scope="module", params=SETS)
def both(request):
    """One set by the sparse chart and by the dense one."""
    sparse_set = DecisionSet(*SETS[request.param]())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "WORTH", 10**9)
        return sparse_set, DecisionSet(*SETS[request.param]())


def test_both_charts_have_the_same_barrier(both):
    X, dense = both
    assert (X.geometry.chart.name, dense.geometry.chart.name) == ("sparse", "dense")
    assert X.dim == dense.dim
    assert X.nu == dense.nu
    assert str(X.geometry.parameter) == str(dense.geometry.parameter)
    center = dense.barrier.argmin(np.zeros(X.shape))
    assert np.abs(X.center - center).max() <= 1e-9
    rng = np.random.default_rng(0)
    for strength in (1.0, 100.0):
        c = strength * rng.standard_normal(X.shape)
        x = X.barrier.argmin(c)
        assert np.abs(x - dense.barrier.argmin(c)).max() <= 1e-8
        assert X.barrier.value(x) == pytest.approx(dense.barrier.value(x), abs=1e-8 * X.nu)
        a, b = X.barrier.gradient(x), dense.barrier.gradient(x)
        assert np.abs(a - b).max() <= 1e-7 * np.abs(b).max()


def test_both_charts_have_the_same_ellipsoids_and_oracles(both):
    X, dense = both
    rng = np.random.default_rng(0)
    x = X.barrier.argmin(3 * rng.standard_normal(X.shape))
    a, b = X.dikin(x), dense.dikin(x)
    c = rng.standard_normal(X.shape)
    d = b.solve(c)
    assert np.abs(a.solve(c) - d).max() <= 1e-8 * np.abs(d).max()
    assert np.abs(a.apply(d) - b.apply(d)).max() <= 1e-7 * np.abs(b.apply(d)).max()
    assert a.norm(d) == pytest.approx(float(b.norm(d)))
    axes = [one.half_solve(np.eye(X.dim)).reshape(X.dim, -1) for one in (a, b)]
    assert np.abs(axes[0].T @ axes[0] - axes[1].T @ axes[1]).max() <= 1e-8 * np.abs(axes[1]).max() ** 2
    assert float((c * X.argmin(c)).sum()) == pytest.approx(float((c * dense.argmin(c)).sum()), abs=1e-9)
    assert np.abs(X.project(x + c) - dense.project(x + c)).max() <= 1e-7
    assert X.support_bound(c) == pytest.approx(dense.support_bound(c), abs=1e-6)
    assert X.support_bound(c) >= float((c * dense.argmin(-c)).sum()) - 1e-14  # vertices are rounded too
    assert X.contains(X.argmin(c)) and X.contains(X.project(x + c))
    for method in ("direction", "cholesky", "eigen"):
        assert all(dense.contains(point) for point in a.sample(rng, 5, method))


def test_samples_with_leading_axes_lie_on_the_ellipsoid(both):
    X, _ = both
    rng = np.random.default_rng(0)
    points = X.barrier.argmin(np.zeros(X.shape)) + 0.0
    ellipsoid = X.dikin(np.stack([points, X.barrier.argmin(np.ones(X.shape))]))
    drawn = ellipsoid.sample(rng, 3, radius=0.5)
    assert drawn.shape == (3, 2, *X.shape)
    assert ellipsoid.norm(drawn - ellipsoid.center) == pytest.approx(0.5 * np.ones((3, 2)))


@pytest.fixture(scope="module")
def grid():
    return DecisionSet(*SETS["grid"]())


def test_the_factor_inverts_the_hessian_on_the_tangent_space(grid):
    chart = grid.geometry.chart
    z = chart.coordinates(grid.barrier.argmin(5 * np.random.default_rng(0).standard_normal(grid.shape)))
    factor, N = chart.factor(z), chart.tangent_basis()
    H = np.diag(factor.apply(np.ones(chart.width)))
    inverse = N @ np.linalg.solve(N.T @ H @ N, N.T)
    assert np.abs(factor.solve(np.eye(chart.width)) - inverse).max() <= 1e-12 * np.abs(inverse).max()
    w = np.eye(chart.dim)
    displacements, measures = factor.half_solve(w), factor.half_apply(w)
    assert np.abs(displacements.T @ displacements - inverse).max() <= 1e-12 * np.abs(inverse).max()
    assert np.abs(N.T @ (measures.T @ displacements) @ N - np.eye(chart.dim)).max() <= 1e-10  # E[g a'] = I
    wrong = N.T @ (displacements.T @ displacements) @ N
    assert np.abs(wrong - np.eye(chart.dim)).max() > 0.1


def _largest_score(estimates, loss, tangents):
    """How far the mean of estimates of a loss is off along the tangent space, in standard deviations."""
    seen, true = estimates @ tangents, loss @ tangents
    return float(np.abs((seen.mean(axis=0) - true) / (seen.std(axis=0) / np.sqrt(len(seen)))).max())


def test_estimates_from_samples_are_unbiased(grid):
    """49 scores above 6: a false alarm has probability 49 * 2e-9 < 1e-6."""
    chart = grid.geometry.chart
    factor = chart.factor(chart.coordinates(grid.barrier.argmin(20 * np.linspace(-1, 1, grid.size))))
    loss = np.random.default_rng(1).standard_normal(chart.width)
    d, measure = factor.sample(np.random.default_rng(0), 1.0, (10_000,))
    value, N = chart.dim * (d @ loss)[:, None], chart.tangent_basis()
    assert _largest_score(value * measure, loss, N) < 6
    assert _largest_score(value * d, loss, N) > 6
    assert _largest_score(0.8 * value * measure, loss, N) > 6


def test_the_ellipsoid_ends_where_the_set_does(grid):
    """A displacement of norm 1 takes no slack away; a little more of the steepest one does."""
    chart = grid.geometry.chart
    factor = chart.factor(np.zeros(chart.width))
    for row in range(0, chart.width, 17):
        unit = np.zeros(chart.width)
        unit[row] = 1.0
        d = factor.solve(unit)
        d /= np.sqrt(unit @ d)  # of norm 1, and along it the slack of this row changes most
        assert chart.interior((1 - 1e-9) * d) and chart.interior(-(1 - 1e-9) * d)
        reach = abs(chart.s0[row] / chart.slack_step(d)[row])
        assert reach >= 1
        assert not (chart.interior(1.01 * reach * d) and chart.interior(-1.01 * reach * d))


STRETCHED = {name: SETS[name] for name in ("grid", "roads", "capped flow")} | {
    "simplex": lambda: decision_sets.simplex(9),
    "capped simplex": lambda: decision_sets.capped_simplex(9, 3),
    "box": lambda: decision_sets.cube(4),
    "ball": lambda: decision_sets.norm_ball(4),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_a_factor_stretches_a_displacement_as_far_as_the_point_does(name):
    made = STRETCHED[name]()
    chart = (DecisionSet(*made) if isinstance(made, tuple) else made).geometry.chart
    factor = chart.factor(chart.tangential(0.3 * np.random.default_rng(0).uniform(-1, 1, chart.width)))
    for seed in range(5):
        d, _ = factor.sample(np.random.default_rng(seed), 1.0)
        stretch = chart.stretch_at(factor, d)
        assert stretch == pytest.approx(chart.stretch(factor.z, d), rel=1e-12)
        assert chart.interior(factor.z + stretch * d) and chart.interior(factor.z - stretch * d)
        both = [chart.interior(factor.z + sign * 1.001 * stretch * d) for sign in (-1, 1)]
        assert not all(both)


def test_coinciding_inequalities_count_once():
    X = DecisionSet(*SETS["roads"]())
    chart, conic = X.geometry.chart, X.geometry.conic
    weights = chart.structure.weights
    assert set(np.round(1 / weights).astype(int)) >= {1, 2, 3}  # the corridor has three roads of one flow
    assert conic.cones.nu == pytest.approx(round(conic.cones.nu))
    plain = unweighted(conic)
    other = analytic_center(SparseChart.fit(plain), chart.v0)  # every inequality by itself: another center
    assert np.abs(other.x0 - chart.x0).max() > 1e-3


def test_fixed_entries_do_not_move_by_a_digit():
    X = DecisionSet(*SETS["roads"]())
    fixed = X.geometry.chart.structure.idle > 0
    assert 4 <= fixed.sum() <= 5  # four dead roads, and perhaps the bridge
    drawn = X.dikin(X.center).sample(np.random.default_rng(0), 50)
    assert np.all(drawn[:, fixed] == X.center[fixed])
    assert np.all(drawn >= 0)


def _losses(X):
    loss = cp.Variable(X.shape)
    return LossSet(loss, [loss >= 0, loss <= 1])


def _played(learners, rounds, loss):
    actions = [[] for _ in learners]
    for _ in range(rounds):
        for learner, record in zip(learners, actions, strict=True):
            action = learner.act()
            record.append(action)
            learner.update(action @ loss)
    return [np.array(record) for record in actions]


def test_rounds_stay_on_the_flows(grid, monkeypatch):
    E, demand = _incidence(_forward(8), (0, 0), (7, 7))
    loss = np.random.default_rng(0).uniform(0, 1, grid.size)
    learner = SCRiBLe(grid, _losses(grid), 10**5, seed=0)
    actions = _played([learner], 400, loss)[0]
    assert np.abs(actions @ E.T - demand).max() <= 1e-13
    assert actions.min() >= 0
    # a step that does not bring the point back keeps whatever took it off
    off = 1e-9 * np.random.default_rng(1).standard_normal(grid.size)
    factor = grid.geometry.chart.factor(off)
    assert np.abs(E @ grid.geometry.chart.push(off - factor.newton_step(off))).max() <= 1e-15
    assert np.abs(E @ grid.geometry.chart.push(off - factor.solve(off))).max() >= 1e-12


def test_learners_on_one_set_do_not_disturb_each_other(grid):
    Y, loss = _losses(grid), np.random.default_rng(0).uniform(0, 1, grid.size)
    alone = [_played([SCRiBLe(grid, Y, 1000, seed=seed)], 20, loss)[0] for seed in (1, 2)]
    together = _played([SCRiBLe(grid, Y, 1000, seed=seed) for seed in (1, 2)], 20, loss)
    assert np.array_equal(alone, together)


def test_replicas_and_saved_learners_go_on(grid):
    Y, loss = _losses(grid), np.random.default_rng(0).uniform(0, 1, grid.size)
    many = SCRiBLe(grid, Y, 1000, seed=0, replicas=3)
    actions = _played([many], 5, loss)[0]
    assert actions.shape == (5, 3, grid.size)
    assert all(grid.contains(action) for action in actions.reshape(-1, grid.size))
    learner = SCRiBLe(grid, Y, 1000, seed=0)
    _played([learner], 3, loss)
    factor = pickle.loads(pickle.dumps(grid.geometry.chart.factor(np.zeros(grid.size))))
    assert isinstance(factor, SparseFactor)
    g = np.random.default_rng(0).standard_normal(grid.size)
    assert np.array_equal(factor.solve(g), grid.geometry.chart.factor(np.zeros(grid.size)).solve(g))


class _SuperLU:
    """SciPy's factorisation as a stranger's."""

    made = 0
    factorised: ClassVar[list] = []

    def __init__(self, upper):
        _SuperLU.made += 1
        self.refactor(upper)

    def refactor(self, upper):
        _SuperLU.factorised.append(upper.data.tobytes())
        self._solver = splu(sparse.csc_array(upper + sparse.triu(upper, 1).T))

    def solve(self, right):
        return self._solver.solve(right)


def test_another_factorisation_can_be_plugged_in(grid):
    X = DecisionSet(*SETS["grid"](), factorisation=_SuperLU)
    assert _SuperLU.made
    repeated = [first == second for first, second in pairwise(_SuperLU.factorised)]
    assert not any(repeated)  # no numbers are factorised twice in a row
    assert np.abs(X.center - grid.center).max() <= 1e-9
    c = np.random.default_rng(0).standard_normal(X.shape)
    assert np.abs(X.barrier.argmin(c) - grid.barrier.argmin(c)).max() <= 1e-9
    with pytest.raises(DeclarationError, match="factorisation must be a function"):
        DecisionSet(*SETS["grid"](), factorisation=3)


def test_large_sets_say_what_they_do_not_do():
    graph = _forward(34)
    X = decision_sets.flow_polytope(graph, (0, 0), (33, 33))
    assert X.size == 2244 and X.geometry.chart.name == "sparse"
    ellipsoid, rng = X.dikin(X.center), np.random.default_rng(0)
    assert X.contains(ellipsoid.sample(rng))
    for method in ("cholesky", "eigen"):
        with pytest.raises(UnsupportedConeError, match=r"2244|1089"):
            ellipsoid.sample(rng, method=method)
        with pytest.raises(UnsupportedConeError, match=r"2244|1089"):
            SCRiBLe(X, _losses(X), 100, sampling=method, seed=0).act()
    with pytest.raises(UnsupportedConeError, match="2244"):
        X.geometry.chart.tangent_basis()
    with pytest.raises(UnsupportedConeError, match="2244"):
        X.barrier.hessian(X.center)


def test_learners_play_on_a_large_set_with_sparse_equalities():
    x, constraints = _transport(45, 50)
    X = DecisionSet(x, constraints)
    assert X.geometry.chart.name == "sparse" and X.dim == 44 * 49
    Y = _losses(X)
    loss = np.random.default_rng(0).uniform(0, 1, X.shape)
    for learner in (SCRiBLe(X, Y, 100, seed=0), FTRL(X, Y, 100, 1.0, regularizer="barrier", seed=0)):
        for _ in range(3):
            action = learner.act()
            assert X.contains(action)
            learner.update(float((loss * action).sum()) if learner.sees == "value" else loss)


def test_contradictions_among_sparse_equalities_are_refused():
    x, constraints = _transport(45, 50)
    with pytest.raises(EmptySetError, match="contradict"):
        DecisionSet(x, [*constraints[:1], cp.sum(x, axis=0) == np.full(50, 0.021)])
