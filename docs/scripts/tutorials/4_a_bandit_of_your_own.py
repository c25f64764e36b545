"""
Make your own or a third-party bandit private
=============================================

You have a bandit policy: your own, or one of river or mabwiser. It learns from rewards that people give, and its
choices are seen. This page makes such policies private without touching them: they are given clipped rewards with
noise, and whatever they compute from these gives nothing away.

The policies are those without contexts: a number of arms, a reward for the arm that was played. Features of the round
are not covered.
"""

import matplotlib.pyplot as plt
import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

import decision_sets
import dpcvx

means = np.array([0.35, 0.5, 0.4, 0.7])  # of four offers; the policies do not know them
rounds = 1000


def play(arms, seed=0):
    """The mean reward so far, after every round; rewards are 0 or 1."""
    rng, total, curve = np.random.default_rng(seed), 0.0, []
    for t in range(rounds):
        reward = float(rng.random() < means[arms.act()])
        arms.update(reward)
        total += reward
        curve.append(total / (t + 1))
    return np.array(curve)


# %%
# A policy of river or mabwiser, in one line
# ------------------------------------------
#
# ``pip install 'dpcvx[adapters]'`` brings both packages. The policy is told by its class; it is copied, and never
# sees a true reward.

ucb = dpcvx.PrivateArms(bandit.UCB(delta=1.0, seed=0), 4, epsilon=1.0)
thompson = dpcvx.PrivateArms(MAB([0, 1, 2, 3], LearningPolicy.ThompsonSampling(), seed=0), 4, epsilon=1.0)
print(ucb.summary())

# %%
# The last lines are the certificate. It protects one round's reward: nobody who sees all choices can tell, up to
# epsilon, what any one person's reward was. No regret bound is stated: what a policy does with noise that it does not
# expect is its own affair.
#
# Your own policy
# ---------------
#
# Any object with ``pull(arms)`` and ``update(arm, reward)`` will do.


class MostlyBest:
    """The best arm so far, and now and then another one."""

    def __init__(self, seed):
        self.rng, self.sums, self.counts = np.random.default_rng(seed), {}, {}

    def pull(self, arms):
        if self.rng.random() < 0.1:
            return arms[self.rng.integers(len(arms))]
        return max(arms, key=lambda arm: self.sums.get(arm, 0.0) / self.counts.get(arm, 1))

    def update(self, arm, reward):
        self.sums[arm] = self.sums.get(arm, 0.0) + reward
        self.counts[arm] = self.counts.get(arm, 0) + 1


mine = dpcvx.PrivateArms(MostlyBest(seed=0), 4, epsilon=1.0)

# %%
# One that knows about the noise
# ------------------------------
#
# The package's own learners are told the scale of the noise and hold an arm for some rounds, so that one noise serves
# them all. ``"bound"`` takes the smallest proved bound, ``"practice"`` the one that usually learns soonest.

own = dpcvx.PrivateArms("practice", 4, epsilon=1.0, horizon=rounds)
careful = dpcvx.PrivateArms("bound", 4, epsilon=1.0, horizon=rounds)
print(careful.regret_bound)

players = {"UCB of river": ucb, "Thompson sampling of mabwiser": thompson, "own policy": mine}
players |= {"dpcvx, practice": own, "dpcvx, bound": careful}

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, arms in players.items():
    curve = play(arms)
    axes.plot(curve, label=f"{name}: {curve[-1]:.3f}")
axes.axhline(means.max(), color="black", linestyle="--", linewidth=1)
axes.axhline(means.mean(), color="grey", linestyle=":", linewidth=1)
axes.annotate("always the best", (rounds, means.max()), (0, 4), textcoords="offset points", ha="right")
axes.annotate("any arm at random", (rounds, means.mean()), (0, -12), textcoords="offset points", ha="right")
axes.set(xlabel="round", ylabel="mean reward so far", ylim=(0.2, 0.8), title="One secure run each, epsilon = 1")
axes.legend(frameon=False, loc="lower center", ncols=2, fontsize="small")
plt.show()

# %%
# One run of each says little about which is best; it shows that all of them learn behind the noise.
#
# Beyond arms
# -----------
#
# Where actions are points of a set, ``PrivateBandit`` wraps anything with ``act()`` and ``update(value)``. Values are
# losses there: smaller is better.


class Wanderer:
    """Stays where it is while things go well, and otherwise tries another corner of the square."""

    def __init__(self, seed):
        self.rng, self.corner = np.random.default_rng(seed), np.array([1.0, 1.0])

    def act(self):
        return self.corner

    def update(self, value):
        if value > 0:
            self.corner = self.rng.choice([-1.0, 1.0], 2)


X, Y = decision_sets.cube(2), decision_sets.loss_ball(2, p=1)
walk = dpcvx.PrivateBandit(Wanderer(0), epsilon=2.0, decision_set=X, loss_set=Y, horizon=500)
paid = 0.0
for _ in range(500):
    value = float(np.array([0.6, 0.2]) @ walk.act())
    paid += value
    walk.update(value)
print(f"the wanderer paid {paid / 500:.2f} a round; the best corner costs -0.80, a random one 0")
print(walk)

# %%
# ``dpcvx.couple`` checks such a construction exactly, and ``dpcvx.check_learner`` tries whether a learner in a module
# of yours keeps the protocol.
