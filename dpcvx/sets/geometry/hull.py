"""The slacks of a set on its equalities, and how far a normal of its cones is from being constant on them."""

import numpy as np
import scipy.linalg

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.phase_one import TOUCHING
from dpcvx.sets.sparse_rows import row_sizes

_RANK = 1e-11  # relative size below which a direction counts as zero


class Hull:
    """The slacks of a set on its equalities: s0 + G y for all y, s0 that of the point v."""

    def __init__(self, conic: ConicSet, v: Array) -> None:
        Z = scipy.linalg.null_space(conic.E.toarray(), rcond=_RANK) if conic.E.shape[0] else np.eye(conic.columns)
        self.v = v
        self.G = conic.A @ Z
        self.s0 = conic.slack(v)
        constant, moving = np.abs(conic.b), abs(conic.A) @ np.abs(v)
        self.size = float(np.maximum(constant, moving).max(initial=0.0))
        reach = row_sizes(conic.A) * min(1.0, self.size)
        self.sizes = conic.cones.largest(np.maximum(np.maximum(constant, moving), reach))
        self.said = constant + moving  # sizes of slacks near v, row by row
        self.rounding = 16 * np.finfo(float).eps * self.said
        size = np.linalg.norm(self.G, axis=0)
        self.units = self.G[:, size > _RANK * size.max(initial=0.0)] / size[size > _RANK * size.max(initial=0.0)]
        self._moving = self._orthonormal(self.units)

    @staticmethod
    def _orthonormal(columns: Array) -> Array:
        U, values, _ = np.linalg.svd(columns, full_matrices=False)
        return np.asarray(U[:, values > _RANK * values.max(initial=0.0)])

    def projected(self, z: Array) -> Array:
        """z without what changes along the hull."""
        return np.asarray(z - self._moving @ (self._moving.T @ z))

    def residual(self, z: Array) -> float:
        """How much <z, s> still changes along the hull, for directions of length 1."""
        return float(np.abs(self.units.T @ z).max(initial=0.0))

    def gap(self, z: Array) -> tuple[float, float]:
        """<z, s> on the hull, and how much of it may be rounding or touching."""
        return float(z @ self.s0), float(TOUCHING * (np.abs(z) * self.sizes).max() + np.abs(z) @ self.rounding)
