"""Bandits: only the cost of what was played is seen. Routes on a small road network, and a learner of one's own.

PrivateBandit wraps any object with `act()` and `update(value)`: the reduction needs to know nothing about it.
"""

import cvxpy as cp
import networkx as nx
import numpy as np

import decision_sets as ds
import dpcvx

# routes: the flows of a grid are the mixtures of its paths; one path is driven in each round
grid = nx.DiGraph([((i, j), (i + 1, j)) for i in range(2) for j in range(3)])
grid.add_edges_from(((i, j), (i, j + 1)) for i in range(3) for j in range(2))
X = ds.flow_polytope(grid, (0, 0), (2, 2))
cost = cp.Variable(X.size, name="cost")
Y = dpcvx.LossSet(cost, [cost >= 0, cost <= 1])
rounds = 3000
rng = np.random.default_rng(0)
congestion = rng.uniform(0.3, 0.9, X.size)
costs = np.clip(congestion + 0.2 * rng.standard_normal((rounds, X.size)), 0, 1)

# costs outside Y would be clipped without a word: look at past ones, which need no protection
print(Y.check(costs[:300]).sentence)
driver = dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, horizon=rounds, play="vertices"), epsilon=1.0)
paid = 0.0
for now in costs:
    path = driver.act()
    value = float(now @ path)  # the time of the trip, all that is seen
    paid += value
    driver.update(value)
best = costs.mean(axis=0) @ X.argmin(costs.sum(axis=0))
print(f"{X.size} edges, dimension {X.dim}: paid {paid / rounds:.3f} a trip, the best route costs {best:.3f}")
print(driver.certificate)
print()


class EpsilonGreedy:
    """A learner of one's own: the best arm so far, or sometimes a random one."""

    def __init__(self, arms, share, seed):
        self.sums, self.counts, self.share = np.zeros(arms), np.ones(arms), share
        self.rng = np.random.default_rng(seed)

    def act(self):
        explore = self.rng.random() < self.share
        self.arm = self.rng.integers(len(self.sums)) if explore else int(np.argmin(self.sums / self.counts))
        return np.eye(len(self.sums))[self.arm]

    def update(self, value):
        self.sums[self.arm] += value
        self.counts[self.arm] += 1


loss = cp.Variable(5, name="loss")
arms, losses = ds.simplex(5), dpcvx.LossSet(loss, [loss >= 0, loss <= 1])
mine = dpcvx.PrivateBandit(EpsilonGreedy(5, 0.1, 1), epsilon=1.0, decision_set=arms, loss_set=losses, horizon=5000)
means = np.array([0.6, 0.5, 0.3, 0.6, 0.7])
total = 0.0
for _ in range(5000):
    value = float(means @ mine.act() > rng.random())
    total += value
    mine.update(value)
print(f"an own epsilon-greedy learner, private: {total / 5000:.3f} a round; the best arm costs {means.min():.3f}")
print(mine.certificate)
