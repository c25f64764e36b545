"""The entropy argmin against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

from dpcvx import DecisionSet, UnsupportedConeError
from dpcvx.regularizers import Entropy
from dpcvx.sets.sizes import Sizes


def entropy(X):
    return Entropy(Sizes(X, box_losses(X.shape)))


def _sets():
    x = cp.Variable(5, nonneg=True, name="x")
    yield x, [cp.sum(x) == 1]
    yield x, [cp.sum(x) == 2.5]
    yield x, [cp.sum(x) == 2, x <= 1]
    yield x, [cp.sum(x) <= 3, cp.norm2(x - 1) <= 0.9]


@pytest.mark.parametrize("declared", list(_sets()))
def test_entropy_argmin_agrees_with_cvxpy(declared):
    variable, constraints = declared
    X = DecisionSet(variable, constraints)
    regularizer = entropy(X)
    rng = np.random.default_rng(0)
    for _ in range(5):
        c = 3 * rng.standard_normal(5)
        objective = c @ variable - cp.sum(cp.entr(variable))
        best = cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)
        y = regularizer.argmin(c)
        assert X.contains(y)
        assert c @ y + regularizer.value(y) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert regularizer.argmin(np.zeros((2, 3, 5))).shape == (2, 3, 5)


def test_entropy_refuses_sets_with_negative_entries():
    x = cp.Variable(3, name="x")
    with pytest.raises(UnsupportedConeError, match="nonnegative"):
        entropy(DecisionSet(x, [cp.norm2(x) <= 1]))


def test_softmax_survives_huge_covectors():
    x = cp.Variable(3, nonneg=True, name="x")
    y = entropy(DecisionSet(x, [cp.sum(x) == 1])).argmin(np.array([1e9, -1e9, 0.0]))
    assert np.allclose(y, [0, 1, 0])


def test_entropy_of_a_diagonal_matrix_stays_diagonal():
    X = cp.Variable((3, 3), diag=True, name="X")
    declared = DecisionSet(X, [cp.trace(X) == 1, cp.diag(X) >= 0])
    y = entropy(declared).argmin(np.arange(9.0).reshape(3, 3))
    assert declared.contains(y)
