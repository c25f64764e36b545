"""The paths between two nodes of a directed acyclic graph: the shortest, one at random, and all that a flow is made of.

Nodes on paths are numbered in topological order, so that every edge leads to a larger number, and edges by their tails.
"""

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dpcvx.arrays import Array, Bools
from dpcvx.errors import ArgumentError

_WHOLE = 2**60  # units of mass into which a flow of 1 is cut
_SAME = 2**14  # of these, a distance that rounding makes
_WIDE = 64  # edges a level, from which arrays are faster than a loop over edges


class Decomposition(NamedTuple):
    """A flow as a mean of paths.

    Attributes:
        weights: of the paths, (k,); they sum to 1.
        paths: indicators of the paths, one a row, sparse (k, edges).
    """

    weights: Array
    paths: sparse.csr_array


class Level(NamedTuple):
    """Nodes that no edge joins, numbered one after the other, and the edges out of them.

    Attributes:
        nodes, edges: which they are.
        starts: where the edges of each node begin among these.
        owners: the node of each edge among these.
    """

    nodes: slice
    edges: slice
    starts: Array
    owners: Array


class Dag:
    """The part of a graph that lies on paths from a source to a target, where it has no cycle.

    Args:
        tails, heads: numbers of the nodes at the ends of the edges.
        source, target: nodes that a path joins.

    Attributes:
        size: number of edges of the graph, dead ones included.
        live: the edges on paths, sorted by tails.
        tails, heads: the ends of the live edges, numbered in topological order: 0 is the source.
        nodes: number of nodes on paths; the last one is the target.
        first: where the edges out of each node begin in `live`, (nodes + 1,).
        order: the given numbers of the nodes on paths.
        levels: nodes with as many edges from the source on the longest way, which follow each other; the source first.

    Raises:
        ValueError: where no path joins the two nodes, or some path has no end.
    """

    def __init__(self, tails: Array, heads: Array, source: int, target: int) -> None:
        tails, heads = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
        self.size = len(tails)
        on = between(tails, heads, source, target)
        if not on.any():
            raise ArgumentError(f"No path joins the nodes {source} and {target}.")
        self.order, levels = _topological(tails[on], heads[on], source)
        place = np.full(1 + int(max(tails.max(), heads.max())), -1)
        place[self.order] = np.arange(len(self.order))
        self.nodes = len(self.order)
        live = np.flatnonzero(on)
        self.live = live[np.argsort(place[tails[live]], kind="stable")]
        self.tails, self.heads = place[tails[self.live]], place[heads[self.live]]
        self.first = np.searchsorted(self.tails, np.arange(self.nodes + 1))
        self.levels = tuple(self._level(begin, end) for begin, end in itertools.pairwise(levels))

    def _level(self, begin: int, end: int) -> "Level":
        """The nodes begin, ..., end - 1 with their edges."""
        first, last = int(self.first[begin]), int(self.first[end])
        owners = self.tails[first:last] - begin
        return Level(slice(begin, end), slice(first, last), self.first[begin:end] - first, owners)

    @cached_property
    def _lists(self) -> tuple[list[tuple[int, int, int]], list[int], list[int]]:
        """(number, tail, head) of the live edges from the last to the first; heads; first."""
        numbers = range(len(self.live) - 1, -1, -1)
        backwards = list(zip(numbers, self.tails[::-1].tolist(), self.heads[::-1].tolist(), strict=True))
        return backwards, self.heads.tolist(), self.first.tolist()

    def _ahead(self, cost: Array) -> list[float]:
        """The least cost from each node to the target, for costs of the live edges."""
        if len(self.live) > _WIDE * len(self.levels):
            left = np.zeros(self.nodes)
            for nodes, edges, starts, _ in reversed(self.levels[:-1]):
                left[nodes] = np.minimum.reduceat(cost[edges] + left[self.heads[edges]], starts)
            return left.tolist()
        ahead, costs = [np.inf] * (self.nodes - 1) + [0.0], cost.tolist()
        for e, tail, head in self._lists[0]:
            value = costs[e] + ahead[head]
            if value < ahead[tail]:
                ahead[tail] = value
        return ahead

    def least(self, costs: Array) -> float:
        """The cost of the cheapest path; costs may be negative."""
        return float(self._ahead(costs[self.live])[0])

    def shortest(self, costs: Array) -> list[int]:
        """The edges of the cheapest path in turn, of equally good next edges the first; costs may be negative."""
        _, heads, first = self._lists
        cost = costs[self.live]
        ahead, edges, node = self._ahead(cost), [], 0
        while node != self.nodes - 1:
            begin, end = first[node], first[node + 1]
            values = [c + ahead[v] for c, v in zip(cost[begin:end].tolist(), heads[begin:end], strict=True)]
            edges.append(begin + values.index(min(values)))
            node = heads[edges[-1]]
        return [int(e) for e in self.live[edges]]

    def distances(self, costs: Array) -> tuple[Array, Array]:
        """The least cost from the source to the tail, and from the head to the target, of each live edge."""
        cost = costs[self.live].tolist()
        ahead, behind = self._ahead(costs[self.live]), [0.0] + [np.inf] * (self.nodes - 1)
        for e, tail, head in reversed(self._lists[0]):
            behind[head] = min(behind[head], cost[e] + behind[tail])
        return np.array(behind)[self.tails], np.array(ahead)[self.heads]

    def draw(self, flow: Array, rng: np.random.Generator) -> list[int]:
        """The edges of a random path in turn, whose mean is the flow: an edge is taken in proportion to its flow."""
        amounts = np.maximum(flow[self.live], 0.0)
        _, heads, first = self._lists
        edges, node = [], 0
        coins: Iterator[float] = iter(())
        while node != self.nodes - 1:
            begin, end = first[node], first[node + 1]
            chosen = begin
            if end > begin + 1:
                coin = next(coins, None)
                if coin is None:
                    coins = iter(rng.random(64).tolist())
                    coin = next(coins)
                weights = amounts[begin:end].tolist()
                # only rounding leads to a node without flow, and from there any path will do
                left = coin * sum(weights)
                while chosen < end - 1 and (left >= weights[chosen - begin] or not weights[chosen - begin]):
                    left -= weights[chosen - begin]
                    chosen += 1
            edges.append(chosen)
            node = heads[chosen]
        return [int(e) for e in self.live[edges]]

    def draws(self, flow: Array, count: int, rng: np.random.Generator) -> sparse.csr_array:
        """Independent random paths whose mean is the flow, one a row, sparse (count, edges)."""
        amounts = np.maximum(flow[self.live], 0.0)
        into = np.zeros(self.nodes)
        np.add.at(into, self.tails, amounts)
        amounts = np.where(into[self.tails] > 0, amounts, 1.0)  # only rounding leads to a node without flow
        ends = np.cumsum(amounts)
        starts = np.append(0.0, ends)[self.first]
        node, walker = np.zeros(count, dtype=np.int64), np.arange(count)
        rows, columns = [], []
        while len(walker):
            begin, end = self.first[node], self.first[node + 1]
            spot = starts[node] + rng.random(len(node)) * (starts[node + 1] - starts[node])
            edge = np.clip(np.searchsorted(ends, spot, side="right"), begin, end - 1)
            rows.append(walker)
            columns.append(self.live[edge])
            node = self.heads[edge]
            going = node != self.nodes - 1
            node, walker = node[going], walker[going]
        row, column = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(count, self.size))

    @cached_property
    def bridges(self) -> Array:
        """The edges that are on every path.

        As every edge leads to a larger number, all paths use an edge if and only if no other passes over the gap after
        its tail: whatever lies on paths comes before its tail or after its head.
        """
        out, into = (np.bincount(ends, minlength=self.nodes) for ends in (self.tails, self.heads))
        found: Array = self.live[np.cumsum(out - into)[self.tails] == 1]
        return found

    def spread_flow(self) -> Array:
        """A unit flow on the live edges, positive on all: the mean of one random path through each of them.

        From its edge on, and back from it, a path goes along the edges of each node with equal chances.
        """
        tails, heads = self.tails.tolist(), self.heads.tolist()
        out, into = (np.bincount(ends, minlength=self.nodes) for ends in (self.tails, self.heads))
        out[-1] = into[0] = 1  # whose edges no path needs
        before = np.bincount(self.tails, 1 / into[self.tails], self.nodes).tolist()
        after = np.bincount(self.heads, 1 / out[self.heads], self.nodes).tolist()
        # paths that have yet to come to a node, by each of its edges, and to go on from it
        flow = [1.0] * len(tails)
        backwards, onwards = (1 / into).tolist(), (1 / out).tolist()
        for e in np.argsort(-self.heads, kind="stable").tolist():
            flow[e] += before[heads[e]]
            before[tails[e]] += before[heads[e]] * backwards[tails[e]]
        for e, (tail, head) in enumerate(zip(tails, heads, strict=True)):
            flow[e] += after[tail]
            after[head] += after[tail] * onwards[head]
        return np.array(flow) / len(tails)

    def indicator(self, edges: list[int] | Array) -> Array:
        """The vector with a one at each edge."""
        path = np.zeros(self.size)
        path[edges] = 1.0
        return path

    def decompose(self, flow: Array) -> Decomposition:
        """A unit flow as a mean of at most edges - nodes + 2 paths; no mass is lost.

        The mass that comes from the source is the interval [0, 1), cut into whole units. A node lays the pieces that
        arrive end to end and cuts them where its edges share them out; a cut adds one piece. So every node passes on
        exactly what it takes in, and a path is what a smallest piece goes through. A flow that is not conserved is
        followed in its shares at each node.
        """
        amounts = np.maximum(flow[self.live], 0.0)
        lows: list[list[Array]] = [[] for _ in range(self.nodes)]
        highs: list[list[Array]] = [[] for _ in range(self.nodes)]
        lows[0], highs[0] = [np.zeros(1, dtype=np.int64)], [np.full(1, _WHOLE)]
        edges, begins, ends = [], [], []
        heads, first = self.heads.tolist(), self.first.tolist()
        for v in range(self.nodes - 1):
            if not lows[v]:
                continue
            low, high = _joined(np.concatenate(lows[v]), np.concatenate(highs[v]))
            lows[v], highs[v] = [], []
            begin, end = first[v], first[v + 1]
            for e, a, b in _shared(low, high, amounts[begin:end]):
                edges.append(np.full(len(a), begin + e))
                begins.append(a)
                ends.append(b)
                lows[heads[begin + e]].append(a)
                highs[heads[begin + e]].append(b)
        edge, begun, ended = np.concatenate(edges), np.concatenate(begins), np.concatenate(ends)
        marks = np.unique(np.append(begun, _WHOLE))
        group = np.cumsum(np.append(0, np.diff(marks) > _SAME))  # a cut that is made anew falls beside the old one
        since, until = (group[np.searchsorted(marks, ends)] for ends in (begun, ended))
        marks = np.append(marks[np.flatnonzero(np.append(True, np.diff(group)))][:-1], _WHOLE)
        lengths = until - since
        column = np.repeat(self.live[edge].astype(np.int32), lengths)
        offset = np.repeat(np.cumsum(lengths) - lengths, lengths)
        row = (np.arange(len(column)) - offset + np.repeat(since, lengths)).astype(np.int32)
        ones = np.ones(len(column), dtype=np.int8)
        weights = np.diff(marks) / _WHOLE
        return Decomposition(weights, sparse.csr_array((ones, (row, column)), shape=(len(weights), self.size)))


def between(tails: Array, heads: Array, source: int, target: int) -> Bools:
    """Which edges lie on walks from the source to the target."""
    nodes = 1 + int(max(tails.max(initial=0), heads.max(initial=0), source, target))
    ones = np.ones(len(tails), dtype=np.int8)
    forward = sparse.csr_array((ones, (tails, heads)), shape=(nodes, nodes))
    down, up = np.zeros(nodes, dtype=bool), np.zeros(nodes, dtype=bool)
    down[csgraph.breadth_first_order(forward, source, return_predecessors=False)] = True
    up[csgraph.breadth_first_order(sparse.csr_array(forward.T), target, return_predecessors=False)] = True
    found: Bools = (down & up)[tails] & (down & up)[heads]
    return found


def _topological(tails: Array, heads: Array, source: int) -> tuple[Array, list[int]]:
    """The nodes, by the edges on the longest way from the source, and where nodes with more of them begin."""
    by_tail = np.argsort(tails, kind="stable")
    nodes = 1 + int(max(tails.max(), heads.max()))
    first = np.searchsorted(tails[by_tail], np.arange(nodes + 1)).tolist()
    onward = heads[by_tail].tolist()
    waiting = np.bincount(heads, minlength=nodes).tolist()
    layer, order, begins = [] if waiting[source] else [source], [], [0]
    while layer:
        order += layer
        begins.append(len(order))
        following = []
        for v in layer:
            for w in onward[first[v] : first[v + 1]]:
                waiting[w] -= 1
                if not waiting[w]:
                    following.append(w)
        layer = sorted(following)
    if len(order) < len(np.unique(np.concatenate([tails, heads]))):
        raise ArgumentError("The graph has a directed cycle on the way: a path could go on for ever.")
    return np.array(order), begins


def _joined(low: Array, high: Array) -> tuple[Array, Array]:
    """Disjoint intervals in order, those that touch as one."""
    order = np.argsort(low)
    low, high = low[order], high[order]
    new = np.append(True, low[1:] != high[:-1])
    return low[new], high[np.append(new[1:], True)]


def _shared(low: Array, high: Array, amounts: Array) -> list[tuple[int, Array, Array]]:
    """The intervals shared out in proportion to the amounts: (number of the edge, its intervals)."""
    if len(amounts) == 1:
        return [(0, low, high)]
    laid = np.append(0, np.cumsum(high - low))
    total = int(laid[-1])
    shares = np.cumsum(amounts)
    if not shares[-1] > 0:
        return [(0, low, high)]
    cuts = np.minimum(np.rint(shares / shares[-1] * total).astype(np.int64), total)
    cuts[np.flatnonzero(amounts)[-1] :] = total
    found, begin = [], 0
    for e, end in enumerate(cuts.tolist()):
        if end > begin:
            i = int(np.searchsorted(laid, begin, side="right")) - 1
            j = int(np.searchsorted(laid, end, side="left"))
            a, b = low[i:j].copy(), high[i:j].copy()
            a[0] += begin - laid[i]
            b[-1] -= laid[j] - end
            found.append((e, a, b))
            begin = end
    return found
