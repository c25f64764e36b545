"""The summary of a set says all that was declared, and what became of it in numbers."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import dpcvx
from dpcvx.sets.words import _tower, shortened


def test_a_summary_names_the_attributes_of_the_variable():
    share = cp.Variable(3, nonneg=True, name="share")
    lines = dpcvx.DecisionSet(share, [cp.sum(share) == 1]).summary().splitlines()
    assert lines[1:3] == ["  subject to sum(share) == 1.0", "  subject to share is nonneg"]


def test_rows_before_and_after_presolve_are_counted_with_factors_and_auxiliary_coordinates():
    x = cp.Variable(4, name="x")
    X = dpcvx.DecisionSet(x, [x >= 0, x <= 1, x[0] + x[1] == 1, cp.norm1(x[2:]) <= 1.2])
    told = dict(line.strip().split(maxsplit=1) for line in X.summary().splitlines()[5:])
    assert told["dimension"] == "3 (of 4 entries)" and told["barrier"] == "10 x nonnegative(1)"
    assert told["presolve"] == (
        "13 conic rows and 1 equalities became 10 and 1; 2 independent factors; 1 auxiliary coordinates"
    )
    simplex = dpcvx.DecisionSet(x, [x >= 0, cp.sum(x) == 1]).summary()
    assert "4 conic rows and 1 equalities became 4 and 1; 1 independent factor; 0 auxiliary" in simplex


@pytest.mark.filterwarnings("ignore:.*SOC approximation:UserWarning")
def test_towers_of_small_cones_are_told_wherever_they_stand_and_norms_that_are_none_are_not():
    x = cp.Variable(3, name="x")
    towers = [
        [cp.pnorm(x, 2.5) <= 1],
        [2 * cp.pnorm(x, 3) - 1 <= 1],
        [x <= 1, cp.geo_mean(x) >= 0.1],
        [cp.norm2(x) <= 1, cp.pnorm(x[:2], 4) <= 1],
    ]
    plain = [
        [cp.pnorm(x, 2) <= 1],
        [cp.pnorm(x, 1) <= 1],
        [cp.pnorm(x, np.inf) <= 1],
        [cp.pnorm(x, 2.5, approx=False) <= 1],
    ]
    for constraints in towers:
        assert "towers of small cones" in _tower(SimpleNamespace(constraints=constraints))
    for constraints in plain:
        assert _tower(SimpleNamespace(constraints=constraints)) == ""
    told = dpcvx.DecisionSet(x, towers[0]).summary().splitlines()[-1]
    assert told.startswith("  note             pnorm and geo_mean are towers of small cones here")


def test_eight_constraints_are_shown_and_the_others_counted():
    texts = [str(k) for k in range(10)]
    assert shortened(texts[:8]) == texts[:8]
    assert shortened(texts[:9]) == [*texts[:8], "... and 1 more"]
    assert shortened(texts, 3) == ["0", "1", "2", "... and 7 more"] and shortened([]) == []
    x = cp.Variable(2)
    lines = dpcvx.DecisionSet(x, [x <= 1, *(x >= -k for k in range(9))]).summary().splitlines()
    assert lines[9] == "  subject to ... and 2 more"
