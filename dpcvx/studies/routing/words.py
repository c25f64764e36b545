"""What was found about routes, as a story for the terminal; the rows of its tables are those of the report."""

from collections.abc import Sequence

from decision_sets.networks import Network
from dpcvx.experiments.sweep.folder import Row
from dpcvx.experiments.text_table import TextTable
from dpcvx.studies.routing.city import City, Totals
from dpcvx.studies.routing.days import Days
from dpcvx.studies.routing.declared import Declared
from dpcvx.studies.routing.pair import Outcome, PairFindings

PAIR_HEADER = ("learner", "protects", "epsilon", "regret a trip", "of nothing", "proved bound")
CITY_HEADER = ("who plays", "regret a trip", "of nothing")
_SHOWN = 10  # pairs in a printed table
_NOTHING = 1e-9  # regret a trip that is nothing but rounding
CITY_ROWS_HEADER = ("from", "to", "trips", "links", "nothing", "usual route", "no privacy", "private", "proved bound")


def pair_rows(found: PairFindings) -> list[tuple[str, ...]]:
    """For every player its regret per trip, how that compares with doing nothing, and the proved bound."""
    idle = found.idle
    rows = [
        ("doing nothing", "", "", f"{idle:z.4f}", _part(idle, idle), ""),
        ("usual route", "", "", f"{found.usual:z.4f}", _part(found.usual, idle), ""),
    ]
    return rows + [_row(outcome, idle) for outcome in found.outcomes]


def _row(outcome: Outcome, idle: float) -> tuple[str, ...]:
    case, played = outcome.case, outcome.played
    learner = case.kind
    if played is None:
        return learner, case.protects, case.promise, "not here", "", ""
    measured = f"{played.per_trip:z.4f}" + (f" ± {played.error:.4f}" if len(played.regret) > 1 else "")
    bound = played.bound_per_trip
    proved = "none" if bound is None or not case.proved else f"{bound:.3f}"
    return learner, case.protects, case.promise, measured, _part(played.per_trip, idle), proved


def _part(regret: float, idle: float) -> str:
    return f"{regret / idle:.1%}".replace("%", " %") if idle > _NOTHING else ""


def network_lines(network: Network, name: str) -> list[str]:
    """How large the network is, and what was noted when it was read."""
    zones = int(network.closed.sum())
    closed = f", {zones} of which are not passed through" if zones else ""
    demand = "" if not network.trips else f", {sum(network.trips.values()):,.0f} trips a day"
    return [f"{name}: {len(network.nodes)} nodes{closed}, {len(network.links)} links{demand}", *network.notes]


def declared_lines(declared: Declared, days: Days) -> list[str]:
    """What times may be, and how many were above."""
    slowest = "" if not len(days.times) else f" of {len(days.times)} different days"
    return [
        f"times from 1 to {declared.ceiling:g} times those of empty links, in the unit of {declared.unit:.4g} that the "
        f"usual trip takes; {declared.clipped:.1%} of all link-days{slowest} are above and count as "
        f"{declared.ceiling:g} times"
    ]


def pair_words(found: PairFindings, name: str) -> str:
    """The story of one pair."""
    X, wish = found.X, found.wish
    rows = [PAIR_HEADER, *pair_rows(found)]
    lines = [
        "NETWORK",
        *(f"  {line}" for line in (*network_lines(found.network, name), *found.days.assumed)),
        "",
        f"ROUTES from {X.origin} to {X.destination}, cycles={X.cycles}",
        f"  {X.size} coordinates, dimension {X.dim}; {X.excluded}",
        *(["  there is one route, which every player takes: nothing is to be learnt"] if not X.dim else []),
        "",
        "DECLARED",
        *(f"  {line}" for line in declared_lines(found.declared, found.days)),
        "",
        *_promised(found),
        f"PAID per trip, in usual trips, over {wish.horizon:,} days: regret against the best fixed route, which takes "
        f"{found.best:.3f}",
        "  (simulation; a whole day: all its times become any others; proved bounds hold for all losses there are;",
        "  bold: three times the learning rate of the least bound)",
        *(f"  {line}" for line in TextTable.fitting(rows, "<<<>>>").lines(rows)),
        *(f"  not here: {one.case.name}: {one.reason}" for one in found.outcomes if one.reason),
        *([f"  {found.left_out}"] if found.left_out else []),
    ]
    return "\n".join(lines)


def _promised(found: PairFindings) -> list[str]:
    certified = [one for one in found.outcomes if one.certificate is not None]
    if not certified:
        return []
    lines = [f"PROMISED by learners with exact noise: {certified[0].case.name}"]
    lines += [f"  {line}" for line in str(certified[0].certificate).splitlines()]
    for one in certified[1:]:
        c = one.certificate
        assert c is not None
        lines.append(f"  {one.case.kind}, {one.case.protects}: epsilon = {c.epsilon:.6g}, delta = {c.delta:.6g}")
    return [*lines, ""]


def city_summary(city: City, totals: Totals) -> list[tuple[str, ...]]:
    """Means over all pairs."""
    idle = totals.means["nothing"]
    names = {"nothing": "doing nothing", "usual": "usual routes", "free": "no privacy", "private": "private"}
    names["bound"] = "private, proved bound"
    shown = [(words, totals.means[name]) for name, words in names.items()]
    return [(words, f"{value:z.4f}", _part(value, idle)) for words, value in shown]


def city_promises(city: City) -> list[str]:
    """What privacy costs with one sum, and what it would cost with bandits."""
    one, k = city.certificate, len(city.pairs)
    claim = f"epsilon = {one.epsilon:.6g}, delta = {one.delta:.6g}"
    said = [
        f"full information: one private sum of {len(city.network.links)} links serves all {k} pairs, and protects "
        f"{city.protects} at {claim}, once for all routes of all pairs and days",
        f"full information, a sum for each pair: epsilon = {k * one.epsilon:.6g} by simple addition",
    ]
    try:
        total = city.bandits()
    except ValueError as error:
        return [*said, f"bandits: none here: {' '.join(str(error).split())}"]
    return [
        *said,
        f"bandits: {k} of epsilon = {city.wish.epsilon:g} each see {k} different numbers a day: together epsilon = "
        f"{total.epsilon:.6g}, delta = {total.delta:.6g}, by {total.method}",
    ]


def city_table(rows: Sequence[Row], shown: int | None = None) -> list[tuple[str, ...]]:
    """One line for each pair with a route; at most so many, spread over all."""
    joined = [row for row in rows if row["links"] is not None]
    if shown is not None and len(joined) > shown:
        joined = [joined[k * (len(joined) - 1) // (shown - 1)] for k in range(shown)]
    numbers = ("nothing", "usual", "free", "private", "bound")
    return [
        (
            *(str(row[name]) for name in ("origin", "destination")),
            "" if row["trips"] is None else f"{row['trips']:,.0f}",
            str(row["links"]),
            *("" if row[name] is None else f"{row[name]:z.4f}" for name in numbers),
        )
        for row in joined
    ]


def city_words(city: City, rows: Sequence[Row], name: str) -> str:
    """The story of a city."""
    totals = Totals.of(rows)
    summary = [CITY_HEADER, *city_summary(city, totals)]
    table = [CITY_ROWS_HEADER, *city_table(rows, _SHOWN)]
    joined, apart = totals.pairs
    left_out = [f"  {apart} pairs have no route and are left out; such as {_first_note(rows)}"] if apart else []
    lines = [
        "NETWORK",
        *(f"  {line}" for line in (*network_lines(city.network, name), *city.days.assumed)),
        "",
        "DECLARED",
        *(f"  {line}" for line in declared_lines(city.declared, city.days)),
        "",
        "PROMISED",
        *(f"  {line}" for line in city_promises(city)),
        "",
        f"PAID per trip, in usual trips of each pair, over {city.wish.horizon:,} days by {joined} pairs (simulation)",
        *left_out,
        *(f"  {line}" for line in TextTable.fitting(summary, "<>>").lines(summary)),
        f"  the worst pair pays {totals.worst:.1%} of what doing nothing costs it",
        "",
        *(f"  {line}" for line in TextTable.fitting(table, "<<" + ">" * 7).lines(table)),
    ]
    return "\n".join(lines)


def _first_note(rows: Sequence[Row]) -> str:
    return next(str(row["note"]) for row in rows if row["links"] is None)
