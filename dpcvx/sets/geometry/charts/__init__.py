"""Linear algebra of the barrier: one chart for each structure of its Hessian."""

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts.chart import Chart, Factor
from dpcvx.sets.geometry.charts.dense import DenseChart, TangentSpace
from dpcvx.sets.geometry.charts.diagonal import DiagonalChart, DiagonalStructure

__all__ = ["DENSE_LIMIT", "Chart", "Charts", "DenseChart", "DiagonalChart", "Factor"]


class Charts:
    """The family of charts of one conic set: the structure is analysed once, the center may move."""

    def __init__(self, conic: ConicSet) -> None:
        self._conic = conic
        self._diagonal = DiagonalStructure.of(conic)
        if self._diagonal is not None:
            return
        if conic.columns > DENSE_LIMIT:
            raise UnsupportedConeError(
                f"The set needs {conic.columns} lifted coordinates with a general Hessian; dense matrices are made "
                f"up to {DENSE_LIMIT}. Larger sets are supported where all constraints but a few bound one coordinate."
            )
        self._tangent = TangentSpace(conic)

    def at(self, v0: Array) -> Chart:
        """The chart centered at the strictly feasible lifted point v0."""
        if self._diagonal is not None:
            return DiagonalChart(self._conic, self._diagonal, v0)
        return DenseChart(self._conic, self._tangent, v0)
