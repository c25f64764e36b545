"""Sums that several learners share: one loss a round, one noisy prefix, one epsilon for all of them.

A learner with full information sees nothing but the noisy prefix. So any number of them, over any decision sets whose
losses are the same vectors, may look at one prefix: what they play is computed from what is released already, and the
certificate of the sums holds for all of them together.

    sums = PrivateSums(Y, horizon, epsilon)
    learners = [FTRL(X, sums=sums) for X in sets]
    each round: every learner acts, then sums.update(loss), once
"""

from types import EllipsisType
from typing import Any, NamedTuple

from dpcvx.errors import ArgumentError
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import LossSet

Horizon = int | None | EllipsisType  # left out it is that of the sums


class Seat(NamedTuple):
    """The last round, from 0, in which a learner on shared sums acted, and how many went by before it without it."""

    round: int = -1
    missed: int = 0

    def at(self, rounds: int) -> "Seat":
        """After an action in this round, which may be the same one again."""
        return self if rounds == self.round else Seat(rounds, self.missed + rounds - self.round - 1)


def check_shared(
    sums: Any, loss_set: LossSet | None, horizon: Horizon, replicas: int | None, seeded: bool, given: dict[str, Any]
) -> RunningSums:
    """The sums, where all that a learner was given besides says the same as they do.

    Args:
        sums: what should be sums.
        loss_set, horizon, replicas: as they were given; None, or `...` for the horizon, where they were not.
        seeded: whether the learner was given a seed.
        given: the options of privacy that were given; an epsilon of None and a delta of 0 say nothing.

    Raises:
        ValueError: where they are no sums, or something contradicts them.
    """
    if not isinstance(sums, RunningSums):
        raise ArgumentError(f"sums must be a PrivateSums or an ExactSums, not a {type(sums).__name__}.")
    if loss_set is not None and loss_set is not sums.loss_set:
        if not isinstance(loss_set, LossSet):
            raise ArgumentError(f"loss_set must be a LossSet, not a {type(loss_set).__name__}.")
        if loss_set.shape != sums.loss_set.shape or loss_set.fingerprint != sums.loss_set.fingerprint:
            raise ArgumentError(
                f"The sums are of losses from {sums.loss_set.name} of shape {sums.loss_set.shape}, not from this "
                f"{loss_set.name} of shape {loss_set.shape}; leave loss_set out, or make other sums."
            )
    _same("horizon", sums.horizon if horizon is ... else horizon, sums.horizon)
    leading = sums.leading[0] if sums.leading else None
    _same("replicas", leading if replicas is None else replicas, leading)
    if seeded and sums.secure:
        raise ArgumentError("The sums draw secure noise, and a seed is for simulations; leave seed out.")
    known = {**sums.settings, "on_violation": sums.clipping.on_violation}
    for name, value in given.items():
        said = value is not None and not (name == "delta" and value == 0)
        if said:
            _same(name, value, known.get(name))
    return sums


def _same(name: str, given: Any, of_the_sums: Any) -> None:
    if given is not of_the_sums and given != of_the_sums:
        raise ArgumentError(
            f"{name} = {given!r} contradicts the sums, which have {name} = {of_the_sums!r}; leave {name} out."
        )
