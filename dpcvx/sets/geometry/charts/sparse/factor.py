"""Factors of the diagonal Hessian of the sparse chart, restricted to the tangent space by its normal equations."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT
from dpcvx.sets.geometry.charts.chart import Factor, length
from dpcvx.sets.solvers.normal_equations import NormalEquations


class SparseFactor(Factor):
    """H = D at one point, with E W E' factorised, W = D^-1.

    Args:
        system: of the equalities.
        z: the point.
        gradient: of the barrier there.
        root: of the inverse of the diagonal; it may have any sign.
        accurate: whether every solution is refined.
        room: how far each coordinate may go to its only inequality; None where some have more, or none.
    """

    def __init__(
        self,
        system: NormalEquations,
        z: Array,
        gradient: Array,
        root: Array,
        accurate: bool,
        room: Array | None = None,
    ) -> None:
        self.z, self.gradient, self.room = z, gradient, room
        self.dim = len(z) - system.count
        self._system, self._root, self._accurate = system, root, accurate
        self._W = root * root
        self._numeric = system.factorise(self._W)

    def solve(self, g: Array) -> Array:
        if g.ndim > 1:
            return _each(self.solve, g)
        d = self._W * g
        d -= self._W * self._system.columns(self._numeric.solve(self._system.rows(d)))
        if self._accurate:
            d -= self._W * self._system.columns(self._numeric.solve(self._system.rows(d)))
        return d

    def newton_step(self, gradient: Array) -> Array:
        """W (gradient - E'y) with S y = E W gradient - E z, so that z less the step is on the equalities again."""
        d = self._W * gradient
        d -= self._W * self._system.columns(self._numeric.solve(self._system.rows(d - self.z)))
        if self._accurate:
            d -= self._W * self._system.columns(self._numeric.solve(self._system.rows(d - self.z)))
        return d

    def tangential(self, gradient: Array, step: Array) -> Array:
        """H step: of the gradient itself nearly all may be normal, and its rounding larger than the decrement."""
        return self.apply(step)

    def solve_schur(self, c: Array) -> Array:
        return self.solve(c)

    def apply(self, d: Array) -> Array:
        return np.asarray(d / self._W)

    def sample(self, rng: np.random.Generator, radius: float, leading: tuple[int, ...] = ()) -> tuple[Array, Array]:
        n = rng.standard_normal((*leading, *self.z.shape))
        u = self._straightened(n) if n.ndim == 1 else _each(self._straightened, n)
        u *= radius / length(u)
        return u * self._root, u / self._root

    def _straightened(self, n: Array) -> Array:
        """The part of n in the straightened tangent space."""
        along = self._system.columns(self._numeric.solve(self._system.rows(n * self._root)))
        along *= self._root
        return np.subtract(n, along, out=along)

    @cached_property
    def _isometry(self) -> Array:
        """Orthonormal columns (width, dim) that span the straightened tangent space."""
        if len(self.z) > DENSE_LIMIT:
            raise UnsupportedConeError(
                f"A direction of the {self.dim}-dimensional tangent space is asked for one by one, which needs a dense "
                f"matrix; they are made up to {DENSE_LIMIT} lifted coordinates, and the set has {len(self.z)}. Use "
                '"direction", by which points of the Dikin ellipsoid are drawn without it.'
            )
        normals = (self._system.E.toarray() * self._root).T
        return np.linalg.qr(normals, mode="complete")[0][:, normals.shape[1] :]

    def half_solve(self, w: Array) -> Array:
        return np.asarray((w @ self._isometry.T) * self._root)

    def half_apply(self, w: Array) -> Array:
        return np.asarray((w @ self._isometry.T) / self._root)

    def __getstate__(self) -> dict[str, Any]:
        """Without the numbers of the solver, which come from the diagonal again."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_numeric", "_isometry")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._numeric = self._system.factorise(self._W)


class SparseFactors(Factor):
    """The same at a batch of points, each with its own factorisation."""

    def __init__(self, z: Array, factors: list[SparseFactor], dim: int) -> None:
        self._factors, self._batch, self.dim = factors, z.shape[:-1], dim
        self.z = np.array([factor.z for factor in factors]).reshape(z.shape)
        self.gradient = np.array([factor.gradient for factor in factors]).reshape(z.shape)

    def _all(self, oracle: Callable[[SparseFactor, Array], Array], given: Array) -> Array:
        """An oracle of each point on its own vectors (..., *batch, k)."""
        k = len(self._batch)
        leading = given.shape[: given.ndim - 1 - k]
        rows = given.reshape(-1, len(self._factors), given.shape[-1])
        answers = np.array([[oracle(f, row) for f, row in zip(self._factors, each, strict=True)] for each in rows])
        return answers.reshape(*leading, *self._batch, answers.shape[-1] if answers.size else given.shape[-1])

    def solve(self, g: Array) -> Array:
        return self._all(SparseFactor.solve, np.broadcast_to(g, np.broadcast_shapes(g.shape, self.z.shape)))

    def newton_step(self, gradient: Array) -> Array:
        return self._all(SparseFactor.newton_step, gradient)

    def tangential(self, gradient: Array, step: Array) -> Array:
        return self.apply(step)

    def solve_schur(self, c: Array) -> Array:
        return self.solve(c)

    def apply(self, d: Array) -> Array:
        return self._all(SparseFactor.apply, np.broadcast_to(d, np.broadcast_shapes(d.shape, self.z.shape)))

    def half_solve(self, w: Array) -> Array:
        return self._all(SparseFactor.half_solve, w)

    def half_apply(self, w: Array) -> Array:
        return self._all(SparseFactor.half_apply, w)

    def sample(self, rng: np.random.Generator, radius: float, leading: tuple[int, ...] = ()) -> tuple[Array, Array]:
        drawn = [factor.sample(rng, radius, leading) for factor in self._factors]
        shape = (*leading, *self.z.shape)
        displacement, measure = (np.stack([each[i] for each in drawn], axis=-2).reshape(shape) for i in (0, 1))
        return displacement, measure


def _each(oracle: Callable[[Array], Array], vectors: Array) -> Array:
    """An oracle on each of the vectors (..., k)."""
    return np.array([oracle(one) for one in vectors.reshape(-1, vectors.shape[-1])]).reshape(vectors.shape)
