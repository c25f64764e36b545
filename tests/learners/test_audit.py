"""The whole sequence of actions of a learner, audited at confidence 1 - 1e-6; learners that lie are caught."""

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, audit

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
        return audit(actions(FIRST, make), actions(SECOND, make), claim=epsilon, samples=600_000, seed=1)

    honest = run(epsilon)
    assert not honest.exceeded and honest.lower_bound > 0.05 * epsilon  # it sees something
    assert run(2 * epsilon).exceeded  # half the noise


def test_actions_of_ftpl_keep_the_claim_and_follow_the_leader_is_caught():
    """Vertices tell one bit a round; without noise they tell the loss outright."""

    def make(epsilon):
        return lambda rng, n: FTPL(X, Y, ROUNDS, epsilon, seed=rng, replicas=n)

    honest = make(0.5)
    assert not audit(actions(FIRST, honest), actions(SECOND, honest), claim=0.5, samples=60_000, seed=2).exceeded

    class Leader:
        def __init__(self, n):
            self._total = np.zeros((n, 2))

        def act(self):
            return X.argmin(self._total)

        def update(self, loss):
            self._total = self._total + loss

    broken = [actions(stream, lambda rng, n: Leader(n)) for stream in (FIRST, SECOND)]
    assert audit(*broken, claim=0.5, samples=60_000, seed=2).exceeded
