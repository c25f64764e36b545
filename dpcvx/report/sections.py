"""Blocks on what the package knows: a declared set, a certificate, how to get the same report again."""

import importlib.metadata
import platform
from collections.abc import Iterable

import numpy as np

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.markup import Html
from dpcvx.privacy import Certificate
from dpcvx.report.page import paragraph, preformatted, table
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.geometry.charts import DENSE_LIMIT
from dpcvx.version import __version__

_SHOWN = 8  # entries of a vector
_LISTED = 200  # entries up to which linear programs bound each of them
_PACKAGES = ("cvxpy", "numpy", "scipy", "clarabel", "highspy", "daqp", "opendp", "matplotlib", "networkx")


def declaration(declared: DecisionSet | LossSet) -> Html:
    """What was declared, as cvxpy prints it, and what was derived from it."""
    variable = declared.variable
    lines = [f"variable {variable.name()} of shape {declared.shape}", *(f"  {text}" for text in declared.declared)]
    rows = [("center", _entries(declared.flatten(declared.center)))]
    if isinstance(declared, LossSet):
        rows += [(f"diameter, {p:g}-norm", f"{declared.diameter(p)!r}") for p in (1, 2)]
    else:
        nu = ("barrier parameter", f"{declared.geometry.parameter}")
        rows = [("dimension", f"{declared.dim} of {declared.size} entries are free"), nu, *rows, _size(declared)]
    details = f"<details><summary>How it was derived</summary>{preformatted(declared.summary())}</details>"
    return Html(
        preformatted("\n".join(lines)) + table((), rows, label=f"what was derived of {declared.name}") + details
    )


def certificate(claimed: Certificate, of: str = "") -> Html:
    """A certificate under a heading, which may say of what it is; that of a simulation says that it claims nothing."""
    title = f"{claimed.title}{f': {of}' if of else ''}"
    return Html(f"<h3>{markup.text(title)}</h3>{table((), claimed.rows(), label=title)}")


def reproduce(commands: Iterable[str]) -> Html:
    """The commands, and the versions with which the report was made."""
    versions = [f"dpcvx {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    return Html(preformatted("\n".join(commands)) + paragraph(f"Made with {', '.join(versions)}."))


def _entries(vector: Array) -> str:
    shown = ", ".join(f"{entry:.4g}" for entry in vector[:_SHOWN])
    return f"({shown}{', ...' if vector.size > _SHOWN else ''})"


def _size(declared: DecisionSet) -> tuple[str, str]:
    """How large the set is: entry by entry where that is quick, otherwise by the Dikin ellipsoid at its center."""
    listed = declared.is_polytope and declared.size <= _LISTED
    if not (listed or declared.recognised.has_formulas or declared.size > DENSE_LIMIT):
        radius = declared.geometry.central_radius
        if np.isfinite(radius):  # a sparse chart knows none
            return "radius", f"at most {radius:.4g} around the center, by its Dikin ellipsoid"
    lower, upper = declared.bounding_box()
    widest = np.max(upper - lower)
    least, largest = (0.0 if abs(end) <= 1e-12 * widest else end for end in (np.min(lower), np.max(upper)))
    return "entries", f"between {least:.4g} and {largest:.4g}, the widest {widest:.4g} wide"
