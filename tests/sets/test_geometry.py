"""The geometry of every declared set: derivatives, self-concordance, parameter, Dikin ellipsoids."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from declared_sets import DECLARED
from geometry_checks import Judge, check_derivatives, check_inclusion, check_square_roots, interior_points

from dpcvx import DecisionSet


def _of_the_catalogue(name):
    def declare():
        X = CATALOGUE[name][0]()
        return X.variable, X.constraints

    return declare


SETS = DECLARED | {f"catalogue: {name}": _of_the_catalogue(name) for name in CATALOGUE}


class HullJudge:
    """Distance to the set by its own linear program, since cvxpy cannot evaluate the user's auxiliary variables."""

    def __init__(self, constraints, variable):
        self.target = cp.Parameter(variable.shape)
        self.gap = cp.Variable(nonneg=True)
        tied = [variable - self.target <= self.gap, self.target - variable <= self.gap]
        self.problem = cp.Problem(cp.Minimize(self.gap), [*constraints, *tied])

    def leaves(self, points, tolerance=1e-7):
        count = 0
        for point in points[:: max(1, len(points) // 25)]:
            self.target.value = point
            count += self.problem.solve(solver="CLARABEL") > tolerance
        return count


def judge_of(variable, constraints):
    judge = Judge(variable, constraints)
    return HullJudge(constraints, variable) if judge.user_auxiliaries else judge


@pytest.mark.parametrize("name", SETS)
def test_derivatives_self_concordance_and_parameter(name):
    rng = np.random.default_rng(11)
    X = DecisionSet(*SETS[name]())
    for point in interior_points(X, rng, (1.0, 30.0, 1e3)):
        check_derivatives(X, point, rng)
        check_square_roots(X, point, rng)


@pytest.mark.parametrize("name", SETS)
def test_dikin_ellipsoid_stays_inside_the_set(name):
    rng = np.random.default_rng(12)
    variable, constraints = SETS[name]()
    X = DecisionSet(variable, constraints)
    points = interior_points(X, rng, (10.0, 1e3, 1e6))
    check_inclusion(X, judge_of(variable, constraints), points, rng, 120)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_ten_thousand_points_of_the_dikin_ellipsoid_stay_inside_the_set(name):
    rng = np.random.default_rng(13)
    variable, constraints = SETS[name]()
    X = DecisionSet(variable, constraints)
    check_inclusion(X, judge_of(variable, constraints), interior_points(X, rng, (1e6,)), rng, 10_000)
