"""Fastest routes for many origins at once, with what real networks have: parallel links, empty links, closed zones.

A node that may not be passed through is two nodes here: one where its links end, and one where they begin. Of parallel
links the fastest counts, and a link of no time gets one that is too short to matter, because a sparse graph has no
entry of 0.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from decision_sets.networks import Network
from dpcvx.arrays import Array

_NOTHING = 1e-9  # the time of a link that takes none, relative to the mean
_ENTRIES = 2**21  # of one table of (origins, nodes)


class Roads:
    """The links of a network as a graph on which trips are loaded.

    Args:
        network: the network.
    """

    def __init__(self, network: Network) -> None:
        n = len(network.nodes)
        closed = np.flatnonzero(network.closed)
        self._begins = np.arange(n)  # the node from which the links of a node start
        self._begins[closed] = n + np.arange(len(closed))
        self._size = n + len(closed)
        tails = self._begins[np.asarray(network.tails)]
        key = tails * self._size + np.asarray(network.heads)
        self._order = np.argsort(key, kind="stable")
        self._keys, self._first = np.unique(key[self._order], return_index=True)
        self._several = len(self._keys) < len(key)
        self._group = np.repeat(np.arange(len(self._keys)), np.diff([*self._first, len(key)]))
        rows = self._keys // self._size
        self._pointers = np.searchsorted(rows, np.arange(self._size + 1))
        self._columns = self._keys % self._size
        self.links = len(key)

    def fastest(self, times: Array, origins: Array) -> tuple[Array, Array, Array]:
        """The tree of fastest routes from each origin.

        Args:
            times: of all links.
            origins: numbers of nodes.

        Returns:
            (origins, nodes) times, infinite where there is no route; (origins, nodes) the node before, negative where
            there is none; and the link that stands for each pair of nodes that some link joins.
        """
        cost = np.maximum(times, _NOTHING * max(float(times.mean()), 1e-300))[self._order]
        chosen = self._order[self._first]
        if self._several:
            ranked = np.lexsort((cost, self._group))
            chosen = self._order[ranked[self._first]]
            cost = cost[ranked[self._first]]
        graph = csr_array((cost, self._columns, self._pointers), shape=(self._size, self._size))
        found, before = dijkstra(graph, indices=self._begins[origins], return_predecessors=True)
        return found, before, chosen

    def load(self, times: Array, origins: Array, demand: Array) -> tuple[Array, float]:
        """All trips on the fastest routes.

        Args:
            times: of all links.
            origins: numbers of nodes.
            demand: (origins, nodes) trips from each origin to each node; where there is no route they are left out.

        Returns:
            trips on each link, and the time of all trips together.
        """
        volumes, total = np.zeros(self.links), 0.0
        step = max(1, _ENTRIES // self._size)
        for start in range(0, len(origins), step):
            part = slice(start, start + step)
            volume, spent = self._loaded(times, origins[part], demand[part])
            volumes += volume
            total += spent
        return volumes, total

    def _loaded(self, times: Array, origins: Array, demand: Array) -> tuple[Array, float]:
        _, before, chosen = self.fastest(times, origins)
        count, nodes = demand.shape
        carried = np.zeros((count, self._size))
        carried[:, :nodes] = demand
        roots = before < 0
        carried[roots] = 0.0  # also what cannot be reached
        carried[np.arange(count), origins] = 0.0  # who is there already
        flat, place = carried.ravel(), np.arange(count)[:, None] * self._size
        parent = np.where(roots, place + np.arange(self._size), place + before).ravel()
        depth, jump = (~roots).astype(np.int64).ravel(), parent.copy()
        while True:  # how many links lead to a node: twice as far with each step
            further = depth + depth[jump]
            if np.array_equal(further, depth):
                break
            depth, jump = further, jump[jump]
        for level in range(int(depth.max()), 1, -1):
            here = np.flatnonzero((depth == level) & (flat > 0))
            np.add.at(flat, parent[here], flat[here])
        used = np.flatnonzero((depth > 0) & (flat > 0))
        pair = (parent[used] % self._size) * self._size + used % self._size
        volumes = np.zeros(self.links)
        np.add.at(volumes, chosen[np.searchsorted(self._keys, pair)], flat[used])
        return volumes, float(volumes @ times)
