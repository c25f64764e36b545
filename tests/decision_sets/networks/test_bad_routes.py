"""What is no network, or has no routes: a sentence each."""

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds

ROADS = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("d", "a")])


def timed(value):
    graph = nx.DiGraph()
    graph.add_edge("a", "b", time=value)
    return graph


def zoned():
    return ds.as_network(
        {"tails": ["a", "z"], "heads": ["z", "b"], "times": [1.0, 1.0], "closed": [False, False, True]}
    )


CASES = {
    "unreachable": (lambda: ds.routes(ROADS, "a", "d"), "must be reachable, but no route leads from 'a' to 'd'"),
    "unknown origin": (lambda: ds.routes(ROADS, "x", "c"), "origin must be a node, but 'x' is not one of the 4"),
    "unknown destination": (lambda: ds.routes(ROADS, "a", ["c"]), "destination must be a node, but"),
    "the same node": (lambda: ds.routes(ROADS, "a", "a"), "must be two nodes, but both are 'a'"),
    "negative time": (lambda: ds.routes(timed(-1.0), "a", "b"), r"the link \('a', 'b'\) has -1.0"),
    "NaN time": (lambda: ds.routes(timed(float("nan")), "a", "b"), r"times must be .* the link \('a', 'b'\) has nan"),
    "a time whose sums overflow": (
        lambda: ds.routes(timed(1e308), "a", "b"),
        r"of at least 0 and at most 1e\+300, but the link \('a', 'b'\) has 1e\+308",
    ),
    "infinite time": (lambda: ds.routes(timed(float("inf")), "a", "b"), r"at most 1e\+300, but .* has inf"),
    "a text for a time": (lambda: ds.routes(timed("far"), "a", "b"), r"time must be a number, but .* has 'far'"),
    "negative times given": (lambda: ds.routes(ROADS, "a", "c", times=-np.ones(5)), r"has -1.0"),
    "NaN on a day": (lambda: ds.routes(ROADS, "a", "c", times=np.full((3, 5), np.nan)), "has nan"),
    "too few times": (lambda: ds.routes(ROADS, "a", "c", times=np.ones(4)), r"each of the 5 links, not shape \(4,\)"),
    "a link without time": (lambda: ds.routes(ROADS, "a", "c", times={("a", "b"): 1.0}), r"\('b', 'a'\) has none"),
    "negative capacity": (lambda: ds.routes(ROADS, "a", "c", capacity=-1), "capacity must be a number of at least 0"),
    "NaN capacity": (lambda: ds.routes(ROADS, "a", "c", capacity=np.nan), "capacity must be a number of at least 0"),
    "capacity below the flow": (
        lambda: ds.routes(ROADS, "a", "c", capacity=0.25),
        "capacity is below the flow: of 1 it lets 0.25 through from 'a' to 'c'",
    ),
    "capacity 0": (lambda: ds.routes(ROADS, "a", "c", capacity=0.0), "of 1 it lets 0 through"),
    "capped below the flow": (
        lambda: ds.routes(ROADS, "a", "c", cycles="capped", capacity=0.5),
        "capacity is below the flow: of 1 it lets 0.5 through",
    ),
    "an empty graph": (lambda: ds.routes(nx.DiGraph(), 1, 2), "The network is empty: it has 0 nodes and 0 links"),
    "no links": (lambda: ds.routes(nx.empty_graph(3, nx.DiGraph), 0, 2), "The network is empty: it has 3 nodes and 0"),
    "self-loops alone": (lambda: ds.routes(nx.DiGraph([(0, 0)]), 0, 1), "The network is empty"),
    "through a closed zone": (lambda: ds.routes(zoned(), "a", "b"), "passes a node that is closed to through traffic"),
    "undirected": (lambda: ds.routes(nx.path_graph(3), 0, 2), "The graph is undirected; a route needs directed links"),
    "no graph": (lambda: ds.routes(17, 0, 2), "network must be a Network, a networkx graph, arrays or a file, not int"),
    "unknown word": (lambda: ds.routes(ROADS, "a", "c", cycles="none"), "cycles must be one of toward, hops, capped"),
    "hops alone": (lambda: ds.routes(ROADS, "a", "c", hops=4), 'hops goes with cycles="hops"'),
    "too few hops": (
        lambda: ds.routes(ROADS, "a", "c", cycles="hops", hops=1),
        "hops = 1 lets no route through: from 'a' to 'c' it is at least 2 links",
    ),
    "hops of 0": (lambda: ds.routes(ROADS, "a", "c", cycles="hops", hops=0), "hops must be a whole number"),
    "arrays of two lengths": (lambda: ds.as_network({"tails": [1, 2], "heads": [2]}), "vectors of one length"),
    "arrays without heads": (lambda: ds.as_network({"tails": [1, 2]}), "has tails, heads and perhaps"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_says_what_is_wrong(name):
    make, sentence = CASES[name]
    with pytest.raises(ValueError, match=sentence) as found:
        make()
    assert len(str(found.value)) < 300 and "\n" not in str(found.value)


def test_an_action_that_is_no_path_is_refused():
    X = ds.routes(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), "a", "c")
    for action in (X.center, np.zeros(3), np.array([1.0, 0.0, 0.0]), np.ones(3)):
        with pytest.raises(ValueError, match="not one path; draw one whose mean it is by draw_path"):
            X.path(action)
