"""Newton's method in a chart: where it ends, and how far the central path is followed at once."""

import numpy as np
import pytest
from catalogue_sets import CATALOGUE

from dpcvx.sets.geometry import newton
from dpcvx.sets.geometry.newton import decrement, minimise, minimise_joint, root

SETS = ["polytope", "portfolio", "spectrahedron", "cube"]


@pytest.fixture(params=SETS, scope="module")
def chart(request):
    return CATALOGUE[request.param][0]().geometry.chart


def _covector(chart, seed, size):
    c = np.random.default_rng(seed).standard_normal(chart.width)
    return size * c / np.linalg.norm(chart.tangential(chart.joint(c)))


def _restricted(chart, z):
    """The Hessian at z on a basis of the tangent vectors, and the basis."""
    N = np.eye(chart.size) if chart.auxiliaries else chart.tangent_basis()
    return N.T @ chart.hessian(z) @ N, N


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
def test_the_decrement_at_the_end_is_what_was_asked_for(chart, size):
    c = _covector(chart, 0, size)
    for start in (None, np.zeros(chart.size)):
        for tolerance in (0.1, 1e-6):
            found = minimise(chart, c, start, tolerance)
            H, N = _restricted(chart, found.z)
            g = N.T @ (chart.joint(c) + chart.gradient(found.z))
            assert np.array_equal(found.factor.z, found.z) and chart.interior(found.z)
            assert found.decrement <= tolerance
            assert np.sqrt(g @ np.linalg.solve(H, g)) == pytest.approx(found.decrement, rel=1e-2, abs=1e-7)


def test_a_step_and_its_decrement_are_newtons(chart):
    c = _covector(chart, 1, 2.0)
    z = minimise(chart, c, tolerance=0.1).z
    linear = chart.joint(-3 * c)
    step, left = decrement(chart.factor(z), linear)
    H, N = _restricted(chart, z)
    g = N.T @ (linear + chart.gradient(z))
    assert step == pytest.approx(-N @ np.linalg.solve(H, g), rel=1e-6, abs=1e-9)
    assert left == pytest.approx(np.sqrt(g @ np.linalg.solve(H, g)), rel=1e-6)


@pytest.mark.parametrize("strength", [1e-4, 0.03, 0.5, 0.9])
def test_the_path_is_followed_as_far_as_its_end_is_close(chart, strength, monkeypatch):
    """Along the tangent in 1/strength, in shares of the way to where that is 0, each 0.6 of the one before."""
    linear = chart.joint(_covector(chart, 2, 100.0))
    found = minimise_joint(chart, strength * linear, tolerance=1e-6)
    z, stronger = newton._follow(chart, linear, found, strength)
    H, N = _restricted(chart, found.z)
    ahead = -strength * (N @ np.linalg.solve(H, N.T @ linear))

    def is_close(share):
        target, then = found.z + share * ahead, min(1.0, strength / (1 - share))
        return bool(chart.interior(target)) and decrement(chart.factor(target), then * linear)[1] < 3

    shares = min(0.95, 1 - strength) * 0.6 ** np.arange(12)
    share = next(s for s in shares if s > 0.01 and is_close(s))
    assert stronger == pytest.approx(min(1.0, strength / (1 - share)), rel=1e-12) and stronger > strength
    assert z == pytest.approx(found.z + share * ahead, rel=1e-6, abs=1e-8)
    monkeypatch.setattr(newton, "_NEAR", 0.0)
    z, stronger = newton._follow(chart, linear, found, strength)
    assert np.array_equal(z, found.z) and stronger == min(1.0, 1.5 * strength)


def test_a_root_of_what_rounding_took_below_zero_is_zero():
    assert (root(4.0), root(0.0), root(-1e-20)) == (2, 0, 0)
