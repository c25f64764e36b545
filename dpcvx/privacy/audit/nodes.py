"""The noisy releases of a counter, found by running it on sources of its own: which items and which prefixes hold each.

How often an item is touched is counted by running the counter, not taken from its plan. A prefix that moves in a
direction that carries no noise at all is no privacy.
"""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.audit.evidence import Evidence, View
from dpcvx.privacy.audit.outputs import Maker, node_outputs, record
from dpcvx.privacy.noise import Source


class NodeEvidence(Evidence):
    """What the nodes of a counter tell.

    Args:
        make: builds the private sums, see `outputs`.
        padding: whether padding is hidden, in the test for directions without noise.
    """

    def __init__(self, make: Maker, *, padding: bool) -> None:
        self.make, self.padding = make, padding
        self.law = make(np.random.default_rng(0), 1).plan.law

    def influence(self) -> float:
        if not prefixes_are_hidden(self.make, padding=self.padding):
            return float("inf")
        return self.law.together(int(item_touches(self.make).max(initial=0)))

    def view(self, first: Any, second: Any) -> View:
        rng = np.random.default_rng(0)
        values = [np.vstack(record(self.make, stream, rng, 1)[0]).astype(float) for stream in (first, second)]
        moved = np.flatnonzero((values[0] != values[1]).any(axis=1))
        if not moved.size:
            raise ArgumentError("No node differs between the two streams; there is nothing to audit.")
        keep = frozenset(int(index) for index in moved)
        means = [value[moved].ravel() for value in values]

        def score(nodes: Array) -> Array:
            return self.law.log_ratio(nodes, *means)

        return View(node_outputs(self.make, first, keep=keep), node_outputs(self.make, second, keep=keep), score)


def item_touches(make: Maker) -> Array:
    """How many releases each of the items 1..T-1 enters, (T-1,): counted by running replica i on item i alone."""
    mechanism = make(np.random.default_rng(0), 1).mechanism
    steps = mechanism.counter((1, 1), TouchCount(1)).horizon - 1
    source = TouchCount(steps)
    counter = mechanism.counter((steps, 1), source)
    for item in np.eye(steps):
        counter.update(item[:, None])
    return source.touched


class TouchCount(Source):
    """No noise at all; counts the releases in which each replica is not 0."""

    secure = False

    def __init__(self, replicas: int) -> None:
        self.touched = np.zeros(replicas, dtype=int)

    def draw(self, values: Array) -> Array:
        self.touched += (values[..., 0] != 0).sum(axis=0)
        return np.zeros(values.shape)


class UnitNoise(Source):
    """Noise 1 in release number i of replica i, and 0 in all others: the prefixes then show where each noise goes."""

    secure = False

    def __init__(self) -> None:
        self.count = 0

    def draw(self, values: Array) -> Array:
        noise = np.zeros(values.shape)
        for k in range(len(values)):
            if self.count < values.shape[1]:
                noise[k, self.count] = 1.0
            self.count += 1
        return noise


def noise_matrix(make: Maker, *, padding: bool = True) -> Array:
    """W (T, releases): what each noise adds to each prefix of the counter."""
    mechanism = make(np.random.default_rng(0), 1).mechanism
    columns = 1
    while True:
        source = UnitNoise()
        counter = mechanism.counter((columns, 1), source)
        rows = []
        for _ in range(counter.horizon):
            rows.append(counter.prefix if padding else counter.unpadded)
            counter.update(np.zeros(1))
        if source.count <= columns:
            return np.stack(rows)[:, : source.count, 0]
        columns = source.count


def prefixes_are_hidden(make: Maker, *, padding: bool = True) -> bool:
    """Whether the change that any one item makes to the prefixes lies in the span of the noise."""
    W = noise_matrix(make, padding=padding)
    steps = np.tri(len(W), len(W) - 1, -1)  # item i moves the prefixes i, ..., T-1
    if not steps.size:
        return True
    fitted = W @ np.linalg.lstsq(W, steps, rcond=None)[0]
    return bool(np.abs(fitted - steps).max() < 1e-6)
