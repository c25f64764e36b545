"""A = B C, A the lower triangular matrix of ones: the two matrices of a factorisation, and what they cost.

The mechanism releases C x plus Gaussian noise and multiplies by B, so the noise of prefix t has the standard deviation
|row t of B| times |C|, the column norm of C, in units of what one release of x needs.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from dpcvx.arrays import Array


class Filter(Protocol):
    """Multiplies a stream by a lower triangular matrix, element by element."""

    def step(self, x: Array) -> Array:
        """Take the next element of the stream and return the next element of the product."""

    def steps(self, x: Array) -> Array:
        """`step` on the next k elements at once, (k, *shape)."""


class Factors(ABC):
    """B and C for streams of up to `size` elements.

    Attributes:
        size: how many.
        sensitivity: the norm of the longest column of C, never below the truth: of the matrix that runs, rounded.
    """

    size: int
    sensitivity: float

    @abstractmethod
    def row_norm(self, t: int | Array) -> Array:
        """The norm of row t of B, t = 1, ..., size: the noise of prefix t in units of one noise; it grows with t."""

    @abstractmethod
    def b_filter(self, shape: tuple[int, ...] = ()) -> Filter:
        """A stream that multiplies by B."""

    @abstractmethod
    def c_filter(self, shape: tuple[int, ...] = ()) -> Filter:
        """A stream that multiplies by C."""

    @abstractmethod
    def rounding_error(self, bound: float) -> float:
        """What separates any of the first `size` outputs of `c_filter` from C x at most, where all |x| <= bound."""

    @abstractmethod
    def matrices(self, steps: int) -> tuple[Array, Array]:
        """B and C of the first `steps` elements, dense."""
