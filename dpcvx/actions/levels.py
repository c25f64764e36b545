"""The nodes of a directed acyclic graph in levels, so that what goes along all paths takes one step for each level."""

import itertools
from typing import NamedTuple

import numpy as np

from dpcvx.arrays import Array


class Level(NamedTuple):
    """Nodes that are equally far from the source by their longest paths: no edge joins two of them.

    Attributes:
        nodes, edges: where these nodes are, and the edges out of them, which are sorted by tails.
        first, tails: of those edges, where the ones of each node begin, and whose they are, both from 0.
        coming, turns: the edges into these nodes, sorted by heads, and where the ones of each node begin; none into the
            source.
    """

    nodes: slice
    edges: slice
    first: Array
    tails: Array
    coming: Array
    turns: Array


def leveled(tails: Array, heads: Array, nodes: int) -> list[Level]:
    """All nodes but the last one, the target, by levels, the source first.

    Args:
        tails, heads: of the edges, sorted by tails; nodes are numbered by levels, and each is on a path.
        nodes: how many there are.
    """
    incoming = [np.flatnonzero(heads == v) for v in range(nodes)]
    depth = np.zeros(nodes, dtype=int)
    for v in range(1, nodes):
        depth[v] = 1 + depth[tails[incoming[v]]].max()
    first = np.searchsorted(tails, np.arange(nodes + 1))
    found = []
    for begin, end in itertools.pairwise([*np.flatnonzero(np.diff(depth[:-1], prepend=-1)).tolist(), nodes - 1]):
        edges = slice(int(first[begin]), int(first[end]))
        turns = np.cumsum([0, *(len(one) for one in incoming[begin:end])])[:-1]
        coming = np.hstack(incoming[begin:end])
        found.append(
            Level(slice(begin, end), edges, first[begin:end] - first[begin], tails[edges] - begin, coming, turns)
        )
    return found


def on_paths(tails: Array, heads: Array, source: int, target: int) -> Array:
    """The nodes on paths from the source to the target, each before those that follow it."""
    nodes = 1 + int(max(tails.max(), heads.max()))
    down, up = np.arange(nodes) == source, np.arange(nodes) == target
    for _ in range(nodes):
        np.logical_or.at(down, heads, down[tails])
        np.logical_or.at(up, tails, up[heads])
    if not (down & up)[[source, target]].all():
        raise ValueError(f"No path joins the nodes {source} and {target}.")
    on = (down & up)[tails] & (down & up)[heads]
    depth = np.zeros(nodes, dtype=int)
    for _ in range(nodes):
        np.maximum.at(depth, heads[on], depth[tails[on]] + 1)
    if depth.max(initial=0) >= nodes:
        raise ValueError("The graph has a directed cycle on the way: a path could go on for ever.")
    kept = np.flatnonzero(down & up)
    return np.asarray(kept[np.argsort(depth[kept], kind="stable")])
