"""How a loss acts on a decision: by <l, x>, or by <l, M x> where losses are about something that decisions make use of.

A decision set may carry a map M, `links_map`: on a layered network decisions are flows on layered edges, losses are
times of links, and M x is how often x uses each link. Then <l, M x> = <M'l, x>: a learner adds up losses as they come,
puts noise on them as they come, and reads M' of the noisy sum as a covector over X, which costs no privacy.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.loss_set import LossSet

_OUTWARD = 1 + 1e-12  # of sums in floating point


class Pairing:
    """Decisions of a set X and losses of some shape.

    Args:
        decision_set: X.
        shape: of losses: that of X, or (k,) where X carries a map to k numbers.

    Raises:
        ValueError: where it is neither, or could be both.
    """

    def __init__(self, decision_set: DecisionSet, shape: tuple[int, ...]) -> None:
        M, shape = decision_set.links_map, tuple(shape)
        mapped = M is not None and shape == (M.shape[0],)
        if M is None and shape != decision_set.shape:
            raise ArgumentError(f"Losses have shape {shape} and decisions {decision_set.shape}; they must be the same.")
        if M is not None and not mapped and shape != decision_set.shape:
            raise ArgumentError(
                f"Losses have shape {shape}; on the {decision_set.name} they have {decision_set.shape}, one number for "
                f"each of its coordinates, or ({M.shape[0]},), one for each link of the network."
            )
        if mapped and shape == decision_set.shape and not _is_identity(M):
            raise ArgumentError(
                f"Losses of shape {shape} could be about the coordinates of the {decision_set.name} or about its "
                "links: there are as many of both. Declare another limit of links, or another network."
            )
        self.decision_set, self.shape = decision_set, shape
        self._map: Any = sparse.csr_array(M) if mapped and shape != decision_set.shape else None
        self._back: Any = None if self._map is None else sparse.csr_array(self._map.T)

    @property
    def plain(self) -> bool:
        """Whether a loss acts by <l, x>."""
        return self._map is None

    def usage(self, points: Any) -> Array:
        """M x for points in the shape of decisions, on leading axes: what a loss is multiplied by."""
        if self._map is None:
            return np.asarray(points)
        return _applied(self._map, np.asarray(points, dtype=float))

    def covector(self, losses: Any) -> Array:
        """M'l for losses or sums of them, on leading axes: a covector in the shape of decisions."""
        if self._back is None:
            return np.asarray(losses)
        return _applied(self._back, np.asarray(losses, dtype=float))

    # sizes of the map

    def stretch(self, p: float) -> float:
        """An upper bound of max |M x|_p/|x|_p, from p = 1 and infinity by Riesz and Thorin; 1 without a map."""
        if self._map is None:
            return 1.0
        one, infinity = self._sums
        return float(one ** (1 / p) * infinity ** (1 - 1 / p)) * _OUTWARD

    def back_stretch(self, p: float) -> float:
        """The same of M'."""
        return 1.0 if self._map is None else self.stretch(1 / (1 - 1 / p) if p > 1 else np.inf)

    @cached_property
    def _sums(self) -> tuple[float, float]:
        """The largest sums of absolute values of a column and of a row."""
        absolute = abs(self._map)
        return float(absolute.sum(axis=0).max(initial=0.0)), float(absolute.sum(axis=1).max(initial=0.0))

    @cached_property
    def isometric(self) -> bool:
        """Whether M keeps all lengths, M'M = I: then independent noise on losses is independent on coordinates too."""
        return self._map is None or _is_identity(sparse.csr_array(self._back @ self._map))

    @cached_property
    def selects(self) -> bool:
        """Whether every coordinate stands for one entry of a loss: M'l repeats entries of l, or leaves some out."""
        if self._back is None:
            return True
        return bool((np.diff(self._back.indptr) == 1).all() and (self._back.data == 1).all())

    def usage_box(self) -> tuple[Array, Array]:
        """The least and the largest entries of M x over X, as vectors, from outside."""
        X = self.decision_set
        lower, upper = (X.flatten(end) for end in X.bounding_box())
        return (lower, upper) if self._map is None else _interval(self._map, lower, upper)

    def losses(self, loss_set: LossSet) -> "LossSet | PulledLosses":
        """The losses of a set as covectors over X."""
        return loss_set if self._map is None else PulledLosses(loss_set, self, *_interval(self._back, *_box(loss_set)))


class PulledLosses:
    """The covectors M'l of the losses l of a set Y, in the words of a `LossSet`; all sizes are upper bounds.

    Attributes:
        shape, size: of the covectors, which are those of decisions.
    """

    def __init__(self, loss_set: LossSet, pairing: Pairing, lower: Array, upper: Array) -> None:
        self.loss_set, self.pairing = loss_set, pairing
        self.layout = pairing.decision_set.layout
        self.shape, self.size = self.layout.shape, self.layout.size
        self._lower, self._upper = lower, upper

    def flatten(self, covectors: Any) -> Array:
        return self.layout.flatten(covectors, "losses")

    def unflatten(self, vectors: Array) -> Array:
        return self.layout.unflatten(vectors)

    def bounding_box(self) -> tuple[Array, Array]:
        return self.unflatten(self._lower.copy()), self.unflatten(self._upper.copy())

    def radius(self, p: float = 2) -> float:
        """max |M'l|_p over Y."""
        box = float(np.linalg.norm(np.maximum(np.abs(self._lower), np.abs(self._upper)), p))
        return min(box * _OUTWARD, self.pairing.back_stretch(p) * float(self.loss_set.radius(p)))

    def diameter(self, p: float = 2) -> float:
        """max |M'(l - l')|_p over pairs of Y."""
        box = float(np.linalg.norm(self._upper - self._lower, p))
        return min(box * _OUTWARD, self.pairing.back_stretch(p) * float(self.loss_set.diameter(p)))

    def ranges(self, points: Array) -> tuple[Array, Array]:
        """The least and the largest <l, M x> over Y for points on leading axes."""
        return self.loss_set.ranges(self.pairing.usage(points))


def _applied(M: Any, points: Array) -> Array:
    if points.ndim == 1:
        return np.asarray(M @ points)
    flat = points.reshape(-1, points.shape[-1])
    return np.ascontiguousarray((M @ flat.T).T).reshape(*points.shape[:-1], M.shape[0])


def _interval(M: Any, lower: Array, upper: Array) -> tuple[Array, Array]:
    """The box around M times a box, rounded outward."""
    up, down = M.maximum(0), (-M).maximum(0)
    least, most = up @ lower - down @ upper, up @ upper - down @ lower
    slip = 1e-15 * (abs(M) @ np.maximum(np.abs(lower), np.abs(upper))) * (np.diff(M.indptr) > 1)
    return np.asarray(least - slip), np.asarray(most + slip)


def _box(loss_set: LossSet) -> tuple[Array, Array]:
    lower, upper = loss_set.bounding_box()
    return loss_set.flatten(lower), loss_set.flatten(upper)


def _is_identity(M: Any) -> bool:
    if M.shape[0] != M.shape[1]:
        return False
    rest = sparse.csr_array(M - sparse.eye_array(M.shape[0]))
    return not np.any(rest.data)
