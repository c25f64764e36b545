"""The table of counters shows the deviations of the theory."""

import pytest

from dpcvx.cli import main
from dpcvx.studies import counter_table


def test_a_million_rounds_show_the_promised_deviations(capsys):
    assert main(["counters", "--horizon", "1048576"]) == 0
    text = capsys.readouterr().out
    assert "126.5" in text and "44.09" in text
    values = {(name, unit[:2]): (value, ratio) for name, unit, value, ratio in counter_table.rows(2**20)}
    assert values["binary tree, padded", "D1"][0] == pytest.approx(126.49, abs=0.01)
    assert values["smooth tree (default)", "D1"][0] <= 44.1


@pytest.mark.parametrize(("horizon", "goal"), [(1024, 1.13), (65536, 1.09), (2**20, 1.075)])
def test_toeplitz_is_close_to_the_lower_bound_and_the_tree_is_not(horizon, goal):
    ratios = {name: ratio for name, unit, _, ratio in counter_table.rows(horizon) if unit.startswith("D2")}
    assert 1 <= ratios["Toeplitz square root (default)"] <= goal
    assert ratios["binary tree, padded"] > 3.4


def test_a_wrong_horizon_is_refused(capsys):
    assert main(["counters", "--horizon", "0"]) == 2
    assert "horizon" in capsys.readouterr().err


def test_the_table_becomes_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = counter_table.to_pandas(64)
    assert isinstance(frame, pandas.DataFrame) and list(frame["deviation"]) == [
        row[2] for row in counter_table.rows(64)
    ]
