"""Coordinates of the lifted set in which barrier and linear algebra live: one file for each structure of the Hessian.

A chart is centered at a strictly feasible point v0 and scaled by the Hessian there, so the set contains the unit ball
and lies in a ball of moderate radius whatever units the user chose. Its coordinates are z = (u, y):

    v = v0 + W z,    x = x0 + B y,    slack(z) = s0 - G z in K,

u the auxiliary coordinates (none in most sets) and y the `width` coordinates of the user's variable. The barrier of
the set is R(y) = min_u F(slack(u, y)); its Hessian is the Schur complement of that of F, and for ANY strictly
feasible (u, y) the ellipsoid {y + d : <d, S d> <= 1} of that Schur complement S stays inside the set.

`factor(z)` does the one factorisation of a round. With S = C C' in the tangent space it answers

    solve(g)       H^-1 g on joint coordinates, for Newton steps,
    apply(d)       S d, the covector of a tangent vector,
    sample(rng)    a random point of the Dikin ellipsoid,

which is all that learners ask of it, and where C is at hand

    half_solve(w)  C'^-1 w, the point of the Dikin ellipsoid at w in the unit ball of R^dim,
    half_apply(w)  C w, the covector that measures it: <C w, C'^-1 w> = |w|^2.

Everything carries leading batch axes.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from dpcvx.arrays import Array, Bools
from dpcvx.barriers import Product
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.solvers.factorisations import Factorisation

SAFE = 1 - 1e-9  # of a stretch that ends at the boundary, against rounding


class Factor(ABC):
    """The Hessian of the barrier at one point (or a batch of points), factorised."""

    z: Array
    dim: int  # of the set
    gradient: Array  # of F at z, on joint coordinates

    @abstractmethod
    def solve(self, g: Array) -> Array:
        """H^-1 g on joint coordinates (..., size), restricted to the tangent space."""

    def newton_step(self, gradient: Array) -> Array:
        """What a Newton step subtracts from z: H^-1 gradient, and what rounding has taken z off the equalities."""
        return self.solve(gradient)

    def tangential(self, gradient: Array, step: Array) -> Array:
        """A covector that acts on tangent vectors as the gradient of a Newton step does, for the decrement."""
        return gradient

    @abstractmethod
    def apply(self, d: Array) -> Array:
        """S d for tangent vectors (..., width): a covector of y."""

    @abstractmethod
    def solve_schur(self, c: Array) -> Array:
        """S^-1 c for covectors (..., width)."""

    @abstractmethod
    def half_solve(self, w: Array) -> Array:
        """C'^-1 w for w (..., dim): a tangent vector of y (..., width).

        Raises:
            UnsupportedConeError: where the set is so large that there is no C.
        """

    @abstractmethod
    def half_apply(self, w: Array) -> Array:
        """C w for w (..., dim): a covector of y (..., width); raises as `half_solve` does."""

    def sample(self, rng: np.random.Generator, radius: float, leading: tuple[int, ...] = ()) -> tuple[Array, Array]:
        """(C'^-1 u, C u) for u uniform on the sphere of that radius in R^dim: on the leading axes, for each point."""
        u = rng.standard_normal((*leading, *self.z.shape[:-1], self.dim))
        u *= radius / length(u)
        return self.half_solve(u), self.half_apply(u)


class Chart(ABC):
    """Coordinates around one strictly feasible point."""

    name: str  # of the structure, in one word
    rounding = 1e-14  # relative, of linear functions over the set: the center may be off the equalities by that
    centered = 1e-6  # how far, in coordinates z, the analytic center may be from that of the chart
    dim: int  # of the set
    width: int  # coordinates y
    auxiliaries: int  # coordinates u
    cones: Product
    v0: Array
    x0: Array
    s0: Array
    P: sparse.csr_array

    @classmethod
    @abstractmethod
    def fit(cls, conic: ConicSet, factorisation: Factorisation | None = None) -> "Callable[[Array], Chart] | None":
        """The charts of this kind as a function of their center; None where the kind does not fit the set.

        What does not depend on the center is worked out here, once.
        """

    @property
    def size(self) -> int:
        """Joint coordinates z."""
        return self.auxiliaries + self.width

    @abstractmethod
    def factor(self, z: Array, *, accurate: bool = False) -> Factor:
        """The factorised Hessian at a strictly feasible z; `accurate` spends more where it is badly conditioned."""

    @abstractmethod
    def slack_step(self, dz: Array) -> Array:
        """The change -G dz of the slack."""

    @abstractmethod
    def gradient_of(self, slack_gradient: Array) -> Array:
        """-G' F', on joint coordinates."""

    @abstractmethod
    def lifted(self, z: Array) -> Array:
        """v = v0 + W z."""

    @abstractmethod
    def push(self, dy: Array) -> Array:
        """B dy: a displacement of the user's variable, as a vector."""

    @abstractmethod
    def pull(self, c: Array) -> Array:
        """B'c: a covector on the user's variable in coordinates y."""

    @abstractmethod
    def pull_lifted(self, q: Array) -> Array:
        """W'q: a covector on the lifted coordinates v in joint coordinates z."""

    @abstractmethod
    def spread(self, covector: Array) -> Array:
        """A c in the tangent space of the user's variable with B'c = covector."""

    @abstractmethod
    def coordinates(self, x: Array) -> Array:
        """The y of the point of the affine hull nearest to x in a fixed metric."""

    @abstractmethod
    def slack_rows(self) -> sparse.csr_array:
        """The rows by which slacks depend on a point of the set, in any units: which are constant, which parallel."""

    @abstractmethod
    def column_widths(self) -> Array:
        """The half-width of the Dikin ellipsoid at the center in each lifted coordinate v; any where v is fixed."""

    @abstractmethod
    def tangent_basis(self) -> Array:
        """Columns (width, dim) that span the tangent vectors dy."""

    @abstractmethod
    def tangential(self, covector: Array) -> Array:
        """The part of a joint covector that acts on joint tangent vectors."""

    @property
    def inequalities(self) -> Array | None:
        """G as a full matrix where every cone is a plain inequality; None where it is not, or not at hand."""
        return None

    def slack(self, z: Array) -> Array:
        return self.s0 + self.slack_step(z)

    def point(self, z: Array) -> Array:
        """The user's variable at z, as a vector."""
        return self.x0 + self.push(z[..., self.auxiliaries :])

    def interior(self, z: Array) -> Bools:
        return self.cones.interior(self.slack(z))

    def value(self, z: Array) -> Array:
        """F at z, relative to F at the center of the chart."""
        return self.cones.value(self.slack(z)) - self.cones.value(self.s0)

    def gradient(self, z: Array) -> Array:
        return self.gradient_of(self.cones.gradient(self.slack(z)))

    def stretch(self, z: Array, dy: Array) -> Any:
        """A t of at least 1 with z + t dy and z - t dy in the set, dy in the Dikin ellipsoid at z, (...).

        It is the largest one for polyhedra, balls and matrices, and 1 where there are auxiliary variables.
        """
        if self.auxiliaries:
            return 1.0 if z.ndim == 1 else np.ones(z.shape[:-1])
        found = self.cones.stretch(self.slack(z), self.slack_step(dy))
        return max(float(found) * SAFE, 1.0) if z.ndim == 1 else np.maximum(found * SAFE, 1.0)

    def stretch_at(self, factor: Factor, dy: Array) -> Any:
        """The same around the point of a factor, which may know more of it."""
        return self.stretch(factor.z, dy)

    def moving(self) -> Array:
        """1 for the entries of x that vary over the set, 0 for those that are fixed."""
        rng = np.random.default_rng(0)
        step = self.push(
            self.tangential(rng.standard_normal(self.width))
            if not self.auxiliaries
            else rng.standard_normal(self.width)
        )
        return np.asarray(np.abs(step) > 1e-13 * np.abs(step).max(initial=0.0), dtype=float)

    def widths(self) -> Array:
        """The half-width of the Dikin ellipsoid at the center in each entry of x, or more; 0 where x is fixed."""
        squares = self.P.multiply(self.P) @ (self.column_widths() ** 2)
        return np.asarray(np.sqrt(squares) * self.moving())

    def least_width(self) -> float:
        """The least half-width of the Dikin ellipsoid at the center, in units of its own bounding box."""
        axes = self.push(self.factor(np.zeros(self.size)).half_solve(np.eye(self.dim)))
        extent = np.sqrt((axes * axes).sum(axis=0))
        moving = extent > 0
        return float(np.linalg.svd(axes[:, moving] / extent[moving], compute_uv=False)[self.dim - 1])

    def radius(self) -> float:
        """The largest half-axis, in x, of the Dikin ellipsoid at the center; infinite where that is too much work."""
        return math.inf

    def hessian(self, z: Array) -> Array:
        """The joint Hessian at z as a full matrix, for the few who need more of it than a factor."""
        M = -self.slack_step(np.eye(self.size)).T
        D = self.cones.half(self.slack(z), M)
        return np.asarray(np.swapaxes(D, -1, -2) @ D)

    def joint(self, covector: Array) -> Array:
        """A covector of y as one of (u, y)."""
        if not self.auxiliaries:
            return covector
        return np.concatenate([np.zeros((*covector.shape[:-1], self.auxiliaries)), covector], axis=-1)


def length(w: Array) -> Array | float:
    """|w| along the last axis, kept as an axis on batches."""
    if w.ndim == 1:
        return math.sqrt(blas.ddot(w, w))  # arrays without axes are slow
    return np.asarray(np.sqrt((w * w).sum(axis=-1, keepdims=True)))


def stretch_of(changes: Array) -> float:
    """The largest stretch of at least 1 along which no slack is used up, for their changes relative to their size."""
    steepest = abs(float(changes[blas.idamax(changes)]))
    return max(SAFE / max(steepest, 1e-300), 1.0)
