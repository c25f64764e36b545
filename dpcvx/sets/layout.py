"""Points in the shape of a cvxpy variable, and as vectors."""

from typing import Any

import numpy as np

from dpcvx.arrays import Array, reals
from dpcvx.errors import ArgumentError


class Layout:
    """The shape of a variable, and the way between arrays of that shape and vectors, column by column as in cvxpy.

    Attributes:
        shape: of the variable.
        size: its number of entries.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.size = int(np.prod(shape))

    def flatten(self, point: Any, what: str = "point") -> Array:
        """Points in the shape of the variable, on any leading axes, as vectors.

        Raises:
            ValueError: where they have another shape or are no real numbers; `what` is how the sentence calls them.
        """
        array = point if type(point) is np.ndarray and point.dtype == np.float64 else reals(point, what, self.shape)
        k = len(self.shape)
        if array.ndim < k or array.shape[array.ndim - k :] != self.shape:
            raise ArgumentError(
                f"The {what} has shape {array.shape}; expected {self.shape}, or a batch of these on leading axes."
            )
        if k < 2:
            return array if k else array[..., None]
        batch = array.shape[: array.ndim - k]
        return np.moveaxis(array, range(-k, 0), range(-1, -k - 1, -1)).reshape(*batch, self.size)

    def vector(self, point: Any, what: str) -> Array:
        """One finite point as a vector.

        Raises:
            ValueError: where there are several, or it is not finite.
        """
        flat = self.flatten(point, what)
        if flat.ndim != 1 or not np.isfinite(flat).all():
            raise ArgumentError(f"{what} must be one array of shape {self.shape} without NaN or infinities.")
        return flat

    def unflatten(self, vectors: Array) -> Array:
        """The inverse of `flatten`."""
        k = len(self.shape)
        if k < 2:
            return vectors if k else vectors[..., 0]
        array = vectors.reshape(*vectors.shape[:-1], *self.shape[::-1])
        return np.moveaxis(array, range(-k, 0), range(-1, -k - 1, -1))
