"""Loss sets of four entries and of many shapes, by name."""

import math

import cvxpy as cp
import numpy as np

from dpcvx import LossSet


def _loss_sets():
    l = cp.Variable(4, name="l")  # noqa: E741  (the name of a loss in the literature)
    rows = np.random.default_rng(0).standard_normal((10, 4))
    yield "unit box", LossSet(l, [l >= 0, l <= 1])
    yield "box off the grid", LossSet(l, [l >= -0.3, l <= math.pi / 5])
    yield "ball", LossSet(l, [cp.norm2(l) <= 0.7])
    yield "1-ball", LossSet(l, [cp.norm1(l) <= 1])
    yield "simplex", LossSet(l, [l >= 0, cp.sum(l) == 1])
    yield "skew polytope", LossSet(l, [rows @ l <= 1, l <= 2, l >= -2])
    yield "flat", LossSet(l, [l >= 0, l <= 1, l[0] + l[1] == 1, l[2] == 0.25])
    yield "ellipsoid", LossSet(l, [cp.norm2(cp.multiply([1, 2, 3, 4], l - 1)) <= 1])


LOSS_SETS = dict(_loss_sets())
