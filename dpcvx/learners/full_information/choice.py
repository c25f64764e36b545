"""Which learner with full information, on which counter and noise: the one with the smallest proved bound."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcvx.arguments import needed, positive, share, whole
from dpcvx.errors import ArgumentError, DpcvxError
from dpcvx.learners.full_information.ftpl import FTPL
from dpcvx.learners.full_information.ftrl import FTRL
from dpcvx.learners.full_information.lazy_weights import LazyWeights
from dpcvx.learners.full_information.shared_sums import Horizon
from dpcvx.privacy.counters import COUNTERS
from dpcvx.privacy.noise import LAWS
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of

_OPTIONS = ("neighbours", "rounds_per_person", "on_violation")
Learner = FTRL | FTPL | LazyWeights


def private_learner(
    decision_set: DecisionSet,
    loss_set: LossSet,
    horizon: Horizon = ...,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    seed: int | np.random.Generator | None = None,
    **options: Any,
) -> Learner:
    """The private learner with the smallest proved regret bound; its `summary` shows the others.

    FTRL on every counter and noise that give (epsilon, delta), FTPL, and LazyWeights where the decisions are a polytope
    with few vertices.

    Args:
        decision_set, loss_set: X and Y.
        horizon: the number of rounds, or None where it is unknown.
        epsilon, delta: the privacy of the whole sequence of actions.
        seed: an int or a NumPy Generator makes it a simulation.
        **options: `neighbours`, `rounds_per_person`, `on_violation`; see `PrivateSums`.

    Raises:
        ArgumentError: where an argument is wrong or missing, or no learner fits.

    Example:
        >>> import decision_sets, dpcvx
        >>> for n in (10, 100):
        ...     X, Y = decision_sets.simplex(n), decision_sets.loss_box(n, 0, 1)
        ...     print(n, type(dpcvx.private_learner(X, Y, 2**16, epsilon=1.0)).__name__)
        10 FTRL
        100 LazyWeights
    """
    unknown = sorted(options.keys() - set(_OPTIONS))
    if unknown:
        raise TypeError(f"private_learner has no argument {', '.join(unknown)}; there are {', '.join(_OPTIONS)}.")
    sizes_of(decision_set, loss_set)  # names arguments that are no such sets
    if horizon is not None:
        needed(horizon, "private_learner", "a horizon", "the number of rounds, or horizon=None where it is unknown")
    needed(epsilon, "private_learner", "an epsilon", "a positive number, such as 1.0; FTRL also plays without privacy")
    epsilon, delta = positive(epsilon, "epsilon"), share(delta, "delta")  # one sentence, and not one for each learner
    if horizon is not None:
        horizon = whole(horizon, "horizon (None where it is unknown)")
    makers: dict[str, Callable[[Any], Learner]] = {}
    game = decision_set, loss_set, horizon, epsilon, delta
    for law in (law for law in LAWS.values() if law.accepts(delta)):
        for counter in (one for one in COUNTERS.values() if one.refusal(law) is None):
            chosen = {"counter": counter.key, "noise": law.key}
            name = f"{counter.name}, {law.name} noise"
            for kind in (FTRL, FTPL):
                makers[f"{kind.__name__} on the {name}"] = _maker(kind, game, {**options, **chosen})
    makers["LazyWeights"] = _maker(LazyWeights, game, options)
    bounds, refusals = {}, []
    for name, make in makers.items():
        try:
            bound = make(0).regret_bound
        except (DpcvxError, ValueError, OverflowError) as error:
            refusals.append(f"{name}: not here: {error}")
            continue
        bounds[name] = math.inf if bound is None else bound.proved
    ranked = sorted(bounds, key=lambda name: bounds[name])
    for name in ranked:
        try:
            best = makers[name](seed)
        except ValueError as error:  # a simulation of it may exist, where nothing secure does
            refusals.append(f"{name}: not here: {error}")
            continue
        best.rivals = (*(f"{one}: {bounds[one]:.6g}" for one in ranked), *refusals)
        return best
    raise ArgumentError("No learner is admissible here: " + "; ".join(refusals))


def _maker(kind: type[Learner], game: tuple[Any, ...], options: dict[str, Any]) -> Callable[[Any], Learner]:
    return lambda seed: kind(*game, seed=seed, **options)
