"""What a loss vector may be: the declaration from which every sensitivity comes."""

from collections.abc import Callable, Iterable
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx import markup
from dpcvx.arguments import norm_order
from dpcvx.arrays import Array, Bools
from dpcvx.errors import ArgumentError
from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.loss_check import LossCheck, excesses
from dpcvx.sets.shapes import GridChange, Measure


class LossSet:
    """A compact convex set of loss vectors, declared like a decision set; it may be flat, even a single point.

    Args:
        variable: any real cvxpy variable.
        constraints: cvxpy constraints on it.
        name: how it is called in certificates.

    Raises:
        the errors of `DecisionSet`.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> loss = cp.Variable(5)
        >>> Y = dpcvx.LossSet(loss, [loss >= 0, loss <= 1])
        >>> Y.diameter(1), Y.diameter(2)
        (5 (exact), 2.2360679775 (exact))
        >>> abs(Y.clip([0.5, 2.0, -1.0, 0.0, 1.0])).tolist()
        [0.5, 1.0, 0.0, 0.0, 1.0]
    """

    def __init__(
        self, variable: cp.Variable, constraints: Iterable[cp.Constraint] = (), *, name: str | None = None
    ) -> None:
        self._set = DecisionSet(variable, constraints, name=name or "loss set")
        self.name = self._set.name
        self.variable = variable
        self.shape, self.size, self.dim = self._set.shape, self._set.size, self._set.dim
        self.recognised = self._set.recognised
        self._measures: dict[tuple[str, float], Measure] = {}
        self._grid_changes: dict[tuple[int, float, bool], GridChange] = {}

    # sizes

    def radius(self, p: float = 2) -> Measure:
        """The largest p-norm of a loss, from the origin; `.kind` says whether it is exact or an upper bound."""
        return self._measure("radius", p)

    def diameter(self, p: float = 2) -> Measure:
        """The largest p-norm of the difference of two losses; `.kind` says whether it is exact or an upper bound."""
        return self._measure("diameter", p)

    def _measure(self, what: str, p: float) -> Measure:
        p = norm_order(p)
        if (what, p) not in self._measures:
            self._measures[what, p] = getattr(self.recognised, what)(p)
        return self._measures[what, p]

    def range(self, x: Any) -> tuple[float, float]:
        """The interval [lo, hi] of <l, x> over the set: never too narrow, a solver's error is added outward."""
        flat = self._set.flatten(x, "x")
        if flat.ndim != 1 or not np.isfinite(flat).all():
            raise ArgumentError(f"range takes one finite point of shape {self.shape}.")
        low, high = self.recognised.interval(flat)
        return float(low), float(high)

    def ranges(self, points: Array) -> tuple[Array, Array]:
        """`range` for points on leading batch axes: the lower and the upper ends."""
        return self.recognised.interval(self._set.flatten(points, "points"))

    def bounding_box(self) -> tuple[Array, Array]:
        """The least and largest value of each entry, certified from outside."""
        return self._set.bounding_box()

    def grid_change(self, p: int, step: float, *, from_zero: bool) -> GridChange:
        """How far apart two losses can be once clipped and rounded to multiples of step, or one of them and 0."""
        key = (p, step, from_zero)
        if key not in self._grid_changes:
            self._grid_changes[key] = self.recognised.grid_change(p, step, from_zero=from_zero)
        return self._grid_changes[key]

    @property
    def clips_by_entry(self) -> bool:
        """Whether `clip` takes each entry by itself to its least or largest value; otherwise to the nearest point."""
        return self.recognised.by_entry

    # oracles

    def clip(self, loss: Any) -> Array:
        """Losses brought into the set, on leading batch axes: any finite loss, in about the same time.

        A loss is clipped to the bounding box of the set entry by entry, and then projected to the nearest point of the
        set in the Euclidean norm. A loss inside stays as it is.
        """
        return self.unflatten(self.recognised.clip(self.flatten(loss)))

    def clipper(self, leading: tuple[int, ...] = ()) -> Callable[[Array], Array]:
        """`clip` on vectors, at its fastest for batches with these leading axes; no finite loss raises."""
        return self.recognised.clipper(leading)

    def contains(self, loss: Any, tol: float = 1e-9) -> bool:
        """Whether the loss lies in the set, enlarged by the factor 1 + tol about its center."""
        return self._set.contains(loss, tol)

    def surely_holds(self, losses: Array) -> Bools:
        """Which of the losses (k, *shape) a formula can tell to be in the set."""
        return self.recognised.surely_holds(self.flatten(losses))

    def check(self, losses: Any, tol: float = 1e-9) -> LossCheck:
        """Hold public or past losses against the set: how many are outside, where, by how much, and what to declare.

        Before a learner sees its data nothing can be known of them, and it never tells how often it had to clip: so
        look at losses that need no protection, and declare the set by them.

        Args:
            losses: one, or several on a leading axis.
            tol: as in `contains`.

        Raises:
            ValueError: where they have another shape, or there are none.
        """
        flat = self.flatten(losses, "losses").reshape(-1, self.size)
        if not len(flat):
            raise ArgumentError("check needs at least one loss.")
        finite: Bools = np.asarray(np.isfinite(flat).all(axis=1))
        lower, upper = (self.flatten(end) for end in self.bounding_box())
        room = tol * (upper - lower)
        outside: Bools = finite & ((flat < lower - room) | (flat > upper + room)).any(axis=1)
        unknown: Bools = finite & ~outside
        unknown[unknown] = ~self.surely_holds(self.unflatten(flat[unknown]))
        for k in np.flatnonzero(unknown).tolist():
            outside[k] = not self.contains(self.unflatten(flat[k]), tol)
        clipped = self.recognised.clip(flat[outside]) if outside.any() else flat[outside]
        known = flat[finite] if finite.any() else np.zeros((1, self.size))
        ends = (known.min(axis=0), known.max(axis=0), lower, upper)
        least, largest, lower_end, upper_end = (self.unflatten(end) for end in ends)
        return LossCheck(
            name=self.name,
            losses=len(flat),
            outside=int(outside.sum()),
            not_finite=int((~finite).sum()),
            first=int(np.flatnonzero(outside)[0]) if outside.any() else None,
            entries=excesses(flat, outside, lower, upper, tuple(self.shape)),
            distance=float(np.linalg.norm(flat[outside] - clipped, axis=1).max(initial=0.0)),
            least=least,
            largest=largest,
            lower=lower_end,
            upper=upper_end,
            by_entry=self.clips_by_entry,
        )

    def argmin(self, c: Any) -> Array:
        """A loss that minimises <c, l>."""
        return self._set.argmin(c)

    @property
    def center(self) -> Array:
        """The analytic center."""
        return self._set.center

    # arrays and vectors

    def flatten(self, loss: Any, what: str = "loss") -> Array:
        """Losses in the shape of the variable as vectors, column by column."""
        return self._set.flatten(loss, what)

    def unflatten(self, vectors: Array) -> Array:
        """The inverse of `flatten`."""
        return self._set.unflatten(vectors)

    # words

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The user's constraints, parameters at the values they had."""
        return self._set.constraints

    @property
    def declared(self) -> tuple[str, ...]:
        """The constraints as cvxpy prints them, long ones cut, and the attributes of the variable."""
        return self._set.declared

    @property
    def fingerprint(self) -> str:
        """One text that tells declarations apart; the same constraints declared again have the same one."""
        return self._set.fingerprint

    def summary(self) -> str:
        """The declaration and its sizes."""
        return "\n".join([self._set.summary(), *(f"  {key:16s} {text}" for key, text in self._sizes())])

    def _sizes(self) -> list[tuple[str, str]]:
        return [(f"diameter (p={p})", f"{self.diameter(p)!r}, radius {self.radius(p)!r}") for p in (1, 2, np.inf)]

    def _repr_html_(self) -> str:
        return markup.notebook(self._set._repr_html_() + markup.table(self._sizes()))

    def __repr__(self) -> str:
        return f"LossSet({self.name}: shape {self.shape}, diameter(1) {self.diameter(1)!r})"
