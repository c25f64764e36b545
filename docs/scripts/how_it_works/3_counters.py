"""
Counters: sums that keep secrets
================================

A learner with full information needs one thing of the data: the sum of the losses so far, after every round.
Releasing T sums with fresh noise each would cost far too much. *Counters* release all of them with noise that grows
like a power of the logarithm of T.
"""

import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx
from dpcvx.privacy.counters import COUNTERS
from dpcvx.privacy.counters.smooth_tree import codeword_shape
from dpcvx.privacy.noise import Gaussian, Laplace

# %%
# The binary tree
# ---------------
#
# Sum the losses in blocks of 1, 2, 4, 8, ...; every prefix is a sum of at most :math:`\log_2 T` blocks, and every
# loss is in at most :math:`\log_2 T` blocks. Give each block its own noise, drawn once: the noise of a prefix is that
# of its blocks, and one person's loss touches only the blocks that contain it. This is the counter of Agarwal and
# Singh, and of the papers before it.

T = 16
figure, panel = plt.subplots(figsize=(8, 3), layout="constrained")
used = set()
for t in range(1, T):
    start = 0
    for j in range(T.bit_length() - 1, -1, -1):
        if t >> j & 1:
            used.add((j, start))
            start += 1 << j
for j in range(T.bit_length() - 1):
    for start in range(0, T, 1 << j):
        in_prefix = (j, start) in {(3, 0), (1, 8), (0, 10)}
        touched = start <= 2 < start + (1 << j) and (j, start) in used
        colour = "C1" if in_prefix else "C3" if touched else "#e8eef4" if (j, start) in used else "white"
        hatch = "///" if in_prefix and touched else None
        block = plt.Rectangle(
            (start + 0.05, j), (1 << j) - 0.1, 0.8, facecolor=colour, edgecolor="#1f3b57", hatch=hatch
        )
        panel.add_patch(block)
panel.set(
    xlim=(0, T),
    ylim=(0, 4),
    xlabel="round",
    yticks=np.arange(4) + 0.4,
    yticklabels=[1, 2, 4, 8],
    ylabel="rounds in a block",
)
panel.set_title("orange: the blocks of the prefix of 11 rounds; red and hatched: those that round 3 is in", fontsize=10)
plt.show()

# %%
# Two things are wasted. Prefixes have different numbers of blocks, one for each one in the binary digits of t, so
# noise must be added to bring them to one law; and a loss in the first round is in all levels while the last is in
# one.
#
# The smooth tree
# ---------------
#
# Use only those leaves of a taller tree whose binary address has exactly *a* ones and *z* zeros. Then every prefix
# has exactly *a* blocks, every loss is in exactly *z*, and the two can be traded against each other: Laplace noise
# costs :math:`z\sqrt{a}`, so few zeros and many ones are best.

figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
horizons = 2 ** np.arange(2, 25)
for law, style in ((Laplace, "-"), (Gaussian, "--")):
    for key, counter in COUNTERS.items():
        if counter.refusal(law) is not None:
            continue
        deviations = [counter.relative_deviation(int(h), law.norm) for h in horizons if h <= counter.largest_horizon]
        colour = {"tree": "C3", "smooth": "C0", "toeplitz": "C2"}.get(key, "C4")
        panel.loglog(horizons[: len(deviations)], deviations, style, color=colour, label=f"{counter.name}, {law.name}")
panel.set(
    xlabel="rounds",
    title="deviation of a sum where one loss moves by 1 (Laplace: in 1/epsilon, Gaussian: in multipliers)",
    xscale="log",
)
panel.title.set_fontsize(10)
panel.legend(frameon=False, fontsize="small")
plt.show()

for T in (1024, 2**14, 2**20):
    zeros, ones = codeword_shape(T, balanced=False)
    print(f"T = {T:8d}: a loss enters {zeros} releases, and a sum has {ones} noises", end="; ")
    print(f"on the binary tree {(T - 1).bit_length()} and {T.bit_length() - 1}")

# %%
# For Gaussian noise (delta > 0) there is something better than trees: write the matrix of all prefix sums as a
# product B C and add noise to C l instead of l. The square root of that matrix (the *Toeplitz* counter) has an
# eighth more noise than any factorisation must have at 1,000 rounds, and a tenth at 10,000. ``dpcvx
# counters --horizon T`` prints the numbers behind the picture.
#
# Noise that fits the losses
# --------------------------
#
# Laplace noise hides any change of a given 1-norm. Losses in a box change by the box: noise that is uniform on a
# randomly scaled copy of that box (*K-norm noise*) hides exactly that, with a deviation that is 2.1 times smaller for
# ten entries and up to 2.4 times for many. It is the default on boxes from three entries on.

rng = np.random.default_rng(0)
count, scale = 4000, 1.0
laplace = rng.laplace(0, 2 * scale, (count, 2))
k_norm = rng.gamma(3, scale, (count, 1)) * rng.uniform(-1, 1, (count, 2))
figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharex=True, sharey=True)
for panel, draws, name in zip(panels, (laplace, k_norm), ("Laplace", "K-norm"), strict=True):
    panel.plot(*draws.T, ".", markersize=2, alpha=0.4)
    panel.add_patch(plt.Rectangle((-1, -1), 2, 2, fill=False, edgecolor="C3", linewidth=1.5))
    panel.set(aspect="equal", xlim=(-10, 10), ylim=(-10, 10), title=f"{name}: deviation {draws.std():.2f}")
figure.suptitle("Two noises that hide any change in the red box equally well")
plt.show()

for n in (2, 3, 10, 100):
    Y = decision_sets.loss_box(n, 0, 1)
    sizes = [
        dpcvx.PrivateSums(Y, 1000, 1.0, noise=noise).certificate.prefix_deviation for noise in ("laplace", "knorm")
    ]
    print(f"{n:4d} entries: Laplace {sizes[0]:8.1f}, K-norm {sizes[1]:8.1f}, ratio {sizes[0] / sizes[1]:.2f}")

# %%
# Why integers
# ------------
#
# Noise in floating-point numbers leaks: which of the representable numbers can come out depends on the value that was
# hidden. So losses are rounded to a *grid*, sums are integers, and the noise is drawn from a discrete law by exact
# arithmetic. The certificate counts the rounding and names the grid. A seed turns all this off: simulations use
# NumPy, and their certificate says "not private".
