"""How large a decision set is, and how far losses reach on it: the sizes behind every regret bound.

All numbers are certified upper bounds.
"""

from functools import cached_property, lru_cache

import numpy as np

from dpcvx.arguments import kind_of
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.loss_set import LossSet
from dpcvx.sets.pairing import Pairing, PulledLosses

_ROUNDING = 1e-6
_HOLDER = ((1.0, np.inf), (2.0, 2.0), (np.inf, 1.0))  # dual pairs of norms


class Sizes:
    """A decision set X and a loss set Y measured against each other; every "max" stands for an upper bound of it.

    Attributes:
        decision_set, loss_set: X and Y.
        pairing: how a loss acts on a decision.

    Raises:
        ValueError: where they are no such sets, or their shapes do not go together.
    """

    def __init__(self, decision_set: DecisionSet, loss_set: LossSet) -> None:
        for what, value, kind in (("decision_set", decision_set, DecisionSet), ("loss_set", loss_set, LossSet)):
            if not isinstance(value, kind):
                raise ArgumentError(f"{what} must be a {kind.__name__}, not {kind_of(value)}.")
        self.decision_set, self.loss_set = decision_set, loss_set
        self.pairing = Pairing(decision_set, loss_set.shape)

    @cached_property
    def losses(self) -> LossSet | PulledLosses:
        """Y as covectors over X: itself, or through the map that X carries."""
        return self.pairing.losses(self.loss_set)

    @property
    def middle(self) -> Array:
        """A point of X near the middle of its bounding box, as a vector."""
        return self.decision_set.recognised.middle

    @property
    def radius(self) -> float:
        """max |x - middle|_2 over X."""
        return self.decision_set.recognised.reach

    @cached_property
    def magnitude(self) -> float:
        """max |<l, x>| over losses and decisions."""
        X, Y = self.decision_set, self.losses
        lower, upper = (X.flatten(end) for end in X.bounding_box())
        middle, half = self._loss_box
        reach = np.maximum(np.abs(lower), np.abs(upper))
        candidates = [float(reach @ (np.abs(middle) + half))]
        candidates += [float(X.recognised.radius(p)) * float(Y.radius(q)) for p, q in _HOLDER]
        ends = [X.support_bound(X.unflatten(sign * middle)) for sign in (1, -1)]  # of <middle, x>
        candidates += [max(ends) + float(X.recognised.radius(p)) * float(np.linalg.norm(half, q)) for p, q in _HOLDER]
        if self.vertices is not None:
            candidates.append(
                max(float(np.abs(end).max()) for end in Y.ranges(X.unflatten(self.vertices))) * (1 + 1e-8)
            )
        return min(candidates)

    @cached_property
    def box_values(self) -> tuple[float, float]:
        """The same over the bounding box of Y."""
        middle, half = self._loss_box
        bounds = self.decision_set.recognised.chord_bound
        least = bounds(lambda x: half * np.abs(x) - middle * x)
        return -least, bounds(lambda x: half * np.abs(x) + middle * x)

    @cached_property
    def values(self) -> tuple[float, float]:
        """The least and the largest <l, x> over losses and decisions, from outside."""
        X, Y = self.decision_set, self.losses
        low, high = self.box_values
        low, high = max(low, -self.magnitude), min(high, self.magnitude)
        if self.vertices is not None:
            lows, highs = Y.ranges(X.unflatten(self.vertices))
            slip = 1e-8 * self.magnitude
            low, high = max(low, float(lows.min()) - slip), min(high, float(highs.max()) + slip)
        return low, high

    @cached_property
    def feedback_range(self) -> float:
        """max <l - l', x> over pairs of losses and decisions: how far one loss moves the feedback."""
        X, Y = self.decision_set, self.losses
        lower, upper = (X.flatten(end) for end in X.bounding_box())
        _, half = self._loss_box
        candidates = [2 * float(np.maximum(np.abs(lower), np.abs(upper)) @ half)]
        candidates += [float(X.recognised.radius(p)) * float(Y.diameter(q)) for p, q in _HOLDER]
        if self.vertices is not None:
            low, high = Y.ranges(X.unflatten(self.vertices))
            candidates.append(float((high - low).max()) * (1 + 1e-8))
        return _improved(min(candidates), X.recognised.chord_bound(lambda x: 2 * half * np.abs(x)))

    @cached_property
    def one_norm_diameter(self) -> float:
        """max |x - x'|_1 over X, in the entries of losses: what an error of 1 in each of them costs."""
        return self.used_diameter(1)

    def used_radius(self, p: float) -> float:
        """max |x|_p over X, in the entries of losses."""
        return self.pairing.stretch(p) * float(self.decision_set.recognised.radius(p))

    def used_diameter(self, p: float) -> float:
        """max |x - x'|_p over X, in the entries of losses."""
        return self.pairing.stretch(p) * float(self.decision_set.recognised.diameter(p))

    @property
    def noise_gain(self) -> float:
        """By how much the map of X may raise the variance of independent noise on losses, in any direction."""
        return 1.0 if self.pairing.isometric else self.pairing.stretch(2) ** 2

    @property
    def used_reach(self) -> float:
        """max |x - middle|_2 over X, in the entries of losses."""
        return self.radius if self.pairing.isometric else self.pairing.stretch(2) * self.radius

    @cached_property
    def used_loss_radius(self) -> float:
        """max |l|_2 over Y, of the entries that decisions use; of the part that differs over X where that is known."""
        if self.pairing.isometric:
            return self.loss_radius
        lower, upper = (self.loss_set.flatten(end) for end in self.loss_set.bounding_box())
        used = np.any(self.pairing.usage_box(), axis=0)
        box = float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper))[used]))
        return min(float(self.loss_set.radius(2)), box)

    @property
    def vertices(self) -> Array | None:
        """Points whose hull is X, where they are known."""
        return self.decision_set.recognised.points

    @cached_property
    def mass(self) -> float:
        """max |x - lower|_1 over X, `lower` the least value of each entry."""
        X = self.decision_set
        lower = X.bounding_box()[0]
        return X.support_bound(np.ones(X.shape)) - float(np.sum(lower))

    @cached_property
    def total(self) -> float | None:
        """The sum of the entries where it is the same all over X, otherwise None."""
        X = self.decision_set
        ones = np.ones(X.size)
        if float(np.abs(self.tangential(ones)).max(initial=0.0)) > 1e-9:
            return None
        return float(ones @ X.flatten(X.center))

    def tangential(self, vector: Array) -> Array:
        """The part of a loss, as a vector, that differs over X."""
        chart = self.decision_set.geometry.chart
        return chart.spread(chart.pull(vector))

    @cached_property
    def _loss_box(self) -> tuple[Array, Array]:
        """The middle and the half-widths of the bounding box of Y."""
        lower, upper = (self.losses.flatten(end) for end in self.losses.bounding_box())
        return (lower + upper) / 2, (upper - lower) / 2

    @cached_property
    def loss_radius(self) -> float:
        """max |l|_2 over Y of the part that differs over X."""
        middle, half = self._loss_box
        around = float(np.linalg.norm(self.tangential(middle)) + np.linalg.norm(half))
        return min(float(self.losses.radius(2)), around)

    @property
    def loss_middle(self) -> Array:
        """The middle of the bounding box of Y, as a vector."""
        return self._loss_box[0]

    @property
    def loss_spread(self) -> float:
        """An upper bound of |l - middle|_2 over Y."""
        return float(np.linalg.norm(self._loss_box[1]))

    def largest_squares(self, shift: float) -> Array:
        """max (l_i - shift)^2 over Y for each entry, as a vector."""
        middle, half = self._loss_box
        return np.asarray((np.abs(middle - shift) + half) ** 2)

    @property
    def loss_ends(self) -> tuple[float, float]:
        """The least and largest value of any entry of a loss."""
        middle, half = self._loss_box
        return float((middle - half).min()), float((middle + half).max())

    @cached_property
    def variation(self) -> float:
        """max <l, x - x'> over losses and pairs of decisions: T times this is the largest regret of T rounds."""
        X, Y = self.decision_set, self.losses
        if not X.dim:
            return 0.0
        middle, half = self._loss_box
        lower, upper = (X.flatten(end) for end in X.bounding_box())
        reach = {p: float(X.recognised.diameter(p)) for p, _ in _HOLDER}
        constant = X.support_bound(X.unflatten(middle)) + X.support_bound(X.unflatten(-middle))
        candidates = [float((upper - lower) @ (np.abs(middle) + half)), constant + float((upper - lower) @ half)]
        for p, q in _HOLDER:
            candidates += [reach[p] * float(Y.radius(q)), constant + reach[p] * float(np.linalg.norm(half, q))]
        around = X.recognised.chord_bound(lambda x: half * np.abs(x - lower))  # |x - x'| <= |x - lower| + |x' - lower|
        return _improved(min(candidates), constant + 2 * around)

    def regret_of(self, point: Array) -> float:
        """max <l, point - x> over losses and decisions: the largest regret of a round that plays this vector of X."""
        X, Y = self.decision_set, self.losses
        middle, half = self._loss_box
        candidates = [self.variation]
        candidates.append(X.recognised.chord_bound(lambda x: middle * (point - x) + half * np.abs(point - x)))
        if self.vertices is not None:
            candidates.append(float(Y.ranges(X.unflatten(point - self.vertices))[1].max()) * (1 + 1e-8))
        return min(candidates)


def _improved(known: float, proved: float) -> float:
    """The smaller bound, but not for the sake of rounding: where they are nearly the same, the one that was known."""
    return proved if proved < (1 - _ROUNDING) * known else known


def sizes_of(decision_set: DecisionSet, loss_set: LossSet) -> Sizes:
    """The sizes of a pair of sets, measured once for all learners on it."""
    made = Sizes(decision_set, loss_set)  # which looks at the arguments, and measures nothing yet
    return _kept(made.decision_set, made.loss_set)


@lru_cache(maxsize=16)
def _kept(decision_set: DecisionSet, loss_set: LossSet) -> Sizes:
    return Sizes(decision_set, loss_set)
