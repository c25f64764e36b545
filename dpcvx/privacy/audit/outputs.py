"""Samplers of whole output sequences: prefixes, nodes and a learner's actions.

`make(rng, n)` builds the private sums under audit: in simulation with `seed=rng, replicas=n`. Where it returns secure
sums (it then ignores both), n runs are n blocks of coordinates of one counter: the noise of coordinates is independent.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.audit.feeding import feedback
from dpcvx.privacy.audit.lower_bound import Sampler
from dpcvx.privacy.counters import Counter
from dpcvx.privacy.noise import Source
from dpcvx.privacy.private_sums import PrivateSums

Maker = Callable[[np.random.Generator, int], PrivateSums]


class RecordingSource(Source):
    """Hands out the noise of another source and keeps what was released: the nodes, true sum plus noise.

    Args:
        inner: where the noise comes from.
        keep: which releases to keep, counted from 0; by default all. The others get no noise: theirs would be
            independent of the kept ones.
    """

    def __init__(self, inner: Source, keep: frozenset[int] | None = None) -> None:
        self.inner, self.keep, self.secure = inner, keep, inner.secure
        self.values: list[Array] = []
        self.nodes: list[Array] = []
        self._count = 0

    def draw(self, values: Array) -> Array:
        kept = [k for k in range(len(values)) if self.keep is None or self._count + k in self.keep]
        self._count += len(values)
        noise = np.zeros(values.shape, dtype=values.dtype)
        if kept:
            noise[kept] = self.inner.draw(values[kept])
            self.values += [values[k].copy() for k in kept]
            self.nodes += [values[k] + noise[k] for k in kept]
        return noise


class Runs:
    """n independent runs of the counter inside private sums.

    Args:
        make: see the module.
        rng, n: handed to `make`.
        around: what to put around the source of the noise.
    """

    def __init__(
        self, make: Maker, rng: np.random.Generator, n: int, around: Callable[[Source], Source] | None = None
    ) -> None:
        self.mechanism = make(rng, n).mechanism
        self.n, self.size = n, self.mechanism.loss_set.size
        if not self.mechanism.secure and self.mechanism.leading != (n,):
            raise ArgumentError(f"make(rng, n) must return sums with replicas=n, here {n}.")
        shape: tuple[int, ...] = (n * self.size,) if self.mechanism.secure else (n, self.size)
        source = self.mechanism.source(shape[-1])
        self.counter: Counter = self.mechanism.counter(shape, around(source) if around else source)

    def take(self, loss: Any) -> None:
        """Add one round's loss to every run, clipped and rounded as the sums under audit do it."""
        units = self.mechanism.units(loss)
        self.counter.update(np.tile(units, self.n) if self.mechanism.secure else units)

    def blocks(self, release: Array) -> Array:
        """A release with one row for each run."""
        return release.reshape(self.n, self.size)

    def released(self, padding: bool = True) -> Array:
        """The prefix of each run in units of the grid, with or without the padding of the binary tree."""
        return self.blocks(self.counter.prefix if padding else self.counter.unpadded)


def prefix_outputs(make: Maker, losses: Any, *, padding: bool = True) -> Sampler:
    """A sampler of all prefixes that a stream of losses (T, *shape) releases: (n, T N), in units of the grid.

    Without padding the binary tree is audited as if its padding were known, which only tells more. As many prefixes are
    released as the counter allows, at most one for each loss and the empty one.
    """
    stream = np.asarray(losses, dtype=float)

    def sample(rng: np.random.Generator, n: int) -> Array:
        runs = Runs(make, rng, n)
        outputs = [runs.released(padding)]
        for loss in stream:
            runs.take(loss)
            if runs.counter.items == runs.counter.horizon:
                break
            outputs.append(runs.released(padding))
        return np.hstack(outputs)

    return sample


def node_outputs(make: Maker, losses: Any, *, keep: frozenset[int] | None = None) -> Sampler:
    """A sampler of the noisy nodes behind all prefixes, (n, nodes N), in units of the grid: they tell all of it.

    Args:
        make: see the module.
        losses: (T, *shape).
        keep: which nodes to sample, in the order in which they are drawn; by default all.
    """
    stream = np.asarray(losses, dtype=float)

    def sample(rng: np.random.Generator, n: int) -> Array:
        return np.hstack(record(make, stream, rng, n, keep)[1])

    return sample


def record(
    make: Maker, losses: Any, rng: np.random.Generator, n: int, keep: frozenset[int] | None = None
) -> tuple[list[Array], list[Array]]:
    """True sums and noisy nodes of n runs on a stream, one array (n, N) for each node, in units of the grid."""
    recorders: list[RecordingSource] = []

    def around(source: Source) -> Source:
        recorders.append(RecordingSource(source, keep))
        return recorders[0]

    runs = Runs(make, rng, n, around)
    (recorder,) = recorders
    for loss in losses:
        if keep is not None and len(recorder.nodes) == len(keep):
            break
        runs.take(loss)
    return [runs.blocks(value) for value in recorder.values], [runs.blocks(node) for node in recorder.nodes]


def learner_outputs(factory: Callable[[np.random.Generator], Any], losses: Any) -> Sampler:
    """A sampler of the whole sequence of actions of a learner, (n, T times the size of an action).

    Args:
        factory: builds a new learner with `act()` and `update(feedback)` from a generator, once for each run; a bandit,
            by `sees = "value"`, gets <loss, action>.
        losses: (T, *shape).
    """
    stream = np.asarray(losses, dtype=float)

    def run(rng: np.random.Generator) -> Array:
        learner = factory(rng)
        actions = []
        for loss in stream:
            action = np.asarray(learner.act(), dtype=float)
            learner.update(feedback(learner, loss, action))
            actions.append(action.ravel())
        return np.concatenate(actions)

    def sample(rng: np.random.Generator, n: int) -> Array:
        return np.stack([run(rng) for _ in range(n)])

    return sample
