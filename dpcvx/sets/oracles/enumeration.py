"""All vertices of a polytope, where there are not too many.

Without auxiliary variables the inequalities are at hand: Qhull intersects the half-spaces in the coordinates of the
affine hull. With them only a linear minimiser is: the hull of a few vertices grows by those beyond its facets, until no
facet yields a new one. Either way the vertices must reach as far as certified bounds of the support function.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError, cKDTree

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.geometry.geometry import Geometry

MOST = 10_000  # vertices that are listed
_FACES = 100_000  # vertices that so many inequalities could have, up to which Qhull is asked for a list
_QUICK = {2: 2000, 3: 600, 4: 200, 5: 60, 6: 40, 7: 24, 8: 20}  # rows by dimension up to which it takes no time
_GROWN = 8  # dimension up to which hulls are grown
_SAME = 1e-7  # distance, relative to the size of the set, below which two vertices are one
_WHOLE = 1e-10  # the same, below which an entry is the nearest integer

Minimiser = Callable[[Array], Array]  # (k, size) -> (k, size): minimisers of linear functions over the set
Support = Callable[[Array], float]  # a certified upper bound of a linear function over the set


def is_quick(geometry: Geometry) -> bool:
    """Whether `intersected` takes so little time that every learner may ask for it when it is made."""
    return not geometry.chart.auxiliaries and len(geometry.chart.s0) <= _QUICK.get(geometry.dim, 0)


def listed(geometry: Geometry, minimise: Minimiser, most: int) -> Array:
    """The vertices as vectors, one a row, each once; the search ends where it has found more than `most`.

    Raises:
        UnsupportedConeError: where the set is too large to tell.
    """
    if geometry.dim == 1:
        assert isinstance(geometry.basis, np.ndarray)
        return minimise(np.stack([geometry.basis[:, 0], -geometry.basis[:, 0]]))
    return distinct(_grown(geometry, minimise, most) if geometry.chart.auxiliaries else intersected(geometry))


def intersected(geometry: Geometry) -> Array:
    """The vertices of a polytope without auxiliary variables, as Qhull finds them: some may come several times.

    Raises:
        UnsupportedConeError: where there may be too many, or Qhull finds none.
    """
    chart, n = geometry.chart, geometry.dim
    most = _largest_count(len(chart.s0), n)
    if most > _FACES and not is_quick(geometry):
        raise UnsupportedConeError(
            f"The {geometry.name} of dimension {n} with {len(chart.s0)} inequalities may have {most:.3g} vertices; "
            f"they are listed where at most {_FACES} are possible."
        )
    tangents = chart.tangent_basis()
    G = -chart.slack_step(tangents.T).T
    halfspaces = np.column_stack([G, -chart.s0]) / np.linalg.norm(G, axis=1, keepdims=True)
    try:
        corners = HalfspaceIntersection(halfspaces, np.zeros(n)).intersections
    except QhullError as error:
        raise UnsupportedConeError(f"Qhull found no vertices of the {geometry.name}: it is too thin.") from error
    return np.asarray(chart.x0 + chart.push(corners[np.isfinite(corners).all(axis=1)] @ tangents.T))


def _largest_count(rows: int, n: int) -> int:
    """The most vertices that so many inequalities can have in dimension n (McMullen)."""
    return math.comb(rows - (n + 1) // 2, n // 2) + math.comb(rows - n // 2 - 1, (n + 1) // 2 - 1)


def _grown(geometry: Geometry, minimise: Minimiser, most: int) -> Array:
    """The vertices from the linear minimiser."""
    n = geometry.dim
    if n > _GROWN:
        raise UnsupportedConeError(
            f"The {geometry.name} has auxiliary variables and dimension {n}; its vertices are listed up to {_GROWN}."
        )
    basis, center = np.asarray(geometry.basis), geometry.center

    def extreme(directions: Array) -> Array:
        """Vertices that are farthest in some directions (k, n), in coordinates of the affine hull."""
        return np.asarray((minimise(-directions @ basis.T) - center) @ basis)

    start = np.concatenate([np.eye(n), -np.eye(n), np.random.default_rng(0).standard_normal((4 * n, n))])
    points = distinct(extreme(start))
    while len(points) <= most:
        try:
            normals = ConvexHull(points, qhull_options="QJ").equations[:, :-1]
        except QhullError as error:
            raise UnsupportedConeError(f"Qhull found no vertices of the {geometry.name}: it is too thin.") from error
        more = distinct(np.concatenate([points, extreme(np.unique(normals.round(6), axis=0))]))
        if len(more) == len(points):
            break
        points = more
    return np.asarray(center + points @ basis.T)


def distinct(corners: Array) -> Array:
    """Each vertex once, entries that are integers but for rounding as integers."""
    size = max(float(np.ptp(corners, axis=0).max()), 1e-300)
    pairs = cKDTree(corners).query_pairs(2 * _SAME * size, output_type="ndarray")
    kept = np.delete(corners, pairs[:, 1], axis=0)  # of a pair, the later one
    whole = kept.round()
    return np.where(np.abs(kept - whole) <= _WHOLE * size, whole, kept) + 0.0


def reach_in_every_direction(corners: Array, support_bound: Support) -> bool:
    """Whether the corners reach as far as certified bounds, up to a tiny share of the width in each direction.

    Qhull may lose a corner. Sizes rest on this: along a thin direction it is strict.
    """
    for values, limit in _reaches(corners, support_bound):
        reach = float(values.max())
        if limit > reach + 1e-7 * float(np.ptp(values)) + 1e-9 * abs(reach):
            return False
    return True


def reach_far_enough(corners: Array, support_bound: Support) -> bool:
    """The same up to a tiny share of the size of the whole set: a list of actions needs no more."""
    size = float(np.ptp(corners, axis=0).max(initial=0.0)) + 1e-2 * float(np.abs(corners).max())
    lengths = np.linalg.norm(_directions(corners.shape[1]), axis=1)
    reaches = _reaches(corners, support_bound)
    return all(limit - values.max() <= 1e-7 * size * c for (values, limit), c in zip(reaches, lengths, strict=True))


def _reaches(corners: Array, support_bound: Support) -> Iterator[tuple[Array, float]]:
    """<c, corners> and a certified bound of max <c, x>, along the axes and at random."""
    return ((corners @ c, support_bound(c)) for c in _directions(corners.shape[1]))


def _directions(size: int) -> Array:
    some = np.concatenate([np.eye(size), np.random.default_rng(0).standard_normal((2 * size, size))])
    return np.concatenate([some, -some])
