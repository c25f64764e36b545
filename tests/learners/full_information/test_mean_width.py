"""The mean width of noise: what it is on sets where that is known, and the best rate for vertices, in any unit."""

import math

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses
from scipy.special import logsumexp

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.learners.full_information.mean_width import _mean_maximum, _vertex_maximum, mean_width
from dpcvx.privacy.noise import Laplace
from dpcvx.privacy.prefix_noise import PrefixNoise, gaussian_noise
from dpcvx.sets.sizes import sizes_of


def laplace_noise(scale, terms):
    return PrefixNoise(Laplace(scale), terms, scale * np.sqrt(2 * terms), True)


def width(X, noise):
    return mean_width(sizes_of(X, box_losses(X.shape)), noise)


@pytest.mark.parametrize(("radius", "deviation"), [(0.1, 0.02), (25.0, 0.02), (25.0, 30.0)])
def test_the_width_of_a_ball_is_its_radius_times_the_mean_length(radius, deviation):
    assert width(ds.norm_ball(7, 2, radius=radius), gaussian_noise(deviation)) == pytest.approx(
        radius * math.sqrt(7) * deviation, rel=1e-6
    )


@pytest.mark.parametrize("deviation", [0.02, 1.0, 30.0])
def test_the_width_of_a_box_is_half_of_its_sides_times_the_mean_size(deviation):
    X = ds.box(np.array([-1.0, 0.0, 2.0, -7.0]), np.array([1.0, 3.0, 2.5, -6.0]))
    mean = deviation * math.sqrt(2 / math.pi)
    assert width(X, gaussian_noise(deviation)) == pytest.approx((2 + 3 + 0.5 + 1) / 2 * mean, rel=1e-6)


def test_the_width_of_a_point_is_zero():
    x = cp.Variable(3)
    assert width(DecisionSet(x, [x == 1]), gaussian_noise(1.0)) == 0


@pytest.mark.parametrize(("mass", "total", "count"), [(0.2, True, 60), (40.0, False, 61)])
def test_the_width_of_many_arms_is_the_mass_times_the_largest_of_as_many_or_of_one_more(mass, total, count):
    """One more where the sum may be less, since 0 is a corner too."""
    x = cp.Variable(60, nonneg=True)
    X = DecisionSet(x, [cp.sum(x) == mass if total else cp.sum(x) <= mass])
    expected = mass * 3.0 * math.sqrt(2 * math.log(count))
    assert expected * (1 - 1e-9) <= width(X, gaussian_noise(3.0)) <= expected * (1 + 1e-5)


VERTICES = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 5.0], [-1.0, 3.0, 5.0], [0.5, 0.5, 5.5]])


@pytest.mark.parametrize("unit", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("law", ["Gaussian", "Laplace"])
def test_the_largest_of_vertices_is_bounded_by_the_best_rate(unit, law):
    """inf over s of (ln sum over v of E exp(s <Z, v - mean>))/s, on a fine grid of s."""
    moved = unit * (VERTICES - VERTICES.mean(axis=0))
    if law == "Gaussian":
        noise, rates = gaussian_noise(0.7), np.geomspace(0.01, 100, 20_001) / unit
        logs = (0.7 * rates[:, None]) ** 2 * (moved**2).sum(axis=1) / 2
    else:
        noise, largest = laplace_noise(0.7, 3), 1 / (0.7 * np.abs(moved).max())
        rates = largest * np.linspace(1e-4, 1 - 1e-6, 20_001)
        logs = -3 * np.log1p(-((0.7 * rates[:, None, None] * moved) ** 2)).sum(axis=2)
    best = (logsumexp(logs, axis=1) / rates).min()
    found = _vertex_maximum(unit * VERTICES, noise)
    assert found == pytest.approx(best, rel=1e-5)


def test_equal_vertices_have_no_width():
    assert _vertex_maximum(np.ones((3, 2)), gaussian_noise(1.0)) == 0


@pytest.mark.parametrize("limit", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("share", [0.05, 0.9, 0.99999])
def test_the_best_rate_is_found_below_any_limit(limit, share):
    """(s - s*)^2 + s over s is least at s*, wherever that is."""
    best = share * limit
    found = _mean_maximum(lambda s: s * (1 + ((s - best) / limit) ** 2), limit)
    assert found == pytest.approx(1, abs=1e-9)
