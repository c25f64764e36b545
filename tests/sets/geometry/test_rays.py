"""Directions in which a set runs off: what counts as one, up to the accuracy of a solver."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.rays import _recedes


def _conic(make):
    x = cp.Variable(3)
    return lift(declare(x, make(x)))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_direction_that_leaves_the_set_by_more_than_rounding_is_no_ray(unit):
    above = _conic(lambda x: [x >= 0])
    level = _conic(lambda x: [x[0] == x[1], x[2] >= 0])
    cone = _conic(lambda x: [cp.SOC(x[0], x[1:])])
    for conic, inside, across in (
        (above, [1.0, 0.0, 2.0], [0.0, -1.0, 0.0]),
        (level, [1.0, 1.0, 0.0], [1.0, -1.0, 0.0]),
        (cone, [1.0, 0.6, 0.8], [0.0, 0.6, 0.8]),
    ):
        for off, recedes in ((0.0, True), (1e-8, True), (1e-4, False), (1.0, False)):
            direction = unit * (np.array(inside) + off * np.array(across))
            assert _recedes(conic, direction) == recedes, (conic.columns, off)
