"""Unit flows between two nodes of a directed acyclic graph: the convex hull of the paths."""

from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
import scipy.sparse as sp

from dpcvx.arrays import Array
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
        columns = np.arange(len(self.edges))
        ones, shape = np.ones(len(self.edges)), (len(index), len(self.edges))
        self.divergence = sp.csr_array((ones, (tails, columns)), shape=shape)
        self.divergence -= sp.csr_array((ones, (heads, columns)), shape=shape)
        self.demand = np.zeros(len(index))
        self.demand[self.source], self.demand[self.target] = 1.0, -1.0

        useful = (nx.descendants(graph, source) | {source}) & (nx.ancestors(graph, target) | {target})
        live = {index[node] for node in useful}
        self._outgoing: dict[int, list[int]] = {i: [] for i in live}
        for e, (tail, head) in enumerate(self.edges):
            if tail in live and head in live:
                self._outgoing[tail].append(e)
        backwards = [index[node] for node in reversed(list(nx.topological_sort(graph)))]
        self._backwards = [i for i in backwards if i in live and i != self.target]

    def shortest_path(self, costs: Array) -> Array:
        """Return the indicator of the cheapest path; costs may be negative."""
        cost = costs.tolist()
        cheapest = {self.target: 0.0}
        best: dict[int, int] = {}
        for node in self._backwards:
            value, best[node] = min((cost[e] + cheapest[self.edges[e][1]], e) for e in self._outgoing[node])
            cheapest[node] = value
        return self._indicator(best.__getitem__)

    def random_walk(self, flow: Array, rng: np.random.Generator) -> Array:
        """Draw a path whose mean is ``flow``: at every node the next edge is drawn in proportion to its flow."""

        def next_edge(node: int) -> int:
            choices = self._outgoing[node]
            weights = np.maximum(flow[choices], 0.0)
            total = weights.sum()
            # Only rounding leads to a node without flow; from there any path will do.
            return int(rng.choice(choices, p=weights / total if total > 0 else None))

        return self._indicator(next_edge)

    def _indicator(self, next_edge: Any) -> Array:
        path = np.zeros(len(self.edges))
        node = self.source
        while node != self.target:
            edge = next_edge(node)
            path[edge] = 1.0
            node = self.edges[edge][1]
        return path


def require_paths(graph: Any, source: Any, target: Any) -> None:
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise ValueError(f"graph must be a directed networkx graph, but {type(graph).__name__} came.")
    for name, node in (("source", source), ("target", target)):
        if node not in graph:
            raise ValueError(f"{name} must be a node of the graph, but {node!r} is not one of its {len(graph)} nodes.")
    if source == target:
        raise ValueError(f"source and target must be two nodes, but both are {source!r}.")
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(graph))
        raise ValueError(f"graph must have no directed cycle, but it has {cycle} -> back to the first.")
    if not nx.has_path(graph, source, target):
        raise ValueError(f"target must be reachable from source, but no path leads from {source!r} to {target!r}.")
