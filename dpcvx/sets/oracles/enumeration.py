"""All vertices of a polytope, where there are not too many.

Without auxiliary variables the inequalities are at hand: Qhull intersects the half-spaces in the coordinates of the
affine hull. With them only a linear minimiser is: the hull of a few vertices grows by those beyond its facets, until no
facet yields a new one. Either way the vertices must reach as far as certified
bounds of the support function.
"""

import math

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError, cKDTree

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.decision_set import DecisionSet

MOST = 10_000
_FACES = 100_000  # vertices that so many inequalities could have, up to which Qhull is asked
_GROWN = 8  # dimension up to which hulls are grown
_SAME = 1e-7  # distance, relative to the size of the set, below which two vertices are one
_WHOLE = 1e-10  # the same, below which an entry is the nearest integer


def vertices(body: DecisionSet, most: int = MOST) -> Array:
    """The vertices as vectors, one a row.

    Raises:
        UnsupportedConeError: where the set is no polytope, has more vertices than `most`, or is too large to tell.
    """
    if not body.is_polytope:
        raise UnsupportedConeError(
            f"The {body.name} is not a polytope after presolve; it has no finite set of vertices."
        )
    found = _found(body, most)
    if len(found) > most:
        raise UnsupportedConeError(f"The {body.name} has at least {len(found)} vertices; they are listed up to {most}.")
    _check_reach(body, found)
    return found


def _found(body: DecisionSet, most: int) -> Array:
    if not body.dim:
        return body.flatten(body.center)[None]
    listed = body.hull_points
    if listed is not None:
        return np.unique(listed, axis=0)
    ball = body.norm_ball
    if ball is not None and ball[2] == 1:
        center, radius, _ = ball
        ends = radius * np.eye(body.size)
        return np.concatenate([center + ends, center - ends])
    if body.dim == 1:
        assert isinstance(body.basis, np.ndarray)
        ends = np.stack([body.basis[:, 0], -body.basis[:, 0]])
        return body.flatten(body.argmin(body.unflatten(ends)))
    corners = _grown(body, most) if body.chart.auxiliaries else _intersected(body)
    return _distinct(corners)


def _intersected(body: DecisionSet) -> Array:
    """The vertices from the inequalities."""
    chart, n = body.chart, body.dim
    most = _largest_count(len(chart.s0), n)
    if most > _FACES:
        raise UnsupportedConeError(
            f"The {body.name} of dimension {n} with {len(chart.s0)} inequalities may have {most:.3g} vertices; "
            f"they are listed where at most {_FACES} are possible."
        )
    tangents = chart.tangent_basis()
    G = -chart.slack_step(tangents.T).T
    halfspaces = np.column_stack([G, -chart.s0]) / np.linalg.norm(G, axis=1, keepdims=True)
    try:
        corners = HalfspaceIntersection(halfspaces, np.zeros(n)).intersections
    except QhullError as error:
        raise UnsupportedConeError(f"Qhull found no vertices of the {body.name}: it is too thin.") from error
    return np.asarray(chart.x0 + chart.push(corners[np.isfinite(corners).all(axis=1)] @ tangents.T))


def _largest_count(rows: int, n: int) -> int:
    """The most vertices that so many inequalities can have in dimension n (McMullen)."""
    return math.comb(rows - (n + 1) // 2, n // 2) + math.comb(rows - n // 2 - 1, (n + 1) // 2 - 1)


def _grown(body: DecisionSet, most: int) -> Array:
    """The vertices from the linear minimiser."""
    n = body.dim
    if n > _GROWN:
        raise UnsupportedConeError(
            f"The {body.name} has auxiliary variables and dimension {n}; its vertices are listed up to {_GROWN}."
        )
    basis, center = np.asarray(body.basis), body.flatten(body.center)

    def extreme(directions: Array) -> Array:
        """Vertices that are farthest in some directions (k, n), in coordinates of the affine hull."""
        return np.asarray((body.flatten(body.argmin(body.unflatten(-directions @ basis.T))) - center) @ basis)

    start = np.concatenate([np.eye(n), -np.eye(n), np.random.default_rng(0).standard_normal((4 * n, n))])
    points = _distinct(extreme(start))
    while len(points) <= most:
        try:
            normals = ConvexHull(points, qhull_options="QJ").equations[:, :-1]
        except QhullError as error:
            raise UnsupportedConeError(f"Qhull found no vertices of the {body.name}: it is too thin.") from error
        more = _distinct(np.concatenate([points, extreme(np.unique(normals.round(6), axis=0))]))
        if len(more) == len(points):
            break
        points = more
    return np.asarray(center + points @ basis.T)


def _distinct(corners: Array) -> Array:
    """Each vertex once, entries that are integers but for rounding as integers."""
    size = max(float(np.ptp(corners, axis=0).max()), 1e-300)
    pairs = cKDTree(corners).query_pairs(2 * _SAME * size, output_type="ndarray")
    kept = np.delete(corners, pairs[:, 1], axis=0)  # of a pair, the later one
    whole = kept.round()
    return np.where(np.abs(kept - whole) <= _WHOLE * size, whole, kept) + 0.0


def _check_reach(body: DecisionSet, corners: Array) -> None:
    size = float(np.ptp(corners, axis=0).max(initial=0.0)) + 1e-2 * float(np.abs(corners).max())
    directions = np.random.default_rng(0).standard_normal((2 * body.size, body.size))
    for c in (*np.eye(body.size), *-np.eye(body.size), *directions, *-directions):
        missing = body.support_bound(body.unflatten(c)) - float((corners @ c).max())
        if missing > 1e-7 * size * float(np.linalg.norm(c)):
            raise UnsupportedConeError(f"Some vertices of the {body.name} were not found: it is too thin.")
