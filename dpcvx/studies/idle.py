"""The idle player stays at the center of the set and never learns; all learners are held against what it pays."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet


def idle_regret(X: DecisionSet, total: Array) -> float:
    """The regret of the idle player against losses of this sum."""
    return regret_of_point(X, total, X.center)


def regret_of_point(X: DecisionSet, total: Array, point: Array) -> float:
    """How much more it costs to play a point in every round than the best one, against losses of this sum."""
    return float(np.sum(total * point)) + float(X.support(-total))
