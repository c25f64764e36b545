"""The questions that a set answers about itself. A recognised shape answers those that it has formulas for.

This class answers all of them for any set, by solvers and certified bounds: it is what a set is that nothing else
recognised. Points, losses and covectors are vectors here, on leading batch axes where a question says so; `l` and `x`
are points of the set.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dpcvx.actions import ActionFamily, Arms, PointList, Simplices
from dpcvx.arrays import Array, Bools
from dpcvx.errors import OracleError, UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.geometry import bounds, norms
from dpcvx.sets.geometry.ellipsoids import EllipsoidBody, ellipsoids_around
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles import enumeration
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.oracles.polyhedral_oracles import PolyhedralOracles
from dpcvx.sets.shapes import outline
from dpcvx.sets.shapes.measure import Measure, bound

_OUTWARD = 1 + 1e-9  # tolerance of clipping and arithmetic, relative


@dataclass(frozen=True)
class Facts:
    """What shapes are recognised by.

    Attributes:
        declaration: what the user wrote.
        lifted: its conic form before presolve.
        geometry: the conic form after presolve, with its chart.
        layout: the shape of the variable.
    """

    declaration: Declaration
    lifted: ConicSet
    geometry: Geometry
    layout: Layout


@dataclass(frozen=True)
class GridChange:
    """How far apart two points can be once rounded to a grid.

    Attributes:
        units: the largest distance in steps of the grid; whole for the 1-norm.
        kind: "exact" or "bound".
        toward_zero: whether entries must be rounded toward zero; otherwise to the nearest multiple.
    """

    units: int | float
    kind: str
    toward_zero: bool


class Shape:
    """Any set: solvers for its oracles, the best of several certified bounds for its sizes.

    Attributes:
        batched: whether `argmin` and `project` take batches; otherwise they take one vector.
        has_formulas: whether its oracles and its bounding box are formulas.
        by_entry: whether clipping to it is clipping to its bounding box, entry by entry.
    """

    batched: ClassVar[bool] = False
    has_formulas: ClassVar[bool] = False
    by_entry: bool = False

    def __init__(self, geometry: Geometry, layout: Layout) -> None:
        self.geometry, self.layout = geometry, layout

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        """The set as this shape; None where it is another."""
        return cls(facts.geometry, facts.layout)

    # oracles

    @cached_property
    def _solvers(self) -> ConicOracles:
        return PolyhedralOracles(self.geometry) if self.geometry.is_polytope else ConicOracles(self.geometry)

    @property
    def argmin_name(self) -> str:
        """How minimisers are found, in words."""
        return self._solvers.argmin_name

    @property
    def project_name(self) -> str:
        """How projections are found, in words."""
        return self._solvers.project_name

    def argmin(self, c: Array) -> Array:
        """A minimiser of <c, x>."""
        return self._solvers.argmin(c)

    def project(self, p: Array) -> Array:
        """The nearest point to p in the Euclidean norm."""
        return self._solvers.project(p)

    def projections(self, points: Array) -> Array:
        """The nearest points to points (m, size), by the fastest way; the time may tell where they are."""
        return self.project(points) if self.batched else self._solvers.projections(points)

    def support_bound(self, c: Array) -> float:
        """A certified upper bound of max <c, x>, above it by 1e-9 to 1e-7 of the width; more on bad scales."""
        return self._solvers.support_bound(c)

    def farthest(self, direction: Array) -> Array:
        """A maximiser of <direction, x>."""
        return self.argmin(-direction)

    def clip(self, points: Array) -> Array:
        """Points brought into the set, on leading axes: entry by entry into its bounding box, then to the nearest.

        The first step leaves only points near the set to the second. That is taken for points inside too, and its
        answer thrown away where a formula tells that they are: so the time says little about which points were
        outside, and nothing of how far. Where a solver fails on a point, the center is taken.
        """
        near = np.minimum(np.maximum(points, self.box[0]), self.box[1])
        nearest = self._nearest(near)
        return np.where(self._holds(near)[..., None], near, nearest)

    def _nearest(self, points: Array) -> Array:
        """The nearest points of the set to points of its bounding box, on leading axes."""
        if self.batched:
            return self.project(points)
        return np.array([self._clipped(one) for one in points.reshape(-1, self.layout.size)]).reshape(points.shape)

    def _holds(self, points: Array) -> Bools:
        """Which of the points on leading axes a formula can tell to be in the set, up to rounding."""
        return np.zeros(points.shape[:-1], dtype=bool)

    def _clipped(self, point: Array) -> Array:
        try:
            return self.project(point)
        except (OracleError, np.linalg.LinAlgError):
            return self.geometry.center.copy()

    def clipper(self, leading: tuple[int, ...]) -> Callable[[Array], Array]:
        """`clip` for batches that usually have these leading axes."""
        return self.clip

    def surely_holds(self, points: Array) -> Bools:
        """Which of the points (k, size) a formula can tell to be in the set."""
        return np.zeros(len(points), dtype=bool)

    # sizes

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """The least and largest value of each entry, certified from outside; loose above 2,000 entries."""
        if self.layout.size > DENSE_LIMIT:
            return bounds.loose_box(self.geometry.conic, self.geometry.chart, self.geometry.nu)
        units = np.eye(self.layout.size)
        upper = np.array([self.support_bound(unit) for unit in units])
        lower = np.array([-self.support_bound(-unit) for unit in units])
        return lower, upper

    def norm_bound(self, p: float) -> float:
        """A certified upper bound of max |x|_p, by the bounding box, the inequalities and a ball around the center."""
        lower, upper = self.box
        box = float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper)), p))
        if np.isinf(p) or not self.geometry.dim:
            return box
        candidates = [box]
        if self.layout.size <= DENSE_LIMIT:
            candidates.append(norms.norm_bound(self.geometry, lower, upper, p))
        if p >= 2:
            candidates.append(float(np.linalg.norm(self.geometry.center)) + self.geometry.central_radius)
        spread = max(0.0, 1 / p - 0.5)
        candidates += [body.farthest() * self.layout.size**spread * _OUTWARD for body in self._around]
        if self.geometry.dim <= outline.MOST:
            return self._from_center.norm_bound(p, min(candidates))
        return min(candidates)

    def radius(self, p: float) -> Measure:
        """max |l|_p."""
        return bound(self.norm_bound(p))

    def diameter(self, p: float) -> Measure:
        """max |l - l'|_p."""
        lower, upper = self.box
        width = upper - lower
        box = float(np.linalg.norm(width, p))
        if np.isinf(p) or not self.geometry.dim:
            return bound(box)
        if self.layout.size <= DENSE_LIMIT:
            box = min(box, norms.difference_bound(self.geometry, lower, upper, p))
        box = min([box, *(2 * body.stretch(p)[0] * _OUTWARD for body in self._around)])
        if self.geometry.dim <= outline.MOST:
            return bound(self._differences.norm_bound(p, box))
        moving = int((width > 0).sum())
        euclidean = min(float(np.linalg.norm(width)), self._rotated_box, 2 * self.geometry.central_radius)
        if p == 2:
            return bound(min(box, euclidean))
        return bound(min(box, euclidean * moving ** max(0.0, 1 / p - 0.5)))

    @cached_property
    def _around(self) -> list[EllipsoidBody]:
        """Ellipsoids that hold the set."""
        return ellipsoids_around(self.geometry)

    @cached_property
    def _rotated_box(self) -> float:
        """The diagonal of the bounding box along the axes of the Dikin ellipsoid at the center."""
        if self.layout.size > 60 or self.geometry.chart.size > 100:
            return np.inf  # two programs for each axis take too long
        low, high = self.interval(self._axes)
        return float(np.linalg.norm(high - low))

    @cached_property
    def _axes(self) -> Array:
        """The axes of the Dikin ellipsoid at the center, (dim, size)."""
        return np.linalg.svd(self._directions, full_matrices=False)[0].T

    @cached_property
    def _differences(self) -> outline.Outline:
        """All x - x', for few dimensions."""

        def widths(covectors: Array) -> Array:
            low, high = self.interval(covectors)
            return np.asarray(np.maximum(high - low, 0.0))

        lower, upper = self.box
        first, ends = np.eye(self.layout.size), upper - lower
        covectors, ends = np.concatenate([first, self._axes]), np.concatenate([ends, widths(self._axes)])
        return outline.Outline(np.zeros(self.layout.size), self._directions, widths, covectors, ends, symmetric=True)

    @cached_property
    def _from_center(self) -> outline.Outline:
        """All x, for few dimensions."""
        center = self.geometry.center

        def heights(covectors: Array) -> Array:
            return np.array([max(self.support_bound(c) - float(c @ center), 0.0) for c in covectors])

        lower, upper = self.box
        covectors = np.concatenate([np.eye(self.layout.size), -np.eye(self.layout.size)])
        ends = np.maximum(np.concatenate([upper - center, center - lower]), 0.0)
        return outline.Outline(center, self._directions, heights, covectors, ends, symmetric=False)

    @property
    def _directions(self) -> Array:
        """The directions of the set, (size, dim), in the scale of the barrier at the center."""
        return np.asarray(self.geometry.chart.push(self.geometry.chart.tangent_basis().T).T)

    def interval(self, x: Array) -> tuple[Array, Array]:
        """[min, max] of <l, x> for x (..., size), a solver's error added outward."""
        ends = [(-self.support_bound(-c), self.support_bound(c)) for c in x.reshape(-1, x.shape[-1])]
        low, high = np.array(ends).T
        return low.reshape(x.shape[:-1]), high.reshape(x.shape[:-1])

    @cached_property
    def middle(self) -> Array:
        """A point near the middle of the bounding box."""
        lower, upper = self.box
        return self.project((lower + upper) / 2)

    @cached_property
    def reach(self) -> float:
        """max |x - middle|_2."""
        if not self.geometry.dim:
            return 0.0
        return min(self._reaches())

    def _reaches(self) -> list[float]:
        """Upper bounds of the reach."""
        c = self.middle
        around_center = float(np.linalg.norm(c - self.geometry.center)) + self.geometry.central_radius
        chords = float(np.sqrt(self.chord_bound(lambda x: (x - c) ** 2)))
        return [chords, float(self.diameter(2)), around_center]

    def chord_bound(self, f: Callable[[Array], Array]) -> float:
        """An upper bound of max sum f_i(x_i), f convex in each entry: f maps vectors to vectors.

        A convex f_i lies below its chord on the bounding box, and the sum of the chords is a linear function. With
        f_i(x_i) = (x_i - c_i)^2 this is exact for boxes, simplices and the hulls of 0/1 vertices.
        """
        lower, upper = self.box
        width = upper - lower
        slope = np.where(width > 0, (f(upper) - f(lower)) / np.where(width > 0, width, 1.0), 0.0)
        return float((f(lower) - slope * lower).sum()) + self.support_bound(slope)

    def grid_change(self, p: int, step: float, *, from_zero: bool) -> GridChange:
        """How far apart two rounded points can be in the p-norm, p = 1 or 2; or a rounded point and 0.

        Any set: the diameter in steps, plus 1 for each entry that can move (half a step on either side); from zero,
        which stays zero, the radius and 1/2.
        """
        steps = self._clipped_steps(p, step, from_zero)
        lower, upper = self.box
        moving = self.layout.size if from_zero else int((upper > lower).sum())
        steps += (0.5 if from_zero else 1.0) * (moving if p == 1 else float(np.sqrt(moving)))
        return GridChange(_whole(steps, p), self._measure(p, from_zero).kind, False)

    def _measure(self, p: int, from_zero: bool) -> Measure:
        return self.radius(p) if from_zero else self.diameter(p)

    def _clipped_steps(self, p: int, step: float, from_zero: bool) -> float:
        """How far apart clipped points can be, in steps, before they are rounded.

        Clipping is exact up to rounding, relative to the size of the set and to where it lies.
        """
        entries = self.layout.size if p == 1 else math.sqrt(self.layout.size)
        blur = 1e-12 * float(self.radius(np.inf)) * entries
        return (float(self._measure(p, from_zero)) * _OUTWARD + blur) / step

    def difference_body(self, *, from_zero: bool) -> tuple[str, Array] | None:
        """K = Y - Y, or the smallest symmetric one around Y and 0, where it is a box or a ball around the origin.

        ("box", half-widths) or ("ball", the radius for each entry); None for any other set.
        """
        return None

    def grid_widths(self, step: float, *, from_zero: bool) -> list[int] | None:
        """Of a box, how far each entry moves once clipped and rounded to multiples of step; None for any other set."""
        return None

    def centered_radius(self, q: float) -> float | None:
        """r where the set is exactly { |l|_q <= r }, otherwise None."""
        return None

    @property
    def stretch_moment(self) -> float:
        """A bound of E 1/rho^2 at any point, rho the stretch of a uniform direction of the Dikin ellipsoid.

        rho is the largest step with both ends in the set. With m inequalities and t the step relative to the slacks,
        |t|_2 = 1 and 1/rho = max |t_i|. Each t_i is at most a coordinate of a uniform unit vector of R^n, so t_i^2 > x
        with probability at most 2 e^(-nx/2), and E max t_i^2 <= x + (4m/n) e^(-nx/2) for every x: (2 ln(2m) + 2)/n for
        the best. Any other set has rho >= 1.
        """
        conic, n = self.geometry.conic, self.geometry.dim
        if not n or self.geometry.chart.auxiliaries or not conic.is_polyhedral:
            return 1.0
        return min(1.0, (2 * math.log(2 * max(conic.cones.nu, 1)) + 2) / n)

    # corners

    @cached_property
    def points(self) -> Array | None:
        """Points whose hull is the set, one a row, where they are known or quickly found."""
        return None

    def vertices(self, minimise: enumeration.Minimiser, most: int = enumeration.MOST) -> Array:
        """All vertices, one a row.

        Args:
            minimise: the linear minimiser of the set, on a batch.
            most: how many are listed.

        Raises:
            UnsupportedConeError: where the set is no polytope, or has too many.
        """
        if not self.geometry.is_polytope:
            raise UnsupportedConeError(
                f"The {self.geometry.name} is not a polytope after presolve; it has no finite set of vertices."
            )
        found = self._listed(minimise, most)
        if len(found) > most:
            name = self.geometry.name
            raise UnsupportedConeError(f"The {name} has at least {len(found)} vertices; they are listed up to {most}.")
        if not enumeration.reach_far_enough(found, self.support_bound):
            raise UnsupportedConeError(f"Some vertices of the {self.geometry.name} were not found: it is too thin.")
        return found

    def _listed(self, minimise: enumeration.Minimiser, most: int) -> Array:
        return enumeration.listed(self.geometry, minimise, most)

    def action_family(self, minimise: enumeration.Minimiser) -> ActionFamily:
        """The vertices as actions: by a formula where there is one, otherwise by a list.

        Raises:
            UnsupportedConeError: where they cannot be listed.
        """
        return PointList(self.vertices(minimise))

    def arms(self) -> Arms | None:
        """The vertices where they are one multiple of the unit vectors, otherwise None."""
        return None

    def simplices(self) -> Simplices | None:
        """The set as a product of simplices and intervals, by its corners; None where it is none."""
        return None

    def extremes(self, rng: np.random.Generator, count: int) -> Array | None:
        """Random extreme points (count, size) by a formula; None where there is none."""
        return None

    # entropy

    softmax_total: float | None = None  # S where the argmin of <c, x> + sum x log x is S softmax(-c)

    def entropy_argmin(self, c: Array) -> Array | None:
        """argmin of <c, x> + sum x log x by a formula, on leading axes; None where there is none."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers and the outlines, which ask them: both are made again where they are needed."""
        left_out = ("_solvers", "_differences", "_from_center")
        return {key: value for key, value in self.__dict__.items() if key not in left_out}


def _whole(steps: float, p: int) -> int | float:
    """A distance in the 1-norm of points on the grid is a whole number."""
    return int(np.floor(steps)) if p == 1 else steps
