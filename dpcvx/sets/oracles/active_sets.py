"""Projections onto polytopes of moderate size by an active-set method, auxiliary coordinates included.

    min |x - p|  over  x = x0 + V a,  G (u, a) <= s0,    V orthonormal, u the auxiliary coordinates.

The method is DAQP's, in units of the set's size. Without auxiliary coordinates the quadratic is the identity. With
them it is flat along u, so proximal steps are taken: d |u - u'|^2 is added, u' being the u before. They end at a
minimiser; it is proved by the conditions of Karush, Kuhn and Tucker, in which nothing but 2 d (u - u') is left over.

Each solve begins without active rows, and what is computed around it treats the points of a batch one by one in equal
calls: so the answer for a point has the same bits whatever stands beside it and whatever was asked before.
"""

import daqp
import numpy as np
from scipy.linalg import lapack

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.oracles.conic_oracles import DENSE_PROJECTION
from dpcvx.sets.solvers.spares import Spares

_THIN = 1e-9  # share of the room of a row by which an answer may be outside
_PROXIMAL = 1e-3  # curvature along auxiliary coordinates
_STEPS = 30  # proximal ones
_STATIONARY = 1e-13  # what may be left over, relative to the distance or to the set's size
_SETTINGS = {"primal_tol": 1e-11, "eps_prox": 0.0}


class ActiveSetProjection:
    """The nearest points of a polytope, sought in the coordinates of its chart."""

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
        self._axes, self._along = axes, np.ascontiguousarray(self._size * lapack.dtrtri(R)[0].T)
        self._shares = np.ascontiguousarray((rows / chart.s0[:, None]).T)  # of the room of each row that a step takes
        G = rows.copy()
        G[:, k:] = np.linalg.solve(R.T, rows[:, k:].T).T * self._size
        norm = np.linalg.norm(G, axis=1)
        keep = norm > 0
        self._G = np.ascontiguousarray(G[keep] / norm[keep, None])
        self._normals, self._tangents = np.ascontiguousarray(self._G.T), np.ascontiguousarray(self.V.T)
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

    def project(self, points: Array) -> tuple[Array, Bools]:
        """The projections of points (m, size), and for which of them the method finished.

        The method runs for points inside as well, for which it has little to do: who clips losses must not tell by the
        time which of them were outside. Inside a set of full dimension a point is its own projection, to the bit.
        """
        k = self._auxiliaries
        own = _each(points - self._x0, self.V) / self._size
        linear = np.zeros((len(points), k + own.shape[1]))
        linear[:, k:] = -own
        enough = _STATIONARY * np.abs(own).max(axis=1, initial=1.0)
        steps, found = np.zeros_like(linear), np.zeros(len(points), dtype=bool)
        model = self._models.take(self._set_up)
        for i, one in enumerate(linear):
            y = self._minimiser(model, one, enough[i])
            if y is not None:
                steps[i], found[i] = y, True
        self._models.put_back(model)
        steps[:, k:] = _each(steps[:, k:], self._along)  # of the axes, by which every entry keeps its digits
        worst = _each(steps, self._shares).max(axis=1, initial=0.0)
        found &= worst <= 1 + _THIN  # or some rows are so near that the method's tolerance is a share of their room
        answers = self._x0 + _each(steps[:, k:] / np.maximum(worst, 1.0)[:, None], self._axes)
        if not k:
            inside = np.all(_each(own, self._normals) <= self._s0, axis=1)
            if inside.any():
                full = own.shape[1] == points.shape[1]
                answers[inside] = (points if full else self._x0 + _each(self._size * own, self._tangents))[inside]
                found |= inside
        return answers, found

    def _minimiser(self, model: daqp.Model, linear: Array, enough: float) -> Array | None:
        """The minimiser (u, a) for a linear part, which is written to; None where the method did not finish."""
        k = self._auxiliaries
        model.update(f=linear, sense=self._idle)
        y, _, flag, _ = model.solve()
        if not k:
            return y if flag == 1 else None
        left, steps = _PROXIMAL * y[:k], 0
        while flag == 1 and np.abs(left).max() > enough and steps < _STEPS:
            linear[:k] -= left
            model.update(f=linear)
            y, _, flag, _ = model.solve()
            left, steps = _PROXIMAL * y[:k] + linear[:k], steps + 1
        return y if flag == 1 and np.abs(left).max() <= enough else None


def _each(vectors: Array, matrix: Array) -> Array:
    """vectors @ matrix by one call for each vector: other products round by how many there are."""
    return np.asarray(np.matmul(vectors[:, None, :], matrix)[:, 0, :])
