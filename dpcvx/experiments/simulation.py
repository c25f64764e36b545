"""Play a learner against losses and measure its regret: one loop for every learner and every set."""

import importlib
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dpcvx import markup
from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.checkpoints.state_file import place_of, read_state, write_state
from dpcvx.errors import CheckpointError, HorizonError, LossOutOfSetError
from dpcvx.experiments.looks import looks
from dpcvx.experiments.losses.recorded import from_array
from dpcvx.experiments.losses.sequence import Losses
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.storage.fingerprint import fingerprint

_STRIDE = 256  # rounds between two looks at the clock
_ROWS = 10  # of a printed table
_LOOKS = 16  # losses that are held against their set


@dataclass(frozen=True, eq=False)
class Simulation:
    """Regret of independent replicas of a learner against the best fixed point in hindsight, at some rounds.

    Attributes:
        rounds: the rounds at which the regret was taken, increasing; the last is the number of all rounds.
        regret: (replicas, len(rounds)).
        bound: what the learner promises for the expected regret, with `.learning`, `.privacy` and `.total`, or None.
        certificate: of the learner that ran, or None.
        learner, losses: their names.
        seconds: how long it took.
    """

    rounds: Array
    regret: Array
    bound: Any
    certificate: Any
    learner: str
    losses: str
    seconds: float

    @property
    def replicas(self) -> int:
        return len(self.regret)

    @property
    def mean(self) -> Array:
        """The mean over the replicas at every checkpoint."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> Array:
        """Of the mean; NaN for one replica."""
        if self.replicas == 1:
            return np.full(len(self.rounds), np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.replicas))

    @property
    def final(self) -> float:
        """The mean regret after the last round."""
        return float(self.mean[-1])

    def band(self, level: float = 0.9) -> tuple[Array, Array]:
        """The quantiles over the replicas between which the share `level` of them lies: (lower, upper)."""
        if not 0 <= level <= 1:
            raise ValueError(f"level must be between 0 and 1, not {level}.")
        lower, upper = np.quantile(self.regret, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return lower, upper

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one row for each replica and checkpoint: learner, losses, replica, round, regret."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas.") from error
        replica, checkpoint = np.indices(self.regret.shape)
        return pandas.DataFrame(
            {
                "learner": self.learner,
                "losses": self.losses,
                "replica": replica.ravel(),
                "round": self.rounds[checkpoint.ravel()],
                "regret": self.regret.ravel(),
            }
        )

    def plot(self, ax: Any = None, *, level: float = 0.9) -> Any:
        """Mean, band and bound over the rounds, on matplotlib axes, which are returned."""
        if ax is None:
            ax = importlib.import_module("matplotlib.pyplot").figure(layout="constrained").add_subplot()
        (line,) = ax.plot(self.rounds, self.mean, label=f"{self.learner} on {self.losses}")
        color = line.get_color()
        if self.replicas > 1:
            ax.fill_between(self.rounds, *self.band(level), color=color, alpha=0.2, linewidth=0)
        if self.bound is not None:
            ax.axhline(self.bound.total, color=color, linestyle="--", label=f"proved bound {self.bound.total:.4g}")
        ax.set(xscale="log", xlabel="rounds", ylabel="regret")
        ax.legend()
        return ax

    def _title(self) -> str:
        plural = "replica" if self.replicas == 1 else "replicas"
        return (
            f"{self.learner} on {self.losses}: {self.rounds[-1]} rounds, {self.replicas} {plural}, {self.seconds:.3g} s"
        )

    def _table(self) -> list[tuple[str, ...]]:
        """The header, then a few checkpoints spread over all of them."""
        lower, upper = self.band()
        shown = np.unique(np.linspace(0, len(self.rounds) - 1, _ROWS).round().astype(int))
        columns = (self.mean, self.standard_error, lower, upper)
        rows = [(f"{self.rounds[k]}", *(f"{column[k]:.5g}" for column in columns)) for k in shown]
        return [("rounds", "mean regret", "std. error", "5 %", "95 %"), *rows]

    def _promise(self) -> str:
        if self.bound is None:
            return "no proved bound"
        return (
            f"proved bound {self.bound.total:.5g} = {self.bound.learning:.5g} for learning "
            f"+ {self.bound.privacy:.5g} for privacy"
        )

    def __str__(self) -> str:
        lines = ["".join(f"{cell:>13s}" for cell in row) for row in self._table()]
        return "\n".join([self._title(), *lines, f"  {self._promise()}"])

    def _repr_html_(self) -> str:
        header, *rows = self._table()
        return f"<p>{markup.text(self._title())}</p>{markup.table(rows, header)}<p>{markup.text(self._promise())}</p>"


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
        replicas: how many; regret is an expectation, and one run says little.
        seed: of the learners' noise; the losses have a seed of their own.
        checkpoints: at how many rounds, on a logarithmic scale, or at which rounds to take the regret; the last round
            is always one of them.
        progress: whether to show a progress bar on stderr; by default where that is a terminal.
        resume: a file in which the run is kept while it lasts. The same call goes on from there after an interruption,
            to the same result, bit for bit; at the end the file is removed.
        save_seconds: how often the run is written there.
        resume_key: tells runs apart whose learners differ in ways that their `summary()` does not show, such as two
            functions that make learners of one class.

    Raises:
        CheckpointError: where the file belongs to another run.
        HorizonError: where there are more losses than the learner has rounds.
        ValueError: where losses and decisions differ in shape.
    """
    losses = losses if isinstance(losses, Losses) else from_array(losses)
    if isinstance(learner, type):
        raise ValueError(f"learner must be a learner or a function that makes one, not the class {learner.__name__}.")
    replicas = whole(replicas, "replicas")
    seed = whole(seed, "seed", at_least=0)
    rounds = _checkpoint_rounds(checkpoints, losses.horizon)
    prototype, playing = _players(learner, replicas, seed)
    X = _decision_set(prototype, losses)
    state = SimulationState.start(replicas, losses.shape, len(rounds))
    kept = None
    if resume is not None:
        if any(getattr(one, "lineage", None) is not None for one in getattr(playing, "learners", [playing])):
            raise ValueError(
                "resume is for simulations; a secure learner must not be continued twice: use save and load."
            )
        call = f"{replicas} {seed} {rounds.tolist()} {resume_key}"
        kept = KeptRun(place_of(resume), _signature(prototype, losses, call))
        state, playing = kept.read() or (state, playing)
    started = saved = time.perf_counter()
    show = sys.stderr.isatty() if progress is None else progress
    with ProgressBar(losses.horizon, sys.stderr if show else None) as bar:
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
        regret=state.regret,
        bound=getattr(playing, "regret_bound", None),  # after the last round: without a horizon it grows
        certificate=getattr(playing, "certificate", None),
        learner=str(getattr(prototype, "name", type(prototype).__name__)),
        losses=losses.name,
        seconds=time.perf_counter() - started,
    )


@dataclass
class SimulationState:
    """All that the loop remembers, apart from the learner.

    Attributes:
        round: rounds played.
        incurred: (replicas,) sums of <l_t, x_t>.
        total: the sum of the losses.
        regret: (replicas, checkpoints), of which the first `recorded` are known.
    """

    round: int
    incurred: Array
    total: Array
    regret: Array
    recorded: int = 0

    @classmethod
    def start(cls, replicas: int, shape: tuple[int, ...], checkpoints: int) -> "SimulationState":
        return cls(0, np.zeros(replicas), np.zeros(shape), np.full((replicas, checkpoints), np.nan))


def play_on(state: SimulationState, playing: Any, losses: Losses, rounds: Array, X: DecisionSet) -> None:
    """Play to the next checkpoint or multiple of a fixed number of rounds, whichever is first.

    Where it stops depends on the round alone, so a run that is taken up again at a stop adds in the same order.
    """
    stop = min(int(rounds[state.recorded]), (state.round // _STRIDE + 1) * _STRIDE)
    block = losses.block(state.round, stop)
    act, update, incurred = playing.act, playing.update, state.incurred
    replicas = len(incurred)
    expected = (replicas, *losses.shape)
    bandit = getattr(playing, "sees", "loss") == "value"
    for loss, flat in zip(block, block.reshape(len(block), -1), strict=True):
        x = np.asarray(act())
        if x.shape != expected:
            raise ValueError(f"act() returned an array of shape {x.shape}; expected {expected}.")
        values = x.reshape(replicas, -1) @ flat
        incurred += values
        update(values if bandit else loss)
    if not X.contains(x[0], 1e-6):
        raise ValueError(f"In round {stop} the learner played a point outside the {X.name}.")
    state.total += block.sum(axis=0)
    state.round = stop
    if stop == rounds[state.recorded]:
        best = -float(X.support(-state.total))  # the least <L, x> over X
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


class Replicas:
    """Learners of one replica each, side by side."""

    def __init__(self, learners: list[Any]) -> None:
        self.learners = learners

    def act(self) -> Array:
        return np.stack([learner.act() for learner in self.learners])

    @property
    def sees(self) -> str:
        return str(getattr(self.learners[0], "sees", "loss"))

    def update(self, feedback: Array) -> None:
        each = feedback if self.sees == "value" else [feedback] * len(self.learners)
        for learner, seen in zip(self.learners, each, strict=True):
            learner.update(seen)

    @property
    def regret_bound(self) -> Any:
        return getattr(self.learners[0], "regret_bound", None)

    @property
    def certificate(self) -> Any:
        return getattr(self.learners[0], "certificate", None)


def _players(learner: Any, replicas: int, seed: int) -> tuple[Any, Any]:
    """The learner that describes itself, and the one that plays."""
    if hasattr(learner, "simulated"):
        return learner, learner.simulated(replicas, seed)
    if not callable(learner):
        raise ValueError(f"learner must have a method simulated(replicas, seed) or be a function, not {learner!r}.")
    children = np.random.SeedSequence(seed).spawn(replicas)
    made = [learner(int(child.generate_state(1, np.uint64)[0])) for child in children]
    return made[0], Replicas(made)


def _decision_set(prototype: Any, losses: Losses) -> DecisionSet:
    X = getattr(prototype, "decision_set", None)
    if not isinstance(X, DecisionSet):
        raise ValueError(
            f"The learner needs an attribute decision_set, against whose best point its regret is taken, not {X!r}."
        )
    if losses.shape != X.shape:
        raise ValueError(f"The losses have shape {losses.shape}, but the decisions have shape {X.shape}.")
    Y = getattr(prototype, "loss_set", None)
    if isinstance(Y, LossSet):
        for k in np.unique(np.linspace(0, losses.horizon - 1, _LOOKS).astype(int)):
            if not Y.contains(losses.block(k, k + 1)[0], 1e-6):
                raise LossOutOfSetError(f"The loss of round {k + 1} is outside the loss set of the learner.")
    horizon = getattr(prototype, "horizon", None)
    if horizon is not None and losses.horizon > horizon:
        raise HorizonError(f"There are {losses.horizon} losses, but the learner's horizon is {horizon}.")
    return X


def _checkpoint_rounds(checkpoints: int | Iterable[int], horizon: int) -> Array:
    if isinstance(checkpoints, Iterable):
        rounds = [whole(k, "A checkpoint") for k in checkpoints]
        if max(rounds, default=1) > horizon:
            raise ValueError(f"There are {horizon} rounds, but a checkpoint is {max(rounds)}.")
        return np.unique([*rounds, horizon])
    count = whole(checkpoints, "checkpoints")
    return np.unique([*np.geomspace(1, horizon, count).round().astype(int), horizon])


@dataclass
class ProgressBar:
    """One line that shows how far a loop is and how long it will take; without a stream, nothing."""

    total: int
    stream: TextIO | None
    _started: float = 0.0
    _shown: float = -np.inf

    def show(self, done: int) -> None:
        """Redraw the line, at most five times a second."""
        if self.stream is None:
            return
        now = time.monotonic()
        if now - self._shown < 0.2 and done < self.total:
            return
        self._shown = now
        elapsed = now - self._started
        full = 30 * done // self.total
        left = elapsed * (self.total - done) / done
        clock = f"{_clock(left)} left" if done < self.total else f"took {_clock(elapsed)}"
        self.stream.write(f"\r[{'#' * full:<30s}] {100 * done // self.total:3d} %  {done}/{self.total}  {clock}\x1b[K")
        self.stream.flush()

    def __enter__(self) -> "ProgressBar":
        self._started = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None and np.isfinite(self._shown):
            self.stream.write("\n")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
