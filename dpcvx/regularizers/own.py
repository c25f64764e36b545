"""A user's own regulariser behind the interface of ours."""

from numbers import Real
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, OracleError
from dpcvx.regularizers.regularizer import HasArgmin, Regularizer
from dpcvx.sets.sizes import Sizes


class OwnRegularizer(Regularizer):
    """An object with `argmin(covector)` -> argmin <covector, x> + R(x) over the set, in the shape of the variable.

    With the numbers `range` (max R - min R over the set) and `dual_norm` (the largest dual local norm of a loss) it has
    a learning rate and a bound, which are then as true as these numbers. `value(point)` is optional.
    """

    def __init__(self, sizes: Sizes, own: Any) -> None:
        if isinstance(own, type):
            raise ArgumentError(f"regularizer must be a name or an object, not the class {own.__name__}.")
        if not isinstance(own, HasArgmin):
            raise ArgumentError(
                f"The regularizer must have a method argmin(covector), but {type(own).__name__} has none."
            )
        super().__init__(sizes)
        self._own = own
        self.name = str(getattr(own, "name", type(own).__name__))

    def value(self, point: Any) -> Array:
        return np.asarray(self._own.value(point))  # type: ignore[attr-defined]  # optional in the user's class

    def argmin(self, covector: Any, start: Array | None = None) -> Array:
        X = self.decision_set
        c = X.flatten(covector, "covector").reshape(-1, X.size)
        answers = np.array([self._checked(self._own.argmin(X.unflatten(one))) for one in c])
        return X.unflatten(answers.reshape(*np.shape(covector)[: np.ndim(covector) - len(X.shape)], X.size))

    def _checked(self, answer: Any) -> Array:
        X = self.decision_set
        try:
            point = np.array(answer, dtype=float)
        except (TypeError, ValueError):
            kind = type(answer).__name__
            raise OracleError(f"The {self.name} returned a {kind}, not a point of shape {X.shape}.") from None
        if point.shape != X.shape or not X.contains(point, 1e-7):
            raise OracleError(f"The {self.name} returned a point of shape {point.shape} that is not in the {X.name}.")
        return X.flatten(point if X.contains(point) else X.project(point))

    def _stated(self, name: str) -> float:
        """A number that the object states about itself; infinite where it states none."""
        stated = getattr(self._own, name, np.inf)
        if not isinstance(stated, Real) or not float(stated) >= 0:
            raise ArgumentError(f"The {name} of the {self.name} must be a number of at least 0, not {stated!r}.")
        return float(stated)

    @property
    def range(self) -> float:
        return self._stated("range")

    @property
    def dual_norm(self) -> float:
        return self._stated("dual_norm")

    def learning_rate(self, horizon: int) -> float:
        if not np.isfinite(self.range) or not np.isfinite(self.dual_norm):
            raise ArgumentError(f"Give a learning_rate: the {self.name} does not state its range and dual_norm.")
        return super().learning_rate(horizon)

    def learning_bound(self, horizon: int, learning_rate: float) -> float:
        if not np.isfinite(self.range) or not np.isfinite(self.dual_norm):
            return float("inf")
        return super().learning_bound(horizon, learning_rate)
