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


def keeps_its_bound(learner, losses, bound, runs=50, errors=6):
    """Whether the mean regret is below the bound by six errors, and that of a learner of the wrong sign above it.

    A false alarm is less likely than 1e-8.
    """
    regret = noisy_regret(learner, losses, runs)
    wrong = noisy_regret(learner, losses, runs, sign=-1)
    return regret.mean() + errors * regret.std() / np.sqrt(runs) <= bound and wrong.mean() > 1.2 * bound


def breaks_the_bound(right, fast, losses, runs=100, errors=6):
    """Whether the mean regret at the right rate is below the bound and at another above it, by six errors each.

    A false alarm is less likely than 1e-8.
    """
    slow, quick = (noisy_regret(learner, losses, runs) for learner in (right, fast))
    below = slow.mean() + errors * slow.std() / np.sqrt(runs) <= right.uncapped_bound
    return below and quick.mean() - errors * quick.std() / np.sqrt(runs) > right.uncapped_bound


def mean_reward(arms, means, rounds):
    """The mean reward of arms, by the means of each, that were played for so many rounds."""
    total = 0.0
    for _ in range(rounds):
        arm = arms.act()
        total += means[arm]
        arms.update(means[arm])
    return total / rounds


class City:
    """Several learners on shared sums, as one mechanism that shows all their actions."""

    sees = "loss"

    def __init__(self, sums, learners):
        self.sums, self.learners = sums, learners

    def act(self):
        return [learner.act() for learner in self.learners]

    def update(self, loss):
        self.sums.update(loss)

    @property
    def certificate(self):
        return self.sums.certificate
