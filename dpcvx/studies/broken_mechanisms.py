"""Deliberately wrong mechanisms, each with one of the mistakes that are easy to make: the audit must flag every one.

They exist to show that the audit has power and are used for nothing else. Each claims the epsilon it was asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters import BinaryTree, Counter, SmoothTree
from dpcvx.privacy.counters.toeplitz import factors
from dpcvx.privacy.noise import Source
from dpcvx.privacy.plan import Plan
from dpcvx.privacy.prefix_sums import PrivateSums

Build = Callable[[int, tuple[int, ...], Source], Counter]


@dataclass(frozen=True)
class BrokenPlan(Plan):
    """A plan that builds another counter than it was calibrated for."""

    build: Build | None = None

    def make(self, shape: tuple[int, ...], source: Source) -> Counter:
        return self.build(self.horizon, shape, source) if self.build else super().make(shape, source)


class BrokenSums(PrivateSums):
    """Private sums whose plan is spoilt after it was made; simulation only."""

    def _begin(self, horizon: int, epoch: int, before: int) -> None:
        super()._begin(horizon, epoch, before)
        spoilt = self._spoil(replace(self.plan, epsilon=self._settings["epsilon"]))
        counter = spoilt.make((*self.leading, self.loss_set.size), self._source(spoilt))
        self._open = replace(self._open, plan=spoilt, counter=counter)

    def _spoil(self, plan: Plan) -> Plan:
        return plan


def _scaled(plan: Plan, factor: float) -> Plan:
    return replace(plan, law=replace(plan.law, scale=plan.law.scale * factor))


def _building(plan: Plan, build: Build) -> Plan:
    return BrokenPlan(**{field.name: getattr(plan, field.name) for field in fields(plan)}, build=build)


class HalfTheNoise(BrokenSums):
    """Half the scale."""

    def _spoil(self, plan: Plan) -> Plan:
        return _scaled(plan, 1 / 2)


class RadiusForDiameter(BrokenSums):
    """The radius of the loss set where its diameter belongs."""

    def _spoil(self, plan: Plan) -> Plan:
        return _scaled(plan, float(self.loss_set.radius(1)) / float(self.loss_set.diameter(1)))


class NaturalLogarithm(BrokenSums):
    """ln T levels instead of log2 T."""

    def _spoil(self, plan: Plan) -> Plan:
        return _scaled(plan, float(np.log(plan.horizon)) / plan.touches)


class MissingCeiling(BrokenSums):
    """log2 T levels without rounding up."""

    def _spoil(self, plan: Plan) -> Plan:
        return _scaled(plan, float(np.log2(plan.horizon)) / plan.touches)


class LastPrefixReleased(BrokenSums):
    """L~_T is released too, with the levels of L~_0, ..., L~_{T-1}: one too few."""

    def _spoil(self, plan: Plan) -> Plan:
        return _building(plan, lambda horizon, shape, source: BinaryTree(horizon + 1, shape, source))


class PaperUnderReplace(BrokenSums):
    """The paper's scale, which takes the radius and claims "replace"; make it with calibration="paper"."""


class ReusingTree(BinaryTree):
    """A binary tree whose new node takes over the noise of a node that it absorbs."""

    def _advance(self, item: Array) -> Array:
        single = self.items % 2 == 0  # the newest node so far holds one item, which the new node absorbs
        kept = self._carried[-1] - self._carried[-2] if single else None
        noise = super()._advance(item)
        if kept is not None:
            noise = noise - self._carried[-1] + self._carried[-2] + kept
            self._carried[-1] = self._carried[-2] + kept
        return noise


class NodeNoiseReused(BrokenSums):
    """A binary tree that reuses the noise of nodes."""

    def _spoil(self, plan: Plan) -> Plan:
        return _building(plan, ReusingTree)


class OneZeroTooFew(BrokenSums):
    """A smooth tree calibrated for z - 1 releases of an item instead of z."""

    def _spoil(self, plan: Plan) -> Plan:
        return _scaled(plan, (plan.touches - 1) / plan.touches)


class ReusingSmoothTree(SmoothTree):
    """A smooth tree whose new highest node takes over the noise of the dropped node in its place."""

    def _start(self) -> Array:
        self._places: list[Array] = []
        return super()._start()

    def _draw(self, kept: int) -> Array:
        noise = super()._draw(kept)
        if self.items:
            noise[0] = self._places[kept]
        self._places[kept:] = noise.copy()
        return noise


class DroppedNoiseReused(BrokenSums):
    """A smooth tree that reuses the noise of dropped nodes."""

    def _spoil(self, plan: Plan) -> Plan:
        return _building(plan, ReusingSmoothTree)


class UnorderedSmoothTree(SmoothTree):
    """A smooth tree that takes the codewords in the order of their mirror images."""

    def _start(self) -> Array:
        bits = self.touches + self.terms
        words = [word for word in range(1 << bits) if word.bit_count() == self.terms]
        self._words = sorted(words, key=lambda word: f"{word:0{bits}b}"[::-1])
        zero = np.zeros(self.shape, dtype=self.dtype)
        self._carried, self._covered = [zero], [zero]
        return self._lay(0)

    def _advance(self, item: Array) -> Array:
        old, new = self._words[self.items - 1], self._words[self.items]
        highest = (old ^ new).bit_length()
        return self._lay(self.terms - (new & ((1 << highest) - 1)).bit_count())

    def _lay(self, kept: int) -> Array:
        # empty nodes can outlive a step in this order, so all are kept like nodes
        noise = self._draw(kept)
        self._carried[kept + 1 :] = self._carried[kept] + np.cumsum(noise, axis=0)
        self._covered[kept + 2 :] = self._covered[-1:] * (len(noise) - 1)
        return self._carried[-1]


class CodewordsOutOfOrder(BrokenSums):
    """A smooth tree with the codewords in a wrong order: an item enters more than z nodes."""

    def _spoil(self, plan: Plan) -> Plan:
        return _building(plan, UnorderedSmoothTree)


class SensitivityOfB(BrokenSums):
    """A Toeplitz counter calibrated by the norm of B where that of C belongs; B and C are nearly the same matrix."""

    def _spoil(self, plan: Plan) -> Plan:
        f = factors(plan.horizon)
        return _scaled(plan, float(f.row_norm(f.size)) / f.sensitivity)
