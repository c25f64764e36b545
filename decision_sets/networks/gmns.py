"""Networks in the General Modeling Network Specification: `link.csv`, `node.csv`, and a table of demand.

A link with `directed` false, or `dir_flag` 0, is a road in both directions. Its time is a column of its own where there
is one, otherwise its length by its speed, which is the median of all speeds where it is left out; where no link has a
speed, lengths stand for times.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from decision_sets.networks.network import Name, Network, link_names
from decision_sets.networks.text_file import text_of
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_TIMES = ("vdf_fftt1", "vdf_fftt", "vdf_free_flow_time", "free_flow_time", "fftt", "travel_time")
_SPEEDS = ("free_speed", "vdf_free_speed1", "free_speed_limit")
_B, _POWER = ("vdf_alpha1", "vdf_alpha", "b"), ("vdf_beta1", "vdf_beta", "power")
_FALSE, _TRUE = ("0", "0.0", "false", "f", "no"), ("1", "1.0", "true", "t", "yes", "")


class Row(NamedTuple):
    """One row of a table, by the names of the columns in small letters."""

    path: Path
    number: int
    fields: dict[str, str]

    def fault(self, words: str) -> ArgumentError:
        return ArgumentError(f"{self.path.name}, line {self.number}: {words}")

    def text(self, name: str) -> str:
        """A field that must be there."""
        value = self.fields.get(name, "")
        if not value:
            raise self.fault(f"{name} is missing.")
        return value

    def number_in(self, names: tuple[str, ...], at_least: float = 0.0) -> float | None:
        """The number in the first of the columns that has one; None where none has."""
        for name in names:
            text = self.fields.get(name, "")
            if text:
                return self._number(name, text, at_least)
        return None

    def _number(self, name: str, text: str, at_least: float) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value) or value < at_least:
            more = f" of at least {at_least:g}" if np.isfinite(at_least) else ""
            raise self.fault(f"{name} must be a finite number{more}, not {text!r}.")
        return value


def read_links(path: Path) -> Network:
    """The nodes and links of a `link.csv` file."""
    names: list[tuple[Name, Name, Name]] = []
    rows: list[tuple[float | None, ...]] = []
    lengths: list[Length] = []
    loops = 0
    for row in _rows(path, ("from_node_id", "to_node_id")):
        tail, head, key = row.text("from_node_id"), row.text("to_node_id"), row.fields.get("link_id", "")
        time, length = row.number_in(_TIMES), _length(row)
        if time is None and length.length is None:
            raise row.fault("a link needs free_flow_time, or length and free_speed.")
        capacity, lanes = row.number_in(("capacity",)), row.number_in(("lanes",))
        if capacity is not None and lanes:
            capacity *= lanes
        numbers = (time, capacity, row.number_in(_B), row.number_in(_POWER))
        if tail == head:
            loops += 1
            continue
        for ends in _directions(row, tail, head):
            names.append((*ends, key))
            rows.append(numbers)
            lengths.append(length)
    if not rows:
        raise ArgumentError(f"{path.name} has no links.")
    nodes = tuple(dict.fromkeys(node for name in names for node in name[:2]))
    number = {name: i for i, name in enumerate(nodes)}
    notes = [f"{loops} links from a node to itself were dropped."] * bool(loops)
    columns = [_column([row[k] for row in rows]) for k in range(4)]
    times, said = (columns[0], "") if columns[0] is not None else _times([row[0] for row in rows], lengths)
    notes += [said] * bool(said)
    without = sum(row[1] is None for row in rows)
    if 0 < without < len(rows):
        notes.append(f"{path.name} has no capacity of {without} of {len(rows)} links; none is used.")
    tails, heads = [name[0] for name in names], [name[1] for name in names]
    return Network(
        nodes=nodes,
        tails=np.array([number[node] for node in tails], dtype=np.int64),
        heads=np.array([number[node] for node in heads], dtype=np.int64),
        links=link_names(tails, heads, [name[2] for name in names] if all(name[2] for name in names) else None),
        times=times,
        capacity=columns[1],
        b=columns[2],
        power=columns[3],
        notes=tuple(notes),
    )


def read_nodes(path: Path) -> dict[Name, tuple[float, float]]:
    """Coordinates of the nodes of a `node.csv` file."""
    anywhere = -np.inf
    found: dict[Name, tuple[float, float]] = {}
    for row in _rows(path, ("node_id", "x_coord", "y_coord")):
        x, y = row.number_in(("x_coord",), anywhere), row.number_in(("y_coord",), anywhere)
        if x is None or y is None:
            raise row.fault("x_coord or y_coord is missing.")
        found[row.text("node_id")] = (x, y)
    return found


def read_zones(path: Path) -> dict[str, str]:
    """The first node of each zone of a `node.csv` file that has zones."""
    found: dict[str, str] = {}
    for row in _rows(path, ("node_id",)):
        zone = row.fields.get("zone_id", "")
        if zone:
            found.setdefault(zone, row.text("node_id"))
    return found


def read_demand(path: Path, zones: dict[str, str]) -> dict[tuple[Name, Name], float]:
    """Demand of a `demand.csv` file by (origin, destination); zones stand for their first nodes."""
    found: dict[tuple[Name, Name], float] = {}
    for row in _rows(path, ("o_zone_id", "d_zone_id", "volume")):
        ends = [row.text(name) for name in ("o_zone_id", "d_zone_id")]
        origin, destination = (zones.get(end, end) for end in ends)
        volume = row.number_in(("volume",))
        if volume and origin != destination:
            found[origin, destination] = found.get((origin, destination), 0.0) + volume
    return found


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[Row]:
    with io.StringIO(text_of(path), newline="") as file:
        reader = csv.reader(file, strict=True)  # otherwise a quote that is left open takes in all lines after it
        lines = _numbered(path, reader)
        header = [name.strip().lower() for name in next(lines, (0, []))[1]]
        missing = [name for name in needed if name not in header]
        if not header:
            raise ArgumentError(f"{path.name} is empty.")
        if missing:
            raise ArgumentError(
                f"{path.name}, line 1: the column {missing[0]} is missing; there are {', '.join(header)}."
            )
        for number, fields in lines:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) > len(header):
                raise ArgumentError(
                    f"{path.name}, line {number}: {len(header)} fields were expected, {len(fields)} came."
                )
            values = dict(zip(header, (field.strip() for field in fields), strict=False))
            yield Row(path, number, values)


def _numbered(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, each with the number of the line at which it begins."""
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ArgumentError(
                f"{path.name}, line {number}: the row is no CSV, perhaps by a quote: {error}."
            ) from error
        yield number, fields


class Length(NamedTuple):
    """How long a link is and how fast one drives there, where these are known, and the row that says so."""

    length: float | None
    speed: float | None
    row: Row


def _length(row: Row) -> Length:
    length, speed = row.number_in(("length", "vdf_length_mi", "vdf_length_km")), row.number_in(_SPEEDS)
    if speed == 0:
        raise row.fault("free_speed must be above 0, not 0.")
    return Length(length, speed, row)


def _times(known: list[float | None], links: list[Length]) -> tuple[Array, str]:
    """The times of links of which some or all have none, and a sentence on where they come from."""
    name, total = links[0].row.path.name, len(links)
    if any(time is not None for time in known):
        lacking = links[known.index(None)].row
        raise lacking.fault("the time is missing, which other links have; give all of them, or none.")
    lengths = np.array([link.length for link in links], dtype=float)
    speeds = [link.speed for link in links if link.speed is not None]
    if not speeds:
        return lengths, f"{name} has neither times nor speeds; lengths stand for times."
    usual, lacking_speed = float(np.median(speeds)), total - len(speeds)
    times = lengths / np.array([usual if link.speed is None else link.speed for link in links])
    said = f"{name} has no times; they are length/free_speed in the units of these columns"
    if lacking_speed:
        said += f", and for {lacking_speed} of {total} links without free_speed the median of the others, {usual:g}"
    return times, f"{said}."


def _directions(row: Row, tail: str, head: str) -> list[tuple[str, str]]:
    flag, directed = row.fields.get("dir_flag", "").removesuffix(".0"), row.fields.get("directed", "").lower()
    if flag not in ("", "1", "-1", "0"):
        raise row.fault(f"dir_flag must be 1, -1 or 0, not {flag!r}.")
    if directed not in (*_FALSE, *_TRUE):
        raise row.fault(f"directed must be true or false, not {directed!r}.")
    if flag == "0" or (not flag and directed in _FALSE):
        return [(tail, head), (head, tail)]
    return [(head, tail)] if flag == "-1" else [(tail, head)]


def _column(values: list[Any]) -> Array | None:
    return None if any(value is None for value in values) else np.array(values, dtype=float)
