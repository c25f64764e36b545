"""Projections onto polytopes of moderate size by an active-set method, auxiliary coordinates included.

    min |x - p|  over  x = x0 + V a,  G (u, a) <= s0,    V orthonormal, u the auxiliary coordinates.

The method is DAQP's, in units of the set's size. Without auxiliary coordinates the quadratic is the identity. With
them it is flat along u, so proximal steps are taken: d |u - u'|^2 is added, u' being the u before. They end at a
minimiser; it is proved by the conditions of Karush, Kuhn and Tucker, in which nothing but 2 d (u - u') is left over.
"""

import daqp
import numpy as np
from scipy.linalg import lapack

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.oracles.conic_oracles import DENSE_PROJECTION
from dpcvx.sets.solvers.spares import Spares

_THIN = 1e-9  # share of the room of a row by which an answer may be outside
_PROXIMAL = 1e-3  # curvature along auxiliary coordinates
_STEPS = 30  # proximal ones
_STATIONARY = 1e-13  # what may be left over, relative to the distance or to the set's size
_SETTINGS = {"primal_tol": 1e-11, "eps_prox": 0.0}


class ActiveSetProjection:
    """The nearest points of a polytope in the coordinates of its chart, one at a time."""

    def __init__(self, chart: Chart) -> None:
        tangents = chart.tangent_basis().T
        axes = chart.push(tangents)
        self._size = float(np.linalg.norm(axes, axis=1).max())
        self.V, R = np.linalg.qr(axes.T)
        self._auxiliaries = k = chart.auxiliaries
        joint = np.zeros((k + chart.dim, chart.size))
        joint[:k, :k] = np.eye(k)
        joint[k:, k:] = tangents
        rows = -chart.slack_step(joint).T
        self._axes, self._R, self._rows, self._room = axes, R, rows, chart.s0
        G = rows.copy()
        G[:, k:] = np.linalg.solve(R.T, rows[:, k:].T).T * self._size
        norm = np.linalg.norm(G, axis=1)
        keep = norm > 0
        self._G = np.ascontiguousarray(G[keep] / norm[keep, None])
        self._s0 = chart.s0[keep] / norm[keep]
        self._x0 = chart.x0
        self._curvature = np.diag(np.repeat([_PROXIMAL, 1.0], [k, chart.dim]))
        self._linear = np.zeros(k + chart.dim)
        self._idle = np.zeros(len(self._s0), dtype=np.intc)
        self._models: Spares[daqp.Model] = Spares()

    @classmethod
    def of(cls, chart: Chart) -> "ActiveSetProjection | None":
        """None where there are too many coordinates for dense matrices, or none."""
        if chart.auxiliaries + chart.dim > DENSE_PROJECTION or chart.size - chart.width != chart.auxiliaries:
            return None
        return cls(chart)

    def _set_up(self) -> daqp.Model:
        model = daqp.Model()
        model.settings = _SETTINGS
        model.setup(self._curvature, self._linear, self._G, self._s0)
        return model

    def project(self, p: Array) -> Array | None:
        """The projection, or None where the method did not finish.

        The method runs for points inside as well, for which it has little to do: who clips losses must not tell by the
        time which of them were outside. Inside a set of full dimension a point is its own projection, to the bit. Each
        solve begins without active rows, so the answer does not depend on what was asked before.
        """
        k = self._auxiliaries
        own = self.V.T @ (p - self._x0) / self._size
        y = self._minimiser(own)
        if not k and np.all(self._G @ own <= self._s0):
            return p.copy() if len(own) == len(p) else np.asarray(self._x0 + self.V @ (self._size * own))
        if y is None:
            return None
        along = lapack.dtrtrs(self._R, self._size * y[k:])[0]  # of the axes, by which every entry keeps its digits
        steps = along if not k else np.concatenate([y[:k], along])
        worst = float((self._rows.dot(steps) / self._room).max())
        if not worst <= 1 + _THIN:  # some rows are so near that the method's tolerance is a share of their room
            return None
        return np.asarray(self._x0 + (along / max(worst, 1.0)).dot(self._axes))

    def _minimiser(self, own: Array) -> Array | None:
        """The (u, a) with a nearest to a point."""
        k = self._auxiliaries
        linear = np.zeros(k + len(own))
        linear[k:] = -own
        enough = _STATIONARY * max(1.0, float(np.abs(own).max(initial=0.0)))
        model = self._models.take(self._set_up)
        model.update(f=linear, sense=self._idle)
        y, _, flag, _ = model.solve()
        left, steps = _PROXIMAL * y[:k], 0
        while flag == 1 and np.abs(left).max(initial=0.0) > enough and steps < _STEPS:
            linear[:k] -= left
            model.update(f=linear)
            y, _, flag, _ = model.solve()
            left, steps = _PROXIMAL * y[:k] + linear[:k], steps + 1
        self._models.put_back(model)
        return y if flag == 1 and np.abs(left).max(initial=0.0) <= enough else None
