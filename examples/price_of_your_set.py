"""What privacy costs on a set of yours: declare it and the losses, and read from which epsilon on it is free.

A portfolio of four funds with at most half of the money in any of them; a fund's loss on a day lies in [-1, 1].
python examples/price_of_your_set.py
"""

from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt

import dpcvx

x, loss = cp.Variable(4, nonneg=True), cp.Variable(4)
X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x <= 0.5], name="portfolios")
Y = dpcvx.LossSet(loss, [loss >= -1, loss <= 1], name="losses of funds")

found = dpcvx.price_of_privacy(X, Y, epsilons=(0.3, 1, 3), horizons=(256, 1024), replicas=8)
print(found)

figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for panel, setting in zip(panels, found.settings, strict=True):
    found.plot(panel, setting=setting)
figure.savefig("price_of_your_set.png", dpi=120)
print(f"\nThe picture is in {Path('price_of_your_set.png').resolve()}.")
