"""Deliberately wrong mechanisms, each with one of the mistakes that are easy to make: the audit must flag every one.

They exist to show that the audit has power and are used for nothing else. Each claims the epsilon it was asked for.
First private sums with a spoilt plan, then trees that reuse noise or take items in a wrong order, then arithmetic that
shows in the outputs.

"The paper" is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from dataclasses import replace

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit import Sampler
from dpcvx.privacy.audit.bits import STEP
from dpcvx.privacy.counters import BinaryTree, Counter, SmoothTree, Toeplitz
from dpcvx.privacy.noise import Gaussian, SecureSource, Source
from dpcvx.privacy.plan import Plan
from dpcvx.privacy.private_sums import PrivateSums


class BrokenSums(PrivateSums):
    """Private sums on a spoilt plan: a simulation, or inside a coupling; secure sources refuse most such plans."""

    def planned(self, horizon: int) -> Plan:
        return self.spoilt(replace(super().planned(horizon), epsilon=self.settings["epsilon"]))

    def spoilt(self, right: Plan) -> Plan:
        """The plan with the mistake."""
        return right


def _scaled(right: Plan, factor: float) -> Plan:
    return replace(right, law=replace(right.law, scale=right.law.scale * factor))


def _counting(right: Plan, counter: type[Counter]) -> Plan:
    """The plan with another counter than it was calibrated for."""
    return replace(right, counter=counter)


class HalfTheNoise(BrokenSums):
    """Half the scale."""

    def spoilt(self, right: Plan) -> Plan:
        return _scaled(right, 1 / 2)


class RadiusForDiameter(BrokenSums):
    """The radius of the loss set where its diameter belongs."""

    def spoilt(self, right: Plan) -> Plan:
        return _scaled(right, float(self.loss_set.radius(1)) / float(self.loss_set.diameter(1)))


class NaturalLogarithm(BrokenSums):
    """ln T levels instead of log2 T."""

    def spoilt(self, right: Plan) -> Plan:
        return _scaled(right, float(np.log(right.horizon)) / right.touches)


class MissingCeiling(BrokenSums):
    """log2 T levels without rounding up."""

    def spoilt(self, right: Plan) -> Plan:
        return _scaled(right, float(np.log2(right.horizon)) / right.touches)


class PaperUnderReplace(BrokenSums):
    """The paper's scale, which takes the radius and claims "replace"; make it with calibration="paper"."""


class OneZeroTooFew(BrokenSums):
    """A smooth tree calibrated for z - 1 releases of an item instead of z."""

    def spoilt(self, right: Plan) -> Plan:
        return _scaled(right, (right.touches - 1) / right.touches)


class SensitivityOfB(BrokenSums):
    """A Toeplitz counter calibrated by the norm of B where that of C belongs; B and C are nearly the same matrix."""

    def spoilt(self, right: Plan) -> Plan:
        f = Toeplitz.factors(right.horizon)
        return _scaled(right, float(f.row_norm(f.size)) / f.sensitivity)


# wrong counters


class LongerTree(BinaryTree):
    """A binary tree of one round more than it was asked for."""

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source, *, norm: int = 1) -> None:
        super().__init__(horizon + 1, shape, source, norm=norm)


class LastPrefixReleased(BrokenSums):
    """L~_T is released too, with the levels of L~_0, ..., L~_{T-1}: one too few."""

    def spoilt(self, right: Plan) -> Plan:
        return _counting(right, LongerTree)


class ReusingTree(BinaryTree):
    """A binary tree whose new node takes over the noise of a node that it absorbs."""

    def _next_noise(self, item: Array) -> Array:
        single = self.items % 2 == 0  # the newest node so far holds one item, which the new node absorbs
        kept = self._carried[-1] - self._carried[-2] if single else None
        noise = super()._next_noise(item)
        if kept is not None:
            noise = noise - self._carried[-1] + self._carried[-2] + kept
            self._carried[-1] = self._carried[-2] + kept
        return noise


class NodeNoiseReused(BrokenSums):
    """A binary tree that reuses the noise of nodes."""

    def spoilt(self, right: Plan) -> Plan:
        return _counting(right, ReusingTree)


class ReusingSmoothTree(SmoothTree):
    """A smooth tree whose new highest node takes over the noise of the dropped node in its place."""

    def _first_noise(self) -> Array:
        self._places: list[Array] = []
        return super()._first_noise()

    def _draw(self, kept: int) -> Array:
        noise = super()._draw(kept)
        if self.items:
            noise[0] = self._places[kept]
        self._places[kept:] = noise.copy()
        return noise


class DroppedNoiseReused(BrokenSums):
    """A smooth tree that reuses the noise of dropped nodes."""

    def spoilt(self, right: Plan) -> Plan:
        return _counting(right, ReusingSmoothTree)


class UnorderedSmoothTree(SmoothTree):
    """A smooth tree that takes the codewords in the order of their mirror images."""

    def _first_noise(self) -> Array:
        bits = self.touches + self.terms
        words = [word for word in range(1 << bits) if word.bit_count() == self.terms]
        self._words = sorted(words, key=lambda word: f"{word:0{bits}b}"[::-1])
        zero = np.zeros(self.shape, dtype=self.dtype)
        self._carried, self._covered = [zero], [zero]
        return self._after(0)

    def _next_noise(self, item: Array) -> Array:
        old, new = self._words[self.items - 1], self._words[self.items]
        highest = (old ^ new).bit_length()
        return self._after(self.terms - (new & ((1 << highest) - 1)).bit_count())

    def _after(self, kept: int) -> Array:
        """The noise of the oldest `kept` nodes and new ones; empty nodes can outlive a step, so all are remembered."""
        noise = self._draw(kept)
        self._carried[kept + 1 :] = self._carried[kept] + np.cumsum(noise, axis=0)
        self._covered[kept + 2 :] = self._covered[-1:] * (len(noise) - 1)
        return self._carried[-1]


class CodewordsOutOfOrder(BrokenSums):
    """A smooth tree with the codewords in a wrong order: an item enters more than z nodes."""

    def spoilt(self, right: Plan) -> Plan:
        return _counting(right, UnorderedSmoothTree)


# wrong arithmetic


def float_laplace(rng: np.random.Generator, n: int, scale: float) -> Array:
    """Textbook Laplace noise in floating point: a fair sign times scale ln u, u uniform in multiples of 2^-52."""
    u = rng.integers(1, 2**52, n, endpoint=True) * STEP
    return np.asarray(rng.choice([-1.0, 1.0], n) * (scale * np.log(u)))


def float_releases(value: float, scale: float) -> Sampler:
    """A sampler of `value` plus textbook noise."""

    def sample(rng: np.random.Generator, n: int) -> Array:
        return (value + float_laplace(rng, n, scale))[:, None]

    return sample


def wrong_toeplitz_releases(item: int, horizon: int, sigma: float) -> Sampler:
    """A sampler of the first two entries of A x + B z, x = (item, 0, ...), z integer noise."""
    weight = Toeplitz.factors(horizon).second_entry

    def sample(rng: np.random.Generator, n: int) -> Array:
        z = SecureSource(Gaussian(sigma), n).draw(np.zeros((2, n), dtype=np.int64)).astype(float)
        return np.stack([item + z[0], item + weight * z[0] + z[1]], axis=1)

    return sample
