"""The summary of a set says all that was declared."""

import cvxpy as cp

import dpcvx


def test_a_summary_names_the_attributes_of_the_variable():
    share = cp.Variable(3, nonneg=True, name="share")
    lines = dpcvx.DecisionSet(share, [cp.sum(share) == 1]).summary().splitlines()
    assert lines[1:3] == ["  subject to sum(share) == 1.0", "  subject to share is nonneg"]
