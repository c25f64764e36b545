"""argmin <c, x> + sum x log x over a polytope by Newton's method, whose steps are quadratic programs.

In the coordinates z of the chart, x = x0 + B z and s = s0 - G z >= 0. A step minimises the quadratic model of the
function over the whole polytope by an active-set method, which begins with the rows that were active in the last step:
near the minimiser they stay, and a step costs about as much as a linear system. Auxiliary coordinates, which the
function does not see, get a little curvature around where they are; it vanishes with the steps.

The multipliers l of the last step prove how good the answer is. The function f is convex, so with r = f'(z) + G'l

    f(z) - min f <= <r, z - z*> + <l, s>,    |z - z*| at most the size of the polytope,

and where that gap is not tiny, the caller is told so. Entries below 1e-10 count as if x log x went on as its quadratic
model there, by which f changes by less than 1e-10 each.
"""

import daqp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.bounds import blow_up
from dpcvx.sets.geometry.geometry import Geometry

_COORDINATES = 150  # above which a cone program, which knows about zeros, is faster
_ITERATIONS = 40
_LEAST = 1e-10  # entry below which x log x goes on as its quadratic model
_PROXIMAL = 1e-4  # curvature of auxiliary coordinates
_CLOSE = 1e-7  # length of a step, in the norm of the model, after which the next one changes nothing
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
            active = (loads > 0).astype(np.int32)
            room = np.maximum(self._s0 - self._G @ z, 0.0)
            step, _, flag, told = daqp.solve(H, slope, self._G, room, None, active, primal_tol=1e-12, eps_prox=0.0)
            if flag != 1:
                return None
            loads = np.maximum(told["lam"], 0.0)
            fall = float((-(self._B @ step) * curve).max())
            length = 1.0 if fall <= _SHRINK else _SHRINK / fall
            z = z + length * step
            if length == 1.0 and step @ (H @ step) <= _CLOSE**2:
                break
        if not self._proved(c, z, loads):
            return None
        return self._inside(z), np.concatenate([c, z, loads])

    def _at(self, c: Array, z: Array) -> tuple[Array, Array]:
        """x, and the slope of the function in z."""
        x = self._x0 + self._B @ z
        held = np.maximum(x, _LEAST)
        return x, (c + np.log(held) + x / held) @ self._B

    def _proved(self, c: Array, z: Array, loads: Array) -> bool:
        """Whether the multipliers prove a tiny gap."""
        x, slope = self._at(c, z)
        left = slope + loads @ self._G
        gap = float(np.linalg.norm(left)) * self._radius + float(loads @ np.abs(self._s0 - self._G @ z))
        return gap <= _GAP * max(1.0, abs(float(c @ x)))

    def _inside(self, z: Array) -> Array:
        """The point of z, moved toward the center by what rounding took it out."""
        short = float((self._G @ z / self._s0).max())
        return self._chart.point(z / max(short, 1.0))
