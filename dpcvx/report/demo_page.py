"""The report of the demo: the same story as on the terminal, with pictures."""

import inspect
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dpcvx.arrays import Array
from dpcvx.markup import Html
from dpcvx.report.figures import figure, side_by_side
from dpcvx.report.page import Page, preformatted, table
from dpcvx.report.sections import certificate, declaration, reproduce
from dpcvx.studies import town
from dpcvx.studies.demo import EPSILON, EPSILONS, PRICE_HEADER, Findings
from dpcvx.studies.settings import SETTINGS

_SIZE = (4.4, 3.2)
_FIRST = 32  # round from which on regret is drawn
_LEAST = 1e-9  # of what is drawn on a logarithmic axis


def demo_page(found: Findings, command: str) -> Page:
    """The page on what the demo found; `command` makes it again."""
    T, replicas = found.size.horizon, found.size.replicas
    page = Page(
        "Private routes through a small town",
        "What dpcvx makes of a set declared in cvxpy: geometry, learners, certificates and the price of privacy.",
    )
    page.add(
        "The problem",
        f"In each of {T:,} rounds somebody drives from home to work. Only afterwards it is known how long the roads "
        "took. There are rush hours, and an accident blocks the main road for good. The learner shall do almost as "
        "well as the best fixed route, which is known only in hindsight; what it loses against that is its regret.",
        "What is protected is one round: whoever watches all routes that were ever chosen must not find out what the "
        "travel times of any one round were: these change the probability of what is seen by a factor of at most e^ε.",
        side_by_side(_map(), _route_times(found)),
    )
    page.add(
        "What was declared",
        "This is all that the package is told about routes:",
        preformatted(inspect.getsource(town.routes)),
        "As cvxpy prints it, and what was derived from it:",
        declaration(found.routes),
        "What a loss may be; from this comes the sensitivity, and from that the noise:",
        declaration(found.times),
    )
    page.add(
        "What is promised",
        f"Two learners with epsilon = {EPSILON:g} and without a seed, which draw exact integer noise, played "
        f"{found.size.secure_rounds} rounds. With full information a learner sees all travel times after each round; a "
        "bandit sees only how long its own trip took.",
        *(certificate(found.certificates[setting], setting) for setting in SETTINGS),
    )
    page.add(
        "What was measured",
        "Simulation: these learners are seeded, so that the curves can be drawn again, and a seeded learner promises "
        f"nothing. Mean over {replicas} runs, with the band between the quantiles 5 % and 95 %. A diamond is the bound "
        f"that is proved for the expected regret after {T:,} rounds.",
        side_by_side(*(_regrets(found, setting) for setting in SETTINGS)),
        "With full information, the drivers of a learner without privacy, and those of a few private runs on average:",
        side_by_side(*(_drivers(found, epsilon, late) for epsilon in found.flows for late in (False, True))),
    )
    page.add(
        "What privacy costs",
        f"Regret per trip, in the time that the slowest road can take. The best fixed route costs {found.best:.3f} a "
        f"trip, and the idle player, who stays at the center of the set, pays {found.idle:.3f} more. "
        "Proved bounds hold for all losses there are; one above that says little about so few trips. The last column "
        "is the adaptive bandit, whose rates follow the feedback: what one would use, with no bound proved.",
        table(
            PRICE_HEADER, _unbroken(found.price()), caption=f"Simulation: mean over {replicas} runs ± standard error"
        ),
    )
    page.add("How to get this page again", reproduce(["pip install .", command]))
    return page


def _regrets(found: Findings, setting: str) -> Html:
    """Regret a trip over the rounds: mean, band, and the proved bound where it holds, after the last round."""
    drawn, ax = _axes()
    T, ends = found.size.horizon, []
    for epsilon, colour in zip(EPSILONS, ("C7", "C2", "C0", "C3"), strict=True):
        run, label = found.runs[setting, epsilon], _privacy(epsilon)
        ax.plot(run.rounds, run.mean / run.rounds, color=colour, label=label)
        if run.replicas > 1:
            lower, upper = (np.maximum(end, _LEAST) / run.rounds for end in run.band())
            ax.fill_between(run.rounds, lower, upper, color=colour, alpha=0.2, linewidth=0)
        ax.plot(T, run.bound.total / T, color=colour, marker="D", markersize=5, linestyle="none", clip_on=False)
        ends.append(f"{label}: {run.final / T:.3f}, proved at most {run.bound.total / T:.3f}")
    ax.plot([], [], color="black", marker="D", markersize=5, linestyle="none", label="proved bound")
    highest = max(run.bound.total for run in found.runs.values()) / T
    lowest = min(run.final for run in found.runs.values()) / T
    ax.set(xscale="log", yscale="log", xlim=(_FIRST, T), ylim=(max(lowest, 1e-4) / 2, 2 * highest))
    ax.set(xlabel="rounds", ylabel="regret per trip", title=f"{setting} (simulation)")
    ax.legend(fontsize=8, loc="lower left", frameon=False)
    return figure(
        drawn,
        alternative=f"Regret per trip over rounds, {setting}, both logarithmic. In the end {'; '.join(ends)}.",
        caption=f"Regret per trip, {setting}.",
    )


def _route_times(found: Findings) -> Html:
    """What the best route before the accident and the best one after it cost over time."""
    drawn, ax = _axes()
    T = found.size.horizon
    crash, width = town.accident(T), max(1, T // 128)
    for part, name in ((slice(0, crash), "best before"), (slice(crash, T), "best afterwards")):
        route = found.routes.argmin(found.losses[part].mean(axis=0))
        costs = found.losses @ route
        smooth = costs[: T // width * width].reshape(-1, width).mean(axis=1)
        ax.plot((np.arange(len(smooth)) + 0.5) * width, smooth, label=name)
    ax.axvline(crash, color="C3", linestyle=":", label="accident")
    ax.set(xlabel="rounds", ylabel="time from home to work", ylim=(0, None), title="two routes over time")
    ax.legend(fontsize=8, frameon=False)
    return figure(
        drawn,
        alternative=f"Time on two routes over {T} rounds, with rush hours. At round {crash} an accident makes the one "
        "that was faster so far much slower than the other.",
        caption="What two of the routes cost; the learner is told neither the rush hours nor the accident.",
    )


def _map() -> Html:
    drawn, ax = _axes()
    count = len(town.ROADS)
    _draw_roads(ax, np.full(count, 1.2), [f"{k}" for k in range(count)], ["black"] * count)
    ax.set_title("the roads and their numbers")
    return figure(
        drawn,
        alternative=f"A map of {len(town.PLACES)} places and {len(town.ROADS)} one-way roads from home to work.",
        caption=f"flow[k] is the share of drivers on road k. The accident closes road {_closed()}.",
    )


def _drivers(found: Findings, epsilon: float | None, late: bool) -> Html:
    flow = found.flows[epsilon][late]
    drawn, ax = _axes()
    labels = [f"{share:.0%}" if share >= 0.005 else "" for share in flow]
    _draw_roads(ax, 0.5 + 6 * flow, labels, ["C3" if late and k == _closed() else "C0" for k in range(len(flow))])
    title = f"{_privacy(epsilon)}, {'in the end' if late else 'before the accident'} (simulation)"
    ax.set_title(title)
    busy = [f"{start} to {end} {flow[k]:.0%}" for k, (start, end) in enumerate(town.ROADS) if flow[k] >= 0.1]
    return figure(drawn, alternative=f"Share of drivers on the roads, {title}: {', '.join(busy)}.")


def _draw_roads(ax: Any, widths: Array, labels: list[str], colours: list[str]) -> None:
    """Arrows between the places, each with its width, colour and label."""
    for (start, end), width, label, colour in zip(town.ROADS, widths, labels, colours, strict=True):
        tail, head = np.array(town.PLACES[start]), np.array(town.PLACES[end])
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 20, "shrinkB": 20}
        ax.annotate("", head, tail, arrowprops=arrow)
        along = (head - tail) / np.linalg.norm(head - tail)
        aside = np.array([abs(along[1]), -along[0] * np.sign(along[1])]) if along[1] else np.array([0.0, 1.0])
        ax.text(*((tail + head) / 2 + 0.16 * aside), label, fontsize=8, ha="center", va="center")
    for place, point in town.PLACES.items():
        ax.text(*point, place, ha="center", va="center", fontsize=9)
    ax.set(xlim=(-0.25, 3.25), ylim=(-0.25, 2.25))
    ax.set_axis_off()


def _privacy(epsilon: float | None) -> str:
    return "no privacy" if epsilon is None else f"ε = {epsilon:g}"


def _unbroken(rows: list[tuple[str, ...]]) -> list[list[str]]:
    return [[cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in row] for row in rows]


def _closed() -> int:
    return list(town.ROADS).index(town.CLOSED)


def _axes() -> tuple[Figure, Any]:
    drawn = Figure(figsize=_SIZE, layout="constrained")
    ax = drawn.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return drawn, ax
