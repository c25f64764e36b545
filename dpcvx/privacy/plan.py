"""From a loss set and a wish (epsilon, delta) to a counter, a law and a scale: the calibration.

The plan is the same with and without a seed. It asks the counter how many noisy releases one loss enters and how far a
person moves them, and the law of the noise which scale that needs; neither is asked which one it is.

"The paper" is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from dataclasses import dataclass

import numpy as np

from dpcvx.arguments import positive, share, whole
from dpcvx.errors import ArgumentError
from dpcvx.privacy.counters import COUNTERS, Counter, default_counters, paper_counter
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.privacy.noise import LAWS, Law, Releases, Source, Spent, check_sampler, noise_source
from dpcvx.privacy.pace import chosen_sampler
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.privacy.sensitivity import Grid, Sensitivity, choose_grid, sensitivity
from dpcvx.sets import LossSet

_WIDEST = 2.0**57  # units of a scale of noise whose draws are 64-bit integers


@dataclass(frozen=True)
class Plan:
    """All that a private prefix sum needs to run, and what it promises."""

    counter: type[Counter]
    law: Law
    grid: Grid
    sensitivity: Sensitivity
    horizon: int
    moved: int | float  # how far one person moves one release, in units; of a factorisation, the whole stream
    touches: int
    terms: int
    epsilon: float  # what the scale really gives
    delta: float
    rho: float | None
    prefix_deviation: float  # of one coordinate at the worst time, in the units of the loss
    notes: tuple[str, ...] = ()
    sampler: str = "opendp"  # of secure noise
    draws: float = 0.0  # values of noise that a round takes on average

    def make(self, shape: tuple[int, ...], source: Source) -> Counter:
        """The counter itself, for items of a shape."""
        return self.counter(self.horizon, shape, source, norm=self.law.norm)

    def source(self, size: int, rng: np.random.Generator | None = None) -> Source:
        """The noise for releases of `size` entries: secure, or simulated by a generator."""
        allowed = self.epsilon if self.rho is None else self.rho
        moved = self.law.distance(self.moved, self.sensitivity.units)
        return noise_source(self.law, size, rng, count=self.touches, moved=moved, allowed=allowed, sampler=self.sampler)

    def deviation(self, items: int) -> float:
        """Standard deviation of one coordinate of the prefix of so many items, in the units of the loss."""
        if self.counter.constant:
            return self.prefix_deviation
        return _deviation(self.counter, self.law, self.grid, self.horizon, items)

    @property
    def noise(self) -> PrefixNoise | None:
        """The noise of the worst prefix; None where no prefix depends on a loss."""
        if not self.terms:
            return None
        law, terms = self.law.scaled(self.grid.step).summands(self.terms, self.prefix_deviation)
        return PrefixNoise(law, terms, self.prefix_deviation, self.counter.constant)


@dataclass(frozen=True)
class Wish:
    """What is asked of a plan, checked."""

    loss_set: LossSet
    horizon: int
    epsilon: float
    delta: float
    neighbours: Neighbours
    rounds_per_person: int
    paper: bool  # whether the scale is the paper's
    sampler: str | None


def plan(
    loss_set: LossSet,
    horizon: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    counter: str | None = None,
    noise: str | None = None,
    neighbours: str | Neighbours = "replace",
    rounds_per_person: int = 1,
    calibration: str = "exact",
    sampler: str | None = None,
) -> Plan:
    """Choose and calibrate a private prefix sum.

    Args:
        loss_set: where the losses lie.
        horizon: T; the prefixes 0..T-1 are released.
        epsilon: > 0; delta: in [0, 1).
        counter: "tree", "smooth" or "toeplitz"; by default "smooth" for delta = 0 and "toeplitz" otherwise (above 2^24
            rounds whichever of the two has less noise).
        noise: "laplace", "gaussian" or "knorm" (boxes; balls in simulation only); by default "gaussian" for delta > 0,
            and otherwise "knorm" where that has less deviation than "laplace", for boxes from 3 entries on; for
            counter="tree" always "laplace".
        neighbours: "replace", "zero-out" or a `Change`.
        rounds_per_person: rounds in which one person's data may appear.
        calibration: "exact", or "paper" for the scale in the paper, whose plan states the epsilon that it really gives.
        sampler: of secure noise, "opendp" or "vector"; by default OpenDP's, and above 10,000 values a round the other.
    """
    horizon, rounds_per_person = whole(horizon, "horizon"), whole(rounds_per_person, "rounds_per_person")
    positive(epsilon, "epsilon")
    share(delta, "delta")
    _check_name("counter", counter, COUNTERS)
    _check_name("noise", noise, LAWS)
    check_sampler(sampler)
    if calibration not in ("exact", "paper"):
        raise ArgumentError(f'calibration must be "exact" or "paper", not {calibration!r}.')
    wish = Wish(
        loss_set,
        horizon,
        epsilon,
        delta,
        relation_for(neighbours, loss_set),
        rounds_per_person,
        calibration == "paper",
        sampler,
    )
    named = COUNTERS[counter] if counter else None
    laws = [LAWS[noise]] if noise else _unnamed_laws(wish, named)
    pairs = [(one, law) for law in laws for one in ([named] if named else _unnamed(wish, law))]
    return min((_calibrated(wish, *pair) for pair in pairs), key=lambda p: p.prefix_deviation)


def _unnamed_laws(wish: Wish, counter: type[Counter] | None) -> list[type[Law]]:
    """The laws to choose from where none is named: for the counter and the scale of the paper its own."""
    found = [law for law in LAWS.values() if law.accepts(wish.delta) and law.suits(wish.neighbours, wish.loss_set)]
    if wish.paper or (counter is not None and counter.in_paper):
        found = [law for law in found if law.in_paper]
    return [law for law in found if counter is None or counter.refusal(law) is None] or found


def _unnamed(wish: Wish, law: type[Law]) -> list[type[Counter]]:
    """The counters to choose from where none is named."""
    if wish.paper:
        return [paper_counter()]
    return default_counters(law, wish.horizon, fine=wish.neighbours.declared_change)


def _calibrated(wish: Wish, counter: type[Counter], law: type[Law]) -> Plan:
    """The plan for one counter and one law."""
    _check_together(wish, counter, law)
    touches, terms = counter.structure(wish.horizon, law.norm)
    releases, one = _to_hide(wish, counter, law, touches)
    draws = wish.loss_set.size * counter.noises_per_round(wish.horizon, law.norm)
    noise, spent = _paper_noise(wish, law, releases) if wish.paper else _exact_noise(wish, law, releases)
    return Plan(
        counter=counter,
        law=noise,
        grid=releases.grid,
        sensitivity=one,
        horizon=wish.horizon,
        moved=releases.moved,
        touches=touches,
        terms=terms,
        epsilon=float(spent.epsilon),
        delta=wish.delta,
        rho=spent.rho,
        prefix_deviation=_deviation(counter, noise, releases.grid, wish.horizon),
        notes=("the scale is the paper's; epsilon is what that scale gives",) if wish.paper else (),
        sampler=chosen_sampler(wish.sampler, draws),
        draws=draws,
    )


def _to_hide(wish: Wish, counter: type[Counter], law: type[Law], touches: int) -> tuple[Releases, Sensitivity]:
    """What the noise must hide, on a grid that holds losses and noise, and the sensitivity of one rounded loss."""
    Y, people = wish.loss_set, wish.rounds_per_person
    relation, largest = wish.neighbours, wish.neighbours.largest(Y)
    noise = law.reach(relation, Y) * people * law.per_unit(touches, wish.epsilon, wish.delta)
    fine = relation.fine_step(Y, law.norm, counter.roundings(wish.horizon))
    grid = choose_grid(Y, wish.horizon, noise, largest=largest, fine=fine)
    one = sensitivity(Y, law.norm, relation, grid)
    moved = counter.moved(wish.horizon, one.units, people, Y.size, largest / grid.step + 1) if one.units else 0
    return Releases(touches, moved, people, Y, relation, grid), one


def _exact_noise(wish: Wish, law: type[Law], releases: Releases) -> tuple[Law, Spent]:
    """The least noise that gives what is wished for."""
    return law.calibrated(releases, wish.epsilon, wish.delta), Spent(wish.epsilon, law.rho(wish.epsilon, wish.delta))


def _paper_noise(wish: Wish, law: type[Law], releases: Releases) -> tuple[Law, Spent]:
    """The noise of the paper, and what it really gives."""
    scale = _paper_scale(wish)
    if not scale / releases.grid.step < _WIDEST:
        raise OverflowError(f"The paper's noise of scale {scale:.3g} does not fit into 64-bit integers; raise epsilon.")
    noise = law.of_scale(scale / releases.grid.step)
    return noise, noise.claimed(releases.count, releases.moved, wish.delta)


def _deviation(counter: type[Counter], law: Law, grid: Grid, horizon: int, items: int | None = None) -> float:
    return float(law.standard_deviation * grid.step * counter.deviation(horizon, law.norm, items))


def _paper_scale(wish: Wish) -> float:
    """lambda = |Y|_1 log T/epsilon (its Theorem 3.1), sigma = |Y|_2 log T log(log T/delta)/epsilon (its appendix)."""
    log = float(np.log2(wish.horizon))
    if wish.delta == 0:
        return float(wish.loss_set.radius(1)) * log / wish.epsilon
    return float(wish.loss_set.radius(2)) * log * float(np.log(max(log, 1.0) / wish.delta)) / wish.epsilon


def _check_name(what: str, name: object, known: dict[str, type[Counter]] | dict[str, type[Law]]) -> None:
    if name is not None and (not isinstance(name, str) or name not in known):
        raise ArgumentError(f"{what} must be one of {', '.join(known)}, not {name!r}.")


def _check_together(wish: Wish, counter: type[Counter], law: type[Law]) -> None:
    refusal = counter.refusal(law)
    if refusal is not None:
        raise ArgumentError(refusal)
    law.check_delta(wish.delta)
    if wish.paper and wish.neighbours.declared_change:
        raise ArgumentError(
            'calibration="paper" is for neighbours by a whole round; with a declared change leave it at "exact".'
        )
    if wish.paper and not (counter.in_paper and law.in_paper):
        raise ArgumentError(
            'calibration="paper" is for the binary tree of the paper: counter="tree" without K-norm noise.'
        )
