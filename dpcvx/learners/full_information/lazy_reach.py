"""How far one person moves what actions cost, on what grid costs are counted, and what other neighbours would cost."""

import math

import numpy as np

from dpcvx.learners.full_information.lazy_tuning import Lazy, Rates
from dpcvx.privacy.choice_grounds import ChoiceGrounds
from dpcvx.privacy.clipping import Clipping
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets.sizes import Sizes

_HOLDER = ((1.0, np.inf), (2.0, 2.0), (np.inf, 1.0))
_FINE = 2.0**-24  # the grid, relative to what one person moves

Distances = tuple[float, float]  # how far costs move, and differences of costs: dk and R


def clipped_values(sizes: Sizes, clipping: Clipping) -> tuple[float, float]:
    """Between which numbers <loss, action> lies for clipped losses."""
    low, high = sizes.box_values if clipping.by_entry else sizes.values
    return (min(low, 0.0), max(high, 0.0)) if clipping.neighbours.to_zero else (low, high)


def own_distances(sizes: Sizes, clipping: Clipping, width: float) -> Distances:
    """How far one person moves the cost of one action in a round, and the difference of two."""
    relation, Y = clipping.neighbours, sizes.loss_set
    if relation.to_zero:
        return min(sizes.magnitude, width), sizes.variation
    # clipping leaves of each entry of a change a part of the same sign, which need not be the same part of all
    moved, apart = _by_norms(sizes, [float(relation.change(Y, p)) for p, _ in _HOLDER], width)
    if not relation.declared_change:
        moved = min(moved, sizes.feedback_range)
    return moved, min(apart, 2 * moved)


def _by_norms(sizes: Sizes, norms: list[float], width: float) -> Distances:
    moved = min(norm * sizes.used_radius(q) for norm, (_, q) in zip(norms, _HOLDER, strict=True))
    apart = min(norm * sizes.used_diameter(q) for norm, (_, q) in zip(norms, _HOLDER, strict=True))
    return min(moved, width), apart


def named_distances(sizes: Sizes, clipping: Clipping, width: float) -> tuple[Distances, Distances]:
    """The same where a round's loss becomes any other, and where it becomes 0.

    Losses are clipped as under the own relation. Where that does not keep 0 as it is, a loss of 0 becomes another one
    of the set, so that "zero-out" is a case of "replace".
    """
    relation, Y = clipping.neighbours, sizes.loss_set
    lower, upper = (Y.flatten(end) for end in Y.bounding_box())
    if relation.declared_change:  # clipped to the bounding box
        moved, apart = _by_norms(sizes, [float(np.linalg.norm(upper - lower, p)) for p, _ in _HOLDER], width)
    else:
        moved, apart = _by_norms(sizes, [float(Y.diameter(p)) for p, _ in _HOLDER], width)
        moved = min(moved, sizes.feedback_range)
    replaced = zeroed = moved, min(apart, 2 * moved)
    if relation.to_zero:
        zeroed = own_distances(sizes, clipping, width)
        replaced = max(replaced[0], zeroed[0]), max(replaced[1], zeroed[1])
    elif clipping.by_entry and (lower <= 0).all() and (upper >= 0).all():
        reach = np.maximum(-lower, upper)
        moved, apart = _by_norms(sizes, [float(np.linalg.norm(reach, p)) for p, _ in _HOLDER], width)
        apart = apart if relation.declared_change else min(apart, sizes.variation)
        zeroed = min(moved, zeroed[0]), min(apart, zeroed[1])
    return replaced, zeroed


def cost_grid(width: float, moved: float, horizon: int) -> Grid:
    """A grid fine against what one person moves, on which all sums are 64-bit integers."""
    if not moved:
        moved = width or 1.0
    exponent = math.ceil(math.log2(max(moved * _FINE, width * horizon * 2.0**-58)))
    if 2.0**exponent * 8 > moved:
        raise OverflowError(
            f"Sums of {horizon} costs up to {width:.3g}, of which one person moves {moved:.3g}, do not fit into 64-bit "
            "integers on any useful grid; shorten the horizon, or declare a larger change."
        )
    return Grid(exponent)


def choice_grounds(sizes: Sizes, clipping: Clipping, game: Lazy, rates: Rates, step: float) -> ChoiceGrounds:
    """What the certificate needs to say what other neighbours would cost."""
    Y = sizes.loss_set
    lower, upper = (tuple((Y.flatten(end) + 0.0).tolist()) for end in Y.bounding_box())
    low, high = clipped_values(sizes, clipping)
    replaced, zeroed = named_distances(sizes, clipping, high - low)
    rho = game.rho
    return ChoiceGrounds(
        own=clipping.neighbours.key,
        shape=tuple(Y.shape),
        lower=lower,
        upper=upper,
        by_entry=clipping.by_entry,
        rate=rates.eta,
        chance=rates.chance,
        redraws=rates.redraws,
        step=step,
        most=game.width,
        claimed=game.epsilon / game.people if rho is None else rho / game.people**2,
        concentrated=rho is not None,
        replaced=replaced,
        zeroed=zeroed,
        radii=tuple(sizes.used_radius(q) for _, q in _HOLDER),
        diameters=tuple(sizes.used_diameter(q) for _, q in _HOLDER),
    )
