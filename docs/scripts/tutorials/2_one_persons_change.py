"""
What one person can change
==========================

Without a word about people, a round's loss is taken to be one person's data, and noise hides all of it. Often a round
is a sum or a mean over many people. Then say what *one* of them can change, and pay only for that.

Each day 2,000 commuters choose among six ways to work, and the loss of a way is the share of commuters on it. The
learner looks for the emptiest way; nobody who sees its choices shall learn which way anyone took.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx

ways, people, days = 6, 2000, 365
X = decision_sets.simplex(ways)
Y = decision_sets.loss_box(ways, 0, 1)

# %%
# Three declarations
# ------------------
#
# X is where decisions lie, Y what a loss may be, and D what one person can change in a loss. One commuter counts
# 1/2000 on one way, and may take another way instead: a contribution ``c`` is replaced by another.

c = cp.Variable(ways, nonneg=True)
D = dpcvx.Change(c, [cp.sum(c) == 1 / people], replace=True, name="one commuter")
print(D.summary())

# %%
# The same by a function of the catalogue, where the mean of everybody's loss is the loss: ``decision_sets.share``. It
# declares more, any loss of Y over n, which here allows a commuter to be on all ways at once.

print(decision_sets.share(Y, people))

# %%
# ``contains`` tells whether two days are neighbours by the declaration.

rng = np.random.default_rng(1)
popular = np.array([0.30, 0.22, 0.18, 0.12, 0.10, 0.08])
loads = rng.multinomial(people, popular, size=days) / people
moved = loads[0].copy()
moved[[0, 1]] += [-1 / people, 1 / people]
print("one commuter changed the way: ", D.contains(moved - loads[0]))
print("all commuters stayed at home: ", D.contains(-loads[0]))

# %%
# What it buys
# ------------

whole = dpcvx.FTRL(X, Y, days, epsilon=1.0)
said = dpcvx.FTRL(X, Y, days, epsilon=1.0, neighbours=D)
print(said.certificate)

# %%
# Read three lines of it. *declared*: that one person changes no more is your statement; nothing checks it. *whole
# round*: what the same noise is worth if a whole day becomes another, an epsilon so large that it protects nothing;
# whoever needs that must not declare D. *persons*: each person is in one round. A commuter who drives every day is in
# 365 of them:

year = dpcvx.FTRL(X, Y, days, epsilon=1.0, neighbours=D, rounds_per_person=days)
print(f"deviation of a sum: whole day {whole.certificate.prefix_deviation:.3g}, ", end="")
print(f"one commuter's day {said.certificate.prefix_deviation:.3g}, one's year {year.certificate.prefix_deviation:.3g}")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
players = {
    "no privacy": ("black", {"epsilon": None}),
    "one commuter's day": ("C0", {"epsilon": 1.0, "neighbours": D}),
    "one commuter's year": ("C2", {"epsilon": 1.0, "neighbours": D, "rounds_per_person": days}),
    "everybody's day": ("C3", {"epsilon": 1.0}),
}
for name, (colour, options) in players.items():
    run = dpcvx.simulate(dpcvx.FTRL(X, Y, days, **options), loads, replicas=20, seed=0)
    axes.plot(run.rounds, run.mean, color=colour, label=f"{name}: {run.final / days:.4f} a day")
axes.set(xlabel="day", ylabel="regret so far", title="What is hidden, at epsilon = 1")
axes.legend(frameon=False)
plt.show()

# %%
# Traps
# -----
#
# * The number of people must be public and fixed. A mean over n people moves by (c - mean)/(n + 1) when one comes; of
#   a number that varies, declare for the smallest.
# * A person who is replaced changes the loss by the difference of two contributions; one who comes or goes, by one
#   (``replace=False``).
# * Losses that are divided by their own maximum or sum are changed by one person in all entries. Scale by public
#   numbers.
# * A D that was fitted to the data protects nobody.
# * With a change, losses outside Y are clipped entry by entry to its bounding box: the nearest point of Y could be
#   further away for a neighbour.
