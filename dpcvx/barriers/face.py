"""The faces that most cones have: the origin, a ray, an orthant; in the coordinates of one block of rows."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.barriers.cone import Face


def origin(normal: Array, least: float) -> Face:
    """The face of which only the origin is left."""
    k = len(normal)
    return Face(normal, np.eye(k), np.zeros((0, k)), least)


def ray(normal: Array, direction: Array, least: float) -> Face:
    """The face that is the ray of a direction; entries at which the direction is zero are not mixed with others."""
    unit = direction / np.abs(direction).max()  # whose squares are numbers
    unit /= np.linalg.norm(unit)
    at = np.flatnonzero(unit)
    turned = np.zeros((len(at) - 1, len(unit)))
    if len(at) == 2:
        turned[0, at] = unit[at[1]], -unit[at[0]]
    else:
        turned[:, at] = np.linalg.svd(unit[None, at])[2][1:]
    across = np.concatenate([turned, np.eye(len(unit))[unit == 0]])
    return Face(normal, across, unit[None, :], least)


def orthant(normal: Array, zero: list[int], signs: dict[int, float], least: float) -> Face:
    """The face on which some rows vanish and others have a sign."""
    unit = np.eye(len(normal))
    onto = np.array([sign * unit[i] for i, sign in signs.items()]).reshape(len(signs), len(normal))
    return Face(normal, unit[zero], onto, least)
