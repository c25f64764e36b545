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
from dpcvx.privacy.change import Change
from dpcvx.privacy.noise import SAMPLERS
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies import leaky_mechanisms as leaky

_SIZE, _ROUNDS, _BATCH = 3, 24, 3
_OUTSIDE = 50.0  # losses are so many times too long
_LITTLE = 0.01  # what one person changes


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


def changed_mechanisms() -> Iterator[Coupled]:
    """Every learner under every kind of declared change; then those that take it for less than it is."""
    decisions, losses = _sets()
    for name, change in declared_changes(Change).items():
        learners: dict[str, Callable[[], Any]] = {
            "FTRL, Laplace noise": partial(FTRL, decisions, losses, _ROUNDS, 1.0, noise="laplace", neighbours=change),
            "FTRL, Gaussian noise": partial(FTRL, decisions, losses, _ROUNDS, 1.0, 1e-6, neighbours=change),
            "FTPL, epochs": partial(FTPL, decisions, losses, None, 1.0, neighbours=change),
            "Exp2, batches": partial(_private, Exp2(decisions, losses, _ROUNDS), neighbours=change),
            "SCRiBLe, batches": partial(_private, SCRiBLe(decisions, losses, _ROUNDS), neighbours=change),
            "log barrier": partial(_private, LogBarrierBandit(_SIZE, losses, _ROUNDS), neighbours=change),
        }
        for learner, make in learners.items():
            yield Coupled(f"{learner}; {name}", True, make, _changed_streams(losses, change, make().certificate.grid))
    ball = cp.Variable(8)
    round_losses = LossSet(ball, [cp.norm1(ball) <= 1])
    d = cp.Variable(8)
    nearest = leaky.NearestLoss(d, [cp.norm1(d) <= _LITTLE])
    beyond = np.zeros((2, _ROUNDS, 8))
    beyond[:, 0] = 0.5
    beyond[1, 0, 0] += _LITTLE
    make = partial(PrivateSums, round_losses, _ROUNDS, 1.0, noise="laplace", neighbours=nearest)
    yield Coupled("to the nearest loss, not by entries", False, make, ((beyond[0], beyond[1]),))
    mistakes = (("a change a hundredth short", leaky.HundredthShort), ("a unit forgotten", leaky.UnitForgotten))
    for mistake, kind in mistakes:
        for name, change in declared_changes(kind).items():
            make = partial(PrivateSums, losses, _ROUNDS, 1.0, noise="laplace", neighbours=change)
            streams = _changed_streams(losses, change, make().certificate.grid)
            yield Coupled(f"{mistake}; {name}", False, make, streams)
    short = declared_changes(leaky.HundredthShort)["entries move"]
    make = partial(_private, Exp2(decisions, losses, _ROUNDS), neighbours=short)
    yield Coupled("feedback, a change a hundredth short", False, make, (worst_neighbours(losses, _ROUNDS, short),))


def declared_changes(kind: type[Change]) -> dict[str, Change]:
    """A change of any entries, one that comes or goes, and one contribution that becomes another."""
    d, comes, c = cp.Variable(_SIZE), cp.Variable(_SIZE), cp.Variable(_SIZE)
    return {
        "entries move": kind(d, [cp.norm_inf(d) <= _LITTLE / 3]),
        "one comes": kind(comes, [comes >= _LITTLE / 10, cp.sum(comes) == _LITTLE]),
        "one is replaced": kind(c, [c >= 0, cp.sum(c) == _LITTLE], replace=True),
    }


def _changed_streams(losses: LossSet, change: Change, step: float) -> tuple[tuple[Array, Array], ...]:
    """Streams that differ by a longest change: at an end, where rounding adds most, and outside of the losses."""
    ends, rounded = worst_neighbours(losses, _ROUNDS, change), worst_neighbours(losses, _ROUNDS, change, step=step)
    late = worst_neighbours(losses, _ROUNDS, change, norm=2, item=_ROUNDS // 2)
    return ends, rounded, late, (ends[0] - _LITTLE / 4, ends[1] - _LITTLE / 4)


def _private(learner: Bandit, reduction: type[PrivateBandit] = PrivateBandit, **options: Any) -> PrivateBandit:
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
