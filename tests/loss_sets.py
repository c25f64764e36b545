"""Loss sets that many tests use."""

import cvxpy as cp

from dpcvx import LossSet


def box_losses(shape, low=-1.0, high=1.0):
    """low <= loss <= high, entry by entry."""
    loss = cp.Variable(shape, name="loss")
    return LossSet(loss, [loss >= low, loss <= high])


def ball_losses(size, p=2, radius=1.0):
    """The ball |loss|_p <= radius."""
    loss = cp.Variable(size, name="loss")
    return LossSet(loss, [cp.pnorm(loss, p) <= radius])
