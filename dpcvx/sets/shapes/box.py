"""Boxes { lower <= x <= upper }, entries that do not vary included, and single points."""

import math
from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np

from dpcvx.actions import ActionFamily, Bounds, Simplices, family_of_bounds
from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.clipped_exponentials import clipped_exponentials
from dpcvx.sets.shapes.columns import Columns, coordinate_bounds
from dpcvx.sets.shapes.measure import Measure, exact
from dpcvx.sets.shapes.shape import Facts, GridChange, Shape


class Sides(Shape):
    """What follows from the sides alone, for boxes and points.

    Attributes:
        lower, upper: the ends of each entry.
    """

    batched = True
    has_formulas = True

    def __init__(self, geometry: Geometry, layout: Layout, lower: Array, upper: Array) -> None:
        super().__init__(geometry, layout)
        self.lower, self.upper = lower, upper
        self.box = lower, upper
        self._middle = lower / 2 + upper / 2
        size = np.maximum(np.abs(lower), np.abs(upper))
        self._half = upper / 2 - lower / 2 + 2.3e-16 * (len(lower) + 5) * size  # with what rounding can take away

    def support_bound(self, c: Array) -> float:
        return bound_at(c, self.argmin(-c))

    def radius(self, p: float) -> Measure:
        return exact(float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper)), p)))

    def diameter(self, p: float) -> Measure:
        return exact(float(np.linalg.norm(self.upper - self.lower, p)))

    def interval(self, x: Array) -> tuple[Array, Array]:
        middle, half = x @ self._middle, np.abs(x) @ self._half
        return middle - half, middle + half

    def grid_change(self, p: int, step: float, *, from_zero: bool) -> GridChange:
        """Rounding is monotone: the rounded ends are as far apart as any two rounded points, and nothing is added."""
        steps = self.grid_widths(step, from_zero=from_zero)
        units = sum(steps) if p == 1 else math.sqrt(sum(w * w for w in steps)) * (1 + 1e-15)
        return GridChange(units, "exact", False)

    def grid_widths(self, step: float, *, from_zero: bool) -> list[int]:
        lower, upper = np.rint(self.lower / step), np.rint(self.upper / step)
        width = np.maximum(np.abs(lower), np.abs(upper)) if from_zero else upper - lower
        return [int(w) for w in width]

    def difference_body(self, *, from_zero: bool) -> tuple[str, Array] | None:
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper)) if from_zero else self.upper - self.lower
        return "box", reach


class Box(Sides):
    """A box of dimension at least 1, x = P v + offset with bounds on v."""

    argmin_name = project_name = "closed form (box)"

    def __init__(self, geometry: Geometry, layout: Layout, columns: Columns, lower: Array, upper: Array) -> None:
        ends = columns.to_x(lower), columns.to_x(upper)
        super().__init__(geometry, layout, np.minimum(*ends), np.maximum(*ends))
        self._columns, self._ends = columns, (lower, upper)  # of the coordinates v
        self._is_full = self.by_entry = geometry.dim == layout.size

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        conic = facts.geometry.conic
        ends = coordinate_bounds(conic)
        if ends is None or conic.E.shape[0]:
            return None
        columns = Columns.of(conic)
        return None if columns is None else cls(facts.geometry, facts.layout, columns, *ends)

    def argmin(self, c: Array) -> Array:
        return self._columns.to_x(np.where(self._columns.pull(c) > 0, *self._ends))

    def project(self, p: Array) -> Array:
        return self._columns.to_x(np.clip(self._columns.nearest(p), *self._ends))

    def clip(self, points: Array) -> Array:
        if not self._is_full:
            return super().clip(points)
        return np.minimum(np.maximum(points, self.lower), self.upper)

    def clipper(self, leading: tuple[int, ...]) -> Callable[[Array], Array]:
        if not self._is_full:
            return self.clip
        # the ends in the shape of a batch: row by row, clipping would take twice as long
        lower, upper = (np.tile(end, (*leading, 1)) for end in (self.lower, self.upper))
        return partial(_clip_batch, lower, upper, self.clip)

    def surely_holds(self, points: Array) -> Bools:
        if not self._is_full:
            return super().surely_holds(points)
        return np.asarray(((points >= self.lower) & (points <= self.upper)).all(axis=1))

    def farthest(self, direction: Array) -> Array:
        if not self._is_full:
            return super().farthest(direction)
        return np.where(direction > 0, self.upper, self.lower)

    def extremes(self, rng: np.random.Generator, count: int) -> Array | None:
        if not self._is_full:
            return None
        lower, upper = self.layout.unflatten(self.lower), self.layout.unflatten(self.upper)
        return self.layout.flatten(np.where(rng.random((count, *self.layout.shape)) < 0.5, lower, upper))

    def _plain(self) -> tuple[Array, Array] | None:
        """(lower, upper) where every entry is a positive multiple of a coordinate of its own."""
        scale = self._columns.scale
        return None if scale is None else (scale * self._ends[0], scale * self._ends[1])

    def action_family(self, minimise: Minimiser) -> ActionFamily:
        plain = self._plain()
        family = None if plain is None else family_of_bounds(Bounds(*plain, None, is_simplex=False))
        return family or super().action_family(minimise)

    def simplices(self) -> Simplices | None:
        plain = self._plain()
        return None if plain is None else Simplices.of_box(*plain)

    def entropy_argmin(self, c: Array) -> Array | None:
        plain = self._plain()
        return None if plain is None else clipped_exponentials(*plain, None, c)


class Point(Sides):
    """A single point."""

    argmin_name = project_name = "closed form (point)"

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        center = facts.geometry.center
        return None if facts.geometry.dim else cls(facts.geometry, facts.layout, center, center)

    def argmin(self, c: Array) -> Array:
        return np.broadcast_to(self.lower, c.shape).copy()

    def project(self, p: Array) -> Array:
        return np.broadcast_to(self.lower, p.shape).copy()

    def _listed(self, minimise: Minimiser, most: int) -> Array:
        return self.lower[None]


def bound_at(c: Array, best: Array) -> float:
    """<c, best> rounded outward, best a maximiser that a formula gave, a sum's rounding growing with its length."""
    return float(c @ best + (1e-14 + 2.3e-16 * len(c)) * (np.abs(c) @ np.abs(best)))


def _clip_batch(lower: Array, upper: Array, otherwise: Callable[[Array], Array], points: Array) -> Array:
    """Points between ends of the same shape; any other batch is left to `otherwise`."""
    if points.shape != lower.shape:
        return otherwise(points)
    return np.asarray(np.minimum(np.maximum(points, lower), upper))
