"""Parts of charts: which sets they fit, how far a few columns narrow an ellipsoid, other curvatures, units of x."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from scipy import sparse

from dpcvx import DecisionSet
from dpcvx.sets.geometry.charts import DenseChart, DiagonalChart, SparseChart
from dpcvx.sets.geometry.charts.dense import TangentSpace
from dpcvx.sets.geometry.charts.diagonal import chart as diagonal
from dpcvx.sets.geometry.charts.diagonal.factor import CurvedFactor, DiagonalFactor


def _box(n, rows=0, balls=0, equalities=0, **options):
    x, rng = cp.Variable(n), np.random.default_rng(0)
    constraints = [x >= -1, x <= 1, *(rng.standard_normal(n) @ x <= 3 for _ in range(rows))]
    constraints += [cp.norm2(x[k : n // 2 + k]) <= 3 + k for k in range(balls)]
    return DecisionSet(x, [*constraints, *(rng.standard_normal(n) @ x == 0 for _ in range(equalities))], **options)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((64, 1), DiagonalChart),
        ((63, 1), DenseChart),
        ((63, 0, 1), DenseChart),
        ((5, 0), DiagonalChart),
        ((70, 5, 3), DiagonalChart),
        ((70, 5, 4), DenseChart),
        ((70, 9), DenseChart),
        ((70, 0, 9), DenseChart),
        ((20, 0, 0, 8), DiagonalChart),
        ((20, 0, 0, 9), DenseChart),
        ((79, 0, 0, 9), DenseChart),
        ((80, 0, 0, 9), SparseChart),
    ],
)
def test_charts_fit_up_to_their_limits(parts, kind):
    assert type(_box(*parts).geometry.chart) is kind


BALLS = {
    "apart": (lambda x: [cp.norm2(x[:9]) <= 1], True),
    "a sum in one entry": (lambda x: [cp.norm2(cp.hstack([x[0] + x[1], x[2]])) <= 1], False),
    "an entry twice": (lambda x: [cp.norm2(cp.hstack([x[0], x[0], x[2]])) <= 1], False),
    "a head that moves": (lambda x: [cp.norm2(x[:9]) <= 1 + x[9]], False),
    "an exponential": (lambda x: [cp.exp(x[0]) <= 1 + x[1]], False),
    "equalities in two lines": (lambda x: [x[0] + x[1] == 0, x[2] + x[3] == 0], True),
}


@pytest.mark.parametrize("name", BALLS)
def test_balls_along_the_axes_fit_a_diagonal_chart(name):
    make, fits = BALLS[name]
    x = cp.Variable(70)
    assert isinstance(DecisionSet(x, [x >= -1, x <= 1, *make(x)]).geometry.chart, DiagonalChart) == fits


def test_a_few_columns_narrow_the_ellipsoid_by_their_largest_eigenvalue(monkeypatch):
    rng = np.random.default_rng(1)
    root, U = rng.uniform(1, 3, 6), rng.standard_normal((6, 2))
    H = np.diag(root**2) + U @ U.T
    curved = CurvedFactor(np.zeros(6), np.zeros(6), root, U, [])
    inside = np.diag(1 / root) @ H @ np.diag(1 / root)
    assert curved.flattest == pytest.approx(1 / np.sqrt(np.linalg.eigvalsh(inside)[-1]), rel=1e-9)
    assert DiagonalFactor(np.zeros(6), np.zeros(6), root, []).flattest == 1
    chart = _box(66, 2, 1).geometry.chart
    dense = chart.hessian(np.zeros(66))
    assert np.abs(chart.derivatives(np.zeros(66))[1]) == pytest.approx(np.ones(66))
    monkeypatch.setattr(diagonal, "_LARGE", 65)
    assert chart.least_width() == pytest.approx(1 / np.sqrt(np.linalg.eigvalsh(dense)[-1]), rel=1e-6)


def test_another_curvature_of_the_slacks_is_solved_on_a_sparse_chart():
    """Also where coordinates that equalities fix have no inequality of their own."""
    x = cp.Variable(90)
    fixed = [x[0] == 0, x[45:85] == x[5:45] / 2, cp.sum(x[:45]) == 10]
    geometry = DecisionSet(x, [x >= 0, x[1:40] <= 1, x[85:] <= 2, *fixed]).geometry
    chart, rng = geometry.chart, np.random.default_rng(2)
    assert chart.name == "sparse" and chart.structure.idle.any()
    G = -chart.slack_step(np.eye(chart.width)).T
    N = scipy.linalg.null_space((geometry.conic.E @ sparse.diags_array(chart.unit)).toarray(), rcond=1e-10)
    for _ in range(3):
        curvature, g = rng.uniform(0.1, 2, len(G)), rng.standard_normal(chart.width)
        H = G.T @ (curvature[:, None] * G)
        wanted = N @ np.linalg.solve(N.T @ H @ N, N.T @ g)
        assert chart.curved(np.zeros(chart.width), curvature).solve(g) == pytest.approx(wanted, abs=1e-8)


def test_dimension_does_not_see_the_units_of_x():
    conic = DecisionSet(x := cp.Variable(3), [cp.norm1(x) <= 1, x[0] + x[1] == 0]).geometry.conic
    dim = TangentSpace(conic).dim
    assert dim == 2
    for units in ([1e-9, 1e-9, 1e9], [1e9, 1e9, 1e-9]):
        turned = replace(conic, P=sparse.csr_array(sparse.diags_array(np.array(units)) @ conic.P))
        found = TangentSpace(turned)
        assert found.dim == dim and found.auxiliaries == found.W.shape[1] - dim
        assert found.W.T @ found.W == pytest.approx(np.eye(found.W.shape[1]), abs=1e-12)
        assert conic.E @ found.W == pytest.approx(np.zeros((conic.E.shape[0], found.W.shape[1])), abs=1e-9)
        assert turned.P @ found.W[:, : found.auxiliaries] / np.array(units)[:, None] == pytest.approx(
            np.zeros((3, found.auxiliaries)), abs=1e-12
        )
