"""Paths of routes: drawn with the flow for their mean, decomposed without loss, never through a closed zone."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy.stats import norm

import decision_sets as ds
from dpcvx.actions.dag import Dag


def town(side: int, seed: int = 0) -> ds.Network:
    """Two-way streets on a square, some nodes of which are closed zones that hang on the corners."""
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph(nx.grid_2d_graph(side, side))
    for zone, node in (("home", (0, 0)), ("work", (side - 1, side - 1)), ("mall", (side - 1, 0))):
        graph.add_edge(zone, node, time=0.0)
        graph.add_edge(node, zone, time=0.0)
        graph.nodes[zone]["closed"] = True
    # a tempting way through the mall
    graph.add_edge((0, 0), "mall", time=0.0)
    graph.add_edge("mall", (side - 1, side - 1), time=0.0)
    for edge in graph.edges:
        graph.edges[edge].setdefault("time", float(rng.integers(1, 5)))
    return ds.as_network(graph)


def interior(X: ds.Routes, seed: int) -> np.ndarray:
    """A point inside, away from the center."""
    rng = np.random.default_rng(seed)
    vertices = np.array([X.argmin(rng.normal(size=X.size)) for _ in range(12)])
    return 0.3 * X.center + 0.7 * rng.dirichlet(np.ones(12)) @ vertices


def bias(samples, flow: np.ndarray) -> float:
    """The largest deviation of a mean of 0/1 draws from the flow, in standard deviations."""
    count = samples.shape[0]
    mean = np.asarray(samples.mean(axis=0)).ravel()
    return float(np.max(np.abs(mean - flow) / np.sqrt(flow * (1 - flow) / count + 1 / count**2)))


def limit(edges: int) -> float:
    """Deviations beyond which one of so many edges is by chance with probability 1e-6; 20 % for the binomial tails."""
    return 1.2 * float(norm.isf(1e-6 / (2 * edges)))


@pytest.mark.parametrize("cycles", ["toward", "hops"])
def test_a_hundred_thousand_paths_have_the_flow_for_their_mean(cycles):
    X = ds.routes(town(4), "home", "work", cycles=cycles)
    flow = interior(X, 1)
    samples = X.dag.draws(flow, 100_000, np.random.default_rng(2))
    assert bias(samples, flow) < limit(X.size)
    assert set(np.asarray(samples[:, X.graph.tails == X.graph.source].sum(axis=1)).ravel()) == {1.0}
    shifted = 0.97 * flow + 0.03 * X.argmin(np.arange(X.size))
    assert bias(samples, shifted) > limit(X.size)


@pytest.mark.parametrize("cycles", ["toward", "hops"])
def test_single_paths_have_the_flow_for_their_mean(cycles):
    X, rng = ds.routes(town(3), "home", "work", cycles=cycles), np.random.default_rng(3)
    flow = interior(X, 2)
    samples = np.array([X.sample_vertex(flow, rng) for _ in range(4000)])
    assert bias(samples, flow) < limit(X.size)


def test_drawn_routes_lead_from_the_origin_to_the_destination_and_pass_no_zone():
    network, rng = town(4), np.random.default_rng(0)
    for cycles in ("toward", "hops", "capped"):
        X = ds.routes(network, "home", "work", cycles=cycles)
        for _ in range(60):
            route = X.draw_path(X.center, rng)
            nodes = [link[0] for link in route] + [route[-1][1]]
            assert nodes[0] == "home" and nodes[-1] == "work" and "mall" not in nodes
            assert all(before[1] == after[0] for before, after in pairwise(route))
            if cycles != "hops":
                assert len(set(nodes)) == len(nodes)


def test_routes_with_their_loops_erased_cost_no_more_than_the_flow():
    network, rng = town(3), np.random.default_rng(1)
    X = ds.routes(network, "home", "work", cycles="capped")
    flow, number = X.center, network.link_numbers
    costs = [sum(network.times[number[link]] for link in X.draw_path(flow, rng)) for _ in range(500)]
    assert np.mean(costs) < network.times[X.links] @ flow


def test_a_tempting_way_through_a_zone_is_in_no_set():
    network = town(4)
    for cycles in ("toward", "hops", "capped"):
        X = ds.routes(network, "home", "work", cycles=cycles)
        used = {end for link in X.links for end in network.links[link][:2]}
        assert "mall" not in used


@pytest.mark.parametrize("cycles", ["toward", "hops"])
def test_decomposition_loses_nothing(cycles):
    X = ds.routes(town(5), "home", "work", cycles=cycles)
    for flow in (X.center, interior(X, 4), X.argmin(np.ones(X.size))):
        weights, paths = X.decompose(flow)
        assert weights.sum() == pytest.approx(1, abs=1e-14) and weights.min() > 1e-14
        assert paths.T @ weights == pytest.approx(flow, abs=1e-12)
        assert len(weights) <= X.size - len(set(X.graph.tails)) + 1
        for row in paths.toarray()[:20]:
            assert X.path(row)


def test_a_decomposition_that_drops_small_paths_is_found_out():
    X = ds.routes(town(5), "home", "work")
    weights, paths = X.decompose(X.center)
    weights[np.argmin(weights)] = 0.0
    assert np.abs(paths.T @ weights - X.center).max() > 1e-6


def test_flows_on_dead_ends_and_parallel_edges_are_decomposed():
    dag = Dag(np.array([0, 0, 0, 1, 2, 0]), np.array([1, 1, 2, 3, 3, 4]), 0, 3)
    flow = np.array([0.5, 0.25, 0.25, 0.75, 0.25, 0.0])
    weights, paths = dag.decompose(flow)
    assert paths.T @ weights == pytest.approx(flow, abs=1e-15) and len(weights) == 3


def test_a_path_is_told_by_the_names_of_its_links():
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", key="slow", time=3.0)
    graph.add_edge("a", "b", key="fast", time=1.0)
    graph.add_edge("b", "c", key="last", time=1.0)
    X = ds.routes(graph, "a", "c")
    assert X.path(X.argmin(np.array([3.0, 1.0, 1.0]))) == [("a", "b", "fast"), ("b", "c")]


def test_the_shortest_path_is_that_of_bellman_and_ford_under_negative_costs():
    X, rng = ds.routes(town(4), "home", "work", cycles="hops"), np.random.default_rng(0)
    tails, heads, source, target = X.graph[:4]
    for costs in rng.normal(size=(20, X.size)):
        graph = nx.MultiDiGraph()
        graph.add_weighted_edges_from(zip(tails.tolist(), heads.tolist(), costs, strict=True))
        best = nx.bellman_ford_path_length(graph, source, target)
        assert costs @ X.argmin(costs) == pytest.approx(best, abs=1e-12)


@pytest.mark.slow
def test_a_hundred_thousand_edges_are_decomposed_to_a_billionth():
    side = 224
    right, down = (np.arange(side * side).reshape(side, side)[rows] for rows in (np.s_[:, :-1], np.s_[:-1]))
    tails = np.concatenate([right.ravel(), down.ravel()])
    heads = np.concatenate([right.ravel() + 1, down.ravel() + side])
    dag = Dag(tails, heads, 0, side * side - 1)
    flow = np.zeros(dag.size)
    flow[dag.live] = dag.spread_flow()
    weights, paths = dag.decompose(flow)
    assert dag.size == 99_904 and weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(paths.T @ weights - flow).max() < 1e-9
