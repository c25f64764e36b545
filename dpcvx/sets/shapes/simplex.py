"""Simplices, scaled and capped: { lower <= v <= upper, a'v = beta }.

Minimisers and projections need no solver, on leading batch axes. A whole simplex { x >= 0, sum x = total } knows its
sizes too.
"""

from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.actions import ActionFamily, Arms, Bounds, Simplices, family_of_bounds
from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.box import bound_at
from dpcvx.sets.shapes.clipped_exponentials import clipped_exponentials
from dpcvx.sets.shapes.columns import Columns, coordinate_bounds
from dpcvx.sets.shapes.measure import Measure, exact
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts
from dpcvx.sets.shapes.sorted_projection import onto_simplex


class CappedSimplex(Polytope):
    """Bounds on single coordinates and one equality.

    Attributes:
        is_simplex: whether it is the hull of multiples of unit vectors, up to repeated entries.
    """

    batched = True
    has_formulas = True

    def __init__(
        self, geometry: Geometry, layout: Layout, columns: Columns, lower: Array, upper: Array, a: Array, beta: float
    ) -> None:
        super().__init__(geometry, layout)
        self._columns = columns
        self._lower, self._upper, self._a, self._beta = lower, upper, a, beta  # of the coordinates v
        ends = columns.to_x(lower), columns.to_x(upper)
        self.box = np.minimum(*ends), np.maximum(*ends)
        self._cheap = np.where(a > 0, lower, upper)  # where a'v is least
        self._free = a == 0
        self._cheap[self._free] = lower[self._free]
        self._capacity = np.abs(a) * (upper - lower)
        self._missing = beta - float(a @ self._cheap)
        self._one_suffices = bool(np.all(self._capacity >= self._missing * (1 - 1e-12)))  # to make up for it
        plain = columns.is_positive and np.all(lower == 0) and np.ptp(a) == 0 and np.ptp(columns.squares) == 0
        self.is_simplex = bool(self._one_suffices and plain)

    @property
    def argmin_name(self) -> str:
        return "closed form (simplex)" if self.is_simplex else "closed form (capped simplex)"

    @property
    def project_name(self) -> str:
        return self.argmin_name

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        bounded = _bounded(facts.geometry.conic)
        columns = None if bounded is None else Columns.of(facts.geometry.conic)
        if columns is None or bounded is None:
            return None
        return cls(facts.geometry, facts.layout, columns, *bounded)

    def _plain(self) -> Bounds | None:
        """The set as bounds where it reads lower <= x <= upper, sum x = total."""
        scale = self._columns.scale
        if scale is None:
            return None
        weights = self._a / scale
        if weights[0] <= 0 or np.ptp(weights) > 1e-14 * weights[0]:
            return None
        return Bounds(scale * self._lower, scale * self._upper, self._beta / float(weights[0]), self.is_simplex)

    def argmin(self, c: Array) -> Array:
        c = self._columns.pull(c)
        safe = np.where(self._free, 1.0, self._a)
        ratio = np.where(self._free, np.inf, c / safe)
        v = np.broadcast_to(self._cheap, c.shape).copy()
        if self._one_suffices:
            best = np.argmin(ratio, axis=-1)[..., None]
            np.put_along_axis(v, best, np.take_along_axis(v, best, -1) + self._missing / self._a[best], -1)
        else:
            order = np.argsort(ratio, axis=-1, kind="stable")
            capacity = self._capacity[order]
            filled = np.clip(self._missing - (np.cumsum(capacity, axis=-1) - capacity), 0, capacity)
            step = np.empty_like(filled)
            np.put_along_axis(step, order, filled, -1)
            v += step / safe
        if self._free.any():
            v = np.where(self._free & (c < 0), self._upper, v)
        return self._columns.to_x(np.clip(v, self._lower, self._upper))

    def support_bound(self, c: Array) -> float:
        return bound_at(c, self.argmin(-c))

    def project(self, p: Array) -> Array:
        v = self._columns.nearest(p)
        if self.is_simplex:
            return self._columns.to_x(onto_simplex(v, self._beta / self._a[0]))
        weight = self._columns.squares
        price = _clearing_price(v, self._lower, self._upper, self._a, weight, self._beta)
        wanted = v - price[..., None] * self._a / weight
        nearest = np.clip(wanted, self._lower, self._upper)
        missing = self._beta - nearest @ self._a
        off = np.abs(missing) > 1e-13 * (np.abs(self._beta) + self._capacity.sum())
        for k in np.ndindex(*off.shape) if off.any() else ():  # far points, where the price has too few digits
            if off[k]:
                nearest[k] = self._filled(nearest[k], wanted[k], float(missing[k]))
        return self._columns.to_x(nearest)

    def _filled(self, v: Array, wanted: Array, missing: float) -> Array:
        """v moved within its bounds until a'v is right, first in the entries that mind it least."""
        up = (self._a > 0) == (missing > 0)
        target = np.where(self._free, v, np.where(up, self._upper, self._lower))
        price = self._columns.squares * np.abs(wanted - target) / np.where(self._free, 1.0, np.abs(self._a))
        order = np.argsort(price, kind="stable")
        room = np.abs(self._a * (target - v))[order]
        used = np.clip(abs(missing) - (np.cumsum(room) - room), 0, room)
        share = np.zeros_like(v)
        share[order] = np.where(room > 0, used / np.where(room > 0, room, 1.0), 0.0)
        return np.asarray(v + share * (target - v))

    def action_family(self, minimise: Minimiser) -> ActionFamily:
        plain = self._plain()
        family = None if plain is None else family_of_bounds(plain)
        return family or super().action_family(minimise)

    def arms(self) -> Arms | None:
        plain = self._plain()
        return None if plain is None else Arms.of_bounds(plain)

    def simplices(self) -> Simplices | None:
        arms = self.arms()
        return None if arms is None else Simplices.of_simplex(arms.size, arms.scale)

    def entropy_argmin(self, c: Array) -> Array | None:
        plain = self._plain()
        return None if plain is None else clipped_exponentials(plain.lower, plain.upper, plain.total, c)


class Simplex(CappedSimplex):
    """The whole simplex { x >= 0, sum x = total }."""

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        found = super().of(facts)
        if found is None or not found.is_simplex or len(found._a) != facts.layout.size:
            return None
        found.points = None  # sizes are formulas
        found.softmax_total = found.total
        return found

    @cached_property
    def total(self) -> float:
        """The sum of the entries."""
        return float(self._columns.to_x(np.full(len(self._a), self._beta / self._a.sum())).sum())

    def radius(self, p: float) -> Measure:
        return exact(self.total)

    def diameter(self, p: float) -> Measure:
        return exact(self.total * (1.0 if np.isinf(p) else 2 ** (1 / p)))

    def interval(self, x: Array) -> tuple[Array, Array]:
        slip = 1e-15 * self.total * np.abs(x).max(axis=-1)
        return self.total * x.min(axis=-1) - slip, self.total * x.max(axis=-1) + slip

    def entropy_argmin(self, c: Array) -> Array | None:
        weights = np.exp(c.min(axis=-1, keepdims=True) - c)
        weights *= self.total / weights.sum(axis=-1, keepdims=True)
        return np.asarray(weights)


def _bounded(conic: ConicSet) -> tuple[Array, Array, Array, float] | None:
    """(lower, upper, a, beta) of the coordinates, all bounds finite and as tight as a'v = beta makes them."""
    ends = coordinate_bounds(conic)
    if ends is None or conic.E.shape[0] != 1:
        return None
    lower, upper = ends
    a, beta = conic.E.toarray()[0], float(conic.e[0])
    least = np.where(a > 0, lower, upper) * a
    most = np.where(a > 0, upper, lower) * a
    least[a == 0] = most[a == 0] = 0
    if not np.isfinite(least).all():  # a simplex written with the other sign
        a, beta, least, most = -a, -beta, -most, -least
        if not np.isfinite(least).all():
            return None
    divisor = np.where(a == 0, 1.0, a)
    implied = (beta - (least.sum() - least)) / divisor  # the others at their least
    upper = np.where(a > 0, np.minimum(upper, implied), upper)
    lower = np.where(a < 0, np.maximum(lower, implied), lower)
    most = np.where(a > 0, upper, lower) * a
    if np.isfinite(most).all():
        implied = (beta - (most.sum() - most)) / divisor  # the others at their most
        lower = np.where(a > 0, np.maximum(lower, implied), lower)
        upper = np.where(a < 0, np.minimum(upper, implied), upper)
    return (lower, upper, a, beta) if np.isfinite(upper - lower).all() else None


def _clearing_price(p: Array, lower: Array, upper: Array, a: Array, weight: Array, beta: float) -> Array:
    """The mu with a'clip(p - mu a/weight, lower, upper) = beta: the root of a falling piecewise linear function."""
    on = a != 0
    p, lower, upper, a, weight = p[..., on], lower[on], upper[on], a[on], weight[on]
    ends = np.stack([(p - upper) * weight / a, (p - lower) * weight / a])
    first, last = ends.min(axis=0), ends.max(axis=0)
    slope = np.broadcast_to(a * a / weight, p.shape)
    times = np.concatenate([first, last], axis=-1)
    change = np.concatenate([-slope, slope], axis=-1)
    order = np.argsort(times, axis=-1, kind="stable")
    times, change = np.take_along_axis(times, order, -1), np.take_along_axis(change, order, -1)
    rate = np.cumsum(change, axis=-1)  # the slope after each breakpoint
    steps = rate[..., :-1] * np.diff(times, axis=-1)
    start = (a * np.where(a > 0, upper, lower)).sum()
    value = start + np.concatenate([np.zeros((*p.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)
    k = np.clip((value >= beta).sum(axis=-1, keepdims=True) - 1, 0, times.shape[-1] - 2)
    at, height, fall = (np.take_along_axis(q, k, -1)[..., 0] for q in (times, value, rate))
    return np.asarray(at + np.where(fall < 0, (height - beta) / np.where(fall < 0, -fall, 1.0), 0.0))
