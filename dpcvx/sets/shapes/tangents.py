"""The directions in which a set extends, in its lifted coordinates."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts import Chart


def tangents(chart: Chart) -> Array:
    """A basis of the directions of the lifted set, one a row, scaled by the barrier at the center."""
    joint = np.eye(chart.size) if chart.auxiliaries else chart.tangent_basis().T
    return chart.lifted(joint) - chart.v0
