"""Routes through networks with cycles: which links are kept, that they form no cycle, and what is left out."""

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from decision_sets.networks.ways import fastest, toward, usable


def random_network(seed: int, *, zeros: bool = False) -> ds.Network:
    """Two-way roads on a random planar-like graph, with parallel links and, if wanted, links of time 0."""
    rng = np.random.default_rng(seed)
    nodes = 25
    graph = nx.gnm_random_graph(nodes, 70, seed=seed, directed=True)
    tails, heads = np.array(list(graph.edges)).T
    tails, heads = np.append(tails, tails[:5]), np.append(heads, heads[:5])
    times = rng.integers(0 if zeros else 1, 4, len(tails)) / 10
    closed = rng.random(nodes) < 0.1
    return ds.as_network({"tails": tails, "heads": heads, "times": times, "closed": closed})


def pairs(network: ds.Network, count: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    found = []
    for origin, destination in rng.integers(0, len(network.nodes), (20 * count, 2)):
        try:
            if origin != destination and len(usable(network, origin, destination)):
                found.append((int(origin), int(destination)))
        except ValueError:
            continue
    return found[:count]


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_links_toward_form_no_cycle_and_hold_a_fastest_route(seed, zeros):
    network = random_network(seed, zeros=zeros)
    for ends in pairs(network, 8):
        kept = toward(network, *ends, network.times)
        assert nx.is_directed_acyclic_graph(
            nx.DiGraph(list(zip(network.tails[kept], network.heads[kept], strict=True)))
        )
        way = usable(network, *ends)
        best, least = (fastest(network, links, *ends, network.times)[0] for links in (way, kept))
        assert least == pytest.approx(best, abs=1e-12)
        inner = set(network.heads[kept].tolist()) - {ends[1]}
        assert not any(network.closed[node] for node in inner)


def test_every_fastest_route_is_kept_where_times_are_positive():
    network = random_network(3)
    for ends in pairs(network, 8):
        graph = nx.MultiDiGraph()
        way = usable(network, *ends)
        for e in way:
            graph.add_edge(int(network.tails[e]), int(network.heads[e]), time=float(network.times[e]), link=int(e))
        kept = set(toward(network, *ends, network.times).tolist())
        best = fastest(network, way, *ends, network.times)[0]
        for path in nx.all_simple_edge_paths(graph, *ends, cutoff=7):
            links = [graph.edges[edge]["link"] for edge in path]
            if sum(network.times[links]) <= best + 1e-9:
                assert kept.issuperset(links)


def test_ties_are_not_decided_by_rounding():
    # 0.1 + 0.2 is not 0.3 in floating point: both ways round the square take the same time
    square = nx.DiGraph()
    square.add_edge("a", "b", time=0.1)
    square.add_edge("b", "d", time=0.2)
    square.add_edge("a", "d", time=0.3)
    square.add_edge("d", "e", time=1.0)
    square.add_edge("b", "e", time=1.2)
    assert len(ds.routes(square, "a", "e").edges) == 5


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e-9, 1e9, 1e290])
def test_the_unit_of_times_changes_no_route(unit):
    network = random_network(3)
    origin, destination = pairs(network, 1)[0]
    kept = [ds.routes(network, origin, destination, times=network.times.round(3) * by) for by in (1.0, unit)]
    assert kept[0].edges == kept[1].edges
    assert kept[1].excluded.best == pytest.approx(unit * kept[0].excluded.best, rel=1e-9)


def test_zero_time_connectors_do_not_disconnect():
    graph = nx.DiGraph()
    for u, v, time in [("o", 1, 0.0), (1, 2, 1.0), (2, 1, 1.0), (2, 3, 0.0), (3, 2, 0.0), (3, "d", 0.0), (1, "o", 0.0)]:
        graph.add_edge(u, v, time=time)
    X = ds.routes(graph, "o", "d")
    assert X.edges == (("o", 1), (1, 2), (2, 3), (3, "d"))
    assert X.path(X.center) == list(X.edges)


def test_of_a_road_along_which_one_comes_no_nearer_the_way_to_the_earlier_node_is_kept():
    tails, heads = [0, 0, 1, 2, 1, 2], [1, 2, 3, 3, 2, 1]
    X = ds.routes({"tails": tails, "heads": heads, "times": np.ones(6)}, 0, 3, times=np.ones(6))
    assert X.edges == ((0, 1), (0, 2), (1, 3), (2, 3), (2, 1))


@pytest.mark.parametrize("unit", [1e-300, 1e-6, 0.2, 1e6])
def test_a_link_of_no_time_is_faster_than_one_beside_it_in_any_unit(unit):
    network = ds.as_network({"tails": [0, 0, 1], "heads": [1, 1, 2], "times": [2 * unit, 0.0, 0.0]})
    X = ds.routes(network, 0, 2, times=network.times)
    assert X.excluded.best == X.excluded.kept == 0.0 and (0, 1, 1) in X.edges


def test_the_town_of_two_way_roads():
    town = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c"), ("c", "b")])
    X = ds.routes(town, "a", "c", times={edge: 1.0 for edge in town.edges})
    assert set(X.edges) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert len(X.edges) == X.size and X.links_map.shape == (5, 3)
    assert X.path(X.argmin(np.ones(3))) == [("a", "c")]


def test_routes_of_sioux_falls_have_the_measured_size(sioux_falls):
    X = ds.routes(sioux_falls, 1, 20, times=sioux_falls.times)
    assert (X.size, X.dim) == (38, 15)
    assert not X.excluded.shuts_out_the_best and X.excluded.best == 22


def test_the_least_cost_of_a_capped_flow_is_that_of_its_linear_program():
    roads, rng = nx.DiGraph(nx.grid_2d_graph(3, 3)), np.random.default_rng(0)
    for capacity in (None, 0.6):
        X = ds.routes(roads, (0, 0), (2, 2), cycles="capped", capacity=capacity)
        for costs in (*rng.uniform(0, 3, (6, X.size)), *rng.integers(0, 2, (6, X.size)), *rng.normal(size=(3, X.size))):
            assert X.least_cost(costs) == pytest.approx(-X.support(-costs), abs=1e-9)


def test_the_least_cost_of_a_capped_flow_into_which_routes_fit_needs_no_linear_program(monkeypatch):
    X = ds.routes(nx.DiGraph(nx.grid_2d_graph(3, 3)), (0, 0), (2, 2), cycles="capped")
    monkeypatch.setattr(ds.Routes, "support", None)
    assert X.least_cost(np.ones(X.size)) == 4.0


@pytest.mark.parametrize("far", [1e9, 1e250])
def test_a_road_that_is_closed_by_a_huge_time_leaves_the_digits_of_the_others(far):
    roads = {("o", 1): 1.0, (1, "d"): 1 + 2e-9, ("o", 2): 1.0, (2, "d"): 1 + 1e-9, (2, 3): far, (3, "d"): 1.0}
    graph = nx.DiGraph()
    for (u, v), time in roads.items():
        graph.add_edge(u, v, time=time)
    network = ds.as_network(graph)
    origin, destination = network.numbers["o"], network.numbers["d"]
    links = usable(network, origin, destination)
    time, route = fastest(network, links, origin, destination, network.times)
    assert time == 2 + 1e-9
    assert [network.links[link] for link in route] == [("o", 2), (2, "d")]
