"""A gallery of declared sets: what was derived of each, and a picture of the two-dimensional ones.

Nothing here knows any set: outlines come from its linear oracle, ellipses from its Dikin ellipsoid.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.text_table import TextTable
from dpcvx.sets import DecisionSet

OUTLINE, FILL, ELLIPSE = "#1f3b57", "#e8eef4", "#d1603d"


@dataclass(frozen=True)
class Exhibit:
    """A declared set with its title and the seconds that its declaration took."""

    title: str
    set: DecisionSet
    seconds: float


def polygon() -> DecisionSet:
    """A polygon with six sides, one of which is redundant."""
    x = cp.Variable(2)
    A = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.6], [-0.8, -1.0], [0.6, -1.0], [1.0, 1.0]])
    return DecisionSet(x, [A @ x <= np.array([1.0, 1.0, 1.2, 1.1, 1.0, 5.0])], name="polygon")


def cut_power_ball() -> DecisionSet:
    """The ball of the 3-norm in the plane, cut by a line."""
    x = cp.Variable(2)
    return DecisionSet(x, [cp.pnorm(x, 3, approx=False) <= 1, x[0] + x[1] <= 0.9], name="3-norm ball, cut")


def uncertain_distributions() -> DecisionSet:
    """Distributions over three things that keep some uncertainty."""
    x = cp.Variable(3)
    return DecisionSet(x, [cp.sum(x) == 1, cp.sum(cp.entr(x)) >= 0.8], name="distributions of entropy >= 0.8")


def density_matrices() -> DecisionSet:
    """Density matrices of order 3."""
    X = cp.Variable((3, 3), symmetric=True)
    return DecisionSet(X, [X >> 0, cp.trace(X) == 1], name="density matrices of order 3")


def street_flows() -> DecisionSet:
    """Unit flows from corner to corner of a grid of one-way streets."""
    grid = nx.DiGraph(nx.grid_graph((4, 4)).edges)
    divergence = -nx.incidence_matrix(grid, oriented=True)
    demand = np.zeros(len(grid))
    demand[[list(grid).index((0, 0)), list(grid).index((3, 3))]] = 1.0, -1.0
    x = cp.Variable(grid.number_of_edges(), nonneg=True)
    return DecisionSet(x, [divergence @ x == demand], name="flows on a 4 x 4 grid")


SETS: dict[str, Callable[[], DecisionSet]] = {
    "polygon": polygon,
    "3-norm ball, cut": cut_power_ball,
    "distributions, entropy >= 0.8": uncertain_distributions,
    "density matrices, 3 x 3": density_matrices,
    "flows, 4 x 4 street grid": street_flows,
}


def declare_all() -> list[Exhibit]:
    """Declare the sets of the gallery and time each declaration."""
    exhibits = []
    for title, declare in SETS.items():
        start = time.perf_counter()
        declared = declare()
        exhibits.append(Exhibit(title, declared, time.perf_counter() - start))
    return exhibits


def table(exhibits: Iterable[Exhibit]) -> str:
    """Return what was derived of each set as a table, one line for each."""
    header = ("set", "N", "dim", "nu", "widest side", "max |x|", "ms to declare")
    rows = []
    for exhibit in exhibits:
        declared = exhibit.set
        lower, upper = declared.bounding_box()
        rows.append(
            (
                exhibit.title,
                f"{declared.size}",
                f"{declared.dim}",
                f"{declared.nu:g}",
                f"{np.max(upper - lower):.3f}",
                f"<= {declared.norm_bound(2):.3f}",
                f"{1e3 * exhibit.seconds:.0f}",
            )
        )
    columns = TextTable.fitting([header, *rows], "<>>>>>>")
    return "\n".join([columns.line(header), columns.rule(), *columns.lines(rows)])


def draw(exhibits: Iterable[Exhibit], path: Path) -> None:
    """Draw the two-dimensional sets side by side, with Dikin ellipsoids, into the image file ``path``."""
    flat = [exhibit for exhibit in exhibits if exhibit.set.dim == 2]
    if not flat:
        raise ArgumentError("None of the sets is two-dimensional, so there is nothing to draw.")
    figure = Figure(figsize=(4.2 * len(flat), 5.0), layout="constrained", facecolor="white")
    panels = figure.subplots(1, len(flat), squeeze=False)[0]
    for panel, exhibit in zip(panels, flat, strict=True):
        draw_set(panel, exhibit.set)
        title, derived = exhibit.title.replace(">=", "≥"), exhibit.set
        panel.set_title(f"{title}\n$N$ = {derived.size}, dim = {derived.dim}, $\\nu$ = {derived.nu:g}", fontsize=11)
    figure.suptitle("Sets declared in cvxpy, and Dikin ellipsoids derived from the constraints alone", fontsize=13)
    figure.savefig(path, dpi=130)


def draw_set(panel: Axes, declared: DecisionSet) -> None:
    """Draw the outline of a two-dimensional set and its Dikin ellipsoids at the center and towards the boundary."""
    boundary = outline(declared)
    panel.add_patch(Polygon(boundary, facecolor=FILL, edgecolor=OUTLINE, linewidth=1.8, joinstyle="round"))
    for point in viewpoints(declared, boundary):
        ellipse = to_plane(declared, dikin_ellipse(declared, point))
        panel.add_patch(Polygon(ellipse, facecolor=ELLIPSE, alpha=0.32))
        panel.add_patch(Polygon(ellipse, fill=False, edgecolor=ELLIPSE, linewidth=1.1))
        panel.plot(*to_plane(declared, point[None])[0], marker=".", markersize=4, color=OUTLINE)
    lower, upper = boundary.min(axis=0), boundary.max(axis=0)
    middle, half = (lower + upper) / 2, 0.55 * np.max(upper - lower)
    panel.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    if declared.shape == (2,):
        panel.set_xlabel("$x_1$")
        panel.set_ylabel("$x_2$", rotation=0)
    else:
        panel.set_xlabel("orthonormal coordinates of the affine hull")
    panel.locator_params(nbins=6)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def outline(declared: DecisionSet, directions: int = 360) -> Array:
    """Return boundary points of a two-dimensional set in its plane, counterclockwise: one for each direction."""
    lowest = [declared.argmin(from_plane(declared, -u)) for u in unit_circle(directions)]
    return to_plane(declared, np.stack(lowest))


def viewpoints(
    declared: DecisionSet, boundary: Array, rays: int = 6, fractions: tuple[float, float] = (0.65, 0.92)
) -> list[Array]:
    """Return the center and, on two rings of rays from it, points at these fractions of the way to the outline."""
    normals = unit_circle(len(boundary))
    reach = np.sum(normals * (boundary - to_plane(declared, declared.center[None])), axis=1)
    points = [declared.center]
    for fraction, turn in zip(fractions, (0.0, 0.5 / rays), strict=True):
        for ray in unit_circle(rays, turn):
            slope = normals @ ray
            length = np.min(reach[slope > 1e-9] / slope[slope > 1e-9])
            points.append(declared.center + from_plane(declared, fraction * length * ray))
    return points


def dikin_ellipse(declared: DecisionSet, point: Array, directions: int = 120) -> Array:
    """Return points on the boundary of the Dikin ellipsoid at ``point``, in the shape of the variable."""
    ellipsoid = declared.dikin(point)
    return point + ellipsoid.half_solve(unit_circle(directions))


def unit_circle(count: int, turn: float = 0.0) -> Array:
    """Return ``count`` equally spaced unit vectors of the plane, the first at ``turn`` full turns from the x-axis."""
    angles = 2 * np.pi * (np.arange(count) / count + turn)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def to_plane(declared: DecisionSet, points: Array) -> Array:
    """Return the coordinates of points of a two-dimensional set: its own if it is declared in the plane."""
    if declared.shape == (2,):
        return points
    offsets = np.stack([(point - declared.center).ravel(order="F") for point in points])
    return np.asarray(offsets @ declared.basis)


def from_plane(declared: DecisionSet, direction: Array) -> Array:
    """Return the direction in the shape of the variable that has these coordinates in the plane."""
    if declared.shape == (2,):
        return direction
    return np.asarray(declared.basis @ direction).reshape(declared.shape, order="F")
