"""Play a learner against losses and measure its regret: one loop for every learner and every set."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.checkpoints.state_file import place_of, read_state, write_state
from dpcvx.errors import ArgumentError, CheckpointError, HorizonError, LossOutOfSetError
from dpcvx.experiments.looks import looks
from dpcvx.experiments.losses.recorded import Recorded, from_array
from dpcvx.experiments.losses.sequence import Losses
from dpcvx.experiments.progress import progress_bar
from dpcvx.experiments.replicas import players
from dpcvx.experiments.simulation_result import Simulation
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.loss_check import LossCheck
from dpcvx.sets.pairing import Pairing
from dpcvx.storage.fingerprint import fingerprint

_STRIDE = 256  # rounds between two looks at the clock
_LOOKS = 16  # losses that are held against their set
_ROOM = 1e-6  # by which they may be outside, relative to the set
_CHECKED = 2**24  # numbers of recorded losses that are all held against it


def simulate(
    learner: Any,
    losses: Losses | Any,
    replicas: int = 1,
    seed: int = 0,
    *,
    checkpoints: int | Iterable[int] = 64,
    progress: bool | None = None,
    resume: str | os.PathLike[str] | None = None,
    save_seconds: float = 30.0,
    resume_key: str = "",
) -> Simulation:
    """Play independent replicas of a learner against the same losses and return their regret curves.

    Args:
        learner: a learner with a method `simulated(replicas, seed)`, whose settings are used; what it has seen does not
            matter. Or a function of a seed that returns one replica: an object with `act`, `update`, `decision_set`.
        losses: a `Losses`, or an array (T, *shape).
        replicas: how many; regret is an expectation, and one run says little. Where a learner says that it is
            `deterministic`, one is played, and the others are its copies.
        seed: seeds the noise of the learners; the losses have a seed of their own.
        checkpoints: at how many rounds, on a logarithmic scale, or at which rounds to take the regret; the last round
            is always one of them.
        progress: whether to show progress on stderr: a bar in a terminal or a notebook, where it is the default, and a
            line every ten seconds elsewhere.
        resume: a file in which the run is kept while it lasts. The same call goes on from there after an interruption,
            to the same result, bit for bit; at the end the file is removed.
        save_seconds: how often the run is written there.
        resume_key: tells runs apart whose learners differ in ways that their `summary()` does not show, such as two
            functions that make learners of one class.

    Raises:
        CheckpointError: where the file belongs to another run.
        HorizonError: where there are more losses than the learner has rounds.
        ValueError: where losses and decisions differ in shape.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> losses = np.tile([-1.0, 1.0, 1.0], (200, 1))  # the first is always best
        >>> result = dpcvx.simulate(dpcvx.FTRL(X, Y, 200, epsilon=1.0), losses, replicas=8, seed=0)
        >>> result.final < result.bound.total < 400
        True
    """
    losses = losses if isinstance(losses, Losses) else from_array(losses)
    if isinstance(learner, type):
        raise ArgumentError(
            f"learner must be a learner or a function that makes one, not the class {learner.__name__}."
        )
    replicas = whole(replicas, "replicas")
    seed = whole(seed, "seed", at_least=0)
    rounds = _measured_rounds(checkpoints, losses.horizon)
    alike = replicas > 1 and getattr(learner, "deterministic", False)  # then one is played, and counts as all
    prototype, playing = players(learner, 1 if alike else replicas, seed)
    X = _decision_set(prototype, losses)
    state = SimulationState.start(1 if alike else replicas, losses.shape, len(rounds))
    kept = None
    if resume is not None:
        if any(getattr(one, "lineage", None) is not None for one in getattr(playing, "learners", [playing])):
            raise ArgumentError(
                "resume is for simulations; a secure learner must not be continued twice: use save and load."
            )
        call = f"{replicas} {seed} {rounds.tolist()} {resume_key}"
        kept = KeptRun(place_of(resume), _signature(prototype, losses, call))
        state, playing = kept.read() or (state, playing)
    started = saved = time.perf_counter()
    with progress_bar(losses.horizon, progress) as bar:
        while state.round < losses.horizon:
            play_on(state, playing, losses, rounds, X)
            bar.show(state.round)
            if kept is not None and time.perf_counter() - saved >= save_seconds:
                kept.write(state, playing)
                saved = time.perf_counter()
    if kept is not None:
        kept.path.unlink(missing_ok=True)
    return Simulation(
        rounds=rounds,
        regret=np.repeat(state.regret, replicas, axis=0) if alike else state.regret,
        bound=getattr(playing, "regret_bound", None),  # after the last round: without a horizon it grows
        certificate=getattr(playing, "certificate", None),
        learner=str(getattr(prototype, "name", type(prototype).__name__)),
        losses=losses.name,
        seconds=time.perf_counter() - started,
        check=_checked(prototype, losses),
    )


@dataclass
class SimulationState:
    """All that the loop remembers, apart from the learner.

    Attributes:
        round: rounds played.
        incurred: (replicas,) sums of <l_t, x_t>.
        total: the sum of the losses.
        regret: (replicas, measured rounds); only the first `recorded` columns are known yet.
    """

    round: int
    incurred: Array
    total: Array
    regret: Array
    recorded: int = 0

    @classmethod
    def start(cls, replicas: int, shape: tuple[int, ...], measured: int) -> "SimulationState":
        return cls(0, np.zeros(replicas), np.zeros(shape), np.full((replicas, measured), np.nan))


def play_on(state: SimulationState, playing: Any, losses: Losses, rounds: Array, X: DecisionSet) -> None:
    """Play to the next round at which regret is taken or multiple of a fixed number of rounds, whichever is first.

    Where it stops depends on the round alone, so a run that is resumed from a stop adds up in the same order.
    """
    stop = min(int(rounds[state.recorded]), (state.round // _STRIDE + 1) * _STRIDE)
    block = losses.block(state.round, stop)
    act, update, incurred = playing.act, playing.update, state.incurred
    replicas = len(incurred)
    pairing = Pairing(X, losses.shape)
    expected = (replicas, *X.shape)
    bandit = getattr(playing, "sees", "loss") == "value"
    for loss, flat in zip(block, block.reshape(len(block), -1), strict=True):
        x = np.asarray(act())
        if x.shape != expected:
            raise ArgumentError(f"act() returned an array of shape {x.shape}; expected {expected}.")
        values = pairing.usage(x).reshape(replicas, -1) @ flat
        incurred += values
        update(values if bandit else loss)
    if not X.contains(x[0], 1e-6):
        raise ArgumentError(f"In round {stop} the learner played a point outside the {X.name}.")
    state.total += block.sum(axis=0)
    state.round = stop
    if stop == rounds[state.recorded]:
        best = -float(X.support(-pairing.covector(state.total)))  # the least <L, x> over X
        state.regret[:, state.recorded] = incurred - best
        state.recorded += 1


@dataclass(frozen=True)
class KeptRun:
    """The file of an unfinished run, with the signature of the call that may go on from it."""

    path: Path
    signature: str

    def write(self, state: SimulationState, playing: Any) -> None:
        write_state(self.path, (self.signature, state, playing), "simulation")

    def read(self) -> tuple[SimulationState, Any] | None:
        if not self.path.exists():
            return None
        (signature, state, playing), _ = read_state(self.path, "simulation")
        if signature != self.signature:
            raise CheckpointError(f"{self.path} belongs to another run; give another file, or remove it.")
        return state, playing


def _signature(prototype: Any, losses: Losses, call: str) -> str:
    """What tells one run from another: the learner as far as it tells of itself, its sets, all losses, the call."""
    described = prototype.summary() if hasattr(prototype, "summary") else type(prototype).__name__
    sets = (prototype.decision_set, getattr(prototype, "loss_set", None))
    seen = (look for declared in sets if declared is not None for look in looks(declared))
    return fingerprint(f"{described}{losses!r}{call}", seen, losses)


def _decision_set(prototype: Any, losses: Losses) -> DecisionSet:
    """The set against whose best point regret is taken, after a look whether learner and losses fit together."""
    X = getattr(prototype, "decision_set", None)
    if not isinstance(X, DecisionSet):
        raise ArgumentError(
            f"The learner needs an attribute decision_set, against whose best point its regret is taken, not {X!r}."
        )
    Pairing(X, losses.shape)  # raises where the shapes do not go together
    Y = getattr(prototype, "loss_set", None)
    if isinstance(Y, LossSet):
        for k in np.unique(np.linspace(0, losses.horizon - 1, _LOOKS).astype(int)):
            if not Y.contains(losses.block(k, k + 1)[0], _ROOM):
                found = _checked(prototype, losses) or Y.check(losses.block(k, k + 1), _ROOM)
                raise LossOutOfSetError(
                    f"The loss of round {k + 1} is outside the loss set of the learner. "
                    f"{found.sentence} {found.suggestion}"
                )
    horizon = getattr(prototype, "horizon", None)
    if horizon is not None and losses.horizon > horizon:
        raise HorizonError(f"There are {losses.horizon} losses, but the learner's horizon is {horizon}.")
    return X


def _checked(prototype: Any, losses: Losses) -> LossCheck | None:
    """Recorded losses held against the learner's loss set; of others, which are made for it, there is nothing to say.

    Nothing is private about the losses of a simulation. Of very many, those that make up a first block are checked.
    """
    Y = getattr(prototype, "loss_set", None)
    if not isinstance(losses, Recorded) or not isinstance(Y, LossSet):
        return None
    rounds = min(losses.horizon, max(1, _CHECKED // max(1, Y.size)))
    return Y.check(losses.block(0, rounds), _ROOM)


def _measured_rounds(checkpoints: int | Iterable[int], horizon: int) -> Array:
    """The rounds after which regret is taken, increasing; see `simulate` for the argument `checkpoints`."""
    if isinstance(checkpoints, Iterable):
        rounds = [whole(k, "A checkpoint") for k in checkpoints]
        if max(rounds, default=1) > horizon:
            raise ArgumentError(f"There are {horizon} rounds, but a checkpoint is {max(rounds)}.")
        return np.unique([*rounds, horizon])
    count = whole(checkpoints, "checkpoints")
    return np.unique([*np.geomspace(1, horizon, count).round().astype(int), horizon])
