"""The questions that every cone answers, about itself and its logarithmically homogeneous barrier F of parameter nu.

For s in the interior of the cone K, with g = F'(s) and H = F''(s):

    F(a s) = F(s) - nu log a,    <g, s> = -nu,    H s = -g,    -g in the interior of the dual cone K*.

`half(s, M)` returns D M for some D with D'D = H: the half-Hessian. It is all that assembly needs, and it
keeps its accuracy close to the boundary, where H itself loses it. Slacks carry any number of leading batch axes.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arrays import Array, Bools


@dataclass(frozen=True)
class Face:
    """The face { s : <normal, s> = 0 } of a cone, which a vector of the dual cone exposes.

    Attributes:
        normal: the exposing vector (block,).
        zero: rows (p, block) that vanish on the face.
        onto: rows (q, block) that map the face one to one onto a smaller cone.
        least: how far the normal is from exposing a larger face: its least eigenvalue, or what stands for it.
        cone: that smaller cone; None where it says that every row is nonnegative.
    """

    normal: Array
    zero: Array
    onto: Array
    least: float
    cone: "Cone | None" = None


def nearest_power(size: Array) -> Array:
    """The power of two nearest to 1/size, 1 where the size is 0."""
    return np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))


class Cone(ABC):
    """A stack of `count` cones of one kind, each of `block` consecutive rows."""

    name: str
    count: int
    block: int
    unit_nu: float  # the parameter of one cone of the stack
    symmetric = True  # self-dual and homogeneous
    is_polyhedral = False  # whether every row says s_i >= 0
    is_spectral = False  # whether it is the same in other units of each diagonal entry
    is_ball = False  # whether a block (t, x) says |x|_2 <= t: a Euclidean ball where t is fixed

    @classmethod
    @abstractmethod
    def from_cvxpy(cls, dims: Any) -> "list[Cone]":
        """The stacks of this kind among cvxpy's `ConeDims`, in the order of their rows."""

    @property
    def size(self) -> int:
        """Rows of the whole stack."""
        return self.count * self.block

    @property
    def nu(self) -> float:
        """Barrier parameter of the whole stack."""
        return self.count * self.unit_nu

    @abstractmethod
    def identity(self) -> Array:
        """A point deep in the interior, of shape (size,)."""

    @abstractmethod
    def interior(self, s: Array) -> Bools:
        """Whether each slack (..., size) lies strictly inside, of shape (...)."""

    @abstractmethod
    def recedes(self, d: Array) -> bool:
        """Whether the direction d of one block (block,) lies in the closed cone."""

    def remainder(self, d: Array) -> list[int] | None:
        """What is left of one block (block,) when its slack may run off to infinity along d.

        Far enough along an interior direction every slack is in the cone: nothing is left. Along a direction in the
        boundary some rows may still have to be nonnegative.

        Returns:
            The rows that must still be nonnegative; None where more than signs of rows is left.
        """
        return [] if self.take([0]).interior(d) else None

    @abstractmethod
    def dual_rays(self) -> list[int]:
        """Rows i of one block for which the unit vector e_i lies in the dual cone."""

    def dual_interior(self, y: Array) -> Bools:
        """Whether each vector (..., size) lies strictly inside the dual cone; a symmetric cone is its own dual."""
        if not self.symmetric:
            raise NotImplementedError(f"The {self.name} cone does not say what its dual cone is.")
        return self.interior(y)

    def bounds(self, most: Array) -> tuple[Array, Array]:
        """Between what each row of the stack lies where none is larger than `most`; infinite where that is unknown."""
        return np.full(self.size, -np.inf), np.full(self.size, np.inf)

    def balanced(self, sizes: Array) -> Array:
        """Factors (size,), powers of two, under which the cone is the same and rows of these sizes have about size 1.

        One factor for all rows of a block will do for any cone.
        """
        largest = self.blocks(sizes).max(axis=-1)
        return np.repeat(nearest_power(largest), self.block)

    def exposed(self, z: Array, blur: float) -> Face | None:
        """The face of one block (block,) that the vector of the dual cone closest to z exposes.

        Args:
            z: a vector of the dual cone up to rounding.
            blur: what counts as 0 in it.

        Returns:
            The face with its normal, the vector close to z that exposes it exactly; None where z is 0 or where the cone
            does not know its faces.
        """
        return None

    def common_normal(self, S: Array) -> Array | None:
        """A vector of the dual cone that vanishes on all columns of S (block, k), where linear algebra finds one."""
        return None

    @abstractmethod
    def value(self, s: Array) -> Array:
        """F(s), of shape (...)."""

    @abstractmethod
    def gradient(self, s: Array) -> Array:
        """F'(s), of shape (..., size)."""

    @abstractmethod
    def half(self, s: Array, M: Array) -> Array:
        """D M with D'D = F''(s) for M of shape (size, k): an array of shape (..., rows, k)."""

    def hessian_product(self, s: Array, d: Array) -> Array:
        """F''(s) d for one slack and one direction (size,)."""
        D = self.half(s, np.eye(self.size))
        return np.asarray(D.T @ (D @ d))

    def stretch(self, s: Array, d: Array) -> Array:
        """A t of at least 1, at best the largest, with s + t d and s - t d in the cone, d in the Dikin ellipsoid at s.

        Slacks and directions (..., size), the answer (...). Any cone contains its Dikin ellipsoids, so 1 will do.
        """
        return np.ones(np.broadcast_shapes(s.shape, d.shape)[:-1])

    @abstractmethod
    def take(self, blocks: Sequence[int]) -> "Cone":
        """The stack of the given blocks only, in their order."""

    @abstractmethod
    def clarabel(self) -> list[Any]:
        """The same stack in Clarabel's words."""

    def blocks(self, s: Array) -> Array:
        """The slack with its last axis split into (count, block)."""
        return s.reshape(*s.shape[:-1], self.count, self.block)

    def __repr__(self) -> str:
        return f"{self.count} x {self.name}({self.block})"
