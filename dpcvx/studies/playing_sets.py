"""Decisions and losses that belong together and on which several studies play; both come from the catalogue."""

from functools import cache

import decision_sets as ds
from dpcvx.sets import DecisionSet, LossSet

Pair = tuple[DecisionSet, LossSet]


@cache
def arms(count: int) -> Pair:
    """Distributions over arms, which are experts with full information, and losses in [-1, 1]."""
    return ds.simplex(count), ds.loss_box(count)


@cache
def ball(size: int) -> Pair:
    """The Euclidean ball in R^size, and losses in it."""
    return ds.norm_ball(size), ds.loss_ball(size)


@cache
def cube(size: int) -> Pair:
    """The cube [-1, 1]^size, and losses of 1-norm at most 1."""
    return ds.cube(size), ds.loss_ball(size, p=1)


@cache
def wide_cube(size: int) -> Pair:
    """The cube [-1, 1]^size, and losses in it: every entry counts for itself."""
    return ds.cube(size), ds.loss_box(size)
