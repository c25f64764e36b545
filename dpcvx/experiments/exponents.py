"""How fast regret grows: the exponent of a power law, fitted to replicas at a few sizes, with an honest interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arguments import share, whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.streams import stream

_DRAWS = 1000  # samples of the bootstrap


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent and the interval that holds the true one with probability `level`."""

    value: float
    lower: float
    upper: float
    level: float

    def meets(self, lower: float, upper: float) -> bool:
        """Whether the interval meets [lower, upper]."""
        return self.lower <= upper and lower <= self.upper

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.lower:.2f}, {self.upper:.2f}]"


def fit_exponent(
    sizes: Sequence[float],
    samples: Sequence[Any],
    *,
    divide: Callable[[float], float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Exponent:
    """The exponent a of mean regret = c size^a divide(size), by least squares on logarithms.

    A size weighs the more the smaller its error is. The error has two parts: that of the mean over the replicas, and a
    lack of fit, the same for all sizes, by which the residuals exceed what the replicas explain. The interval is a
    bootstrap over replicas, to which the lack of fit adds with the Student law of its k - 2 degrees of freedom. So a
    few sizes that are not on a line give a wide interval. Two sizes are always on a line: their interval reflects the
    replicas alone.

    Args:
        sizes: the values of T, or of what else regret grows with; at least 2 different ones.
        samples: the regrets of independent replicas, an array for each size; a single replica counts as exact.
        divide: a factor of the law that is known, such as sqrt(ln T).
        level: the probability with which the interval holds the true exponent.
        seed: for the bootstrap.

    Raises:
        ValueError: where there are fewer than 2 sizes, or mean regret is not positive, whose logarithm is then unknown.
    """
    at = np.asarray(sizes, dtype=float)
    rows = [np.asarray(sample, dtype=float).ravel() for sample in samples]
    level, rng = share(level, "level"), stream(whole(seed, "seed", at_least=0), "fit_exponent")
    _check(at, rows)
    means = np.array([row.mean() for row in rows])
    for size, mean in zip(at, means, strict=True):
        if not 0 < mean < np.inf:
            raise ArgumentError(f"regret is not positive at size {size:g}: its mean is {mean:.4g}.")
    known = np.ones(len(at)) if divide is None else np.array([divide(float(size)) for size in at])
    if not (np.isfinite(known) & (known > 0)).all():
        raise ArgumentError(f"divide must be positive at all sizes, but it is {known.tolist()}.")
    x, y = np.log(at), np.log(means / known)
    moved = np.stack([_resampled(row, rng) for row in rows], axis=1) / means  # of y, to first order
    errors = moved.std(axis=0)
    misfit = _misfit(x, y, errors)
    slopes = _slopes(x, errors**2 + misfit**2)
    value = float(slopes @ y)
    freedom = max(len(at) - 2, 1)
    beyond = misfit * np.linalg.norm(slopes) * rng.standard_t(freedom, _DRAWS)
    ends = np.quantile(moved @ slopes + beyond, [(1 - level) / 2, (1 + level) / 2])
    return Exponent(value, value + float(ends[0]), value + float(ends[1]), level)


def _check(sizes: Array, samples: list[Array]) -> None:
    if sizes.ndim != 1 or len(np.unique(sizes)) < 2 or not (np.isfinite(sizes) & (sizes > 0)).all():
        raise ArgumentError(f"sizes must hold at least 2 different positive numbers, not {sizes.tolist()}.")
    if len(samples) != len(sizes):
        raise ArgumentError(f"samples must hold one array for each of the {len(sizes)} sizes, not {len(samples)}.")
    if any(sample.size == 0 for sample in samples):
        raise ArgumentError("samples must hold at least one replica for each size.")
    if len(sizes) == 2 and any(sample.size == 1 for sample in samples):
        raise ArgumentError("samples of 2 sizes must hold at least 2 replicas each: nothing else tells their error.")


def _resampled(sample: Array, rng: np.random.Generator) -> Array:
    """How far the mean of a resampled array is from the mean of the array, with the variance made unbiased."""
    count = len(sample)
    drawn = sample[rng.integers(count, size=(_DRAWS, count))].mean(axis=1)
    return np.asarray((drawn - sample.mean()) * np.sqrt(count / max(count - 1, 1)))


def _slopes(x: Array, variances: Array) -> Array:
    """The vector s with <s, y> the slope of the regression of y on x, weighted by the inverse variances."""
    least = 1e-6 * variances.max()
    weights = 1 / np.maximum(variances, least) if least else np.ones(len(x))
    centered = x - weights @ x / weights.sum()
    return np.asarray(weights * centered / (weights @ centered**2))


def _misfit(x: Array, y: Array, errors: Array) -> float:
    """The standard deviation of y from a line, less what the errors explain of it."""
    if len(x) == 2:
        return 0.0
    A = np.column_stack([np.ones(len(x)), x])
    residual = np.eye(len(x)) - A @ np.linalg.pinv(A)
    excess = y @ residual @ y - np.diag(residual) @ errors**2
    return float(np.sqrt(max(excess, 0.0) / (len(x) - 2)))
