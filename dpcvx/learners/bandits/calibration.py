"""How much noise the feedback of a batch needs: from what one person can change to a scale, a grid, a certificate."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.certificate_words import counted
from dpcvx.privacy.feedback import Feedback, SecureFeedback, SimulatedFeedback, VectorFeedback, feedback_grid
from dpcvx.privacy.grounds import FeedbackGrounds
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets.sizes import Sizes

NOISES = ("scalar", "vector")
_FINE = 2.0**-10  # what rounding may cost, relative to a declared change
_OUTWARD = 1 + 1e-6  # actions may miss the set, and intervals the truth, by solvers' errors


@dataclass(frozen=True)
class Calibration:
    """The noise on the sum of the feedback of one action, held for a batch of rounds.

    Attributes:
        sizes: of the decision set and the loss set.
        epsilon: of one release, for a person in `rounds_per_person` rounds.
        noise: one of `NOISES`.
        neighbours: what one person may change in a round.
        sampler: of secure noise, "opendp" or "vector".
    """

    sizes: Sizes
    epsilon: float
    noise: str
    neighbours: Neighbours
    rounds_per_person: int
    sampler: str = "opendp"

    @cached_property
    def moved(self) -> float:
        """How far one person moves the sum of a batch at most.

        Vector noise <Z, x> has deviation sqrt(2) lambda |x|_2, as scalar noise of scale lambda |x|_2 has.
        """
        one = self.neighbours.feedback_change(self.sizes)
        if self.noise == "vector":
            size = self.neighbours.change(self.sizes.loss_set, 1)
            one = float(size) * self.sizes.used_radius(2)
        return self.rounds_per_person * one * _OUTWARD

    def grid(self, batch: int) -> Grid:
        """The grid on which secure feedback stands; fine against what one person changes, where that is declared."""
        one = self.moved / self.rounds_per_person if self.neighbours.declared_change else math.inf
        return feedback_grid(self.sizes.magnitude, batch, self.moved / self.epsilon, fine=one * _FINE)

    def scale(self, batch: int) -> float:
        """The largest scale of the noise on the sum of a batch; rounding its ends adds at most a unit."""
        step = self.grid(batch).step
        units = self.neighbours.feedback_units(self.sizes, step)
        if units is not None:
            return self.rounds_per_person * units * step / self.epsilon
        return (self.moved + self.rounds_per_person * step) / self.epsilon

    def balanced_batch(self, horizon: int) -> int:
        """The batch B that is best for B (M^2 + 2 (D/(B epsilon))^2), which the bounds of all learners contain."""
        ratio = math.sqrt(2) * self.moved / (max(self.sizes.magnitude, 1e-300) * self.epsilon)
        return max(1, round(min(ratio, horizon)))

    def certificate(self, batch: int, *, secure: bool) -> Certificate:
        """What is promised about the losses where actions are held for a batch; of rounds it says nothing yet."""
        scale = self.scale(batch)
        return Certificate(
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=self.neighbours.key,
            rounds_per_person=self.rounds_per_person,
            mechanism=f"{self.noise} noise on the feedback of {counted(batch, 'round')}",
            releases_per_loss=1,
            terms_per_prefix=1,
            noise="Laplace",
            scale=scale,
            prefix_deviation=math.sqrt(2) * scale,
            sensitivity=scale * self.epsilon / self.rounds_per_person,
            sensitivity_norm=1,
            sensitivity_kind="bound",
            grid=self.grid(batch).step,
            secure=secure,
            horizon=None,
            rounds=0,
            sampler=self.sampler if secure else "numpy",
            notes=(*self.neighbours.notes(self.sizes.loss_set), *_held(batch)),
            change=self.neighbours.declaration,
            grounds=self._grounds(batch) if self.noise == "scalar" else None,
        )

    def _grounds(self, batch: int) -> FeedbackGrounds:
        """What the noise hides, for other neighbours than those that it was made for."""
        sizes, step = self.sizes, self.grid(batch).step
        Y = sizes.loss_set
        box = [*(Y.flatten(end) for end in Y.bounding_box()), *sizes.pairing.usage_box()]
        lower, upper, least, most = (tuple((end + 0.0).tolist()) for end in box)
        return FeedbackGrounds(
            own=self.neighbours.key,
            shape=tuple(Y.shape),
            lower=lower,
            upper=upper,
            actions_lower=least,
            actions_upper=most,
            step=step,
            moved=self.neighbours.feedback_units(sizes, step),
            replace=math.floor(sizes.feedback_range * _OUTWARD / step) + 1,
            zero_out=math.floor(sizes.magnitude * _OUTWARD / step) + 1,
        )

    def feedback(self, batch: int, rng: np.random.Generator | None) -> Feedback:
        """What clips, sums and releases the feedback: secure without a generator, a simulation with one."""
        loss_set, people = self.sizes.loss_set, (self.neighbours, self.rounds_per_person)
        grid = self.grid(batch)
        units = self.neighbours.feedback_units(self.sizes, grid.step)
        if rng is None:
            return SecureFeedback(loss_set, self.epsilon, grid, *people, units, self.sampler)
        kind = VectorFeedback if self.noise == "vector" else SimulatedFeedback
        return kind(loss_set, self.epsilon, rng, *people, None if units is None else units * grid.step)


def _held(batch: int) -> tuple[str, ...]:
    return () if batch == 1 else (f"actions are held for {batch} rounds: for losses fixed in advance",)
