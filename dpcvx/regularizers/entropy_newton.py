"""argmin <c, x> + sum x log x over a polytope by Newton's method, whose steps are quadratic programs.

In the coordinates z of the chart, x = x0 + B z and s = s0 - G z >= 0. A step minimises the quadratic model of the
function over the whole polytope by an active-set method, which begins with the rows that were active in the last step:
near the minimiser they stay, and a step costs about as much as a linear system. Auxiliary coordinates, which the
function does not see, get a little curvature around where they are; it vanishes with the steps.

The multipliers l of the last step prove how good the answer is. The function f is convex, so with r = f'(z) + G'l

    f(z) - min f <= <r, z - z*> - (x - x*)'f''(x - x*)/2 + <l, s>,    f'' >= 1/u for entries up to u,

and where that gap is not tiny, the caller is told so. Entries below 1e-10 count as if x log x went on as its quadratic
model there, by which f changes by less than 1e-10 each.
"""

import daqp
import numpy as np
from scipy.linalg import lapack

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.bounds import blow_up
from dpcvx.sets.geometry.geometry import Geometry

_COORDINATES = 150  # above which a cone program, which knows about zeros, is faster
_ITERATIONS = 40
_LEAST = 1e-10  # entry below which x log x goes on as its quadratic model
_PROXIMAL = 1e-4  # curvature of auxiliary coordinates
_CLOSE = 1e-7  # length of a step, in the norm of the model, after which the next one changes nothing
_TOGETHER = 4  # steps of a batch after which its rows go on one by one
_OUTSIDE = 1e-12  # by which a step may leave the polytope, in units of the slacks at the center
_TINY = 1e-13  # gap, by which entries are known to 1e-6, that ends the steps
_GAP = 1e-8  # that the multipliers must prove, relative to the value or to 1
_FAR = 8.0  # change of the linear part, entry against entry, above which a cone program is faster
_SHRINK = 0.95  # share of an entry by which it may fall in one step


class EntropyNewton:
    """The minimisers over one polytope; `over` says which have one."""

    def __init__(self, geometry: Geometry) -> None:
        chart = geometry.chart
        self._chart = chart
        self._G, self._s0 = np.ascontiguousarray(chart.slack_rows().toarray()), chart.s0
        units = np.eye(chart.width)
        self._B = np.concatenate([np.zeros((len(chart.x0), chart.auxiliaries)), chart.push(units).T], axis=1)
        self._x0 = chart.x0
        self._proximal = np.zeros((chart.size, chart.size))
        self._proximal[: chart.auxiliaries, : chart.auxiliaries] = _PROXIMAL * np.eye(chart.auxiliaries)
        self._radius = 2 * blow_up(chart, geometry.nu)
        shown = self._B[:, chart.auxiliaries :]
        self._metric = np.linalg.inv(shown.T @ shown)
        self._largest = float((np.abs(chart.x0) + self._radius * np.linalg.norm(shown, axis=1)).max())
        self._center = np.concatenate([-np.log(np.maximum(chart.x0, _LEAST)), np.zeros(chart.size + len(self._s0))])
        self.size = len(self._center)

    @classmethod
    def over(cls, geometry: Geometry) -> "EntropyNewton | None":
        """None where the set is curved or has too many coordinates."""
        chart = geometry.chart
        if not geometry.is_polytope or not chart.dim or chart.size > _COORDINATES or chart.width != chart.dim:
            return None
        return cls(geometry)

    def minimise(self, c: Array, last: Array | None = None) -> tuple[Array, Array] | None:
        """The minimiser and where the next may begin; None where that is far, or the gap that is proved too large.

        Args:
            c: the linear part.
            last: where an earlier one ended: its linear part, its coordinates and its multipliers. The method begins
                there or at the center, which is close to the minimiser for the linear part -log x0.
        """
        n, k = len(c), self._chart.size
        start = self._center if last is None or np.ptp(c - last[:n]) > np.ptp(c - self._center[:n]) else last
        if np.ptp(c - start[:n]) > _FAR:
            return None
        z, loads = start[n : n + k], start[n + k :]
        for _ in range(_ITERATIONS):
            x, slope = self._at(c, z)
            curve = 1 / np.maximum(x, _LEAST)
            H = (self._B.T * curve) @ self._B + self._proximal
            found = self._step(H, slope, np.maximum(self._s0 - self._G @ z, 0.0), loads > 0)
            if found is None:
                return None
            step, loads = found
            fall = float((-(self._B @ step) * curve).max())
            length = 1.0 if fall <= _SHRINK else _SHRINK / fall
            z = z + length * step
            if length == 1.0 and (self._gap(c, z, loads) <= _TINY or step @ (H @ step) <= _CLOSE**2):
                break
        if not self._proved(c, z, loads):
            return None
        return self._inside(z), np.concatenate([c, z, loads])

    def _step(self, H: Array, slope: Array, room: Array, active: Bools) -> tuple[Array, Array] | None:
        """The minimiser d of <slope, d> + d'H d/2 over G d <= room with its multipliers; None where it is not found.

        Where the rows that were active turn out to be those of the minimiser, a linear system is all that it takes.
        """
        rows, k = np.flatnonzero(active), len(H)
        if len(rows) <= k:
            system = np.zeros((k + len(rows), k + len(rows)))
            system[:k, :k] = H
            system[:k, k:], system[k:, :k] = self._G[rows].T, self._G[rows]
            both, failed = lapack.dgesv(system, np.concatenate([-slope, room[rows]]))[2:]
            step, loads = both[:k], np.zeros(len(room))
            loads[rows] = both[k:]
            if not failed and np.all(loads >= 0) and np.all(self._G @ step <= room + _OUTSIDE):
                return step, loads
        marks = active.astype(np.int32)
        step, _, flag, told = daqp.solve(H, slope, self._G, room, None, marks, primal_tol=1e-12, eps_prox=0.0)
        return (step, np.maximum(told["lam"], 0.0)) if flag == 1 else None

    def minimise_together(self, c: Array, last: Array) -> tuple[Array, Array, Bools]:
        """Minimisers (r, n) for linear parts (r, n), where they next may begin, and for which of them this holds.

        Rows of the batch whose active rows of the polytope are the same, and stay it, share their linear algebra. The
        others are not found here.
        """
        n, k = c.shape[1], self._chart.size
        points, ends, found = np.empty(c.shape), np.full(last.shape, np.nan), np.zeros(len(c), dtype=bool)
        near = np.flatnonzero(np.ptp(c - last[:, :n], axis=1) <= _FAR)
        kinds: dict[bytes, list[int]] = {}
        for i, active in zip(near.tolist(), last[near, n + k :] > 0, strict=True):
            kinds.setdefault(active.tobytes(), []).append(i)
        for members in kinds.values():
            group = np.array(members)
            rows = np.flatnonzero(last[group[0], n + k :] > 0)
            if len(group) == 1 or len(rows) > k:
                continue
            z, loads, proved = self._newton_together(c[group], last[group, n : n + k], rows)
            group = group[proved]
            points[group], found[group] = self._inside(z[proved]), True
            ends[group] = np.concatenate([c[group], z[proved], loads[proved]], axis=1)
        return points, ends, found

    def _newton_together(self, c: Array, z: Array, rows: Array) -> tuple[Array, Array, Bools]:
        """Newton steps from z with these rows active; where they end, the multipliers, and whether that is proved."""
        r, k = z.shape
        system = np.zeros((r, k + len(rows), k + len(rows)))
        system[:, :k, k:], system[:, k:, :k] = self._G[rows].T, self._G[rows]
        loads, proved = np.zeros((r, len(self._s0))), np.ones(r, dtype=bool)
        for _ in range(_TOGETHER):
            x, slope = self._at(c, z)
            curve = 1 / np.maximum(x, _LEAST)
            system[:, :k, :k] = (self._B.T * curve[:, None]) @ self._B + self._proximal
            room = np.maximum(self._s0 - z @ self._G.T, 0.0)
            try:
                both = np.linalg.solve(system, np.concatenate([-slope, room[:, rows]], axis=1)[..., None])[..., 0]
            except np.linalg.LinAlgError:
                return z, loads, np.zeros(r, dtype=bool)
            step, loads[:, rows] = both[:, :k], both[:, k:]
            inside = (step @ self._G.T <= room + _OUTSIDE).all(axis=1)
            fall = (-(step @ self._B.T) * curve).max(axis=1)
            proved &= inside & (fall <= _SHRINK) & (loads >= 0).all(axis=1)
            z = z + step
            small = self._gap(c, z, loads) <= _TINY
            if np.all(small | ~proved):
                break
        return z, loads, proved & small

    def _at(self, c: Array, z: Array) -> tuple[Array, Array]:
        """x, and the slope of the function in z."""
        x = self._x0 + z @ self._B.T
        held = np.maximum(x, _LEAST)
        return x, (c + np.log(held) + x / held) @ self._B

    def _proved(self, c: Array, z: Array, loads: Array) -> bool:
        """Whether the multipliers prove a small gap."""
        return bool(self._gap(c, z, loads) <= _GAP * max(1.0, abs(float(c @ (self._x0 + self._B @ z)))))

    def _gap(self, c: Array, z: Array, loads: Array) -> Array:
        """By how much the value at z can be above the least one, as the multipliers prove; on leading axes."""
        left = self._at(c, z)[1] + loads @ self._G
        hidden, seen = left[..., : self._chart.auxiliaries], left[..., self._chart.auxiliaries :]
        # f'' >= 1/u along x, u the largest entry: what is left of its slope in x costs at most u |left|^2/2 there
        cost = self._largest / 2 * ((seen @ self._metric) * seen).sum(axis=-1)
        unseen = self._radius * np.sqrt((hidden * hidden).sum(axis=-1))
        return np.asarray(cost + unseen + (loads * np.abs(self._s0 - z @ self._G.T)).sum(axis=-1))

    def _inside(self, z: Array) -> Array:
        """The points of z, moved toward the center by what rounding took them out."""
        short = (z @ self._G.T / self._s0).max(axis=-1, keepdims=True)
        return self._chart.point(z / np.maximum(short, 1.0))
