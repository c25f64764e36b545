"""Learners played against losses in a row."""

import numpy as np


def play(learner, stream):
    """The actions of a learner that sees the losses of a stream, one a round."""
    actions = []
    for loss in stream:
        actions.append(learner.act())
        learner.update(loss)
    return np.array(actions)


def noisy_regret(learner, losses, replicas, sign=1):
    """Regret of replicas of a bandit whose feedback carries the noise that it was tuned for."""
    playing, rng = learner.simulated(replicas, 0), np.random.default_rng(1)
    incurred = np.zeros(replicas)
    for loss in losses:
        values = playing.act() @ loss
        incurred += values
        playing.update(sign * (values + learner.noise_scale * rng.laplace(size=replicas)))
    return incurred + learner.decision_set.support(-losses.sum(axis=0))
