"""Newton's method on a batch against one by one."""

import numpy as np
import pytest

import decision_sets as ds
from dpcvx.sets.geometry.batch_newton import minimise_all
from dpcvx.sets.geometry.newton import minimise


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
