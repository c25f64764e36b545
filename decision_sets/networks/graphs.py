"""Networks from networkx graphs, and from arrays of the ends of links."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx
import numpy as np

from decision_sets.networks.excluded import RoutesWarning
from decision_sets.networks.network import Network, link_names
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_TIMES = ("travel_time", "free_flow_time", "time", "weight", "length")
_KNOWN = (*_TIMES, "capacity", "b", "power", "osmid", "id", "key", "lanes")  # numbers that are no unnamed time
_COORDINATES = (("x", "y"), ("lon", "lat"), ("x_coord", "y_coord"))
_FIELDS = ("times", "capacity", "b", "power", "positions", "closed", "trips")


def from_graph(graph: Any, *, known_times: bool = False) -> Network:
    """A directed networkx graph, with the names of its nodes and the keys of its edges.

    The time of a link is its attribute travel_time, free_flow_time, time, weight or length, the first that all have.

    Args:
        graph: a DiGraph or MultiDiGraph.
        known_times: whether other times will be given: then nothing is said where the graph has none.
    """
    if not isinstance(graph, nx.Graph):
        raise ArgumentError(
            f"network must be a Network, a networkx graph, arrays or a file, not {type(graph).__name__}."
        )
    if not graph.is_directed():
        raise ArgumentError(
            "The graph is undirected; a route needs directed links. graph.to_directed() makes every road two-way."
        )
    edges = list(graph.edges(keys=True, data=True)) if graph.is_multigraph() else list(graph.edges(data=True))
    loops = sum(edge[0] == edge[1] for edge in edges)
    kept = [edge for edge in edges if edge[0] != edge[1]]
    nodes = tuple(graph.nodes)
    if not nodes or not kept:
        raise ArgumentError(f"The network is empty: it has {len(nodes)} nodes and {len(kept)} links.")
    number = {name: i for i, name in enumerate(nodes)}
    tails, heads, data = [edge[0] for edge in kept], [edge[1] for edge in kept], [edge[-1] for edge in kept]
    notes = [f"{loops} links from a node to itself were dropped."] * bool(loops)
    names = link_names(tails, heads, [edge[2] for edge in kept] if graph.is_multigraph() else None)
    times = None
    for name in _TIMES:
        times = _attribute(data, names, name)
        if times is not None:
            if name == "length":
                notes.append("Links have lengths and no times; their lengths stand for their times.")
            break
        lacking = [i for i, each in enumerate(data) if name not in each]
        if len(lacking) < len(kept):
            notes.append(
                f"{len(lacking)} of {len(kept)} links have no {name}, such as {names[lacking[0]]!r}; it is not used."
            )
    if times is None:
        times = np.ones(len(kept))
        if not known_times:
            notes.append(_without_times(data))
    return Network(
        nodes=nodes,
        tails=np.array([number[node] for node in tails], dtype=np.int64),
        heads=np.array([number[node] for node in heads], dtype=np.int64),
        links=names,
        times=times,
        capacity=_attribute(data, names, "capacity"),
        b=_attribute(data, names, "b"),
        power=_attribute(data, names, "power"),
        positions=_positions(graph),
        closed=np.array([_is_true(graph.nodes[node].get("closed", False)) for node in nodes]),
        notes=tuple(notes),
    )


def _without_times(data: list[Mapping[str, Any]]) -> str:
    """That each link counts as 1; with a warning where links have numbers of which one may be meant as the time."""
    others = [
        name for name in data[0] if name not in _KNOWN and all(isinstance(link.get(name), int | float) for link in data)
    ]
    if others:
        warnings.warn(
            f"Links have no times, so each counts as 1: of their numbers {', '.join(map(repr, others))} none is called "
            f"{', '.join(_TIMES[:-1])} or {_TIMES[-1]}. Rename the one that is meant.",
            RoutesWarning,
            stacklevel=2,
        )
    return "Links have no times; each counts as 1."


def from_arrays(arrays: Mapping[str, Any]) -> Network:
    """Links by `tails` and `heads`, the names or numbers of their ends, and any other field of a `Network`."""
    unknown = sorted(set(arrays) - {"tails", "heads", "keys", *_FIELDS})
    if unknown or "tails" not in arrays or "heads" not in arrays:
        raise ArgumentError(
            f"A network of arrays has tails, heads and perhaps keys, {', '.join(_FIELDS)}; {sorted(arrays)} came."
        )
    tails, heads = (np.asarray(arrays[name]).tolist() for name in ("tails", "heads"))
    if not isinstance(tails, list) or not isinstance(heads, list) or len(tails) != len(heads):
        raise ArgumentError("tails and heads must be vectors of one length, with an entry for each link.")
    kept = [i for i, (tail, head) in enumerate(zip(tails, heads, strict=True)) if tail != head]
    dropped = len(tails) - len(kept)
    nodes = tuple(sorted({*tails, *heads}, key=lambda name: (str(type(name)), name)))
    number = {name: i for i, name in enumerate(nodes)}
    given = {name: value for name, value in arrays.items() if name in _FIELDS and value is not None}
    for name in ("times", "capacity", "b", "power"):
        if dropped and name in given and np.ndim(given[name]) == 1:
            given[name] = np.asarray(given[name])[kept]
    if "positions" in given:
        given["positions"] = np.asarray(given["positions"], dtype=float)
        if given["positions"].shape != (len(nodes), 2):
            raise ArgumentError(f"positions must have shape ({len(nodes)}, 2), one row for each node in order.")
    if "closed" in given:
        given["closed"] = np.asarray(given["closed"], dtype=bool)
    keys = arrays.get("keys")
    ends = [tails[i] for i in kept], [heads[i] for i in kept]
    notes = [f"{dropped} links from a node to itself were dropped."] * bool(dropped)
    if "times" not in given:
        given["times"] = np.ones(len(kept))
        notes.append("Links have no times; each counts as 1.")
    return Network(
        nodes=nodes,
        tails=np.array([number[name] for name in ends[0]], dtype=np.int64),
        heads=np.array([number[name] for name in ends[1]], dtype=np.int64),
        links=link_names(*ends, None if keys is None else [keys[i] for i in kept]),
        notes=tuple(notes),
        **given,
    )


def read_graphml(path: Path) -> Network:
    """A GraphML file, such as osmnx writes: texts in it that are numbers are read as numbers."""
    try:
        graph = nx.read_graphml(path)
    except ParseError as error:
        line, column = error.position
        raise ArgumentError(f"{path.name}, line {line}: the XML is malformed at column {column + 1}.") from error
    except (nx.NetworkXError, KeyError, ValueError) as error:
        raise ArgumentError(f"{path.name} is no GraphML that networkx can read: {error}") from error
    if all(isinstance(node, str) and _is_a_number(node) for node in graph.nodes):
        graph = nx.relabel_nodes(graph, {node: int(node) for node in graph.nodes})
    return from_graph(graph)


def _is_a_number(name: str) -> bool:
    """Whether the name of a node is a whole number as it is written, without zeros in front."""
    return name.removeprefix("-").isdecimal() and str(int(name)) == name


def _is_true(value: Any) -> bool:
    """Whether an attribute is true: of one that was written as a text, the text "False" is not."""
    return value.strip().lower() not in ("", "0", "false", "no") if isinstance(value, str) else bool(value)


def _attribute(data: list[dict[str, Any]], names: Any, name: str) -> Array | None:
    """An attribute of all links as numbers; None where one of them lacks it."""
    if not all(name in each for each in data):
        return None
    values = np.empty(len(data))
    for i, each in enumerate(data):
        try:
            values[i] = float(each[name])
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} must be a number, but the link {names[i]!r} has {each[name]!r}.") from None
    return values


def _positions(graph: Any) -> Array | None:
    for across, up in _COORDINATES:
        if all(across in data and up in data for _, data in graph.nodes(data=True)):
            try:
                return np.array([(float(data[across]), float(data[up])) for _, data in graph.nodes(data=True)])
            except (TypeError, ValueError):
                return None
    return None
