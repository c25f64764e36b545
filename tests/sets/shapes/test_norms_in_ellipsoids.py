"""Norms over a set that a ball holds are those of the ball."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet


@pytest.mark.parametrize(("p", "truth"), [(1.5, 8 ** (1 / 1.5 - 1 / 2)), (2, 1.0), (3, 1.0)])
def test_a_cut_ball_reaches_no_farther_than_the_ball_in_any_norm(p, truth):
    x = cp.Variable(8)
    X = DecisionSet(x, [cp.norm2(x) <= 1, np.random.default_rng(0).standard_normal((3, 8)) @ x <= 0.5])
    assert X.recognised.norm_bound(p) == pytest.approx(truth, rel=1e-6)
