"""What the table of the audit only couples: shipped learners, and leaks where sampling has no power."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners import FTPL, FTRL, Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe
from dpcvx.learners.bandits import Bandit
from dpcvx.privacy.audit.worst_case import worst_neighbours
from dpcvx.privacy.noise import SAMPLERS
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies import leaky_mechanisms as leaky

_SIZE, _ROUNDS, _BATCH = 3, 24, 3
_OUTSIDE = 50.0  # losses are so many times too long


@dataclass(frozen=True)
class Coupled:
    """A mechanism, and the pairs of neighbouring streams on which it is coupled."""

    name: str
    shipped: bool
    make: Callable[[], Any]
    streams: tuple[tuple[Array, Array], ...]


def coupled_mechanisms() -> Iterator[Coupled]:
    """Learners with epochs, batches and losses outside the set; then the leaky ones."""
    decisions, losses = _sets()
    worst, usual = worst_neighbours(losses, _ROUNDS), _usual_neighbours()
    streams = ((_OUTSIDE * worst[0], _OUTSIDE * worst[1]), usual)
    for kind in (FTRL, FTPL):
        for delta in (0.0, 1e-6):
            for sampler in SAMPLERS:
                name = f"{kind.__name__}, {'Gaussian' if delta else 'Laplace'} noise, epochs, {sampler}"
                make = partial(kind, decisions, losses, None, 1.0, delta, sampler=sampler)
                yield Coupled(name, True, make, streams)
    bandits: tuple[Bandit, ...] = (
        Exp2(decisions, losses, _ROUNDS),
        SCRiBLe(decisions, losses, _ROUNDS),
        LogBarrierBandit(_SIZE, losses, _ROUNDS),
    )
    for learner in bandits:
        for sampler in SAMPLERS:
            private = partial(_private, learner, PrivateBandit, sampler=sampler)
            yield Coupled(f"private {learner.name}, batches, {sampler}", True, private, streams)
    sums = (
        ("sensitivity a thousandth short", leaky.ShortSensitivity),
        ("a low bit of the sum shown", leaky.LowBitShown),
        ("a certificate that shows the sum", leaky.SumInTheCertificate),
        ("an exception that shows the loss", leaky.LossInTheException),
    )
    for name, wrong in sums:
        yield Coupled(name, False, partial(wrong, losses, _ROUNDS, 1.0), (worst, usual))
    feedbacks = (("feedback unclipped", leaky.UnclippedFeedback), ("a release repeated", leaky.RepeatedFeedback))
    for name, feedback in feedbacks:
        yield Coupled(name, False, partial(_private, bandits[0], leaky.LeakyBandit, kind=feedback), streams)


def _private(learner: Bandit, reduction: type[PrivateBandit], **options: Any) -> PrivateBandit:
    """A private bandit on a new learner of the same settings."""
    return reduction(learner.simulated(None, 0), 1.0, batch=_BATCH, **options)


def _sets() -> tuple[DecisionSet, LossSet]:
    """The simplex, and the box of losses."""
    x, loss = cp.Variable(_SIZE), cp.Variable(_SIZE)
    return DecisionSet(x, [x >= 0, cp.sum(x) == 1], name="simplex"), LossSet(loss, [loss >= -1, loss <= 1])


def _usual_neighbours() -> tuple[Array, Array]:
    """Streams of losses drawn from the box, of which one is drawn anew: they differ in low bits too."""
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, (_ROUNDS, _SIZE))
    second = first.copy()
    second[_ROUNDS // 2] = rng.uniform(-1, 1, _SIZE)
    return first, second
