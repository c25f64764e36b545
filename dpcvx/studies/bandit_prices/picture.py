"""The report on the price of private bandits as a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from dpcvx.studies.bandit_prices.contests import LEVEL, ContestRow
from dpcvx.studies.bandit_prices.growth import Growth
from dpcvx.studies.bandit_prices.report import Report

PLAIN, PICKED, IDLE, BOUND = "#8aa4bd", "#d1603d", "#555555", "#1f3b57"


def draw(report: Report, path: Path) -> None:
    """Write the picture: bars for what was paid per round, lines for how it grows."""
    figure = Figure(figsize=(15.0, 9.5), layout="constrained", facecolor="white")
    panels = figure.subplots(2, 3)
    titles = {"noise": "(i) noise", "arms": "(iii) ten arms, hardest gap", "cube": "(iv) cube, corners or body"}
    for panel, (name, title) in zip((panels[0, 0], panels[0, 2], panels[1, 0]), titles.items(), strict=True):
        draw_bars(panel, report.tables[name])
        panel.set_title(title)
    draw_batches(panels[0, 1], report.tables["batches"])
    draw_growth(panels[1, 1], [growth for growth in report.growths if growth.over == "T"])
    draw_exponents(panels[1, 2], report.growths)
    figure.suptitle(f"The price of private bandits (simulation, {LEVEL:.0%} intervals)", fontsize=14)
    figure.savefig(path, dpi=110)


def draw_bars(panel: Axes, rows: Sequence[ContestRow]) -> None:
    """Regret per round as a share of what the idle player pays, a bar for each row, rows of a contest together."""
    contests = list(dict.fromkeys(row.contest for row in rows))
    places = np.array([k + 1.6 * contests.index(row.contest) for k, row in enumerate(rows)])
    shares = np.array([row.per_round / row.idle for row in rows])
    ends = np.array([row.interval for row in rows]).T / [row.horizon * row.idle for row in rows]
    colours = [PICKED if row.is_picked else PLAIN for row in rows]
    panel.barh(places, shares, xerr=np.abs(ends - shares), color=colours, capsize=3)
    panel.set_yticks(places, [_label(row) for row in rows], fontsize=8)
    panel.set_ylim(places[-1] + 0.6, -1.2)
    for contest in contests:
        first = places[[row.contest == contest for row in rows]].min()
        panel.text(0.01, first - 0.75, contest, fontsize=8, weight="bold", va="center")
    panel.axvline(1.0, color=IDLE, linestyle=":", linewidth=1)
    for place, row in zip(places, rows, strict=True):
        if row.bound <= 1.3 * row.idle:
            panel.plot([row.bound / row.idle] * 2, [place - 0.4, place + 0.4], color=BOUND)
    panel.set_xlim(0, max(1.05, 1.05 * float(ends.max())))
    panel.set_xlabel(
        "regret, as a share of that of the idle player\norange: chosen; dark line: proved bound", fontsize=8
    )
    panel.spines[["top", "right"]].set_visible(False)


def _label(row: ContestRow) -> str:
    weaker = "" if row.is_rival else f", true epsilon {row.epsilon:.2g}"
    return f"{row.learner} ({row.batch}){weaker}" if row.batch > 1 else row.learner + weaker


def draw_batches(panel: Axes, rows: Sequence[ContestRow]) -> None:
    """Regret per round over epsilon, with batches and without."""
    kinds = list(dict.fromkeys(row.learner.removesuffix(", batches") for row in rows))
    for number, kind in enumerate(kinds):
        for suffix, style in (("", "--"), (", batches", "-")):
            ours = [row for row in rows if row.learner == kind + suffix]
            means = np.array([row.per_round for row in ours])
            ends = np.abs(np.array([row.interval for row in ours]).T / ours[0].horizon - means)
            where = ours[0].contest.split(",")[0]
            panel.errorbar(
                [row.epsilon for row in ours],
                means,
                ends,
                fmt=style + "o",
                color=f"C{number}",
                markersize=4,
                capsize=3,
                label=f"{where}, {kind}" if suffix else None,
            )
    _logarithmic(panel, sorted({row.epsilon for row in rows}))
    panel.set(xlabel="epsilon", ylabel="regret per round, hardest gap")
    panel.set_title(f"(ii) batches (full) or none (dashed), T = {rows[0].horizon}")
    panel.legend(fontsize=7)


def _logarithmic(panel: Axes, ticks: Sequence[float]) -> None:
    """Both axes logarithmic, with these ticks on the horizontal one and plain numbers on the other."""
    panel.set(xscale="log", yscale="log")
    panel.set_xticks(ticks, [f"{tick:.6g}" for tick in ticks])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.yaxis.set_minor_locator(NullLocator())


def draw_growth(panel: Axes, growths: Sequence[Growth]) -> None:
    """Mean regrets over T with three standard errors, and the fitted laws."""
    for number, growth in enumerate(growths):
        sizes, means = np.array(growth.sizes), np.array(growth.means)
        label = f"{growth.name}: {growth.exponent}"
        panel.errorbar(sizes, means, 3 * np.array(growth.errors), fmt="o", color=f"C{number}", capsize=3, label=label)
        law = sizes**growth.exponent.value * np.sqrt(np.log(sizes))
        panel.plot(sizes, law * np.exp(np.mean(np.log(means / law))), color=f"C{number}")
    _logarithmic(panel, growths[0].sizes)
    panel.set(xlabel="T", ylabel="regret, hardest gap")
    panel.set_ylim(bottom=panel.get_ylim()[0] / 4)  # room for the legend
    panel.set_title("(v) growth with T: exponents beside sqrt(ln T)")
    panel.legend(fontsize=5.5, loc="lower right")


def draw_exponents(panel: Axes, growths: Sequence[Growth]) -> None:
    """Fitted exponents with their intervals, and those of the theory."""
    places = np.arange(len(growths))
    values = np.array([growth.exponent.value for growth in growths])
    ends = np.array([[growth.exponent.lower, growth.exponent.upper] for growth in growths]).T
    panel.errorbar(values, places, xerr=np.abs(ends - values), fmt="o", color=BOUND, capsize=3, label="fitted")
    theory = [growth.theory for growth in growths]
    panel.plot(theory, places, marker="D", linestyle="", color=PICKED, markerfacecolor="none", label="proved bound")
    panel.set_yticks(places, [f"{growth.name}, in {growth.over}" for growth in growths], fontsize=8)
    panel.invert_yaxis()
    panel.set_xlim(-0.5, 2.5)
    panel.set_title("(v) exponents in T, n and nu")
    panel.legend(fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
