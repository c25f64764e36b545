"""Exponential weights that redraw rarely: the price of privacy grows with ln N instead of N.

Plays one action, a vertex, for a batch of rounds, and then keeps it or draws another one; see `lazy_tuning` for the
rates, the proof of privacy and the bound. Nothing but these coins and draws depends on a loss. Secure ones are exact:
costs are whole numbers of a grid, the scale is a rational number, and coins and draws have exactly the laws in the
proof.

Against losses fixed in advance. Once all redraws are used up the action never changes again.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from dpcvx.actions import ActionFamily
from dpcvx.actions.listed import Listed
from dpcvx.arguments import positive, share, whole
from dpcvx.arrays import Array
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ArgumentError, HorizonError, ProtocolError
from dpcvx.learners.bandits.action_set import action_set
from dpcvx.learners.full_information.lazy_costs import Costs, FamilyCosts, ListedCosts, SecureDraws
from dpcvx.learners.full_information.lazy_reach import choice_grounds, clipped_values, cost_grid, own_distances
from dpcvx.learners.full_information.lazy_tuning import Lazy
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.choice_grounds import in_units
from dpcvx.privacy.clipping import Clipping
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.noise import own_generator
from dpcvx.privacy.weakness import warn_if_weak
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream


class Turn(NamedTuple):
    """Where the learner stands.

    Attributes:
        costs: of all batches that are over; batch: of this one.
        chosen: the action; used: how often it was redrawn.
        releasing: whether a coin or a draw is on its way; where that is interrupted, nothing follows.
    """

    rounds: int
    costs: Array
    batch: Array
    chosen: Array
    used: Array
    releasing: bool = False

    def __repr__(self) -> str:
        return f"Turn(rounds={self.rounds}, releasing={self.releasing})"  # the rest is a secret


class LazyWeights(Player):
    """Private exponential weights over the vertices of a polytope, redrawn rarely.

    Args:
        decision_set: X, a polytope whose vertices are a family or can be listed.
        loss_set, horizon: Y, and the number of rounds T, which must be known.
        epsilon, delta: the privacy of the whole sequence of actions.
        neighbours, rounds_per_person, on_violation: see `PrivateSums`.
        seed: an int or a NumPy Generator makes it a simulation.
        replicas: in simulation, independent replicas on a leading axis.

    Raises:
        ValueError: where the actions are too many to be listed and no seed was given: there is no exact sampler.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(50), decision_sets.loss_box(50, 0, 1)
        >>> learner = dpcvx.LazyWeights(X, Y, horizon=4096, epsilon=1.0)
        >>> learner.regret_bound.total < dpcvx.FTRL(X, Y, 4096, 1.0).regret_bound.total
        True
    """

    rivals: tuple[str, ...] = ()  # lines on the learners among which this one was chosen

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet,
        horizon: int,
        epsilon: float,
        delta: float = 0.0,
        *,
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        on_violation: str = "clip",
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if horizon is None:
            raise ArgumentError("LazyWeights needs a horizon: how rarely it redraws follows from the number of rounds.")
        if replicas is not None and seed is None:
            raise ArgumentError("replicas are for simulation; give a seed.")
        self.horizon, self.epsilon = whole(horizon, "horizon"), positive(epsilon, "epsilon")
        self.delta = share(delta, "delta")
        self.rounds_per_person = whole(rounds_per_person, "rounds_per_person")
        self.decision_set, self.loss_set = decision_set, loss_set
        self.sizes = sizes_of(decision_set, loss_set)
        self.leading = () if replicas is None else (whole(replicas, "replicas"),)
        self.clipping = Clipping(loss_set, neighbours, on_violation, self.leading)
        if seed is None:
            warn_if_weak(self.epsilon, self.delta)
        self._noise = None if seed is None else stream(seed, "LazyWeights: noise")
        self._rng = own_generator(seed, "LazyWeights: own draws")
        family = action_set(decision_set).family
        if self._noise is None and not isinstance(family, Listed):
            raise ArgumentError(
                f"LazyWeights draws exactly from lists of actions only, and the {decision_set.name} has about "
                f"e^{family.log_count:.3g} of them. Give a seed for a simulation, or use FTRL or FTPL."
            )
        low, high = clipped_values(self.sizes, self.clipping)
        moved, apart = own_distances(self.sizes, self.clipping, high - low)
        self._game, self._costs = self._planned(family, low, high - low, moved, apart)
        self.rates = self._game.rates()
        self._draws = SecureDraws(self._secure_scale(), self.rates.chance) if self._noise is None else None
        start = self._costs.start()
        first = self._costs.draw(start, self.rates.eta, self._rng, self.leading)  # all alike before any loss
        self._turn = Turn(0, start, start, first, np.zeros(self.leading, dtype=int))
        self.lineage = Lineage() if self._noise is None else None

    def _planned(
        self, family: ActionFamily, low: float, width: float, moved: float, apart: float
    ) -> tuple[Lazy, Costs]:
        """The game and how costs are counted: secure ones on a grid, with what rounding adds."""
        game = partial(
            Lazy, self.horizon, family.log_count, epsilon=self.epsilon, delta=self.delta, people=self.rounds_per_person
        )
        if self._noise is not None:
            simulated = game(width=width, moved=moved, apart=apart)
            if isinstance(family, Listed):
                return simulated, ListedCosts(family, low, width, None)
            return simulated, FamilyCosts(family, low, width)
        assert isinstance(family, Listed)
        step = cost_grid(width, moved, self.horizon).step
        listed = ListedCosts(family, low, width, step)
        most = listed.most * step
        moved, apart = in_units(moved, apart, step, most)
        return game(width=most, moved=moved, apart=apart), listed

    def _secure_scale(self) -> float:
        """1/eta in units of the grid, rounded up, and the rates that go with it."""
        assert isinstance(self._costs, ListedCosts) and self._costs.step is not None
        scale = 1 / (self.rates.eta * self._costs.step) * (1 + 1e-12)
        self.rates = replace(self.rates, eta=1 / (scale * self._costs.step))
        while self.rates.redraws and not self._affordable():
            self.rates = replace(self.rates, redraws=self.rates.redraws - 1)
        return scale

    def _affordable(self) -> bool:
        epsilon, rho = self._game.spent(self.rates)
        return epsilon <= self.epsilon if rho is None else rho <= (self._game.rho or 0.0)

    # play

    @property
    def name(self) -> str:
        return "LazyWeights"

    @property
    def rounds(self) -> int:
        return self._turn.rounds

    @property
    def redrawn(self) -> Array | int:
        """How often an action was drawn anew; public."""
        used = self._turn.used
        return used.copy() if self.leading else int(used)

    def _check_able(self) -> None:
        if self._draws is not None:
            self._draws.check_process()
        if self._turn.releasing:
            raise ProtocolError("A release was interrupted; this learner releases nothing more.")
        if self._turn.rounds >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")

    def _choose(self) -> Array:
        self._check_able()
        return self.decision_set.unflatten(np.array(self._costs.actions(self._turn.chosen), dtype=float))

    def _learn(self, feedback: Any) -> None:
        clipped = self.clipping.clipped(feedback)
        self._check_able()
        turn = self._turn
        rounds, batch = turn.rounds + 1, turn.batch + self._costs.of(self.sizes.pairing.covector(clipped))
        if rounds % self.rates.batch or rounds >= self.horizon:
            self._turn = turn._replace(rounds=rounds, batch=batch)
            return
        if self.lineage is not None:
            self.lineage.before_release()
        self._turn = turn._replace(releasing=True)  # until it is over: a second draw would cost epsilon too
        costs = turn.costs + batch
        chosen, used = self._redrawn(turn, batch, costs)
        self._turn = Turn(rounds, costs, np.zeros_like(batch), chosen, used)

    def _redrawn(self, turn: Turn, batch: Array, costs: Array) -> tuple[Array, Array]:
        """The action after a batch, and how often it was redrawn."""
        own = self._costs.own(batch, turn.chosen)
        if self._draws is not None:
            return self._secure(self._draws, turn, int(own), costs)
        assert self._noise is not None
        if isinstance(self._costs, FamilyCosts):
            own = own - self.rates.batch * self._costs.low
        keeps = self._noise.random(self.leading) < (1 - self.rates.chance) * np.exp(-self.rates.eta * own)
        moves = ~keeps & (turn.used < self.rates.redraws)
        if not np.any(moves):
            return turn.chosen, turn.used
        if not self.leading:
            return self._costs.draw(costs, self.rates.eta, self._noise, ()), turn.used + 1
        chosen, used = turn.chosen.copy(), turn.used + moves
        which = costs[moves] if costs.ndim > 1 else costs
        chosen[moves] = self._costs.draw(which, self.rates.eta, self._noise, (int(moves.sum()),))
        return chosen, used

    def _secure(self, draws: SecureDraws, turn: Turn, own: int, costs: Array) -> tuple[Array, Array]:
        if turn.used >= self.rates.redraws or draws.keeps(own):
            return turn.chosen, turn.used
        return np.array(draws.redraw(costs)), turn.used + 1

    # promises

    @property
    def uncapped_bound(self) -> float:
        """The proved bound of the expected regret, also where it is above the largest regret there is."""
        if self._game.is_trivial:
            return 0.0
        rounding = self._costs.step or 0.0 if isinstance(self._costs, ListedCosts) else 0.0
        return self._game.bound(self.rates) + self.horizon * rounding

    @property
    def regret_bound(self) -> RegretBound:
        """What learning, which is paid without privacy too, and privacy cost, and the largest regret there is."""
        total = self.uncapped_bound
        learning = min(self._game.learning, total)
        theorem = "lazy exponential weights: ln N/eta + eta T B w^2/8 + w T P(more than S redraws)"
        return RegretBound(learning, total - learning, self.horizon, theorem, self.horizon * self.sizes.variation)

    @property
    def certificate(self) -> Certificate:
        """What is promised about the losses, and the regret bound."""
        rates, relation = self.rates, self.clipping.neighbours
        _, rho = self._game.spent(rates)
        step = self._costs.step if isinstance(self._costs, ListedCosts) and self._costs.step else 0.0
        made = Certificate(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=relation.key,
            rounds_per_person=self.rounds_per_person,
            mechanism="lazy exponential weights",
            releases_per_loss=rates.redraws + 1,
            terms_per_prefix=1,
            noise="softmax",
            scale=1 / rates.eta,
            prefix_deviation=math.pi / math.sqrt(6) / rates.eta,  # of the Gumbel noise whose least sum is drawn
            sensitivity=self._game.moved,
            sensitivity_norm=1,
            sensitivity_kind="bound",
            grid=step,
            secure=self._noise is None,
            horizon=self.horizon,
            rounds=self.rounds,
            rho=rho if rho is None else self._game.rho,
            regret_bound=self.regret_bound.to_dict(),
            notes=(
                f"actions are held for {rates.batch} rounds and redrawn at most {rates.redraws} times, for losses "
                "fixed in advance; after the last redraw the action stays",
                *relation.notes(self.loss_set),
            ),
            sampler="vector" if self._noise is None else "numpy",
            change=relation.declaration,
            grounds=choice_grounds(self.sizes, self.clipping, self._game, rates, step),
        )
        if self.lineage is not None and self.lineage.rollbacks:
            return made.after_rollbacks(self.lineage.rollbacks)
        return made

    def simulated(self, replicas: int, seed: int | np.random.Generator) -> Self:
        """A new learner of the same settings that has seen nothing: a simulation with replicas."""
        return type(self)(
            self.decision_set,
            self.loss_set,
            self.horizon,
            self.epsilon,
            self.delta,
            neighbours=self.clipping.neighbours,
            rounds_per_person=self.rounds_per_person,
            on_violation=self.clipping.on_violation,
            seed=seed,
            replicas=replicas,
        )

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        r = self.rates
        lines = [
            f"LazyWeights on {self.decision_set.name}, about e^{self._game.log_count:.3g} actions",
            f"  tuning           learning rate {r.eta:.6g}, batches of {r.batch}, redraws at no cost {r.chance:.3g}",
            f"  redraws          at most {r.redraws}; then the action never changes again",
            f"  regret           {self.regret_bound}",
            *(f"  rival            {rival}" for rival in self.rivals),
        ]
        return "\n".join([*lines, str(self.certificate)])

    def __repr__(self) -> str:
        return f"LazyWeights({self.decision_set.name}, round {self.rounds} of {self.horizon})"
