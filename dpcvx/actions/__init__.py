"""Finite families of actions: distributions over them, how to explore them, and whose corners they are."""

from dpcvx.actions.arms import Arms
from dpcvx.actions.box_corners import BoxCorners
from dpcvx.actions.family import ActionFamily, Bounds, Exploration
from dpcvx.actions.k_sets import KSets
from dpcvx.actions.listed import LISTED, PointList
from dpcvx.actions.paths import Paths
from dpcvx.actions.simplices import Simplices

# asked in this order whether the corners of a box, cut by a sum or not, are theirs
FAMILIES: tuple[type[ActionFamily], ...] = (
    BoxCorners,
    Arms,
    KSets,
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
    "Simplices",
    "family_of_bounds",
    "listed_if_few",
]


def family_of_bounds(bounds: Bounds) -> ActionFamily | None:
    """The corners of a polytope given by bounds and at most one sum, where a family knows them."""
    found = (kind.of_bounds(bounds) for kind in FAMILIES)
    family = next((one for one in found if one is not None), None)
    return None if family is None else listed_if_few(family)


def listed_if_few(family: ActionFamily) -> ActionFamily:
    """The family, as a list of its actions where that is faster than its formulas."""
    rows = family.listed() if family.log_count <= LISTED else None
    return family if rows is None else PointList(rows)
