"""Certified bounds: how far the set reaches, in the norm of its center."""

import numpy as np
import pytest
from declared_sets import DECLARED

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.geometry.bounds import blow_up

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
