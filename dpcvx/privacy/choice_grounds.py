"""What coins and redraws of lazy exponential weights tell about one round, and about more or less than that.

The coin of a batch shows "keep" with probability (1 - p) e^(-eta C), C what the action cost; each redraw has the law
softmax(-eta L), at most S times. Where one person moves costs by d and differences of costs by R,

    pure          max(eta d, ln(1 + (1 - p)(1 - e^(-eta d))/p)) + eta R S,
    concentrated  (the first term)^2/2 + S (eta R)^2/8,

which is no multiple of d; so the grounds hold all these numbers.
"""

import math
from dataclasses import dataclass

from dpcvx.privacy.grounds import Changing, Grounds

_SLIP = 1 + 1e-12  # claims are never too small by rounding
_OUTWARD = 1 + 1e-9  # of certified sizes


def coin_cost(moved: float, chance: float) -> float:
    """What the coin of one batch tells about one round that moves eta times the cost by `moved`."""
    return max(moved, math.log1p((1 - chance) / chance * -math.expm1(-moved))) * _SLIP


def choices_cost(moved: float, apart: float, chance: float, redraws: int, concentrated: bool) -> float:
    """What all choices tell about one round: epsilon, or rho where `concentrated`; distances are times eta."""
    coin, redraw = coin_cost(moved, chance), apart * _SLIP
    if concentrated:
        return (coin**2 / 2 + redraws * redraw**2 / 8) * _SLIP
    return (coin + redraw * redraws) * _SLIP


def in_units(moved: float, apart: float, step: float, most: float) -> tuple[float, float]:
    """How far rounded costs and their differences move; `most` is the largest cost, a step of 0 rounds nothing.

    |rint a - rint b| <= floor |a - b| + 1, and what is rounded is the floating-point number next to <l, a>.
    """
    if not moved:
        return 0.0, 0.0
    if not step:
        return min(moved, most), min(apart, 2 * moved)
    units = min(round(most / step), math.floor(moved * _OUTWARD / step) + 2)
    return units * step, min(2 * units, math.floor(apart * _OUTWARD / step) + 3) * step


@dataclass(frozen=True)
class ChoiceGrounds(Grounds):
    """Of actions that are kept by a coin or drawn anew.

    Attributes:
        by_entry: whether losses are clipped entry by entry to the bounding box; otherwise to the nearest point.
        rate, chance, redraws: eta, p and S.
        step: of the grid of costs, 0 where there is none; most: the largest cost of a round.
        claimed: what is claimed for one round: epsilon, or rho where `concentrated`.
        replaced, zeroed: how far a round that becomes any other, or 0, moves costs, and differences of costs.
        radii, diameters: of the decisions in the sup-norm, the 2-norm and the 1-norm.
    """

    own: str
    shape: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    by_entry: bool
    rate: float
    chance: float
    redraws: int
    step: float
    most: float
    claimed: float
    concentrated: bool
    replaced: tuple[float, ...]
    zeroed: tuple[float, ...]
    radii: tuple[float, ...]
    diameters: tuple[float, ...]

    released = "choices"

    def ratio(self, to: str | Changing) -> float:
        if isinstance(to, str):
            moved, apart = self.replaced if to == "replace" else self.zeroed
        else:
            self._check(to)
            moved, apart = self._moved(to)
        moved, apart = in_units(moved, apart, self.step, self.most)
        spent = choices_cost(self.rate * moved, self.rate * apart, self.chance, self.redraws, self.concentrated)
        ratio = spent / self.claimed
        return math.sqrt(ratio) * _SLIP if self.concentrated else ratio

    def _moved(self, change: Changing) -> tuple[float, float]:
        """By what remains of a change after clipping; going to the nearest point may stretch it."""
        moved, apart = self.replaced
        if not self.by_entry:
            return moved, apart
        norms = [float(change.norm(p)) * _OUTWARD for p in (1, 2, math.inf)]
        moved = min(moved, *(norm * radius for norm, radius in zip(norms, self.radii, strict=True)))
        apart = min(apart, *(norm * diameter for norm, diameter in zip(norms, self.diameters, strict=True)))
        return moved, min(apart, 2 * moved)

    def repeated(self, times: int) -> "ChoiceGrounds":
        """Of the same mechanism run several times: the claim grows as often."""
        return self

    @property
    def clipped(self) -> str:
        if self.by_entry:
            return f"losses entry by entry to the box {self.box}"
        return f"losses to the nearest point of the loss set, which lies in the box {self.box}"
