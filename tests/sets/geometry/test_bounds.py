"""Certified bounds: how far the set reaches, in the norm of its center."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.geometry.bounds import blow_up, bound_by_dual, lifted_bound, upper_bound
from dpcvx.sets.shapes.shape import Shape

NOT_SYMMETRIC = ["pnorm3 power", "log_sum_exp", "entropy"]
SYMMETRIC = ["norm1", "norm2", "quad_form"]
SLACK = 1.01  # for a center that Newton's method found


@pytest.mark.parametrize("name", NOT_SYMMETRIC + SYMMETRIC)
def test_a_set_is_held_by_the_dikin_ellipsoid_blown_up_as_theory_says(name):
    """nu + 2 sqrt(nu) for any barrier; a smaller number would be refuted on few sets, but nothing proves it."""
    geometry = DecisionSet(*DECLARED[name]()).geometry
    chart, general = geometry.chart, geometry.nu + 2 * np.sqrt(geometry.nu)
    k = chart.cones.nu
    assert chart.cones.is_symmetric == (name in SYMMETRIC)
    proved = min(general, np.sqrt(k * k - k)) if name in SYMMETRIC else general
    assert blow_up(chart, geometry.nu) == pytest.approx(SLACK * proved, rel=1e-12)
    assert geometry.central_radius == pytest.approx(SLACK * proved * chart.radius(), rel=1e-12)


def test_the_vertices_of_a_simplex_are_as_far_as_the_bound_for_symmetric_cones():
    X = ds.simplex(5)
    chart = X.geometry.chart
    far = np.linalg.norm(chart.coordinates(np.eye(5)), axis=1)
    assert far == pytest.approx(np.full(5, np.sqrt(5 * 5 - 5)), rel=1e-6)
    assert blow_up(chart, X.nu) == pytest.approx(SLACK * np.sqrt(5 * 5 - 5), rel=1e-12)


@pytest.mark.parametrize("name", ["pnorm3 power", "log_sum_exp", "entropy", "norm2", "normNuc"])
def test_a_bound_by_a_dual_point_holds_whatever_the_point(name):
    """Teeth: without what it misses of c, a point that proves nothing would be believed."""
    X = DecisionSet(*DECLARED[name]())
    chart, rng = X.geometry.chart, np.random.default_rng(0)
    solvers = Shape(X.geometry, X.layout)._solvers
    believed = 0
    for c in rng.standard_normal((4, X.size)):
        truth = float(c @ solvers.argmin(-c))
        answer = solvers._proofs.minimise(-(solvers._form.P.T @ c))
        scale = solvers._form.cones.largest(solvers._form.s0) / solvers._form.cones.largest(chart.s0)
        dual = scale * answer.dual[solvers._form.E.shape[0] :]
        width = np.linalg.norm(chart.tangential(chart.joint(chart.pull(c))))
        assert truth - 1e-7 * width <= bound_by_dual(chart, X.nu, c, dual) <= truth + 1e-6 * width
        for wrong in (0.5 * dual, 0.9 * dual - 0.01 * chart.cones.gradient(chart.s0)):
            proved = bound_by_dual(chart, X.nu, c, wrong)
            assert proved is None or proved >= truth - 1e-7 * width
            believed += bool(c @ chart.x0 + wrong @ chart.s0 < truth - 1e-7 * width)
        assert bound_by_dual(chart, X.nu, c, -dual) is None
        assert bound_by_dual(chart, X.nu, c, dual * np.nan) is None
    assert believed


def test_lifted_and_plain_bounds_agree_and_hold():
    X = DecisionSet(*DECLARED["log_sum_exp"]())
    chart = X.geometry.chart
    for c in np.random.default_rng(1).standard_normal((3, X.size)):
        plain = upper_bound(chart, X.nu, c)
        lifted = lifted_bound(chart, X.nu, X.geometry.conic.P.T @ c) + float(c @ X.geometry.conic.offset)
        width = np.linalg.norm(chart.pull(c))
        assert plain == pytest.approx(lifted, abs=1e-8 * width)
        assert X.support(X.unflatten(c)) - 1e-7 * width <= plain <= X.support(X.unflatten(c)) + 1e-6 * width


@pytest.mark.parametrize("tilt", [1e-13, 3e-14, -1e-13])
def test_a_direction_that_is_nearly_constant_is_bounded_from_above(tilt):
    """On { x + y = 0, |x| <= 1 } <(1 + t, 1 - t), (x, y)> = 2 t x; so little is bounded by a ball around the set."""
    y = cp.Variable(2)
    X = DecisionSet(y, [cp.sum(y) == 0, y <= 1, y >= -1])
    c = np.array([1 + tilt, 1 - tilt])
    truth = abs(c[0] - c[1])
    assert truth <= upper_bound(X.geometry.chart, X.nu, c) <= 1.02 * truth


def test_a_linear_function_has_one_value_on_a_point():
    y = cp.Variable(2)
    X = DecisionSet(y, [y == np.array([1.0, -2.0])])
    assert upper_bound(X.geometry.chart, X.nu, np.array([2.0, 3.0])) == pytest.approx(-4, abs=1e-12)
    q = np.ones(X.geometry.conic.columns)
    assert lifted_bound(X.geometry.chart, X.nu, q) == pytest.approx(q @ X.geometry.chart.v0, abs=1e-12)
