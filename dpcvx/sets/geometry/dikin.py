"""The Dikin ellipsoid of a declared set at a point: { x + d : <d, H d> <= 1 } in the tangent space; it stays inside."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arguments import generator
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, UnsupportedConeError
from dpcvx.sets.geometry.charts import DENSE_LIMIT, Chart, Factor
from dpcvx.sets.layout import Layout

SHRINK = 1 - 1e-9  # against rounding: the ellipsoid touches the boundary of the set


class DikinEllipsoid:
    """The ellipsoid at one point, or at a batch of points on leading axes.

    Displacements and covectors have the shape of the user's variable; directions w live in R^dim, and with H = C C' the
    displacement of w is C'^-1 w and the covector that measures it is C w.

    Attributes:
        center: the point(s), in the shape of the variable.
        dim: dimension of the set.
    """

    def __init__(self, chart: Chart, factor: Factor, layout: Layout) -> None:
        self._chart, self._factor, self._layout = chart, factor, layout
        self._point = chart.point(factor.z)
        self.center = layout.unflatten(self._point)
        self.dim = chart.dim

    def directions(self, rng: np.random.Generator, size: int | None = None, method: str = "direction") -> Array:
        """Random unit vectors w of R^dim, of shape (size,) + batch + (dim,).

        Args:
            rng: NumPy's generator.
            size: how many for each point; None draws one and leaves the axis out.
            method: "direction" (uniform), "cholesky" (signed unit vectors) or "eigen" (signed axes of the ellipsoid).
                All have mean zero and covariance I/dim.
        """
        shape = (() if size is None else (int(size),)) + self._point.shape[:-1]
        rng = generator(rng)
        if not self.dim:
            return np.zeros((*shape, 0))
        if method == "direction":
            w = rng.standard_normal((*shape, self.dim))
            return np.asarray(w / np.sqrt((w * w).sum(axis=-1, keepdims=True)))
        if method not in ("cholesky", "eigen"):
            raise ArgumentError(f'method must be "direction", "cholesky" or "eigen", not {method!r}.')
        axis = rng.integers(self.dim, size=shape)
        sign = rng.choice([-1.0, 1.0], size=shape)
        if method == "cholesky":
            w = np.zeros((*shape, self.dim))
            np.put_along_axis(w, axis[..., None], sign[..., None], -1)
            return w
        axes = np.broadcast_to(self._axes, (*shape, self.dim, self.dim))
        return np.asarray(sign[..., None] * np.take_along_axis(axes, axis[..., None, None], -2)[..., 0, :])

    def poles(self, method: str = "cholesky") -> Array:
        """All 2 dim directions of "cholesky" or "eigen", of shape (2 dim,) + batch + (dim,)."""
        if method not in ("cholesky", "eigen"):
            raise ArgumentError(f'method must be "cholesky" or "eigen", not {method!r}.')
        batch = self._point.shape[:-1]
        axes = self._axes if method == "eigen" else np.broadcast_to(np.eye(self.dim), (*batch, self.dim, self.dim))
        rows = np.moveaxis(axes, -2, 0)
        return np.concatenate([rows, -rows])

    @cached_property
    def _axes(self) -> Array:
        """Rows w_i whose displacements are the axes of the ellipsoid in the user's variable: an orthogonal matrix."""
        if self.dim > DENSE_LIMIT:
            raise UnsupportedConeError(
                f"The axes of an ellipsoid in {self.dim} dimensions are not computed; use direction or cholesky."
            )
        displacements = self._chart.push(self._factor_batch(self._factor.half_solve))
        _, w = np.linalg.eigh(displacements @ np.swapaxes(displacements, -1, -2))
        return np.asarray(np.swapaxes(w, -1, -2))

    def _factor_batch(self, oracle: Callable[[Array], Array]) -> Array:
        """An oracle applied to every unit vector, of shape batch + (dim, ...)."""
        batch = self._point.shape[:-1]
        units = np.broadcast_to(
            np.eye(self.dim).reshape(self.dim, *(1,) * len(batch), self.dim), (self.dim, *batch, self.dim)
        )
        return np.moveaxis(oracle(units), 0, -2)

    def sample(
        self, rng: np.random.Generator, size: int | None = None, method: str = "direction", radius: float = SHRINK
    ) -> Array:
        """Points on the boundary of the ellipsoid (see `directions`), of shape (size,) + batch + variable's shape.

        Raises:
            UnsupportedConeError: for "cholesky" and "eigen" where the set is so large that dense matrices are not made.
        """
        if method != "direction" or not self.dim:
            return self.point(self.directions(rng, size, method), radius)
        leading = () if size is None else (int(size),)
        displacement, _ = self._factor.sample(generator(rng), radius, leading)
        return self._layout.unflatten(self._point + self._chart.push(displacement))

    def point(self, w: Array, radius: float = SHRINK) -> Array:
        """The point in direction w at the given radius; 1 is the ellipsoid itself."""
        return self._layout.unflatten(self._point + radius * self._chart.push(self._factor.half_solve(w)))

    def half_solve(self, w: Array) -> Array:
        """C'^-1 w: the displacement of a direction w (..., dim)."""
        return self._layout.unflatten(self._chart.push(self._factor.half_solve(w)))

    def half_apply(self, w: Array) -> Array:
        """C w: the covector of a direction w (..., dim)."""
        return self._layout.unflatten(self._chart.spread(self._factor.half_apply(w)))

    def apply(self, displacement: Any) -> Array:
        """H d for a displacement d in the tangent space, as a covector in the tangent space."""
        d = self._chart.coordinates(self._chart.x0 + self._layout.flatten(displacement))
        return self._layout.unflatten(self._chart.spread(self._factor.apply(d)))

    def solve(self, covector: Any) -> Array:
        """H^-1 c for a covector c: a displacement in the tangent space."""
        c = self._chart.pull(self._layout.flatten(covector))
        return self._layout.unflatten(self._chart.push(self._factor.solve_schur(c)))

    def norm(self, displacement: Any) -> Array:
        """The local norm <d, H d>^(1/2)."""
        d = self._chart.coordinates(self._chart.x0 + self._layout.flatten(displacement))
        return np.asarray(np.sqrt(np.maximum((d * self._factor.apply(d)).sum(axis=-1), 0.0)))
