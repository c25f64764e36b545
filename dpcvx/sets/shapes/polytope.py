"""Polytopes: where there are few vertices, their sizes are known from them."""

from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT
from dpcvx.sets.geometry.bounds import loose_box
from dpcvx.sets.oracles import enumeration
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape

_MARGIN = 1e-9  # relative error of vertices that Qhull found
_PAIRS = 200_000_000  # entries of differences of points that are compared one by one
_OUTWARD = 1 + 1e-8  # of a reach
_MANY = 100  # entries, above which a box is sought by fewer programs than two for each
_POINTS = 50  # of the set that are asked on each side
_WORTH = 0.02  # share of the entries in question that a point must settle, for another one to be asked
_ATTAINED = 1e-9  # distance, in widths of the box, at which an entry attains its bound


class Polytope(Shape):
    """Any polytope."""

    _margin = _MARGIN  # relative error of the points themselves; with one, nothing is exact

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        return cls(facts.geometry, facts.layout) if facts.geometry.is_polytope else None

    @cached_property
    def points(self) -> Array | None:
        if not enumeration.is_quick(self.geometry):
            return None
        try:
            corners = enumeration.intersected(self.geometry)
        except UnsupportedConeError:
            return None  # sizes then come from certified bounds
        return corners if enumeration.reach_in_every_direction(corners, self.support_bound) else None

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """As of any shape; of many entries those whose bound is seen to be attained need no program of their own."""
        if not _MANY < self.layout.size <= DENSE_LIMIT:
            return super().box
        lower, upper = loose_box(self.geometry.conic, self.geometry.chart, self.geometry.nu)
        width = upper - lower
        units = np.eye(self.layout.size)
        for i in np.flatnonzero(~self._attained(upper, width, 1.0)):
            upper[i] = min(upper[i], self.support_bound(units[i]))
        for i in np.flatnonzero(~self._attained(lower, width, -1.0)):
            lower[i] = max(lower[i], -self.support_bound(-units[i]))
        return lower, upper

    def _attained(self, ends: Array, width: Array, sign: float) -> Bools:
        """Which entries attain these ends, as far as points tell that are extreme in all entries still in question."""
        left = width > 0
        for _ in range(_POINTS):
            if not left.any():
                break
            x = self.farthest(np.where(left, sign, 0.0))
            found = left & (np.abs(x - ends) <= _ATTAINED * width)
            left &= ~found
            if found.sum() < _WORTH * (left.sum() + found.sum()):
                break
        return ~left

    def _standing(self, value: float) -> Measure:
        return bound(value * (1 + self._margin)) if self._margin else exact(value)

    def radius(self, p: float) -> Measure:
        if self.points is None:
            return super().radius(p)
        return self._standing(float(np.linalg.norm(self.points, p, axis=1).max()))

    def diameter(self, p: float) -> Measure:
        points = self.points
        if points is None:
            return super().diameter(p)
        if len(points) ** 2 * points.shape[1] > _PAIRS:
            center = points.mean(axis=0)
            return bound(2 * float(np.linalg.norm(points - center, p, axis=1).max()) * (1 + self._margin))
        largest = 0.0
        for i, point in enumerate(points):
            largest = max(largest, float(np.linalg.norm(points[i:] - point, p, axis=1).max()))
        return self._standing(largest)

    def interval(self, x: Array) -> tuple[Array, Array]:
        points = self.points
        if points is None:
            return super().interval(x)
        values = x @ points.T
        slip = (1e-15 * points.shape[1] + self._margin) * (np.abs(x) @ np.abs(points).T).max(axis=-1)
        return values.min(axis=-1) - slip, values.max(axis=-1) + slip

    def _reaches(self) -> list[float]:
        reaches = super()._reaches()
        if self.points is not None:
            reaches.append(float(np.linalg.norm(self.points - self.middle, axis=1).max()) * _OUTWARD)
        return reaches
