"""Sets recognised on the canonical data whose linear minimiser and Euclidean projection need no solver.

`Knapsack` is { lo <= v <= hi, a'v = beta }: boxes (no equality), simplices, scaled and capped simplices. `Ball` is a
Euclidean ball within the affine hull. Both work on x = P v + offset with orthogonal columns P, and on leading batch
axes.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import SecondOrder
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import entry_bounds, rows_times


class ClosedForm(ABC):
    """A recognised set."""

    name: str

    @abstractmethod
    def argmin(self, c: Array) -> Array:
        """A minimiser of <c, x>, as a vector."""

    @abstractmethod
    def project(self, p: Array) -> Array:
        """The nearest point to p, as a vector."""

    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """The exact bounding box, as vectors."""


class _Columns:
    """x = P v + offset where every x depends on at most one v."""

    def __init__(self, conic: ConicSet) -> None:
        self.offset = conic.offset
        self.squares = np.asarray(conic.P.multiply(conic.P).sum(axis=0)).ravel()
        self._P = conic.P
        self._transposed = sparse.csr_array(conic.P.T)
        identity = conic.P.shape[0] == conic.P.shape[1] and (conic.P - sparse.eye_array(conic.columns)).nnz == 0
        self.is_identity = identity and not conic.offset.any()
        self.is_positive = bool(np.all(conic.P.data > 0)) and not conic.offset.any()
        square = conic.P.shape[0] == conic.P.shape[1] and self.is_positive
        diagonal = conic.P.diagonal()
        # x = scale v, entry by entry
        self.scale = diagonal if square and conic.P.nnz == len(diagonal) and bool(np.all(diagonal > 0)) else None

    def to_x(self, v: Array) -> Array:
        return v if self.is_identity else self.offset + rows_times(v, self._transposed)

    def pull(self, c: Array) -> Array:
        return c if self.is_identity else rows_times(c, self._P)

    def row_shares(self) -> Array:
        """How far each x moves when the tangent space moves by 1 in its favour."""
        scaled = self._P @ sparse.diags_array(1 / np.sqrt(self.squares))
        return np.asarray(np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()))

    def nearest(self, p: Array) -> Array:
        """The v whose x is nearest to p."""
        return p if self.is_identity else rows_times(p - self.offset, self._P) / self.squares


class Knapsack(ClosedForm):
    """Bounds on single coordinates and at most one equality."""

    def __init__(self, columns: _Columns, lower: Array, upper: Array, a: Array | None, beta: float) -> None:
        self._columns = columns
        self.lower, self.upper, self.a, self.beta = lower, upper, a, beta
        self.is_simplex = False
        if a is None:
            self.name = "closed form (box)"
            return
        self._cheap = np.where(a > 0, lower, upper)  # where a'v is least
        self._free = a == 0
        self._cheap[self._free] = lower[self._free]
        self._capacity = np.abs(a) * (upper - lower)
        self._missing = beta - float(a @ self._cheap)
        self._vertices = bool(np.all(self._capacity >= self._missing * (1 - 1e-12)))
        plain = columns.is_positive and np.all(lower == 0) and np.ptp(a) == 0 and np.ptp(columns.squares) == 0
        self.is_simplex = bool(self._vertices and plain)
        if self.is_simplex:
            self.total = float(columns.to_x(np.full(len(a), beta / a.sum())).sum())  # of the entries of x
        self.name = "closed form (simplex)" if self.is_simplex else "closed form (capped simplex)"

    def plain(self) -> tuple[Array, Array, float | None] | None:
        """(lower, upper, total) where it reads lower <= x <= upper, and sum x = total unless that is None."""
        scale = self._columns.scale
        if scale is None:
            return None
        lower, upper = scale * self.lower, scale * self.upper
        if self.a is None:
            return lower, upper, None
        weights = self.a / scale
        if weights[0] <= 0 or np.ptp(weights) > 1e-14 * weights[0]:
            return None
        return lower, upper, self.beta / float(weights[0])

    def argmin(self, c: Array) -> Array:
        c = self._columns.pull(c)
        if self.a is None:
            return self._columns.to_x(np.where(c > 0, self.lower, self.upper))
        safe = np.where(self._free, 1.0, self.a)
        ratio = np.where(self._free, np.inf, c / safe)
        v = np.broadcast_to(self._cheap, c.shape).copy()
        if self._vertices:
            best = np.argmin(ratio, axis=-1)[..., None]
            np.put_along_axis(v, best, np.take_along_axis(v, best, -1) + self._missing / self.a[best], -1)
        else:
            order = np.argsort(ratio, axis=-1, kind="stable")
            capacity = self._capacity[order]
            filled = np.clip(self._missing - (np.cumsum(capacity, axis=-1) - capacity), 0, capacity)
            step = np.empty_like(filled)
            np.put_along_axis(step, order, filled, -1)
            v += step / safe
        if self._free.any():
            v = np.where(self._free & (c < 0), self.upper, v)
        return self._columns.to_x(np.clip(v, self.lower, self.upper))

    def project(self, p: Array) -> Array:
        v = self._columns.nearest(p)
        if self.a is None:
            return self._columns.to_x(np.clip(v, self.lower, self.upper))
        if self.is_simplex:
            return self._columns.to_x(_onto_simplex(v, self.beta / self.a[0]))
        weight = self._columns.squares
        price = _clearing_price(v, self.lower, self.upper, self.a, weight, self.beta)
        wanted = v - price[..., None] * self.a / weight
        nearest = np.clip(wanted, self.lower, self.upper)
        missing = self.beta - nearest @ self.a
        off = np.abs(missing) > 1e-13 * (np.abs(self.beta) + self._capacity.sum())
        for k in np.ndindex(*off.shape) if off.any() else ():  # far points, where the price has too few digits
            if off[k]:
                nearest[k] = self._filled(nearest[k], wanted[k], float(missing[k]))
        return self._columns.to_x(nearest)

    def _filled(self, v: Array, wanted: Array, missing: float) -> Array:
        """v moved within its bounds until a'v is right, first in the entries that mind it least."""
        assert self.a is not None
        up = (self.a > 0) == (missing > 0)
        target = np.where(self._free, v, np.where(up, self.upper, self.lower))
        order = np.argsort(np.abs(wanted - target), kind="stable")
        room = np.abs(self.a * (target - v))[order]
        used = np.clip(abs(missing) - (np.cumsum(room) - room), 0, room)
        share = np.zeros_like(v)
        share[order] = np.where(room > 0, used / np.where(room > 0, room, 1.0), 0.0)
        return np.asarray(v + share * (target - v))

    def box(self) -> tuple[Array, Array]:
        ends = self._columns.to_x(self.lower), self._columns.to_x(self.upper)
        return np.minimum(*ends), np.maximum(*ends)


class Ball(ClosedForm):
    """A Euclidean ball around a point, within the range of P."""

    name = "closed form (ball)"

    def __init__(self, columns: _Columns, center: Array, radius: float) -> None:
        self._columns = columns
        self.center, self.radius = columns.to_x(center), radius

    def _tangent(self, d: Array) -> Array:
        columns = self._columns
        return d if columns.is_identity else columns.to_x(columns.pull(d) / columns.squares) - columns.offset

    def argmin(self, c: Array) -> Array:
        largest = np.abs(c).max(axis=-1, keepdims=True)
        c = self._tangent(c / np.where(largest > 0, largest, 1.0))  # squares must neither overflow nor vanish
        norm = np.sqrt((c * c).sum(axis=-1, keepdims=True))
        return self.center - c * (self.radius / np.where(norm > 0, norm, 1.0))

    def project(self, p: Array) -> Array:
        d = self._tangent(p - self.center)
        largest = np.maximum(np.abs(d).max(axis=-1, keepdims=True), self.radius)
        d = d / largest  # squares must not overflow
        norm = np.sqrt((d * d).sum(axis=-1, keepdims=True))
        return np.asarray(self.center + d * np.minimum(largest, self.radius / np.where(norm > 0, norm, 1.0)))

    def box(self) -> tuple[Array, Array]:
        reach = self.radius * self._columns.row_shares()
        return self.center - reach, self.center + reach


class Point(ClosedForm):
    """A single point."""

    name = "closed form (point)"

    def __init__(self, x: Array) -> None:
        self._x = x

    def argmin(self, c: Array) -> Array:
        return np.broadcast_to(self._x, c.shape).copy()

    def project(self, p: Array) -> Array:
        return np.broadcast_to(self._x, p.shape).copy()

    def box(self) -> tuple[Array, Array]:
        return self._x, self._x


def recognise(conic: ConicSet) -> ClosedForm | None:
    """The closed form behind a conic set, if it has one."""
    if conic.auxiliary.any() or np.any(np.diff(conic.P.indptr) > 1) or conic.E.shape[0] > 1:
        return None
    if conic.is_polyhedral:
        return _recognise_knapsack(conic)
    return _recognise_ball(conic)


def _recognise_knapsack(conic: ConicSet) -> Knapsack | None:
    if np.any(np.diff(conic.A.indptr) != 1):
        return None
    lower, upper = np.full(conic.columns, -np.inf), np.full(conic.columns, np.inf)
    entry_bounds(conic.A, conic.b, lower, upper)
    columns = _Columns(conic)
    if not conic.E.shape[0]:
        return Knapsack(columns, lower, upper, None, 0.0) if np.isfinite(upper - lower).all() else None
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
    return Knapsack(columns, lower, upper, a, beta) if np.isfinite(upper - lower).all() else None


def _recognise_ball(conic: ConicSet) -> Ball | None:
    cones = conic.cones.cones
    if len(cones) != 1 or not isinstance(cones[0], SecondOrder) or cones[0].count != 1 or conic.E.shape[0]:
        return None
    if conic.A.indptr[1] > 0:  # the head is not constant
        return None
    tail, t = conic.A[1:], conic.b[1:]
    columns = _Columns(conic)
    gram = sparse.csr_array(tail.T @ tail)
    diagonal = gram.diagonal()
    scale = diagonal / columns.squares
    off = gram - sparse.diags_array(diagonal)
    if np.ptp(scale) > 1e-12 * scale[0] or abs(off).max() > 1e-13 * diagonal.max():
        return None
    center = (tail.T @ t) / diagonal
    rest = t - tail @ center
    radius = np.sqrt(max(conic.b[0] ** 2 - rest @ rest, 0.0) / scale[0])
    return Ball(columns, center, float(radius))


def _onto_simplex(p: Array, total: float) -> Array:
    """The projection onto { v >= 0, sum v = total } by sorting."""
    p = p - p.max(axis=-1, keepdims=True)  # a constant changes nothing, and far points keep their digits
    down = np.sort(p, axis=-1)[..., ::-1]
    excess = (np.cumsum(down, axis=-1) - total) / np.arange(1, p.shape[-1] + 1)
    last = (down > excess).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(p - np.take_along_axis(excess, last, -1), 0.0))


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
