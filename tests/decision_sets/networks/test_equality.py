"""Sets of routes against the same sets declared by hand."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet

# name: (a graph with times, origin, destination, arguments, the edges of the set by hand)
BRIDGE = nx.DiGraph()
for u, v, time in [
    (0, 1, 1.0),
    (0, 2, 2.0),
    (1, 2, 0.5),
    (2, 1, 0.5),
    (1, 3, 2.0),
    (2, 3, 1.0),
    (3, 2, 1.0),
    (1, 0, 1.0),
]:
    BRIDGE.add_edge(u, v, time=time)
TWINS = nx.MultiDiGraph()
for u, v, time in [
    ("a", "b", 1.0),
    ("a", "b", 2.0),
    ("b", "a", 1.0),
    ("b", "c", 1.0),
    ("b", "c", 1.0),
    ("a", "c", 3.0),
]:
    TWINS.add_edge(u, v, time=time)
SERIES = nx.DiGraph()
for u, v, time in [
    (0, 1, 1.0),
    (1, 2, 1.0),
    (2, 5, 1.0),
    (0, 3, 1.0),
    (3, 5, 1.0),
    (0, 4, 2.0),
    (4, 5, 2.0),
    (3, 4, 0.5),
]:
    SERIES.add_edge(u, v, time=time)
GRID = nx.DiGraph(nx.grid_2d_graph(3, 3))
nx.set_edge_attributes(GRID, 1.0, "time")

ONWARD = [(u, v) for u, v in GRID.edges if sum(v) > sum(u)]
CASES = {
    "bridge": (BRIDGE, 0, 3, {}, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]),
    "twins": (TWINS, "a", "c", {}, [("a", "b", 0), ("a", "b", 1), ("b", "c", 0), ("b", "c", 1), ("a", "c")]),
    "series": (SERIES, 0, 5, {}, [edge for edge in SERIES.edges if edge != (3, 4)]),
    "grid": (GRID, (0, 0), (2, 2), {}, ONWARD),
    "grid with capacities": (GRID, (0, 0), (2, 2), {"capacity": 0.6}, ONWARD),
}


def by_hand(edges, origin, destination, capacity=None) -> DecisionSet:
    nodes = sorted({end for edge in edges for end in edge[:2]}, key=str)
    x = cp.Variable(len(edges))
    constraints = [x >= 0]
    for node in nodes:
        balance = sum(x[i] for i, edge in enumerate(edges) if edge[0] == node)
        balance -= sum(x[i] for i, edge in enumerate(edges) if edge[1] == node)
        constraints.append(balance == (node == origin) - (node == destination))
    if capacity is not None:
        constraints.append(x <= capacity)
    return DecisionSet(x, constraints)


@pytest.mark.parametrize("name", CASES)
def test_a_set_of_routes_is_the_set_declared_by_hand(name):
    graph, origin, destination, arguments, edges = CASES[name]
    X = ds.routes(graph, origin, destination, **arguments)
    assert set(X.edges) == set(edges)
    hand = by_hand(X.edges, origin, destination, **arguments)
    assert (X.dim, X.nu) == (hand.dim, hand.nu)
    assert X.center == pytest.approx(hand.center, abs=1e-9)
    rng = np.random.default_rng(0)
    for c in rng.normal(size=(10, X.size)):
        assert c @ X.argmin(c) == pytest.approx(c @ hand.argmin(c), abs=1e-8)
        assert X.project(c) == pytest.approx(hand.project(c), abs=1e-7)
    inner = 0.6 * X.center + 0.4 * X.project(rng.uniform(size=X.size))
    points = X.dikin(inner).sample(np.random.default_rng(1), size=200)
    assert all(hand.contains(point) for point in points)
    hessians = [one.barrier.hessian(inner) for one in (X, hand)]
    steps = (points - inner) @ X.basis
    norms = [np.einsum("ki,ij,kj->k", points - inner, hessian, points - inner) for hessian in hessians]
    assert steps.shape[1] == X.dim and norms[0] == pytest.approx(norms[1], rel=1e-8)
    assert norms[0] == pytest.approx(np.full(200, norms[0][0]), rel=1e-6)  # all on one Dikin ellipsoid of both


def test_another_set_is_told_apart():
    X = ds.routes(GRID, (0, 0), (2, 2), capacity=0.6)
    assert np.abs(X.center - by_hand(X.edges, (0, 0), (2, 2)).center).max() > 1e-4


def test_a_layered_set_is_the_set_of_walks_with_so_many_links():
    X = ds.routes(BRIDGE, 0, 3, cycles="hops", hops=4)
    walks = set()
    frontier = [((0,), ())]
    for _ in range(4):
        frontier = [((*nodes, v), (*walk, (nodes[-1], v))) for nodes, walk in frontier for v in BRIDGE[nodes[-1]] if v]
        walks |= {walk for nodes, walk in frontier if nodes[-1] == 3}
        frontier = [(nodes, walk) for nodes, walk in frontier if nodes[-1] != 3]
    assert {tuple(X.path(vertex)) for vertex in X.vertices()} == walks
    assert X.links_map.sum(axis=0).tolist() == [1.0] * X.size


def test_capped_flows_are_those_declared_by_hand():
    X = ds.routes(BRIDGE, 0, 3, cycles="capped")
    hand = by_hand(X.edges, 0, 3, capacity=1.0)
    assert (X.dim, X.nu) == (hand.dim, hand.nu) and X.center == pytest.approx(hand.center, abs=1e-9)
    assert set(X.edges) == {(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3)}
