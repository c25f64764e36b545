"""Polytopes: where there are few vertices, their sizes are known from them."""

from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.oracles import enumeration
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape

_MARGIN = 1e-9  # relative error of vertices that Qhull found
_PAIRS = 200_000_000  # entries of differences of points that are compared one by one
_OUTWARD = 1 + 1e-8  # of a reach


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
