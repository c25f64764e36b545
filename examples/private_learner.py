"""A private learner on a set that no catalogue has, with convex losses given by their gradients.

Each round a household reports its demand over four hours, and a supplier fixes beforehand how to split its capacity.
The loss of a split x for a demand b is |x - b|^2; its gradient 2 (x - b) is what the learner is told, and every entry
of it lies in [-2, 2]. Privacy holds whatever the gradients depend on; the regret bound is for losses fixed in advance.
"""

import cvxpy as cp
import numpy as np

import dpcvx

x = cp.Variable(4, nonneg=True, name="split")
X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x <= 0.6, x[0] + x[1] >= 0.3], name="splits")
gradient = cp.Variable(4, name="gradient")
Y = dpcvx.LossSet(gradient, [cp.abs(gradient) <= 2])

rounds = 20_000
rng = np.random.default_rng(0)
demands = rng.dirichlet([2.0, 8.0, 4.0, 2.0], rounds)

# no seed: exact noise from the operating system, and a certificate that claims privacy
learner = dpcvx.FTRL(X, Y, horizon=rounds, epsilon=1.0, delta=1e-6)
cost = 0.0
for demand in demands[:2000]:
    split = learner.act()
    cost += np.sum((split - demand) ** 2)
    learner.update(2 * (split - demand))
best = X.project(demands[:2000].mean(axis=0))
least = np.mean(np.sum((best - demands[:2000]) ** 2, axis=1))
print(learner.summary())
print()
print(f"after 2,000 rounds: cost {cost / 2000:.4f} a round, best fixed split {least:.4f}")
print(f"last split {np.round(split, 3)}, best {np.round(best, 3)}")
