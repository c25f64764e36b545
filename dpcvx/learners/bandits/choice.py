"""Which bandit learner, held for how many rounds: the one with the smallest proved bound."""

from contextlib import nullcontext
from types import EllipsisType
from typing import Any

import numpy as np

from dpcvx.arguments import needed, positive, whole
from dpcvx.errors import ArgumentError
from dpcvx.learners.bandits import BANDITS, AdaptiveBandit, Bandit
from dpcvx.learners.bandits.private_bandit import PrivateBandit
from dpcvx.privacy.noise import own_generator
from dpcvx.privacy.weakness import told_once
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream

_HORIZON = "the number of rounds, to which it is tuned; bandits have no horizon=None, so give the most that may come"


def bandits(
    decision_set: DecisionSet, loss_set: LossSet, horizon: int, seed: int | np.random.Generator | None = None
) -> tuple[list[Bandit], list[str]]:
    """The learners without privacy that the sets admit, and lines on why others are not among them.

    Raises:
        ValueError: where they are no sets of decisions and losses, or the horizon is no whole number.
    """
    sizes_of(decision_set, loss_set)  # names arguments that are no such sets
    if decision_set.bandit_refusal is not None:
        raise ArgumentError(decision_set.bandit_refusal)
    found: list[Bandit] = []
    refusals = []
    for kind in BANDITS:
        reason = kind.refusal(decision_set, loss_set)
        if reason is None:
            found.insert(0, kind(decision_set, loss_set, horizon, seed=seed))
        else:
            refusals.append(f"{kind.__name__:16s} not here: {reason}")
    return found, refusals


def private_bandit(
    decision_set: DecisionSet,
    loss_set: LossSet,
    horizon: int | EllipsisType = ...,
    epsilon: float | None = None,
    *,
    choose: str = "bound",
    seed: int | np.random.Generator | None = None,
    **options: Any,
) -> PrivateBandit:
    """The private bandit with the smallest proved regret bound, or the adaptive one; its `summary` shows the others.

    Args:
        decision_set, loss_set, horizon: X, Y and the number of rounds.
        epsilon: the privacy of the whole sequence of actions.
        choose: "bound": the learner with the smallest proved bound; or "practice": `AdaptiveBandit`, which learns much
            sooner on most losses, and for which no worst-case bound is proved.
        seed: an int or a NumPy Generator makes it a simulation.
        **options: `noise`, `batch`, `neighbours`, `rounds_per_person`, `sampler`; see `PrivateBandit`.

    Raises:
        ArgumentError: where an argument is wrong or missing.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> bandit = dpcvx.private_bandit(X, Y, horizon=1000, epsilon=1.0)
        >>> "private HybridBandit" in bandit.summary(), bandit.certificate.delta
        (True, 0.0)
        >>> dpcvx.private_bandit(X, Y, 1000, 1.0, choose="practice")
        PrivateBandit(private AdaptiveBandit, round 0 of 1000)
    """
    if choose not in ("bound", "practice"):
        raise ArgumentError(f'choose must be "bound" or "practice", not {choose!r}.')
    needed(horizon, "private_bandit", "a horizon", _HORIZON)
    needed(epsilon, "private_bandit", "an epsilon", "a positive number, such as 1.0; SCRiBLe plays without privacy")
    rounds, epsilon = whole(horizon, "horizon"), positive(epsilon, "epsilon")
    noise = None if seed is None else stream(seed, "private_bandit: noise")
    own = own_generator(seed, "private_bandit: learners")
    if choose == "practice":
        return PrivateBandit(AdaptiveBandit(decision_set, loss_set, rounds, seed=own), epsilon, seed=noise, **options)
    candidates, refusals = bandits(decision_set, loss_set, rounds, own)
    with told_once(epsilon) if seed is None else nullcontext():
        made = [PrivateBandit(learner, epsilon, seed=noise, **options) for learner in candidates]
    made.sort(key=lambda private: private.uncapped_bound)
    bounds = [f"{one.name:16s} {one.uncapped_bound:.6g}, batches of {one.batch}" for one in made]
    made[0].comparison = (*bounds, *refusals)
    return made[0]
