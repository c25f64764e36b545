"""The demo: learn routes through a small town, with and without privacy, and measure what privacy costs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.experiments.losses import from_array
from dpcvx.experiments.simulation import simulate
from dpcvx.experiments.simulation_result import Simulation
from dpcvx.learners import FTRL, AdaptiveBandit, Exp2, PrivateBandit, private_bandit
from dpcvx.privacy import Certificate
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies import town
from dpcvx.studies.idle import idle_regret
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION, SETTINGS

EPSILONS = (None, 3.0, 1.0, 0.3)  # None is without privacy
EPSILON = 1.0  # of the learners whose certificates are shown and whose drivers are drawn
PRICE_HEADER = ("epsilon", FULL_INFORMATION, "proved bound", BANDIT, "proved bound", "in practice")  # of `price`
STAGES = 3 + len(SETTINGS) * (1 + len(EPSILONS)) + len(EPSILONS)  # so often `run` tells what it does


@dataclass(frozen=True)
class Size:
    """How much is computed: rounds, replicas of each simulation, and rounds that are played with exact noise."""

    horizon: int = 8192
    replicas: int = 10
    secure_rounds: int = 400


QUICK = Size(horizon=1024, replicas=4, secure_rounds=50)


@dataclass(frozen=True)
class Findings:
    """All that the demo tells.

    Attributes:
        routes, times, losses: the declared sets, and the travel times (horizon, roads) that were played against.
        certificates: of learners without a seed after `size.secure_rounds` rounds, for each setting.
        flows: with full information, for no privacy (None) and for `EPSILON`, the mean action before the accident and
            that in the end.
        runs: simulations for each setting and epsilon.
        practice: those of the adaptive bandit, for each epsilon.
    """

    size: Size
    routes: DecisionSet
    times: LossSet
    losses: Array
    certificates: dict[str, Certificate]
    flows: dict[float | None, tuple[Array, Array]]
    runs: dict[tuple[str, float | None], Simulation]
    practice: dict[float | None, Simulation]

    @property
    def best(self) -> float:
        """What a trip costs on the best fixed route."""
        return -float(self.routes.support(-self.losses.mean(axis=0)))

    @property
    def idle(self) -> float:
        """How much more a trip costs the idle player, who never learns."""
        return idle_regret(self.routes, self.losses.mean(axis=0))

    def price(self) -> list[tuple[str, ...]]:
        """For each epsilon and setting: mean regret a trip with its standard error, and the proved bound.

        The last column is the bandit that one would use, for which nothing is proved.
        """
        return [("none" if epsilon is None else f"{epsilon:g}", *self._prices(epsilon)) for epsilon in EPSILONS]

    def _prices(self, epsilon: float | None) -> list[str]:
        cells, T = [], self.size.horizon
        for setting in SETTINGS:
            run = self.runs[setting, epsilon]
            cells += [self._measured(run), f"{run.bound.total / T:.3f}"]
        return [*cells, self._measured(self.practice[epsilon])]

    def _measured(self, run: Simulation) -> str:
        T = self.size.horizon
        return f"{run.final / T:.3f}" + (f" ± {run.standard_error[-1] / T:.3f}" if run.replicas > 1 else "")


def learner(setting: str, epsilon: float | None, X: DecisionSet, Y: LossSet, horizon: int) -> Any:
    """With full information FTRL; as a bandit the learner with the smallest proved bound, or Exp2 without privacy."""
    if setting == FULL_INFORMATION:
        return FTRL(X, Y, horizon, epsilon)
    return Exp2(X, Y, horizon) if epsilon is None else private_bandit(X, Y, horizon, epsilon)


def run(size: Size, tell: Callable[[str], None], progress: bool | None = None) -> Findings:
    """Play all learners.

    Args:
        size: how much is computed.
        tell: called with a sentence at the beginning of each of the `STAGES`.
        progress: whether every simulation shows a progress bar; see `simulate`.
    """
    tell("Declaring the routes and what travel times may be")
    X, Y, losses = town.routes(), town.times(), town.travel_times(size.horizon)
    make = partial(learner, X=X, Y=Y, horizon=size.horizon)
    certificates = {}
    for setting in SETTINGS:
        tell(f"Playing {size.secure_rounds} rounds with exact noise: {setting}, {_privacy(EPSILON)}")
        certificates[setting] = play(make(setting, EPSILON), losses[: size.secure_rounds])[0].certificate
    runs = {}
    for setting in SETTINGS:
        for epsilon in EPSILONS:
            tell(f"Simulating {setting}, {_privacy(epsilon)}")
            alike = setting == FULL_INFORMATION and epsilon is None  # no noise: all runs would be the same
            runs[setting, epsilon] = simulate(
                make(setting, epsilon), from_array(losses), 1 if alike else size.replicas, progress=progress
            )
    practice = {}
    for epsilon in EPSILONS:
        tell(f"Simulating the adaptive bandit, {_privacy(epsilon)}")
        adaptive = AdaptiveBandit(X, Y, size.horizon)
        playing = adaptive if epsilon is None else PrivateBandit(adaptive, epsilon)
        practice[epsilon] = simulate(playing, from_array(losses), size.replicas, progress=progress)
    flows = {}
    for epsilon, replicas in ((None, 1), (EPSILON, min(4, size.replicas))):
        tell(f"Following the drivers through the accident, {_privacy(epsilon)}")
        player = make(FULL_INFORMATION, epsilon).simulated(replicas, 0)
        flows[epsilon] = around_accident(play(player, losses)[1])
    return Findings(size, X, Y, losses, certificates, flows, runs, practice)


def around_accident(actions: Array) -> tuple[Array, Array]:
    """The mean action of a tenth of all rounds: just before the accident, and in the end."""
    crash, window = town.accident(len(actions)), max(1, len(actions) // 10)
    return actions[crash - window : crash].mean(axis=0), actions[-window:].mean(axis=0)


def play(player: Any, losses: Array) -> tuple[Any, Array]:
    """Play these rounds; the learner afterwards, and its actions (the mean of them where there are replicas)."""
    actions = []
    for loss in losses:
        action = player.act()
        actions.append(action.reshape(-1, *loss.shape).mean(axis=0))
        player.update(loss if player.sees == "loss" else float(loss @ action))
    return player, np.array(actions)


def _privacy(epsilon: float | None) -> str:
    return "no privacy" if epsilon is None else f"epsilon = {epsilon:g}"
