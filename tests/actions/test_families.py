"""Families of actions against enumeration: moments, samples, exploration and estimates; and the vertices of sets."""

import itertools
import math

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from catalogue_sets import CATALOGUE, DAG
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import DecisionSet, Exp2, SCRiBLe, private_bandit
from dpcvx import actions as families
from dpcvx.actions import Arms, Bounds, BoxCorners, KSets, Paths, PointList, family_of_bounds
from dpcvx.actions.optimal_design import optimal_design
from dpcvx.sets.shapes.flow import Flow

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(12, 4))
FLAT = np.column_stack([RNG.normal(size=(9, 2)), np.ones(9), np.zeros(9)])  # rank 3 in R^4, off the origin


def corners(lower, upper):
    return np.array(list(itertools.product(*zip(lower, upper, strict=True))))


def subsets(n, k):
    rows = np.zeros((math.comb(n, k), n))
    for row, chosen in zip(rows, itertools.combinations(range(n), k), strict=True):
        row[list(chosen)] = 1.0
    return rows


def paths(graph, source, target):
    """The family, and all paths by networkx."""
    nodes, edges = list(graph.nodes), list(graph.edges)
    tails, heads = (np.array([nodes.index(edge[end]) for edge in edges]) for end in (0, 1))
    ways = list(nx.all_simple_edge_paths(graph, source, target))
    rows = np.array([[float(edge in way) for edge in edges] for way in ways])
    return Paths(tails, heads, nodes.index(source), nodes.index(target)), rows


def ladder(steps):
    """Steps of one and of two: as many paths as a Fibonacci number."""
    return nx.DiGraph([(i, i + k) for i in range(steps) for k in (1, 2) if i + k <= steps])


def grid(side):
    """Right or down through a square of nodes."""
    return nx.DiGraph(nx.grid_2d_graph(side, side).edges)


# name: (the family, all its actions)
FAMILIES = {
    "cube": (BoxCorners(-np.ones(5), np.ones(5)), corners(-np.ones(5), np.ones(5))),
    "box": (BoxCorners(np.array([0.0, -1, 2]), np.array([1.0, 3, 2.5])), corners([0.0, -1, 2], [1.0, 3, 2.5])),
    "2-sets": (KSets(5, 2), subsets(5, 2)),
    "3-sets, scaled": (KSets(6, 3, 0.5), 0.5 * subsets(6, 3)),
    "1-sets": (KSets(4, 1), np.eye(4)),
    "n-1-sets": (KSets(4, 3), subsets(4, 3)),
    "arms": (Arms(6), np.eye(6)),
    "scaled arms": (Arms(3, 2.0), 2 * np.eye(3)),
    "paths": paths(DAG, 0, 4),  # and edges on no path
    "paths of a grid": paths(grid(4), (0, 0), (3, 3)),
    "parallel edges": paths(nx.MultiDiGraph([(2, 0), (2, 0), (0, 1), (0, 1), (2, 1), (2, 1)]), 2, 1),
    "points": (PointList(POINTS), POINTS),
    "flat points": (PointList(FLAT), FLAT),
}


def weights(actions, covector):
    """q by enumeration, (..., k)."""
    logs = -(covector @ actions.T)
    q = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return q / q.sum(axis=-1, keepdims=True)


def explored(family, exploration, actions):
    """mu by enumeration."""
    if exploration.steps is not None:
        return np.where(actions[:, family.dag.live] > 0, exploration.steps, 1.0).prod(axis=1)
    if exploration.weights is None:
        return np.full(len(actions), 1 / len(actions))
    return exploration.weights


def moments(actions, q):
    return q @ actions, np.einsum("...k,ki,kj->...ij", q, actions, actions)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("name", FAMILIES)
def test_mean_and_second_moment_are_those_of_the_enumeration(name, scale):
    family, actions = FAMILIES[name]
    covector = scale * np.random.default_rng(0).normal(size=(3, 2, family.size))
    mean, second = moments(actions, weights(actions, covector))
    assert np.allclose(family.mean(covector), mean, rtol=0, atol=1e-10)
    assert np.allclose(family.second_moment(covector), second, rtol=0, atol=1e-10)
    assert family.log_count == pytest.approx(math.log(len(actions)))
    assert family.rank == np.linalg.matrix_rank(actions)


@pytest.mark.parametrize("name", FAMILIES)
def test_samples_have_the_probabilities_of_the_family(name):
    """Each count is within t of its mean, 2 exp(-t^2/2/(np + t/3)) <= 1e-6/k by Bernstein: a false alarm in 1e6."""
    family, actions = FAMILIES[name]
    covector = 0.7 * np.random.default_rng(1).normal(size=family.size)
    draws = 20_000
    drawn = family.sample(covector, np.random.default_rng(2), (draws,))
    counts = np.array([np.isclose(drawn, one, rtol=0, atol=1e-12).all(axis=1).sum() for one in actions])
    expected = draws * weights(actions, covector)
    level = math.log(2 * len(actions) / 1e-6)
    allowed = level / 3 + np.sqrt((level / 3) ** 2 + 2 * level * expected)
    assert counts.sum() == draws
    assert (np.abs(counts - expected) <= allowed).all()
    wrong = draws * weights(actions, -covector)
    assert (np.abs(counts - wrong) > allowed).any()  # the other sign is told apart


@pytest.mark.parametrize("name", FAMILIES)
def test_exploration_reaches_no_farther_than_it_says(name):
    family, actions = FAMILIES[name]
    for kind in ("uniform", "design"):
        mu = family.exploration(kind)
        p = explored(family, mu, actions)
        moment = moments(actions, p)[1]
        assert mu.moment is None or np.allclose(mu.moment, moment, atol=1e-12)
        leverage = np.einsum("ki,ij,kj->k", actions, np.linalg.pinv(moment, rcond=1e-10), actions)
        assert leverage.max() <= mu.reach * (1 + 1e-9)
        assert family.rank * (1 - 1e-9) <= leverage.max()
    slack = 1.0 if name == "box" else (0.45 if isinstance(family, Paths) else 1e-3) * family.rank
    assert family.design.reach <= family.rank + slack + 1e-6


@pytest.mark.parametrize("shape", [(3, 2), (40, 5), (2000, 6), (12, 12), (7, 1)])
def test_design_is_optimal_by_kiefer_and_wolfowitz(shape):
    points = np.random.default_rng(shape[0]).standard_t(2, size=shape)
    mu = optimal_design(points)
    inverse = np.linalg.inv((points.T * mu) @ points)
    assert mu.min() >= 0 and mu.sum() == pytest.approx(1)
    assert ((points @ inverse) * points).sum(axis=1).max() <= shape[1] * (1 + 1e-3)


def test_design_leaves_out_a_point_that_others_stand_for():
    points = np.array([[-1.0, math.sqrt(1.5)], [-1.0, -math.sqrt(1.5)], [1.0, 0.0]])
    assert np.allclose(optimal_design(points), [0.5, 0.5, 0.0], atol=1e-3)


@pytest.mark.parametrize("mixing", [0.01, 0.3])
@pytest.mark.parametrize("name", FAMILIES)
def test_estimate_is_unbiased_on_the_span(name, mixing):
    family, actions = FAMILIES[name]
    rng = np.random.default_rng(4)
    covector, loss = rng.normal(size=family.size), rng.normal(size=family.size)
    mu = family.exploration("uniform" if mixing > 0.1 else "design")
    p = (1 - mixing) * weights(actions, covector) + mixing * explored(family, mu, actions)
    if isinstance(family, PointList):
        measures = np.stack([family._measured(p, np.array(i)) for i in range(len(actions))])
    else:
        many = np.broadcast_to(covector, actions.shape)
        measures = family.measure(many, mixing, mu, actions)
    P = moments(actions, p)[1]
    span = np.linalg.pinv(actions) @ actions  # the projection onto it
    assert np.allclose(measures, actions @ np.linalg.pinv(P, rcond=1e-12), atol=1e-9 / mixing)
    assert np.allclose((p * (actions @ loss)) @ measures, span @ loss, atol=1e-9)


@pytest.mark.parametrize("name", ["cube", "box", "2-sets", "arms", "paths", "points"])
def test_play_draws_from_the_mixture(name):
    """The mean of 20,000 actions, each entry within 6.5 standard deviations: a false alarm in 1e6 for ten entries."""
    family, actions = FAMILIES[name]
    covector = np.broadcast_to(np.random.default_rng(5).normal(size=family.size), (20_000, family.size))
    mu = family.exploration("design")
    played, _ = family.play(covector, 0.4, mu, np.random.default_rng(6))
    p = 0.6 * weights(actions, covector[0]) + 0.4 * explored(family, mu, actions)
    mean, second = moments(actions, p)
    deviation = np.sqrt(np.maximum(np.diag(second) - mean**2, 0) / 20_000)
    assert (np.abs(played.mean(axis=0) - mean) <= 6.5 * deviation).all()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("permutahedron", 120),
        ("Birkhoff polytope", 24),
        ("flow polytope", 5),
        ("ball, p = 1", 8),
        ("capped simplex", 35),
    ],
)
def test_all_vertices_are_found(name, count):
    X = CATALOGUE[name][0]()
    found = X.flatten(X.vertices())
    assert len(found) == count
    for c in np.random.default_rng(0).normal(size=(50, X.size)):
        assert (found @ c).min() == pytest.approx(float(c @ X.flatten(X.argmin(X.unflatten(c)))), abs=1e-7)


# recognition


def test_bounds_and_a_sum_are_recognised_by_their_family():
    zero, one = np.zeros(14), np.ones(14)
    found = family_of_bounds(Bounds(zero - 1, one, None, is_simplex=False))
    assert isinstance(found, BoxCorners) and found.log_count == pytest.approx(14 * math.log(2))
    found = family_of_bounds(Bounds(zero, 2 * one, 2.0, is_simplex=True))
    assert isinstance(found, Arms) and found.scale == 2.0
    found = family_of_bounds(Bounds(zero, one / 2, 2.0, is_simplex=False))
    assert isinstance(found, KSets) and (found.k, found.scale) == (4, 0.5)
    few = family_of_bounds(Bounds(zero[:5], one[:5], 2.0, is_simplex=False))
    assert isinstance(few, PointList) and {tuple(row) for row in few.points} == {tuple(row) for row in subsets(5, 2)}
    for uneven in (Bounds(zero, one, 2.5, is_simplex=False), Bounds(zero, np.r_[2.0, one[1:]], 3.0, is_simplex=False)):
        assert family_of_bounds(uneven) is None


class Ends(PointList):
    """The two ends of a box along its diagonal: not its corners, but enough to see who was asked."""

    @classmethod
    def of_bounds(cls, bounds):
        return cls(np.stack([bounds.lower, bounds.upper])) if bounds.total is None else None


def test_a_family_in_the_registry_is_asked(monkeypatch):
    box = ds.box(np.zeros(3), np.ones(3))
    assert type(box.action_family()) is BoxCorners
    monkeypatch.setattr(families, "FAMILIES", (Ends, *families.FAMILIES))
    assert type(box.action_family()) is Ends
    assert type(ds.simplex(3).action_family()) is Arms


# paths


@pytest.mark.parametrize("graph", [ladder(14), grid(6)], ids=["ladder", "grid"])
def test_designs_on_paths_reach_all_of_them_and_hardly_farther_than_the_best(graph):
    family, rows = paths(graph, *(list(graph.nodes)[end] for end in (0, -1)))
    for kind, most in (("design", 2 * family.rank), ("uniform", 2 * len(rows))):
        mu = family.exploration(kind)
        leverage = np.einsum("ki,ij,kj->k", rows, np.linalg.pinv(mu.moment, rcond=1e-10), rows)
        assert family.rank <= leverage.max() * (1 + 1e-9) <= mu.reach * (1 + 2e-9) and mu.reach <= most


def test_the_uniform_distribution_on_a_grid_reaches_as_far_as_there_are_paths():
    """The design is for that: the path along two sides is one of many, and alone on its corner."""
    family, rows = paths(grid(6), (0, 0), (5, 5))
    assert family.exploration("uniform").reach == pytest.approx(len(rows), rel=1e-5)
    assert family.design.reach < 0.2 * len(rows)


def test_flows_are_recognised_however_they_are_written():
    graph = grid(3)
    D = -nx.incidence_matrix(graph, oriented=True).toarray()
    demand = np.r_[1.0, np.zeros(7), -1.0]
    x, free = cp.Variable(12, nonneg=True), cp.Variable((3, 4))
    flat = cp.vec(free, order="F")
    known = {tuple(row) for row in paths(graph, (0, 0), (2, 2))[1]}
    for variable, constraints in (
        (x, [D @ x == demand]),
        (x, [D[1:] @ x == demand[1:]]),
        (x, [-D[:-1] @ x == -demand[:-1]]),
        (x, [D[0] @ x == 1, D[1:] @ x == demand[1:]]),
        (free, [free >= 0, D @ flat == demand]),
    ):
        flow = DecisionSet(variable, constraints).recognised
        assert {tuple(row) for row in flow.paths().listed()} == known
    for other in ([D @ x == 2 * demand], [D @ x == demand, x <= 0.7], [D @ x == demand, x[0] == 0.5]):
        assert not isinstance(DecisionSet(x, other).recognised, Flow)


def test_one_path_is_played_without_a_choice():
    family = Paths(np.array([0, 1, 1]), np.array([1, 2, 3]), 0, 2)
    assert (family.log_count, family.rank) == (0.0, 1) and family.design.reach == pytest.approx(1, rel=1e-5)
    action, measure = family.play(np.zeros((4, 3)), 0.1, family.design, np.random.default_rng(0))
    assert (action == [1, 1, 0]).all() and np.allclose(measure, [0.5, 0.5, 0])


def test_a_graph_without_a_path_or_with_a_cycle_is_refused():
    with pytest.raises(ValueError, match="No path joins the nodes 0 and 2"):
        Paths(np.array([0, 2]), np.array([1, 1]), 0, 2)
    with pytest.raises(ValueError, match="cycle"):
        Paths(np.array([0, 1, 2, 2]), np.array([1, 2, 1, 3]), 0, 3)


def test_a_million_paths_are_played():
    X, T = ds.flow_polytope(ladder(29), 0, 29), 10**6
    Y = box_losses(X.size, 0, 1 / 29)
    learner = Exp2(X, Y, T, seed=0, replicas=3)
    assert isinstance(learner.family, Paths) and learner.family.log_count == pytest.approx(math.log(832_040))
    for value in (1e300, -1e300, *np.random.default_rng(0).normal(size=20)):
        action = learner.act()
        assert all(X.contains(one, 1e-12) for one in action) and set(np.unique(action)) == {0.0, 1.0}
        learner.update(np.array([value, -value, 0.0]))
    chosen = private_bandit(X, Y, T, 1.0, seed=0)
    assert chosen.name == "private Exp2" and chosen.regret_bound.total < 0.2 * T
    assert SCRiBLe(X, Y, T).uncapped_bound > chosen.uncapped_bound  # even without noise


def test_matrices_of_very_many_edges_are_refused_before_they_are_made():
    """A family that is counted and sampled at once; 40,000 edges would take 13 GB for every matrix."""
    edges = 20_000
    tails = np.repeat(np.arange(edges), 2)
    family = Paths(tails, tails + 1, 0, edges)
    assert family.log_count == pytest.approx(edges * math.log(2)) and family.rank == edges + 1
    for ask in (lambda: family.design, lambda: family.exploration("uniform"), lambda: family._span):
        with pytest.raises(ValueError, match="up to 2000 edges; here there are 40000"):
            ask()
