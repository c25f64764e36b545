"""Which pairs of nodes are asked for: all with demand, or those that a file lists."""

import re
from pathlib import Path
from typing import Any

from decision_sets.networks import Network
from decision_sets.networks.text_file import text_of
from decision_sets.networks.tntp import read_trips
from dpcvx.errors import ArgumentError

Pair = tuple[Any, Any]
_HEADER = re.compile(r"(o|from|origin|orig|start|source)([ _-]?(node|zone))?([ _-]?(id|name))?")


def wanted_pairs(given: str, network: Network) -> tuple[Pair, ...]:
    """The pairs, by names of nodes, each once.

    Args:
        given: "all", for every pair with demand; a TNTP file of trips; or a file with an origin and a destination a
            line, in quotes or not, separated by commas, semicolons, tabs or blanks. Blank lines, lines that start with
            # and a first line that names the columns are skipped.
        network: their network.

    Raises:
        ValueError: where a line cannot be read or names an unknown node, with its number; and where there is no pair.
        FileNotFoundError: where there is no such file.
    """
    if given == "all":
        if not network.trips:
            raise ArgumentError("--pairs all takes the pairs with demand, and there is none; give --trips, or a file.")
        found = [pair for pair, amount in network.trips.items() if amount > 0 and pair[0] != pair[1]]
    else:
        path = Path(given)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {str(path)!r} of pairs.")
        if path.suffix.lower() == ".tntp":
            found = [pair for pair, amount in read_trips(path).items() if amount > 0 and pair[0] != pair[1]]
            found = [(_named(ends[0], network, "origin"), _named(ends[1], network, "destination")) for ends in found]
        else:
            found = _lines(path, network)
    if not found:
        raise ArgumentError(f"{given} holds no pair of nodes.")
    return tuple(dict.fromkeys(found))


def _named(node: Any, network: Network, what: str) -> Any:
    return network.nodes[network.number_of(node, what)]


def _lines(path: Path, network: Network) -> list[Pair]:
    found: list[Pair] = []
    first = True
    for number, text in enumerate(text_of(path).splitlines(), 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        fields = [field.strip("\"'") for field in re.split(r"\s*[,;\t]\s*|\s+", text.strip()) if field]
        header, first = first and _HEADER.fullmatch(fields[0].lower()) is not None, False
        if header and fields[0] not in network.numbers:
            continue
        if len(fields) < 2:
            raise ArgumentError(f"{path.name}, line {number}: an origin and a destination are needed, not {text!r}.")
        try:
            origin = _named(fields[0], network, "origin")
            destination = _named(fields[1], network, "destination")
        except ValueError as error:
            raise ArgumentError(f"{path.name}, line {number}: {error}") from error
        if origin == destination:
            raise ArgumentError(f"{path.name}, line {number}: origin and destination are both {fields[0]}.")
        found.append((origin, destination))
    return found
