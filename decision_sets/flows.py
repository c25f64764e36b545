"""Unit flows between two nodes of a directed acyclic graph: the convex hull of the paths."""

from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
import scipy.sparse as sp

from dpcvx.actions.dag import Dag
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


def flow_polytope(graph: Any, source: Any, target: Any) -> DecisionSet:
    """The flow polytope {x >= 0, outflow - inflow = 1 at source, -1 at target, 0 elsewhere} of a networkx DAG.

    Its vertices are the paths from ``source`` to ``target``. Coordinates follow ``graph.edges``. An edge on no such
    path is dead: it is declared like the others, every flow is zero on it, and the dimension does not count it.

    Raises ValueError if the graph is undirected or has a cycle, if an end is missing, and if no path joins them.

    Example:
        >>> import decision_sets
        >>> import networkx as nx
        >>> roads = nx.DiGraph([("home", "hill"), ("home", "lake"), ("hill", "work"), ("lake", "work")])
        >>> X = decision_sets.flow_polytope(roads, "home", "work")
        >>> X.dim, X.argmin([1, 5, 1, 0]).tolist()  # over the hill
        (1, [1.0, 0.0, 1.0, 0.0])
    """
    require_paths(graph, source, target)
    paths = PathPolytope(graph, source, target)
    x = cp.Variable(len(paths.edges), nonneg=True)
    return DecisionSet(
        x,
        [paths.divergence @ x == paths.demand],
        oracle=paths.shortest_path,
        vertex_sampler=paths.random_walk,
        name=f"flow_polytope({len(graph)} nodes, {len(paths.edges)} edges)",
    )


class PathPolytope:
    """The paths between two nodes of a DAG: conservation of flow, shortest path, random path with a given mean.

    ``divergence`` (nodes x edges, sparse) is outflow minus inflow, ``demand`` its value on unit flows.
    """

    def __init__(self, graph: Any, source: Any, target: Any) -> None:
        index = {node: i for i, node in enumerate(graph.nodes)}
        self.source, self.target = index[source], index[target]
        self.edges = [(index[edge[0]], index[edge[1]]) for edge in graph.edges]
        tails, heads = np.array(self.edges).T
        self.divergence, self.demand = conservation(tails, heads, len(index), self.source, self.target)
        self.dag = Dag(tails, heads, self.source, self.target)

    def shortest_path(self, costs: Array) -> Array:
        """Return the indicator of the cheapest path; costs may be negative."""
        return self.dag.indicator(self.dag.shortest(costs))

    def random_walk(self, flow: Array, rng: np.random.Generator) -> Array:
        """Draw a path whose mean is ``flow``: at every node the next edge is drawn in proportion to its flow."""
        return self.dag.indicator(self.dag.draw(flow, rng))


def conservation(tails: Array, heads: Array, nodes: int, source: int, target: int) -> tuple[sp.csr_array, Array]:
    """Outflow minus inflow of each node, sparse (nodes, edges), and what a unit flow leaves at each node."""
    columns, ones = np.arange(len(tails)), np.ones(len(tails))
    out, into = (sp.csr_array((ones, (ends, columns)), shape=(nodes, len(tails))) for ends in (tails, heads))
    demand = np.zeros(nodes)
    demand[source], demand[target] = 1.0, -1.0
    return sp.csr_array(out - into), demand


def require_paths(graph: Any, source: Any, target: Any) -> None:
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise ArgumentError(f"graph must be a directed networkx graph, but {type(graph).__name__} came.")
    for name, node in (("source", source), ("target", target)):
        if node not in graph:
            raise ArgumentError(
                f"{name} must be a node of the graph, but {node!r} is not one of its {len(graph)} nodes."
            )
    if source == target:
        raise ArgumentError(f"source and target must be two nodes, but both are {source!r}.")
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(graph))
        raise ArgumentError(f"graph must have no directed cycle, but it has {cycle} -> back to the first.")
    if not nx.has_path(graph, source, target):
        raise ArgumentError(f"target must be reachable from source, but no path leads from {source!r} to {target!r}.")
