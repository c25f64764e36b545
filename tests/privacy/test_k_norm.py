"""K-norm noise on boxes: its exact law by both samplers, its price, when it is taken, and the bounds that use it."""

import math
from dataclasses import replace
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import chi2

import decision_sets as ds
from dpcvx import FTPL, FTRL, Change, LossSet, PrivateSums, couple, load, save, simulate
from dpcvx.experiments.losses import const
from dpcvx.learners.full_information.mean_width import mean_width
from dpcvx.privacy.audit import worst_neighbours
from dpcvx.privacy.audit.density import certify
from dpcvx.privacy.grounds import box_length
from dpcvx.privacy.noise import KNorm, own_generator
from dpcvx.privacy.noise.k_norm_draws import OPENDP, VECTOR, BoxMeasurement, BoxNoise
from dpcvx.privacy.noise.k_norm_levels import Levels
from dpcvx.privacy.plan import plan
from dpcvx.sets.sizes import Sizes
from dpcvx.studies.broken_mechanisms import HalfTheNoise
from dpcvx.studies.thresholds import mean_maximum

SAMPLERS = {"opendp": (OPENDP, 2_000), "vector": (VECTOR, 100_000)}
BOXES = {"flat": ((2, 3), 2.0), "uneven": ((3, 40, 7), 0.8), "narrow": ((1, 1, 0, 1, 50), 0.7)}
ALARM = 1e-6  # probability of a false alarm of a test of a law, all its chi-squares together


def box(n, low=-1.0, high=1.0):
    loss = cp.Variable(n)
    return LossSet(loss, [loss >= low, loss <= high])


def law_of(widths, scale):
    """As a plan makes it: widths of at least N, but for entries that never change."""
    moving = sum(width > 0 for width in widths)
    return KNorm(scale, tuple(float(max(width, moving)) if width else 0.0 for width in widths))


class Exact:
    """The law of K-norm noise on a small box by its formula, level by level."""

    def __init__(self, law):
        self.half = [int(h) for h in law.half if h]
        self.r, self.t = 2 * len(self.half), law.spread
        self.k = np.arange(int(self.t * (len(self.half) + 45)) + 60)
        self.reach = np.array([[k * h // self.r for h in self.half] for k in self.k.tolist()])
        logs = np.log(2 * self.reach + 1.0).sum(axis=1) - self.k / self.t
        weights = np.exp(logs - logs.max())
        self.p = weights / weights.sum()

    def levels(self, z):
        """G of each row."""
        return np.max([-(-self.r * np.abs(z[:, i]) // h) for i, h in enumerate(self.half)], axis=0)

    def level_probabilities(self):
        """P(G = g): q^g times the whole points of level g, from the formula and not from the draws of levels."""
        logs = np.log(2 * self.reach + 1.0).sum(axis=1)
        top = logs.max()
        volumes = np.exp(logs - top)
        weights = np.diff(volumes, prepend=0.0) * np.exp(-self.k / self.t)
        return weights / weights.sum()

    def entry_probabilities(self, i):
        """P(z_i = -m, ..., m)."""
        m = int(self.reach[-1, i])
        points = np.abs(np.arange(-m, m + 1))
        inside = points[:, None] <= self.reach[None, :, i]
        return points, inside @ (self.p / (2 * self.reach[:, i] + 1))

    def variance(self, i):
        return float(self.p @ (self.reach[:, i] * (self.reach[:, i] + 1.0) / 3))


def p_value(counts, expected):
    """Of Pearson's chi-square, cells that expect fewer than 10 put together."""
    small = expected < 10
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 10:
        counts, expected = counts[:-1], expected[:-1]
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1))


def p_values(z, law):
    """Of the levels, of each entry, and of the first two entries together: what the draws z (n, N) say of the law."""
    exact, n = Exact(law), len(z)
    still = np.array(law.half) == 0
    assert not z[:, still].any()
    z = z[:, ~still]
    counts = np.bincount(np.minimum(exact.levels(z), len(exact.k) - 1), minlength=len(exact.k))
    found = [p_value(counts, n * exact.level_probabilities())]
    for i in range(z.shape[1]):
        points, expected = exact.entry_probabilities(i)
        m = len(points) // 2
        assert np.abs(z[:, i]).max() <= m
        found.append(p_value(np.bincount(z[:, i] + m, minlength=len(points)), n * expected))
    if z.shape[1] == 2:
        q, pairs = math.exp(-1 / exact.t), list(product(range(-25, 26), repeat=2))
        total = np.exp(np.log(2 * exact.reach + 1.0).sum(axis=1) - exact.k / exact.t).sum() * (1 - q)
        levels = exact.levels(np.array(pairs))
        expected = n * np.exp(-levels / exact.t) / total
        cells = {pair: i for i, pair in enumerate(pairs)}
        where = [cells[pair] for pair in map(tuple, z.tolist()) if pair in cells]
        counts = np.bincount(where, minlength=len(pairs))
        found.append(p_value(np.append(counts, n - len(where)), np.append(expected, n - expected.sum())))
    return found


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", BOXES)
def test_the_law_is_that_of_the_formula_on_whole_numbers(name, sampler):
    law, (primitives, count) = law_of(*BOXES[name]), SAMPLERS[sampler]
    z = BoxNoise(law.half, law.resolution, law.spread, primitives).draw(count)
    found = p_values(z, law)
    assert min(found) > ALARM / len(found)


def test_laws_draw_through_both_samplers_block_by_block():
    law = law_of(*BOXES["uneven"])
    released = law.measurement(600)(list(range(600)))
    z = np.array(released) - np.arange(600)
    many = law.exact_draws((2, 100, 3))
    assert many.dtype == np.int64 and many.shape == (2, 100, 3)
    for draws in (z.reshape(-1, 3), many.reshape(-1, 3)):
        assert len(np.unique(draws, axis=0)) > 50 and min(p_values(draws, law)) > ALARM / 8
    with pytest.raises(ValueError, match="3 entries cannot be laid on a vector of 4"):
        law.measurement(4)
    with pytest.raises(ValueError, match="3 entries cannot be laid on a vector of 4"):
        law.exact_draws((5, 4))


class OneBeyond(BoxNoise):
    """The last entry is drawn from one point more on either side."""

    def _reach(self, k):
        reach = super()._reach(k)
        if self.__dict__.get("drawing"):
            reach[:, -1] += 1
        return reach

    def _levels(self, count):
        self.drawing = False
        levels = super()._levels(count)
        self.drawing = True
        return levels


class NoRejection(BoxNoise):
    """Every sum of geometric draws is a level."""

    def _kept(self, k):
        return np.ones(len(k), dtype=bool)


@pytest.mark.parametrize("broken", [OneBeyond, NoRejection])
def test_draws_that_are_off_by_one_or_never_rejected_fail_the_chi_square(broken):
    law = law_of(*BOXES["flat"])
    found = p_values(broken(law.half, law.resolution, law.spread, VECTOR).draw(100_000), law)
    assert min(found) < ALARM / len(found)


def test_another_scale_fails_the_chi_square():
    law = law_of(*BOXES["narrow"])
    z = replace(law, scale=law.scale * 1.05).exact_draws((100_000, len(law.half)))
    assert min(p_values(z, law)) < ALARM / 10


def worst_ratio(half, r, scale, truncated):
    """The largest log-ratio of two values r levels apart, times the scale, if factors above 1 are cut off or not."""
    n, t = len(half), scale * r
    k = np.arange(400)
    proposal = np.sum([np.log(k + j) for j in range(1, n + 1)], axis=0) - k / t
    reach = np.array([[x * h // r for h in half] for x in k.tolist()])
    volume = np.log(2 * reach + 1.0).sum(axis=1)
    kept = volume + sum(math.log(r / (2 * h)) for h in half) - np.sum([np.log(k + j) for j in range(1, n + 1)], axis=0)
    weights = proposal + (np.minimum(kept, 0.0) if truncated else kept)
    p = np.cumsum(np.exp(weights - volume - weights.max())[::-1])[::-1]  # P(z) at each level, up to a constant
    return float(np.log(p[:200] / p[r : r + 200]).max() * scale), float(kept.max())


def test_narrow_widths_would_break_privacy_and_are_refused():
    """With r above 2 h some draws would have to be kept more than always; cut off at always, the price is too high."""
    price, largest = worst_ratio((1, 1, 1, 1, 50), 10, 0.5, truncated=True)
    assert largest > 0.3 and price > 1.03
    with pytest.raises(ValueError, match="r = 10 is above twice the least half-width, 1 units"):
        BoxNoise((1.0, 1.0, 1.0, 1.0, 50.0), 10, 5.0, VECTOR)
    price, largest = worst_ratio((5, 5, 5, 5, 50), 10, 0.5, truncated=True)
    assert largest <= 1e-12 and price == pytest.approx(1.0, rel=1e-9)
    unchecked = BoxNoise((5.0, 5.0, 5.0, 5.0, 50.0), 10, 5.0, VECTOR)
    unchecked._half = np.array([1, 1, 1, 1, 50])
    unchecked._share = 10 / (2.0 * unchecked._half)
    with pytest.raises(ValueError, match="above 1"):
        unchecked.draw(2_000)  # some level of 10 or so comes with a probability beyond 1 - e^-100


@pytest.mark.parametrize(("half", "scale"), [((2, 2), 0.3), ((3, 40, 7), 0.8), ((5,) * 5, 7.0), ((2**31,) * 3, 2.0)])
def test_deviations_are_bounded_from_above_and_closely(half, scale):
    law = KNorm(scale, tuple(float(h) for h in half))
    exact, widest = Exact(law), int(np.argmax(half))
    found = law.standard_deviation**2 / exact.variance(widest)
    assert 1 - 1e-9 <= found < 1 + 4 / (exact.p @ exact.k)  # floor(k h/r) is at most one below k h/r
    if min(half) > 100:
        assert found < 1 + 1e-4
    z = law.simulate(np.random.default_rng(0), (200_000, len(half)))
    # the fourth moment of these laws is below 10 variances squared: 6 deviations of the mean square are 4 %
    assert (z[:, widest] ** 2).mean() == pytest.approx(law.standard_deviation**2, rel=0.04 + 4 / (exact.p @ exact.k))


@pytest.mark.parametrize("spread", [30.0, 100.0])
@pytest.mark.parametrize("size", [1, 2, 6, 100])
def test_moments_of_levels_are_those_of_their_weights(size, spread):
    """k^N exp(-k/t), summed up; a spread of 30 is listed by the law itself, 100 by the moments of Gamma draws."""
    k = np.arange(1, 40_000.0)
    logs = size * np.log(k) - k / spread
    p = np.exp(logs - logs.max())
    p /= p.sum()
    first, second = Levels.of(spread, np.full(size, 2.0**40)).moments()
    assert p @ k * (1 - 1e-9) <= first <= p @ k * (1 + 2e-3)
    assert p @ k**2 * (1 - 1e-9) <= second <= p @ k**2 * (1 + 2e-3)


def test_samplers_take_scales_as_they_are_and_refuse_what_does_not_fit():
    law = KNorm(3.0, (5.0, 6.0))
    assert law.spread >= 12.0 and law.spread == math.nextafter(12.0, 13.0)
    with pytest.raises(ValueError, match="whole numbers"):
        KNorm(3.0, (5.5, 6.0)).measurement(2)
    with pytest.raises(OverflowError, match="64-bit"):
        KNorm(1e9, (2.0**31,) * 10).exact_draws((1, 10))
    assert not KNorm(3.0, (0.0, 0.0)).exact_draws((4, 2)).any()
    assert KNorm(3.0, (0.0, 0.0)).standard_deviation == 0.0
    assert KNorm(3.0, (0.0, 0.0)).price([0, 0]).pure == 0.0 and KNorm(3.0, (0.0, 0.0)).price([0, 1]).pure == math.inf


@pytest.mark.parametrize(("half", "resolution", "spread"), [((1.0,), 2, 2.0**55), ((1.0, 1.0, 1.0), 2, 2.0**54)])
def test_levels_beyond_62_bits_are_refused(half, resolution, spread):
    """64 times the mean level, (N + 1) t, must stay below them."""
    BoxNoise(half, resolution, spread * (1 - 1e-9), VECTOR)
    with pytest.raises(OverflowError, match="shorten the horizon, scale the losses or raise epsilon"):
        BoxNoise(half, resolution, spread, VECTOR)


# prices


def test_prices_count_levels_exactly():
    law = KNorm(2.0, (6.0, 9.0, 0.0, 100.0))
    assert law.price([6, 0, 0, 0]).pure == pytest.approx(0.5, rel=1e-15)
    assert law.price([1, 1, 0, 17]).pure == pytest.approx(2 / 6 / 2.0, rel=1e-15)  # ceil of 6/6, 6/9 and 102/100
    assert law.price([-6, 9, 0, 100] * 2).pure == pytest.approx(1.0, rel=1e-15)
    assert law.price([0, 0, 1, 0]).pure == math.inf and law.price([0, 0, 0, 0]).pure == 0.0
    first, second = np.array([6.0, 0, 0, 0]), np.zeros(4)
    assert law.log_ratio(second, first, second) == pytest.approx(-0.5)


def test_a_release_is_the_values_and_the_noise_of_each_block(monkeypatch):
    noise = BoxNoise((3.0, 5.0), 4, 2.0, VECTOR)
    drawn = np.array([[1, -2], [3, 4]])
    monkeypatch.setattr(noise, "draw", lambda count: drawn[:count])
    measurement = BoxMeasurement(noise, 4, 0.5)
    assert measurement([10, 20, 30, 40]) == [11, 18, 33, 44] and measurement.map(3) == 1.5
    with pytest.raises(ValueError, match="on 2 entries cannot be laid on a vector of 3"):
        BoxMeasurement(noise, 3, 0.5)


def test_lengths_in_a_box_are_counted_in_its_steps():
    """ceil(r w/h)/r with r = 2 N, of the entries that move."""
    half = np.array([6.0, 9.0, 0.0, 100.0])  # r = 6
    for units, length in (([6, 0, 0, 0], 1.0), ([1, 1, 0, 17], 2 / 6), ([0, 14, 0, 0], 10 / 6), ([0, 0, 0, 0], 0.0)):
        assert box_length(np.array(units, dtype=float), half) == length
        assert KNorm(2.0, tuple(half)).length(units) == length
    assert box_length(np.array([0.0, 0.0, 1.0, 0.0]), half) == math.inf
    assert box_length(np.zeros(2), np.zeros(2)) == 0.0


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
def test_the_price_of_a_coupling_is_the_claim(sampler, neighbours):
    Y = box(4, 0.25, 1.0)
    streams = worst_neighbours(Y, 10, neighbours)

    def sums(**options):
        return lambda: PrivateSums(Y, 10, 1.0, noise="knorm", neighbours=neighbours, sampler=sampler, **options)

    found = couple(sums(), *streams)
    assert found.holds and found.price.epsilon == pytest.approx(1.0, rel=1e-11)
    for k in (2, 3):  # a person's rounds share the price
        assert couple(sums(rounds_per_person=k), *streams).price.epsilon == pytest.approx(1 / k, rel=1e-11)
    near = [np.full((10, 4), 0.5), np.full((10, 4), 0.5)]
    if neighbours == "replace":
        p = sums()().plan
        near[1][0, 2] += p.grid.step
        assert couple(sums(), *near).price.epsilon == pytest.approx(1 / p.law.resolution, rel=1e-11)
    halved = couple(lambda: HalfTheNoise(Y, 10, 1.0, noise="knorm", neighbours=neighbours), *streams)
    assert not halved.holds and halved.price.epsilon == pytest.approx(2.0, rel=1e-11)


def test_half_the_noise_is_seen_in_the_density():
    Y = box(3)

    class NarrowBox(PrivateSums):
        """Noise for a box of half the width."""

        def planned(self, horizon):
            right = super().planned(horizon)
            return replace(right, law=replace(right.law, half=tuple(h / 2 for h in right.law.half)))

    for kind, epsilon in ((PrivateSums, 1.0), (HalfTheNoise, 2.0), (NarrowBox, 2.0)):
        found = certify(lambda rng, n: kind(Y, 8, 1.0, noise="knorm", seed=rng, replicas=n), claim=1.0)  # noqa: B023
        assert found.epsilon == pytest.approx(epsilon, rel=1e-9) and found.exceeded == (epsilon > 1)


# when it is taken


def test_it_is_the_default_where_it_is_narrower():
    taken = {n: plan(box(n), 64, 1.0).law.key for n in (1, 2, 3, 10)}
    assert taken == {1: "laplace", 2: "laplace", 3: "knorm", 10: "knorm"}
    for n in (3, 10):
        narrow, wide = (plan(box(n), 64, 1.0, noise=noise) for noise in ("knorm", "laplace"))
        gain = math.sqrt(2) * n / math.sqrt((n + 1) * (n + 2) / 3)
        assert wide.prefix_deviation / narrow.prefix_deviation == pytest.approx(gain, rel=1e-4)
        assert plan(box(n), 64, 1.0).prefix_deviation == narrow.prefix_deviation
        assert plan(box(n), 64, 1.0, counter="tree").law.key == "laplace"
        assert plan(box(n), 64, 1.0, calibration="paper").law.key == "laplace"
        assert plan(box(n), 64, 1.0, 1e-6).law.key == "gaussian"
        assert plan(box(n), 64, 1.0, neighbours="zero-out").law.key == "knorm"
        assert plan(box(n), 64, 1e6).law.key == "laplace"  # nothing to hide: levels are too coarse
    assert plan(box(4, -1.0, np.array([1.0, -0.99, -0.99, -0.99])), 64, 1.0).law.key == "laplace"
    loss = cp.Variable(10)
    assert plan(LossSet(loss, [cp.norm2(loss) <= 1]), 64, 1.0).law.key == "laplace"
    assert plan(LossSet(loss, [loss >= 0, cp.sum(loss) <= 1]), 64, 1.0).law.key == "laplace"


def test_entries_that_never_change_get_no_noise():
    d = cp.Variable(5)
    change = Change(d, [d[0] == 0, cp.abs(d[1:4]) <= 0.01, d[4] == 0])
    p = plan(box(5), 64, 1.0, neighbours=change)
    assert p.law.key == "knorm" and p.law.resolution == 6 and p.law.half[0] == p.law.half[4] == 0
    for sampler in SAMPLERS:
        sums = PrivateSums(box(5), 64, 1.0, neighbours=change, sampler=sampler)
        sums.update([0.5, 0.5, 0.5, 0.5, -1])
        assert sums.prefix[[0, 4]].tolist() == [0.5, -1.0] and (sums.prefix[1:4] != 0.5).all()


def test_zeroed_losses_need_the_farther_end():
    low, high = np.array([-1, 0, 0.25, 0]), np.array([0.5, 1, 2.0, 1])
    p = plan(box(4, low, high), 64, 1.0, neighbours="zero-out")
    assert p.law.key == "knorm" and p.law.half == tuple(h / p.grid.step for h in (1.0, 1.0, 2.0, 1.0))
    assert plan(box(4, low, high), 64, 1.0).law.half == tuple(h / p.grid.step for h in (1.5, 1.0, 1.75, 1.0))


def test_declared_changes_shape_the_box():
    d = cp.Variable(4)
    change = Change(d, [cp.abs(d) <= np.array([0.01, 0.02, 0.01, 0.01])])
    p = plan(box(4), 64, 1.0, neighbours=change)
    step = p.grid.step
    assert p.law.key == "knorm" and np.allclose(np.array(p.law.half) * step, [0.01, 0.02, 0.01, 0.01], rtol=1e-2)
    assert (np.array(p.law.half) * step >= [0.01, 0.02, 0.01, 0.01]).all()
    first = np.zeros((10, 4))
    second = first.copy()
    second[0] = [0.01, -0.02, 0.01, 0.01]
    found = couple(lambda: PrivateSums(box(4), 10, 1.0, neighbours=change), first, second)
    assert found.holds and found.price.epsilon == pytest.approx(1.0, rel=1e-2)
    ball = Change(d, [cp.norm1(d) <= 0.01])  # Laplace noise is the noise of its norm
    assert plan(box(4), 64, 1.0, neighbours=ball).law.key == "laplace"


def test_learners_play_save_and_continue_with_it(tmp_path):
    X, Y = ds.simplex(3), box(3)
    for sampler in SAMPLERS:
        for kind in (FTRL, FTPL):
            learner = kind(X, Y, 16, 1.0, sampler=sampler)
            learner.act()
            learner.update([0.5, -0.5, 1.0])
            path = tmp_path / f"{kind.__name__}-{sampler}"
            save(learner, path)
            again = load(path)
            again.act()
            again.update([0.5, -0.5, 1.0])
            assert "K-norm of scale" in str(again.certificate) and X.contains(again.act())


# bounds


def test_mean_maxima_are_bounded_by_the_mean_variance():
    """Against 2,000 draws; 6 deviations of their mean are counted, which is exceeded with probability below 2e-9."""
    rng = np.random.default_rng(0)
    for X, Y in (
        (ds.simplex(10), box(10)),
        (ds.box(-np.ones(5), np.ones(5)), box(5)),
        (ds.simplex(4), box(4, 0.0, np.array([1, 1, 0.5, 2]))),
    ):
        noise = plan(Y, 256, 1.0, noise="knorm").noise
        draws = sum(noise.law.simulate(rng, (2_000, X.size)) for _ in range(noise.terms))
        largest = X.support(X.unflatten(draws))
        slip = 6 * largest.std() / math.sqrt(len(largest))
        bound = mean_width(Sizes(X, Y), noise)
        uneven = len(set(noise.law.half)) > 1  # bounds go by the widest entry
        assert largest.mean() - slip <= bound <= (3 if uneven else 1.6) * largest.mean() + slip
        halved = replace(noise, law=noise.law.scaled(0.5), deviation=noise.deviation / 2)
        assert uneven or mean_width(Sizes(X, Y), halved) < largest.mean() - slip
        assert np.abs(draws).mean(axis=0).max() <= noise.mean_absolute * 1.02
    assert not noise.gaussian  # so that FTPL counts none of it as its own perturbation


def test_a_uniform_noise_needs_the_larger_mean_absolute_value():
    """sqrt(2/pi) of a Gaussian law would not do: one uniform term has sqrt(3)/2."""
    law = KNorm(0.03, (2.0**30,) * 3)
    assert math.sqrt(2 / math.pi) < math.sqrt(3) / 2 <= law.mean_absolute
    z = law.simulate(np.random.default_rng(0), (100_000, 3))  # one level: uniform draws
    assert np.abs(z).mean() > 0.85 * law.standard_deviation


@pytest.mark.parametrize(("n", "most"), [(10, 840), (100, 7400)])
def test_proved_bounds_of_experts_are_those_of_the_theory(n, most):
    X, Y = ds.simplex(n), box(n)
    bound = FTRL(X, Y, 2**14, 1.0, seed=0).regret_bound
    assert bound.total <= most < FTRL(X, Y, 2**14, 1.0, noise="laplace", seed=0).regret_bound.total


@pytest.mark.parametrize(("n", "most"), [pytest.param(10, 460), pytest.param(100, 5800, marks=pytest.mark.slow)])
def test_experts_pay_less_than_half(n, most):
    """Means of 32 runs with deviations near 110 and 650: the limits are 3 and 3 deviations above what is expected."""
    X, Y = ds.simplex(n), box(n)
    learner = FTRL(X, Y, 2**14, 1.0, seed=0)
    result = simulate(learner, const(X, Y, 2**14), 32)
    assert result.final <= most and result.final <= learner.regret_bound.total


def test_mean_maxima_by_monte_carlo_are_those_of_the_theory():
    """E max of ten entries over 2^20 rounds; 4,000 draws have a relative error of about 0.5 %."""
    assert mean_maximum(ds.simplex(10), plan(box(10), 2**20, 1.0).noise) == pytest.approx(648, rel=0.03)


def test_noise_is_not_drawn_from_a_learners_own_generator():
    """The two streams of random numbers are apart: a seed of one says nothing of the other."""
    rng = own_generator()
    before = rng.bit_generator.state
    KNorm(2.0, (5.0, 6.0)).exact_draws((3, 2))
    assert rng.bit_generator.state == before
