"""The analytic center of a set, or the sentence that says why there is none: empty, flat, thin or unbounded.

A strictly feasible point is found by maximising the least slack, the center from there by Newton's method. That center
is its own certificate: along a recession direction d any barrier falls at least as fast as its local norm,
<F', d> <= -|d|_F'', so a Newton decrement below 1 leaves no room for a ray.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import DegenerateSetError, ThinSetWarning
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.conic.presolve import fold_on_hull, presolve
from dpcvx.sets.conic.rows import describe, single_point, tighten_rows
from dpcvx.sets.geometry.charts import Chart, Factorisation, SparseChart, charts_of, weigh_coinciding
from dpcvx.sets.geometry.charts.dense import TangentSpace
from dpcvx.sets.geometry.faces import reduce_to_face
from dpcvx.sets.geometry.implicit_equalities import implicit_equalities
from dpcvx.sets.geometry.inner_point import inner_point
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.geometry.phase_one import FLAT, Deepest, holds_strictly, on_equalities, phase_one
from dpcvx.sets.geometry.rays import refuse_rays, without_rays

_RUNAWAYS = 20  # times that auxiliary variables may be found to run off to infinity
_FARTHEST = 1e9  # how far the center is from a first point, in units of what is there, where there is no ray
_THIN = 1e-6  # relative width below which a set is called thin


@dataclass(frozen=True)
class Centered:
    """A diagnosed set: its conic form after all reductions, and the chart at its analytic center."""

    conic: ConicSet
    chart: Chart
    notes: tuple[str, ...] = ()  # on the faces to which it was reduced


def find_center(
    conic: ConicSet,
    names: Sequence[str],
    variable_name: str,
    shape: tuple[int, ...],
    factorisation: Factorisation | None = None,
) -> Centered:
    """Reduce the set, find a strict point, reduce again, until Newton's method reaches the analytic center.

    Args:
        conic: the set after presolve.
        names: the user's constraints in words, the attributes of the variable last.
        variable_name, shape: of the user's variable.
        factorisation: who factorises sparse matrices.

    Raises:
        EmptySetError, DegenerateSetError, UnboundedSetError: the sentence that says why there is no center.
    """
    runaways = 0
    notes: list[str] = []
    while runaways < _RUNAWAYS:
        deepest = phase_one(conic, names)
        if deepest.is_far and not deepest.is_strict:
            deepest = _nearer(deepest, names)
        v = deepest.v
        if not deepest.is_strict:
            smaller = _reduced(deepest, names, notes)  # raises where the set is empty
            inner = None if smaller is not None else inner_point(conic, v)
            if inner is not None and not (inner.short < 0 and holds_strictly(conic, inner.v)):
                smaller, inner = _in_face(conic, inner.v, inner.dual, names, notes), None
            if smaller is not None:
                conic = presolve(smaller, names)
                continue
            if inner is None:
                raise _gave_up(deepest, names)
            v = inner.v
        if _is_point(conic):
            return _point(conic, conic.point(v), notes)
        weighed = weigh_coinciding(conic, v, factorisation)
        conic = fold_on_hull(conic, v) if weighed is None else weighed[0]
        chart_at = charts_of(conic) if weighed is None else partial(SparseChart, *weighed)
        chart = analytic_center(chart_at, v)
        smaller = None
        if chart is None:
            smaller = without_rays(conic, names, variable_name, shape)  # raises where the set is unbounded
        if chart is None and smaller is None:
            chart = analytic_center(chart_at, v, farthest=np.inf)
        if chart is not None and not chart.dim:
            return _point(conic, chart.x0, notes)
        if chart is not None:
            _check_width(chart, conic, names, variable_name, shape)
            return Centered(conic, chart, tuple(notes))
        if smaller is None:
            raise DegenerateSetError(
                f"The set is flat within rounding: {deepest.blame(names)} leave a slack of {deepest.room:.1e} of its "
                "size, and its analytic center was not found. State the equality, or widen the constraints."
            )
        conic = smaller
        runaways += 1
    raise DegenerateSetError("The auxiliary variables run off to infinity in more than 20 ways; bound them.")


def _is_point(conic: ConicSet) -> bool:
    """Whether the equalities fix x: then nothing is left but auxiliaries, whose center nobody asks for."""
    few = conic.columns <= DENSE_LIMIT and int((~conic.auxiliary).sum()) <= conic.E.shape[0]
    return few and not TangentSpace(conic).dim


def _point(conic: ConicSet, x: Array, notes: Sequence[str]) -> Centered:
    point = single_point(conic, x)
    return Centered(point, charts_of(point)(np.zeros(1)), tuple(notes))


def _nearer(deepest: Deepest, names: Sequence[str]) -> Deepest:
    """A point about as deep from a path that starts at the origin: so far out rounding hides slacks of size 1."""
    conic = deepest.conic
    end = inner_point(conic, on_equalities(conic, np.zeros(conic.columns), names))
    if end is None or end.short > FLAT:
        return deepest
    return Deepest(conic, end.v, deepest.status, -end.short, np.append(np.zeros(len(conic.e)), end.dual))


def _reduced(deepest: Deepest, names: Sequence[str], notes: list[str]) -> ConicSet | None:
    """The same points in a face of the cones; None where no face was found that can be proved to hold them.

    What it rests on is added to the notes: constraints that touch may leave a gap of 1e-12 of their size.
    """
    conic, dual = deepest.conic, deepest.dual[len(deepest.conic.e) :]
    face = None if conic.is_polyhedral else _in_face(conic, deepest.v, dual, names, notes)
    if face is not None:
        return face
    flat = implicit_equalities(conic)
    if len(flat):
        return tighten_rows(conic, flat)
    return _in_face(conic, deepest.v, dual, names, notes) if conic.is_polyhedral else None


def _in_face(conic: ConicSet, v: Array, dual: Array, names: Sequence[str], notes: list[str]) -> ConicSet | None:
    """The same points in the face of the cones that a dual exposes, if it proves that; raises where it proves more."""
    face = reduce_to_face(conic, v, dual, names)
    if face is None:
        return None
    if not conic.is_polyhedral:
        words = describe(face.sources, names)
        notes.append(f"{words} leave no interior; reduced to a face of their cones, gap {abs(face.gap):.1e}.")
    return face.conic


def _gave_up(deepest: Deepest, names: Sequence[str]) -> DegenerateSetError:
    """The sentence that neither a point nor a proof was found."""
    return DegenerateSetError(
        f"No interior point was found, and no proof that there is none: {deepest.blame(names)} leave a slack of "
        f"{deepest.room:.1e} of the set's size. Tried: the largest least slack by Clarabel ({deepest.status}), "
        "equalities that the constraints imply, faces of the cones that its dual exposes, and our own path of "
        "barriers. State the equality that they imply, or widen them."
    )


def analytic_center(chart_at: Callable[[Array], Chart], v: Array, farthest: float = _FARTHEST) -> Chart | None:
    """Newton's method from v, the chart renewed where it stops; None where the decrement never falls below 1.

    A step beyond `farthest` says that there may be a ray.
    """
    for _ in range(8):
        try:
            with np.errstate(all="ignore"):  # a set without a center drives the iterates to infinity
                chart = chart_at(v)
                found = minimise(chart, np.zeros(chart.width), start=np.zeros(chart.size))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(found.z).all():
            return None
        if found.decrement < 1e-6 and np.abs(found.z).max(initial=0.0) < chart.centered:
            return chart
        if np.abs(found.z).max(initial=0.0) > farthest:
            return None
        v = chart.lifted(found.z)
    return None


def _check_width(
    chart: Chart, conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]
) -> None:
    """Refuse flat sets and warn of thin ones, by the least width of the Dikin ellipsoid at the center."""
    if chart.dim < 2:
        return
    width = chart.least_width()
    if width < _THIN:
        tight = np.argsort(np.abs(conic.slack(chart.v0)))[:2]
        blamed = describe(conic.source[tight], names)
        if width < FLAT:
            refuse_rays(conic, variable_name, shape)
            raise DegenerateSetError(
                f"The set is flat within rounding: its least width is {width:.1e} of its extent, between {blamed}. "
                "State the equality, or widen the constraints."
            )
        warnings.warn(
            f"The set is thin: its least width is {width:.1e} of its extent, between {blamed}.",
            ThinSetWarning,
            stacklevel=4,  # where the set is declared
        )
