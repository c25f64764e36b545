"""Which links may belong to a route between two nodes, and how they are cut down to finitely many routes.

A route leaves its origin, reaches its destination, and passes no closed node: so links into the origin, out of the
destination, out of a closed node that is not the origin and into one that is not the destination are never used.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from decision_sets.flows import conservation
from decision_sets.networks.network import Network
from dpcvx.actions.dag import between
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_DIGITS = 12  # decimal digits of a time, at most, where times are not tiny
_LARGEST = 308  # exponent of a power of 10 that is a number still
_FAR = 1000.0  # times the fastest route, above which no time is told from another
_EXACT = 2.0**52  # whole numbers below this are exact in floating point


class Graph(NamedTuple):
    """A graph whose paths are routes; its nodes are numbered without gaps.

    Attributes:
        tails, heads: nodes at the ends of its edges.
        source, target: nodes that stand for the origin and the destination.
        links: the link of the network that each edge stands for.
        steps: how many links come before it, in a layered network; otherwise None.
    """

    tails: Array
    heads: Array
    source: int
    target: int
    links: Array
    steps: Array | None = None

    @property
    def conservation(self) -> tuple[sparse.csr_array, Array]:
        """Outflow minus inflow of each node, sparse (nodes, edges), and what a unit flow leaves at each node."""
        nodes = 1 + int(max(self.tails.max(), self.heads.max()))
        return conservation(self.tails, self.heads, nodes, self.source, self.target)


def graph_of(network: Network, links: Array, origin: int, destination: int) -> Graph:
    """The graph of some links, one edge for each."""
    tails, heads = network.tails[links], network.heads[links]
    return _numbered(tails, heads, origin, destination, links, None)


def _numbered(tails: Array, heads: Array, source: int, target: int, links: Array, steps: Array | None) -> Graph:
    names, numbers = np.unique(np.concatenate([tails, heads]), return_inverse=True)
    first, last = (int(np.searchsorted(names, end)) for end in (source, target))
    return Graph(numbers[: len(tails)], numbers[len(tails) :], first, last, links, steps)


def usable(network: Network, origin: int, destination: int) -> Array:
    """The links on walks from the origin to the destination that pass no closed node.

    Raises:
        ValueError: where there is no such walk.
    """
    tails, heads, closed = network.tails, network.heads, network.closed
    from_here = (tails == origin) | ~closed[tails]
    to_there = (heads == destination) | ~closed[heads]
    allowed = np.flatnonzero(from_here & to_there & (heads != origin) & (tails != destination))
    found = allowed[between(tails[allowed], heads[allowed], origin, destination)]
    if len(found):
        return np.asarray(found)
    ends = f"from {network.nodes[origin]!r} to {network.nodes[destination]!r}"
    if between(tails, heads, origin, destination).any():
        raise ArgumentError(f"Every route {ends} passes a node that is closed to through traffic.")
    raise ArgumentError(f"The destination must be reachable, but no route leads {ends}.")


def toward(network: Network, origin: int, destination: int, times: Array) -> Array:
    """The links along which one comes nearer to the destination than to the origin, in their order.

    With s(v) the time from v to the destination and r(v) that from the origin to v, a link (u, v) is kept where
    (s - r)(v) < (s - r)(u). Along kept links s - r falls, so they form no cycle. A route of least time has
    s(v) = s(u) - t and r(v) = r(u) + t on each of its links, hence 2 t less, and is kept where all its times are
    positive. Ties, as on links of time 0, are broken by the number of links: s and r are least times and, among
    these, fewest links, so along a route that has the fewest links among the fastest the pair falls in any case. So
    the set is never empty. What is left is broken by the number of the node.

    Times are rounded to decimal digits as fine as floating-point numbers allow, and one whole number holds both time
    and links: sums of whole numbers are exact, so that no tie is decided by rounding.
    """
    way = usable(network, origin, destination)
    tails, heads = network.tails[way], network.heads[way]
    nodes = len(network.nodes)
    weights = _weights(tails, heads, times[way], nodes, origin, destination)
    s = distances(heads, tails, weights, nodes, destination)
    r = distances(tails, heads, weights, nodes, origin)
    before, after = s[tails] - r[tails], s[heads] - r[heads]
    falls = (after < before) | ((after == before) & (heads < tails))
    kept = way[falls]
    return np.asarray(kept[between(network.tails[kept], network.heads[kept], origin, destination)])


def layered(network: Network, origin: int, destination: int, hops: int) -> Graph:
    """All walks of at most `hops` links, as the paths of a graph without cycles; a node of it is (node, links so far).

    Raises:
        ValueError: where every walk is longer.
    """
    way = usable(network, origin, destination)
    tails, heads = network.tails[way], network.heads[way]
    nodes, ones = len(network.nodes), np.ones(len(way))
    since = distances(tails, heads, ones, nodes, origin)
    until = distances(heads, tails, ones, nodes, destination)
    if since[destination] > hops:
        raise ArgumentError(
            f"hops = {hops} lets no route through: from {network.nodes[origin]!r} to {network.nodes[destination]!r} "
            f"it is at least {int(since[destination])} links."
        )
    found = []
    for step in range(hops):
        open_ = np.flatnonzero((since[tails] <= step) & (until[heads] <= hops - step - 1))
        found.append((open_, np.full(len(open_), step)))
    chosen, steps = (np.concatenate(part) for part in zip(*found, strict=True))
    goal = (hops + 1) * nodes  # one node for the destination, whenever it is reached
    begin = steps * nodes + tails[chosen]
    end = np.where(heads[chosen] == destination, goal, (steps + 1) * nodes + heads[chosen])
    live = between(begin, end, origin, goal)  # a node may be near enough, and not in just so many links
    return _numbered(begin[live], end[live], origin, goal, way[chosen[live]], steps[live])


def fastest(network: Network, links: Array, origin: int, destination: int, times: Array) -> tuple[float, Array]:
    """The least time of a route on these links, and the links of one that has it and, among those, the fewest links."""
    tails, heads, nodes = network.tails[links], network.heads[links], len(network.nodes)
    weights = _weights(tails, heads, times[links], nodes, origin, destination)
    cheapest = _cheapest(tails, heads, weights, nodes)
    matrix = _matrix(tails[cheapest], heads[cheapest], weights[cheapest], nodes)
    _, before = csgraph.dijkstra(matrix, indices=origin, return_predecessors=True)
    link_of = dict(
        zip(zip(tails[cheapest].tolist(), heads[cheapest].tolist(), strict=True), links[cheapest], strict=True)
    )
    route, node = [], destination
    while node != origin:
        route.append(int(link_of[int(before[node]), node]))
        node = int(before[node])
    route.reverse()
    return float(times[route].sum()), np.array(route)


def distances(tails: Array, heads: Array, weights: Array, nodes: int, start: int) -> Array:
    """The least sum of positive weights from the start to each node; infinite where none leads there."""
    cheapest = _cheapest(tails, heads, weights, nodes)
    matrix = _matrix(tails[cheapest], heads[cheapest], weights[cheapest], nodes)
    return np.asarray(csgraph.dijkstra(matrix, indices=start))


def _matrix(tails: Array, heads: Array, weights: Array, nodes: int) -> Any:
    return sparse.csr_array((weights, (tails, heads)), shape=(nodes, nodes))


def _cheapest(tails: Array, heads: Array, weights: Array, nodes: int) -> Array:
    """The cheapest of the links between the same two nodes, the first of those: sparse matrices would add them up."""
    pair = tails * nodes + heads
    order = np.lexsort((np.arange(len(pair)), weights, pair))
    first = np.append(True, np.diff(pair[order]) != 0)
    return np.asarray(order[first])


def _weights(tails: Array, heads: Array, times: Array, nodes: int, origin: int, destination: int) -> Array:
    """Whole numbers of which each holds a time and one link, and of which sums along routes stay exact.

    Times are cut at far more than the fastest route takes: it uses none of those, and a road that is closed by a time
    of 1e9 would leave no digits to the others.
    """
    tiny = np.maximum(times, np.finfo(float).tiny)  # a weight of 0 would be no link
    least = float(distances(tails, heads, tiny, nodes, origin)[destination])
    if least > nodes * np.finfo(float).tiny:
        tiny = np.minimum(tiny, _FAR * least)
    ends = distances(tails, heads, tiny, nodes, origin), distances(heads, tails, tiny, nodes, destination)
    largest = max(float(end[np.isfinite(end)].max()) for end in ends)
    if largest <= nodes * np.finfo(float).tiny:  # the fastest routes take no time, so none uses a link that takes any
        whole = (times > 0).astype(float)
    else:
        whole = np.rint(np.minimum(times, tiny) * _scale(largest, nodes))
    return np.asarray(whole * (2 * nodes) + 1)


def _scale(largest: float, nodes: int) -> float:
    """A power of 10 by which times become whole numbers, for the largest sum of them along routes."""
    size = math.log10(largest)
    room = math.floor(math.log10(_EXACT / (4.0 * nodes)) - size - 0.5)
    return float(10.0 ** min(room, _DIGITS + max(0, math.floor(-size)), _LARGEST))
