"""Two neighbouring streams that are as far apart as the loss set allows."""

from itertools import product

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.neighbours import Neighbours, relation_named
from dpcvx.sets import LossSet

_CORNERS = 6  # up to so many coordinates all sign vectors are tried, beyond it some of them
_ASCENTS = 20


def worst_neighbours(
    loss_set: LossSet, horizon: int, neighbours: str = "replace", *, norm: int = 1, item: int = 1
) -> tuple[Array, Array]:
    """Streams (T, *shape) that differ in one round: by a diameter ("replace"), or a longest loss and 0 ("zero-out").

    The other rounds are 0, or the center where 0 is not in the set.

    Args:
        loss_set: where the losses lie.
        horizon: T.
        neighbours: "replace" or "zero-out".
        norm: 1 for Laplace noise, 2 for Gaussian noise.
        item: which round differs; round 1 enters the most nodes of a tree.
    """
    if not 1 <= item <= horizon:
        raise ValueError(f"item must be a round from 1 to {horizon}, not {item}.")
    zero = np.zeros(loss_set.size)
    rest = zero if loss_set.contains(loss_set.unflatten(zero)) else loss_set.flatten(loss_set.center)
    streams = np.tile(rest, (2, horizon, 1))
    streams[:, item - 1] = _ends(loss_set, relation_named(neighbours), norm)
    return loss_set.unflatten(streams[0]), loss_set.unflatten(streams[1])


def _ends(loss_set: LossSet, neighbours: Neighbours, norm: int) -> Array:
    """The two losses of the round that differs, (2, size): ascent on the distance from many directions."""
    best, ends = -1.0, np.zeros((2, loss_set.size))
    for start in _directions(loss_set.size):
        direction = start
        for _ in range(_ASCENTS):
            high = _extreme(loss_set, direction)
            low = np.zeros(loss_set.size) if neighbours.to_zero else _extreme(loss_set, -direction)
            distance = float(np.linalg.norm(high - low, norm))
            if distance <= best * (1 + 1e-12):
                break
            best, ends = distance, np.stack([high, low])
            direction = np.sign(high - low) if norm == 1 else high - low
    return ends


def _extreme(loss_set: LossSet, direction: Array) -> Array:
    return loss_set.recognised.farthest(direction)


def _directions(size: int) -> Array:
    axes = np.vstack([np.eye(size), -np.eye(size)])
    if size <= _CORNERS:
        return np.vstack([axes, np.array(list(product([1.0, -1.0], repeat=size)))])
    signs = np.random.default_rng(0).choice([1.0, -1.0], (2**_CORNERS, size))
    return np.vstack([axes, np.ones((1, size)), -np.ones((1, size)), signs])
