"""Auxiliary columns that occur nowhere."""

import numpy as np

from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import drop_columns
from dpcvx.sets.sparse_rows import column_sizes


def drop_idle_columns(conic: ConicSet) -> ConicSet:
    """Remove auxiliary columns that occur in no inequality and no equality."""
    idle = (column_sizes(conic.A) == 0) & (column_sizes(conic.E) == 0) & conic.auxiliary
    return drop_columns(conic, np.flatnonzero(idle)) if idle.any() else conic
