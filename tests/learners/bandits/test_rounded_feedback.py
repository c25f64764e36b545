"""What the grid of secure feedback adds to regret bounds: every step of the argument, and its size."""

import math
from dataclasses import replace

import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe
from dpcvx.learners.bandits.rounded_feedback import rounded_bound
from dpcvx.learners.bandits.scrible import FAR
from dpcvx.privacy.feedback import SecureFeedback, feedback_grid
from dpcvx.sets.geometry.dikin import SHRINK

POINTS = np.random.default_rng(3).normal(size=(12, 4))


@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
def test_a_value_is_read_with_an_error_of_at_most_half_a_step(neighbours):
    rng, Y = np.random.default_rng(0), box_losses(3, -0.3, 1.7)
    feedback = SecureFeedback(Y, 1.0, feedback_grid(1.7, 10**5, 1e11), neighbours)  # coarse
    step = feedback.grid.step
    errors = []
    for action in rng.normal(size=(200, 3)):
        low, high = (float(end) for end in Y.ranges(action))
        for value in (low, high, *rng.uniform(low, high, 20)):
            errors.append(abs(feedback.clipped(value, feedback.interval(action)) * step - value))
    assert 0.4 * step < max(errors) <= 0.5 * step * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 300.0])
def test_discrete_noise_is_no_larger_than_continuous_noise(scale):
    k = np.arange(-int(300 * scale) - 5, int(300 * scale) + 6)
    p = np.exp(-np.abs(k) / scale) * math.tanh(1 / (2 * scale))
    assert p.sum() == pytest.approx(1, rel=1e-9)
    assert p @ k**2 <= 2 * scale**2
    for s in np.linspace(0.01, 0.9, 12) / scale:
        assert p @ np.exp(s * k) <= 1 / (1 - (s * scale) ** 2) * (1 + 1e-9)
    for rounds in (2, 10, 1000):
        for smaller in scale * np.linspace(0.1, 1, 10):  # actions with shorter intervals get less noise
            q = np.exp(-np.abs(k) / smaller) * math.tanh(1 / (2 * smaller))
            rare = q[np.abs(k) > 2 * scale * math.log(rounds)].sum()
            assert rare <= (1 + min(1.0, 1 / scale)) / rounds**2


@pytest.mark.parametrize("actions", [np.eye(5), POINTS], ids=["arms", "points"])
def test_the_bias_of_exp2_is_within_its_bound(actions):
    """The worst signs of the rounding for every comparator, by enumeration."""
    learner = Exp2(actions, box_losses(actions.shape[1]), 1000, noise_scale=1.0)
    gamma, weights = learner.mixing, learner.exploration.weights
    allowed, worst = learner.rounding_cost(1.0) / 1000, 0.0
    for scale in (0.0, 1.0, 5.0, 30.0):
        scores = scale * np.random.default_rng(1).normal(size=actions.shape[1]) @ actions.T
        q = np.exp(scores - scores.max())
        q /= q.sum()
        p = (1 - gamma) * q + gamma * weights
        P = (actions.T * p) @ actions
        moves = (q @ actions - actions) @ np.linalg.pinv(P) @ actions.T  # [u, a]
        worst = max(worst, (np.abs(moves) @ p).max())
    assert 1.9 < worst <= allowed


@pytest.mark.parametrize("error", [0.25, 1e-7])
@pytest.mark.parametrize("actions", [np.eye(5), POINTS], ids=["arms", "points"])
def test_rounding_costs_exp2_its_bias_and_larger_feedback(actions, error):
    learner = Exp2(actions, box_losses(actions.shape[1]), 1000, noise_scale=1.0, learning_rate=0.02)
    gamma, reach = learner.mixing, learner.exploration.reach
    bias = error * 1000 * (1 / math.sqrt(1 - gamma) + math.sqrt(reach / gamma))
    wider = learner._tuning.bound(replace(learner._game, magnitude=learner.magnitude + error), 0.02, gamma)
    assert gamma > 0.1 and wider > learner.uncapped_bound
    assert learner.rounding_cost(error) == pytest.approx(bias + wider - learner.uncapped_bound, rel=1e-9)
    assert Exp2(actions[:1], box_losses(actions.shape[1]), 1000).rounding_cost(0.25) == 0.0


BODIES = [ds.cube(2), ds.simplex(5), ds.norm_ball(3, 2), ds.permutahedron(4), ds.norm_ball(4, 1), ds.spectrahedron(3)]


@pytest.mark.parametrize("X", BODIES, ids=str)
def test_points_are_as_near_in_the_local_norm_of_scrible_as_the_argument_says(X):
    rng = np.random.default_rng(0)
    learner = SCRiBLe(X, ball_losses(X.shape), 10**6, learning_rate=10.0, seed=0)
    radius, far = X.nu + 2 * math.sqrt(X.nu), 0.0
    for _ in range(60):  # a reacting adversary, so that the iterate goes far out
        learner.act()
        learner.update(float(rng.normal()))
        at, chart = learner._state, X.geometry.chart
        for _ in range(5):
            u = X.argmin(rng.normal(size=X.shape))
            d = chart.coordinates(X.flatten(u)) - at.z[chart.auxiliaries :]
            H = np.stack([at.factor.half_apply(e) for e in np.eye(chart.dim)], axis=1)
            local = np.linalg.norm(H.T @ d)
            along = at.linear[chart.auxiliaries :] @ d
            assert np.linalg.norm(d) <= 2 * radius and np.linalg.norm(at.linear) <= FAR
            assert local <= 12 / 11 * (2 * X.nu + 2 + max(along, 0.0)) + 1e-6
            far = max(far, local / (2 * X.nu + 2))
    assert far > 2  # without <L, d> it would not hold


@pytest.mark.parametrize("X", BODIES, ids=str)
def test_rounding_costs_scrible_what_its_argument_says(X):
    """With FAR so large a smaller radius of the set would hardly ever be refuted by play, but nothing proves it."""
    learner = SCRiBLe(X, ball_losses(X.shape), 1000, seed=0)
    radius = X.nu + 2 * math.sqrt(X.nu)  # of the set, in the norm of the center
    local = (2 * X.nu + 2 + FAR * 2 * radius) / (99 / 100)  # r, from 99/100 r <= 2 nu + 2 + |L| |d|
    assert learner.rounding_cost(0.25) == pytest.approx(1000 * 0.25 * math.sqrt(X.dim) * local / SHRINK, rel=1e-12)


def test_the_bound_counts_the_grid_and_hardly_grows():
    X, Y, T = ds.simplex(4), box_losses(4), 10**5
    for kind in (SCRiBLe, Exp2, LogBarrierBandit):
        for batch in (1, 5):
            private = PrivateBandit(kind(X, Y, T), 1.0, batch=batch)
            inner, grid = private._learner, private.certificate.grid
            plain = batch * inner.uncapped_bound
            added = private.uncapped_bound - plain
            assert batch * inner.rounding_cost(grid / 2) * 0.999 - 1e-9 <= added <= 1e-4 * plain
            assert inner.rounding_cost(grid / 2) >= T / batch * grid
    coarse = rounded_bound(inner, 10.0, magnitude=1.0, step=0.5, noise=2.0)
    assert coarse == pytest.approx(10 * 1.25**4 * 1.25**2 + 0.5 * inner.horizon)
    assert rounded_bound(inner, math.inf, magnitude=1.0, step=0.5, noise=2.0) == math.inf
    assert rounded_bound(inner, 0.0, magnitude=0.0, step=0.5, noise=2.0) == 0.0
