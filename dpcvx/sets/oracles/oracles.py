"""Which oracles answer for a set: the user's own, a solver of the user's choice, or what is known of its shape."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, OracleError
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.cvxpy_oracles import CvxpyOracles
from dpcvx.sets.oracles.membership import Membership

Oracle = Callable[[Array], Array]  # on vectors


class Answers(Protocol):
    """A linear minimiser and a projection on vectors, and how they go about it."""

    batched: ClassVar[bool]
    layout: Layout

    @property
    def argmin_name(self) -> str: ...

    @property
    def project_name(self) -> str: ...

    def argmin(self, c: Array) -> Array: ...

    def project(self, p: Array) -> Array: ...

    def projections(self, points: Array) -> Array: ...


class Oracles:
    """argmin and project on vectors with leading axes.

    Args:
        known: what is known of the set.
        membership: its judge, by whom answers of an outside solver are pulled into the set.
        declaration: for the outside solver.
        own: the user's own linear minimiser, in the shape of the variable.
        solver: a solver that cvxpy knows, instead of our own.
    """

    def __init__(
        self,
        known: Answers,
        membership: Membership,
        *,
        declaration: Declaration,
        own: Callable[[Array], Any] | None = None,
        solver: str | None = None,
    ) -> None:
        self._known, self._membership, self._own = known, membership, own
        self._outside = None if solver is None else CvxpyOracles(declaration, solver)

    @property
    def argmin_name(self) -> str:
        return "its own" if self._own else (self._outside or self._known).argmin_name

    @property
    def project_name(self) -> str:
        return (self._outside or self._known).project_name

    def argmin(self, c: Array) -> Array:
        if self._own is not None:
            return self._each(self._asked, c)
        if self._outside is not None:
            return self._pulled(self._outside.argmin, c)
        return self._all(self._known.argmin, c)

    def project(self, p: Array) -> Array:
        if self._outside is not None:
            return self._pulled(self._outside.project, p)
        _check_finite(p)
        if self._known.batched:
            return self._known.project(p)
        return self._known.projections(p.reshape(-1, p.shape[-1])).reshape(p.shape)

    def _pulled(self, oracle: Oracle, vectors: Array) -> Array:
        """The answers of an outside solver, moved toward the center until they are in the set."""
        return self._each(lambda one: self._membership.pulled(oracle(one)), vectors)

    def _all(self, oracle: Oracle, vectors: Array) -> Array:
        if not self._known.batched:
            return self._each(oracle, vectors)
        _check_finite(vectors)
        return oracle(vectors)

    def _each(self, oracle: Oracle, vectors: Array) -> Array:
        """The oracle on one vector after the other."""
        _check_finite(vectors)
        if vectors.ndim == 1:
            return oracle(vectors)
        return np.array([oracle(v) for v in vectors.reshape(-1, vectors.shape[-1])]).reshape(vectors.shape)

    def _asked(self, c: Array) -> Array:
        assert self._own is not None
        layout = self._known.layout
        answer = np.array(self._own(layout.unflatten(c)), dtype=float)  # a copy: it may be the oracle's own
        if answer.shape != layout.shape or not np.isfinite(answer).all():
            raise OracleError(
                f"The set's own oracle returned an array of shape {answer.shape}; "
                f"a finite one of shape {layout.shape} is expected."
            )
        return answer.ravel(order="F")


def _check_finite(vectors: Array) -> None:
    if not np.isfinite(vectors).all():
        raise ArgumentError("The oracle was given NaN or an infinity.")
