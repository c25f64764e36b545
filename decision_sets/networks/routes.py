"""Decision sets of routes through a road network: flows between an origin and a destination.

    network = read_network("SiouxFalls_net.tntp")
    X = routes(network, 1, 20, times=usual_times)
    X.edges            # the links that are coordinates of X
    X.path(X.argmin(times_of_a_day_on_these_links))

Losses may be given for all links of the network: a `LossSet` of that size, which learners read through `links_map`.
"""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from decision_sets.networks.excluded import Excluded, RoutesWarning, measure
from decision_sets.networks.network import Name, Network, link_numbers
from decision_sets.networks.reading import as_network
from decision_sets.networks.ways import Graph, fastest, graph_of, layered, toward, usable
from dpcvx.actions.dag import Dag, Decomposition
from dpcvx.arguments import generator, whole
from dpcvx.arrays import Array, reals
from dpcvx.errors import ArgumentError, EmptySetError
from dpcvx.sets import DecisionSet

CYCLES = ("toward", "hops", "capped")
_LONGER = 1.25  # the default limit of links, relative to those of the usual route
_VERTEX = 1e-6  # by which the entries of a path may be off 0 and 1
_NO_BANDITS = (
    'Routes with cycles="capped" are for full information only: a bandit sees what one route costs, and a route '
    "without its loops costs less than the flow it was drawn from, so that every estimate would be biased; with its "
    'loops it has no bounded cost. Use cycles="toward" or cycles="hops".'
)


class Routes(DecisionSet):
    """Unit flows from an origin to a destination; see `routes`, which makes them.

    Attributes:
        network: the whole network.
        origin, destination: names of the two nodes.
        cycles: how finitely many routes were made of all: "toward", "hops" or "capped".
        edges: names of the coordinates: links, and with "hops" pairs (link, how many links come before it).
        links: number of the link in the network that each coordinate stands for.
        links_map: sparse (links, coordinates): links_map @ x is how often x uses each link of the network.
        times: the public usual times of all links of the network.
        excluded: what the set shuts out.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> X = decision_sets.routes(roads, "a", "b", cycles="hops", hops=2)
        >>> X.cycles, X.origin, X.destination, X.dim
        ('hops', 'a', 'b', 1)
    """

    def __init__(
        self,
        network: Network,
        ends: tuple[int, int],
        graph: Graph,
        *,
        cycles: str,
        times: Array,
        capacity: Array | None,
    ) -> None:
        size, links = len(graph.links), graph.links
        self.network, self.cycles, self.links, self.times, self.graph = network, cycles, links, times, graph
        self.origin, self.destination = (network.nodes[end] for end in ends)
        names = [network.links[link] for link in links]
        self.edges: tuple[Name, ...] = tuple(names)
        if graph.steps is not None:
            self.edges = tuple(zip(names, graph.steps.tolist(), strict=True))
        used = sparse.csr_array((np.ones(size), (links, np.arange(size))), shape=(len(network.links), size))
        self.dag = None if cycles == "capped" else Dag(graph.tails, graph.heads, graph.source, graph.target)
        x = cp.Variable(size, nonneg=True)
        flow, demand = graph.conservation
        constraints = [flow @ x == demand]
        if capacity is not None:
            held = np.flatnonzero(np.isfinite(capacity) & (np.bincount(links, minlength=len(capacity)) > 0))
            if len(held):
                constraints.append(used[held] @ x <= capacity[held])
        plain = len(constraints) == 1 and self.dag is not None
        self._routes_fit = capacity is None or bool(np.all(capacity[links] >= 1.0))
        if cycles == "capped":
            self.bandit_refusal = _NO_BANDITS
        super().__init__(
            x,
            constraints,
            oracle=self._shortest if plain else None,
            vertex_sampler=self._drawn if plain else None,
            links_map=used,
            name=f"routes({self.origin} to {self.destination}, {size} edges)",
        )

    excluded: Excluded

    def _shortest(self, costs: Array) -> Array:
        assert self.dag is not None
        return self.dag.indicator(self.dag.shortest(costs))

    def _drawn(self, point: Array, rng: np.random.Generator) -> Array:
        assert self.dag is not None
        return self.dag.indicator(self.dag.draw(point, rng))

    def least_cost(self, costs: Any) -> float:
        """The least cost of a point, for costs of the coordinates.

        Loops only add to costs that are not negative, so the least of a capped flow into which every route fits is that
        of the cheapest route, which needs no linear program.
        """
        c = self.layout.vector(costs, "costs")
        if self.dag is not None or not self._routes_fit or c.min() < 0:
            return -float(self.support(-c))
        times = np.zeros(len(self.network.links))
        times[self.links] = c
        origin, destination = (self.network.numbers[end] for end in (self.origin, self.destination))
        return fastest(self.network, self.links, origin, destination, times)[0]

    # paths

    def path(self, action: Any) -> list[Name]:
        """The links of an action that is a path, from the origin to the destination.

        Raises:
            ValueError: where the action is no path; `draw_path` takes any point.
        """
        x = self.layout.vector(action, "action")
        used = np.flatnonzero(x > 0.5)
        tails, heads, source, target = self.graph[:4]
        after = {int(tails[e]): e for e in used}
        found, node = [], source
        while node != target and node in after:
            found.append(after.pop(node))
            node = int(heads[found[-1]])
        if node != target or len(found) < len(used) or np.abs(x - (x > 0.5)).max() > _VERTEX:
            raise ArgumentError("The action is not one path; draw one whose mean it is by draw_path.")
        return [self.network.links[self.links[e]] for e in found]

    def draw_path(self, point: Any, rng: np.random.Generator) -> list[Name]:
        """The links of a random route: link e is used with probability x_e, in the mean as often as the point says.

        With cycles="capped" a random walk in proportion to the flow is drawn and its loops are erased, so that links
        are used at most as often: where times are not negative, the route costs no more than the point in the mean.
        """
        rng = generator(rng)
        x = self.layout.vector(point, "point")
        edges = self.dag.draw(x, rng) if self.dag is not None else self._erased_walk(x, rng)
        return [self.network.links[self.links[e]] for e in edges]

    def _erased_walk(self, flow: Array, rng: np.random.Generator) -> list[int]:
        """A random walk in proportion to the flow, without its loops.

        It visits each link as often as the flow says, in the mean, or never, so it is finite.
        """
        tails, heads, source, target = self.graph[:4]
        amounts = np.maximum(flow, 0.0)
        found: list[int] = []
        reached, node = {source: 0}, source
        while node != target:
            out = np.flatnonzero(tails == node)
            weights = amounts[out]
            total = float(weights.sum())
            edge = int(rng.choice(out, p=weights / total if total > 0 else None))
            node = int(heads[edge])
            found.append(edge)
            if node in reached:
                found = found[: reached[node]]
                reached = {at: k for at, k in reached.items() if k <= reached[node]}
            else:
                reached[node] = len(found)
        return found

    def decompose(self, point: Any) -> Decomposition:
        """The point as a mean of paths, `.weights` and the sparse rows `.paths`; no mass is lost.

        Raises:
            ValueError: with cycles="capped", where a flow is not made of paths alone.
        """
        if self.dag is None:
            raise ArgumentError(
                'A flow with cycles="capped" holds loops beside paths; draw_path draws a route from it.'
            )
        return self.dag.decompose(self.layout.vector(point, "point"))


def routes(
    network: Any,
    origin: Any,
    destination: Any,
    *,
    times: Any = None,
    cycles: str = "toward",
    capacity: Any = None,
    hops: int | None = None,
) -> Routes:
    """The routes from an origin to a destination as a decision set: unit flows on links.

    A road network has cycles, and the hull of its routes without cycles has no short description. So routes are cut
    down in one of three ways, and `excluded` says what that leaves out:

    - "toward": links along which one comes nearer to the destination than to the origin, on usual times. The paths of
      this acyclic graph hold every route that is fastest on usual times (where times are positive), and most of those
      that are fastest on other days. Coordinates are the links in their order.
    - "hops": walks of at most `hops` links, on a layered network, of which coordinates are (link, links before it).
      A walk may come back to a node.
    - "capped": flows on all links, at most 1 on each (or `capacity`). Loops are part of such a flow, and are erased
      when a route is drawn from it by `draw_path`. For full information only: a bandit would see the value of the
      route and not that of the flow.

    Args:
        network: a `Network`, a networkx DiGraph or MultiDiGraph, a mapping with `tails` and `heads`, or a file.
        origin, destination: names of nodes.
        times: public usual times by which the set is made: a number for each link, a dict by links, or an array (days,
            links) of which the mean is usual. They must not depend on private data. By default those of empty roads.
        cycles: see above.
        capacity: the largest share of the flow on each link: a number, a dict by links or an array.
        hops: with cycles="hops" the largest number of links; by default a quarter more than the usual route has.

    Returns:
        a `Routes`: a DecisionSet with `edges`, `links_map`, `excluded`, `path`, `draw_path` and `decompose`.

    Raises:
        ValueError: where a node is unknown, no route joins them, a time or capacity is no such number, or the capacity
            is below the flow.

    Warns:
        RoutesWarning: where the best fixed route on the times given is not in the set; or where no times are given and
            the network has demand, from which usual times follow.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> X = decision_sets.routes(roads, "a", "b")
        >>> X.edges
        (('a', 'b'), ('a', 'c'), ('c', 'b'))
        >>> X.argmin([2, 1, 3]).round(6).tolist()  # the direct road
        [1.0, 0.0, 0.0]
    """
    if cycles not in CYCLES:
        raise ArgumentError(f"cycles must be one of {', '.join(CYCLES)}, not {cycles!r}.")
    if hops is not None and cycles != "hops":
        raise ArgumentError(f'hops goes with cycles="hops", not with cycles={cycles!r}.')
    given = as_network(network, known_times=times is not None)
    ends = given.number_of(origin, "origin"), given.number_of(destination, "destination")
    if ends[0] == ends[1]:
        raise ArgumentError(f"origin and destination must be two nodes, but both are {origin!r}.")
    usual, days = _times(given, times)
    caps = None if capacity is None else link_numbers(capacity, given, "capacity")
    if cycles == "capped":
        caps = np.ones(len(given.links)) if caps is None else np.minimum(caps, 1.0)
    elif caps is not None and cycles == "toward":
        caps = np.where(caps >= 1.0, np.inf, caps)  # no path of such a graph uses a link twice
    way = usable(given, *ends)
    notes = [] if times is not None else ["usual times are those of empty roads"]
    if cycles == "hops":
        usual_route = fastest(given, way, *ends, usual)[1]
        most = math.ceil(_LONGER * len(usual_route)) if hops is None else whole(hops, "hops")
        graph = layered(given, *ends, most)
    else:
        graph = graph_of(given, way if cycles == "capped" else toward(given, *ends, usual), *ends)
    made = _declared(given, ends, graph, cycles, usual, caps)

    def least(day: Array) -> float:
        if made.dag is None:
            return fastest(given, way, *ends, day)[0]
        return float(day[graph.links[made.dag.shortest(day[graph.links])]].sum())

    links = graph.links
    counts = len(way) - len(np.unique(links)), len(way)
    made.excluded = measure((usual, days), counts, lambda day: fastest(given, way, *ends, day)[0], least, tuple(notes))
    if made.excluded.shuts_out_the_best:
        _warn(f"The best fixed route from {origin!r} to {destination!r} is not in the set: {made.excluded}.")
    elif times is None and given.trips and given.capacity is not None and cycles != "capped":
        _warn(
            "The routes are chosen by the times of empty roads, but the network has demand: give times=, the usual "
            "times under that demand, which keep more of the routes that are fastest on a day."
        )
    return made


def _warn(words: str) -> None:
    warnings.warn(words, RoutesWarning, stacklevel=3)


def _declared(
    network: Network, ends: tuple[int, int], graph: Graph, cycles: str, times: Array, capacity: Array | None
) -> Routes:
    try:
        return Routes(network, ends, graph, cycles=cycles, times=times, capacity=capacity)
    except EmptySetError as error:
        assert capacity is not None
        raise ArgumentError(
            f"capacity is below the flow: of 1 it lets {_most(graph, capacity):.6g} through "
            f"from {network.nodes[ends[0]]!r} to {network.nodes[ends[1]]!r}."
        ) from error


def _most(graph: Graph, capacity: Array) -> float:
    """The largest flow under the capacity."""
    flow, _ = graph.conservation
    inner = np.delete(np.arange(flow.shape[0]), [graph.source, graph.target])
    size, links = len(graph.links), np.unique(graph.links)
    used = sparse.csr_array((np.ones(size), (np.searchsorted(links, graph.links), np.arange(size))))
    found = linprog(
        -(graph.tails == graph.source).astype(float),
        A_ub=used,
        b_ub=np.minimum(capacity[links], 1e6),
        A_eq=flow[inner] if len(inner) else None,
        b_eq=np.zeros(len(inner)) if len(inner) else None,
    )
    return abs(float(found.fun))


def _times(network: Network, times: Any) -> tuple[Array, Array | None]:
    """Usual times, and those of days where they came."""
    if times is None:
        return network.times, None
    if isinstance(times, Mapping):
        return link_numbers(times, network, "times"), None
    values = reals(times, "times")
    if values.ndim != 2:
        return link_numbers(values, network, "times"), None
    if not len(values):
        raise ArgumentError("times must have at least one day.")
    days = np.array([link_numbers(day, network, "times") for day in values])
    return np.asarray(days.mean(axis=0)), days
