"""Rough minimisers over half-spaces and second-order cones by a few quadratic programs, each with flat cones.

    min 1/2 w'Qw + <q, w>  over  s0 - A w in K,  E w = 0,    K a product of half-lines and second-order cones.

A cone t >= |x| is replaced by the half-space that touches it at the slack of the last point, t >= <x', x>/|x'|, and its
curvature there, times its last multiplier, is added to the objective: sequential quadratic programming. On a convex set
every such program is feasible, and three or four of them find the active constraints, where an interior-point method of
sparse matrices takes eight iterations of the same price. Nothing is proved here: who polishes the answer proves it.
"""

import daqp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.oracles.polishing import Polishing

_COORDINATES = 100  # up to which dense programs are fast
_MOST = 12  # programs
_CLOSE = 1e-2  # a step, the set being of size 1, after which active constraints are told
_NEAR = 0.1  # the same where they were active in the program before
_DAMPING = 1e-2  # curvature in all directions, relative to the linear part
_EQUALITY = 5  # DAQP's word


class TangentPrograms:
    """The programs of one set, for any linear part."""

    def __init__(self, polishing: Polishing) -> None:
        self._of = polishing
        rows, equal = len(polishing.plain), len(polishing.E)
        self._rows = np.zeros((equal + rows + len(polishing.balls), polishing.A.shape[1]))
        self._rows[:equal], self._rows[equal : equal + rows] = polishing.E, polishing.A[polishing.plain]
        self._sense = np.zeros(len(self._rows), dtype=np.intc)
        self._sense[:equal] = _EQUALITY

    @classmethod
    def of(cls, polishing: Polishing) -> "TangentPrograms | None":
        """None where no cone is curved, or there are too many coordinates."""
        if not polishing.balls or polishing.A.shape[1] > _COORDINATES:
            return None
        return cls(polishing)

    def minimise(self, q: Array) -> tuple[Array, Array] | None:
        """A point near the minimiser and its multipliers, in the places of the rows; None where none was found."""
        p = self._of
        size = float(np.sqrt(q.dot(q)))
        if not 0 < size < np.inf:
            return None
        equal, first = len(p.E), len(p.E) + len(p.plain)
        w, rows = -q / size, self._rows.copy()
        ends, weights, active = np.empty(len(rows)), None, b""
        for _ in range(_MOST):
            slack = p.s0 - p.A.dot(w)
            H = p.Q.copy()
            H.flat[:: len(w) + 1] += _DAMPING * size
            for k, ball in enumerate(p.balls):
                t, x = slack[ball.start], slack[ball.start + 1 : ball.stop]
                norm = float(np.sqrt(x.dot(x)))
                if not norm > 1e-6:
                    return None
                along = (x / norm).dot(p.A[ball.start + 1 : ball.stop])
                rows[first + k] = p.A[ball.start] - along
                ends[first + k] = t - norm
                normal = rows[first + k]
                weight = size / float(np.sqrt(normal.dot(normal)) or 1.0) if weights is None else weights[k]
                H += (weight / norm) * (p.curvatures[k] - np.multiply.outer(along, along))
            ends[:equal] = -p.E.dot(w)
            ends[equal:first] = slack[p.plain]
            step, _, flag, info = daqp.solve(H, p.Q.dot(w) + q, rows, ends, None, self._sense.copy(), primal_tol=1e-9)
            if flag != 1:
                return None
            w, multipliers = w + step, info["lam"]
            weights = multipliers[first:]
            before, active = active, (multipliers > 0).tobytes()
            if float(np.abs(step).max()) <= (_NEAR if active == before else _CLOSE):
                dual = np.zeros(len(p.s0))
                dual[p.plain] = multipliers[equal:first]
                dual[[ball.start for ball in p.balls]] = weights
                return w, dual
        return None
