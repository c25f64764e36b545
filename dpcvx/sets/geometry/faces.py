"""Facial reduction: a set without interior, because its slacks lie in a face of the cones, in the cones of that face.

A normal z in the dual cone with

    A'z + E'mu = 0,    <b, z> + <e, mu> = 0

gives <z, b - A v> = 0 all over the set, so every slack lies in the face that z exposes, and z proves it. If the second
number is negative instead, no slack can lie in the cone, and z proves that the set is empty.

Normals come from two places: by linear algebra from what the equalities force (a matrix S with S v = 0), and from the
dual of phase one, which an interior-point method gives to a few digits. So the second kind is refined: projected in
turn onto the two equations above and onto the normals that expose faces of the same structure, until it satisfies both
to rounding. Where it does not, fewer parts of it are taken to be nonzero; where none are left, nothing is proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.barriers.cone import Face
from dpcvx.errors import EmptySetError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.conic.rows import describe, keep_rows
from dpcvx.sets.geometry.phase_one import TOUCHING
from dpcvx.sets.sparse_rows import row_sizes

_RESIDUAL = 1e-13  # of a normal of length 1
_BLURS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # what may count as zero in a normal that a solver gave
_RANK = 1e-11  # relative size below which a direction counts as zero
_DEPENDENT = 1e-8  # part of an equality of a face, beyond the others, below which they imply it
_APART = 1e-3  # what the equalities of a face may miss each other by
_NEAR = 0.03  # share of its size by which the slack of the solver's point may be off the face
_FAR = 1e6  # how far out, in sizes of the set, a proof that it is empty must hold
_SWEEPS = 300
_TURNS = 6  # Newton steps to the normal of the least gap
_MOST_TURNS, _MOST_ROWS = 20, 400  # up to which they are taken
_DIFFERENCE = 1e-4
_FARTHEST_TURN = 1e-2


@dataclass(frozen=True)
class Reduction:
    """A set in a face of its cones, with the sources of the rows that were reduced and the gap that was closed."""

    conic: ConicSet
    sources: Array
    gap: float


class Hull:
    """The slacks of a set on its equalities: s0 + G y for all y."""

    def __init__(self, conic: ConicSet, v: Array) -> None:
        Z = scipy.linalg.null_space(conic.E.toarray(), rcond=_RANK) if conic.E.shape[0] else np.eye(conic.columns)
        self.G = conic.A @ Z
        self.s0 = conic.slack(v)
        constant, moving = np.abs(conic.b), abs(conic.A) @ np.abs(v)
        self.size = float(np.maximum(constant, moving).max(initial=0.0))
        reach = row_sizes(conic.A) * min(1.0, self.size)
        self.sizes = conic.cones.largest(np.maximum(np.maximum(constant, moving), reach))
        self.rounding = 16 * np.finfo(float).eps * (constant + moving)
        size = np.linalg.norm(self.G, axis=0)
        self.units = self.G[:, size > _RANK * size.max(initial=0.0)] / size[size > _RANK * size.max(initial=0.0)]
        self._moving = self._orthonormal(self.units)

    @staticmethod
    def _orthonormal(columns: Array) -> Array:
        U, values, _ = np.linalg.svd(columns, full_matrices=False)
        return np.asarray(U[:, values > _RANK * values.max(initial=0.0)])

    def projected(self, z: Array) -> Array:
        """z without what changes along the hull."""
        return np.asarray(z - self._moving @ (self._moving.T @ z))

    def residual(self, z: Array) -> float:
        """How much <z, s> still changes along the hull, for directions of length 1."""
        return float(np.abs(self.units.T @ z).max(initial=0.0))

    def gap(self, z: Array) -> tuple[float, float]:
        """<z, s> on the hull, and how much of it may be rounding or touching."""
        return float(z @ self.s0), float(TOUCHING * (np.abs(z) * self.sizes).max() + np.abs(z) @ self.rounding)


def reduce_to_face(conic: ConicSet, v: Array, dual: Array, names: Sequence[str]) -> Reduction | None:
    """The set in a face of its cones that can be proved to hold it; None where none was found.

    Args:
        conic: the set.
        v: a lifted point on the equalities with nearly feasible slack.
        dual: the dual of phase one, for the inequality rows.
        names: the user's constraints in words.

    Raises:
        EmptySetError: where the normal proves that there is no point.
    """
    if conic.columns > DENSE_LIMIT or len(conic.b) > 2 * DENSE_LIMIT:
        return None
    hull = Hull(conic, v)
    normal = conic.cones.common_normals(np.column_stack([hull.s0, hull.G]))
    if normal.any():
        return _in_faces(conic, conic.cones.exposed(normal, 1e-6), v, 0.0, names)
    if not np.isfinite(dual).all() or not dual.any():
        return None
    z = dual / np.abs(dual).max()
    _refuse_empty(conic, hull, z, names)
    for blur in _BLURS:
        faces = _refined(conic, hull, z, blur)
        if faces is None:
            continue
        faces = _touching(conic, hull, faces, blur)
        normal = _assembled(conic, faces)
        gap, touching = hull.gap(normal)
        if gap < -touching:
            blamed = describe(conic.source[np.abs(normal) > 1e-4 * np.abs(normal).max()], names)
            raise EmptySetError(f"The set is empty: {blamed} cannot hold together.")
        if gap <= touching and _is_near(hull, faces):
            return _in_faces(conic, faces, v, gap, names)
    return None


def _is_near(hull: Hull, faces: list[tuple[slice, Face]]) -> bool:
    """Whether the slack at a nearly feasible point is close to the faces, as it is if all of the set is in them."""
    return all(
        float(np.abs(face.zero @ hull.s0[rows]).max(initial=0.0)) <= _NEAR * float(hull.sizes[rows].max())
        for rows, face in faces
    )


def _refuse_empty(conic: ConicSet, hull: Hull, z: Array, names: Sequence[str]) -> None:
    """Raise where a normal near z is negative on all slacks of the hull that are not far larger than the set's size."""
    for blur in (1e-12, *_BLURS):
        normal = z
        for _ in range(30):
            faces = conic.cones.exposed(normal, blur)
            normal = _assembled(conic, faces)
            if not normal.any() or not np.isfinite(normal).all():
                break
            gap, touching = hull.gap(normal)
            if gap < -2 * (touching + hull.residual(normal) * hull.size * _FAR):
                blamed = describe(conic.source[np.abs(normal) > 1e-4 * np.abs(normal).max()], names)
                raise EmptySetError(f"The set is empty: {blamed} cannot hold together.")
            normal = hull.projected(normal)


def _refined(conic: ConicSet, hull: Hull, z: Array, blur: float) -> list[tuple[slice, Face]] | None:
    """The faces of a normal near z that is constant on the hull to rounding; None where there is none."""
    best = last = np.inf
    start, reach = z / float(np.linalg.norm(z)), 1e-4 + 3 * blur * np.sqrt(len(z))
    for sweep in range(_SWEEPS):
        faces = conic.cones.exposed(z, blur)
        normal = _assembled(conic, faces)
        length = float(np.linalg.norm(normal))
        if length < 0.1:
            return None
        normal /= length
        if float(np.linalg.norm(normal - start)) > reach:
            return None  # another normal than the solver's may be an accident of rounding
        residual = hull.residual(normal)
        least = min(face.least for _, face in faces) / length
        good = residual <= min(_RESIDUAL, 1e-4 * least**2)
        if good and (residual <= 1e-16 or residual > last / 2):
            return _simplest(conic, hull, normal, blur) or faces  # no sweep makes it better
        if not good and sweep % 20 == 19:
            if residual > best / 2:
                return None
            best = residual
        last = residual
        z = hull.projected(normal)
    return None


def _touching(conic: ConicSet, hull: Hull, faces: list[tuple[slice, Face]], blur: float) -> list[tuple[slice, Face]]:
    """The faces of the normal with the least gap among those of the same structure that are constant on the hull.

    A normal that turns by d away from it has a gap of d^2, so a gap of rounding leaves half of the digits. Where the
    gap is stationary they are all there: Newton's method finds it, with a Hessian by differences.
    """
    z = _assembled(conic, faces)
    z /= float(np.linalg.norm(z))
    for _ in range(_TURNS):
        turns = _turns(conic, hull, faces, z)
        if not 0 < turns.shape[1] <= _MOST_TURNS:
            return faces
        slope = turns.T @ hull.s0
        bent = []
        for turn in turns.T:
            at = [_turned(conic, hull, z + side * _DIFFERENCE * turn, blur, 1e-11) for side in (1, -1)]
            if at[0] is None or at[1] is None:
                return faces
            slopes = [turns.T @ _along(_turns(conic, hull, *end), hull.s0) for end in at if end is not None]
            bent.append((slopes[0] - slopes[1]) / (2 * _DIFFERENCE))
        step = turns @ np.linalg.lstsq(np.array(bent).T, -slope, rcond=1e-9)[0]
        turned = _turned(conic, hull, z + step, blur, 1e-16)
        if float(np.linalg.norm(step)) > _FARTHEST_TURN or turned is None:
            return faces
        better, normal = turned
        if hull.residual(normal) > _RESIDUAL or float(normal @ hull.s0) > float(z @ hull.s0) + 1e-15 * hull.size:
            return faces
        faces, z = better, normal
        if float(np.linalg.norm(step)) < 1e-9:
            break
    return faces


def _along(directions: Array, vector: Array) -> Array:
    return np.asarray(directions @ (directions.T @ vector))


def _turns(conic: ConicSet, hull: Hull, faces: list[tuple[slice, Face]], z: Array) -> Array:
    """An orthonormal basis of the directions in which a normal keeps its structure and stays constant on the hull."""
    active = np.zeros(len(conic.b), dtype=bool)
    across = [z[None, :]]
    for rows, face in faces:
        active[rows] = True
        wide = np.zeros((len(face.onto), len(conic.b)))
        wide[:, rows] = face.onto
        across.append(wide)
    conditions = np.concatenate([*across, hull.units.T])[:, active]
    turns = np.zeros((len(conic.b), 0))
    if len(conditions) and active.sum() <= _MOST_ROWS:
        inside = scipy.linalg.null_space(conditions, rcond=1e-9)
        turns = np.zeros((len(conic.b), inside.shape[1]))
        turns[active] = inside
    return turns


def _turned(
    conic: ConicSet, hull: Hull, z: Array, blur: float, constant: float
) -> tuple[list[tuple[slice, Face]], Array] | None:
    """The faces of a normal near z that changes on the hull by no more than `constant` or rounding, and that normal."""
    last = np.inf
    for _ in range(_SWEEPS):
        faces = conic.cones.exposed(z, blur)
        normal = _assembled(conic, faces)
        length = float(np.linalg.norm(normal))
        if length < 0.1:
            return None
        normal /= length
        residual = hull.residual(normal)
        if residual <= constant or (residual <= _RESIDUAL and residual > last / 2):
            break
        z, last = hull.projected(normal), residual
    return faces, normal


def _simplest(conic: ConicSet, hull: Hull, normal: Array, blur: float) -> list[tuple[slice, Face]] | None:
    """The faces of the normal without its small entries, if it is then constant on the hull too: they were noise."""
    for small in (1e-3, 1e-6, 1e-9):
        simple = np.where(np.abs(normal) > small * np.abs(normal).max(), normal, 0.0)
        faces = conic.cones.exposed(simple, blur)
        rebuilt = _assembled(conic, faces)
        length = float(np.linalg.norm(rebuilt))
        if length > 0.5 and hull.residual(rebuilt) <= 4e-16 * length:
            return faces
    return None


def _assembled(conic: ConicSet, faces: list[tuple[slice, Face]]) -> Array:
    normal = np.zeros(len(conic.b))
    for rows, face in faces:
        normal[rows] = face.normal
    return normal


def _in_faces(
    conic: ConicSet, faces: list[tuple[slice, Face]], v: Array, gap: float, names: Sequence[str]
) -> Reduction:
    """The set with the blocks of the faces in their smaller cones."""
    keep = np.ones(len(conic.b), dtype=bool)
    for rows, _ in faces:
        keep[rows] = False
    kept = keep_rows(conic, keep)
    inside = [_without_rounding(face.onto, conic.A[rows].toarray(), conic.b[rows]) for rows, face in faces]
    across = [_without_rounding(face.zero, conic.A[rows].toarray(), conic.b[rows]) for rows, face in faces]
    source = [kept.source, *(np.full(len(face.onto), conic.source[rows.start]) for rows, face in faces)]
    smaller = [face.cone or Nonnegative(len(face.onto)) for _, face in faces]
    zero = np.concatenate([rows for rows, _ in across])
    level = np.concatenate([values for _, values in across])
    origin = np.concatenate([np.full(len(face.zero), conic.source[rows.start]) for rows, face in faces])
    touched = np.concatenate([conic.source[rows] for rows, _ in faces])
    E, e, chosen, left = _independent(conic, zero, level, v)
    if left > _APART * max(1.0, float(np.abs(conic.b).max())):
        raise EmptySetError(f"The set is empty: {describe(touched, names)} leave a face of their cones that is empty.")
    reduced = replace(
        kept,
        A=sparse.csr_array(sparse.vstack([kept.A, *(sparse.csr_array(A) for A, _ in inside)])),
        b=np.concatenate([kept.b, *(b for _, b in inside)]),
        cones=Product([*kept.cones.cones, *smaller]),
        source=np.concatenate(source),
        E=sparse.csr_array(sparse.vstack([conic.E, sparse.csr_array(E)])),
        e=np.concatenate([conic.e, e]),
        equality_source=np.concatenate([conic.equality_source, origin[chosen]]),
    )
    return Reduction(reduced, touched, gap)


def _without_rounding(rows: Array, A: Array, b: Array) -> tuple[Array, Array]:
    """rows @ A and rows @ b, with 0 for what is nothing but rounding."""
    weight = np.abs(rows)
    left, right = rows @ A, rows @ b
    left[np.abs(left) <= TOUCHING * (weight @ np.abs(A)).max(axis=1, initial=0.0, keepdims=True)] = 0.0
    right[np.abs(right) <= TOUCHING * (weight @ np.abs(b))] = 0.0
    return left, right


def _independent(conic: ConicSet, rows: Array, values: Array, v: Array) -> tuple[Array, Array, Array, float]:
    """Those of the equalities rows v = values that the set's own ones do not imply, which they are, and what is missed.

    Normals are known to rounding, and so are these equalities: what they say together is said at the point where they
    are violated least, so that none contradicts another.
    """
    size = np.linalg.norm(rows, axis=1)
    moving = np.flatnonzero(size > _RANK * size.max(initial=0.0))
    constant = np.delete(values, moving)
    rows, values = rows[moving] / size[moving, None], values[moving] / size[moving]
    Z = scipy.linalg.null_space(conic.E.toarray(), rcond=_RANK) if conic.E.shape[0] else np.eye(conic.columns)
    across = rows @ Z
    v = v + Z @ np.linalg.lstsq(across, values - rows @ v, rcond=_DEPENDENT)[0]
    _, R, order = scipy.linalg.qr(across.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    chosen = np.sort(order[: int((diagonal > _DEPENDENT).sum())])
    left = float(np.abs(np.concatenate([rows @ v - values, constant])).max(initial=0.0))
    levels = rows[chosen] @ v
    exact = np.abs(levels - values[chosen]) <= TOUCHING
    return rows[chosen], np.where(exact, values[chosen], levels), moving[chosen], left
