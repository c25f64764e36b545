"""Linear programs by the simplex method of HiGHS, called directly: set up once, then asked again."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import highspy
import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.solvers.spares import Spares
from dpcvx.sets.sparse_rows import entry_bounds

_NO_OPTIMUM = (
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)
_DUAL, _PRIMAL = 1, 4  # in HiGHS's numbers of its methods
Read = TypeVar("Read")


class Optimum(NamedTuple):
    """A vertex and the multipliers of the rows and of the single coordinates there."""

    point: Array
    row_duals: Array
    column_duals: Array


class LinearProgram:
    """min <q, v> over lower <= R v <= upper, floor <= v <= ceiling by the simplex method; it returns vertices.

    Args:
        R, lower, upper: the rows and their ends.
        floor, ceiling: the ends of single coordinates; infinite by default.
        scaled: whether all rows have size 1. Every solve then begins anew, without presolve and scaling, which is
            faster and makes an answer depend on its question alone, to the last digit. Otherwise a solve begins where
            the last one ended.
        primal: whether the primal simplex method is used, which is faster where v = 0 is feasible and rows are full.
    """

    def __init__(
        self,
        R: sparse.csr_array,
        lower: Array,
        upper: Array,
        floor: Array | None = None,
        ceiling: Array | None = None,
        *,
        scaled: bool = False,
        primal: bool = False,
    ) -> None:
        R = sparse.csr_array(R)
        columns = R.shape[1]
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = R.shape
        program.col_cost_ = np.zeros(columns)
        program.col_lower_ = np.full(columns, -np.inf) if floor is None else floor
        program.col_upper_ = np.full(columns, np.inf) if ceiling is None else ceiling
        program.row_lower_, program.row_upper_ = np.asarray(lower, float), np.asarray(upper, float)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_ = R.indptr, R.indices
        program.a_matrix_.value_ = R.data
        self._columns = np.arange(columns, dtype=np.int32)
        self._program, self._scaled, self._primal = program, scaled, primal
        self._raised: dict[int, float] = {}  # upper ends of rows that were moved
        self._models = Spares(self._set_up())

    def _set_up(self) -> Any:
        model = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", 1e-10),
            ("dual_feasibility_tolerance", 1e-10),
        ):
            model.setOptionValue(option, value)
        if self._scaled:
            model.setOptionValue("presolve", "off")
            model.setOptionValue("simplex_scale_strategy", 0)
        if self._primal:
            model.setOptionValue("simplex_strategy", _PRIMAL)
        model.passModel(self._program)
        for row, value in self._raised.items():
            model.changeRowBounds(row, -np.inf, value)
        return model

    @classmethod
    def over(
        cls,
        A: sparse.csr_array,
        b: Array,
        E: sparse.csr_array,
        more: sparse.csr_array | None = None,
        values: Array | None = None,
        slip: float = 0.0,
    ) -> "LinearProgram":
        """The program over A v <= b, E v = 0, |more v - values| <= slip, all rows scaled; single entries are bounds."""
        single = np.diff(A.indptr) == 1
        floor, ceiling = np.full(A.shape[1], -np.inf), np.full(A.shape[1], np.inf)
        entry_bounds(A[single], b[single], floor, ceiling)
        more = sparse.csr_array((0, A.shape[1])) if more is None else more
        values = np.zeros(0) if values is None else values
        R = sparse.csr_array(sparse.vstack([A[~single], E, more]))
        equal = np.concatenate([np.zeros(E.shape[0]), values])
        room = np.concatenate([np.zeros(E.shape[0]), np.full(len(values), slip)])
        lower = np.concatenate([np.full(int((~single).sum()), -np.inf), equal - room])
        ends = lower, np.concatenate([b[~single], equal + room])
        return cls(R, *ends, floor, ceiling, scaled=True, primal=not len(equal))

    def set_upper(self, row: int, value: float) -> None:
        """Move the upper end of a row that has no lower end; for a program that one thread asks."""
        self._raised[row] = value
        for model in self._models:
            model.changeRowBounds(row, -np.inf, value)

    def minimise(self, q: Array) -> Array | None:
        """A vertex that minimises <q, v>; None where the program is unbounded or infeasible."""
        return self._answer(q, lambda solution: np.array(solution.col_value))

    def optimum(self, q: Array) -> Optimum | None:
        """The same with the multipliers there."""
        return self._answer(
            q,
            lambda found: Optimum(np.array(found.col_value), np.array(found.row_dual), np.array(found.col_dual)),
        )

    def _answer(self, q: Array, read: Callable[[Any], Read]) -> Read | None:
        model = self._models.take(self._set_up)
        status, answer = self._run(model, q, read)
        self._models.put_back(model)
        for option, value in (("presolve", "on"), ("simplex_strategy", _DUAL if self._primal else _PRIMAL)):
            if answer is not None or status in _NO_OPTIMUM:
                return answer
            again = self._set_up()  # HiGHS gave up, and takes another way so
            again.setOptionValue(option, value)
            status, answer = self._run(again, q, read)
        if answer is None and status not in _NO_OPTIMUM:
            raise OracleError(f"The linear program stopped without an answer: {model.modelStatusToString(status)}.")
        return answer

    def _run(self, model: Any, q: Array, read: Callable[[Any], Read]) -> tuple[Any, Read | None]:
        """The status, and what is read from the solution where one was found."""
        model.changeColsCost(len(self._columns), self._columns, np.ascontiguousarray(q, dtype=float))
        if self._scaled:
            model.clearSolver()
        model.run()
        status = model.getModelStatus()
        return status, read(model.getSolution()) if status == highspy.HighsModelStatus.kOptimal else None


def inequality_duals(optimum: Optimum, A: sparse.csr_array) -> Array:
    """The multipliers, at least 0, of the rows of A for a program made by `LinearProgram.over`."""
    single = np.diff(A.indptr) == 1
    multipliers = np.empty(A.shape[0])
    multipliers[~single] = -optimum.row_duals[: int((~single).sum())]
    multipliers[single] = -optimum.column_duals[A[single].indices] / A[single].data
    return np.maximum(multipliers, 0.0)
