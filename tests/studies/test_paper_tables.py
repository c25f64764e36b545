"""The paper's tables: what is planned is in the regime, what is fitted is right, and what is printed says so."""

import argparse
from dataclasses import replace

import numpy as np
import pytest

from dpcvx.commands import tables
from dpcvx.commands.outcomes import InputError
from dpcvx.experiments.exponents import Exponent, fit_exponent
from dpcvx.experiments.text_table import window
from dpcvx.studies import paper_tables as pt
from dpcvx.studies.paper_tables import bandits, full_information
from dpcvx.studies.paper_tables.columns import Fit, Planner, Point, bandit_fits, dear, free, full_information_fits
from dpcvx.studies.paper_tables.methods import NON_PRIVATE, Promise, promise
from dpcvx.studies.paper_tables.ranges import doublings, ranges_of
from dpcvx.studies.paper_tables.rows import PlannedRow, guaranteed, plan, table
from dpcvx.studies.paper_tables.runs import regrets

FULL_INFORMATION, BANDITS = pt.LAYOUTS
EXPERTS, SPHERE, CUBE, WIDE_CUBE = full_information.PROBLEMS
BALL, ARMS = bandits.PROBLEMS
TINY = {"": pt.Ranges(16.0, 3, doublings(6, 8), 2**8, (2, 3, 4), 6)}


def layout_of(problem):
    """The table of a problem."""
    return BANDITS if problem in bandits.PROBLEMS else FULL_INFORMATION


def planner(problem, name, scale=pt.QUICK):
    return Planner(problem, problem.method(name), ranges_of(scale, problem.name))


# plans


@pytest.mark.parametrize("name", ["paper, own constants", "paper, corrected", "ours", "ours, delta = 1e-6"])
def test_the_exponent_in_T_is_fitted_where_the_term_of_the_noise_is_below_half_of_the_square_root(name):
    planned = planner(EXPERTS, name)
    fit = planned.in_horizon("altdrift", free)
    X, Y = EXPERTS.declare(planned.ranges.size)
    for T in planned.ranges.horizons:
        bound = planned.method.make(X, Y, T, planned.ranges.epsilon).regret_bound
        inside = bound.privacy <= bound.learning / 2
        assert not fit.points or (float(T) in fit.sizes) == inside
    assert fit.points or fit.reason.startswith("needs T >= 2^")


def test_where_T_is_too_small_the_plan_says_from_where_on_it_is_not():
    planned = planner(EXPERTS, "paper, corrected")
    reason = planned.in_horizon("altdrift", free).reason
    needed = int(reason.removeprefix("needs T >= 2^"))
    longer = replace(planned, ranges=replace(planned.ranges, horizons=doublings(10, needed)))
    assert len(longer.in_horizon("altdrift", free).points) == 4
    shorter = replace(planned, ranges=replace(planned.ranges, horizons=doublings(10, needed - 1)))
    assert not shorter.in_horizon("altdrift", free).points


def test_prices_are_fitted_where_noise_costs_more_than_learning():
    for problem, name in ((EXPERTS, "earlier: step noise"), (CUBE, "ours")):
        _, *prices = full_information_fits(planner(problem, name))
        for fit in prices:
            assert len(fit.points) >= 3 and len(fit.less) == len(fit.points)
            for point, less in zip(fit.points, fit.less, strict=True):
                told = promise(problem, problem.method(name), point.size, point.epsilon, point.horizon)
                assert told.price >= told.learning and told.total <= told.largest / 2
                assert less.method == NON_PRIVATE and (less.size, less.horizon) == (point.size, point.horizon)


@pytest.mark.slow
def test_vacuous_bounds_do_not_count():
    assert not Promise(total=6.0, learning=5.9, largest=10.0).meaningful
    assert not free(Promise(total=6.0, learning=5.9, largest=10.0)) and free(Promise(6.0, 5.9, 12.0))
    small = {"": pt.Ranges(0.01, 5, doublings(6, 8), 2**8, (3, 5, 8), 4)}
    for fit in bandit_fits(planner(ARMS, "ours", small)):
        assert fit.reason.startswith("needs T >= 2^")


# guarantees


@pytest.mark.parametrize(
    ("problem", "times"), [(EXPERTS, 2), (SPHERE, 2), (CUBE, 2), (WIDE_CUBE, 2), (BALL, 2), (ARMS, 2)]
)
def test_the_papers_constants_guarantee_twice_epsilon_on_symmetric_losses(problem, times):
    told = {m.name: guaranteed(problem, m, ranges_of(TINY, "")) for m in problem.methods if m.make}
    assert told["paper, own constants"] == pytest.approx(16 * times, rel=1e-4)
    assert told["paper, corrected"] == pytest.approx(16, rel=1e-4) == told["ours"]
    assert told[NON_PRIVATE] is None


# fits and text


def planted(problem, names, law):
    """A layout of one problem with results that follow a law of (T, epsilon, N)."""
    methods = tuple(problem.method(name) for name in names)
    chosen = replace(problem, methods=methods)
    layout = replace(layout_of(problem), problems=(chosen,))
    rows = plan(layout, pt.QUICK)
    rng = np.random.default_rng(0)
    points = {point for row in rows for point in row.points()}
    return table(layout, rows, {p: law(p) * rng.uniform(0.99, 1.01, 50) for p in points})


def test_planted_exponents_are_found():
    def law(point):
        if point.method == NON_PRIVATE:
            return 3.0
        if point.losses == "altdrift":
            return 2 * point.horizon**0.5
        return 3.0 + 5 * point.horizon**0.1 / point.epsilon * point.size**1.5

    (section,) = planted(EXPERTS, ("ours", NON_PRIVATE), law).sections
    fitted = [cell.exponent.value for cell in section.rows[0].cells]
    assert fitted == pytest.approx([0.5, 0.1, 1.0, 1.5], abs=0.02)
    assert [cell.exponent for cell in section.rows[1].cells[1:]] == [None] * 3


def test_bandit_exponents_in_T_are_those_after_the_logarithm():
    def law(point):
        return point.horizon**0.5 * np.log(point.horizon) ** 0.5

    (section,) = planted(ARMS, ("paper, corrected", "earlier: gradients"), law).sections
    corrected, earlier = (row.cells[0].exponent.value for row in section.rows)
    assert corrected == pytest.approx(0.5, abs=0.01) and earlier == pytest.approx(0.55, abs=0.02)


def test_a_price_that_is_not_seen_is_no_number():
    (section,) = planted(EXPERTS, ("ours", NON_PRIVATE), lambda point: 1.0 + (point.method == NON_PRIVATE)).sections
    assert [cell.reason for cell in section.rows[0].cells[1:]] == ["no price seen"] * 3


def test_text_fits_in_120_columns_and_says_what_was_not_run():
    wide = pt.Cell(Exponent(1.234, 1.123, 1.345, 0.95), "3/2")
    short = pt.Cell(None, "1/2", "needs T >= 2^18")
    sections = {}
    for layout in pt.LAYOUTS:
        cells = (wide, short, *[wide] * (len(layout.columns) - 2))
        regrets = (123456.0, 54321.0)[: len(layout.losses)]
        sections[layout] = tuple(
            pt.Section(
                problem.name,
                problem.stated,
                problem.steady,
                ranges_of(pt.FULL, problem.name),
                tuple(
                    pt.Row(m.name, 1.52, regrets, cells) if m.make else pt.Row(m.name, None, (), (), m.reason)
                    for m in problem.methods
                ),
            )
            for problem in layout.problems
        )
    made = tuple(pt.Table(k.title, k.losses, k.columns, own) for k, own in sections.items())
    header, cells = pt.table_cells(made)
    assert all(len(row) == len(header) for row in cells) and sum(row[-1].startswith("not run") for row in cells) == 4
    assert sum(row[6:9] == ("1.234", "1.123", "1.345") for row in cells) == 3 * 26 + 2 * 12
    with window(60):
        narrow = [line for line in pt.render(made).splitlines() if "1.23 [1.12,1.34]" in line]
    assert len(narrow) >= 24 and max(map(len, narrow)) <= 60
    text = pt.render(made)
    assert max(map(len, text.splitlines())) <= 120
    assert text.count("not run: cited by the paper") == 4
    assert text.count("1.23 [1.12,1.34] 3/2") == 3 * 26 + 2 * 12 and text.count("needs T >= 2^18 1/2") == 38


# runs


@pytest.mark.slow
def test_tables_are_the_same_from_kept_runs_and_with_another_number_of_workers(tmp_path):
    chosen = replace(EXPERTS, methods=tuple(EXPERTS.method(name) for name in ("ours", NON_PRIVATE)))
    layouts = (replace(FULL_INFORMATION, problems=(chosen,)),)
    first = pt.paper_tables(TINY, tmp_path / "a", layouts=layouts, workers=2)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").glob("*.csv")}
    assert files and pt.paper_tables(TINY, tmp_path / "a", layouts=layouts, workers=1) == first
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert len(first[0].sections[0].rows) == 2


def test_what_draws_nothing_is_run_once():
    point = Point("experts", NON_PRIVATE, "altdrift", 3, 1.0, 64)
    assert len(regrets(point, 5)) == 1 and len(regrets(replace(point, method="ours"), 5)) == 5
    with pytest.raises(ValueError, match="not run"):
        regrets(replace(point, method="earlier: Dwork-Roth"), 5)


def test_bad_input_is_one_sentence(tmp_path):
    parser = argparse.ArgumentParser()
    tables.describe(parser)
    file = tmp_path / "file"
    file.write_text("")
    for arguments, words in ((["--workers", "0"], "--workers must be at least 1"), (["--output", str(file)], "exists")):
        with pytest.raises(InputError, match=words):
            tables.run(parser.parse_args(["--quick", *arguments]))
    assert list(tmp_path.iterdir()) == [file]


# exponents


def exponent_in_T(problem, name, last, first=10, replicas=32):
    """The exponent in T that the table shows, from runs of 2^first to 2^last rounds."""
    ranges = replace(ranges_of(pt.QUICK, problem.name), horizons=doublings(first, last))
    layout = layout_of(problem)
    planned = Planner(problem, problem.method(name), ranges)
    fit = layout.fits(planned)[0]
    assert len(fit.points) >= 4
    shown = (fit.points[-1],)
    row = PlannedRow(problem, planned.method, ranges, shown, (fit, *[Fit(reason="-")] * (len(layout.columns) - 1)))
    results = {point: regrets(point, replicas) for point in fit.points}
    chosen = replace(layout, problems=(replace(problem, methods=(planned.method,)),))
    return table(chosen, [replace(row, problem=chosen.problems[0])], results).sections[0].rows[0].cells[0].exponent


# Seeds are fixed. The deviation of every exponent from seed to seed was measured over four to ten seeds; all margins
# below are five of them or more: a false alarm in less than 1e-6 by the normal law.


@pytest.mark.slow
@pytest.mark.parametrize("problem", [EXPERTS, SPHERE, CUBE], ids=lambda problem: problem.name)
def test_regret_on_altdrift_grows_like_the_square_root(problem):
    for name in ("ours", "ours, delta = 1e-6", NON_PRIVATE):
        replicas = 256 if name == "ours" else 32  # Laplace noise moves the exponent more
        assert 0.4 <= exponent_in_T(problem, name, last=15, replicas=replicas).value <= 0.65


@pytest.mark.slow
def test_bandit_regret_grows_like_the_square_root_and_that_of_the_earlier_method_faster():
    """The interval of ours on arms ends at 0.44 to 0.46, with any of ten seeds: what the fit lacks makes it wide."""
    ours, paper = exponent_in_T(ARMS, "ours", last=16, first=12), exponent_in_T(ARMS, "paper, own constants", last=14)
    earlier = exponent_in_T(ARMS, "earlier: gradients", last=14)
    for found in (ours, paper, exponent_in_T(BALL, "ours", last=14)):
        assert found.meets(0.4, 0.65)
    assert 0.6 <= earlier.value <= 0.75 and earlier.value >= max(ours.value, paper.value) + 0.08


@pytest.mark.slow
def test_the_price_of_noise_on_every_step_grows_like_the_square_root_and_ours_hardly():
    values = {}
    for name in ("earlier: step noise", "ours"):
        ranges = replace(ranges_of(pt.QUICK, "experts"), horizons=doublings(10, 14))
        planned = Planner(EXPERTS, EXPERTS.method(name), ranges)
        fit = planned.less_non_private(planned.price_in_horizon(EXPERTS.steady, dear))
        prices = [regrets(p, 32) - regrets(q, 1).mean() for p, q in zip(fit.points, fit.less, strict=True)]
        values[name] = fit_exponent(fit.sizes, prices).value
    assert 0.35 <= values["earlier: step noise"] <= 0.55 and values["ours"] <= 0.25
