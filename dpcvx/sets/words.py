"""What was declared and derived, in words."""

from collections.abc import Sequence

import numpy as np

from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.geometry.geometry import Geometry


def derived(
    declaration: Declaration, lifted: ConicSet, geometry: Geometry, argmin: str, project: str
) -> list[tuple[str, str]]:
    """Line by line what a set is: what about, and words."""
    conic, chart, parameter = geometry.conic, geometry.chart, geometry.parameter
    plural = "" if parameter.factors == 1 else "s"
    rows = [
        ("dimension", f"{geometry.dim} (of {geometry.size} entries)"),
        ("barrier", f"{conic.cones}"),
        ("nu", f"{parameter}"),
        (
            "presolve",
            f"{lifted.A.shape[0]} conic rows and {lifted.E.shape[0]} equalities became {conic.A.shape[0]} and "
            f"{conic.E.shape[0]}; {parameter.factors} independent factor{plural}; "
            f"{chart.auxiliaries} auxiliary coordinates",
        ),
        ("linear algebra", chart.name),
        ("argmin", argmin),
        ("project", project),
    ]
    note = _tower(declaration)
    return [*rows, ("note", note)] if note else rows


def _tower(declaration: Declaration) -> str:
    """A note on atoms that cvxpy writes as towers of small second-order cones."""
    stack = [argument for constraint in declaration.constraints for argument in constraint.args]
    while stack:
        atom = stack.pop()
        kind = type(atom).__name__
        if kind == "GeoMeanApprox" or (kind == "PnormApprox" and atom.p not in (1, 2, np.inf)):
            return "pnorm and geo_mean are towers of small cones here; approx=False gives fewer power cones."
        stack.extend(atom.args)
    return ""


def shortened(texts: Sequence[str], most: int = 8) -> list[str]:
    """The first few texts, and how many more there are."""
    return [*texts[:most], *([f"... and {len(texts) - most} more"] if len(texts) > most else [])]
