"""Newton's method on a batch against one by one."""

import numpy as np
import pytest

import decision_sets as ds
from dpcvx.sets.geometry import batch_newton
from dpcvx.sets.geometry.batch_newton import minimise_all
from dpcvx.sets.geometry.newton import decrement, minimise


@pytest.mark.parametrize(
    "make", [lambda: ds.simplex(5), lambda: ds.cube(4), lambda: ds.norm_ball(4, 2), lambda: ds.spectrahedron(3)]
)
def test_a_batch_equals_one_by_one(make):
    X = make()
    chart = X.geometry.chart
    strengths = 10.0 ** np.arange(-3, 9)
    covectors = np.random.default_rng(0).standard_normal((12, chart.width)) * strengths[:, None]
    found = minimise_all(chart, covectors)
    for z, covector in zip(found, covectors, strict=True):
        assert chart.interior(z)
        assert chart.point(z) == pytest.approx(chart.point(minimise(chart, covector).z), abs=1e-6)


def test_it_may_start_anywhere_inside():
    chart = ds.simplex(5).geometry.chart
    covectors = np.random.default_rng(1).standard_normal((6, chart.width)) * 5
    start = minimise_all(chart, -10 * covectors)
    assert minimise_all(chart, covectors, start) == pytest.approx(minimise_all(chart, covectors), abs=1e-5)


def _worst_decrement(X):
    """Of rows that come from a near start, as in the rounds of a learner; decrements measured anew where they ended."""
    chart = X.geometry.chart
    rng = np.random.default_rng(2)
    covectors = rng.standard_normal((40, chart.width))
    start = minimise_all(chart, covectors)
    covectors = covectors + 10.0 ** rng.uniform(-4, 0, (40, 1)) * rng.standard_normal(covectors.shape)
    found = minimise_all(chart, covectors, start)
    return max(decrement(chart.factor(z), chart.joint(c))[1] for z, c in zip(found, covectors, strict=True))


@pytest.mark.parametrize("make", [lambda: ds.portfolio(8), lambda: ds.cube(4), lambda: ds.norm_ball(4, 2)])
def test_the_last_step_is_not_measured_and_yet_ends_below_the_tolerance(make, monkeypatch):
    """Teeth: a step from farther away that is taken for the last one does not."""
    assert _worst_decrement(make()) <= 1.1e-6
    monkeypatch.setattr(batch_newton, "_LAST", 9e-3)
    monkeypatch.setattr(batch_newton, "_TOLERANCE", 9e-5)  # what (d/(1 - d))^2 promises there
    assert 2e-6 < _worst_decrement(make()) <= 9e-5


@pytest.mark.parametrize("make", [lambda: ds.cube(4), lambda: ds.norm_ball(4, 2), lambda: ds.spectrahedron(3)])
@pytest.mark.parametrize("iterations", range(1, 6))
def test_rows_that_a_few_steps_do_not_bring_to_an_end_are_finished_one_by_one(make, iterations, monkeypatch):
    chart = make().geometry.chart
    covectors = np.random.default_rng(3).standard_normal((8, chart.width)) * 10.0 ** np.linspace(-2, 1, 8)[:, None]
    monkeypatch.setattr(batch_newton, "_ITERATIONS", iterations)
    found = minimise_all(chart, covectors)
    left = [decrement(chart.factor(z), chart.joint(c))[1] for z, c in zip(found, covectors, strict=True)]
    assert max(left) <= 1e-4
