"""Linear minimisation and projection by a solver that cvxpy knows: slow, and independent of everything else here."""

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import DeclarationError, OracleError
from dpcvx.sets.conic.declaration import Declaration


class CvxpyOracles:
    """The user's constraints, solved anew each time."""

    def __init__(self, declaration: Declaration, solver: str) -> None:
        if solver.upper() not in cp.installed_solvers():
            known = ", ".join(cp.installed_solvers())
            raise DeclarationError(f"solver={solver!r} is not among the installed cvxpy solvers: {known}.")
        self.argmin_name = self.project_name = f"cvxpy with {solver.upper()}"
        self._solver = solver.upper()
        self._x = declaration.variable
        self._target = cp.Parameter(self._x.size)
        flat = cp.vec(self._x, order="F")
        constraints = list(declaration.constraints)
        self._linear = cp.Problem(cp.Minimize(self._target @ flat), constraints)
        self._quadratic = cp.Problem(cp.Minimize(cp.sum_squares(flat - self._target)), constraints)

    def argmin(self, c: Array) -> Array:
        return self._solve(self._linear, c / (np.abs(c).max() or 1.0))

    def project(self, p: Array) -> Array:
        return self._solve(self._quadratic, p)

    def _solve(self, problem: cp.Problem, target: Array) -> Array:
        kept = [(v, v.value) for v in problem.variables()]
        self._target.value = target
        try:
            problem.solve(solver=self._solver)
            if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                raise OracleError(f"{self._solver} stopped without an answer: {problem.status}.")
            return np.asarray(self._x.value, dtype=float).ravel(order="F")
        except cp.SolverError as error:
            raise OracleError(f"{self._solver} failed: {error}") from error
        finally:
            for variable, value in kept:
                variable.save_value(value)
