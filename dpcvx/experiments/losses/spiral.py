"""Losses perpendicular to the sum of those before them: their sums are the corners of the spiral of Theodorus."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.losses.extremes import check_shapes
from dpcvx.experiments.losses.schedules import random_plane
from dpcvx.experiments.losses.sequence import Losses, Stretched, choices
from dpcvx.sets import DecisionSet, LossSet


class Spiral(Stretched):
    """Losses l_t perpendicular to L_{t-1} in a plane, given by two vectors of length r; |L_t| = r sqrt(t)."""

    def __init__(self, horizon: int, plane: Array) -> None:
        super().__init__("orthogonal", horizon, plane.shape[1:])
        self._plane = plane
        starts = range(0, self.horizon, self._length)
        turned = [_turns(np.arange(start, min(start + self._length, self.horizon))).sum() for start in starts]
        self._angles = np.concatenate([[0.0], np.cumsum(turned)])  # of the loss before each stretch

    def _stretch(self, index: int, rounds: Array) -> Array:
        angle = self._angles[index] + np.cumsum(_turns(rounds))
        return np.tensordot(np.column_stack([np.cos(angle), np.sin(angle)]), self._plane, 1)


def _turns(rounds: Array) -> Array:
    """The angle from loss k - 1 to loss k, counted from 0: arctan(1/sqrt(k - 1)), a right angle at first."""
    return np.where(rounds > 0, np.arctan2(1.0, np.sqrt(np.maximum(rounds - 1.0, 0.0))), 0.0)


def orthogonal(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """Losses of full length r perpendicular to the sum so far, for the Euclidean ball Y = {|l| <= r}.

    An algorithm on a ball around the origin that plays along -L_{t-1}, whatever its step, pays nothing and has regret
    exactly r sqrt(T) times the radius of X.

    Raises:
        ValueError: where Y is not a Euclidean ball around the origin of dimension at least 2.
    """
    check_shapes(X, Y)
    radius = Y.recognised.centered_radius(2)
    if radius is None:
        raise ArgumentError(
            f"orthogonal needs losses in a Euclidean ball around the origin, but the {Y.name} is not one."
        )
    if Y.size < 2:
        raise ArgumentError("orthogonal needs losses of dimension at least 2, but theirs is 1.")
    return Spiral(horizon, Y.unflatten(radius * random_plane(Y, choices(seed, "orthogonal"))))
