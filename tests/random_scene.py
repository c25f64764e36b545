"""What random constraints are made of: a cvxpy expression, a point at which it is known, affine arguments, numbers.

A scene is played twice with the same draws: once on a variable in plain units, where levels are measured and written
down, and once on the user's variable in units of its own, where they are read back. So both are the same constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np


@dataclass
class Scene:
    """An expression z with its value at an anchor, and the draws of one declaration.

    Attributes:
        rng: of all draws; played twice, it gives the same ones.
        z: the expression that constraints speak about, in plain units.
        anchor: a value of z at which most constraints hold with room.
        levels: numbers measured in the first play.
        reading: whether this is the second play.
        auxiliaries: further variables, with values that fit the anchor.
    """

    rng: np.random.Generator
    z: cp.Expression
    anchor: np.ndarray
    levels: list[np.ndarray] = field(default_factory=list)
    reading: bool = False
    auxiliaries: list[cp.Variable] = field(default_factory=list)
    _read: int = 0

    @property
    def size(self) -> int:
        return int(self.anchor.size)

    @property
    def flat(self) -> cp.Expression:
        return cp.vec(self.z, order="F")

    @property
    def at(self) -> np.ndarray:
        return self.anchor.ravel(order="F")

    def level(self, value: Callable[[], object]) -> np.ndarray:
        """A number that is measured once: in the first play by the function, in the second read back."""
        if not self.reading:
            self.levels.append(np.array(value(), dtype=float))
        self._read += 1
        return self.levels[self._read - 1]

    def number(self, value: object) -> object:
        """A number as such, or as a parameter that has it for value."""
        return cp.Parameter(np.shape(value), value=np.asarray(value)) if self.rng.random() < 0.2 else value

    def below(self, f: cp.Expression, room: float | None = None) -> list[cp.Constraint]:
        """f <= its value at the anchor, and some room."""
        share = self.rng.uniform(0.15, 1.2) if room is None else room
        top = self.level(lambda: np.asarray(f.value) + share * (0.3 + np.abs(f.value)))
        return [f <= self.number(top if top.ndim else float(top))]

    def rows(self, m: int) -> np.ndarray:
        """Random rows, some of them sparse, some of whole numbers."""
        style = self.rng.integers(4)
        A = self.rng.standard_normal((m, self.size))
        if style == 0:
            A = np.rint(2 * A)
        if style <= 1 and self.size > 1:
            A = A * (self.rng.random((m, self.size)) < 0.6)
        empty = np.abs(A).sum(axis=1) == 0
        A[empty, self.rng.integers(self.size)] = 1.0
        return A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-3) if style == 2 else A

    def affine(self, m: int, low: float = -1.0, high: float = 1.0) -> cp.Expression:
        """m affine functions of z whose values at the anchor are between low and high."""
        A = self.rows(m)
        return A @ self.flat + (self.rng.uniform(low, high, m) - A @ self.at)

    def plain(self) -> cp.Expression:
        """All entries of z, or affine functions of them."""
        return self.flat if self.rng.random() < 0.6 else self.affine(int(self.rng.integers(1, self.size + 3)))

    def several(self) -> cp.Expression:
        """At least two entries or affine functions of them."""
        return self.flat if self.size > 1 and self.rng.random() < 0.6 else self.affine(int(self.rng.integers(2, 5)))

    def positive(self, m: int | None = None) -> cp.Expression:
        """Affine functions that are clearly positive at the anchor."""
        least = 1 if m is None else m
        m = int(self.rng.integers(1, 4)) if m is None else m
        if (self.at > 0.2).all() and self.size >= least and self.rng.random() < 0.5:
            return self.flat if m is None else self.flat[:m]
        return self.affine(m, 0.5, 2.0)

    def matrix(self, k: int, least: float, largest: float) -> cp.Expression:
        """A symmetric affine matrix of order k with eigenvalues between least and largest at the anchor."""
        Q = np.linalg.qr(self.rng.standard_normal((k, k)))[0]
        total = cp.Constant(Q @ np.diag(self.rng.uniform(least, largest, k)) @ Q.T)
        step = self.flat - self.at
        for i in range(self.size):
            M = self.rng.standard_normal((k, k)) / self.size
            total = total + step[i] * (M + M.T)
        return cp.symmetric_wrap(total)

    def table(self, k: int, m: int) -> cp.Expression:
        """An affine matrix of shape (k, m)."""
        if self.anchor.ndim == 2 and self.rng.random() < 0.5:
            return self.z
        return cp.reshape(self.affine(k * m), (k, m), order="F")

    def auxiliary(self, value: np.ndarray, **attributes: object) -> cp.Variable:
        """A further variable, with the value that it has where z is the anchor."""
        made = cp.Variable(np.shape(value), **attributes)
        made.value = np.asarray(value, dtype=float)
        self.auxiliaries.append(made)
        return made
