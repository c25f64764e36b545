"""What a simulation measured: regret curves, how they are shown and drawn."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.axes import axes_or_new
from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.text_table import TextTable
from dpcvx.sets.loss_check import LossCheck

_ROWS = 10  # of a printed table
_ROOM = 2.0  # times as high as the curves a bound may be to be drawn among them
_COLUMNS = TextTable(">>>>>", (13,) * 5, between="")


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
        check: of recorded losses, whether they are in the learner's loss set (see `LossSet.check`); None of others.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> learner, losses = dpcvx.FTPL(X, Y, 50, epsilon=1.0), np.ones((50, 3))
        >>> result = dpcvx.simulate(learner, losses, replicas=4, checkpoints=[10, 50])
        >>> result.rounds.tolist(), result.regret.shape, result.certificate.secure
        ([10, 50], (4, 2), False)
    """

    rounds: Array
    regret: Array
    bound: Any
    certificate: Any
    learner: str
    losses: str
    seconds: float
    check: LossCheck | None = None

    @property
    def replicas(self) -> int:
        return len(self.regret)

    @property
    def mean(self) -> Array:
        """The mean over the replicas at each of the rounds."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def standard_error(self) -> Array:
        """The standard error of the mean; NaN for one replica."""
        if self.replicas == 1:
            return np.full(len(self.rounds), np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.replicas))

    @property
    def final(self) -> float:
        """The mean regret after the last round."""
        return float(self.mean[-1])

    def band(self, level: float = 0.9) -> tuple[Array, Array]:
        """(lower, upper): the quantiles between which the share `level` of the replicas lies, at each of the rounds."""
        if not 0 <= level <= 1:
            raise ArgumentError(f"level must be between 0 and 1, not {level}.")
        lower, upper = np.quantile(self.regret, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return lower, upper

    def to_pandas(self) -> Any:
        """A pandas DataFrame with one row for each replica and round: learner, losses, replica, round, regret."""
        replica, column = np.indices(self.regret.shape)
        return data_frame(
            {
                "learner": self.learner,
                "losses": self.losses,
                "replica": replica.ravel(),
                "round": self.rounds[column.ravel()],
                "regret": self.regret.ravel(),
            }
        )

    @property
    def label(self) -> str:
        """The learner, its epsilon and how it sums: what tells one run from another in a picture."""
        claimed = self.certificate
        if claimed is None or not math.isfinite(getattr(claimed, "epsilon", math.inf)):
            return f"{self.learner}, no privacy" if claimed is not None else self.learner
        delta = f", delta = {claimed.delta:g}" if claimed.delta else ""
        return f"{self.learner}, epsilon = {claimed.epsilon:.4g}{delta}, {claimed.mechanism}"

    def bound_fits(self, top: float) -> bool:
        """Whether the proved bound can be drawn among curves that reach up to `top` without flattening them."""
        return self.bound is not None and float(self.bound.total) <= _ROOM * max(top, 0.0)

    def plot(self, ax: Any = None, *, level: float = 0.9, label: str | None = None, bound: bool | None = None) -> Any:
        """Draw mean, band and bound over the rounds on matplotlib axes, and return them.

        Args:
            ax: where to draw; by default new axes.
            level: the share of the replicas that lies in the band.
            label: of the curve; by default learner, epsilon and counter.
            bound: whether to draw the proved bound; by default where it fits the axis, that is where it is at most
                twice the largest regret in the band.
        """
        ax = axes_or_new(ax)
        (line,) = ax.plot(self.rounds, self.mean, label=self.label if label is None else label)
        color = line.get_color()
        upper = self.band(level)[1]
        if self.replicas > 1:
            ax.fill_between(self.rounds, *self.band(level), color=color, alpha=0.2, linewidth=0)
        wanted = self.bound_fits(float(upper.max())) if bound is None else bound
        if self.bound is not None and wanted:
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
        """The header, then a few of the rounds, spread over all of them."""
        lower, upper = self.band()
        shown = np.unique(np.linspace(0, len(self.rounds) - 1, _ROWS).round().astype(int))
        columns = (self.mean, self.standard_error, lower, upper)
        rows = [(f"{self.rounds[k]}", *(f"{column[k]:.5g}" for column in columns)) for k in shown]
        return [("rounds", "mean regret", "std. error", "5 %", "95 %"), *rows]

    def _promise(self) -> str:
        if self.bound is None:
            return "no proved bound"
        bound = self.bound
        parts = f"{bound.learning:.5g} for learning + {bound.privacy:.5g} for privacy"
        if getattr(bound, "says_nothing", False):
            above = f"is above the largest possible regret, {bound.largest:.5g}: it says nothing yet"
            return f"proved bound {bound.proved:.5g} = {parts} {above}"
        return f"proved bound {bound.total:.5g} = {parts}"

    def _clipped(self) -> list[str]:
        """That some losses are not those that the learner saw."""
        if self.check is None or self.check.ok:
            return []
        return [f"{self.check.sentence} The learner saw them clipped. {self.check.suggestion}"]

    def __repr__(self) -> str:
        return f"Simulation({self._title()}, mean regret {self.final:.5g})"

    def __str__(self) -> str:
        told = [f"  {line}" for line in (self._promise(), *self._clipped())]
        return "\n".join([self._title(), *_COLUMNS.lines(self._table()), *told])

    def _repr_html_(self) -> str:
        header, *rows = self._table()
        told = "".join(f"<p>{markup.text(line)}</p>" for line in (self._promise(), *self._clipped()))
        return markup.notebook(f"<p>{markup.text(self._title())}</p>{markup.table(rows, header)}{told}")
