"""K-norm noise as plans ask for it: when it is narrower, how wide, how far draws reach, and its sizes in any unit."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpcvx.privacy.noise import KNorm, Releases
from dpcvx.privacy.noise.k_norm_levels import Levels


def relation(*, body=None, widths=None, change=None):
    """Neighbours that say so of any loss set."""
    return SimpleNamespace(
        difference_body=lambda loss_set: body,
        grid_widths=lambda loss_set, step: widths,
        change=lambda loss_set, norm: change[norm],
    )


def releases(count, rounds, step=1.0, **said):
    return Releases(count, 5.0, rounds, None, relation(**said), SimpleNamespace(step=step))


# when it is taken


def suits(half, change, kind="box"):
    return KNorm.suits(relation(body=(kind, np.array(half, dtype=float)), change={1: change}), None)


@pytest.mark.parametrize("n", [3, 5, 20])
@pytest.mark.parametrize("width", [0.25, 3.0])
def test_it_is_taken_where_its_variance_is_below_that_of_laplace_noise(n, width):
    """(n + 1)(n + 2)/3 h^2 against 2 D^2, in units of the squared scale of one release."""
    even = math.sqrt((n + 1) * (n + 2) / 6) * width
    assert suits([width] * n, even * (1 + 1e-9)) and not suits([width] * n, even * (1 - 1e-9))
    narrower = [width] + [width / 2] * (n - 1) + [0.0] * 4  # the widest entry counts, and none that never moves
    assert suits(narrower, even * (1 + 1e-9)) and not suits(narrower, even * (1 - 1e-9))


def test_it_is_not_taken_where_both_are_as_wide_or_entries_are_few():
    assert not suits([1.0] * 23, 10.0) and suits([1.0] * 23, math.nextafter(10.0, 11.0))  # 24 * 25/3 = 2 * 10^2
    assert not suits([1.0] * 2 + [0.0], 1e6) and suits([1.0] * 3, 1e6)
    assert not suits([1.0] * 5, 1e6, "ball") and not KNorm.suits(relation(body=None), None)


@pytest.mark.parametrize(("one", "widest", "reach"), [(3.0, 2.0, 8.0), (50.0, 0.5, 50.0)])
def test_draws_reach_as_far_as_the_widest_entry_in_all_levels(one, widest, reach):
    assert KNorm.reach(relation(change={1: one, np.inf: widest}), SimpleNamespace(size=3)) == reach


# how wide


@pytest.mark.parametrize(("count", "rounds", "epsilon"), [(1, 1, 1.0), (3, 2, 0.7), (7, 5, 0.1), (0, 4, 2.0)])
def test_the_scale_is_what_all_releases_need_rounded_up(count, rounds, epsilon):
    law = KNorm.calibrated(releases(count, rounds, widths=[9, 0, 2]), epsilon, 0.0)
    needed = Fraction(max(count, 1) * rounds) / Fraction(epsilon)
    assert needed < Fraction(law.scale) < needed * (1 + Fraction(1, 10**11))
    assert law.half == (9.0, 0.0, 2.0) and law.body == "box" and law.unit == 1.0
    assert law.change(123.0) == 1 and law.distance(123.0 * rounds, 123.0) == rounds and law.distance(0.0, 0.0) == 0


def test_widths_are_the_number_of_moving_entries_at_least_and_scales_a_quarter():
    assert KNorm.calibrated(releases(1, 1, widths=[1, 0, 2, 900]), 1.0, 0.0).half == (3.0, 0.0, 3.0, 900.0)
    assert KNorm.calibrated(releases(1, 1, widths=[1]), 1e6, 0.0).scale == 0.25
    assert KNorm.calibrated(releases(1, 1, widths=[1]), 3.9, 0.0).scale > 1 / 3.9


def test_balls_are_measured_in_units_of_the_grid_and_other_bodies_are_refused():
    law = KNorm.calibrated(releases(1, 1, step=0.125, body=("ball", np.array([2.0, 2.0]))), 1.0, 0.0)
    assert law.half == (16.0, 16.0) and law.body == "ball"
    with pytest.raises(ValueError, match="K-norm noise is for boxes, and in simulation for centered Euclidean balls"):
        KNorm.calibrated(releases(1, 1), 1.0, 0.0)


# sizes


@pytest.mark.parametrize(("half", "scale"), [((2.0, 3.0), 0.3), ((3.0, 40.0, 0.0, 7.0), 0.8), ((2.0**31,) * 3, 20.0)])
def test_deviations_are_those_of_uniform_draws_at_each_level_in_any_unit(half, scale):
    """(h/r)^2 (E k^2 + E k r/h)/3 of the widest entry; in units of which one is 0.01 all lengths are a hundredth."""
    law = KNorm(scale, half)
    moving = [h for h in half if h]
    r, widest = 2 * len(moving), max(moving)
    first, second = Levels.of(scale * r, np.array(moving)).moments()
    expected = widest / r * math.sqrt((second + first * r / widest) / 3)
    assert law.resolution == r and law.standard_deviation == pytest.approx(expected, rel=1e-12)
    small = law.scaled(0.01)
    assert small.half == pytest.approx(np.array(half) / 100) and small.unit == 0.01 and small.scale == scale
    assert small.standard_deviation == pytest.approx(expected / 100, rel=1e-12)
    draws = [one.simulate(np.random.default_rng(0), (40, len(half))) for one in (law, small)]
    np.testing.assert_allclose(draws[1] * 100, draws[0], rtol=1e-12, atol=0)
    assert not draws[0][:, np.array(half) == 0].any() and draws[0].min() < 0 < draws[0].max()


def test_moments_of_boxes_are_those_of_gaussian_noise_and_of_balls_infinite():
    law, ball = KNorm(2.0, (3.0, 5.0)), KNorm(2.0, (3.0, 3.0, 3.0), "ball")
    for s in (0.01, 0.5):
        assert law.log_moment(s) == pytest.approx((s * law.standard_deviation) ** 2 / 2, rel=1e-14)
        assert ball.log_moment(s) == math.inf
    assert ball.standard_deviation == pytest.approx(2.0 * math.sqrt(4) * 3.0) and ball.mean_absolute == 1.0
    assert math.sqrt(3) / 2 < law.mean_absolute < math.sqrt(3) / 2 + 1e-4
    assert law.summands(7, 9.0) == (law, 7)


def test_noise_of_boxes_lies_within_its_level_whatever_the_shape():
    """One level for a whole vector, and a uniform number for each entry."""
    law = KNorm(2.0, (3.0, 0.0, 8.0))  # r = 4
    draws = np.random.default_rng(5)
    levels = []
    law.__dict__["levels"] = SimpleNamespace(
        draw=lambda rng, shape: levels.append(draws.integers(0, 20, shape)) or levels[-1].astype(float)
    )
    for shape in ((3,), (500, 3), (2, 50, 3)):
        noise, uniform = law.simulate(np.random.default_rng(7), shape), np.random.default_rng(7).random(shape)
        assert levels[-1].shape == (*shape[:-1], 1)
        expected = (2 * uniform - 1) * levels[-1] * np.array(law.half) / 4
        np.testing.assert_allclose(noise, expected, rtol=1e-12, atol=1e-12)
    assert not KNorm(2.0, (0.0, 0.0)).simulate(np.random.default_rng(0), (4, 2)).any()


# lengths and likelihoods


def steps(block, half, r):
    """G of one block, in whole numbers."""
    if any(z and not h for z, h in zip(block, half, strict=True)):
        return math.inf
    return max((-(-r * abs(int(z)) // h) for z, h in zip(block, half, strict=True) if h), default=0)


@pytest.mark.parametrize("half", [(6, 9, 0, 100), (2, 2), (1,), (0, 5)])
def test_lengths_and_ratios_are_sums_over_blocks_of_whole_steps(half):
    law, n, rng = KNorm(1.5, tuple(map(float, half))), len(half), np.random.default_rng(1)
    r = law.resolution
    shifts = rng.integers(-300, 301, (5, 7, 3 * n)) * (np.tile(half, 3) > 0)
    lengths = np.array([[sum(steps(row[i : i + n], half, r) for i in (0, n, 2 * n)) / r for row in b] for b in shifts])
    for where in ((0, 0), (4, 6)):
        assert law.length(shifts[where].tolist()) == lengths[where] == law.length(shifts[where].astype(float))
        assert law.price(shifts[where].tolist()).pure == lengths[where] / 1.5
    first, second = rng.integers(-9, 10, (2, 3 * n)) * (np.tile(half, 3) > 0)
    second_of = law.log_ratio(shifts + second.astype(float), first.astype(float), second.astype(float))
    away = [[law.length((row + second - first).tolist()) for row in b] for b in shifts]
    np.testing.assert_allclose(second_of, (lengths - away) / 1.5, rtol=0, atol=1e-9)
    if 0 in half:
        forbidden = np.zeros((2, 2, 3 * n))
        forbidden[0, 1, half.index(0)], forbidden[1, 0, half.index(0) + n] = 1, 0.5
        assert law._sizes(forbidden).tolist() == [[0, math.inf], [math.inf, 0]]
        assert law.length([int(one) for one in forbidden[0, 1]]) == math.inf


def test_lengths_in_a_ball_are_sums_over_blocks_of_euclidean_ones():
    law, rng = KNorm(2.0, (5.0, 5.0, 5.0), "ball"), np.random.default_rng(2)
    noisy, first, second = rng.normal(size=(4, 2, 6)), rng.normal(size=6), rng.normal(size=6)
    far, near = (np.linalg.norm((noisy - one).reshape(4, 2, 2, 3), axis=-1).sum(axis=-1) / 5 for one in (second, first))
    np.testing.assert_allclose(law.log_ratio(noisy, first, second), (far - near) / 2.0, rtol=1e-12)
    assert law.length([3, 0, 4, 0, -10, 0]) == 3.0
