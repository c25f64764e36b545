"""What `price_of_privacy` found: rows, a table, a picture and a recommendation in words.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dpcvx import markup
from dpcvx.errors import ArgumentError
from dpcvx.experiments.axes import axes_or_new, plain_ticks
from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.text_table import TextTable, paragraph
from dpcvx.studies.price.contenders import PAPER, PRACTICE, PRIVATE, WHOLE, WITHOUT
from dpcvx.studies.price.free import LEARNED, Threshold
from dpcvx.studies.price.rows import PriceRow

_HEADER = (
    "T",
    "epsilon",
    "idle",
    "no privacy",
    "private",
    "5 % to 95 %",
    "times",
    "bound",
    "worst on",
)
_BESIDE = {PAPER: ("paper's", "its bound", "its eps"), WHOLE: (WHOLE, "its bound")}
_LEGEND = (
    "Mean regret on the losses that were worst, ± its standard error. idle: staying at the center of the set; times: "
    "private over no privacy; bound: proved, for all losses fixed in advance; vacuous: at least the largest possible "
    "regret; {beside}. Lines called used: the learner of that setting in practice, which is the adaptive bandit, for "
    "which no bound is proved, or of all learners with full information the one of the smallest bound."
)
_BESIDE_IS = {
    PAPER: "its eps: the epsilon that the paper's noise really gives",
    WHOLE: "whole round: the same learner where nothing is said of what one person can change, so that it protects all "
    "of a loss",
}
_USED = "used"


@dataclass(frozen=True)
class PriceOfPrivacy:
    """The price of privacy on one set.

    Attributes:
        rows: one for each setting, horizon and learner.
        thresholds: from which epsilon on privacy is free; empty where there is nothing to learn.
        decision_set, loss_set: their names.
        seconds: how long it took.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> price = dpcvx.price_of_privacy(
        ...     X, Y, epsilons=[1.0], horizons=[256], settings=["full information"], losses=["const"], replicas=4
        ... )
        >>> free = price.row("full information", "without privacy", 256)
        >>> private = price.row("full information", "private", 256, epsilon=1.0)
        >>> free.regret < private.regret < private.bound
        True
    """

    rows: tuple[PriceRow, ...]
    thresholds: tuple[Threshold, ...]
    decision_set: str
    loss_set: str
    seconds: float

    @property
    def beside(self) -> str:
        """The role of the learner beside the private one."""
        return WHOLE if any(row.role == WHOLE for row in self.rows) else PAPER

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.setting for row in self.rows))

    @property
    def horizons(self) -> tuple[int, ...]:
        return tuple(sorted({row.horizon for row in self.rows}))

    def row(self, setting: str, role: str, horizon: int, epsilon: float | None = None) -> PriceRow:
        """The row of one learner.

        Raises:
            KeyError: where that was not measured.
        """
        wanted = (setting, role, horizon, epsilon)
        for row in self.rows:
            if (row.setting, row.role, row.horizon, row.epsilon) == wanted:
                return row
        raise KeyError(f"There is no row for {wanted}.")

    @property
    def recommendation(self) -> str:
        """From which epsilon on privacy is free, and on what that rests; one sentence a line."""
        if not self.thresholds:
            return (
                "There is nothing to learn: all decisions cost the same under every loss. Privacy costs nothing at any "
                "epsilon."
            )
        lines = [
            "Privacy is called free where it adds at most as much regret as learning costs, and the private learner "
            "pays at most three quarters of what the idle player does."
        ]
        for setting in self.settings:
            own = [one for one in self.thresholds if one.setting == setting]
            last = max((one for one in own if one.source == "measured"), key=lambda one: one.horizon)
            shown = [last, *(one for one in own if one.source == "bounds")]
            lines += [f"{setting.capitalize()}, {one.spoken(beyond=one.horizon > last.horizon)}" for one in shown]
            lines += self._unlearned(setting, last.horizon)
        return "\n".join([*lines, *self._correction()])

    def _unlearned(self, setting: str, horizon: int) -> Iterator[str]:
        """At which epsilons the private learner did not learn."""
        own = [row for row in self.rows if (row.setting, row.role, row.horizon) == (setting, PRIVATE, horizon)]
        found = [row for row in own if row.idle > 0 and row.regret > LEARNED * row.idle]
        if found:
            names = ", ".join(f"{row.epsilon:g}" for row in found)
            paid = " to ".join(dict.fromkeys(f"{row.regret / row.idle:.0%}" for row in (found[-1], found[0])))
            yield (
                f"{setting.capitalize()}, T = {horizon}: at epsilon {names} the private learner learned little: it "
                f"pays {paid} of what the idle player does. More rounds or a larger epsilon would help."
            )

    def _correction(self) -> Iterator[str]:
        excess = [(row.given_epsilon or 0.0) / row.epsilon for row in self.rows if row.role == PAPER and row.epsilon]
        if excess and max(excess) > 1.001:
            yield f"The paper's noise gives up to {max(excess):.3g} times the epsilon that it is meant for."

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the rows; `vacuous` marks bounds that say nothing."""
        return data_frame([asdict(row) | {"vacuous": row.vacuous} for row in self.rows])

    def table(self, setting: str) -> list[tuple[str, ...]]:
        """The header, then two lines for each horizon and epsilon of a setting: what is promised, and what is used."""
        own = [row for row in self.rows if row.setting == setting]
        alone = {row.horizon: row for row in own if row.role == WITHOUT}
        beside = {(row.horizon, row.epsilon): row for row in own if row.role == self.beside}
        practice = {(row.horizon, row.epsilon): row for row in own if row.role == PRACTICE}
        lines: list[tuple[str, ...]] = [(*_HEADER, *_BESIDE[self.beside])]
        for row in own:
            if row.role == PRIVATE:
                other = beside[row.horizon, row.epsilon]
                gives = (f"{other.given_epsilon:.3g}",) if self.beside == PAPER else ()
                lines.append((*_line(alone[row.horizon], row), _measured(other), _bound(other), *gives))
                used = _line(alone[row.horizon], practice[row.horizon, row.epsilon])
                lines.append((f"{used[0]} {_USED}", *used[1:], *[""] * (len(lines[0]) - len(used))))
        return lines

    @property
    def legend(self) -> str:
        """What the columns are that the tables have."""
        return _LEGEND.format(beside=_BESIDE_IS[self.beside])

    def learners(self, setting: str) -> str:
        """Which learners stand behind the columns of a setting."""
        names = {
            role: dict.fromkeys(row.learner for row in self.rows if (row.setting, row.role) == (setting, role))
            for role in (WITHOUT, PRIVATE, PRACTICE, self.beside)
        }
        return "; ".join(f"{role}: {' or '.join(found)}" for role, found in names.items())

    def _title(self) -> str:
        replicas = max(row.replicas for row in self.rows)
        return (
            f"Price of privacy: decisions in the {self.decision_set}, losses in the {self.loss_set}; "
            f"{replicas} replicas, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"PriceOfPrivacy({self.decision_set}, {self.loss_set}, {len(self.rows)} rows)"

    def __str__(self) -> str:
        blocks = [self._title()]
        for setting in self.settings:
            lines = [(name.split()[-1], *cells) for name, *cells in self.table(setting)]  # its T stands above "used"
            text = TextTable.fitting(lines, ">" * len(lines[0])).lines(lines)
            blocks.append("\n".join([paragraph(f"{setting}: {self.learners(setting)}"), *text]))
        told = "\n".join(paragraph(line) for line in self.recommendation.splitlines())
        return "\n\n".join([*blocks, paragraph(self.legend), told])

    def _repr_html_(self) -> str:
        tables = []
        for setting in self.settings:
            header, *lines = self.table(setting)
            tables.append(markup.table(lines, header, f"{setting}: {self.learners(setting)}"))
        above = "".join(f"<p>{markup.text(line)}</p>" for line in [self._title(), *self.recommendation.splitlines()])
        return markup.notebook(f"{above}{''.join(tables)}<p>{markup.text(self.legend)}</p>")

    def plot(self, ax: Any = None, *, setting: str | None = None, horizon: int | None = None) -> Any:
        """Regret over epsilon in one setting and over one horizon, on matplotlib axes, which are returned.

        Args:
            ax: where to draw; by default a new figure.
            setting: by default the first one.
            horizon: by default the largest.
        """
        setting, horizon = setting or self.settings[0], horizon or self.horizons[-1]
        own = [row for row in self.rows if (row.setting, row.horizon) == (setting, horizon)]
        if not own:
            raise ArgumentError(f"Nothing was measured for the setting {setting!r} and T = {horizon}.")
        ax = axes_or_new(ax)
        (alone,) = (row for row in own if row.role == WITHOUT)
        asked = sorted({row.epsilon for row in own if row.epsilon is not None})
        ax.axhspan(alone.lower, alone.upper, color="C0", alpha=0.2, linewidth=0)
        ax.axhline(alone.regret, color="C0", label="without privacy")
        for role, colour, label in (
            (PRIVATE, "C1", "private"),
            (PRACTICE, "C2", "private, in practice"),
            (PAPER, "C3", "the paper's noise, at the epsilon it gives"),
            (WHOLE, "C3", "private for the whole round"),
        ):
            if any(row.role == role for row in own):
                self._draw(ax, [row for row in own if row.role == role], colour, label)
        ax.axhline(alone.idle, color="C7", linestyle=":", label="idle")
        if alone.bound is not None and not alone.vacuous:
            ax.axhline(alone.bound, color="C0", linestyle="--", linewidth=1)
        ax.plot([], [], color="C7", linestyle="--", linewidth=1, label="proved bounds")
        ax.set(xscale="log", xlabel="epsilon", ylabel="regret", title=f"{setting}, T = {horizon}")
        ax.set_xticks(asked, [f"{epsilon:g}" for epsilon in asked])
        ax.set_xticks([], minor=True)
        if alone.idle > 0 and min(row.regret for row in own) > 0:
            ax.set_yscale("log", nonpositive="clip")
            plain_ticks(ax.yaxis)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize="small", frameon=False)
        return ax

    def _draw(self, ax: Any, rows: list[PriceRow], colour: str, label: str) -> None:
        at = [row.given_epsilon for row in rows]
        ax.fill_between(
            at, [row.lower for row in rows], [row.upper for row in rows], color=colour, alpha=0.2, linewidth=0
        )
        ax.plot(at, [row.regret for row in rows], color=colour, marker="o", markersize=4, label=label)
        bounded = [row for row in rows if row.bound is not None and not row.vacuous]
        ax.plot(
            [row.given_epsilon for row in bounded],
            [row.bound for row in bounded],
            color=colour,
            linestyle="--",
            linewidth=1,
        )


def _line(alone: PriceRow, private: PriceRow) -> tuple[str, ...]:
    times = f"{private.regret / alone.regret:.3g}" if alone.regret > 0 else "-"
    return (
        f"{private.horizon}",
        f"{private.epsilon:g}",
        _number(private.idle),
        _number(alone.regret),
        _measured(private),
        f"{_number(private.lower)} to {_number(private.upper)}",
        times,
        _bound(private),
        private.losses,
    )


def _measured(row: PriceRow) -> str:
    error = "" if math.isnan(row.standard_error) else f" ±{_number(row.standard_error)}"
    return f"{_number(row.regret)}{error}"


def _bound(row: PriceRow) -> str:
    if row.bound is None:
        return "none"
    return "vacuous" if row.vacuous else _number(row.bound)


def _number(value: float) -> str:
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
