"""
From cvxpy to a barrier
=======================

A list of cvxpy constraints says which points are allowed. A learner needs more: a function that is finite inside,
grows without bound towards the boundary, and whose curvature tells at every point how far one may go. Such a function
is a *self-concordant barrier*. This page follows one set from the constraints to the barrier, step by step.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Polygon

import dpcvx
from dpcvx.studies.gallery import dikin_ellipse, outline

x = cp.Variable(2, name="x")
constraints = [cp.norm2(x) <= 1, x[0] + x[1] <= 0.9, x[1] >= -0.7]
X = dpcvx.DecisionSet(x, constraints, name="a ball, cut twice")

# %%
# Cones
# -----
#
# cvxpy rewrites any convex constraint as rows of a linear map that must lie in a cone: ``A x + b`` in a product of
# half-lines, second-order cones, semidefinite, exponential and power cones. Every one of these cones has a barrier
# that is known in closed form, with its parameter :math:`\nu`; barriers add up, and so do their parameters. Here two
# half-lines (:math:`\nu = 1` each) and a second-order cone (:math:`\nu = 2`), which a better argument lowers to what
# is printed:

print(X.summary())

# %%
# Between the two stands the *presolve*, small exact steps that each return the same points in fewer rows: implicit
# equalities become equalities, redundant rows and columns go, flat cones are replaced by their faces, independent
# parts are split. A set that lies in a plane, such as the simplex, gets its barrier in that plane.
#
# The barrier
# -----------

edge = outline(X)
low, high = edge.min(axis=0) - 0.1, edge.max(axis=0) + 0.1
grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 90)), axis=-1).reshape(-1, 2)
values = np.full(len(grid), np.nan)
for k, point in enumerate(grid):
    slack = min(1 - np.linalg.norm(point), 0.9 - point.sum(), point[1] + 0.7)
    if slack > 1e-3:
        values[k] = X.barrier.value(point)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
shape = (90, 90)
levels = X.barrier.value(X.center) + np.array([0.05, 0.2, 0.5, 1, 1.6, 2.4, 3.4, 4.6, 6, 8])
left.contourf(*grid.T.reshape(2, *shape), values.reshape(shape), levels=[-10, *levels], cmap="Blues")
left.contour(*grid.T.reshape(2, *shape), values.reshape(shape), levels=levels, colors="white", linewidths=0.6)
left.plot(*X.center, "o", color="C1")
left.annotate("analytic center", X.center, (8, 6), textcoords="offset points")
left.set_title("the barrier: finite inside, infinite at the boundary")

for share in (0.0, 0.6, 0.9):
    for corner in edge[::45]:
        point = X.center + share * (corner - X.center)
        right.add_patch(Polygon(dikin_ellipse(X, point), facecolor="C1", alpha=0.25, edgecolor="C1"))
        if share == 0:
            break
right.set_title("Dikin ellipsoids: where the curvature says one may go")
for panel in (left, right):
    panel.add_patch(Polygon(edge, fill=False, edgecolor="#1f3b57", linewidth=1.8))
    panel.set(aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    panel.set_axis_off()
plt.show()

# %%
# The Dikin ellipsoid at a point :math:`x` is :math:`\{y : (y-x)^T H(x) (y-x) \le 1\}` with the Hessian :math:`H` of
# the barrier. It always lies inside the set, which is what makes it useful: a bandit can step to its surface to
# explore, without ever leaving the set.

rng = np.random.default_rng(0)
samples = X.dikin(edge[10] * 0.95).sample(rng, size=1000)
print("of 1000 samples of an ellipsoid near the boundary inside the set:", sum(X.contains(point) for point in samples))

# %%
# Why the parameter matters
# -------------------------
#
# :math:`\nu` bounds how fast the barrier may grow: from the center to a point that is a share :math:`1 - s` of the
# way to the boundary it grows by at most :math:`\nu \ln(1/s)`. It enters the regret bounds of the barrier learners.
# So the package takes the smallest value that it can prove, and ``summary()`` says why it holds.

shares = np.linspace(0, 0.999, 200)
base = X.barrier.value(X.center)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for corner in edge[::20]:
    axes.plot(
        shares,
        [X.barrier.value(X.center + s * 0.9999 * (corner - X.center)) - base for s in shares],
        color="C0",
        alpha=0.5,
    )
axes.plot(
    shares, X.nu * np.log(1 / (1 - shares)), color="C3", label=r"$\nu\,\ln(1/(1-\mathrm{share}))$: the proved limit"
)
axes.set(xlabel="share of the way from the center to the boundary", ylabel="growth of the barrier", ylim=(0, 15))
axes.legend(frameon=False)
plt.show()
