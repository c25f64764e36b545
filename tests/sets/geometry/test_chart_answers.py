"""What charts answer: broadcast systems, permuted entries, widths of fixed columns, boxes of sets without bounds."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.geometry.bounds import loose_box
from dpcvx.sets.geometry.charts import DenseChart, DiagonalChart


def _polygon(unit=1.0):
    """A rhombus with corners at 3 and 1 units from the origin: no constraint is on one entry."""
    x = cp.Variable(2)
    return DecisionSet(x, [x[0] / 3 + x[1] <= unit, x[0] / 3 - x[1] <= unit,
                           -x[0] / 3 + x[1] <= unit, -x[0] / 3 - x[1] <= unit])  # fmt: skip


def test_one_right_hand_side_is_solved_at_every_point_of_a_batch():
    X = _polygon()
    chart = DenseChart.fit(X.geometry.conic)(X.geometry.chart.v0)
    points = np.array([[0.0, 0.0], [1.0, 0.2], [-2.0, 0.1]])
    z = chart.coordinates(points)
    for g in (np.array([[1.0, -2.0]]), np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])):
        wanted = [np.linalg.solve(chart.hessian(at), b) for at, b in zip(z, np.broadcast_to(g, (3, 2)), strict=True)]
        assert chart.factor(z).solve(g) == pytest.approx(np.array(wanted), rel=1e-9)


def test_a_diagonal_chart_pushes_and_pulls_as_p_does_where_entries_are_permuted():
    x = cp.Variable(4)
    conic = DecisionSet(x, [x >= [0, -1, -2, -3], x <= [1, 2, 3, 4]]).geometry.conic
    for order in ([1, 2, 3, 0], [1, 0, 2, 3], [0, 1, 2, 3]):
        turned = replace(conic, P=conic.P[order])
        v0 = np.linalg.solve(conic.P.toarray(), np.array([0.5, 0.25, 1.0, 2.0]) - conic.offset)
        chart = DiagonalChart.fit(turned)(v0)
        z, c = np.array([0.1, -0.2, 0.3, 0.15]), np.array([1.0, 2.0, -3.0, 5.0])
        step = turned.P @ (chart.lifted(z) - v0)
        assert chart.push(z) == pytest.approx(step, rel=1e-12)
        assert chart.pull(c) @ z == pytest.approx(c @ step, rel=1e-12)


def test_columns_that_do_not_move_have_width_1():
    x = cp.Variable(3)
    X = DecisionSet(x, [cp.norm2(x[:2]) <= 1, x[2] == 5])
    conic = X.geometry.conic
    chart = DenseChart.fit(conic)(X.geometry.chart.v0)
    widths = np.linalg.norm(chart.W, axis=1)
    assert chart.column_widths() == pytest.approx(np.where(widths > 0, widths, 1.0)) and chart.column_widths().min() > 0


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_the_box_of_a_large_set_holds_it_and_is_in_its_units(unit):
    geometry = _polygon(unit).geometry
    lower, upper = loose_box(geometry.conic, geometry.chart, geometry.nu)
    assert np.all(upper >= unit * np.array([3, 1])) and np.all(lower <= -unit * np.array([3, 1]))
    assert np.all(upper <= 10 * unit * np.array([3, 1])) and np.all(lower >= -10 * unit * np.array([3, 1]))


def test_entries_that_are_fixed_have_no_part_in_the_size_of_a_set():
    x = cp.Variable(2)
    X = DecisionSet(x, [x[0] == 1e8, cp.abs(x[1]) <= 1])
    assert X.geometry.chart.widths()[0] == 0 and X.geometry.extent == pytest.approx(X.geometry.chart.widths()[1])
    assert X.geometry.extent <= 1 and X.geometry.centered_form.size <= 1
    assert np.isfinite(X.barrier.value([1e8, 0.5]))
    with pytest.raises(ValueError, match="not on the affine hull"):
        X.barrier.value([1e8 + 100, 0.5])


def test_a_projection_moves_what_is_free_however_large_the_units_of_fixed_entries_are():
    X = cp.Variable((2, 2), symmetric=True)
    unit = np.outer([440.0, 640.0], [440.0, 640.0])
    S = cp.symmetric_wrap(cp.multiply(1 / unit, X))
    half = DecisionSet(X, [S >> 0, cp.norm2(S[:, 0] - np.array([1, 0])) <= 0, cp.trace(S) <= 6])
    for t in (2.3, -1.0, 4.0, 9.0):
        nearest = half.project(unit * np.diag([1.0, t])) / unit
        assert nearest == pytest.approx(np.diag([1.0, np.clip(t, 0, 5)]), abs=1e-8)
