"""Numbers on which bounds and noise of learners stand, against other ways to compute them."""

import math

import mpmath
import numpy as np
import pytest
from loss_sets import box_losses
from scipy.stats import binom

import decision_sets as ds
from dpcvx import FTPL, AdaptiveBandit, Exp2, HybridBandit, LogBarrierBandit, SCRiBLe
from dpcvx.learners.bandits.adaptive_barrier import AdaptiveBarrier
from dpcvx.learners.bandits.calibration import Calibration
from dpcvx.learners.bandits.exp2_tuning import TUNINGS, Game
from dpcvx.learners.full_information.ftpl import Perturbation
from dpcvx.learners.full_information.lazy_tuning import Lazy, Rates
from dpcvx.learners.full_information.mean_width import _mean_maximum
from dpcvx.privacy.neighbours import relation_for
from dpcvx.sets.sizes import sizes_of

X, Y = ds.simplex(4), box_losses(4)


# the perturbed leader


def test_the_leader_pads_noise_to_its_deviation_and_adds_nothing_where_there_is_enough():
    learner = FTPL(X, Y, 16, epsilon=1.0, seed=0)
    noisy, direction = np.array([0.0, 0.1, 0.2, 0.3]), np.array([9.0, 0.0, 0.0, -1.0])
    for own, best in ((2.0, 0), (3.0, 0), (1.9, 3), (0.0, 3)):
        action = learner._leader(noisy, own, Perturbation(2.0, 2.0, direction))
        assert action.argmax() == best, own


@pytest.mark.parametrize("size", [1e-3, 0.05, 20.0])
def test_the_bound_of_the_perturbed_leader_grows_with_the_set(size):
    bounds = [FTPL(ds.simplex(4, scale), Y, 64, seed=0).regret_bound for scale in (1.0, size)]
    assert bounds[0].learning > 0 and bounds[1].learning == pytest.approx(size * bounds[0].learning, rel=1e-6)


@pytest.mark.parametrize("deviation", [1e-8, 0.03, 1.0, 40.0, 1e8])
@pytest.mark.parametrize("count", [2, 1000])
def test_the_mean_of_a_maximum_of_gaussian_noise_is_bounded_by_its_best_rate(deviation, count):
    """inf_s (ln N + s^2 sigma^2/2)/s = sigma sqrt(2 ln N)."""
    found = _mean_maximum(lambda s: math.log(count) + (s * deviation) ** 2 / 2, math.inf)
    best = deviation * math.sqrt(2 * math.log(count))
    assert best * (1 - 1e-12) <= found <= best * (1 + 1e-6)


# lazy weights


@pytest.mark.parametrize("width", [0.2, 3.0])
@pytest.mark.parametrize(("T", "batch", "redraws"), [(100, 7, 3), (64, 1, 20), (10, 10, 0), (60, 4, 14), (60, 4, 15)])
def test_the_bound_of_lazy_weights_is_that_of_the_theory_for_costs_of_any_width(width, T, batch, redraws):
    game = Lazy(T, math.log(5), width, 1.0, 2.0, 1.0, 0.0, 1)
    eta, chance = 0.07, 0.02
    K = math.ceil(T / batch)
    likely = 1 - (1 - chance) * math.exp(-eta * batch * width)
    tail = float(binom.sf(redraws, K - 1, likely)) if redraws < K - 1 else 0.0
    expected = math.log(5) / eta + eta * K * batch**2 * width**2 / 8 + width * T * tail
    assert game.bound(Rates(eta, batch, chance, redraws)) == pytest.approx(expected, rel=1e-9)


# bandits


@pytest.mark.parametrize("make", [Exp2, HybridBandit, LogBarrierBandit, SCRiBLe, AdaptiveBandit])
def test_bandits_expect_feedback_without_noise_unless_they_are_told_of_it(make):
    default, told = make(X, Y, 50, seed=0), make(X, Y, 50, noise_scale=0.0, seed=0)
    assert default.noise_scale == 0
    assert default.uncapped_bound == told.uncapped_bound
    assert make(X, Y, 50, noise_scale=1.0, seed=0).noise_scale == 1


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("people", [1, 4])
def test_the_noise_of_feedback_has_the_deviation_of_laplace_noise_of_its_scale(epsilon, people):
    calibration = Calibration(sizes_of(X, Y), epsilon, "scalar", relation_for("replace", Y), people)
    found = calibration.certificate(5, secure=True)
    assert found.scale == pytest.approx(people * 2.0 / epsilon, rel=1e-4) and found.scale >= people * 2.0 / epsilon
    assert found.prefix_deviation == pytest.approx(math.sqrt(2) * found.scale, rel=1e-12)
    assert found.sensitivity == pytest.approx(found.scale * epsilon / people, rel=1e-12)
    assert found.epsilon == epsilon and found.delta == 0 and found.rounds_per_person == people


def test_the_sharp_bound_never_counts_less_than_the_second_order_of_an_exponential():
    """phi(s) = (e^s - 1 - s)/s^2, in a hundred digits."""
    for s in (1e-12, 1e-8, 1e-5, 5e-5, 0.9999e-4, 1.001e-4, 1e-2, 1.0, 30.0):
        game = Game(log_count=2.0, rank=3, reach=3.0, magnitude=1.0, noise_scale=0.0, horizon=10, regret=1.0)
        found = TUNINGS["sharp"]._second_moment(game, s)
        with mpmath.workdps(100):
            exact = (mpmath.expm1(mpmath.mpf(s)) - mpmath.mpf(s)) / mpmath.mpf(s) ** 2
        assert exact * (1 - 1e-11) <= found <= exact * (1 + 1e-4)


@pytest.mark.parametrize("magnitude", [0.25, 4.0])
def test_the_sharp_bound_ends_where_k_times_the_largest_feedback_is_fifty(magnitude):
    game = Game(log_count=2.0, rank=3, reach=2.0, magnitude=magnitude, noise_scale=0.0, horizon=10, regret=1.0)
    gamma = 0.25
    edge = 50.0 / magnitude * gamma / 2.0  # the learning rate at which k M is 50
    assert math.isfinite(TUNINGS["sharp"].bound(game, edge, gamma))
    assert math.isinf(TUNINGS["sharp"].bound(game, edge * (1 + 1e-12), gamma))


def test_what_an_adaptive_bandit_paid_is_the_sum_of_its_theory_over_listed_arms():
    """ln N beta + sum of the gaps, of what beta grew times the entropy, and of the largest cost of exploring."""
    T, N = 30, 4
    learner = AdaptiveBandit(X, Y, T, setting="middle", seed=3)
    rng = np.random.default_rng(7)
    expected = 0.0
    for t in range(T):
        before, action = learner._state, learner.act()
        drawn = learner._drawn
        if t == 0:
            expected = float(before.temperature) * math.log(N)
        q = np.exp(-(before.estimates - before.estimates.min()) / before.temperature)
        q /= q.sum()
        learner.update(float(rng.uniform(-1, 1, N) @ action))
        after = learner._state
        step = after.estimates - before.estimates
        beta = float(before.temperature)
        gap = beta * math.log(q @ np.exp(-step / beta)) + q @ step
        p = np.exp(-(after.estimates - after.estimates.min()) / after.temperature)
        p /= p.sum()
        entropy = -float(p[p > 0] @ np.log(p[p > 0]))
        explored = float(drawn.mixing) * float(np.abs(1 / N - q).sum())  # losses are in [-1, 1]
        expected += max(gap, 0.0) + (float(after.temperature) - beta) * entropy + explored
        assert float(after.paid) == pytest.approx(expected, rel=1e-9)
    assert learner.paid == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("horizon", [1, 2, 3, 100])
def test_the_adaptive_barrier_begins_with_the_range_of_its_barrier_and_a_guess_of_the_feedback(horizon):
    ball = ds.norm_ball(3, 2)
    made = AdaptiveBarrier(ball, horizon, spread=2.0, noise_scale=1.5)
    assert made.range == pytest.approx(ball.nu * math.log(max(horizon, 2)), rel=1e-12)
    assert made.first == pytest.approx(3 * math.sqrt(0.25 + 2 * 1.5**2), rel=1e-12)
    known = made.start((2,))
    assert np.allclose(known.temperature, made.first) and not known.estimates.any() and not known.squares.any()
    assert known.estimates.shape[0] == known.point.shape[0] == 2


def test_adaptive_weights_begin_with_a_guess_of_the_mean_square_of_feedback():
    plays = AdaptiveBandit(X, Y, 10, noise_scale=1.5, seed=0)._plays
    assert plays.unit == pytest.approx((2.0 / 4) ** 2 + 2 * 1.5**2, rel=1e-6)
    assert plays.first == pytest.approx(0.06 * 3 * math.sqrt(plays.unit), rel=1e-12)


@pytest.mark.parametrize("size", [1e-4, 0.1, 1e4])
@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("tuning", ["sharp", "moments", "rigorous"])
def test_the_bounds_of_exp2_grow_with_the_unit_of_losses(tuning, noise, size):
    bounds = []
    for unit in (1.0, size):
        game = Game(math.log(8), 8, 8.0, unit, noise * unit, 5000, unit)
        bounds.append(TUNINGS[tuning].bound(game, *TUNINGS[tuning].rates(game, None)))
    assert math.isfinite(bounds[0]) and bounds[1] == pytest.approx(size * bounds[0], rel=1e-5)


@pytest.mark.parametrize("noise", [0.0, 1.5])
def test_rounding_costs_a_hybrid_bandit_a_bias_in_each_group_and_three_half_steps_of_all_feedback(noise):
    """theory: 2 h T for each group, and psi where every feedback is 3 h larger."""
    error = 1e-3
    for decisions, losses, groups in ((X, Y, 1), (ds.cube(3), box_losses(3), 3)):
        learner = HybridBandit(decisions, losses, 40, noise_scale=noise, seed=0)
        eta, game = learner.learning_rate, learner._game
        beta = learner.barrier * 1.1  # larger feedback needs a larger barrier
        given = HybridBandit(decisions, losses, 40, noise_scale=noise, learning_rate=eta, barrier=beta, seed=0)
        more = game.bound(eta, beta, slack=3 * error) - game.bound(eta, beta)
        assert more > 0
        assert given.rounding_cost(error) == pytest.approx(2 * error * 40 * groups + more, rel=1e-9)
