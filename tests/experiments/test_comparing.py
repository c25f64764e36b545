"""Simulations side by side: labels that tell them apart, the numbers of the runs, and files for other programs."""

import csv

import matplotlib as mpl
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx.experiments.exported import csv_text, to_markdown
from dpcvx.experiments.losses import altdrift, coins

mpl.use("Agg")
X, Y = ds.simplex(3), box_losses(3)
T = 64
LOSSES = altdrift(X, Y, T)
RUNS = [dpcvx.simulate(dpcvx.FTRL(X, Y, T, epsilon), LOSSES, 4) for epsilon in (None, 4.0, 0.5)]


def test_the_rows_are_the_ends_of_the_runs():
    rows = dpcvx.compare(RUNS).rows()
    assert [row["run"] for row in rows] == [run.label for run in RUNS]
    for row, run in zip(rows, RUNS, strict=True):
        assert row["regret"] == run.final and row["rounds"] == T and row["replicas"] == 4
        assert row["std. error"] == run.standard_error[-1] and row["bound"] == run.bound.total
        assert row["per round"] == pytest.approx(run.final / T)
        assert row["over least"] == pytest.approx(run.final / min(one.final for one in RUNS))


def test_runs_of_one_label_are_told_apart_by_losses_and_then_by_numbers():
    other = dpcvx.simulate(dpcvx.FTRL(X, Y, T), coins(X, Y, T))
    assert list(dpcvx.compare([RUNS[0], other]).runs) == [
        "FTRL, no privacy on altdrift",
        f"FTRL, no privacy on {other.losses}",
    ]
    twice = dpcvx.compare([RUNS[0], RUNS[0], RUNS[1]])
    assert len(twice) == 3 and list(twice.runs)[1] == "FTRL, no privacy on altdrift, 2"
    assert list(dpcvx.compare({"a": RUNS[0], "b": RUNS[0]}).runs) == ["a", "b"]


def test_the_table_prints_and_is_exported(tmp_path):
    found = dpcvx.compare(RUNS)
    header, *lines = str(found).splitlines()
    assert len(lines) == 3 and "over least" in header and len({len(line) for line in (header, *lines)}) == 1
    found.to_csv(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == [run.label for run in RUNS]
    assert [float(row["regret"]) for row in rows] == pytest.approx([run.final for run in RUNS], rel=1e-3)
    assert found.to_markdown().count("\n") == 4 and "---:" in found.to_markdown().splitlines()[1]
    html = found._repr_html_()
    assert html.count("<tr>") == 4 and 'class="number"' in html and "prefers-color-scheme: dark" in html


def test_the_table_becomes_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = dpcvx.compare(RUNS).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["regret"]) == [run.final for run in RUNS]


def test_the_picture_has_a_curve_for_each_run_and_bounds_that_fit_among_them():
    from matplotlib import pyplot

    found = dpcvx.compare(RUNS)
    ax = found.plot(bound=False)
    assert [line.get_label() for line in ax.lines] == list(found.runs)
    assert all(np.array_equal(line.get_ydata(), run.mean) for line, run in zip(ax.lines, RUNS, strict=True))
    top = max(run.band()[1].max() for run in RUNS)
    fitting = sum(run.bound.total <= 2 * top for run in RUNS)
    assert len(found.plot(pyplot.figure().add_subplot()).lines) == 3 + fitting
    assert len(found.plot(pyplot.figure().add_subplot(), bound=True).lines) == 6
    pyplot.close("all")


def test_runs_may_be_given_one_by_one():
    assert str(dpcvx.compare(*RUNS)) == str(dpcvx.compare(RUNS))
    assert list(dpcvx.compare(RUNS[0]).runs) == [RUNS[0].label]


@pytest.mark.parametrize("wrong", [[[]], [[3]], [{"a": None}], [{}], [3], [RUNS[0], 3], []])
def test_what_is_no_simulation_is_refused(wrong):
    with pytest.raises(dpcvx.DpcvxError, match="compare"):
        dpcvx.compare(*wrong)


def test_bars_and_commas_in_cells_survive():
    cells = (["a|b", "n"], [["x,y", "1"], ["-", "-"]])
    assert csv_text(cells).splitlines() == ["a|b,n", '"x,y",1', "-,-"]
    assert to_markdown(cells).splitlines() == ["| a\\|b | n |", "| --- | ---: |", "| x,y | 1 |", "| - | - |"]
