"""The usual sets of losses: every entry in an interval, or a ball of a p-norm."""

from collections.abc import Callable

import cvxpy as cp

from dpcvx.errors import ArgumentError
from dpcvx.sets import LossSet


def loss_box(shape: int | tuple[int, ...], low: float = -1.0, high: float = 1.0) -> LossSet:
    """The box {low <= loss <= high}, entry by entry.

    Example:
        >>> import decision_sets
        >>> decision_sets.loss_box(10, 0, 1).diameter(1)
        10 (exact)
    """
    loss = cp.Variable(shape, name="loss")
    return LossSet(loss, [loss >= low, loss <= high], name=f"box [{low:g}, {high:g}]")


def loss_ball(shape: int | tuple[int, ...], p: float = 2.0, radius: float = 1.0) -> LossSet:
    """The ball {‖loss‖_p <= radius} of the p-norm of all entries.

    Example:
        >>> import decision_sets
        >>> decision_sets.loss_ball(10, p=2).diameter(2)
        2 (exact)
    """
    if not p >= 1:
        raise ArgumentError(f"P must be at least 1, not {p:g}.")
    loss = cp.Variable(shape, name="loss")
    return LossSet(loss, [cp.pnorm(cp.vec(loss, order="F"), p) <= radius], name=f"{p:g}-norm ball of radius {radius:g}")


NAMED_LOSSES: dict[str, Callable[..., LossSet]] = {"box": loss_box, "ball": loss_ball}
