"""A road network: nodes, directed links between them, and what is publicly known of both."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arrays import Array, reals
from dpcvx.errors import ArgumentError

Name = Hashable  # of a node or a link
_MOST = 1e300  # that a link may take: sums over routes and slower days of larger numbers overflow


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes and directed links, as `read_network` and `as_network` make them.

    Attributes:
        nodes: names of the nodes.
        tails, heads: numbers of the nodes at the ends of each link.
        links: names of the links: (u, v), or (u, v, key) where several join the same nodes.
        times: time of each link when the roads are empty.
        capacity, b, power: of the time t (1 + b (flow/capacity)^power) of a link under traffic; None where unknown.
        positions: coordinates of the nodes, (nodes, 2); None where unknown.
        closed: which nodes may be the ends of a route, and not be passed through; by default none.
        trips: demand by (origin, destination); None where unknown.
        notes: sentences on what was dropped or assumed.

    Raises:
        ValueError: where a number is missing, negative or NaN, in a sentence that names the link.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> network = decision_sets.as_network(roads)
        >>> network.nodes, len(network.links), network.times.tolist()
        (('a', 'b', 'c'), 4, [2.0, 1.0, 2.0, 3.0])
    """

    nodes: tuple[Name, ...]
    tails: Array
    heads: Array
    links: tuple[Name, ...]
    times: Array
    capacity: Array | None = None
    b: Array | None = None
    power: Array | None = None
    positions: Array | None = None
    closed: Array = field(default_factory=lambda: np.zeros(0, dtype=bool))
    trips: Mapping[tuple[Name, Name], float] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.nodes or not self.links:
            raise ArgumentError(f"The network is empty: it has {len(self.nodes)} nodes and {len(self.links)} links.")
        if len(self.closed) != len(self.nodes):
            if len(self.closed):
                raise ArgumentError(f"closed must have an entry for each of the {len(self.nodes)} nodes.")
            object.__setattr__(self, "closed", np.zeros(len(self.nodes), dtype=bool))
        for name in ("times", "capacity", "b", "power"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, link_numbers(getattr(self, name), self, name))

    @cached_property
    def numbers(self) -> dict[Name, int]:
        """The number of each node by its name."""
        return {name: i for i, name in enumerate(self.nodes)}

    @cached_property
    def link_numbers(self) -> dict[Name, int]:
        """The number of each link by its name."""
        return {name: i for i, name in enumerate(self.links)}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {str(name): i for i, name in enumerate(self.nodes)}

    def number_of(self, node: Any, what: str = "node") -> int:
        """The number of a node, by its name or by its name as a text: 1 and "1" are the same where only one is there.

        Raises:
            ValueError: where there is none; `what` is how the sentence calls it.
        """
        try:
            found = self.numbers.get(node)
        except TypeError:  # what cannot be hashed is no name
            found = None
        if found is None:
            found = self._by_text.get(str(node))
        if found is None:
            raise ArgumentError(
                f"{what} must be a node, but {node!r} is not one of the {len(self.nodes)} of the network."
            )
        return found

    def __repr__(self) -> str:
        return f"Network({len(self.nodes)} nodes, {len(self.links)} links)"


def link_numbers(given: Any, network: Network, name: str) -> Array:
    """One number of at least 0 for each link: from an array, a number for all, or a dict by links.

    A link of a dict may be named (u, v) where only one joins the two, or (u, v, key).

    Raises:
        ValueError: where one is missing, negative or NaN, in a sentence that names the link.
    """
    links = network.links
    if isinstance(given, Mapping):
        values = np.array([_looked_up(given, link, name) for link in links])
    else:
        values = reals(given, name)
    if values.ndim == 0:
        values = np.full(len(links), float(values))
    if values.shape != (len(links),):
        raise ArgumentError(f"{name} must hold a number for each of the {len(links)} links, not shape {values.shape}.")
    most = np.inf if name == "capacity" else _MOST
    bad = np.flatnonzero(~((values >= 0) & (values <= most)))
    if len(bad):
        i = int(bad[0])
        above = f" and at most {most:g}" if values[i] > most else ""
        raise ArgumentError(f"{name} must be a number of at least 0{above}, but the link {links[i]!r} has {values[i]}.")
    return np.array(values, dtype=float)


def _looked_up(given: Mapping[Any, Any], link: Any, name: str) -> float:
    value = given.get(link)
    if value is None and isinstance(link, tuple):
        value = given.get((*link, 0)) if len(link) == 2 else given.get(link[:2])
    if value is None:
        raise ArgumentError(f"{name} must hold a number for each link, but {link!r} has none.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must hold numbers, but the link {link!r} has {value!r}.") from None


def link_names(tails: Any, heads: Any, keys: Any = None) -> tuple[Name, ...]:
    """Names of links by the names of their ends: (u, v), or (u, v, key) where several join the same nodes.

    Without keys these are counted from 0.
    """
    pairs = list(zip(tails, heads, strict=True))
    counts: dict[Any, int] = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    seen: dict[Any, int] = {}
    names: list[Name] = []
    for i, pair in enumerate(pairs):
        if counts[pair] == 1:
            names.append(pair)
            continue
        seen[pair] = seen.get(pair, -1) + 1
        names.append((*pair, seen[pair] if keys is None else keys[i]))
    return tuple(names)
