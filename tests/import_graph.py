"""Draws the import graph of the package: layers as rows, packages as boxes, and arrows that all go down.

python tests/import_graph.py --output import_graph.svg
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from pathlib import Path

from layers import LAYERS, ROOT, Import, Layers, modules_in, place_of, read
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

Station = tuple[int, str]  # a row, and the name of a box there, or of an arrow that crosses the row

_BOX, _LANE, _HIGH = 2.1, 0.45, 0.5  # the width of a box and of an arrow's lane through a row, and a box's height
_GAP = 0.3  # between two boxes
_SWEEPS = 20  # over all rows, after which hardly anything moves
_TRIES = 40  # orders to begin with, of which the best is drawn
_COLOURS = {"dpcvx.sets": "#cfe3f5", "decision_sets": "#e4efd8"}
_OTHERS = "#f3ead8"


def arrows(imports: Iterable[Import], layers: Layers = LAYERS) -> set[tuple[str, str]]:
    """Which package imports which, as pairs that go down.

    Left out are pairs that follow from others by a longer way down, and all to the lowest row, which serves every one.
    """
    below: dict[str, set[str]] = {name: set() for beside in layers for name in beside}
    for each in imports:
        (row, name), (lower, other) = place_of(each.importer, layers), place_of(each.imported, layers)
        if row > lower > 0:
            below[name].add(other)
    reached: dict[str, set[str]] = {}
    for name, direct in below.items():  # from the lowest row on
        reached[name] = direct.union(*(reached[other] for other in direct))
    return {
        (name, other) for name in below for other in below[name] if not any(other in reached[c] for c in below[name])
    }


class Arrangement:
    """Where everything stands: boxes in their rows, and arrows in lanes through the rows that they cross.

    Attributes:
        ways: the stations of each arrow, from above.
        x: the middle of each station.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], layers: Layers = LAYERS, seed: int = 0) -> None:
        row_of = {name: row for row, beside in enumerate(layers) for name in beside}
        rows: list[list[Station]] = [[(row, name) for name in beside] for row, beside in enumerate(layers)]
        self.ways: list[list[Station]] = []
        for above, below in sorted(pairs):
            lanes = [(row, f"{above} -> {below}") for row in range(row_of[above] - 1, row_of[below], -1)]
            self.ways.append([(row_of[above], above), *lanes, (row_of[below], below)])
            for lane in lanes:
                rows[lane[0]].append(lane)
        self.x: dict[Station, float] = {}
        shuffle = random.Random(seed).shuffle
        for row in rows:
            shuffle(row)
            self._set(row, dict.fromkeys(row, 0.0))
        for _ in range(_SWEEPS):
            for row in (*rows, *reversed(rows)):
                wanted = {station: self._pull(station) for station in row}
                row.sort(key=wanted.__getitem__)
                self._set(row, wanted)

    @property
    def tangle(self) -> tuple[int, float]:
        """How many arrows cross, and how far all of them go sideways: the less, the more readable."""
        steps = [step for way in self.ways for step in pairwise(way)]
        crossings = sum(
            one[0][0] == other[0][0] and (self.x[one[0]] - self.x[other[0]]) * (self.x[one[1]] - self.x[other[1]]) < 0
            for one, other in combinations(steps, 2)
        )
        return crossings, sum(abs(self.x[above] - self.x[below]) for above, below in steps)

    def _pull(self, station: Station) -> float:
        """The mean place of what is next to a station on its ways; its own, where no way leads through it."""
        near = [
            self.x[other]
            for way in self.ways
            for one, next_one in pairwise(way)
            for here, other in ((one, next_one), (next_one, one))
            if here == station
        ]
        return sum(near) / len(near) if near else self.x[station]

    def _set(self, row: list[Station], wanted: Mapping[Station, float]) -> None:
        """Put a row side by side in its order, on average where its stations are wanted."""
        end = -float("inf")
        for station in row:
            half = (_LANE if "->" in station[1] else _BOX + _GAP) / 2
            self.x[station] = max(end + half, wanted[station])
            end = self.x[station] + half
        surplus = sum(self.x[station] - wanted[station] for station in row) / len(row)
        for station in row:
            self.x[station] -= surplus


def draw(root: Path = ROOT, layers: Layers = LAYERS) -> Figure:
    """The picture of the packages below a folder."""
    modules = modules_in(root)
    sizes = Counter(place_of(module, layers)[1] for module in modules)
    pairs = arrows(read(modules).imports, layers)
    placed = min((Arrangement(pairs, layers, seed) for seed in range(_TRIES)), key=lambda each: each.tangle)
    left, right = min(placed.x.values()) - _BOX, max(placed.x.values()) + _BOX
    figure = Figure(figsize=(right - left, len(layers) + 0.6))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(left, right), ylim=(-0.6, len(layers)))
    ax.axis("off")
    for row in range(len(layers)):
        ax.axhspan(row - 0.5, row + 0.5, color="#f7f7f7" if row % 2 else "#ffffff", zorder=0)
    for way in placed.ways:
        ax.add_patch(FancyArrowPatch(path=_curve(way, placed.x), arrowstyle="-|>", mutation_scale=11, color="#555555"))
    for row, beside in enumerate(layers):
        for name in beside:
            x = placed.x[row, name]
            box = FancyBboxPatch(
                (x - _BOX / 2, row - _HIGH / 2), _BOX, _HIGH, boxstyle="round,pad=0,rounding_size=0.08"
            )
            box.set(facecolor=_colour(name), edgecolor="#333333", zorder=3)
            ax.add_patch(box)
            ax.text(x, row + 0.07, name.removeprefix("dpcvx."), ha="center", va="center", fontsize=11, zorder=4)
            words = "1 module" if sizes[name] == 1 else f"{sizes[name]} modules"
            ax.text(x, row - 0.14, words, ha="center", va="center", fontsize=7.5, color="#555555", zorder=4)
    caption = "Who imports whom. Left out: arrows that follow from others by a longer way, and those to the lowest row."
    ax.text((left + right) / 2, len(layers) - 0.25, caption, ha="center", va="center", fontsize=10)
    return figure


def _curve(way: list[Station], x: Mapping[Station, float]) -> Curve:
    """From the lower side of a box to the upper side of another: upright within rows, bent between them."""
    vertices, codes = [(x[way[0]], way[0][0] - _HIGH / 2)], [Curve.MOVETO]
    for before, after in pairwise(way):
        top, bottom = after[0] + _HIGH / 2, after[0] - _HIGH / 2
        middle = after[0] + 0.5
        vertices += [(x[before], middle), (x[after], middle), (x[after], top)]
        codes += [Curve.CURVE4] * 3
        if after != way[-1]:
            vertices.append((x[after], bottom))
            codes.append(Curve.LINETO)
    return Curve(vertices, codes)


def _colour(name: str) -> str:
    return next((colour for start, colour in _COLOURS.items() if name.startswith(start)), _OTHERS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("import_graph.svg"), help="an SVG, PNG or PDF file")
    output = parser.parse_args().output
    draw().savefig(output)
    print(output)
