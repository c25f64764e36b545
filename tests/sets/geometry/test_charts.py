"""The diagonal chart gives the same linear algebra as the dense one on the same set; charts answer for themselves."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, UnsupportedConeError
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry import charts
from dpcvx.sets.geometry.charts import DenseChart, DiagonalChart, charts_of
from dpcvx.sets.geometry.charts.dense import TangentSpace

N = 70


def _sets():
    x = cp.Variable(N, name="x")
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2, N))
    yield "box", x, [x >= -1, x <= 2]
    yield "simplex", x, [x >= 0, cp.sum(x) == 1]
    yield "capped simplex", x, [x >= 0, x <= 0.1, cp.sum(x) == 1]
    yield "box with budgets", x, [x >= -1, x <= 1, rows @ x <= 3]
    yield "two simplices", x, [x >= 0, cp.sum(x[:30]) == 1, cp.sum(x[30:]) == 2]
    yield "ball", x, [cp.norm2(x) <= 1]
    yield "cut ball", x, [cp.norm2(x - 0.1) <= 1, cp.sum(x) == 0.5, rows[0] @ x <= 0.5]
    yield "box, ball and budget", x, [x >= -0.5, x <= 0.5, cp.norm2(x) <= 1, rows @ x <= 1, cp.sum(x) == 0]


@pytest.mark.parametrize(
    ("name", "variable", "constraints"), list(_sets()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_diagonal_and_dense_charts_agree(name, variable, constraints):
    rng = np.random.default_rng(1)
    X = DecisionSet(variable, constraints)
    fast = X.geometry.chart
    assert isinstance(fast, DiagonalChart)
    dense = DenseChart.fit(X.geometry.conic)(fast.v0)
    assert fast.dim == dense.dim
    for strength in (0.0, 30.0, 1e3):
        x = X.flatten(X.barrier.argmin(strength * rng.standard_normal(N)))
        a, b = fast.factor(fast.coordinates(x)), dense.factor(dense.coordinates(x))
        assert fast.value(a.z) == pytest.approx(float(dense.value(b.z)), rel=1e-8, abs=1e-8)
        c = rng.standard_normal(N)
        step_fast, step_dense = fast.push(a.solve(fast.pull(c))), dense.push(b.solve(dense.pull(c)))
        assert np.allclose(step_fast, step_dense, rtol=1e-6, atol=1e-8 * np.abs(step_dense).max())
        tangent = step_dense
        force_fast = fast.spread(a.apply(fast.coordinates(fast.x0 + tangent)))
        force_dense = dense.spread(b.apply(dense.coordinates(dense.x0 + tangent)))
        assert np.allclose(force_fast, force_dense, rtol=1e-5, atol=1e-6 * np.abs(force_dense).max())
        # C'^-1 C^-1 = S^-1 and C C' = S in both, whatever C is
        axes_fast, axes_dense = fast.push(a.half_solve(np.eye(fast.dim))), dense.push(b.half_solve(np.eye(dense.dim)))
        inverse = axes_dense.T @ axes_dense
        assert np.allclose(axes_fast.T @ axes_fast, inverse, rtol=1e-5, atol=1e-8 * np.abs(inverse).max())
        covectors = fast.spread(a.half_apply(np.eye(fast.dim)))
        assert np.allclose(covectors @ axes_fast.T, np.eye(fast.dim), atol=1e-6)
        assert np.allclose(
            fast.spread(fast.gradient(a.z)), dense.spread(dense.gradient(b.z)), rtol=1e-6, atol=1e-7 * np.abs(c).max()
        )
        for chart, factor in ((fast, a), (dense, b)):
            d, measure = factor.sample(rng, 0.5)  # on the ellipsoid of radius 1/2, and what measures it
            assert measure @ d == pytest.approx(0.25)
            force = chart.spread(factor.apply(d))
            assert np.allclose(chart.spread(measure), force, rtol=1e-5, atol=1e-6 * np.abs(force).max())


@pytest.mark.parametrize(
    ("name", "variable", "constraints"), list(_sets()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_charts_answer_for_themselves(name, variable, constraints):
    X = DecisionSet(variable, constraints)
    fast, dense = X.geometry.chart, DenseChart.fit(X.geometry.conic)(X.geometry.chart.v0)
    assert (fast.name, dense.name) == ("diagonal", "dense")
    assert f"linear algebra   {fast.name}" in X.summary()
    # the largest half-axis of the Dikin ellipsoid at the center
    axes = dense.push(dense.factor(np.zeros(dense.size)).half_solve(np.eye(dense.dim)))
    assert dense.radius() == pytest.approx(np.linalg.norm(axes, 2)) and fast.radius() == np.inf
    for chart in (fast, dense):
        H = chart.hessian(np.zeros(chart.size))
        d = chart.tangent_basis().T[:3]
        assert np.allclose(chart.factor(np.zeros(chart.size)).apply(d), d @ H)
        rows = chart.slack_rows()
        assert rows.shape[0] == X.geometry.conic.cones.size
        constant = np.diff(X.geometry.conic.A.indptr) == 0
        assert np.array_equal(np.linalg.norm(rows.toarray(), axis=1) <= 1e-13, constant)


def test_the_first_kind_that_fits_is_taken_and_none_is_a_sentence(monkeypatch):
    x = cp.Variable(N, name="x")
    conic = DecisionSet(x, [x >= -1, x <= 2]).geometry.conic
    assert isinstance(charts_of(conic)(np.zeros(N)), DiagonalChart)
    monkeypatch.setattr(charts, "KINDS", (DenseChart, DiagonalChart))
    assert isinstance(charts_of(conic)(np.zeros(N)), DenseChart)
    y = cp.Variable(4, name="y")
    general = DecisionSet(y, [cp.norm1(y) <= 1]).geometry.conic
    assert DiagonalChart.fit(general) is None
    monkeypatch.setattr(charts, "KINDS", (DiagonalChart,))
    with pytest.raises(UnsupportedConeError, match="lifted coordinates"):
        charts_of(general)


@pytest.mark.parametrize("free", [0, 1])
def test_entries_that_equalities_fix_in_units_far_apart_do_not_move_with_auxiliaries(free):
    rng = np.random.default_rng(0)
    for _ in range(40):
        rows = rng.standard_normal((7, 5)) * 10.0 ** rng.uniform(-6, 0, 5)
        x, y = cp.Variable(5 + free, name="x"), cp.Variable(3, name="y")
        conic = lift(declare(x, [rows @ x[:5] == 0, cp.abs(x) <= 1, cp.norm2(y) <= 1 + x[0]]))
        turned = replace(conic, A=conic.A[:, ::-1], E=conic.E[:, ::-1], P=conic.P[:, ::-1])  # auxiliaries first
        assert TangentSpace(conic).dim == TangentSpace(turned).dim == free
