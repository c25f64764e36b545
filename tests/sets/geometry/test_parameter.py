"""The barrier parameter: how it is derived on sets where that is known, and no solver that is wrong lowers it."""

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.geometry import parameter as module
from dpcvx.sets.geometry.parameter import barrier_parameter

x = cp.Variable(3, name="x")

# by what is subtracted from the sum over the cones: constants, pairs, programs, compact factors
DERIVED = {
    "cube": (lambda: ds.cube(3), 6, (0, 3, 0, 0)),
    "interval": (lambda: ds.cube(1), 2, (0, 1, 0, 0)),
    "ball": (lambda: ds.norm_ball(3, 2), 2, (1, 0, 0, 0)),
    "ball and interval": (lambda: DecisionSet(x, [cp.norm2(x[:2]) <= 1, x[2] >= 0, x[2] <= 3]), 4, (1, 1, 0, 0)),
    "two simplices": (
        lambda: DecisionSet(x, [x >= 0, cp.sum(x[:2]) <= 1, x[1] + x[2] <= 2, x[2] <= 9]),
        6,
        (0, 1, 1, 0),
    ),
    "simplex": (lambda: ds.simplex(4), 4, (0, 0, 1, 0)),
    "two cut intervals": (lambda: DecisionSet(x, [x >= 0, x[:2] <= 1, x[0] + x[1] <= 1.5, x[2] <= 1]), 7, (0, 3, 0, 0)),
    "a tilted box": (
        lambda: DecisionSet(x, [cp.abs(x[0] + x[1]) <= 1, cp.abs(x[0] - x[1]) <= 1, x[2] >= 0, x[2] <= 1]),
        6,
        (0, 3, 0, 0),
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_every_part_of_the_derivation_is_counted_as_what_it_is(name):
    make, cones, saved = DERIVED[name]
    found = make().geometry.parameter
    assert found.cones == cones
    assert (found.constants, found.pairs, found.programs, found.compact) == saved
    assert found.nu == cones - sum(saved)


def test_the_derivation_is_told_in_words():
    assert str(ds.cube(3).geometry.parameter) == "3 = 6 (sum over the cones) - 3 (3 pairs of opposite rows)"
    told = "3 = 4 (sum over the cones) - 1 (1 multiplier found by linear programming)"
    assert str(ds.simplex(4).geometry.parameter) == told
    assert str(ds.norm_ball(3, 2).geometry.parameter) == "1 = 2 (sum over the cones) - 1 (1 cone with a constant head)"


@pytest.mark.parametrize("off", [1e-12, 1e-6, 1e-3, 0.3])
def test_multipliers_of_a_solver_that_is_wrong_save_nothing(off, monkeypatch):
    """Teeth: with an error that is rounding they do, and two are found, one for each simplex."""
    y = cp.Variable(6, name="y")
    geometry = DecisionSet(y, [y >= 0, cp.sum(y[:3]) <= 1, cp.sum(y[3:]) <= 2]).geometry

    class Wrong(module.LinearProgram):
        def minimise(self, costs):
            answer = super().minimise(costs)
            if answer is not None:
                answer = answer.copy()
                answer[np.argmax(answer)] += off
            return answer

    right = barrier_parameter(geometry.conic, geometry.chart)
    assert right.programs == 2
    monkeypatch.setattr(module, "LinearProgram", Wrong)
    assert barrier_parameter(geometry.conic, geometry.chart).programs == (2 if off < 1e-9 else 0)


def test_a_point_has_the_parameter_zero():
    found = DecisionSet(x, [x == np.array([1.0, -2.0, 0.0])]).geometry.parameter
    assert (found.nu, found.cones, str(found)) == (0, 0, "0 = 0 (sum over the cones)")
