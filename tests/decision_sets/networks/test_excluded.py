"""What a set of routes says that it leaves out."""

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from decision_sets.networks.ways import fastest, usable

DETOUR = nx.DiGraph()  # two ways up to b, and a way back that only a bad day makes worth while
for u, v, time in [
    ("a", "b", 1.0),
    ("b", "d", 5.0),
    ("a", "c", 2.0),
    ("c", "d", 3.0),
    ("b", "c", 2.0),
    ("c", "b", 2.0),
]:
    DETOUR.add_edge(u, v, time=time)


def test_usual_times_keep_the_best_fixed_route():
    found = ds.routes(DETOUR, "a", "d").excluded
    assert found.best == found.kept == 5 and not found.shuts_out_the_best
    assert (found.links, found.of) == (1, 6)  # c to b
    assert "1 of 6 links on the way are in no route" in str(found) and "is in the set" in str(found)


def test_days_on_which_the_fastest_route_is_shut_out_are_counted():
    usual = np.array([DETOUR.edges[edge]["time"] for edge in DETOUR.edges])
    days = np.tile(usual, (100, 1))
    jam = list(DETOUR.edges)
    days[0, [jam.index(("a", "b")), jam.index(("c", "d"))]] = 50.0, 50.0  # a, c, b, d is best now: 9 against 52
    X = ds.routes(DETOUR, "a", "d", times=days)
    assert ("c", "b") not in X.edges
    assert X.excluded.days == 100 and X.excluded.missed == pytest.approx(0.01)
    assert X.excluded.slower == pytest.approx(1 + (52 / 9 - 1) / 100)
    assert "on 1 % of 100 days the fastest route is not in it" in str(X.excluded)


def test_a_day_on_which_the_fastest_route_is_faster_by_little_counts():
    days = np.tile([DETOUR.edges[edge]["time"] for edge in DETOUR.edges], (100, 1))
    jam = list(DETOUR.edges)
    days[0, [jam.index(("a", "b")), jam.index(("c", "d"))]] = 50.0, 7.001  # a, c, b, d takes 9, and a, c, d 9.001
    found = ds.routes(DETOUR, "a", "d", times=days).excluded
    assert found.missed == pytest.approx(0.01) and found.slower == pytest.approx(1 + (9.001 / 9 - 1) / 100, abs=1e-12)


def test_a_limit_of_links_that_shuts_out_the_best_route_warns():
    graph = nx.DiGraph()
    for k in range(4):
        graph.add_edge(k, k + 1, time=1.0)
    graph.add_edge(0, 4, time=10.0)
    with pytest.warns(ds.RoutesWarning, match=r"best fixed route from 0 to 4 is not in the set.* takes 4.* 10"):
        X = ds.routes(graph, 0, 4, cycles="hops", hops=2)
    assert X.excluded.shuts_out_the_best and (X.excluded.best, X.excluded.kept) == (4, 10)
    assert not ds.routes(graph, 0, 4, cycles="hops").excluded.shuts_out_the_best


def test_empty_roads_of_a_network_with_demand_warn():
    network = ds.as_network(
        {"tails": [0, 0, 1], "heads": [1, 2, 2], "times": [1.0, 3.0, 1.0], "capacity": 5.0, "trips": {(0, 2): 9.0}}
    )
    with pytest.warns(ds.RoutesWarning, match="the times of empty roads, but the network has demand"):
        X = ds.routes(network, 0, 2)
    assert "empty roads" in str(X.excluded)
    assert "empty roads" not in str(ds.routes(network, 0, 2, times=network.times).excluded)


def test_reports_hold_against_enumeration():
    rng = np.random.default_rng(0)
    for seed in range(5):
        graph = nx.gnm_random_graph(9, 30, seed=seed, directed=True)
        times = rng.integers(1, 9, graph.number_of_edges()).astype(float)
        network = ds.as_network(
            {"tails": [u for u, _ in graph.edges], "heads": [v for _, v in graph.edges], "times": times}
        )
        days = times * rng.uniform(0.5, 2.0, (20, len(times)))
        ends = network.number_of(0), network.number_of(8)
        X = ds.routes(network, 0, 8, times=days)
        number = network.link_numbers
        way = set(usable(network, *ends).tolist())
        every = [[number[edge] for edge in path] for path in nx.all_simple_edge_paths(graph, 0, 8)]
        kept = [path for path in every if set(path) <= set(X.links.tolist())]
        assert {tuple(X.path(v)) for v in X.vertices()} == {tuple(network.links[e] for e in path) for path in kept}
        assert set().union(*every) <= way
        best = [(min(day[path].sum() for path in paths)) for day in days for paths in (every, kept)]
        assert X.excluded.missed == np.mean([k > b + 1e-9 for b, k in zip(best[::2], best[1::2], strict=True)])
        assert fastest(network, usable(network, *ends), *ends, days[0])[0] == pytest.approx(best[0])
