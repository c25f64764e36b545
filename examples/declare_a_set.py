"""Declare a set of your own, see what is derived from it, and see what a wrong declaration is told."""

from pathlib import Path

import cvxpy as cp
import numpy as np
from matplotlib.figure import Figure

import dpcvx
from dpcvx.studies.gallery import draw_set

# A portfolio of three assets: everything is invested, no asset takes more than 70 %, and the risk is bounded.
covariance = np.array([[0.10, 0.02, 0.00], [0.02, 0.05, 0.01], [0.00, 0.01, 0.02]])
x = cp.Variable(3, nonneg=True)
portfolios = dpcvx.DecisionSet(
    x, [cp.sum(x) == 1, x <= 0.7, cp.quad_form(x, covariance) <= 0.04], name="portfolios of bounded risk"
)
print(portfolios.summary())

rng = np.random.default_rng(0)
print("\nthe most of the first asset: ", portfolios.argmin(np.array([-1.0, 0.0, 0.0])).round(4))
print("nearest to (1, 0, 0):        ", portfolios.project(np.array([1.0, 0.0, 0.0])).round(4))
print("three points around the center:\n", portfolios.dikin(portfolios.center).sample(rng, size=3).round(4), sep="")

# The same with a bound on the risk that no portfolio meets.
try:
    dpcvx.DecisionSet(x, [cp.sum(x) == 1, cp.quad_form(x, covariance) <= 0.001])
except dpcvx.DpcvxError as error:
    print("\nA wrong declaration is told:", error)

figure = Figure(figsize=(4.5, 4.5), layout="constrained")
panel = figure.subplots()
draw_set(panel, portfolios)
panel.set_title("portfolios of bounded risk, with Dikin ellipsoids", fontsize=11)
picture = Path("declare_a_set.png")
figure.savefig(picture, dpi=130)
print("\nThe picture is in", picture)
