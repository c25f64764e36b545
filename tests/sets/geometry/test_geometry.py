"""The geometry of every declared set: derivatives, self-concordance, parameter, Dikin ellipsoids."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from declared_sets import DECLARED
from geometry_checks import Judge, check_derivatives, check_inclusion, check_square_roots, interior_points
from scipy.spatial import ConvexHull

from dpcvx import DecisionSet


def _of_the_catalogue(name):
    def declare():
        X = CATALOGUE[name][0]()
        return X.variable, X.constraints

    return declare


SETS = DECLARED | {f"catalogue: {name}": _of_the_catalogue(name) for name in CATALOGUE}


class HullJudge:
    """Distance to the hull of points by its facets, from Qhull, and to the flat that carries it."""

    def __init__(self, points):
        self.origin = points.mean(axis=0)
        _, sizes, axes = np.linalg.svd(points - self.origin)
        rank = int((sizes > 1e-9 * sizes[0]).sum())
        self.along, self.across = axes[:rank], axes[rank:]
        self.facets = ConvexHull((points - self.origin) @ self.along.T).equations

    def leaves(self, points, tolerance=1e-9):
        centered = points.reshape(len(points), -1) - self.origin
        beyond = (centered @ self.along.T @ self.facets[:, :-1].T + self.facets[:, -1]).max(axis=1)
        off = np.linalg.norm(centered @ self.across.T, axis=1)
        return int((~(np.maximum(beyond, off) <= tolerance)).sum())


class MajorisationJudge:
    """The hull of the orderings of numbers: no k entries of a point sum to more than the k largest, all to as much."""

    def __init__(self, numbers):
        self.largest = np.cumsum(np.sort(numbers)[::-1])

    def leaves(self, points, tolerance=1e-9):
        sums = np.cumsum(np.sort(points, axis=1)[:, ::-1], axis=1)
        excess = np.maximum((sums - self.largest).max(axis=1), np.abs(sums[:, -1] - self.largest[-1]))
        return int((~(excess <= tolerance)).sum())


def hull_judge(variable, constraints):
    """Of x == points @ weights, weights in the simplex: the points are read off the constraint."""
    mixture = constraints[0].args[1]
    (weights,) = mixture.variables()
    points = []
    for unit in np.eye(weights.size):
        weights.save_value(unit)
        points.append(mixture.value)
    return HullJudge(np.array(points))


# cvxpy cannot evaluate the auxiliary variables of the user, so these sets are judged by what they are known to be
JUDGES = {
    "hull of points": hull_judge,
    "catalogue: convex hull": hull_judge,
    "catalogue: permutahedron": lambda variable, constraints: MajorisationJudge(np.arange(1, variable.size + 1)),
}


def judge_of(name, variable, constraints):
    judge = Judge(variable, constraints)
    assert judge.user_auxiliaries == (name in JUDGES)
    return JUDGES[name](variable, constraints) if name in JUDGES else judge


def test_judges_of_sets_with_auxiliary_variables_agree_with_a_linear_program():
    rng = np.random.default_rng(10)
    for name in JUDGES:
        variable, constraints = SETS[name]()
        judge = judge_of(name, variable, constraints)
        for _ in range(4):
            c = rng.standard_normal(variable.shape)
            assert cp.Problem(cp.Minimize(c @ variable), constraints).solve(solver=cp.HIGHS) < np.inf
            vertex = variable.value
            assert judge.leaves(vertex[None]) == 0
            assert judge.leaves((vertex - 1e-8 * c / (c @ c))[None]) == 1  # beyond the least value of c @ x by 1e-8


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_derivatives_self_concordance_and_parameter(name):
    rng = np.random.default_rng(11)
    X = DecisionSet(*SETS[name]())
    for point in interior_points(X, rng, (1.0, 30.0, 1e3)):
        check_derivatives(X, point, rng)
        check_square_roots(X, point, rng)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_dikin_ellipsoid_stays_inside_the_set(name):
    rng = np.random.default_rng(12)
    variable, constraints = SETS[name]()
    X = DecisionSet(variable, constraints)
    points = interior_points(X, rng, (10.0, 1e3, 1e6))
    check_inclusion(X, judge_of(name, variable, constraints), points, rng, 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_ten_thousand_points_of_the_dikin_ellipsoid_stay_inside_the_set(name):
    rng = np.random.default_rng(13)
    variable, constraints = SETS[name]()
    X = DecisionSet(variable, constraints)
    check_inclusion(X, judge_of(name, variable, constraints), interior_points(X, rng, (1e6,)), rng, 10_000)
