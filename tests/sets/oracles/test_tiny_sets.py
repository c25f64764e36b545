"""Membership in sets that are small against 1: shares are of the set's own sizes, not of 1."""

import cvxpy as cp
import numpy as np

from dpcvx import DecisionSet

TINY = 1e-15


def test_a_tiny_box_holds_its_own_points_and_no_others():
    x = cp.Variable(2)
    X = DecisionSet(x, [x >= -TINY, x <= TINY])
    for corner in ([1, 1], [-1, 1], [1, -1], [-1, -1]):
        assert X.contains(0.9 * TINY * np.array(corner), 1e-6)
        assert not X.contains(1.1 * TINY * np.array(corner), 1e-6)


def test_an_entry_that_is_fixed_near_zero_is_told_from_others_near_zero():
    x = cp.Variable(2)
    X = DecisionSet(x, [x[0] == TINY, x[1] >= 0, x[1] <= TINY])
    inside = np.array([TINY, TINY / 2])
    assert X.contains(inside, 1e-6)
    assert not X.contains(inside - [-TINY, 0], 1e-6) and not X.contains(inside - [TINY / 100, 0], 1e-6)
