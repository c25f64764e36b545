"""Exact log-likelihood ratios of two streams, where the law of the noise is known: the sharpest scores there are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular, toeplitz

from dpcvx.arrays import Array
from dpcvx.privacy.audit.events import Score
from dpcvx.privacy.audit.lower_bound import Sampler
from dpcvx.privacy.audit.outputs import Maker, Runs, node_outputs, prefix_outputs, record
from dpcvx.privacy.counters import Toeplitz
from dpcvx.privacy.counters.toeplitz import factors
from dpcvx.privacy.noise import Gaussian, KNorm, Laplace, Law


@dataclass(frozen=True)
class View:
    """Two samplers and the exact log-likelihood ratio of their outputs: what `audit` needs."""

    first: Sampler
    second: Sampler
    score: Score


def laplace_ratio(nodes: Array, first: Array, second: Array, scale: float) -> Array:
    """ln p(nodes | first)/p(nodes | second) for Laplace noise around true sums; over the last axis."""
    return np.asarray((np.abs(nodes - second) - np.abs(nodes - first)).sum(axis=-1) / scale)


def gaussian_ratio(nodes: Array, first: Array, second: Array, scale: float) -> Array:
    """The same for Gaussian noise."""
    return np.asarray((nodes - (first + second) / 2) @ (first - second) / scale**2)


def knorm_ratio(nodes: Array, first: Array, second: Array, law: KNorm) -> Array:
    """The same for K-norm noise on each block of N coordinates."""
    half = np.array(law.half)
    order = np.inf if law.body == "box" else 2

    def size(differences: Array) -> Array:
        blocks = differences.reshape(*differences.shape[:-1], -1, half.size) / half
        return np.asarray(np.linalg.norm(blocks, order, axis=-1).sum(axis=-1))

    return (size(nodes - second) - size(nodes - first)) / law.scale


def log_ratio(law: Law, nodes: Array, first: Array, second: Array) -> Array:
    """ln p(nodes | first)/p(nodes | second), by the law of the noise."""
    if isinstance(law, KNorm):
        return knorm_ratio(nodes, first, second, law)
    if isinstance(law, Laplace):
        return laplace_ratio(nodes, first, second, law.scale)
    if isinstance(law, Gaussian):
        return gaussian_ratio(nodes, first, second, law.scale)
    raise ValueError(f"No likelihood is known for {law.name} noise; leave the score out and it is learned.")


def exact_view(make: Maker, first: Any, second: Any) -> View:
    """The sharpest view of private sums on two streams (T, *shape): the nodes that differ; for Toeplitz C x + z."""
    runs = Runs(make, np.random.default_rng(0), 1)
    return _stream_view(make, first, second) if isinstance(runs.counter, Toeplitz) else _node_view(make, first, second)


def _node_view(make: Maker, first: Any, second: Any) -> View:
    rng = np.random.default_rng(0)
    law = Runs(make, rng, 1).sums.plan.law
    values = [np.vstack(record(make, stream, rng, 1)[0]).astype(float) for stream in (first, second)]
    moved = np.flatnonzero((values[0] != values[1]).any(axis=1))
    if not moved.size:
        raise ValueError("No node differs between the two streams; there is nothing to audit.")
    keep = frozenset(int(index) for index in moved)
    means = [value[moved].ravel() for value in values]

    def score(nodes: Array) -> Array:
        return log_ratio(law, nodes, *means)

    return View(node_outputs(make, first, keep=keep), node_outputs(make, second, keep=keep), score)


def _stream_view(make: Maker, first: Any, second: Any) -> View:
    """The prefixes are B y with y = C x + z: y is recovered from them, and its law is Gaussian around C x."""
    runs = Runs(make, np.random.default_rng(0), 1)
    size, law = runs.size, runs.sums.plan.law
    steps = min(len(first), runs.counter.horizon - 1)
    f = factors(runs.counter.horizon)
    powers = np.arange(steps)[:, None]
    b, c = ((f.omega * f.theta**powers).sum(axis=1), (f.gains * f.poles**powers).sum(axis=1))
    matrix_b, matrix_c = (toeplitz(column, np.zeros(steps)) for column in (b, c))
    flat = [
        np.array([runs.sums._rounded(runs.sums._clipped(runs.sums.loss_set.flatten(loss))) for loss in stream[:steps]])
        for stream in (first, second)
    ]
    means = [(matrix_c @ x.astype(float)).ravel() for x in flat]

    def score(prefixes: Array) -> Array:
        tail = prefixes.reshape(len(prefixes), -1, size)[:, 1:]  # the empty prefix carries no noise
        stacked = np.moveaxis(tail, 1, 0).reshape(steps, -1)
        y = solve_triangular(matrix_b, stacked, lower=True).reshape(steps, len(prefixes), size)
        return log_ratio(law, np.moveaxis(y, 0, 1).reshape(len(prefixes), -1), *means)

    return View(prefix_outputs(make, first), prefix_outputs(make, second), score)
