"""What multipliers prove about linear functions, against linear programs: valid, tight, and in any unit."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from declared_sets import DECLARED
from scipy.optimize import linprog

from dpcvx import DecisionSet
from dpcvx.sets.geometry.bounds import (
    blow_up,
    bound_by_dual,
    bound_by_multipliers,
    coarse_bound,
    lifted_bound,
    lifted_bound_by_dual,
    upper_bound,
)


def _polytope():
    x, rows = cp.Variable(4), np.random.default_rng(0).standard_normal((5, 4))
    return DecisionSet(x, [rows @ x <= 2, x >= -1, x <= 1.5])


def _flows():
    x = cp.Variable((8, 11), nonneg=True)
    a, b = (np.random.default_rng(k).dirichlet(np.ones(n)) for k, n in ((1, 8), (2, 11)))
    return DecisionSet(x, [cp.sum(x, axis=1) == a, cp.sum(x, axis=0) == b])


SETS = {"dense": _polytope, "sparse": _flows}


@pytest.fixture(params=SETS, scope="module")
def case(request):
    geometry = SETS[request.param]().geometry
    chart = geometry.chart
    G = -chart.slack_step(np.eye(chart.size)).T
    W = np.array([chart.lifted(one) - chart.v0 for one in np.eye(chart.size)]).T
    E = geometry.conic.E.toarray() @ W
    N = np.eye(chart.size) if chart.name == "dense" else scipy.linalg.null_space(E, rcond=1e-10)
    return geometry, G, N


def _optimum(chart, G, N, linear):
    """max <linear, z> over slacks s0 - G z >= 0, z in N, and the multipliers of the rows there."""
    found = linprog(-N.T @ linear, A_ub=G @ N, b_ub=chart.s0, bounds=(None, None), method="highs-ds")
    assert found.status == 0
    return -found.fun, -found.ineqlin.marginals


def test_multipliers_prove_what_they_say_and_what_they_miss_times_the_reach_of_the_set(case):
    geometry, G, N = case
    chart, nu, rng = geometry.chart, geometry.nu, np.random.default_rng(3)
    for c in rng.standard_normal((3, geometry.size)):
        linear = chart.joint(chart.pull(c))
        truth, multipliers = _optimum(chart, G, N, linear)
        width, truth = np.linalg.norm(N.T @ linear), truth + c @ chart.x0
        tight = bound_by_multipliers(chart, nu, c, multipliers)
        assert truth - 1e-9 * width <= tight <= truth + 1e-7 * width
        for wrong in (multipliers + 0.1 * rng.random(len(G)), 0.5 * multipliers, np.zeros(len(G))):
            missing = np.linalg.norm(N.T @ (linear - G.T @ wrong))
            proved = c @ chart.x0 + wrong @ chart.s0 + missing * blow_up(chart, nu)
            found = bound_by_multipliers(chart, nu, c, wrong)
            assert max(proved, truth) <= found + 1e-13 <= proved + 1e-9 * max(width, 1)
            assert found >= truth + 1e-3 * width


def test_a_large_set_is_bounded_up_to_a_ten_thousandth_of_its_width():
    geometry = _flows().geometry
    chart, conic = geometry.chart, geometry.conic
    G = -chart.slack_step(np.eye(chart.size)).T
    N = scipy.linalg.null_space((conic.E * chart.unit[None, :]).toarray(), rcond=1e-10)
    for size in (1e-6, 1.0, 1e6):
        for c in size * np.random.default_rng(4).standard_normal((2, geometry.size)):
            linear = chart.pull(c)
            truth, width = _optimum(chart, G, N, linear / size)[0] * size, np.linalg.norm(N.T @ linear)
            bound = coarse_bound(chart, geometry.nu, c) - c @ chart.x0
            assert truth - 1e-9 * width <= bound <= truth + 1.3e-4 * width
    constant = conic.P @ (conic.E.T @ np.arange(conic.E.shape[0]))  # the same all over the set
    level = constant @ chart.x0
    assert level <= coarse_bound(chart, geometry.nu, constant) <= level + 1e-10 * np.abs(constant).sum()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_bounds_of_small_and_large_functions_are_as_tight(size):
    X = _polytope()
    geometry, chart = X.geometry, X.geometry.chart
    G, N = chart.inequalities, np.eye(chart.size)
    for c in np.random.default_rng(5).standard_normal((3, 4)):
        linear = chart.pull(c)
        truth, multipliers = _optimum(chart, G, N, linear)
        width, truth = size * np.linalg.norm(linear), size * (truth + c @ chart.x0)
        middle = size * float(c @ geometry.conic.offset)
        q = geometry.conic.P.T @ (size * c)
        for bound in (
            upper_bound(chart, geometry.nu, size * c),
            lifted_bound(chart, geometry.nu, q) + middle,
            bound_by_dual(chart, geometry.nu, size * c, size * multipliers),
            lifted_bound_by_dual(chart, geometry.nu, q, size * multipliers) + middle,
        ):
            assert truth - 1e-12 * width <= bound <= truth + 1e-7 * width


def test_duals_a_little_outside_of_the_cone_are_moved_in_and_others_prove_nothing():
    geometry = _polytope().geometry
    chart, c = geometry.chart, np.array([1.0, -2.0, 0.5, 1.0])
    linear = chart.pull(c)
    truth, multipliers = _optimum(chart, chart.inequalities, np.eye(4), linear)
    width, truth = np.linalg.norm(linear), truth + c @ chart.x0
    inward = -chart.cones.gradient(chart.s0)
    for off, most in ((0.0, 1e-12), (5e-14, 1e-11), (5e-12, 1e-9), (5e-11, 1e-8)):
        bound = bound_by_dual(chart, geometry.nu, c, multipliers - off * width * inward)
        assert truth - 1e-12 * width <= bound <= truth + most * width
    assert bound_by_dual(chart, geometry.nu, c, multipliers - 5e-10 * width * inward) is None


@pytest.mark.parametrize("name", ["norm1", "norm2", "log_sum_exp", "pnorm3 power"])
def test_an_upper_bound_is_a_billionth_of_the_width_above_what_a_point_reaches(name):
    X = DecisionSet(*DECLARED[name]())
    chart = X.geometry.chart
    for c in np.random.default_rng(6).standard_normal((3, X.size)):
        width = np.linalg.norm(chart.pull(c))
        reached = float(c @ X.flatten(X.argmin(-X.unflatten(c))))
        assert reached - 1e-9 * width <= upper_bound(chart, X.nu, c) <= reached + 2e-7 * width
