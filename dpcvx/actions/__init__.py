"""Finite families of actions: distributions over them, how to explore them, and whose corners they are."""

from collections.abc import Iterable

from dpcvx.actions.arms import Arms
from dpcvx.actions.box_corners import BoxCorners
from dpcvx.actions.family import ActionFamily, Bounds, Exploration
from dpcvx.actions.k_sets import KSets
from dpcvx.actions.listed import LISTED, PointList
from dpcvx.actions.paths import Paths
from dpcvx.arrays import Array

# asked in this order whether the corners of a polytope are theirs
FAMILIES: tuple[type[ActionFamily], ...] = (
    BoxCorners,
    Arms,
    KSets,
    Paths,
)

__all__ = [
    "FAMILIES",
    "ActionFamily",
    "Arms",
    "Bounds",
    "BoxCorners",
    "Exploration",
    "KSets",
    "Paths",
    "PointList",
    "family_of_bounds",
    "family_of_equations",
]


def family_of_bounds(bounds: Bounds) -> ActionFamily | None:
    """The corners of a polytope given by bounds and at most one sum, where a family knows them."""
    return _first(kind.of_bounds(bounds) for kind in FAMILIES)


def family_of_equations(E: Array, e: Array) -> ActionFamily | None:
    """The corners of { x >= 0, E x = e }, where a family knows them."""
    return _first(kind.of_equations(E, e) for kind in FAMILIES)


def _first(found: Iterable[ActionFamily | None]) -> ActionFamily | None:
    """The first family that recognised itself, as a list where that is faster."""
    family = next((one for one in found if one is not None), None)
    if family is None or family.log_count > LISTED:
        return family
    rows = family.listed()
    return family if rows is None else PointList(rows)
