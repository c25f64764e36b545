"""The log-barrier bandit: its probabilities, its tuning, and its regret against the proved bound."""

import copy
import math

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import DecisionSet, LogBarrierBandit, simulate
from dpcvx.errors import HorizonError, ProtocolError
from dpcvx.learners.log_barrier import _normalised
from dpcvx.learners.private_bandit import PrivateBandit


def coin_losses(arms, horizon, good, gap):
    """+-1 by coins, one arm better by the gap."""
    mean = np.full(arms, gap / 2)
    mean[good] = -gap / 2
    return np.where(np.random.default_rng(9).random((horizon, arms)) < (1 + mean) / 2, 1.0, -1.0)


@pytest.mark.parametrize("arms", [2, 3, 10, 200])
@pytest.mark.parametrize("spread", [0.0, 1e-8, 1.0, 1e4, 1e12, 1e200])
def test_probabilities_solve_the_normal_equation(arms, spread):
    rng = np.random.default_rng(0)
    x = spread * rng.exponential(size=(6, arms)) ** 3
    x[1, :-1] = 0.0  # ties
    x -= x.min(axis=-1, keepdims=True)
    for start in (1.0, arms, 1 + 1e-9):
        p, mu = _normalised(x, np.full((6, 1), float(start)))
        assert (p > 0).all() and np.allclose(p.sum(axis=-1), 1, atol=1e-12)
        assert np.allclose(p * (x + mu), 1, rtol=1e-9)
        assert ((mu >= 1) & (mu <= arms)).all()


def test_probabilities_minimise_the_regularised_cost():
    learner = LogBarrierBandit(6, box_losses(6), 300, seed=0)
    for _ in range(100):
        learner.update(float(learner.act() @ np.linspace(-1, 1, 6)))
    p, costs = learner.probabilities, learner._known.costs
    gradient = learner.learning_rate * costs - 1 / p
    assert np.ptp(gradient) <= 1e-8 * np.abs(gradient).max()  # the same for all arms: no move along the simplex helps


@pytest.mark.parametrize("value", [1e300, -1e300, 1.7e308])
def test_huge_feedback_does_not_overflow(value):
    learner = LogBarrierBandit(4, box_losses(4), 40, seed=0, replicas=3, noise_scale=1.0)
    for sign in (1, -1) * 20:
        assert np.isfinite(learner.act()).all()
        learner.update(np.array([value, -value, 0.0]) * sign)
        p = learner.probabilities
        assert (p > 0).all() and np.allclose(p.sum(axis=-1), 1, atol=1e-12)


def test_estimate_is_unbiased():
    learner = LogBarrierBandit(5, box_losses(5), 100, seed=0)
    for _ in range(30):
        learner.update(float(learner.act() @ np.linspace(-1, 1, 5)))
    known, loss = learner._known, np.array([0.3, -0.2, 0.9, -1.0, 0.1])
    mean = np.zeros(5)
    for arm in range(5):
        learner._arm = np.array(arm)
        moved = learner._take(np.float64(loss[arm])).costs - known.costs
        mean += known.p[arm] * moved
    assert np.allclose(mean - mean[0], loss - loss[0], atol=1e-9)  # costs are kept up to a constant


def test_actions_are_the_corners_of_the_simplex_in_its_shape():
    x = cp.Variable((2, 3), nonneg=True)
    X = DecisionSet(x, [cp.sum(x) == 2])
    learner = LogBarrierBandit(X, box_losses((2, 3)), 20, seed=0)
    assert learner.magnitude == pytest.approx(2)
    for _ in range(20):
        action = learner.act()
        assert action.shape == (2, 3) and sorted(action.ravel()) == [0, 0, 0, 0, 0, 2]
        learner.update(float(action.sum()))
    many = LogBarrierBandit(ds.simplex(4), box_losses(4), 20, seed=0, replicas=5)
    assert (np.sort(many.act(), axis=-1) == [0, 0, 0, 1]).all()


def test_turns_and_arguments_are_checked():
    Y = box_losses(3)
    with pytest.raises(ValueError, match="arms must be a whole number of at least 2"):
        LogBarrierBandit(1, Y, 10)
    with pytest.raises(ValueError, match="not a simplex"):
        LogBarrierBandit(ds.cube(3), Y, 10)
    with pytest.raises(ValueError, match="shape"):
        LogBarrierBandit(4, Y, 10)
    with pytest.raises(ValueError, match="learning_rate must be a positive number"):
        LogBarrierBandit(3, Y, 10, learning_rate=-1.0)
    learner = LogBarrierBandit(3, Y, 1, seed=0)
    with pytest.raises(ProtocolError):
        learner.update(0.0)
    learner.act()
    with pytest.raises(ValueError, match="feedback"):
        learner.update(np.inf)
    learner.update(0.5)
    with pytest.raises(HorizonError):
        learner.act()
    assert copy.deepcopy(learner).rounds == 1


def test_tuning_for_noise_is_the_formula_of_the_theory():
    N, T, lam = 10, 10**6, 2.0
    learner = LogBarrierBandit(N, box_losses(N), 100).with_noise(lam, T)
    V, cut = 1 + 2 * lam**2, 1 + 2 * lam * math.log(T)
    eta = math.sqrt(N * math.log(T) / (T * V))
    assert eta < 1 / (2 * cut)
    assert learner.learning_rate == pytest.approx(eta)
    assert learner.uncapped_bound == pytest.approx(2 * math.sqrt(N * T * math.log(T) * V) + 4)
    short = learner.with_noise(lam, 50)
    cut = 1 + 2 * lam * math.log(50)
    assert short.learning_rate == pytest.approx(1 / (2 * cut))
    whole = 2 * math.sqrt(N * 50 * math.log(50) * V) + 4 * N * cut * math.log(50) + 4
    assert 2 * 50 == short.regret_bound.total < short.uncapped_bound <= whole


def test_an_own_rate_has_a_bound_only_where_the_proof_holds():
    Y = box_losses(4)
    assert LogBarrierBandit(4, Y, 1000, learning_rate=0.5).regret_bound is not None
    fast = LogBarrierBandit(4, Y, 1000, learning_rate=0.51)
    assert fast.regret_bound is None and math.isinf(fast.uncapped_bound)
    assert "the proof needs eta (M + b) <= 1/2, and it is 0.51" in fast.summary()


def test_settings_survive_with_noise_and_simulated():
    learner = LogBarrierBandit(3, box_losses(3), 50, learning_rate=0.01, seed=0)
    for made in (learner.with_noise(0.5, 20), learner.simulated(6, 1)):
        assert made.learning_rate == 0.01 and made.decision_set is learner.decision_set
    assert learner.simulated(6, 1).act().shape == (6, 3)


def played(learner, losses, replicas, sign=1):
    """Regret of replicas whose feedback carries the noise the learner was tuned for."""
    playing, rng = learner.simulated(replicas, 0), np.random.default_rng(1)
    incurred = np.zeros(replicas)
    for loss in losses:
        values = playing.act() @ loss
        incurred += values
        playing.update(sign * (values + learner.noise_scale * rng.laplace(size=replicas)))
    return incurred + learner.decision_set.support(-losses.sum(axis=0))


@pytest.mark.parametrize(
    ("arms", "horizon", "noise", "gap"), [(2, 2000, 0.0, 0.8), (5, 4000, 0.0, 1.0), (3, 4000, 0.5, 1.0)]
)
def test_mean_regret_is_below_the_proved_bound(arms, horizon, noise, gap):
    learner = LogBarrierBandit(arms, box_losses(arms), horizon, noise_scale=noise)
    bound = learner.regret_bound.total
    assert bound <= 0.5 * horizon * learner.sizes.variation  # otherwise the comparison says nothing
    losses = coin_losses(arms, horizon, 1, gap)
    regret = played(learner, losses, 50)
    assert regret.mean() + 3 * regret.std() / math.sqrt(50) <= bound
    assert played(learner, losses, 50, sign=-1).mean() > 1.2 * bound  # a learner of the wrong sign is told apart


def test_the_reduction_runs_secure_and_simulated():
    T, Y = 100, box_losses(5)
    secure = PrivateBandit(LogBarrierBandit(5, Y, T), epsilon=1.0)
    for _ in range(T):
        secure.update(float(secure.act()[0]))
    assert secure.rounds == T and secure.certificate.epsilon == pytest.approx(1.0)
    simulation = simulate(PrivateBandit(LogBarrierBandit(5, Y, T), epsilon=1.0), coin_losses(5, T, 0, 0.5), replicas=5)
    assert np.isfinite(simulation.regret).all() and simulation.bound is not None


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "figure"), [(1, 2516), (3, 2287)])
def test_worst_gap_of_ten_arms_is_that_of_the_theory(batch, figure):
    """One arm better by c sqrt(N V/T), V with the noise, c = 1/2, 1, 2, 4, 8: the largest mean regret."""
    N, T, seeds = 10, 2**14, 24
    lam, rounds = 2 / batch, math.ceil(T / batch)
    gaps = np.repeat(np.array([0.5, 1, 2, 4, 8]) * math.sqrt(N * 9 / T), seeds)
    playing = LogBarrierBandit(N, box_losses(N), T).with_noise(lam, rounds).simulated(len(gaps), 1)
    rng, regret = np.random.default_rng(5), np.zeros(len(gaps))
    for t in range(rounds):
        held = min(batch, T - t * batch)
        missed = gaps * (1 - playing.act()[:, 0])
        regret += held * missed
        playing.update(missed * held / batch + rng.laplace(0, lam, len(gaps)))
    assert regret.reshape(5, -1).mean(axis=1).max() == pytest.approx(figure, rel=0.15)
