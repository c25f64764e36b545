"""
Adaptivity: what may react to what
==================================

Two promises are made, and they need different things. *Privacy* holds whatever chooses the losses, also somebody who
watches every action and reacts. *Regret bounds* are proved for losses that were fixed in advance (*oblivious*),
unless they say otherwise. This page shows why, and what can be said when losses do react.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx

X, Y = decision_sets.simplex(2), decision_sets.loss_box(2, 0, 1)
T = 512

# %%
# Privacy does not care
# ---------------------
#
# A loss enters the noisy sums by way of a few releases, each with its own noise, however the loss came about. The
# proof composes releases that may depend on everything released before. ``couple`` checks this exactly on streams of
# your choice, by playing two neighbouring streams against one script of outputs:

rng = np.random.default_rng(0)
first = rng.random((32, 2))
second = first.copy()
second[5] = [1.0, 0.0]
print(dpcvx.couple(lambda: dpcvx.FTRL(X, Y, 32, epsilon=1.0), first, second))

# %%
# Regret bounds do
# ----------------
#
# Against losses fixed in advance the noise in the sums is as good as one noise drawn at the start, which costs its
# largest value once. Somebody who *sees the action*, and so the noise, can punish it in every round: make costly
# whatever the noise prefers.


def regret(learner, choose):
    """Regret against the best fixed action, for losses that may look at the action of the round."""
    paid, total = 0.0, np.zeros(2)
    for t in range(T):
        action = learner.act()
        loss = choose(t, action)
        paid += loss @ action
        total += loss
        learner.update(loss)
    return paid - total.min()


oblivious = rng.random((T, 2))
rules = {
    "fixed in advance": lambda t, action: oblivious[t],
    "reacts to the action": lambda t, action: np.where(action >= action.max(), 1.0, 0.0) * 0.9,
}
for name, rule in rules.items():
    runs = [regret(dpcvx.FTRL(X, Y, T, epsilon=1.0, seed=seed), rule) for seed in range(10)]
    free = regret(dpcvx.FTRL(X, Y, T), rule)
    print(f"{name:22s} private {np.mean(runs):6.1f}, without privacy {free:6.1f}")
print("bound for losses fixed in advance:", dpcvx.FTRL(X, Y, T, epsilon=1.0).regret_bound)

# %%
# Two bounds
# ----------
#
# FTRL states both. ``regret_bound`` is for losses fixed in advance; ``reacting_bound`` for losses that may depend on
# all actions so far, such as gradients of convex functions at the actions. The second is larger, and
# ``tune_for="reacting"`` chooses the learning rate for it.

long = 2**17
for tuned in ("oblivious", "reacting"):
    learner = dpcvx.FTRL(X, Y, long, epsilon=1.0, delta=1e-6, tune_for=tuned)
    fixed, reacting = learner.regret_bound.total, learner.reacting_bound.total
    print(f"tuned for {tuned:9s} losses: {fixed:6.0f} if they are fixed, {reacting:6.0f} if they react")

# %%
# Convex losses
# -------------
#
# For a convex loss :math:`f_t`, hand the gradient at the action to ``update``. Since :math:`f_t(x) - f_t(u) \le
# \langle \nabla f_t(x), x - u\rangle`, the regret of the functions is at most that of the gradients. Gradients react
# by their nature, so the second bound is the one that applies.

z = cp.Variable(2)
gradients = dpcvx.LossSet(z, [cp.abs(z) <= 2])
targets = rng.dirichlet([3, 1], 4000)
learner = dpcvx.FTRL(X, gradients, 4000, epsilon=2.0, delta=1e-6, tune_for="reacting", seed=0)
path = []
for target in targets:
    action = learner.act()
    path.append(action[0])
    learner.update(2 * (action - target))

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(path, color="C0", linewidth=0.6, label="the learner's first coordinate")
axes.axhline(targets[:, 0].mean(), color="C3", label="the best fixed one")
axes.set(xlabel="round", ylim=(0, 1), title="Learning a mean by gradients, at epsilon = 2, delta = 1e-6 (simulation)")
axes.legend(frameon=False)
plt.show()

# %%
# Bandits hold an action for a *batch* of rounds, and somebody who sees the first round of a batch can use that.
# ``PrivateBandit(batch=1)`` does not hold actions; :class:`~dpcvx.AdaptiveBandit` follows the feedback and has no
# worst-case bound.
