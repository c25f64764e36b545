"""What a loss vector may be: the declaration from which every sensitivity comes."""

from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.shapes.bodies import Body, BoxBody, Measure, NormBallBody, body_of


class LossSet:
    """A compact convex set of loss vectors, declared like a decision set; it may be flat, even a single point.

    Args:
        variable: any real cvxpy variable.
        constraints: cvxpy constraints on it.
        name: how it is called in certificates.

    Raises:
        the errors of `DecisionSet`.
    """

    def __init__(self, variable: cp.Variable, constraints: Iterable[cp.Constraint], *, name: str | None = None) -> None:
        self._set = DecisionSet(variable, constraints, name=name or "loss set")
        self.name = self._set.name
        self.variable = variable
        self.shape, self.size, self.dim = self._set.shape, self._set.size, self._set.dim
        self._body: Body = body_of(self._set)
        self._measures: dict[tuple[str, float], Measure] = {}

    def radius(self, p: float = 2) -> Measure:
        """The largest p-norm of a loss, from the origin; `.kind` says whether it is exact or an upper bound."""
        return self._measure("radius", p)

    def diameter(self, p: float = 2) -> Measure:
        """The largest p-norm of the difference of two losses; `.kind` says whether it is exact or an upper bound."""
        return self._measure("diameter", p)

    def _measure(self, what: str, p: float) -> Measure:
        if not p >= 1:
            raise ValueError(f"p must be at least 1, not {p}.")
        if (what, p) not in self._measures:
            self._measures[what, p] = getattr(self._body, what)(p)
        return self._measures[what, p]

    def range(self, x: Any) -> tuple[float, float]:
        """The interval [lo, hi] of <l, x> over the set: never too narrow, a solver's error is added outward."""
        flat = self._set.flatten(x, "x")
        if flat.ndim != 1 or not np.isfinite(flat).all():
            raise ValueError(f"range takes one finite point of shape {self.shape}.")
        low, high = self._body.interval(flat)
        return float(low), float(high)

    def ranges(self, points: Array) -> tuple[Array, Array]:
        """`range` for points on leading batch axes: the lower and the upper ends."""
        return self._body.interval(self._set.flatten(points, "points"))

    def clip(self, loss: Any) -> Array:
        """The nearest loss of the set in the Euclidean norm, on leading batch axes.

        Losses more than 1e6 times as large as the set are first scaled down to that, so that any finite loss can be
        clipped.
        """
        flat = self._set.flatten(loss, "loss")
        return self._set.unflatten(self.clip_vectors(flat))

    def clip_vectors(self, flat: Array) -> Array:
        """`clip` on vectors; where a solver fails on one, it becomes the center, so that no finite loss raises."""
        if isinstance(self._body, BoxBody) and self.dim == self.size:
            return np.minimum(np.maximum(flat, self._body.lower), self._body.upper)
        if isinstance(self._body, NormBallBody) and self._body.holds(flat).all():
            return flat
        reach = 1e6 * max(float(self.radius(np.inf)), 1e-100)
        flat = flat * (reach / np.maximum(np.abs(flat).max(axis=-1, keepdims=True), reach))
        if self._set.closed_form is not None:
            return self._set.flatten(self._set.project(self._set.unflatten(flat)))
        nearest = [self._nearest(one) for one in flat.reshape(-1, self.size)]
        return np.array(nearest).reshape(flat.shape)

    def _nearest(self, flat: Array) -> Array:
        try:
            return self._set.flatten(self._set.project(self._set.unflatten(flat)))
        except (OracleError, np.linalg.LinAlgError):
            return self._set.flatten(self._set.center)

    def contains(self, loss: Any, tol: float = 1e-9) -> bool:
        """Whether the loss lies in the set, enlarged by the factor 1 + tol about its center."""
        return self._set.contains(loss, tol)

    def argmin(self, c: Any) -> Array:
        """A loss that minimises <c, l>."""
        return self._set.argmin(c)

    @property
    def center(self) -> Array:
        """The analytic center."""
        return self._set.center

    @property
    def box(self) -> tuple[Array, Array] | None:
        """(lower, upper) as vectors where the set is a box, otherwise None."""
        return (self._body.lower, self._body.upper) if isinstance(self._body, BoxBody) else None

    @property
    def centered_ball(self) -> tuple[float, float] | None:
        """(radius, q) where the set is the ball |l|_q <= radius around the origin, otherwise None."""
        body = self._body
        if isinstance(body, NormBallBody) and not body.center.any():
            return body.size, body.q
        return None

    def bounding_box(self) -> tuple[Array, Array]:
        """The least and largest value of each entry, certified from outside."""
        return self._set.bounding_box()

    def flatten(self, loss: Any, what: str = "loss") -> Array:
        """Losses in the shape of the variable as vectors, column by column."""
        return self._set.flatten(loss, what)

    def unflatten(self, vectors: Array) -> Array:
        """The inverse of `flatten`."""
        return self._set.unflatten(vectors)

    @property
    def declared(self) -> tuple[str, ...]:
        """The constraints as cvxpy prints them, long ones cut, and the attributes of the variable."""
        return self._set.declared

    def summary(self) -> str:
        """The declaration and its sizes."""
        return "\n".join([self._set.summary(), *(f"  {key:16s} {text}" for key, text in self._sizes())])

    def _sizes(self) -> list[tuple[str, str]]:
        return [(f"diameter (p={p})", f"{self.diameter(p)!r}, radius {self.radius(p)!r}") for p in (1, 2, np.inf)]

    def _repr_html_(self) -> str:
        return self._set._repr_html_() + markup.table(self._sizes())

    def __repr__(self) -> str:
        return f"LossSet({self.name}: shape {self.shape}, diameter(1) {self.diameter(1)!r})"
