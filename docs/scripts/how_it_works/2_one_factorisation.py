"""
Why one factorisation is enough
===============================

A bandit on a general convex set moves by :math:`x_{t+1} = \\arg\\min \\eta \\langle L_t, x\\rangle + R(x)`, where
:math:`R` is the barrier. That is a convex optimisation problem in every round. Solved anew it would cost dozens of
matrix factorisations. One is enough, and the same one draws the next action.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx

rng = np.random.default_rng(0)
n, rows = 30, 80
A = rng.standard_normal((rows, n))
X = decision_sets.polytope(A, np.ones(rows) * np.linalg.norm(A, axis=1), lower=-1, upper=1)
Y = decision_sets.loss_ball(n, p=2, radius=0.3)
print(X)

# %%
# One Newton step a round
# -----------------------
#
# From one round to the next :math:`L_t` changes by one estimate, and the minimiser moves a little: measured in the
# norm of the Hessian at the old point, by about :math:`d = \eta n |v|`, where :math:`v` is the feedback. Newton's
# method squares the distance: while :math:`d \le 1/8`, one full step brings the *decrement* (how far the point is
# from the minimiser, in that norm) from 1/12 + d back below 1/12. So a learner that takes one Newton step in every
# round stays that close to the true minimiser forever, and the regret bound only gains a factor close to 1.
#
# Below the path of a point that follows a moving minimiser with one step a round.


def decrement(point, L, eta):
    """How far a point is from the minimiser of eta <L, x> + R(x), in the norm of the Hessian there."""
    slope = eta * L + X.barrier.gradient(point)
    return float(np.sqrt(slope @ np.linalg.solve(X.barrier.hessian(point), slope)))


eta, point, L = 0.02, X.center, np.zeros(n)
before, after = [], []
drift = 0.6 * rng.standard_normal(n) / np.sqrt(n)
for _ in range(150):
    L += drift + 0.8 * rng.standard_normal(n)
    before.append(decrement(point, L, eta))
    H = X.barrier.hessian(point)
    point = point - np.linalg.solve(H, eta * L + X.barrier.gradient(point))
    after.append(decrement(point, L, eta))

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.semilogy(before, ".", color="C3", label="after the losses moved the target")
axes.semilogy(after, ".", color="C0", label="after one Newton step")
axes.axhline(1 / 12, color="grey", linestyle="--", linewidth=1)
axes.annotate("1/12", (0, 1 / 12), (4, 4), textcoords="offset points", color="grey")
axes.set(xlabel="round", ylabel="Newton decrement", title="One step a round keeps a point at its moving target")
axes.legend(frameon=False, loc="center right")
axes.set_ylim(3e-5, 0.3)
plt.show()

# %%
# At least one step is taken every round, however small the decrement is. (Skipping it while "small enough" looks
# harmless and gives linear regret: the target then runs in circles around a point that never moves.) Where the noise
# of privacy makes a step larger than 1/8, the learner repeats it until it has converged.
#
# The same factor draws the action
# --------------------------------
#
# The next action lies on the surface of the Dikin ellipsoid: :math:`x + r\,C^{-T}u` with :math:`H = C C^T` and a
# random direction :math:`u`, and the loss is estimated by :math:`(n v/r)\, C u`, whose mean is the loss itself. Step,
# action and estimate all need the same :math:`C`. So a round costs one Cholesky factorisation and a few triangular
# solves:

bandit = dpcvx.SCRiBLe(X, Y, horizon=5000, seed=0)
loss = 0.3 * np.eye(n)[0]
started = time.process_time()
for _ in range(1000):
    bandit.update(loss @ bandit.act())
per_round = (time.process_time() - started) / 1000

H = X.barrier.hessian(X.center)
started = time.process_time()
for _ in range(200):
    np.linalg.cholesky(H)
factorisation = (time.process_time() - started) / 200
print(f"dimension {X.dim}, {rows + 2 * n} inequalities")
print(f"{1e3 * per_round:.2f} ms a round, of which {1e3 * factorisation:.3f} ms are the factorisation")

# %%
# On larger sets the factorisation is most of a round. ``python benchmarks/geometry.py`` measures it against an
# interior-point solver that is kept alive between rounds, and against other packages that walk by Dikin ellipsoids.
