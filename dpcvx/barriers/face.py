"""The faces that most cones have: the origin, a ray, an orthant; in the coordinates of one block of rows."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.barriers.cone import Face


def origin(normal: Array, least: float) -> Face:
    """The face of which only the origin is left."""
    k = len(normal)
    return Face(normal, np.eye(k), np.zeros((0, k)), least)


def ray(normal: Array, direction: Array, least: float) -> Face:
    """The face that is the ray of a direction."""
    unit = direction / np.linalg.norm(direction)
    across = np.linalg.svd(unit[None, :])[2][1:]
    return Face(normal, across, unit[None, :], least)


def orthant(normal: Array, zero: list[int], signs: dict[int, float], least: float) -> Face:
    """The face on which some rows vanish and others have a sign."""
    unit = np.eye(len(normal))
    onto = np.array([sign * unit[i] for i, sign in signs.items()]).reshape(len(signs), len(normal))
    return Face(normal, unit[zero], onto, least)
