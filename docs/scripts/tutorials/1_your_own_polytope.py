"""
Your own polytope
=================

You have decisions that must satisfy linear constraints, and every day you learn what each choice would have cost.
This page declares such a set, looks at what was derived from it, plays a private learner on it, and measures what
privacy costs.

The story: three machines share one day of work. Everything must be done, machine 3 is small, and the union wants
machines 1 and 2 to take at least half together. Every evening the cost per unit of each machine is known, and it
depends on one customer's order, which must not be guessed from tomorrow's plan.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dpcvx
from dpcvx.studies.gallery import draw_set

# %%
# Declare
# -------
#
# A decision set is a cvxpy variable and constraints on it. Nothing else is needed: dimension, barrier, analytic
# center, oracles and sizes are computed.

x = cp.Variable(3, nonneg=True, name="share")
X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x[2] <= 0.4, x[0] + x[1] >= 0.5, x[0] <= 0.8], name="plans")
print(X.summary())

# %%
# The sum constraint makes the set two-dimensional, and the package found that out: the barrier and everything after
# it live in the plane of the set. One of the constraints follows from the others (machine 3 takes at most 0.4, so the
# other two take at least 0.6). It does not harm.

figure, panel = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
draw_set(panel, X)
panel.set_title("the plans, with Dikin ellipsoids", fontsize=11)

# %%
# The ellipsoids say how far one may go from a point in each direction without leaving the set. Near the boundary they
# become flat. They come from the constraints alone.
#
# The set answers questions:

print("cheapest plan at costs (3, 1, 2):", X.argmin([3, 1, 2]).round(3))
print("nearest plan to (1, 0, 0):       ", X.project([1, 0, 0]).round(3))
print("vertices:\n", X.vertices().round(3), sep="")

# %%
# What a loss may be
# ------------------
#
# The second declaration is the set of possible losses. All noise is calibrated to it, so it must be true of every
# loss that will come; a loss outside is clipped, silently, because a message would tell about the data.

cost = cp.Variable(3, name="cost")
Y = dpcvx.LossSet(cost, [cost >= 0, cost <= 1], name="costs")
print("largest change of one day, 1-norm:", Y.diameter(1))

# %%
# Play
# ----
#
# ``act()`` gives the plan of the day, ``update(loss)`` takes the costs in the evening. Without a seed the noise is
# drawn exactly, from the operating system's entropy, and the certificate is a claim. (The costs here are random
# numbers; yours are data.)

rounds = 1000
rng = np.random.default_rng(0)
costs = np.clip([0.7, 0.45, 0.5] + 0.2 * rng.standard_normal((rounds, 3)), 0, 1)

learner = dpcvx.FTRL(X, Y, horizon=rounds, epsilon=1.0)
paid = 0.0
for today in costs:
    plan = learner.act()
    paid += today @ plan
    learner.update(today)
print(
    f"paid {paid / rounds:.3f} a day; the best fixed plan costs {costs.mean(axis=0) @ X.argmin(costs.sum(axis=0)):.3f}"
)
print("last plan:", plan.round(3))

# %%
# What was promised
# -----------------

print(learner.certificate)

# %%
# :doc:`/start/certificate` reads this line by line.
#
# What it costs
# -------------
#
# A simulation plays many replicas of a learner against the same costs. It uses a seed and claims nothing.
# ``epsilon=None`` is the same learner without privacy.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for epsilon, colour in ((None, "black"), (3.0, "C0"), (1.0, "C1"), (0.3, "C3")):
    run = dpcvx.simulate(dpcvx.FTRL(X, Y, rounds, epsilon), costs, replicas=10, seed=0)
    name = "no privacy" if epsilon is None else f"epsilon = {epsilon:g}"
    axes.plot(run.rounds, run.mean, color=colour, label=f"{name}: {run.final / rounds:.4f} a day")
    axes.fill_between(run.rounds, *run.band(0.9), color=colour, alpha=0.15, linewidth=0)
axes.set(
    xlabel="day",
    ylabel="cost above the best fixed plan, so far",
    title="Ten runs each: mean, and where 90 % of them lie",
)
axes.legend(frameon=False)
plt.show()

# %%
# Where a declaration is wrong
# ----------------------------
#
# A wrong declaration is answered by a sentence, not by a solver's status.

for constraints in ([cp.sum(x) == 1, x[0] >= 0.8, x[1] >= 0.4], [x[0] <= 1]):
    try:
        dpcvx.DecisionSet(x, constraints)
    except dpcvx.DpcvxError as error:
        print(error)
