"""Noise on bandit feedback: whole numbers, the very interval, and an audit that the right scale passes and others fail.

Audits are lower bounds at confidence 1 - 1e-6 with fixed seeds.
"""

import copy
import math
import os
import pickle

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import DAG
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import LossSet, ProtocolError
from dpcvx.learners.bandits.private_bandit import PrivateBandit
from dpcvx.learners.bandits.scrible import SCRiBLe
from dpcvx.privacy.audit import audit
from dpcvx.privacy.feedback import SecureFeedback, SimulatedFeedback, VectorFeedback, feedback_grid
from dpcvx.privacy.noise import SecureSource
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets.geometry.dikin import SHRINK

# arithmetic


def secure(loss_set, epsilon=1.0, **options):
    return SecureFeedback(loss_set, epsilon, Grid(-20), **options)


def test_secure_feedback_is_whole_numbers_from_the_value_to_the_sum():
    feedback = secure(box_losses(2))
    interval = feedback.interval(np.array([0.5, -0.3]))
    assert all(isinstance(end, int) for end in interval) and interval[1] - interval[0] == feedback.moved(interval)
    for value in (0.1, np.float64(-0.2), 1e300, -1e300, 5e-324):
        units = feedback.clipped(value, interval)
        assert isinstance(units, int) and interval[0] <= units <= interval[1]
    assert (feedback.clipped(1e300, interval), feedback.clipped(-1e300, interval)) == interval[::-1]
    total = 2**60 + 1  # a float would lose the 1
    released = feedback.release(total, np.zeros(2), (3, 3))
    assert isinstance(released, float) and feedback.moved((3, 3)) == 0


@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
@pytest.mark.parametrize("people", [1, 3])
def test_no_loss_moves_the_units_by_more_than_the_noise_allows(neighbours, people):
    rng = np.random.default_rng(0)
    x = cp.Variable(3)
    sets = [box_losses(3, 0.2, 1.7), ball_losses(3), LossSet(x, [cp.norm(x, 2) <= 1, x[0] + 2 * x[1] <= 0.4, x >= 0.1])]
    for loss_set in sets:
        for grid in (Grid(-3), Grid(-30)):
            feedback = SecureFeedback(loss_set, 1.0, grid, neighbours, people)
            for action in rng.standard_normal((6, 3)):
                interval = feedback.interval(action)
                values = [*rng.standard_normal(50) * 3, *feedback.loss_set.range(action)]
                units = [feedback.clipped(value, interval) for value in values]
                if neighbours == "zero-out":
                    assert feedback.clipped(0.0, interval) == 0
                    assert people * max(abs(u) for u in units) <= feedback.moved(interval)
                else:
                    assert people * (max(units) - min(units)) == feedback.moved(interval)


def test_every_release_costs_epsilon_by_the_map_of_opendp(monkeypatch):
    prices = []
    cost = SecureSource.cost
    monkeypatch.setattr(SecureSource, "cost", lambda self, d: prices.append(cost(self, d)) or prices[-1])
    for epsilon in (1e-3, 0.3, 1.0, 20.0):
        feedback = secure(box_losses(2), epsilon)
        for action in np.random.default_rng(1).uniform(-1, 1, (5, 2)):
            feedback.release(0, action, feedback.interval(action))
        assert prices[-5:] == pytest.approx([epsilon] * 5, rel=1e-9)
        assert max(prices[-5:]) <= epsilon * (1 + 1e-11)


def test_where_nothing_can_move_nothing_is_drawn(monkeypatch):
    monkeypatch.setattr(SecureSource, "draw", lambda *_: pytest.fail("noise was drawn"))
    loss = cp.Variable(2)
    known = LossSet(loss, [loss == np.array([0.5, 1.0])])
    action = np.array([1.0, 1.0])
    feedback = secure(known)
    interval = feedback.interval(action)
    assert feedback.release(4 * feedback.clipped(99.0, interval), action, interval) == 6.0
    simulated = SimulatedFeedback(known, 1.0, np.random.default_rng(0))
    assert simulated.release(6.0, action, simulated.interval(action)) == pytest.approx(6.0, abs=1e-12)


def test_the_grid_holds_every_sum_and_refuses_what_does_not_fit():
    for magnitude, batch, noise in ((1.0, 1, 2.0), (1e-9, 10**6, 1e-3), (1e9, 3, 1e15), (7.0, 2**40, 0.0)):
        step = feedback_grid(magnitude, batch, noise).step
        assert magnitude * batch / step <= 2**58 and noise / step <= 2**52 and step <= magnitude * 2**-8
    assert feedback_grid(1.0, 1, 2.0).step == 2.0**-40
    assert feedback_grid(0.0, 5, 1.0).step == 2.0**-30
    for wrong in ((1.0, 2**51, 1.0), (1.0, 1, 1e15), (1.0, 1, np.inf), (1e300, 1, 1.0)):
        with pytest.raises(OverflowError, match="64-bit"):
            feedback_grid(*wrong)


def test_secure_feedback_belongs_to_its_process_and_is_not_copied(monkeypatch):
    feedback = secure(box_losses(1))
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(copy.Error):
            attempt(feedback)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ProtocolError, match="fork"):
        feedback.release(0, np.ones(1), (0, 5))


def test_secure_and_simulated_noise_have_the_law_of_the_claim():
    """Mean absolute deviation of 2,000 draws is the scale; its relative error is 2.3 %, so 14 % is 6 deviations."""
    action = np.array([0.5, -0.25])
    feedback = secure(box_losses(2), 2.0)
    drawn = [abs(feedback.release(0, action, feedback.interval(action))) for _ in range(2000)]
    assert np.mean(drawn) == pytest.approx(1.5 / 2, rel=0.14)
    simulated = SimulatedFeedback(box_losses(2), 2.0, np.random.default_rng(0))
    actions = np.broadcast_to(action, (2000, 2))
    noisy = simulated.release(np.zeros(2000), actions, simulated.interval(actions))
    assert np.abs(noisy).mean() == pytest.approx(1.5 / 2, rel=0.14)
    paper = VectorFeedback(box_losses(2), 2.0, np.random.default_rng(0))
    noisy = paper.release(np.zeros(2000), actions, paper.interval(actions))
    assert paper.scale == 2.0 and noisy.std() == pytest.approx(np.sqrt(2) * 2 * np.linalg.norm(action), rel=0.2)


# audit


class Half(SimulatedFeedback):
    """Deliberately wrong: half the noise."""

    def moved(self, interval):
        return super().moved(interval) / 2


class RadiusForRange(SimulatedFeedback):
    """Deliberately wrong: the largest |<l, x>|, as in the paper, where the range belongs."""

    def moved(self, interval):
        return np.maximum(np.abs(interval[0]), np.abs(interval[1]))


class OnlyTheMean(SimulatedFeedback):
    """Deliberately wrong: noise for the mean of a batch that was clipped as a whole, not value by value."""

    def clipped(self, value, interval):
        return value


class Fixed:
    """Plays given points, one for each replica, and remembers what it saw."""

    def __init__(self, points):
        self.points, self.leading, self.seen = points, (len(points),), []

    def act(self):
        return self.points

    def update(self, values):
        self.seen.append(values)


def noisy_feedback(points_of, X, Y, first, batch=1, kind=SimulatedFeedback, epsilon=1.0):
    """A sampler of (what the learner sees of the first batch, its points), of which the first loss is `first`."""

    def sample(rng, n):
        learner = Fixed(points_of(rng, n))
        private = PrivateBandit(learner, epsilon, decision_set=X, loss_set=Y, horizon=2 * batch, batch=batch, seed=rng)
        private._feedback = kind(Y, epsilon, rng)
        for t in range(batch):
            actions = private.act()
            private.update(actions @ first if t == 0 else np.zeros(n))
        return np.column_stack([learner.seen[0] * batch, actions])

    return sample


def feedback_score(Y, first, second, epsilon=1.0):
    """The log-likelihood ratio of the right mechanism; any score is valid."""

    def score(outputs):
        value, actions = outputs[:, 0], outputs[:, 1:]
        low, high = Y.ranges(actions)
        return (np.abs(value - actions @ second) - np.abs(value - actions @ first)) * epsilon / (high - low)

    return score


def arms(rng, n):
    return np.eye(3)[rng.integers(3, size=n)]


PATHS = ds.flow_polytope(DAG, 0, 4)
_paths = np.unique([PATHS.sample_vertex(PATHS.center, np.random.default_rng(k)) for k in range(50)], axis=0)


def paths(rng, n):
    return _paths[rng.integers(len(_paths), size=n)]


def scrible_points(rng, n):
    return SCRiBLe(ds.simplex(4), box_losses(4), 2, seed=rng, replicas=n).act()


# name: points, decision set, loss set, neighbouring losses
MECHANISMS = {
    "arms": (arms, ds.simplex(3), box_losses(3), np.ones(3), -np.ones(3)),
    "paths": (paths, PATHS, box_losses(9), np.ones(9), -np.ones(9)),
    "SCRiBLe": (scrible_points, ds.simplex(4), box_losses(4), np.ones(4), -np.ones(4)),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_noisy_feedback_holds_its_claim_and_wrong_scales_are_flagged(name, batch):
    points, X, Y, first, second = MECHANISMS[name]
    score = feedback_score(Y, first, second)
    found = {}
    for kind in (SimulatedFeedback, Half, RadiusForRange):
        samplers = (noisy_feedback(points, X, Y, loss, batch, kind) for loss in (first, second))
        found[kind] = audit(*samplers, claim=1.0, score=score, samples=60_000, seed=batch)
    assert 0.85 < found[SimulatedFeedback].lower_bound <= 1.0
    assert found[Half].exceeded and found[RadiusForRange].exceeded


def test_clipping_the_mean_alone_is_flagged():
    """A value outside its interval moves the sum by more than the interval: every single value must be clipped."""
    points, X, Y, first, second = MECHANISMS["arms"]
    samplers = [noisy_feedback(points, X, Y, 3 * loss, 2, OnlyTheMean) for loss in (first, second)]
    assert audit(*samplers, claim=1.0, score=feedback_score(Y, first, second), samples=60_000).exceeded
    samplers = [noisy_feedback(points, X, Y, 3 * loss, 2) for loss in (first, second)]
    assert not audit(*samplers, claim=1.0, score=feedback_score(Y, first, second), samples=60_000).exceeded


def test_secure_feedback_holds_its_claim():
    """The noise has no seed: the bound of the audit has mean 0.62 and deviation 0.053, so 0.3 is six of them away."""
    Y, action = box_losses(2), np.array([0.5, 0.25])

    def release(value):
        def sample(rng, n):
            feedback = SecureFeedback(Y, 1.0, feedback_grid(0.75, 1, 1.5))
            interval = feedback.interval(action)
            total = feedback.clipped(value, interval)
            return np.array([[feedback.release(total, action, interval)] for _ in range(n)])

        return sample

    result = audit(release(1.0), release(-1.0), claim=1.0, score=lambda y: np.clip(y[:, 0], -0.75, 0.75), samples=3_000)
    assert 0.3 < result.lower_bound <= 1.0


def test_the_actions_of_scrible_on_an_interval_hold_the_claim_and_wrong_scales_are_flagged(monkeypatch):
    """Steps are not stretched here, where each would end at the boundary in one of its two directions.

    Actions (x1, x2) are inverted to the feedback: with R = -log(1 - x^2) and f = R''^-1/2, x2 = w +- f(w), and w is
    a Newton step from 0, linear in the feedback while the learning rate is small. Both branches count.
    """
    X, Y, rate, epsilon = ds.cube(1), box_losses(1), 0.002, 1.0
    monkeypatch.setattr(type(X.geometry.chart), "stretch", lambda self, z, dy: np.ones(z.shape[:-1]))

    def f(w):
        return SHRINK * (1 - w * w) / np.sqrt(2 * (1 + w * w))

    def play(loss, kind):
        def sample(rng, n):
            own, noise = rng.spawn(2)
            learner = SCRiBLe(X, Y, 2, learning_rate=rate, seed=own, replicas=n)
            private = PrivateBandit(learner, epsilon, batch=1, seed=noise)
            private._feedback = kind(Y, epsilon, noise)
            x1 = private.act()
            private.update(x1[:, 0] * loss)
            return np.column_stack([x1, private.act()])

        return sample

    def density(x1, x2, loss):
        total = 0.0
        for sign in (1, -1):
            low, high = np.full(len(x2), -1.0), np.full(len(x2), 1.0)
            for _ in range(60):  # w + sign f(w) increases
                w = (low + high) / 2
                above = w + sign * f(w) > x2
                low, high = np.where(above, low, w), np.where(above, w, high)
            feedback = -w / (rate * x1 / SHRINK**2)
            slope = 1 + sign * (f(w + 1e-6) - f(w - 1e-6)) / 2e-6
            total = total + np.exp(-np.abs(feedback - loss * x1) * epsilon / (2 * np.abs(x1))) / np.maximum(slope, 1e-9)
        return total

    def score(outputs):
        x1, x2 = outputs.T
        return np.log(density(x1, x2, 1.0) + 1e-300) - np.log(density(x1, x2, -1.0) + 1e-300)

    found = {}
    for kind in (SimulatedFeedback, Half, RadiusForRange):
        found[kind] = audit(play(1.0, kind), play(-1.0, kind), claim=epsilon, score=score, samples=60_000, seed=4)
    assert 0.85 < found[SimulatedFeedback].lower_bound <= epsilon
    assert found[Half].exceeded and found[RadiusForRange].exceeded


@pytest.mark.parametrize(("fits", "does_not"), [(0.99e290, 1e290), (1.01e-290, 1e-290)])
def test_feedback_of_sizes_that_numbers_do_not_reach_is_refused(fits, does_not):
    step = feedback_grid(fits, 1, fits).step
    assert math.frexp(step)[0] == 0.5 and 0 < step < fits
    with pytest.raises(OverflowError, match="do not fit into 64-bit integers on any useful grid"):
        feedback_grid(does_not, 1, does_not)
