"""Where a loss is clipped: every loss that is summed is a finite vector of its declared set, whatever came.

Under a declared change it is a vector of the bounding box of that set: clipping entry by entry enlarges no change,
which going to the nearest point of the set would.
"""

import math
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, LossOutOfSetError
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.sets import LossSet


def flat_losses(loss_set: LossSet, loss: Any, leading: tuple[int, ...] = ()) -> Array:
    """A loss as a finite real vector (or a batch on leading axes), or an error that says what is wrong with it."""
    flat = loss_set.flatten(loss)
    if flat.ndim > 1 and flat.shape[:-1] != leading:
        came, shape = (*flat.shape[:-1], *loss_set.shape), loss_set.shape
        wanted = f"{shape}, the loss of one round" if not leading else f"{shape} or {(*leading, *shape)}, one a replica"
        raise ArgumentError(f"The loss has shape {came}; expected {wanted}.")
    # a finite sum of squares has finite terms; one that overflows says nothing
    if not math.isfinite(np.vdot(flat, flat)) and not np.isfinite(flat).all():
        raise ArgumentError("The loss holds NaN or an infinity; nothing was changed.")
    return flat


class Clipping:
    """Losses as they come, to vectors of the set or of its bounding box.

    Args:
        loss_set: where they must lie.
        neighbours: "replace", "zero-out", under which a loss of 0 stays 0, or a `Change`.
        on_violation: "clip" a loss outside the set, or "raise".
        leading: axes before those of a loss, of replicas; a loss without them is taken by all.
    """

    def __init__(
        self, loss_set: LossSet, neighbours: str | Neighbours, on_violation: str, leading: tuple[int, ...] = ()
    ) -> None:
        if on_violation not in ("clip", "raise"):
            raise ArgumentError(f'on_violation must be "clip" or "raise", not {on_violation!r}.')
        self.loss_set, self.leading = loss_set, leading
        self.neighbours, self.on_violation = relation_for(neighbours, loss_set), on_violation
        self._clip = self.neighbours.clipper(loss_set, leading)

    @property
    def by_entry(self) -> bool:
        """Whether each entry is clipped by itself."""
        return self.neighbours.clips_by_entry(self.loss_set)

    def clipped(self, loss: Any) -> Array:
        """The nearest vector of the set; under a declared change that of its bounding box.

        Raises:
            ValueError: where the loss is not finite, or of another shape.
            LossOutOfSetError: where it is outside the set and `on_violation` is "raise".
        """
        flat = flat_losses(self.loss_set, loss, self.leading)
        if self.on_violation == "raise" and not all(self._allowed(one) for one in flat.reshape(-1, self.loss_set.size)):
            raise LossOutOfSetError("The loss is outside its declared set; nothing was changed.")
        return self.neighbours.kept(flat, self._clip(flat))

    def _allowed(self, flat: Array) -> bool:
        return self.neighbours.exempt(flat) or self.loss_set.contains(self.loss_set.unflatten(flat))
