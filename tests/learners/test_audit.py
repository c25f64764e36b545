"""The whole sequence of actions of a learner, audited at confidence 1 - 1e-6; learners that lie are caught."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    AdaptiveBandit,
    Exp2,
    HybridBandit,
    LazyWeights,
    LogBarrierBandit,
    PrivateBandit,
    SCRiBLe,
    audit,
)
from dpcvx.privacy.feedback import SimulatedFeedback

X, Y = ds.simplex(2), box_losses(2)
ROUNDS = 4
FIRST = np.array([[1.0, -1.0], [0, 0], [0, 0], [0, 0]])
SECOND = np.array([[-1.0, 1.0], [0, 0], [0, 0], [0, 0]])  # a neighbour: the first loss, at the other end


def actions(stream, make):
    """A sampler of all actions: for FTRL the log-odds, which tell as much as the actions."""

    def sample(rng, n):
        learner = make(rng, n)
        seen = []
        for loss in stream:
            action = learner.act()
            odds = np.clip(action, 1e-300, 1.0)
            seen.append(np.log(odds[:, 0] / odds[:, 1]))
            learner.update(loss)
        return np.stack(seen[1:], axis=1)

    return sample


@pytest.mark.parametrize("counter", ["smooth", pytest.param("tree", marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [2.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_actions_of_ftrl_keep_the_claim_and_half_the_noise_is_caught(counter, epsilon):
    def maker(noise_epsilon):
        def make(rng, n):
            return FTRL(
                X,
                Y,
                ROUNDS,
                noise_epsilon,
                counter=counter,
                regularizer="entropy",
                learning_rate=1e-3,
                seed=rng,
                replicas=n,
            )

        return make

    def run(noise_epsilon):
        make = maker(noise_epsilon)
        return audit(actions(FIRST, make), actions(SECOND, make), claim=epsilon, bits=False, samples=600_000, seed=1)

    honest = run(epsilon)
    assert not honest.exceeded and honest.lower_bound > 0.05 * epsilon  # it sees something
    assert run(2 * epsilon).exceeded  # half the noise


def test_actions_of_ftpl_keep_the_claim_and_follow_the_leader_is_caught():
    """Vertices tell one bit a round; without noise they tell the loss outright."""

    def make(epsilon):
        return lambda rng, n: FTPL(X, Y, ROUNDS, epsilon, seed=rng, replicas=n)

    samplers = [actions(stream, make(0.5)) for stream in (FIRST, SECOND)]
    assert not audit(*samplers, claim=0.5, bits=False, samples=60_000, seed=2).exceeded

    class Leader:
        def __init__(self, n):
            self._total = np.zeros((n, 2))

        def act(self):
            return X.argmin(self._total)

        def update(self, loss):
            self._total = self._total + loss

    broken = [actions(stream, lambda rng, n: Leader(n)) for stream in (FIRST, SECOND)]
    assert audit(*broken, claim=0.5, samples=60_000, seed=2).exceeded


# bandits: a sequence of arms or paths is an event of its own


class Half(SimulatedFeedback):
    """Deliberately wrong: half the noise."""

    def moved(self, interval):
        return super().moved(interval) / 2


class Hundredth(SimulatedFeedback):
    def moved(self, interval):
        return super().moved(interval) / 100


class Noiseless(SimulatedFeedback):
    def release(self, total, action, interval):
        return total


PATHS = ds.flow_polytope(nx.DiGraph([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]), 0, 3)  # three of them
# name: a learner, fast enough for its actions to tell what it saw; samples; noise that is flagged
BANDITS = {
    "Exp2, two arms": (Exp2(np.eye(2), box_losses(2), 3, learning_rate=1e3), 40_000, (Hundredth, Noiseless)),
    "Exp2, three arms": (Exp2(np.eye(3), box_losses(3), 3, learning_rate=1e3), 40_000, (Hundredth, Noiseless)),
    "log barrier, two arms": (LogBarrierBandit(2, box_losses(2), 3, learning_rate=1e3), 40_000, (Half, Noiseless)),
    "log barrier, three arms": (LogBarrierBandit(3, box_losses(3), 3, learning_rate=1e3), 40_000, (Half, Noiseless)),
    "Exp2, paths": (Exp2(PATHS, box_losses(5), 3, learning_rate=1e3), 20_000, (Hundredth, Noiseless)),
    "entropy and barrier, three arms": (
        HybridBandit(3, box_losses(3), 3, learning_rate=30.0, barrier=0.01),
        40_000,
        (Hundredth, Noiseless),
    ),
    "entropy and barrier, square": (
        HybridBandit(ds.box(np.zeros(2), np.ones(2)), box_losses(2), 3, learning_rate=30.0, barrier=0.01),
        40_000,
        (Hundredth, Noiseless),
    ),
    "adaptive, three arms": (
        AdaptiveBandit(np.eye(3), box_losses(3), 4, setting="middle"),
        40_000,
        (Hundredth, Noiseless),
    ),
    "adaptive, paths": (AdaptiveBandit(PATHS, box_losses(5), 4, setting="middle"), 20_000, (Hundredth, Noiseless)),
    "SCRiBLe, paths": (
        SCRiBLe(PATHS, box_losses(5), 2, play="vertices", learning_rate=10.0),
        8_000,
        (Hundredth, Noiseless),
    ),
}
SLOW = (
    "Exp2, two arms",
    "log barrier, two arms",
    "SCRiBLe, paths",
    "entropy and barrier, three arms",
    "entropy and barrier, square",
    "adaptive, three arms",
    "adaptive, paths",
)


def sequences(learner, first, kind, epsilon):
    """A sampler of all actions as one whole number; losses are 0 but for the first."""

    def sample(rng, n):
        own, noise = rng.spawn(2)
        private = PrivateBandit(learner.simulated(n, own), epsilon, batch=1, seed=noise)
        private._feedback = kind(learner.loss_set, epsilon, noise)
        size, code = learner.decision_set.size, np.zeros(n)
        for t in range(learner.horizon):
            action = private.act()
            code = code * 2**size + action.round() @ 2.0 ** np.arange(size)
            private.update(first * action.sum(axis=1) if t == 0 else np.zeros(n))
        return code[:, None]

    return sample


def frequency_score(first, second, samples):
    """The log-ratio of how often a sequence came in runs of its own."""
    runs = [sampler(np.random.default_rng(99 + k), samples)[:, 0] for k, sampler in enumerate((first, second))]
    codes = np.unique(np.concatenate(runs))
    counts = [np.bincount(np.searchsorted(codes, run), minlength=len(codes)) + 1.0 for run in runs]
    ratios = np.log(counts[0] / counts[1])

    def score(outputs):
        at = np.minimum(np.searchsorted(codes, outputs[:, 0]), len(codes) - 1)
        return np.where(codes[at] == outputs[:, 0], ratios[at], 0.0)

    return score


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow if one in SLOW else ()) for one in BANDITS])
def test_actions_of_private_bandits_keep_the_claim_and_small_noise_is_caught(name):
    learner, samples, wrong = BANDITS[name]
    tame = "adaptive" in name  # half of its first draws explore: at a claim of 1 it hides what it sees by itself
    epsilon, found = 0.3 if tame else 1.0, {}
    for kind in (SimulatedFeedback, *wrong):
        samplers = [sequences(learner, loss, kind, epsilon) for loss in (1.0, -1.0)]
        score = frequency_score(*samplers, samples // 4)
        found[kind.__name__] = audit(*samplers, claim=epsilon, score=score, samples=samples, seed=3)
    honest = found.pop("SimulatedFeedback")
    assert not honest.exceeded and (tame or honest.lower_bound > 0.1)  # it sees something
    assert all(result.exceeded for result in found.values())


def choices(stream, faster=1.0):
    """A sampler of all actions of lazy weights over two experts, as one whole number."""

    def sample(rng, n):
        learner = LazyWeights(ds.simplex(2), box_losses(2, 0.0, 1.0), len(stream), 1.0, seed=rng, replicas=n)
        if faster != 1:  # deliberately wrong
            learner.rates = replace(learner.rates, eta=faster * learner.rates.eta, batch=1, redraws=9)
        code = np.zeros(n)
        for loss in stream:
            code = 2 * code + learner.act()[:, 0]
            learner.update(loss)
        return code[:, None]

    return sample


@pytest.mark.slow
def test_actions_of_lazy_weights_keep_the_claim_and_rates_thirty_times_too_high_are_caught():
    first = np.zeros((6, 2))
    first[0], second = [0.0, 1.0], first.copy()
    second[0] = [1.0, 0.0]
    found = []
    for faster in (1.0, 30.0):
        samplers = [choices(stream, faster) for stream in (first, second)]
        score = frequency_score(*samplers, 10_000)
        found.append(audit(*samplers, claim=1.0, score=score, bits=False, samples=40_000, seed=3))
    assert not found[0].exceeded and found[1].exceeded
