"""The report on routes: a map before and after learning, regret curves, certificates and the price of privacy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.experiments.axes import plain_ticks
from dpcvx.experiments.sweep.folder import Row
from dpcvx.markup import Html
from dpcvx.report.figures import figure, side_by_side
from dpcvx.report.page import Page, table
from dpcvx.report.route_map import link_map, places
from dpcvx.report.sections import certificate, declaration, reproduce
from dpcvx.studies.routing.city import City, Totals
from dpcvx.studies.routing.pair import Outcome, PairFindings
from dpcvx.studies.routing.words import (
    CITY_HEADER,
    CITY_ROWS_HEADER,
    PAIR_HEADER,
    city_promises,
    city_summary,
    city_table,
    declared_lines,
    network_lines,
    pair_rows,
)
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION, SETTINGS

_SIZE = (4.4, 3.2)
_MANY = 100  # times the first day of a curve, above which days between powers of ten are not named
_LEAST = 1e-5  # of what is drawn on a logarithmic axis
_DECLARED = 400  # coordinates up to which the declaration is shown


def pair_page(found: PairFindings, command: str) -> Page:
    """The page on one pair; `command` makes it again."""
    X, wish = found.X, found.wish
    page = Page(
        f"Private routes from {X.origin} to {X.destination}",
        f"What {wish.horizon:,} days of travel times teach, and what it costs that nobody's trips can be told from it.",
    )
    page.add(
        "The network",
        *network_lines(found.network, "The file"),
        *found.days.assumed,
        f"Routes from {X.origin} to {X.destination} are flows on {X.size} links (cycles=`{X.cycles}`). {X.excluded}.",
    )
    page.add("Before and after", *_maps(found))
    page.add(
        "What was declared",
        "What a loss may be; from this comes the sensitivity, and from that the noise: "
        f"{declared_lines(found.declared, found.days)[0]}.",
        *([declaration(X), declaration(found.declared.loss_set)] if X.size <= _DECLARED else []),
    )
    page.add(
        "What is promised",
        "Certificates of learners without a seed, which draw exact integer noise. “A whole day” means that all times "
        f"of one day may become any others; “one of {wish.drivers:,} drivers” that times are a mean over so many, and "
        "what one of them told becomes anything else.",
        *_certificates(found),
    )
    page.add(
        "What was measured",
        "Simulation: regret per trip against the best fixed route in hindsight, mean over the runs. A diamond is the "
        "bound that is proved; the dotted line is what doing nothing costs.",
        side_by_side(*(_curves(found, setting) for setting in SETTINGS if _of(found, setting))),
    )
    page.add(
        "What privacy costs",
        f"Regret per trip, in usual trips; the best fixed route takes {found.best:.3f}. The usual route is the fastest "
        "on public usual times. No bound is proved for bandits in practice, whose rates follow the feedback. The bold "
        "learner has three times the learning rate of the least bound: its own is larger, and it learns sooner.",
        table(PAIR_HEADER, _unbroken(pair_rows(found)), caption="Simulation: mean over the runs ± standard error"),
        *(f"Not here: {one.case.name}: {one.reason}" for one in found.outcomes if one.reason),
        *([found.left_out] if found.left_out else []),
    )
    return page.add("How to get this page again", reproduce(["pip install .", command]))


def city_page(city: City, rows: Sequence[Row], command: str) -> Page:
    """The page on all pairs of a city; `command` makes it again."""
    totals = Totals.of(rows)
    page = Page(
        f"Private routes for {len(city.pairs)} pairs of nodes",
        f"One private sum of the times of {len(city.network.links)} links serves them all, and is paid for once.",
    )
    page.add("The network", *network_lines(city.network, "The file"), *city.days.assumed, *_volumes(city))
    page.add(
        "What is promised",
        *(f"{line[0].upper()}{line[1:]}." for line in city_promises(city)),
        f"Declared: {declared_lines(city.declared, city.days)[0]}.",
        certificate(city.certificate, "the sum that all pairs share"),
    )
    page.add(
        "What was measured",
        f"Simulation over {city.wish.horizon:,} days: regret per trip, in usual trips of each pair, against the best "
        f"fixed route of each pair. Means over {totals.pairs[0]} pairs"
        + (f"; {totals.pairs[1]} others have no route." if totals.pairs[1] else "."),
        table(CITY_HEADER, _unbroken(city_summary(city, totals))),
        _scatter(rows),
    )
    page.add("All pairs", table(CITY_ROWS_HEADER, _unbroken(city_table(rows))))
    return page.add("How to get this page again", reproduce(["pip install .", command]))


def _certificates(found: PairFindings) -> list[Html]:
    """That of a whole day with full information, and the others folded."""
    known = [(one.case.name, one.certificate) for one in found.outcomes if one.certificate is not None]
    known.sort(key=lambda one: not one[0].startswith(f"{FULL_INFORMATION}: a whole day"))
    blocks = [certificate(claimed, name) for name, claimed in known]
    folded = [
        Html(f"<details><summary>{markup.text(name)}</summary>{block}</details>")
        for (name, _), block in zip(known[1:], blocks[1:], strict=True)
    ]
    return [*blocks[:1], *folded]


def _of(found: PairFindings, setting: str) -> list[Outcome]:
    return [one for one in found.outcomes if one.case.setting == setting and one.played is not None]


def _maps(found: PairFindings) -> list[Html | str]:
    """Doing nothing, then for a few learners where the drivers go in the end."""
    X, at = found.X, places(found.network)
    ends = tuple(found.network.number_of(node) for node in (X.origin, X.destination))
    full, bandit = _of(found, FULL_INFORMATION), _of(found, BANDIT)
    chosen = [(one.case.name, one.played.last) for one in (*full[:1], *full[2:3], *bandit[2:3]) if one.played]
    shown = [("before: doing nothing", X.flatten(X.center)), *((f"after: {name}", flow) for name, flow in chosen)]
    maps = []
    for title, flow in shown:
        shares = np.asarray(X.links_map @ flow)
        largest = [f"{X.network.links[k]} {shares[k]:.0%}" for k in np.argsort(-shares)[:6]]
        words = f"Map of the links between {X.origin} and {X.destination}, {title}: most used are {', '.join(largest)}."
        maps.append(
            link_map(found.network, at, np.minimum(shares, 1.0), _broken(title), words, ends=ends, around=X.links)
        )
    said = "The width of a link is the probability that it is driven; thin grey links are not driven."
    if found.network.positions is None:
        said += " The network has no coordinates: the layout is computed."
    return [said, side_by_side(*maps)]


def _broken(title: str) -> str:
    """A title in two lines."""
    return title.replace(": ", ":\n", 1)


def _curves(found: PairFindings, setting: str) -> Html:
    drawn, ax = _axes()
    T, ends = found.wish.horizon, []
    for one, colour in zip(_of(found, setting), ("C7", "C2", "C0", "C3", "C4"), strict=False):
        played = one.played
        assert played is not None
        label = "no privacy" if one.case.epsilon is None else f"{one.case.protects}, ε = {one.case.promise}"
        label = f"{one.case.manner}: {label}" if one.case.manner else label
        mean = np.maximum(played.regret.mean(axis=0) / played.rounds, _LEAST)
        ax.plot(played.rounds, mean, color=colour, label=label)
        if played.bound_per_trip is not None and one.case.proved:
            proved = max(played.bound_per_trip, _LEAST)
            ax.plot(T, proved, color=colour, marker="D", markersize=5, linestyle="none", clip_on=False)
        ends.append(f"{one.case.name}: {played.per_trip:z.4f}")
    ax.axhline(max(found.idle, _LEAST), color="black", linestyle=":", linewidth=1)
    first = min(16, T)
    if not found.X.dim:  # all is 0
        ax.set_ylim(_LEAST / 10, 1.0)
    ax.set(xscale="log", yscale="log", xlim=(first, max(T, 2)), xlabel="days", ylabel="regret per trip, in usual trips")
    ax.set_title(f"{setting} (simulation)")
    plain_ticks(ax.xaxis, powers=_MANY * first < T)
    plain_ticks(ax.yaxis)
    drawn.legend(fontsize=7, loc="outside lower center", frameon=False, ncols=2, columnspacing=0.8, handlelength=1.2)
    return figure(
        drawn,
        alternative=f"Regret per trip over {T} days, {setting}, both logarithmic. In the end {'; '.join(ends)}; doing "
        f"nothing costs {found.idle:z.4f}.",
        caption=f"Regret per trip, {setting}.",
    )


def _volumes(city: City) -> list[Html]:
    """The usual traffic, where it is known."""
    traffic = city.days.traffic
    if traffic is None:
        return []
    shares = traffic.volumes / max(float(traffic.volumes.max()), 1e-300)
    busiest = [f"{city.network.links[k]} {traffic.volumes[k]:,.0f}" for k in np.argsort(-shares)[:5]]
    words = f"Map of the usual traffic. The busiest links, in trips a day: {'; '.join(busiest)}."
    return [link_map(city.network, places(city.network), shares, "usual traffic", words, widest=3.0)]


def _scatter(rows: Sequence[Row]) -> Html:
    """What privacy leaves of what there is to gain, for every pair."""
    open_to = [row for row in rows if row["links"] is not None and float(row["nothing"] or 0.0) > 1e-9]
    columns: dict[str, Array] = {
        name: np.maximum([float(row[name] or 0.0) for row in open_to], _LEAST)
        for name in ("nothing", "private", "free")
    }
    drawn, ax = _axes()
    ax.plot(columns["nothing"], columns["free"], ".", color="C7", markersize=4, label="no privacy")
    ax.plot(columns["nothing"], columns["private"], ".", color="C0", markersize=4, label="private")
    if len(open_to):
        line = np.array([columns["nothing"].min(), columns["nothing"].max()])
        ax.plot(line, line, color="black", linestyle=":", linewidth=1, label="as doing nothing")
    ax.set(xscale="log", yscale="log", xlabel="what doing nothing costs a trip", ylabel="regret a trip")
    ax.set_title("all pairs (simulation)")
    drawn.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=3)
    return figure(
        drawn,
        alternative=f"Regret per trip of {len(open_to)} pairs in which there is something to learn, against what doing "
        "nothing costs, with privacy and without, both logarithmic.",
        caption="Every pair is a point; below the dotted line learning pays.",
    )


def _unbroken(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in row] for row in rows]


def _axes() -> tuple[Figure, Any]:
    drawn = Figure(figsize=_SIZE, layout="constrained")
    ax = drawn.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return drawn, ax
