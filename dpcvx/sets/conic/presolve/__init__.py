"""Presolve: small exact steps that shrink the conic form, one file each.

Every step takes a set and returns the same set of points x in fewer rows or columns. The map back to the user's
variable is part of the conic form (`P`, `offset`), so every step carries its own inverse. Scale factors are powers of
two, so that scaling rounds nothing.

`presolve` repeats the steps that need the rows alone. `fold_on_hull` needs an interior point as well, so it is taken
after one is found.
"""

from collections.abc import Sequence

from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve.constant_rows import drop_constant_rows
from dpcvx.sets.conic.presolve.equalities import substitute_equalities
from dpcvx.sets.conic.presolve.heads import eliminate_heads
from dpcvx.sets.conic.presolve.hull_rows import fold_on_hull
from dpcvx.sets.conic.presolve.idle_columns import drop_idle_columns
from dpcvx.sets.conic.presolve.own_units import in_own_units
from dpcvx.sets.conic.presolve.parallel_rows import fold_parallel_rows
from dpcvx.sets.conic.presolve.scaling import scale
from dpcvx.sets.conic.presolve.vanishing import reduce_vanishing

__all__ = ["fold_on_hull", "presolve"]


def presolve(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """Repeat all steps that need no solver until nothing changes.

    Args:
        conic: the set.
        names: the user's constraints in words, the attributes of the variable last.

    Raises:
        EmptySetError: where rows by themselves cannot hold.
    """
    conic = in_own_units(reduce_vanishing(conic))
    while True:
        before = (conic.A.shape, conic.E.shape)
        conic = drop_constant_rows(conic, names)
        conic = scale(conic)
        conic = fold_parallel_rows(conic, names)
        conic = substitute_equalities(conic)
        conic = eliminate_heads(conic)
        conic = drop_idle_columns(conic)
        if (conic.A.shape, conic.E.shape) == before:
            return conic
