"""``dpcvx price``: a table, a report, and one sentence for whatever is wrong, before anything long begins."""

import os
import re
from html import escape

import numpy as np
import pytest

from decision_sets import NAMED
from dpcvx.cli import main
from dpcvx.commands.named_sets import change, decision_set, explanation, loss_set
from dpcvx.commands.outcomes import InputError

MINE = """
import cvxpy as cp, dpcvx
x, l = cp.Variable(2, nonneg=True, name="mine"), cp.Variable(2)
X = dpcvx.DecisionSet(x, [cp.sum(x) == 1], name="pair of mine")
Y = dpcvx.LossSet(l, [l >= 0, l <= 1], name="losses of mine")
d, wrong = cp.Variable(2), cp.Variable(3)
D = dpcvx.Change(d, [cp.norm1(d) <= 0.01])
Wrong = dpcvx.Change(wrong, [cp.norm1(wrong) <= 0.01])
def nowhere():
    return dpcvx.DecisionSet(x, [x >= 1, cp.sum(x) <= 1])
"""
SHORT = ["--epsilon", "1", "--horizon", "8", "--replicas", "2", "--workers", "1"]


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_named_set_gives_a_table_and_a_recommendation(capsys):
    assert main(["price", "cube:1", *SHORT, "--setting", "full-information"]) == 0
    printed = capsys.readouterr().out
    assert "decisions in the box(1), losses in the 1-norm ball of radius 1" in printed
    assert "Full information, T = 1e6, by the proved bounds alone" in printed
    assert "\nbandit:" not in printed


@pytest.mark.slow
def test_a_file_gives_a_table_and_a_report(mine, tmp_path, capsys):
    report = tmp_path / "found" / "price.html"
    assert main(["price", str(mine), *SHORT, "--setting", "bandit", "--output", str(report.parent)]) == 0
    printed, page = capsys.readouterr().out, report.read_text()
    assert "decisions in the pair of mine, losses in the losses of mine" in printed and str(report) in printed
    assert page.count("<svg") == 1 and page.count('aria-label="Regret over epsilon') == 1
    assert "Privacy certificate" in page and "Simulation: not private" not in page
    assert escape(decision_set(f"{mine}:X").declared[0]) in page and "--horizon 8 --setting bandit" in page
    assert sorted(path.name for path in report.parent.iterdir()) == ["price.html", "rows"]
    rows = {path: path.stat().st_mtime_ns for path in (report.parent / "rows").glob("*.csv")}
    assert (
        len(rows) == 4
        and main(["price", str(mine), *SHORT, "--setting", "bandit", "--output", str(report.parent)]) == 0
    )
    assert all(path.stat().st_mtime_ns == then for path, then in rows.items())  # none was measured again


def test_a_declared_change_stands_beside_the_whole_round(mine, tmp_path, capsys):
    report = tmp_path / "found" / "price.html"
    words = ["--change", f"{mine}:D", "--setting", "full-information", "--output", str(report.parent), "--workers", "1"]
    assert main(["price", str(mine), "--epsilon", "1", "--horizon", "64", "--replicas", "4", *words]) == 0
    printed, page = capsys.readouterr().out, report.read_text()
    assert "whole round: FTRL" in printed and "paper:" not in printed
    assert "What one person can change" in page and "--change" in page
    (line,) = (line for line in printed.splitlines() if line.split()[:2] == ["64", "1"])
    cells = re.sub(r" ±\S+", "", line).replace(" to ", "-").split()
    assert float(cells[4]) < float(cells[9])  # private and whole round


def test_changes_have_names_and_files(mine):
    Y = loss_set(f"{mine}:Y", str(mine), decision_set(str(mine)))
    for word, size in ((f"{mine}:D", 0.01), (str(mine), 0.01), ("share:100", 0.02), ("entries:1,0.01", 0.01)):
        assert float(change(word, Y).norm(1)) == pytest.approx(size)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{mine}", "--change", "paths:3"], "There is no change 'paths:3': give share:PEOPLE"),
        (["{mine}", "--change", "share:0"], "people must be a whole number of at least 1, not 0."),
        (["{mine}", "--change", "entries:2"], "'entries:2' has not the right numbers: it is written entries:k,a."),
        (["{mine}", "--change", "{mine}:Y"], "must be a Change or a function that returns one"),
        (["{mine}", "--change", "{mine}:Wrong"], "The change has shape (3,) and losses (2,); they must be the same."),
        (["{mine}:Z"], "mine.py does not define Z; it defines X."),
        (["{mine}:X", "{mine}:Z"], "mine.py does not define Z; it defines Y."),
        (["{mine}:X", "{mine}:X"], "must be a LossSet or a function that returns one, but it has type DecisionSet."),
        (["{mine}:nowhere"], "The set is empty"),
        (["{mine}", "box:2,1"], "The set is empty"),
        (["nowhere.py"], "There is no file nowhere.py."),
        (["octahedron:3"], "There is no set 'octahedron:3': give FILE.py:NAME, or one of birkhoff, "),
        (["simplex"], "'simplex' has not the right numbers: it is written simplex:n[,scale]."),
        (["simplex:3,1,1"], "'simplex:3,1,1' has not the right numbers: it is written simplex:n[,scale]."),
        (["simplex:ten"], "What follows the colon in 'simplex:ten' must be numbers"),
        (["simplex:2.5"], "n must be a whole number"),
        (["simplex:3", "cone"], "There are no losses 'cone': give box, "),
        (["simplex:3", "ball:0.5"], "P must be at least 1, not 0.5."),
        (["simplex:3", "{mine}:Y"], "Losses have shape (2,) and decisions (3,); they must be the same."),
        (["simplex:3", "--epsilon", "0"], "epsilon must be a positive number, not 0.0."),
        (["simplex:3", "--epsilon", "1", "-1"], "epsilon must be a positive number, not -1.0."),
        (["simplex:3", "--horizon", "0"], "horizon must be a whole number of at least 1, not 0."),
        (["simplex:3", "--replicas", "0"], "replicas must be a whole number of at least 1, not 0."),
        (["simplex:3", "--workers", "0"], "--workers must be at least 1, not 0."),
        (["simplex:3", "--seconds", "0"], "--seconds must be a positive number, not 0.0."),
        (["simplex:3", "box:1"], "'box:1' says one end of a box only: give both, as box:-1,1."),
        (["simplex:3", "--output", "{mine}"], "cannot be written to {mine}/price.html: File exists."),
        (["simplex:3", "--output", "{mine}/below"], "cannot be written to {mine}/below/price.html: Not a directory."),
    ],
)
def test_wrong_input_is_one_sentence(mine, tmp_path, capsys, words, sentence):
    before = sorted(tmp_path.rglob("*"))
    assert main(["price", *(word.format(mine=mine, folder=tmp_path) for word in words)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and "Traceback" not in printed.err
    assert sentence.format(mine=mine, folder=tmp_path) in printed.err
    assert [path for path in sorted(tmp_path.rglob("*")) if "__pycache__" not in str(path)] == before


def test_a_read_only_folder_is_seen_before_anything_is_computed(tmp_path, capsys, monkeypatch):
    """Whoever may write everywhere cannot be refused by permissions, so the refusal of the system is played."""

    def refused(**options):
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    monkeypatch.setattr("dpcvx.commands.price.affordable_horizons", lambda *_, **__: pytest.fail("it was computed"))
    assert main(["price", "simplex:3", "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"The report cannot be written to {tmp_path / 'price.html'}: Permission denied.\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMED)
def test_every_named_set_has_an_example_and_usual_losses(name):
    word = f"{name}:{NAMED[name].example}"
    X = decision_set(word)
    assert loss_set(None, word, X).shape == X.shape
    assert word in explanation()


def test_losses_are_named_by_their_sizes(mine):
    X = decision_set("simplex:3")
    assert float(loss_set("box:0,2", "simplex:3", X).diameter(1)) == pytest.approx(6)
    assert float(loss_set("ball:1,2", "simplex:3", X).radius(1)) == pytest.approx(2)
    assert loss_set("ball", "spectrahedron:2", decision_set("spectrahedron:2")).center.shape == (2, 2)
    assert float(loss_set(None, f"{mine}:X", decision_set(f"{mine}:X")).diameter(np.inf)) == pytest.approx(1)
    with pytest.raises(InputError, match="There is no set"):
        decision_set("simplexes:3")
