"""How lazy exponential weights count what actions cost, and draw from it: by single actions, or by entries.

Secure draws are exact: costs are whole numbers of a grid, the scale is a rational number, and coins and draws have
exactly the laws in the proof of privacy.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from dpcvx.actions import ActionFamily
from dpcvx.actions.listed import Listed
from dpcvx.actions.weights import drawn
from dpcvx.arrays import Array
from dpcvx.privacy.noise.drawing import select, toss
from dpcvx.privacy.secret import Secret
from dpcvx.storage.process import ProcessGuard


class Costs(ABC):
    """How the costs of actions are added up and drawn from.

    Args:
        family: of actions.
        low, width: costs are <loss, action> - low, between 0 and width.
    """

    def __init__(self, family: ActionFamily, low: float, width: float) -> None:
        self.family, self.low, self.width = family, low, width

    @abstractmethod
    def start(self) -> Array:
        """Before any loss."""

    @abstractmethod
    def of(self, losses: Array) -> Array:
        """What is added up of losses (..., N)."""

    @abstractmethod
    def own(self, costs: Array, chosen: Array) -> Any:
        """What the chosen actions cost, (...), of what was added up."""

    @abstractmethod
    def draw(self, costs: Array, eta: float, rng: np.random.Generator, leading: tuple[int, ...]) -> Array:
        """Actions drawn with probability proportional to exp(-eta cost), by a simulation."""

    @abstractmethod
    def actions(self, chosen: Array) -> Array:
        """The vectors of chosen actions."""


class ListedCosts(Costs):
    """Of every single action; whole units of a grid where there is one."""

    family: Listed

    def __init__(self, family: Listed, low: float, width: float, step: float | None) -> None:
        super().__init__(family, low, width)
        self.step = step

    @property
    def most(self) -> int:
        """The largest cost in whole units."""
        assert self.step is not None
        return math.ceil(self.width / self.step)

    def start(self) -> Array:
        return np.zeros(self.family.count, dtype=float if self.step is None else np.int64)

    def of(self, losses: Array) -> Array:
        costs = self.family.scores(losses) - self.low
        if self.step is None:
            return np.clip(costs, 0.0, self.width)
        return np.clip(np.rint(costs / self.step), 0, self.most).astype(np.int64)

    def own(self, costs: Array, chosen: Array) -> Any:
        return np.take_along_axis(np.broadcast_to(costs, (*chosen.shape, costs.shape[-1])), chosen[..., None], -1)[
            ..., 0
        ]

    def draw(self, costs: Array, eta: float, rng: np.random.Generator, leading: tuple[int, ...]) -> Array:
        weights = np.exp(eta * (costs.min(axis=-1, keepdims=True) - costs))
        return drawn(np.broadcast_to(weights, (*leading, weights.shape[-1])), rng)

    def actions(self, chosen: Array) -> Array:
        return self.family.actions(chosen)


class FamilyCosts(Costs):
    """Of each entry, for families that are too large to be listed; in simulation."""

    def start(self) -> Array:
        return np.zeros(self.family.size)

    def of(self, losses: Array) -> Array:
        return losses

    def own(self, costs: Array, chosen: Array) -> Any:
        return np.vecdot(costs, chosen)

    def draw(self, costs: Array, eta: float, rng: np.random.Generator, leading: tuple[int, ...]) -> Array:
        return self.family.sample(np.broadcast_to(eta * costs, (*leading, costs.shape[-1])), rng)

    def actions(self, chosen: Array) -> Array:
        return chosen


class SecureDraws(Secret):
    """Exact coins and draws: the one place where losses become actions. It belongs to one process."""

    described = "source of secure draws"

    def __init__(self, scale: float, chance: float) -> None:
        self.scale, self._share = scale, 1 - Fraction(chance)
        self._guard = ProcessGuard()

    def check_process(self) -> None:
        self._guard.check()

    def keeps(self, cost: int) -> bool:
        """A coin that shows True with probability (1 - p) exp(-cost/scale)."""
        return toss(cost, self.scale, self._share)

    def redraw(self, costs: Array) -> int:
        """The number of an action, drawn with probability proportional to exp(-cost/scale)."""
        return select(costs.tolist(), self.scale)
