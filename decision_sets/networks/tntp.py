"""Networks, trips and coordinates in the text format of the Transportation Networks for Research repository.

A file begins with tags such as `<FIRST THRU NODE> 39`, up to `<END OF METADATA>`; what follows a `~` is a comment, the
last of which before the links may name the columns; a line may end with a semicolon.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decision_sets.networks.network import Network, link_names
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_COLUMNS = ("init", "term", "capacity", "length", "time", "b", "power")  # where the header says nothing
_CALLED = {
    "init": {"init_node", "init", "from", "from_node", "tail", "a_node", "anode", "i_node"},
    "term": {"term_node", "term", "to", "to_node", "head", "b_node", "bnode", "j_node"},
    "capacity": {"capacity", "cap"},
    "length": {"length", "link_length"},
    "time": {
        "free_flow_time",
        "fftt",
        "fft",
        "ftime",
        "free_flow_travel_time",
        "fftime",
        "freeflowtime",
        "freeflow_time",
        "time",
    },
    "b": {"b", "alpha", "b_coefficient"},
    "power": {"power", "beta", "exponent"},
}
_TURNED = (["y", "x"], ["lat", "lon"], ["lat", "long"], ["latitude", "longitude"])  # columns with the second one first
_SPELT = re.compile(  # names in several words, which blanks part from each other too
    r"\b((init|term|from|to|a|b|i|j)[ -]node|free[ -]?flow([ -]travel)?[ -]time|link[ -](length|type)|speed[ -]limit)\b"
)


class Line(NamedTuple):
    """A text and the number of its line in the file."""

    number: int
    text: str


class Contents(NamedTuple):
    """A file taken apart: its tags, its comments and its lines."""

    path: Path
    tags: dict[str, Line]
    comments: list[str]
    lines: list[Line]

    def fault(self, line: int, words: str) -> ArgumentError:
        return ArgumentError(f"{self.path.name}, line {line}: {words}")

    def whole(self, tag: str) -> int | None:
        """The whole number after a tag."""
        line = self.tags.get(tag)
        if line is None:
            return None
        number = re.fullmatch(r"(\d+)(\.0*)?", line.text.partition("~")[0].rstrip(" \t;"))
        if number is None:
            raise self.fault(line.number, f"<{tag}> must be followed by a whole number, not {line.text!r}.")
        return int(number[1])


def read_net(path: Path) -> Network:
    """The nodes and links of a `_net.tntp` file."""
    contents = _opened(path)
    columns = _columns(contents.comments, len(contents.lines[0].text.split()) if contents.lines else 0)
    place = {name: columns.index(name) for name in _COLUMNS if name in columns}
    needed = max(place[name] for name in ("init", "term", "time"))
    usual = Counter(len(line.text.split()) for line in contents.lines).most_common(1)
    ends, rows = [], []
    for line in contents.lines:
        text, _, more = line.text.partition(";")
        if more:
            raise contents.fault(line.number, f"a line holds one link, but after its semicolon came {more.strip()!r}.")
        fields = text.split()
        if len(fields) <= needed:
            hint = (
                " It looks like a trips file, which belongs to trips= or --trips."
                if fields[0].lower() == "origin"
                else ""
            )
            said = f"a link has at least {needed + 1} columns, but {len(fields)} came.{hint}"
            raise contents.fault(line.number, said)
        if len(fields) != usual[0][0]:  # one that is left out, or is too many, moves the others
            said = f"most links have {usual[0][0]} columns, but {len(fields)} came."
            raise contents.fault(line.number, said)
        tail, head = (_node(contents, line, fields[place[name]]) for name in ("init", "term"))
        numbers = [
            _number(contents, line, fields[place[name]], name) if name in place and place[name] < len(fields) else None
            for name in ("capacity", "time", "b", "power", "length")  # a length is read and not used
        ]
        ends.append((tail, head))
        rows.append(numbers)
    if not rows:
        raise ArgumentError(f"{path.name} has no links.")
    notes = []
    declared = contents.whole("NUMBER OF LINKS")
    if declared is not None and declared != len(rows):
        notes.append(f"{path.name} announces {declared} links and has {len(rows)}.")
    loops = [i for i, (tail, head) in enumerate(ends) if tail == head]
    if loops:
        notes.append(
            f"{len(loops)} links from a node to itself were dropped; the first is at node {ends[loops[0]][0]}."
        )
    kept = [i for i, (tail, head) in enumerate(ends) if tail != head]
    zones = contents.whole("NUMBER OF ZONES") or 0
    named = {node for i in kept for node in ends[i]}
    most = max(contents.whole("NUMBER OF NODES") or 0, *named, 0)
    if zones > most:
        announced = contents.tags["NUMBER OF ZONES"].number
        raise contents.fault(announced, f"{zones} zones are announced, but no more than {most} nodes.")
    nodes = sorted(named | set(range(1, zones + 1)))
    number = {name: i for i, name in enumerate(nodes)}
    open_from = contents.whole("FIRST THRU NODE") or 0
    tails, heads = [ends[i][0] for i in kept], [ends[i][1] for i in kept]
    capacity, times, b, power = (_column([rows[i][k] for i in kept]) for k in range(4))
    return Network(
        nodes=tuple(nodes),
        tails=np.array([number[node] for node in tails], dtype=np.int64),
        heads=np.array([number[node] for node in heads], dtype=np.int64),
        links=link_names(tails, heads),
        times=times if times is not None else np.zeros(0),
        capacity=capacity,
        b=b,
        power=power,
        closed=np.array([node < open_from for node in nodes]),
        notes=tuple(notes),
    )


def read_nodes(path: Path) -> dict[int, tuple[float, float]]:
    """Coordinates of the nodes of a `_node.tntp` file."""
    contents = _opened(path)
    found: dict[int, tuple[float, float]] = {}
    turned = False
    for position, line in enumerate(contents.lines):
        fields = line.text.replace(",", " ").split()
        if position == 0 and not re.fullmatch(r"\d+", fields[0]):  # names of the columns
            turned = [name.lower() for name in fields[1:3]] in _TURNED
            continue
        if len(fields) < 3:
            raise contents.fault(
                line.number, f"a node has a number and two coordinates, but {len(fields)} fields came."
            )
        node = _node(contents, line, fields[0])
        x, y = (_coordinate(contents, line, field) for field in (fields[2:0:-1] if turned else fields[1:3]))
        if found.setdefault(node, (x, y)) != (x, y):
            raise contents.fault(line.number, f"node {node} has other coordinates than above; is this a file of nodes?")
    return found


def read_trips(path: Path) -> dict[tuple[int, int], float]:
    """Demand of a `_trips.tntp` file by (origin, destination), without zeros and trips that stay where they begin."""
    contents = _opened(path)
    found: dict[tuple[int, int], float] = {}
    origin = None
    for line in contents.lines:
        text = line.text
        if text.lower().startswith("origin"):
            name, text = [*text[6:].split(maxsplit=1), "", ""][:2]
            if not name:
                raise contents.fault(line.number, "Origin must be followed by the number of a node.")
            origin = _node(contents, line, name)
        for part in filter(None, (part.strip() for part in text.split(";"))):
            destination, colon, demand = part.partition(":")
            if not colon:
                raise contents.fault(line.number, f"trips are written `destination : demand;`, but {part!r} came.")
            if origin is None:
                raise contents.fault(line.number, "trips must follow a line `Origin n`.")
            to = _node(contents, line, destination.strip())
            amount = _number(contents, line, demand.strip(), "demand")
            if amount and to != origin:
                found[origin, to] = found.get((origin, to), 0.0) + amount
    return found


def _opened(path: Path) -> Contents:
    tags: dict[str, Line] = {}
    comments: list[str] = []
    lines: list[Line] = []
    for number, text in _lines(path):
        tag = re.match(r"<([^>]*)>(.*)", text)
        if tag and not lines:
            tags[" ".join(tag[1].split()).upper()] = Line(number, tag[2].strip())
            if "~" in tag[2]:
                comments.append(tag[2].partition("~")[2])
            continue
        text, mark, comment = text.partition("~")
        if mark and not lines:
            comments.append(comment)
        text = text.strip().rstrip(";").strip() if ":" not in text else text.strip()
        if text:
            lines.append(Line(number, text))
    return Contents(path, tags, comments, lines)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, text in enumerate(file, start=1):
            yield number, text.strip()


def _columns(comments: list[str], fields: int) -> tuple[str, ...]:
    """The columns by the last comment that names them, and no more than a line has; otherwise the usual ones."""
    for comment in reversed(comments):
        text = re.sub(r"\([^)]*\)", "", comment).replace(";", " ").strip().lower()
        joined = _SPELT.sub(lambda name: re.sub(r"[ -]", "_", name[0]), text)
        for names in ([each.strip() for each in text.split("\t") if each.strip()], joined.split()):
            found = [_known(re.sub(r"[\s-]+", "_", name)) for name in names]
            if {"init", "term", "time"} <= set(found) and len(found) <= fields:
                return tuple(found)
    return _COLUMNS


def _known(name: str) -> str:
    return next((key for key, called in _CALLED.items() if name in called), name)


def _node(contents: Contents, line: Line, text: str) -> int:
    if not re.fullmatch(r"\d+(\.0*)?", text):
        raise contents.fault(line.number, f"a node is a whole number, not {text!r}.")
    return int(text.partition(".")[0])


def _number(contents: Contents, line: Line, text: str, name: str) -> float:
    value = _coordinate(contents, line, text)
    if value < 0:
        raise contents.fault(line.number, f"{name} must be at least 0, not {text}.")
    return value


def _coordinate(contents: Contents, line: Line, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise contents.fault(line.number, f"a finite number was expected, not {text!r}.")
    return value


def _column(values: list[float | None]) -> Array | None:
    return None if any(value is None for value in values) else np.array(values, dtype=float)
