"""Earlier methods: their privacy is real, their bounds hold, and their regret grows as it should."""

import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import HorizonError, LossSet, PrivateBandit, audit, simulate
from dpcvx.experiments.losses import altdrift, const
from dpcvx.sets.sizes import Sizes
from dpcvx.studies.baselines import ExploredGradients, PerStepNoise
from dpcvx.studies.baselines.explored_gradients import coordinate_design

SETS = {
    "simplex": (lambda: ds.simplex(4), lambda: box_losses(4)),
    "ball": (lambda: ds.norm_ball(3, 2), lambda: ball_losses(3)),
    "cube": (lambda: ds.cube(3), lambda: ball_losses(3, 1)),
    "k-sets": (lambda: ds.capped_simplex(5, 2), lambda: box_losses(5, 0, 1)),
}
LINE, UNIT = ds.cube(1), box_losses(1)  # [-1, 1] against losses in [-1, 1]


def pair(name):
    return tuple(declare() for declare in SETS[name])


# per-step noise


@pytest.mark.parametrize("name", SETS)
def test_noise_of_one_loss_is_scaled_to_the_diameter(name):
    X, Y = pair(name)
    certificate = PerStepNoise(X, Y, 100, epsilon=0.5).certificate
    assert certificate.secure and certificate.epsilon == 0.5 and certificate.releases_per_loss == 1
    assert certificate.scale == pytest.approx(float(Y.diameter(1)) / 0.5, rel=1e-6)


def played(learner, stream):
    """A sampler of all actions after the first of n runs of a learner."""

    def sample(rng, n):
        playing = learner.simulated(n, rng)
        seen = []
        for loss in stream:
            action = playing.act()
            seen.append(action)
            playing.update(action @ loss if playing.sees == "value" else loss)
        return np.concatenate(seen[1:], axis=1)

    return sample


FIRST, SECOND = np.array([[1.0], [0.0], [0.0]]), np.array([[-1.0], [0.0], [0.0]])


@pytest.mark.parametrize("epsilon", [1.0])
def test_actions_of_per_step_noise_keep_the_claim_and_half_the_noise_is_caught(epsilon):
    """Confidence 1 - 1e-6; the second action is an affine function of the first noisy loss, which nothing clips."""

    def run(noise_epsilon):
        learner = PerStepNoise(LINE, UNIT, 3, noise_epsilon, learning_rate=1e-3)
        samplers = [played(learner, stream) for stream in (FIRST, SECOND)]
        return audit(*samplers, claim=epsilon, score=lambda out: -out[:, 0], samples=60_000, seed=1)

    honest = run(epsilon)
    assert not honest.exceeded and honest.lower_bound > 0.7 * epsilon
    assert run(2 * epsilon).exceeded


def test_secure_actions_come_from_exact_noise_and_do_not_repeat():
    X, Y = pair("simplex")
    runs = []
    for _ in range(2):
        learner = PerStepNoise(X, Y, 5, epsilon=1.0, learning_rate=1e-3)  # so slow that no action is a corner
        for loss in np.eye(4):
            action = learner.act()
            learner.update(loss)
        runs.append(action)
        assert X.contains(action)
    assert not np.array_equal(*runs)  # four sums of noise of scale 8 on a grid of 2^-30: equal less often than 1e-6
    learner.act()
    learner.update(np.zeros(4))
    with pytest.raises(HorizonError, match="5 rounds"):
        learner.act()


def test_losses_outside_the_set_are_clipped():
    X, Y = pair("simplex")
    far, near = (PerStepNoise(X, Y, 3, 1.0, seed=3) for _ in range(2))
    for learner, loss in ((far, [9.0, 0.5, -7.0, 0.0]), (near, [1.0, 0.5, -1.0, 0.0])):
        learner.act()
        learner.update(loss)
    assert np.array_equal(far.act(), near.act())


def test_per_step_noise_refuses_replicas_without_a_seed():
    X, Y = pair("simplex")
    with pytest.raises(ValueError, match="replicas are for simulation"):
        PerStepNoise(X, Y, 3, 1.0, replicas=2)
    with pytest.raises(ValueError, match="epsilon must be a positive number, not -1"):
        PerStepNoise(X, Y, 3, -1)


# gradient estimates


@pytest.mark.parametrize("name", SETS)
def test_estimates_are_unbiased_on_what_differs_over_the_set(name):
    X, Y = pair(name)
    sizes = Sizes(X, Y)
    design = coordinate_design(sizes)
    assert all(X.contains(X.unflatten(point)) for point in design.points)
    mean = (design.measures.T * design.weights) @ design.points  # E[Sigma^+ a a'], the identity on the span
    for loss in np.random.default_rng(0).standard_normal((5, X.size)):
        error = mean @ loss - loss
        assert np.abs(sizes.tangential(error)).max() <= 1e-6
    crooked = (design.measures.T * np.roll(design.weights, 1) ** 2) @ design.points
    assert np.abs(crooked - mean).max() > 1e-3  # teeth: other weights are biased


@pytest.mark.parametrize("name", SETS)
def test_the_bias_of_rounded_feedback_is_within_its_bound(name):
    """The worst signs of the rounding, between all points that are explored."""
    learner = ExploredGradients(*pair(name), 1000)
    design, allowed = learner.design, learner.rounding_cost(1.0) / 1000
    worst = (np.abs((design.points[:, None] - design.points) @ design.measures.T) @ design.weights).max()
    assert allowed / 6 < worst <= allowed


def test_simplices_are_explored_at_their_corners_and_balls_at_their_poles():
    corners = coordinate_design(Sizes(*pair("simplex")))
    assert np.allclose(corners.points.sum(axis=1), 1) and corners.spread == pytest.approx(4 * 3, rel=1e-2)
    assert coordinate_design(Sizes(*pair("ball"))).spread == pytest.approx(9, rel=1e-2)


def test_actions_of_private_gradient_estimates_keep_the_claim_and_half_the_noise_is_caught():
    """Confidence 1 - 1e-6; where round 1 explores and round 2 does not, the second action shows the feedback."""

    def run(noise_epsilon):
        inner = ExploredGradients(LINE, UNIT, 3, learning_rate=1e-4)
        inner.mixing = 0.5
        learner = PrivateBandit(Held(inner), noise_epsilon, batch=1, seed=0)
        samplers = [played(learner, stream) for stream in (FIRST, SECOND)]

        def score(out):
            return np.where(np.abs(out[:, 0]) < 0.5, -out[:, 0], 0.0)

        return audit(*samplers, claim=1.0, score=score, samples=100_000, seed=1)

    honest = run(1.0)
    assert not honest.exceeded and honest.lower_bound > 0.5
    assert run(2.0).exceeded


class Held:
    """A bandit whose tuning is not changed for the noise, so that few rounds show what it does."""

    def __init__(self, inner):
        self._inner = inner
        self.decision_set, self.loss_set, self.horizon = inner.decision_set, inner.loss_set, inner.horizon
        self.leading, self.act, self.update = inner.leading, inner.act, inner.update

    def simulated(self, replicas, seed):
        copied = self._inner.simulated(replicas, seed)
        copied.mixing, copied.learning_rate = self._inner.mixing, self._inner.learning_rate
        return Held(copied)


# both


def learners(name, horizon):
    X, Y = pair(name)
    yield X, Y, PerStepNoise(X, Y, horizon, epsilon=2.0)
    yield X, Y, PrivateBandit(ExploredGradients(X, Y, horizon), 2.0, batch=1)


@pytest.mark.parametrize("name", ["simplex", pytest.param("ball", marks=pytest.mark.slow)])
def test_mean_regret_is_below_the_proved_bound(name):
    """Means of 40 replicas are at most 0.65 of the bounds, 13 standard errors below: no false alarm at 1e-6."""
    for X, Y, learner in learners(name, 1024):
        assert learner.regret_bound.total <= 0.75 * 1024 * learner.sizes.variation
        for losses in (const(X, Y, 1024), altdrift(X, Y, 1024)):
            result = simulate(learner, losses, 40, seed=1, checkpoints=1)
            assert result.final + 3 * result.standard_error[-1] <= learner.regret_bound.total


def test_a_learner_that_goes_the_wrong_way_breaks_the_bound():
    """Teeth of the test above."""
    X, Y = pair("ball")
    learner = PerStepNoise(X, Y, 1024, epsilon=2.0)
    playing = learner.simulated(20, 1)
    incurred, stream = np.zeros(20), const(X, Y, 1024)
    for loss in stream:
        incurred += playing.act() @ loss
        playing.update(-loss)
    assert incurred.mean() + X.support(-1024 * stream.block(0, 1)[0]) > learner.regret_bound.total


def test_bounds_grow_with_their_own_exponents():
    X, Y = pair("ball")
    steps = [PerStepNoise(X, Y, T, 1.0).regret_bound.total for T in (2**14, 2**20)]
    assert np.log2(steps[1] / steps[0]) / 6 == pytest.approx(1 / 2, abs=0.01)
    estimates = [PrivateBandit(ExploredGradients(X, Y, T), 1.0, batch=1).uncapped_bound for T in (2**14, 2**20)]
    assert np.log2(estimates[1] / estimates[0]) / 6 == pytest.approx(2 / 3, abs=0.01)


def test_one_point_sets_and_summaries():
    import cvxpy as cp

    X, Y = pair("simplex")
    point = cp.Variable(4)
    single = LossSet(point, [point == 0.5])
    learner = PerStepNoise(X, single, 3, 1.0, seed=0)
    learner.act()
    learner.update(np.full(4, 0.5))
    assert "noise on every single loss" in learner.summary()
    assert "exploration" in PrivateBandit(ExploredGradients(X, Y, 64), 1.0).summary()
