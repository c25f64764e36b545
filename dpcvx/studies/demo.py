"""The main job on an embedded default: learn routes through a small town, with and without privacy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.experiments.losses import from_array
from dpcvx.experiments.simulation import Simulation, simulate
from dpcvx.learners import FTRL, Exp2, private_bandit
from dpcvx.privacy import Certificate
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies import town

EPSILONS = (None, 3.0, 1.0, 0.3)  # None is without privacy
EPSILON = 1.0  # of the learners that are certified and drawn
SETTINGS = ("full information", "bandit feedback")
STAGES = 3 + len(SETTINGS) * (1 + len(EPSILONS))  # of which `run` tells


@dataclass(frozen=True)
class Size:
    """How much is computed: rounds, replicas of each simulation, rounds that are played with exact noise."""

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
        flows: with full information, without privacy and with, the mean action before the accident and in the end.
        runs: simulations for each setting and epsilon.
    """

    size: Size
    routes: DecisionSet
    times: LossSet
    losses: Array
    certificates: dict[str, Certificate]
    flows: dict[float | None, tuple[Array, Array]]
    runs: dict[tuple[str, float | None], Simulation]

    @property
    def best(self) -> float:
        """What a trip costs on the best fixed route."""
        return -float(self.routes.support(-self.losses.mean(axis=0)))

    @property
    def aimless(self) -> float:
        """What a trip costs for who plays the center of the set and learns nothing."""
        return float(self.losses.mean(axis=0) @ self.routes.center)

    def price(self) -> list[tuple[str, ...]]:
        """For each epsilon and setting: mean regret a trip with its standard error, and the proved bound."""
        return [("none" if epsilon is None else f"{epsilon:g}", *self._prices(epsilon)) for epsilon in EPSILONS]

    def _prices(self, epsilon: float | None) -> list[str]:
        cells, T = [], self.size.horizon
        for setting in SETTINGS:
            run = self.runs[setting, epsilon]
            error = f" ± {run.standard_error[-1] / T:.3f}" if run.replicas > 1 else ""
            cells += [f"{run.final / T:.3f}{error}", f"{run.bound.total / T:.3f}"]
        return cells


def learner(setting: str, epsilon: float | None, X: DecisionSet, Y: LossSet, horizon: int) -> Any:
    """Full information: FTRL. Bandit feedback: what has the smallest proved bound; Exp2 where there is no privacy."""
    if setting == "full information":
        return FTRL(X, Y, horizon, epsilon)
    return Exp2(X, Y, horizon) if epsilon is None else private_bandit(X, Y, horizon, epsilon)


def run(size: Size, tell: Callable[[str], None], progress: bool | None = None) -> Findings:
    """Play all learners; `tell` hears what is being done, and every simulation shows a bar where `progress` says so."""
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
            alike = setting == "full information" and epsilon is None  # nothing is drawn: one run is all there is
            runs[setting, epsilon] = simulate(
                make(setting, epsilon), from_array(losses), 1 if alike else size.replicas, progress=progress
            )
    flows = {}
    for epsilon, replicas in ((None, 1), (EPSILON, min(4, size.replicas))):
        tell(f"Following the drivers through the accident, {_privacy(epsilon)}")
        player = make("full information", epsilon).simulated(replicas, 0)
        flows[epsilon] = around_accident(play(player, losses)[1])
    return Findings(size, X, Y, losses, certificates, flows, runs)


def around_accident(actions: Array) -> tuple[Array, Array]:
    """The mean action of a tenth of all rounds: just before the accident, and in the end."""
    crash, window = town.accident(len(actions)), max(1, len(actions) // 10)
    return actions[crash - window : crash].mean(axis=0), actions[-window:].mean(axis=0)


def play(player: Any, losses: Array) -> tuple[Any, Array]:
    """The learner after these rounds, and its actions, of replicas their mean."""
    actions = []
    for loss in losses:
        action = player.act()
        actions.append(action.reshape(-1, *loss.shape).mean(axis=0))
        player.update(loss if player.sees == "loss" else float(loss @ action))
    return player, np.array(actions)


def _privacy(epsilon: float | None) -> str:
    return "no privacy" if epsilon is None else f"epsilon = {epsilon:g}"
