"""Conic sets that are unit flows in a directed graph: { x >= 0, outflow - inflow = 1 at a source, -1 at a target }.

What follows from the graph alone is worked out level by level: the level of a node is the number of edges on the
longest way to it from the source, so that every edge leads to a higher one.
"""

from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from dpcvx.arrays import Array, Bools
from dpcvx.sets.conic.canonical import ConicSet


class Network:
    """A directed graph with a source and a target.

    Attributes:
        tails, heads: the nodes at the ends of each edge.
        source, target: the nodes that paths join.
        nodes: how many there are.
    """

    def __init__(self, tails: Array, heads: Array, source: int, target: int) -> None:
        self.tails, self.heads, self.source, self.target = tails, heads, source, target
        self.nodes = int(max(tails.max(initial=0), heads.max(initial=0), source, target)) + 1

    @classmethod
    def of(cls, form: ConicSet) -> "Network | None":
        """The graph whose unit flows the set consists of; None for any other set.

        One node may be left out, whose equation follows from the others.
        """
        size = len(form.offset)
        plain = form.columns == size == form.P.nnz and (form.P.data == 1).all() and not form.offset.any()
        single = form.A.shape[0] == form.A.nnz and (form.A.data < 0).all() and not form.b.any()
        if not plain or not single or not form.E.shape[0]:
            return None
        alone = np.diff(form.E.indptr) == 1
        covered = np.zeros(size, dtype=bool)
        covered[form.A.indices] = True
        covered[form.E[alone].indices] = True  # whatever an equality fixes needs no bound
        if not covered.all() or not np.array_equal(np.sort(form.P.indices), np.arange(size)):
            return None
        closed = sparse.csr_array(form.E[alone & (form.e == 0)])
        shut = np.zeros(size, dtype=bool)
        shut[closed.indices] = True
        rows = form.E[~(alone & (form.e == 0))]
        found = _ends(sparse.csc_array(rows[:, form.P.indices]), form.e[~(alone & (form.e == 0))], shut[form.P.indices])
        return None if found is None else cls(*found)

    @cached_property
    def live(self) -> Bools:
        """Which edges are on a way from the source to the target."""
        ahead = self._reached(self.tails, self.heads, self.source)[self.tails]
        back = self._reached(self.heads, self.tails, self.target)[self.heads]
        return np.asarray(ahead & back & (self.tails != self.heads))

    def _reached(self, tails: Array, heads: Array, start: int) -> Bools:
        ones = np.ones(len(tails), dtype=np.int8)
        steps = sparse.csr_array((ones, (tails, heads)), shape=(self.nodes, self.nodes))
        steps.data[:] = 1
        reached = np.zeros(self.nodes, dtype=bool)
        reached[breadth_first_order(steps, start, return_predecessors=False)] = True
        return reached

    @cached_property
    def _levels(self) -> Array | None:
        """The level of each node, -1 where no live edge is; None where there is a cycle on the way."""
        live = np.flatnonzero(self.live)
        order = live[np.argsort(self.tails[live], kind="stable")]
        start = np.searchsorted(self.tails[order], np.arange(self.nodes + 1))
        waiting = np.bincount(self.heads[live], minlength=self.nodes)
        level = np.full(self.nodes, -1)
        if not len(live) or waiting[self.source]:
            return None
        frontier, depth, seen = np.array([self.source]), 0, 0
        while len(frontier):
            level[frontier] = depth
            counts = start[frontier + 1] - start[frontier]
            places = np.repeat(start[frontier] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            next_nodes = self.heads[order[places]]
            seen += len(places)
            np.subtract.at(waiting, next_nodes, 1)
            frontier = np.unique(next_nodes[waiting[next_nodes] == 0])
            depth += 1
        return level if seen == len(live) else None

    @property
    def is_acyclic(self) -> bool:
        """Whether some path joins source and target, and there is no cycle on the way."""
        return self._levels is not None

    @cached_property
    def _groups(self) -> list[tuple[Array, Array, Array]]:
        """For each level, the last one first, its live edges by tail, the first edge of each tail, and the tails."""
        assert self._levels is not None
        live = np.flatnonzero(self.live)
        order = live[np.lexsort((self.tails[live], self._levels[self.tails[live]]))]
        at = self._levels[self.tails[order]]
        groups = []
        for edges in np.split(order, np.flatnonzero(np.diff(at)) + 1)[::-1]:
            tails = self.tails[edges]
            first = np.concatenate([[0], np.flatnonzero(np.diff(tails)) + 1])
            groups.append((edges, first, tails[first]))
        return groups

    def least(self, costs: Array) -> tuple[float, Array]:
        """The least cost of a path, and the least cost from each node to the target, infinite where there is none."""
        left = np.full(self.nodes, np.inf)
        left[self.target] = 0.0
        for edges, first, tails in self._groups:
            left[tails] = np.minimum.reduceat(costs[edges] + left[self.heads[edges]], first)
        return float(left[self.source]), left

    def cheapest(self, costs: Array) -> Array:
        """The indicator of a path of least cost; of equally good next edges the first is taken."""
        _, left = self.least(costs)
        start, order = self._outgoing
        path = np.zeros(len(self.tails))
        node = self.source
        while node != self.target:
            edges = order[start[node] : start[node + 1]]
            edge = edges[int(np.argmin(costs[edges] + left[self.heads[edges]]))]
            path[edge] = 1.0
            node = int(self.heads[edge])
        return path

    @cached_property
    def _outgoing(self) -> tuple[Array, Array]:
        """The live edges by tail, and where those of each node begin."""
        live = np.flatnonzero(self.live)
        order = live[np.argsort(self.tails[live], kind="stable")]
        return np.searchsorted(self.tails[order], np.arange(self.nodes + 1)), order

    @cached_property
    def bridges(self) -> Bools:
        """Which edges are on every path.

        In an order in which every edge leads forward all paths use an edge if and only if no other passes over the gap
        before its head: whatever lies on paths comes before its tail or after its head.
        """
        assert self._levels is not None
        live = np.flatnonzero(self.live)
        rank = np.empty(self.nodes, dtype=int)
        rank[np.argsort(self._levels, kind="stable")] = np.arange(self.nodes)
        tails, heads = rank[self.tails[live]], rank[self.heads[live]]
        over = np.cumsum(np.bincount(tails, minlength=self.nodes) - np.bincount(heads, minlength=self.nodes))
        bridges = np.zeros(len(self.tails), dtype=bool)
        bridges[live] = over[tails] == 1
        return bridges

    def strict_flow(self) -> Array:
        """A flow that is positive on every live edge: the mean of one path through each of them."""
        assert self._levels is not None
        live = np.flatnonzero(self.live)
        into, out = np.full(self.nodes, -1), np.full(self.nodes, -1)
        into[self.heads[live]], out[self.tails[live]] = live, live
        back = np.bincount(self.tails[live], minlength=self.nodes).astype(float)
        ahead = np.bincount(self.heads[live], minlength=self.nodes).astype(float)
        flow = np.where(self.live, 1.0, 0.0)
        nodes = np.flatnonzero(self._levels >= 0)
        nodes = nodes[np.argsort(self._levels[nodes], kind="stable")]
        layers = np.split(nodes, np.flatnonzero(np.diff(self._levels[nodes])) + 1)
        for layer in layers:
            self._pass_on(layer[layer != self.target], out, self.heads, ahead, flow)
        for layer in layers[::-1]:
            self._pass_on(layer[layer != self.source], into, self.tails, back, flow)
        return flow / len(live)

    @staticmethod
    def _pass_on(nodes: Array, by: Array, ends: Array, waiting: Array, flow: Array) -> None:
        """Send what waits at the nodes along one edge each."""
        edges = by[nodes]
        flow[edges] += waiting[nodes]
        np.add.at(waiting, ends[edges], waiting[nodes])


def _ends(flow: sparse.csc_array, demand: Array, shut: Bools) -> tuple[Array, Array, int, int] | None:
    """(tails, heads, source, target) from the rows of the nodes; edges that are shut may have lost theirs."""
    flow.eliminate_zeros()
    counts = np.diff(flow.indptr)
    if not np.isin(flow.data, (-1, 1)).all() or counts.max(initial=0) > 2 or not flow.shape[0]:
        return None
    missing, size = flow.shape[0], flow.shape[1]  # the number of the node that was left out
    ends = []
    for sign in (1, -1):
        mine = flow.data == sign
        column = np.repeat(np.arange(size), counts)[mine]
        if len(np.unique(column)) < len(column):
            return None
        nodes = np.full(size, missing)
        nodes[column] = flow.indices[mine]
        ends.append(nodes)
    if np.any((counts == 0) & ~shut):
        return None
    demand = np.append(demand, -demand.sum())
    at = [np.flatnonzero(demand == sign) for sign in (1, -1)]
    if not np.isin(demand, (-1, 0, 1)).all() or len(at[0]) != 1 or len(at[1]) != 1:
        return None
    tails, heads = ends[0].copy(), ends[1].copy()
    tails[shut] = heads[shut] = missing + 1  # a loop at a node of its own, which is on no way
    return tails, heads, int(at[0][0]), int(at[1][0])
