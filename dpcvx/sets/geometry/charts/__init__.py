"""Linear algebra of the barrier: one chart for each structure of its Hessian.

A new kind of chart is a new file and an entry in `KINDS`: it says for itself whether it fits a conic set.
"""

from collections.abc import Callable

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts.chart import Chart, Factor
from dpcvx.sets.geometry.charts.dense import DenseChart
from dpcvx.sets.geometry.charts.diagonal import DiagonalChart
from dpcvx.sets.geometry.charts.sparse import SparseChart, weigh_coinciding
from dpcvx.sets.solvers.factorisations import Factorisation

__all__ = [
    "DENSE_LIMIT",
    "KINDS",
    "Chart",
    "DenseChart",
    "DiagonalChart",
    "Factor",
    "Factorisation",
    "SparseChart",
    "charts_of",
    "weigh_coinciding",
]

KINDS: tuple[type[Chart], ...] = (DiagonalChart, SparseChart, DenseChart)  # the first that fits a set is taken


def charts_of(conic: ConicSet, factorisation: Factorisation | None = None) -> Callable[[Array], Chart]:
    """The charts of one conic set as a function of their center, a strictly feasible lifted point.

    Args:
        conic: the set.
        factorisation: who factorises sparse matrices.

    Raises:
        UnsupportedConeError: where no kind of chart fits the set.
    """
    for kind in KINDS:
        chart_at = kind.fit(conic, factorisation)
        if chart_at is not None:
            return chart_at
    raise UnsupportedConeError(
        f"The set needs {conic.columns} lifted coordinates with a general Hessian; dense matrices are made "
        f"up to {DENSE_LIMIT}. Larger sets are supported where all inequalities but a few bound one coordinate each, "
        "and there are few equalities, or many sparse ones."
    )
