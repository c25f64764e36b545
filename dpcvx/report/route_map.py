"""Maps of road networks: every link a line, its width by what is on it."""

from typing import Any

import networkx as nx
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from decision_sets.networks import Network
from dpcvx.arrays import Array
from dpcvx.markup import Html
from dpcvx.report.figures import figure

_SIZE = (4.4, 4.0)
_ASIDE = 0.008  # of the size of the map, by which the two directions of a road are apart
_MARGIN = 0.06
_FLAT = 0.15  # of the size of the map, that it is high and wide to either side at least, were all nodes on one line
_LABELLED = 40  # nodes up to which each has its name
_CAREFUL = 300  # nodes up to which a layout is computed by all distances
_VECTORS = 3000  # links above which the background is a picture


def places(network: Network) -> Array:
    """Where the nodes are drawn: their coordinates, or a layout where there are none."""
    if network.positions is not None:
        return np.asarray(network.positions, dtype=float)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(network.nodes)))
    graph.add_edges_from(zip(network.tails.tolist(), network.heads.tolist(), strict=True))
    laid = nx.kamada_kawai_layout(graph) if len(graph) <= _CAREFUL else nx.spring_layout(graph, seed=1, iterations=40)
    return np.array([laid[k] for k in range(len(graph))])


def link_map(
    network: Network,
    at: Array,
    shares: Array,
    title: str,
    alternative: str,
    *,
    ends: tuple[int, ...] = (),
    around: Array | None = None,
    widest: float = 7.0,
) -> Html:
    """A map on which links are as wide as what they carry.

    Args:
        network: the network.
        at: where its nodes are; see `places`.
        shares: of each link, between 0 and 1; where it is 0 the link is a thin grey line.
        title: above it.
        alternative: what it shows, in words.
        ends: numbers of nodes that are marked: origin and destination.
        around: numbers of the links that must be in view; by default all.
        widest: points of width of a link with a share of 1.
    """
    drawn = Figure(figsize=_SIZE, layout="constrained")
    ax = drawn.add_subplot()
    tails, heads = np.asarray(network.tails), np.asarray(network.heads)
    used = np.flatnonzero(shares > 1e-3)
    seen = np.arange(len(at)) if around is None else np.unique([*tails[around], *heads[around], *ends])
    low, high = at[seen].min(axis=0), at[seen].max(axis=0)
    size = float(max(*(high - low), 1e-12))
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, _FLAT * size) + _MARGIN * size
    low, high = middle - half, middle + half
    inside = ((at >= low) & (at <= high)).all(axis=1)
    near = np.flatnonzero(inside[tails] | inside[heads])
    ax.add_collection(_lines(at, tails[near], heads[near], 0.0, "C7", 0.6, rasterized=len(near) > _VECTORS))
    ax.add_collection(_lines(at, tails[used], heads[used], _ASIDE * size, "C0", 0.8 + widest * shares[used]))
    _name_nodes(ax, network, at, inside, ends)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    drawn.suptitle(title)  # above the whole figure: a long name of an end moves the axes aside
    ax.set_aspect("equal")
    ax.set_axis_off()
    return figure(drawn, alternative=alternative)


def _lines(
    at: Array, tails: Array, heads: Array, aside: float, colour: str, widths: Any, *, rasterized: bool = False
) -> LineCollection:
    """Segments, moved to the right of their direction."""
    along = at[heads] - at[tails]
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    right = np.column_stack([along[:, 1], -along[:, 0]]) / length * aside
    segments = np.stack([at[tails] + right, at[heads] + right], axis=1)
    return LineCollection(list(segments), colors=colour, linewidths=widths, capstyle="round", rasterized=rasterized)


def _name_nodes(ax: Any, network: Network, at: Array, inside: Array, ends: tuple[int, ...]) -> None:
    shown = np.flatnonzero(inside)
    if len(shown) <= _LABELLED:
        for k in shown:
            if k not in ends:
                ax.annotate(str(network.nodes[k]), at[k], (3, 3), textcoords="offset points", fontsize=7)
    for number, end in enumerate(ends):
        ax.plot(*at[end], marker="os"[number % 2], markersize=9, color="C3", linestyle="none", zorder=3)
        words = f"{('from', 'to')[number % 2]} {network.nodes[end]}"
        ax.annotate(words, at[end], (6, 6), textcoords="offset points", fontsize=9, fontweight="bold")
