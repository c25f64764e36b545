"""One door for networks: files in three formats, networkx graphs, arrays."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from decision_sets.networks import gmns, graphs, tntp
from decision_sets.networks.network import Name, Network
from dpcvx.errors import ArgumentError


def read_network(net: Any, nodes: Any = None, trips: Any = None) -> Network:
    """The network in a file, with coordinates and demand where their files are given.

        network = read_network("SiouxFalls_net.tntp", "SiouxFalls_node.tntp", "SiouxFalls_trips.tntp")

    Args:
        net: a TNTP `_net.tntp` file; a GMNS `link.csv`, or a folder that holds it and perhaps `node.csv` and
            `demand.csv`; or a GraphML file.
        nodes: a TNTP `_node.tntp` file or a GMNS `node.csv`.
        trips: a TNTP `_trips.tntp` file or a GMNS `demand.csv`.

    Raises:
        FileNotFoundError: where there is no such file.
        ValueError: where a line cannot be read, in a sentence with the file and the number of the line.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     nx.write_graphml(roads, f"{folder}/roads.graphml")
        ...     network = decision_sets.read_network(f"{folder}/roads.graphml")
        >>> network.nodes
        ('a', 'b', 'c')
    """
    path = _existing(net)
    if path.is_dir():
        folder, path = path, path / "link.csv"
        if not path.exists():
            raise FileNotFoundError(
                f"There is no file {str(path)!r}: a folder is read as GMNS. Name the file of another format."
            )
        nodes = nodes or _if_there(folder / "node.csv")
        trips = trips or _if_there(folder / "demand.csv")
    kind = path.suffix.lower()
    if kind == ".csv":
        network = gmns.read_links(path)
    elif kind in (".graphml", ".xml"):
        network = graphs.read_graphml(path)
    elif kind in (".shp", ".gpkg", ".geojson", ".osm", ".pbf"):
        raise ArgumentError(
            f"{path.name} is no network that is read here; convert it to GraphML, with osmnx or geopandas."
        )
    else:
        network = tntp.read_net(path)
    if nodes is not None:
        network = _placed(network, _existing(nodes))
    if trips is not None:
        network = _travelled(network, _existing(trips), None if nodes is None else _existing(nodes))
    return network


def as_network(network: Any, *, known_times: bool = False) -> Network:
    """A network as it is, or from a networkx graph, a mapping with `tails` and `heads`, or the name of a file.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> decision_sets.as_network(roads).links
        (('a', 'b'), ('a', 'c'), ('b', 'a'), ('c', 'b'))
        >>> decision_sets.as_network({"tails": [0, 0, 1], "heads": [1, 2, 2], "times": [1.0, 3.0, 1.0]}).nodes
        (0, 1, 2)
    """
    if isinstance(network, Network):
        return network
    if isinstance(network, str | Path):
        return read_network(network)
    if isinstance(network, Mapping):
        return graphs.from_arrays(network)
    return graphs.from_graph(network, known_times=known_times)


def _existing(name: Any) -> Path:
    path = Path(name)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    return path


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None


def _placed(network: Network, path: Path) -> Network:
    """The network with coordinates; nodes that have none are noted, and then there is no map of it."""
    found: Mapping[Any, tuple[float, float]]
    found = gmns.read_nodes(path) if path.suffix.lower() == ".csv" else tntp.read_nodes(path)
    by_text = {str(name): place for name, place in found.items()}
    places = [by_text.get(str(name)) for name in network.nodes]
    missing = [name for name, place in zip(network.nodes, places, strict=True) if place is None]
    if missing:
        note = f"{path.name} has no coordinates of {len(missing)} nodes, such as {missing[0]!r}; none are used."
        return replace(network, notes=(*network.notes, note))
    return replace(network, positions=np.array(places, dtype=float))


def _travelled(network: Network, path: Path, nodes: Path | None) -> Network:
    """The network with its demand; what begins or ends at an unknown node is noted and left out."""
    found: Mapping[tuple[Any, Any], float]
    if path.suffix.lower() == ".csv":
        found = gmns.read_demand(path, {} if nodes is None else gmns.read_zones(nodes))
    else:
        found = tntp.read_trips(path)
    by_text = {str(name): name for name in network.nodes}
    known: dict[tuple[Name, Name], float] = {}
    unknown = 0
    for (origin, destination), amount in found.items():
        ends = by_text.get(str(origin)), by_text.get(str(destination))
        if ends[0] is None or ends[1] is None:
            unknown += 1
        else:
            known[ends[0], ends[1]] = amount
    note = f"{path.name} has {unknown} pairs with a node that the network lacks; they were left out."
    return replace(network, trips=known, notes=(*network.notes, *([note] * bool(unknown))))
