"""Line searches end just before the minimiser along the line, however long or short the step is."""

import numpy as np
import pytest

import decision_sets as ds
from dpcvx.sets.geometry.line_search import line_search, line_search_all

LENGTHS = 10.0 ** np.arange(-4.0, 3.0)
SETS = {"cube": lambda: ds.cube(3), "ball": lambda: ds.norm_ball(3), "matrices": lambda: ds.spectrahedron(2)}


def _lines(chart, rng):
    """Starts inside, and directions of descent of a linear function plus the barrier, in steps of many lengths."""
    z = 0.3 * rng.uniform(-1, 1, (len(LENGTHS), chart.size))
    if chart.dim < chart.size:
        z = z @ chart.tangent_basis() @ chart.tangent_basis().T
    linear = rng.standard_normal(z.shape) * 5
    step = -np.array([chart.factor(one).solve(g) for one, g in zip(z, linear + chart.gradient(z), strict=True)])
    step *= (LENGTHS / np.linalg.norm(step, axis=1))[:, None]
    return z, step, (linear * step).sum(axis=1)


def _slope(chart, z, step, slope, alpha):
    """Of the function at alpha; infinite outside."""
    moved = chart.slack(z) + alpha * chart.slack_step(step)
    if not chart.cones.interior(moved):
        return np.inf
    return slope + float(chart.cones.gradient(moved) @ chart.slack_step(step))


@pytest.mark.parametrize("name", SETS)
def test_the_function_still_falls_at_the_end_and_no_longer_a_little_farther_on(name):
    chart = SETS[name]().geometry.chart
    z, step, slope = _lines(chart, np.random.default_rng(0))
    together = line_search_all(chart, z, step, slope)
    alone = [line_search(chart, *line) for line in zip(z, step, slope, strict=True)]
    for ends, further in ((together, 1.21), (alone, 1.11)):
        for line, alpha in zip(zip(z, step, slope, strict=True), ends, strict=True):
            assert alpha > 0
            assert _slope(chart, *line, alpha) <= 0 < _slope(chart, *line, further * alpha)
    assert together.max() / together.min() > 1e5  # the teeth: ends far above and far below a whole step


def test_a_curve_is_added_to_the_slope():
    """Of the barrier -log(1 - a^2) of one entry of a cube and of -2 a + c a^2/2, the derivative vanishes at the end."""
    chart = ds.cube(3).geometry.chart
    at_one = chart.coordinates(np.eye(3)[:1])[0]
    for curve in (0.0, 1.0, 10.0):
        roots = np.roots([-curve, 2.0, curve + 2, -2.0])  # of (2 a/(1 - a^2) - 2 + c a)(1 - a^2)
        (wanted,) = (root.real for root in roots if abs(root.imag) < 1e-9 and 0 < root.real < 1)
        found = line_search(chart, np.zeros(chart.size), at_one, -2.0, curve=curve)
        assert wanted / 1.11 <= found <= wanted * (1 + 1e-9)
