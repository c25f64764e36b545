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

from collections.abc import Callable, Sequence
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
from dpcvx.sets.geometry.certificates import certify, multipliers
from dpcvx.sets.geometry.hull import Hull
from dpcvx.sets.geometry.normals import assembled, distance_off, refined
from dpcvx.sets.geometry.phase_one import FLAT, TOUCHING
from dpcvx.sets.sparse_rows import row_sizes

_RESIDUAL = 1e-13  # of a normal of length 1
_BLURS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # what may count as zero in a normal that a solver gave
_RANK = 1e-11  # relative size below which a direction counts as zero
_DEPENDENT = 1e-8  # part of an equality of a face, beyond the others, below which they imply it
_BALANCED = 1e-12  # what counts as zero in a normal once slacks are of one size
_SEEN = 1e-7  # share of the largest entry of a block that a solver surely tells from zero
_SOLVED = 1e-11  # what the equations of a normal and its face may miss where entries are in units far apart
_APART = 1e-3  # what the equalities of a face may miss each other by
_NEAR = 0.03  # share of its size by which the slack of the solver's point may be off the face
_ROUND = 16.0  # how far out, in sizes of the set, a proof that it is in a face holds
_TOUCHING = 100.0  # by how much a proved gap may be above what counts as touching: it adds up all magnitudes
_FAR = 1e6  # how far out, in sizes of the set, a normal must look negative before a proof is tried
_NAMED = 1e-4  # share of the largest weight in a proof from which on a constraint is named
_PROVED = 1e3  # how far out the proof that there is no point holds, rounding included


@dataclass(frozen=True)
class Reduction:
    """A set in a face of its cones, with the sources of the rows that were reduced and the gap that was closed."""

    conic: ConicSet
    sources: Array
    gap: float


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
    _refuse_empty(conic, hull, dual / np.abs(dual).max(), names)
    ones = np.ones(len(conic.b))
    factors = _balanced(conic, hull, v)
    if factors is None:
        return _exposed_face(conic, hull, dual, ones, names)
    even = replace(conic, A=sparse.csr_array(sparse.diags_array(factors) @ conic.A), b=factors * conic.b)
    evenly = Hull(even, v)

    def is_near(z: Array) -> bool:
        """Whether slacks near v are close to the face of a normal in the eyes of small entries too."""
        return _is_near(evenly, even.cones.exposed(z / factors / np.abs(z / factors).max(), _BALANCED))

    found = _exposed_face(conic, hull, dual, factors, names, evenly)
    return found or _exposed_face(conic, hull, dual, ones, names, admitted=is_near)


def _balanced(conic: ConicSet, hull: Hull, v: Array) -> Array | None:
    """Factors of the rows under which slacks near v have size 1, also inside of blocks; None where all are of one size.

    Seen from the largest entries of a matrix, small ones in units of their own look like touching. Those that the
    equalities do not fix are known up to what a solver leaves of zeros.
    """
    sizes = np.maximum(np.abs(conic.b), abs(conic.A) @ np.abs(v))
    moves = np.abs(hull.G).max(axis=1, initial=0.0) > 0
    sizes = np.where(moves, np.maximum(sizes, _SEEN * conic.cones.largest(sizes)), sizes)
    factors = conic.cones.balanced(sizes)
    return None if np.array_equal(factors, conic.cones.largest(factors)) else factors


def _exposed_face(
    conic: ConicSet,
    hull: Hull,
    dual: Array,
    factors: Array,
    names: Sequence[str],
    evenly: Hull | None = None,
    admitted: Callable[[Array], bool] = lambda z: True,
) -> Reduction | None:
    """The set in the face that a normal near the dual exposes, where the normal proves it and is admitted.

    Args:
        conic, hull: the set, in whose own rows proofs are made: there rounding is least.
        dual: a normal as a solver gives it.
        factors, evenly: the factors of the rows with which it is refined, and the hull of the set in these.
        names: the user's constraints in words.
        admitted: what more a normal must satisfy.
    """
    seen = hull if evenly is None else evenly
    z = dual / factors
    z /= np.abs(z).max()
    reach = max(1.0, float(np.abs(hull.v).max(initial=0.0)))
    most = FLAT * max(1.0, float(np.abs(conic.b).max()))  # of a gap, however far out v is
    for blur in _BLURS:
        found = refined(conic.cones, seen, z, blur, 1e-4 + 3 * blur * np.sqrt(len(z)))
        if found is None or seen.residual(found.z) > _RESIDUAL:
            continue
        if evenly is not None and distance_off(evenly, found) > _SOLVED:
            continue  # entries of a matrix in units far apart would be known to few digits
        normal = factors * found.z
        normal /= np.linalg.norm(normal)
        gap, touching = hull.gap(normal)
        if gap < -touching and certify(conic, normal, _PROVED * reach).proves_empty:
            raise _empty(conic, normal, names)
        if abs(gap) <= touching and _is_near(seen, found.faces) and admitted(normal):
            proof = certify(conic, normal, _ROUND * reach)
            if abs(proof.level) + proof.slip <= min(_TOUCHING * touching, most):
                faces = found.faces
                if evenly is not None:
                    faces = [(rows, _in_rows(face, factors[rows], conic.A[rows])) for rows, face in faces]
                return _in_faces(conic, faces, hull.v, abs(proof.level) + proof.slip, names)
    return None


def _in_rows(face: Face, factors: Array, A: sparse.csr_array) -> Face:
    """A face that was found in rows times factors, in the rows themselves; what vanishes on it of size 1 there."""
    zero = face.zero * factors
    size = (np.abs(zero) @ abs(A)).max(axis=1, initial=0.0, keepdims=True)
    zero = zero / np.where(size > 0, size, 1.0)
    return replace(face, normal=face.normal * factors, zero=zero, onto=face.onto * factors)


def _empty(conic: ConicSet, normal: Array, names: Sequence[str]) -> EmptySetError:
    """The refusal that names the constraints, equalities too, which the proof takes together."""
    weights = np.abs(np.concatenate([normal, multipliers(conic, normal)]))
    rows = sparse.csr_array(sparse.vstack([conic.A, conic.E]))
    weights *= np.maximum(row_sizes(rows), np.abs(np.concatenate([conic.b, conic.e])))
    sources = np.concatenate([conic.source, conic.equality_source])[weights > _NAMED * weights.max()]
    together = " together" if len(np.unique(sources)) > 1 else ""
    return EmptySetError(f"The set is empty: {describe(sources, names)} cannot hold{together}.")


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
            normal = assembled(faces, len(conic.b))
            if not normal.any() or not np.isfinite(normal).all():
                break
            gap, touching = hull.gap(normal)
            negative = gap < -2 * (touching + hull.residual(normal) * hull.size * _FAR)
            if negative and certify(conic, normal, _PROVED * max(1.0, hull.size)).proves_empty:
                raise _empty(conic, normal, names)
            normal = hull.projected(normal)


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
    moving = np.flatnonzero(size > _DEPENDENT * size.max(initial=0.0))  # less would be known to few digits
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
