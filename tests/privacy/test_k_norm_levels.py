"""The levels of K-norm noise have the weights of their formula, and moments bounded as the proof says, to the digit."""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from dpcvx.privacy.noise.k_norm_levels import Levels, _weights

WIDE = 2.0**40
ROUNDED = 1 + 1e-5  # what is added to sums over levels


def law_of(half, spread, count):
    """The probabilities of the first levels: prod_j (2 floor(k h_j/r) + 1) q^k, by whole numbers."""
    r, k = 2 * len(half), np.arange(count)
    points = {h: [2 * (each * int(h) // r) + 1.0 for each in k.tolist()] for h in half}
    logs = sum(half.count(h) * np.log(row) for h, row in points.items()) - k / spread
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize("spread", [0.8, 7.0, 63.0])
@pytest.mark.parametrize(
    "half", [(1,), (2, 3), (3, 7, 49), (5, 5, 6, 11, 200), (1, 2, 3, WIDE), (9,) * 40 + (10,) * 20]
)
def test_weights_of_levels_are_counted_in_whole_points(half, spread):
    found = _weights(Levels.of(spread, np.array(half, dtype=float)))
    expected = law_of(half, spread, found.size)
    np.testing.assert_allclose(found, expected, rtol=2e-6 if WIDE in half else 1e-11, atol=1e-11)
    assert found[-1] < found.max() * math.exp(-60)  # and falls faster from there on


@pytest.mark.parametrize("size", [1, 6, 100])
@pytest.mark.parametrize("spread", [0.5, 30.0])
def test_weights_go_on_until_almost_nothing_is_left(size, spread):
    found = _weights(Levels.of(spread, np.full(size, WIDE)))
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1, rel=1e-12)
    assert found[0] == 0 and found[-1] < found.max() * math.exp(-60)


@pytest.mark.parametrize(("half", "spread"), [((1,), 5.0), ((3, 7, 49), 20.0), ((1,), 100.0), ((4,) * 6, 800.0)])
def test_moments_of_listed_levels_are_their_sums_but_for_a_hundred_thousandth(half, spread):
    levels = Levels.of(spread, np.array(half, dtype=float))
    assert levels._is_listed
    p = law_of(half, spread, int(spread * (len(half) + 90)) + 100)
    k = np.arange(p.size)
    assert levels.moments() == pytest.approx((p @ k * ROUNDED, p @ k**2 * ROUNDED), rel=1e-10)


@pytest.mark.parametrize(
    ("half", "spread"), [((30, 40, 50), 100.0), ((WIDE,), 64.0), ((WIDE, WIDE), 64.0), ((1000,) * 45, 100.0)]
)
def test_moments_of_unlisted_levels_are_those_of_gamma_draws_times_the_proved_slack(half, spread):
    """E k^m <= (N+m)!/N! t^m (1 + e)^2 exp(d/t)/((1 - e)^2 (1 - 2 d/t)), e = 4 (2 pi t)^-(N+1)."""
    levels, n = Levels.of(spread, np.array(half, dtype=float)), len(half)
    assert not levels._is_listed
    with mpmath.workdps(40):
        t = mpmath.mpf(spread)
        d = sum(mpmath.mpf(n) / mpmath.mpf(h) for h in half) / n / t
        e = 4 * (2 * mpmath.pi * t) ** -(n + 1)
        slack = ((1 + e) / (1 - e)) ** 2 * mpmath.exp(d) / (1 - 2 * d) * (1 + mpmath.mpf(10) ** -12)
        bounds = float((n + 1) * t * slack), float((n + 1) * (n + 2) * t**2 * slack)
    assert levels.moments() == pytest.approx(bounds, rel=2e-13, abs=0)
    p = law_of(half, spread, int(spread * (n + 90)))
    k = np.arange(p.size)
    for found, exact in zip(levels.moments(), (p @ k, p @ k**2), strict=True):
        assert exact <= found <= exact * (1 + 1e-4 + 12 * float(d))


def test_levels_are_listed_where_they_are_few_and_not_those_of_gamma_draws():
    def listed(half, spread):
        return Levels.of(spread, np.array(half, dtype=float))._is_listed

    assert listed([WIDE] * 2, 63.999) and not listed([WIDE] * 2, 64.0)
    assert listed([1], 999.0) and not listed([1], 1000.0)  # the blur is 1, a thousandth of the spread
    two_kinds = [1] * 1000 + [2] * 1000
    assert listed(two_kinds, 249.0) and not listed(two_kinds, 250.0)  # 250 * 2000 * 2 numbers are a million
    assert listed([1] * 2000, 499.0) and not listed([1] * 2000, 500.0)
    assert listed(two_kinds, 63.0)  # a narrow law has no other moments


def test_half_widths_are_alike_where_they_change_no_weight_by_a_millionth():
    levels = Levels.of(3.0, np.array([8.0, 2.0, 8.0, WIDE]))
    assert levels.narrow == ((1.0, 2), (4.0, 1)) and levels.size == 4
    assert levels.blur == pytest.approx((0.5 + 2 + 0.5) / 4, rel=1e-11)
    assert Levels.of(3.0, np.array([2e6])).narrow == () != Levels.of(3.0, np.array([1.9e6])).narrow
    assert Levels.of(3.0, np.full(10, 1e8)).narrow == ((2e-7, 10),) and not Levels.of(3.0, np.full(10, 3e8)).narrow


def test_draws_invert_the_distribution_of_the_levels():
    """A uniform number u gives the first level whose probability, with all below it, is above u."""
    half, spread = (2, 3), 1.5
    levels = Levels.of(spread, np.array(half, dtype=float))
    below = np.cumsum(law_of(half, spread, 300))
    u = np.array([[0.0, below[0] - 1e-9, below[0] + 1e-9], [below[4] - 1e-9, below[4] + 1e-9, 0.5]])
    found = levels.draw(SimpleNamespace(random=lambda shape: u.reshape(shape)), (2, 3))
    assert found.tolist() == [[0, 0, 1], [4, 5, int(np.searchsorted(below, 0.5))]]
    wide = Levels.of(200.0, np.full(7, WIDE))
    asked = []
    wide.draw(SimpleNamespace(gamma=lambda *given: asked.append(given) or np.zeros(3)), (3,))
    assert asked == [(8, 200.0, (3,))]
