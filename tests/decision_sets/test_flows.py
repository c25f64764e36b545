"""The flow polytope: dead edges, parallel edges, negative costs, and refusals."""

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from decision_sets.flows import PathPolytope


def grid(size: int) -> nx.DiGraph:
    """A grid of one-way streets that lead right and down."""
    return nx.DiGraph(nx.grid_graph((size, size)).edges)


def test_dead_edges_carry_no_flow_and_no_dimension():
    live = nx.DiGraph([("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")])
    dead = [("s", "c"), ("d", "a"), ("t", "e"), ("f", "g")]
    graph = nx.DiGraph([*live.edges, *dead])
    declared = ds.flow_polytope(graph, "s", "t")
    assert declared.size == 9
    assert declared.dim == ds.flow_polytope(live, "s", "t").dim == 2
    assert declared.nu == ds.flow_polytope(live, "s", "t").nu
    edges = list(graph.edges)
    assert np.abs(declared.center[[edges.index(edge) for edge in dead]]).max() <= 1e-9


def test_shortest_path_agrees_with_networkx_under_negative_costs():
    graph = grid(5)
    paths = PathPolytope(graph, (0, 0), (4, 4))
    rng = np.random.default_rng(1)
    for costs in rng.normal(size=(50, graph.number_of_edges())):
        nx.set_edge_attributes(graph, dict(zip(graph.edges, costs, strict=True)), "cost")
        expected = nx.bellman_ford_path_length(graph, (0, 0), (4, 4), weight="cost")
        assert costs @ paths.shortest_path(costs) == pytest.approx(expected, abs=1e-12)


def test_dimension_of_a_grid_is_edges_minus_nodes_plus_one():
    graph = grid(4)
    assert ds.flow_polytope(graph, (0, 0), (3, 3)).dim == graph.number_of_edges() - graph.number_of_nodes() + 1


def test_parallel_edges_have_a_coordinate_each():
    graph = nx.MultiDiGraph([("s", "t"), ("s", "t"), ("s", "t")])
    declared = ds.flow_polytope(graph, "s", "t")
    assert (declared.size, declared.dim) == (3, 2)
    assert declared.argmin(np.array([3.0, 1.0, 2.0])).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("graph", "source", "target", "sentence"),
    [
        (nx.Graph([(0, 1)]), 0, 1, "graph must be a directed networkx graph, but Graph came."),
        ("a graph", 0, 1, "graph must be a directed networkx graph, but str came."),
        (
            nx.DiGraph([(0, 1), (1, 2), (2, 0)]),
            0,
            2,
            "graph must have no directed cycle, but it has 0 -> 1 -> 2 -> back",
        ),
        (nx.DiGraph([(0, 1)]), 5, 1, "source must be a node of the graph, but 5 is not one of its 2 nodes."),
        (nx.DiGraph([(0, 1)]), 0, "t", "target must be a node of the graph, but 't' is not one of its 2 nodes."),
        (nx.DiGraph([(0, 1)]), 1, 1, "source and target must be two nodes, but both are 1."),
        (nx.DiGraph([(0, 1)]), 1, 0, "target must be reachable from source, but no path leads from 1 to 0."),
    ],
)
def test_graphs_without_a_flow_polytope_are_refused(graph, source, target, sentence):
    with pytest.raises(ValueError, match=sentence):
        ds.flow_polytope(graph, source, target)
