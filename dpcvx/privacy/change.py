"""What one person can change in a round, declared: the third declaration, beside decisions and losses.

Two streams of losses are neighbours where one round's loss l becomes l' with l' - l in D or in -D. D need not be
symmetric, need not hold 0, and may be flat. Nothing checks that the data obey it: that is the user's declaration.

Under "replace" clipping makes the sensitivity true whatever comes. Here it must not spoil it:

    entry by entry   c(l)_i = min(max(l_i, lo_i), hi_i) moves no entry by more than |d_i|, with the sign of d_i or 0, so
                     |c(l) - c(l')| <= |d| in every p-norm. Going to the nearest point of Y may stretch the 1-norm;
    a value          clipping <l, x> to an interval moves it by at most |<d, x>|;
    rounding         |rint a - rint b| <= floor |a - b| + 1, and 0 where a = b.

In units of the grid g, with w_i = min(floor(max |d_i|/g) + 1, rint(hi_i/g) - rint(lo_i/g)) and m the entries that move,

    sens_1 <= min(sum w_i, floor(max |d|_1/g) + m),    sens_2 <= min((sum w_i^2)^(1/2), max |d|_2/g + m^(1/2)),

never more than by "replace" on the bounding box of Y. All sizes of D are certified from outside, and losses are allowed
the rounding of the floating-point numbers in which they are handed over.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.errors import DeclarationError
from dpcvx.privacy.certificate_words import DeclaredChange
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.sensitivity import changed_entries, changed_units
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.conic.constraint_words import constraint_in_words
from dpcvx.sets.shapes import GridChange, Measure
from dpcvx.sets.sizes import Sizes, sizes_of

_OUTWARD = 1 + 1e-9  # of certified sizes, relative
_LONG = 200  # characters of a constraint in words
_FINE = 2.0**-10  # what rounding may cost, relative to the change, where 64 bits allow it
_COARSE = 8  # times what rounding may move is what a change must be at least


class Change(Neighbours):
    """A compact convex set of changes d = l' - l of one round's loss, declared like a loss set.

    Args:
        variable: any real cvxpy variable in the shape of a loss, not that of a loss set.
        constraints: cvxpy constraints on it.
        replace: whether the set is what one person contributes to the loss, c, which becomes another c' of the set:
            then the changes are all differences c' - c. Otherwise it is the set of changes itself.
        name: how it is called in summaries.

    The number of people must be public and fixed: a mean over n people moves by (c - mean)/(n + 1) when one comes, so
    declare for the smallest n. Losses that are scaled by the data themselves change by more than that. A set that was
    fitted to the data protects nobody.

    Raises:
        the errors of `DecisionSet`.
        DeclarationError: where `replace` is true and the set has one point only.

    Example:
        >>> import cvxpy as cp, decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(10), decision_sets.loss_box(10, 0, 1)
        >>> d = cp.Variable(10)
        >>> D = dpcvx.Change(d, [cp.norm1(d) <= 0.01, cp.norm_inf(d) <= 0.002])
        >>> D.norm(1)
        0.01 (bound)
        >>> learner = dpcvx.FTRL(X, Y, horizon=1000, epsilon=1.0, neighbours=D)
        >>> learner.certificate.neighbours, learner.certificate.epsilon_for("replace") > 100
        ('change', True)
    """

    key = "change"
    declared_change = True

    def __init__(
        self,
        variable: cp.Variable,
        constraints: Iterable[cp.Constraint] = (),
        replace: bool = False,
        *,
        name: str | None = None,
    ) -> None:
        written = list(constraints) if isinstance(constraints, Iterable) else constraints
        self.set = LossSet(variable, written, name=name or "change")
        self._written = tuple(constraint_in_words(one) for one in written)
        self.name, self.replace = self.set.name, bool(replace)
        self.variable, self.shape, self.size = variable, self.set.shape, self.set.size
        if self.replace and not self.set.dim:
            raise DeclarationError(
                "With replace=True a contribution becomes another one of the set, but the set has one point only: "
                "nothing can change. Declare all contributions, or leave replace out and declare the change itself."
            )

    # sizes

    def norm(self, p: float = 2) -> Measure:
        """The largest p-norm of a change; `.kind` says whether it is exact or a certified bound."""
        return self.set.diameter(p) if self.replace else self.set.radius(p)

    def reach(self, x: Any) -> float:
        """The largest |<d, x>| of a change: how far it moves the value of an action; a solver's error is added."""
        return float(self._farther(*self.set.range(x)))

    def reaches(self, points: Array) -> Array:
        """`reach` for points on leading batch axes."""
        return np.asarray(self._farther(*self.set.ranges(points)))

    def widths(self) -> Array:
        """The largest |d_i| of a change for each entry, certified from outside."""
        return np.asarray(self._farther(*self.set.bounding_box()))

    def _farther(self, low: Any, high: Any) -> Any:
        """From the ends of a linear function over the declared set to its largest absolute value over all changes."""
        return high - low if self.replace else np.maximum(np.abs(low), np.abs(high))

    @cached_property
    def _flat_widths(self) -> Array:
        return self.set.flatten(self.widths())

    @property
    def is_nothing(self) -> bool:
        """Whether 0 is the only change."""
        return not self._flat_widths.any()

    def contains(self, difference: Any, slip: float = 0.0) -> bool:
        """Whether two losses with this difference are neighbours: it or its opposite is one of the changes.

        Args:
            difference: l' - l, in the shape of a loss.
            slip: how far each of its entries may be off, as by rounding; a solver's error is allowed beyond it.
        """
        room = slip + 1e-7 * float(self.norm(np.inf))
        given = np.asarray(difference, dtype=float)
        for one in (given, -given):
            if self._changes.contains(one) or np.abs(self._changes.project(one) - one).max() <= room:
                return True
        return False

    @cached_property
    def _changes(self) -> DecisionSet:
        """The set of changes as one set; where a contribution is replaced, all differences of two of them."""
        constraints = self.set.constraints
        if not self.replace:
            return DecisionSet(self.variable, constraints)
        variables = [self.variable, *(v for constraint in constraints for v in constraint.variables())]
        other = {id(v): cp.Variable(v.shape, **v.attributes) for v in {v.id: v for v in variables}.values()}
        change = cp.Variable(self.shape)
        again = [constraint.tree_copy(id_objects=other) for constraint in constraints]
        return DecisionSet(change, [*constraints, *again, change == other[id(self.variable)] - self.variable])

    # as a relation

    def refusal(self, loss_set: LossSet) -> str | None:
        if self.variable is loss_set.variable:
            return (
                f"The change is declared on {self.variable.name()}, the variable of the losses: a change is the "
                "difference of two losses. Declare it on a variable of its own, of the same shape."
            )
        if self.shape != loss_set.shape:
            return f"The change has shape {self.shape} and losses {loss_set.shape}; they must be the same."
        return None

    def notes(self, loss_set: LossSet) -> tuple[str, ...]:
        if not self.is_nothing:
            return ()
        return ("no noise is drawn: by the declared change, which is 0 alone, no person changes any loss",)

    def clips_by_entry(self, loss_set: LossSet) -> bool:
        return self._box_is_enough(loss_set) or loss_set.clips_by_entry

    def _box_is_enough(self, loss_set: LossSet) -> bool:
        """Whether losses are clipped to the bounding box of their set; otherwise to the set.

        The set itself is better where it is no larger than the change: then it alone bounds what anybody changes, as
        under "replace", and clipping may go to the nearest point.
        """
        lower, upper = _box(loss_set)
        return any(
            float(loss_set.diameter(p)) > min(float(self.norm(p)), float(np.linalg.norm(upper - lower, p)))
            for p in (1, 2)
        )

    def change(self, loss_set: LossSet, norm: float) -> Measure:
        lower, upper = _box(loss_set)
        whole = loss_set.diameter(norm)
        if self._box_is_enough(loss_set):
            whole = Measure(float(np.linalg.norm(upper - lower, norm)), "bound")
        return min(self.norm(norm), whole, key=float)

    def clipper(self, loss_set: LossSet, leading: tuple[int, ...] = ()) -> Callable[[Array], Array]:
        return partial(_between, *_box(loss_set)) if self._box_is_enough(loss_set) else loss_set.clipper(leading)

    def largest(self, loss_set: LossSet) -> float:
        return float(np.abs(_box(loss_set)).max())

    def fine_step(self, loss_set: LossSet, norm: int, roundings: int) -> float:
        usual = super().fine_step(loss_set, norm, roundings)
        moving = int((self._flat_widths > 0).sum()) * roundings
        return min(usual, float(self.change(loss_set, norm)) * _FINE / moving ** (1 / norm)) if moving else usual

    def grid_change(self, loss_set: LossSet, norm: int, step: float) -> GridChange:
        if not self._box_is_enough(loss_set):
            return super().grid_change(loss_set, norm, step)
        units = self._units(loss_set, step)
        moving = [int(w) for w in units if w]
        rounding = len(moving) ** (1 / norm)
        if rounding * step * _COARSE > float(self.change(loss_set, norm)) * _OUTWARD:
            raise OverflowError(
                f"One person changes a loss by at most {float(self.norm(norm)):.3g} in the {norm}-norm, and rounding "
                f"to multiples of {step:.3g}, which sums of 64-bit integers need here, moves it by up to "
                f"{rounding * step:.3g}: too much. Shorten the horizon, declare a larger change or narrower losses."
            )
        moved = changed_units(units, float(self.norm(norm)), *_box(loss_set), step, norm)
        return GridChange(moved, self.norm(norm).kind, False)

    def _units(self, loss_set: LossSet, step: float) -> Array:
        """w: how far each entry moves in whole steps of a grid."""
        return changed_entries(self._flat_widths, *_box(loss_set), step)

    def difference_body(self, loss_set: LossSet) -> tuple[str, Array] | None:
        """The box around all changes, whatever their shape: clipping an entry by itself may leave a smaller body."""
        if not self._box_is_enough(loss_set):
            return super().difference_body(loss_set)
        lower, upper = _box(loss_set)
        return "box", np.minimum(self._flat_widths * _OUTWARD, upper - lower)

    def grid_widths(self, loss_set: LossSet, step: float) -> list[int] | None:
        if not self._box_is_enough(loss_set):
            return super().grid_widths(loss_set, step)
        return [int(w) for w in self._units(loss_set, step)]

    def feedback_change(self, sizes: Sizes) -> float:
        own = sizes_of(sizes.decision_set, self.set)
        return min(own.feedback_range if self.replace else own.magnitude, sizes.feedback_range)

    def feedback_units(self, sizes: Sizes, step: float) -> int:
        """One number for all actions: a scale of its own would tell an action that no change reaches from others.

        A value is rounded once, and so it is before, in the floating-point numbers in which it is handed over.
        """
        if self.is_nothing:
            return 0
        ends = (
            np.abs(sizes.pairing.usage_box()).max(axis=0),
            np.abs(_box(sizes.loss_set)).max(axis=0),
        )
        blur = 2.0**-52 * self.size * float(ends[0] @ ends[1])
        return math.floor((self.feedback_change(sizes) * (1 + 1e-6) + blur) / step) + 2

    # words

    @property
    def declaration(self) -> DeclaredChange:
        return DeclaredChange(self.declared, self.replace, self.fingerprint)

    @property
    def declared(self) -> tuple[str, ...]:
        """The constraints as they were written; a variable without a name of its own is called d, or c if replaced."""
        name, called = self.variable.name(), self._called
        texts = (*self._written, *self.set.declared[len(self._written) :])  # and the attributes of the variable
        said = (re.sub(rf"\b{re.escape(name)}\b", called, text) for text in texts)
        return tuple(text if len(text) <= _LONG else f"{text[:_LONG]}..." for text in said)

    @property
    def _called(self) -> str:
        name = self.variable.name()
        return ("c" if self.replace else "d") if re.fullmatch(r"var\d+", name) else name

    @property
    def fingerprint(self) -> str:
        """One text that tells declarations apart; the same constraints declared again have the same one."""
        return ("replace " if self.replace else "") + self.set.fingerprint

    def rows(self) -> list[tuple[str, str]]:
        """Line by line what it is: what about, and words."""
        kind = "one contribution of the set becomes another" if self.replace else "one round's loss moves by d or -d"
        return [
            ("changes", kind),
            *(("subject to", text) for text in self.declared),
            *((f"largest, p={p}", repr(self.norm(p))) for p in (1, 2, np.inf)),
        ]

    def summary(self) -> str:
        """The declaration and its sizes."""
        title = f"{self.name}: variable {self._called} of shape {self.shape}"
        return "\n".join([title, *(f"  {key:16s} {text}" for key, text in self.rows())])

    def _repr_html_(self) -> str:
        return markup.notebook(markup.table(self.rows(), caption=f"{self.name}, of shape {self.shape}"))

    def __repr__(self) -> str:
        kind = ", replaced" if self.replace else ""
        return f"Change({self.name}: shape {self.shape}{kind}, norm(1) {self.norm(1)!r})"


def _box(loss_set: LossSet) -> tuple[Array, Array]:
    """The bounding box of a loss set, as vectors."""
    lower, upper = loss_set.bounding_box()
    return loss_set.flatten(lower), loss_set.flatten(upper)


def _between(lower: Array, upper: Array, losses: Array) -> Array:
    return np.asarray(np.minimum(np.maximum(losses, lower), upper))
