"""Normals of faces to all of their digits.

An interior-point method gives a normal z and a point with slack s to a few digits. Where all of a set lies in the face
that z exposes, both satisfy

    <z, s> is the same all over the hull,    s is in the face of z,

and z has the structure that it shows up to noise: which blocks are zero, of which rank the others are. With the
structure held fixed these are smooth equations in z and in the point, and Newton's method finds the solution that is
nearest to the solver's. A normal that turns by d away from it has a gap of d^2, so the first equation alone, to all
digits, would leave half of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy.linalg

from dpcvx.arrays import Array
from dpcvx.barriers import Product
from dpcvx.barriers.cone import Cone, Face
from dpcvx.sets.geometry.hull import Hull

Faces = list[tuple[slice, Face]]

_STEPS = 12
_DIFFERENCE = 1e-8  # share of its size by which a normal is turned to see how its face turns
_SINGULAR = (1e-9, 1e-7, 1e-5, 1e-3)  # relative sizes below which Newton's equations say nothing, or too little
_MOST_ROWS = 600  # of the blocks in which a normal is nonzero, up to which it is refined
_NOISE = (0.1, 1e-2, 1e-3, 1e-6, 1e-9)  # shares of a normal that may turn out to be needless, largest first


@dataclass(frozen=True)
class Normal:
    """A normal of length 1, its faces, and the slack of a point that is in them as far as one was found."""

    z: Array
    faces: Faces
    slack: Array


def assembled(faces: Faces, size: int) -> Array:
    """The vector of all normals."""
    z = np.zeros(size)
    for rows, face in faces:
        z[rows] = face.normal
    return z


def refined(cones: Product, hull: Hull, z: Array, blur: float, far: float) -> Normal | None:
    """The normal nearest to z that is constant on the hull and whose faces hold a point of it.

    Args:
        cones, hull: of the set.
        z: a normal as a solver gives it.
        blur: what counts as zero in it.
        far: how far from z it may be; another normal than the solver's may be an accident of rounding.
    """
    start = z / float(np.linalg.norm(z))
    best = _exposed(cones, start, blur, hull.s0)
    if best is None:
        return None
    for _ in range(_STEPS if float(np.linalg.norm(best.z - start)) <= far else 0):
        better = _stepped(cones, hull, best, blur, start, far)
        if better is None:
            break
        best = better
    return _simplest(cones, hull, best, blur) or best


def _stepped(cones: Product, hull: Hull, normal: Normal, blur: float, start: Array, far: float) -> Normal | None:
    """The normal one Newton step ahead; None where no step brings it closer to the equations."""
    off = distance_off(hull, normal)
    for along, ahead in _newton_steps(cones, hull, normal, blur):
        found = _exposed(cones, normal.z + along, blur, normal.slack + ahead)
        if found is not None and float(np.linalg.norm(found.z - start)) <= far and distance_off(hull, found) < off:
            return found
    return None


def _exposed(cones: Product, z: Array, blur: float, slack: Array) -> Normal | None:
    faces = cones.exposed(z, blur)
    normal = assembled(faces, len(z))
    length = float(np.linalg.norm(normal))
    return None if not length > 0.1 else Normal(normal / length, faces, slack)


def distance_off(hull: Hull, normal: Normal) -> float:
    """By how much the two equations are violated."""
    across = [_across(face) @ normal.slack[rows] / _size(hull, rows) for rows, face in normal.faces]
    return hull.residual(normal.z) + float(np.linalg.norm(np.concatenate(across)))


def _size(hull: Hull, rows: slice) -> float:
    return float(hull.sizes[rows].max()) or 1.0


def _across(face: Face) -> Array:
    """The projector onto what vanishes on a face."""
    inside = np.linalg.qr(face.onto.T)[0] if len(face.onto) else np.zeros((len(face.normal), 0))
    return np.asarray(np.eye(len(face.normal)) - inside @ inside.T)


def _newton_steps(cones: Product, hull: Hull, normal: Normal, blur: float) -> Iterator[tuple[Array, Array]]:
    """Steps of the normal and of the slack that solve both equations to first order, the shortest ones.

    The first leaves nothing out; the next ones leave out directions about which the equations say little, in which the
    first may go far too far.
    """
    blocks = [np.arange(rows.start, rows.stop) for rows, _ in normal.faces]
    active = np.concatenate(blocks)
    if len(active) > _MOST_ROWS:
        return
    columns, turned, moved, missing = [], [], [], []
    for rows, face in normal.faces:
        size = _size(hull, rows)
        tangents = scipy.linalg.null_space(face.onto) if len(face.onto) else np.eye(len(face.normal))
        off = _across(face) @ normal.slack[rows]
        cone = cones.single(rows.start)
        tangents *= np.linalg.norm(normal.z[rows])  # blocks may be of very different sizes
        turn = [_turned(cone, normal.z[rows], normal.slack[rows], tangent, blur) - off for tangent in tangents.T]
        columns.append(tangents)
        turned.append(np.array(turn).T / (_DIFFERENCE * size))
        moved.append(_across(face) @ hull.units[rows] / size)
        missing.append(off / size)
    tangents = scipy.linalg.block_diag(*columns)
    units = hull.units[active]
    constant = np.concatenate([units.T @ tangents, np.zeros((units.shape[1], units.shape[1]))], axis=1)
    inside = np.concatenate([scipy.linalg.block_diag(*turned), np.concatenate(moved)], axis=1)
    right = -np.concatenate([hull.units.T @ normal.z, *missing])
    U, values, rows_of_steps = np.linalg.svd(np.concatenate([constant, inside]), full_matrices=False)
    weights = U.T @ right
    taken = -1
    for least in _SINGULAR:
        told = int((values > least * values[0]).sum())
        if told == taken:
            continue
        taken = told
        step = (weights[:told] / values[:told]) @ rows_of_steps[:told]
        along = np.zeros(len(normal.z))
        along[active] = tangents @ step[: tangents.shape[1]]
        yield along, hull.units @ step[tangents.shape[1] :]


def _turned(cone: Cone, z: Array, slack: Array, tangent: Array, blur: float) -> Array:
    """What of the slack of a block is across its face, once its normal is turned a little."""
    face = cone.exposed(z + _DIFFERENCE * tangent, blur)
    return np.zeros(len(z)) if face is None else np.asarray(_across(face) @ slack)


def _simplest(cones: Product, hull: Hull, normal: Normal, blur: float) -> Normal | None:
    """The normal without its small entries, if it then proves as much: a larger face, or that there is no point.

    Entries are small by themselves, or by what they say: times the size of their slacks. A face inside of a face is
    found in a second step, but a solver's dual may have a share of both: large entries at rows that say next to nothing
    of the first face, and a gap which they leave.
    """
    least = max(4e-16, hull.residual(normal.z))
    entries = np.abs(normal.z)
    for small, weights in product(_NOISE, (entries, entries * hull.said)):
        z = np.where(weights > small * weights.max(), normal.z, 0.0)
        found = _exposed(cones, z, blur, normal.slack)
        if found is None or not len(found.faces) or hull.residual(found.z) > least:
            continue
        gap, touching = hull.gap(found.z)
        if gap <= touching:
            return found
    return None
