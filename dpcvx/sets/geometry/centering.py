"""The analytic center of a set, or the sentence that says why there is none: empty, flat, thin or unbounded.

A strictly feasible point is found by maximising the least slack, the center from there by Newton's method. That center
is its own certificate: along a recession direction d any barrier falls at least as fast as its local norm,
<F', d> <= -|d|_F'', so a Newton decrement below 1 leaves no room for a ray.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import DegenerateSetError, ThinSetWarning
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve import fold_on_hull, presolve
from dpcvx.sets.conic.rows import describe, single_point, tighten_rows
from dpcvx.sets.geometry.charts import Chart, charts_of
from dpcvx.sets.geometry.implicit_equalities import implicit_equalities
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.geometry.phase_one import FLAT, phase_one, strict_point
from dpcvx.sets.geometry.rays import refuse_rays, without_rays

_RUNAWAYS = 20  # times that auxiliary variables may be found to run off to infinity
_THIN = 1e-6  # relative width below which a set is called thin


@dataclass(frozen=True)
class Centered:
    """A diagnosed set: its conic form after all reductions, and the chart at its analytic center."""

    conic: ConicSet
    chart: Chart


def find_center(conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]) -> Centered:
    """Reduce the set, find a strict point, reduce again, until Newton's method reaches the analytic center.

    Args:
        conic: the set after presolve.
        names: the user's constraints in words, the attributes of the variable last.
        variable_name, shape: of the user's variable.

    Raises:
        EmptySetError, DegenerateSetError, UnboundedSetError: the sentence that says why there is no center.
    """
    runaways = 0
    while runaways < _RUNAWAYS:
        deepest = phase_one(conic, names)  # raises where the set is empty
        if not deepest.is_clear:
            flat = implicit_equalities(conic)
            if len(flat):
                conic = presolve(tighten_rows(conic, flat), names)
                continue
        conic, v = strict_point(deepest, names)  # raises where the set is flat
        conic = fold_on_hull(conic, v)
        chart = analytic_center(charts_of(conic), v)
        if chart is not None and not chart.dim:
            point = single_point(conic, chart.x0)
            return Centered(point, charts_of(point)(np.zeros(1)))
        if chart is not None:
            _check_width(chart, conic, names, variable_name, shape)
            return Centered(conic, chart)
        conic = without_rays(conic, names, variable_name, shape)  # raises where the set is unbounded
        runaways += 1
    raise DegenerateSetError("The auxiliary variables run off to infinity in more than 20 ways; bound them.")


def analytic_center(chart_at: Callable[[Array], Chart], v: Array) -> Chart | None:
    """Newton's method from v, the chart renewed where it stops; None where the decrement never falls below 1."""
    for _ in range(8):
        try:
            with np.errstate(all="ignore"):  # a set without a center drives the iterates to infinity
                chart = chart_at(v)
                found = minimise(chart, np.zeros(chart.width), start=np.zeros(chart.size))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(found.z).all():
            return None
        if found.decrement < 1e-6 and np.abs(found.z).max(initial=0.0) < 1e-6:
            return chart
        if np.abs(found.z).max(initial=0.0) > 1e9:
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
