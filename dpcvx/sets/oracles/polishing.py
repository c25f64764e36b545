"""Minimisers to all of their digits from a few of them: Newton's method on the constraints that hold with equality.

    min 1/2 w'Qw + <q, w>  over  s0 - A w in K,  E w = 0,    K a product of half-lines and second-order cones.

A solver's point and dual show which rows and cones are active. With these held fixed, the conditions of Karush, Kuhn
and Tucker are smooth equations that a few steps solve to rounding. What comes out is returned only where it is proved:
it is stationary, no multiplier is negative and every cone holds. Where active rows cannot be told, or are too many to
be independent, the answer is None, and the solver is to be asked for its digits.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from dpcvx.arrays import Array
from dpcvx.sets.geometry.centered_form import CenteredForm

_MOST = 300  # coordinates and active rows up to which dense systems are solved
_STEPS = 6
_STILL = 1e-11  # a step, the set being of size 1, after which the point counts as found
_OUTSIDE = 1e-11  # slack that may be missing
_NEGATIVE = 1e-9  # part of the largest multiplier by which one may be below 0


class Polishing:
    """The dense form of a program of small size, with half-lines and second-order cones alone.

    Attributes:
        A, s0, E, Q: as above, dense.
        plain, balls: the places of the half-lines, and the rows of each second-order cone.
        curvatures: of each cone, B'B for its rows B without the first.
    """

    def __init__(self, form: CenteredForm, quadratic: sparse.csc_array | None = None) -> None:
        self.A, self.s0, self.E = form.A.toarray(), form.s0, form.E.toarray()
        n = self.A.shape[1]
        self.Q = np.zeros((n, n)) if quadratic is None else quadratic.toarray()
        self.plain = np.flatnonzero(form.cones.polyhedral_rows())
        self.balls = form.cones.balls(len(form.s0)) or []
        self.curvatures = [A.T.dot(A) for A in (self.A[rows.start + 1 : rows.stop] for rows in self.balls)]

    @classmethod
    def of(cls, form: CenteredForm, quadratic: sparse.csc_array | None = None) -> "Polishing | None":
        """None where the program is too large, or has other cones."""
        if not all(cone.is_polyhedral or cone.is_ball for cone in form.cones.cones):
            return None
        if form.A.shape[1] > _MOST or len(form.s0) > 4 * _MOST:
            return None
        return cls(form, quadratic)

    def polished(self, q: Array, w: Array, dual: Array) -> Array | None:
        """The minimiser near w, proved; None where that fails.

        Args:
            q: the linear part.
            w, dual: the solver's point and its dual of the inequality rows.
        """
        slack = self.s0 - self.A.dot(w)
        largest = float(dual.max(initial=0.0))
        if not largest > 0 or not np.isfinite(largest):
            return None
        active = self.plain[dual[self.plain] > largest * slack[self.plain]]
        places = [k for k, rows in enumerate(self.balls) if dual[rows.start] > largest * _room(slack[rows])]
        curved = [(self.balls[k], self.curvatures[k]) for k in places]
        count = len(self.E) + len(active) + len(curved)
        n = len(w)
        if count > n:
            return None
        weights = [float(dual[rows.start]) for rows, _ in curved]
        system = np.zeros((n + count, n + count))
        right = np.empty(n + count)
        fixed = n + len(self.E) + len(active)
        system[n:fixed, :n] = np.concatenate([self.E, self.A[active]])
        for _ in range(_STEPS):
            system[:n, :n] = self.Q
            right[n : n + len(self.E)] = -self.E.dot(w)
            right[n + len(self.E) : fixed] = slack[active]
            for k, (rows, curvature) in enumerate(curved):
                t, x, A = slack[rows.start], slack[rows.start + 1 : rows.stop], self.A[rows.start + 1 : rows.stop]
                norm = float(np.sqrt(x.dot(x)))
                if not norm > 1e-6:
                    return None  # the tip of the cone
                along = (x / norm).dot(A)
                system[:n, :n] += (weights[k] / norm) * (curvature - np.multiply.outer(along, along))
                system[fixed + k, :n] = self.A[rows.start] - along
                right[fixed + k] = t - norm
            system[:n, n:] = system[n:, :n].T
            right[:n] = -(self.Q.dot(w) + q)
            _, _, found, failed = lapack.dgesv(system, right)
            if failed or not np.isfinite(found).all():
                return None
            step, multipliers = found[:n], found[n + len(self.E) :]
            weights = multipliers[len(active) :].tolist()
            w = w + step
            slack = self.s0 - self.A.dot(w)
            if float(np.abs(step).max()) <= _STILL:
                good = multipliers.min(initial=0.0) >= -_NEGATIVE * np.abs(multipliers).max(initial=0.0)
                return w if good and self._holds(slack) else None
        return None

    def _holds(self, slack: Array) -> bool:
        return slack[self.plain].min(initial=0.0) >= -_OUTSIDE and all(
            _room(slack[rows]) >= -_OUTSIDE for rows in self.balls
        )


def _room(slack: Array) -> float:
    """t - |x| of a slack (t, x)."""
    return float(slack[0] - np.sqrt(slack[1:].dot(slack[1:])))
