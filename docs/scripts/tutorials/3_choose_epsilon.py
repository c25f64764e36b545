"""
Choose epsilon
==============

Epsilon bounds how much more likely any sequence of actions becomes when one person's data change: by a factor of at
most :math:`e^\\varepsilon`. Smaller is safer and costs more. How much more depends on your set, your losses and the
number of rounds, so look at the price before you choose.
"""

import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx

X, Y = decision_sets.simplex(10), decision_sets.loss_box(10, 0, 1)

# %%
# What epsilon means for an attacker
# ----------------------------------
#
# Suppose somebody thinks that you took part with probability 1/2, and then sees every action. By how much can that
# belief move?

for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0):
    belief = 1 / (1 + np.exp(-epsilon))
    print(f"epsilon {epsilon:5.1f}: from 0.50 to at most {belief:.4f}")

# %%
# At 0.3 that is little. At 1 it is something, at 3 a lot, and at 10 the promise is hardly more than a word. Delta,
# where it is not 0, is the probability with which even that may fail; it should be far below one over the number of
# people.
#
# What it costs, by the proved bounds
# -----------------------------------
#
# A bound has two parts: what learning costs anyway, and what the noise adds. The second falls like 1/epsilon and
# hardly grows with the number of rounds, so for long games privacy becomes cheap.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
horizons = np.geomspace(2**8, 2**20, 7).astype(int)
learning = [dpcvx.FTRL(X, Y, int(T)).regret_bound.total / T for T in horizons]
axes.loglog(horizons, learning, color="black", linestyle="--", label="learning, without privacy")
for epsilon, colour in ((0.1, "C3"), (0.3, "C1"), (1.0, "C0"), (3.0, "C2")):
    parts = [dpcvx.FTRL(X, Y, int(T), epsilon).regret_bound.privacy / T for T in horizons]
    axes.loglog(horizons, parts, color=colour, label=f"privacy adds, epsilon = {epsilon:g}")
axes.set(
    xlabel="rounds",
    ylabel="regret a round, proved bound",
    title="Ten experts, losses in [0, 1], delta = 0",
    ylim=(1e-5, 1),
)
axes.legend(frameon=False)
plt.show()

# %%
# Privacy is called free where a coloured line is below the black one: it then adds less than learning costs anyway.
#
# What it costs, measured
# -----------------------
#
# ``price_of_privacy`` plays hard sequences of losses. It runs on any set, and the command line has it too: ``dpcvx
# price simplex:10``, or ``dpcvx price FILE.py`` for sets ``X`` and ``Y`` in a file of yours.

price = dpcvx.price_of_privacy(
    X, Y, epsilons=[0.3, 1.0, 3.0], horizons=[1024], settings=["full information"], replicas=8, seed=0
)
print(price)

# %%
# Several learners on the same people
# -----------------------------------
#
# What one person gives away adds up over everything that person is in. ``compose`` adds certificates, by the tightest
# rule that is known for them; ``group`` tells what holds for several persons together.

gaussian = dpcvx.FTRL(X, Y, 4096, epsilon=1.0, delta=1e-6).certificate
pure = dpcvx.FTRL(X, Y, 4096, epsilon=0.5).certificate
print(dpcvx.compose(gaussian, pure, delta=1e-6))
print(dpcvx.compose([gaussian] * 8, delta=1e-6))
print("two persons together:", pure.group(2).epsilon)

# %%
# A way to choose
# ---------------
#
# 1. Decide who is protected, and what one person can change (:doc:`2_one_persons_change`). This matters more than
#    epsilon.
# 2. Take the number of rounds, and print ``private_learner(X, Y, T, epsilon).regret_bound`` for 0.3, 1 and 3.
# 3. If privacy is far from free at 1, look for more rounds, a smaller loss set, a declared change, or delta > 0
#    (:doc:`/choose`), before you take a larger epsilon.
