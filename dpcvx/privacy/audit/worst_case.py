"""Two neighbouring streams that are as far apart as the loss set, or the declared change, allows."""

from itertools import product

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.change import Change
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.sets import LossSet

_CORNERS = 6  # up to so many coordinates all sign vectors are tried, beyond it some of them
_ASCENTS = 20


def worst_neighbours(
    loss_set: LossSet,
    horizon: int,
    neighbours: str | Neighbours = "replace",
    *,
    norm: int = 1,
    item: int = 1,
    step: float | None = None,
) -> tuple[Array, Array]:
    """Streams (T, *shape) that differ in one round: by a diameter ("replace"), or a longest loss and 0 ("zero-out").

    Under a `Change` they differ by a longest one, from an end of the bounding box of the set on, so that as little as
    possible of it is clipped. The other rounds are 0, or the center where 0 is not in the set.

    Args:
        loss_set: where the losses lie.
        horizon: T.
        neighbours: "replace", "zero-out" or a `Change`.
        norm: 1 for Laplace noise, 2 for Gaussian noise.
        item: which round differs; round 1 enters the most nodes of a tree.
        step: of the grid to which losses are rounded; under a `Change` the streams then differ where that adds most.
    """
    if not 1 <= item <= horizon:
        raise ArgumentError(f"item must be a round from 1 to {horizon}, not {item}.")
    zero = np.zeros(loss_set.size)
    rest = zero if loss_set.contains(loss_set.unflatten(zero)) else loss_set.flatten(loss_set.center)
    streams = np.tile(rest, (2, horizon, 1))
    relation = relation_for(neighbours, loss_set)
    streams[:, item - 1] = (
        _changed(loss_set, relation, norm, step)
        if isinstance(relation, Change)
        else _ends(loss_set, norm, to_zero=relation.to_zero)
    )
    return loss_set.unflatten(streams[0]), loss_set.unflatten(streams[1])


def _changed(loss_set: LossSet, change: Change, norm: int, step: float | None) -> Array:
    """The two losses of the round that differs, (2, size), the second at an end of the bounding box.

    On a grid it is the next place to that end from which the change passes one more middle between two multiples than
    it has whole steps.
    """
    high, low = _ends(change.set, norm, to_zero=not change.replace)
    moved = high - low
    lower, upper = (loss_set.flatten(end) for end in loss_set.bounding_box())
    start = np.where(moved >= 0, lower, upper)
    if step is not None:
        units = np.abs(moved) / step
        before = 0.5 - (units - np.floor(units)) / 2
        start = np.where(moved >= 0, np.ceil(lower / step) + before, np.floor(upper / step) - before) * step
    return np.stack([start + moved, start])


def _ends(loss_set: LossSet, norm: int, *, to_zero: bool) -> Array:
    """Two losses, or one and 0, as far apart as they can be, (2, size): ascent on the distance from many directions."""
    best, ends = -1.0, np.zeros((2, loss_set.size))
    for start in _directions(loss_set.size):
        direction = start
        for _ in range(_ASCENTS):
            high = _extreme(loss_set, direction)
            low = np.zeros(loss_set.size) if to_zero else _extreme(loss_set, -direction)
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
