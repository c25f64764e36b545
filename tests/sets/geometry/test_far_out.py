"""Points of a set far out are on its affine hull though rounding of their position takes them off it a little."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet

FAR = 1e8


def test_rounding_of_the_position_does_not_take_a_point_off_the_hull():
    x = cp.Variable(2)
    X = DecisionSet(x, [x[0] >= FAR - 1, x[0] <= FAR + 1, x[1] == x[0]])
    off = np.array([0.5, -0.5])
    middle = np.full(2, FAR)
    assert X.barrier.value(middle + 2e-5 * off) == pytest.approx(0, abs=1e-6)
    with pytest.raises(ValueError, match="not on the affine hull"):
        X.barrier.value(middle + 0.1 * off)
