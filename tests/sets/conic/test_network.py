"""Graphs behind declared flows: paths, bridges, dead edges and flows through every edge, against networkx."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from dpcvx import DecisionSet
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.network import Network


def _random(seed, nodes=12, edges=26):
    """A random acyclic graph with parallel and dead edges, from node 0 to the last but one."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, nodes, (edges, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    ends = np.concatenate([ends, [[0, 3], [3, 6], [6, nodes - 2]]])
    names = rng.permutation(nodes)
    return Network(names[ends[:, 0]], names[ends[:, 1]], int(names[0]), int(names[nodes - 2]))


def _paths(network):
    graph = nx.MultiDiGraph()
    graph.add_edges_from((int(u), int(v), e) for e, (u, v) in enumerate(zip(network.tails, network.heads, strict=True)))
    found = nx.all_simple_edge_paths(graph, network.source, network.target)
    paths = np.zeros((0, len(network.tails)))
    for path in found:
        paths = np.vstack([paths, np.zeros(len(network.tails))])
        paths[-1, [edge[2] for edge in path]] = 1.0
    return paths


@pytest.mark.parametrize("wide", [False, True], ids=["loops", "arrays"])
@pytest.mark.parametrize("seed", range(20))
def test_what_a_graph_says_about_its_paths(seed, wide, monkeypatch):
    monkeypatch.setattr("dpcvx.actions.dag._WIDE", 0 if wide else 1e9)
    network, rng = _random(seed), np.random.default_rng(seed)
    paths, dag = _paths(network), network.dag
    assert dag is not None
    assert np.array_equal(np.sort(dag.live), np.flatnonzero(paths.max(axis=0) > 0))
    assert np.array_equal(np.sort(dag.bridges), np.flatnonzero(paths.min(axis=0) > 0))
    for costs in (rng.standard_normal(dag.size), np.ones(dag.size)):
        best = float((paths @ costs).min())
        assert dag.least(costs) == pytest.approx(best)
        path = dag.indicator(dag.shortest(costs))
        assert path @ costs == pytest.approx(best) and (paths == path).all(axis=1).any()
    flow = dag.spread_flow()
    assert flow.min() >= 1 / len(dag.live) - 1e-15
    balance = np.bincount(dag.tails, flow, dag.nodes) - np.bincount(dag.heads, flow, dag.nodes)
    demand = np.zeros(dag.nodes)
    demand[0], demand[-1] = 1.0, -1.0
    assert np.abs(balance - demand).max() <= 1e-14


@pytest.mark.parametrize("seed", range(5))
def test_a_spread_flow_is_the_mean_of_a_random_path_through_each_edge(seed):
    network = _random(seed)
    paths, dag = _paths(network), network.dag
    out, into = (np.bincount(ends[dag.live], minlength=_nodes(network)) for ends in (network.tails, network.heads))
    expected = np.zeros(dag.size)
    for path in paths:
        edges = np.flatnonzero(path)
        edges = edges[np.argsort([np.flatnonzero(dag.order == network.tails[e])[0] for e in edges])]
        for k in range(len(edges)):  # through this edge: any edge into its tail and so on back, any out of its head
            back, onward = network.tails[edges[1 : k + 1]], network.heads[edges[k:-1]]
            expected += path / (np.prod(into[back]) * np.prod(out[onward]))
    assert np.abs(dag.spread_flow() - expected[dag.live] / len(dag.live)).max() <= 1e-14


def test_a_cycle_on_the_way_is_seen_and_one_aside_is_not():
    on = Network(np.array([0, 1, 2, 1]), np.array([1, 2, 1, 3]), 0, 3)
    aside = Network(np.array([0, 1, 4, 5]), np.array([1, 3, 5, 4]), 0, 3)
    assert on.dag is None
    assert aside.dag is not None and np.array_equal(aside.dag.live, [0, 1])
    assert Network(np.array([0, 3]), np.array([1, 2]), 0, 2).dag is None  # and no way at all


def _nodes(network):
    return 1 + int(max(network.tails.max(), network.heads.max()))


def _declared(network, left_out=None):
    n = len(network.tails)
    E = sparse.lil_array((_nodes(network), n))
    for e, (u, v) in enumerate(zip(network.tails, network.heads, strict=True)):
        E[u, e], E[v, e] = 1, -1
    demand = np.zeros(_nodes(network))
    demand[network.source], demand[network.target] = 1.0, -1.0
    rows = np.delete(np.arange(_nodes(network)), [] if left_out is None else left_out)
    x = cp.Variable(n, nonneg=True)
    return DecisionSet(x, [sparse.csr_array(E)[rows] @ x == demand[rows]])


@pytest.mark.parametrize("seed", range(4))
def test_sizes_of_flows_are_those_of_their_paths(seed):
    network = _random(seed, 14, 40)
    paths, X = _paths(network), _declared(network, left_out=int(network.target) if seed % 2 else None)
    shape = X.recognised
    assert type(shape).__name__ == "PathFlow"
    lower, upper = X.bounding_box()
    assert np.array_equal(lower, paths.min(axis=0)) and np.array_equal(upper, paths.max(axis=0))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        c = rng.standard_normal(X.size)
        most = float((paths @ c).max())
        assert most <= X.support_bound(c) <= most + 1e-11
        assert X.argmin(-c) @ c == pytest.approx(most)
    for p in (1, 2, 3, np.inf):
        apart = max(float(np.linalg.norm(paths - path, p, axis=1).max()) for path in paths)
        assert shape.radius(p) == pytest.approx(float(np.linalg.norm(paths, p, axis=1).max()))
        assert apart <= shape.diameter(p) * (1 + 1e-12)
        assert shape.diameter(p) <= 2 ** (1 / p) * shape.radius(p) * (1 + 1e-12)
    reach = float(np.linalg.norm(paths - shape.middle, axis=1).max())
    assert reach <= shape.reach <= reach * (1 + 1e-6)


DIAMOND = np.array(
    [[1.0, 1, 0, 0, 0], [-1, 0, 1, 1, 0], [0, -1, -1, 0, 1], [0, 0, 0, -1, -1]]
)  # s-a, s-b, a-b, a-t, b-t


def _form(E=DIAMOND, e=(1.0, 0, 0, -1), A=None, b=None, P=None, offset=None):
    k = E.shape[1]
    A = -np.eye(k) if A is None else A
    b = np.zeros(len(A)) if b is None else b
    parts = (sparse.csr_array(np.asarray(M, float)) for M in (A, E, np.eye(k) if P is None else P))
    A, E, P = parts
    for M in (A, E, P):
        M.eliminate_zeros()
    sources = np.zeros(len(b), int), np.zeros(len(e), int)
    offset = np.zeros(k) if offset is None else offset
    return ConicSet(A, b, Product([Nonnegative(len(b))]), sources[0], E, np.asarray(e, float), sources[1], P, offset)


def _ends(network):
    return list(zip(network.tails.tolist(), network.heads.tolist(), strict=True))


def test_the_graph_of_a_flow_is_read_from_its_equations():
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    whole = Network.of(_form())
    assert (_ends(whole), whole.source, whole.target) == (edges, 0, 3)
    turned = Network.of(_form(E=-DIAMOND, e=(-1.0, 0, 0, 1)))  # inflow less outflow
    assert (_ends(turned), turned.source, turned.target) == ([(v, u) for u, v in edges], 3, 0)
    for left_out in range(4):
        rows = np.delete(np.arange(4), left_out)
        found, number = Network.of(_form(DIAMOND[rows], np.array([1.0, 0, 0, -1])[rows])), np.arange(4)
        number[rows], number[left_out] = np.arange(3), 3
        assert _ends(found) == [(number[u], number[v]) for u, v in edges]
        assert (found.source, found.target) == (number[0], number[3])
    order = np.array([3, 0, 4, 1, 2])  # of the columns, as the entries of x come
    assert _ends(Network.of(_form(P=np.eye(5)[order]))) == [edges[k] for k in order]
    scaled = Network.of(_form(A=-np.diag([1.0, 2, 3, 4, 5])))
    assert _ends(scaled) == edges


def test_an_edge_that_an_equality_shuts_needs_no_bound_and_joins_nothing():
    shut = np.vstack([DIAMOND, [0, 0, 1, 0, 0]])
    found = Network.of(_form(shut, (1.0, 0, 0, -1, 0), A=-np.eye(5)[[0, 1, 3, 4]]))
    assert _ends(found) == [(0, 1), (0, 2), (5, 5), (1, 3), (2, 3)] and (found.source, found.target) == (0, 3)
    lost = shut.copy()
    lost[:4, 2] = 0
    assert _ends(Network.of(_form(lost, (1.0, 0, 0, -1, 0)))) == _ends(found)
    assert Network.of(_form(lost[:4])) is None  # an edge that joins nothing and is open


def _with(row, column, value):
    E = DIAMOND.copy()
    E[row, column] = value
    return E


OTHERS = {
    "an entry of 2": {"E": _with(0, 0, 2)},
    "three ends": {"E": _with(3, 0, 1)},
    "two tails": {"E": _with(1, 0, 1)},
    "half a unit": {"e": (0.5, 0, 0, -0.5)},
    "two units": {"e": (2.0, 0, 0, -2)},
    "two sources": {"e": (1.0, 1, -1, -1)},
    "no source": {"e": (0.0, 0, 0, 0)},
    "no equations": {"E": np.zeros((0, 5)), "e": ()},
    "an edge without a bound": {"A": -np.eye(5)[:4]},
    "an upper bound": {"A": np.diag([-1.0, -1, -1, -1, 1])},
    "a bound that is not 0": {"b": np.array([0, 0, 0, 0, 1.0])},
    "a bound of a sum": {"A": np.vstack([-np.eye(5), -np.ones(5)])},
    "other units": {"P": np.diag([1.0, 1, 1, 1, 2])},
    "an offset": {"offset": np.array([0.0, 0, 0, 0, 1])},
    "an entry twice": {"P": np.eye(5)[[0, 1, 2, 3, 3]]},
    "a sum as an entry": {"P": np.eye(5) + np.eye(5, k=1)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_sets_are_no_unit_flows(name):
    assert Network.of(_form(**OTHERS[name])) is None
