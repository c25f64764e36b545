"""What a notebook shows: the words of the summaries as tables, escaped, in the colours of a report, light and dark."""

from html.parser import HTMLParser
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
import dpcvx
from dpcvx import markup

X = ds.simplex(3)
_loss, _moved = cp.Variable(3), cp.Variable(3)
Y = dpcvx.LossSet(_loss, [_loss >= -1, _loss <= 1], name="<losses>")
CHANGE = dpcvx.Change(_moved, [cp.norm1(_moved) <= 0.01])

SHOWN = {
    "learner": (lambda: dpcvx.FTRL(X, Y, 8, 1.0), ("FTRL on simplex(3)", "Privacy certificate", "epsilon = 1")),
    "bandit": (lambda: dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, 8), 1.0), ("private SCRiBLe", "batch")),
    "arms": (lambda: dpcvx.PrivateArms("practice", 3, 1.0, horizon=8), ("on 3 arms, without contexts",)),
    "sums": (lambda: dpcvx.PrivateSums(Y, 8, 1.0), ("PrivateSums of losses in the &lt;losses&gt;", "round 0 of 8")),
    "simulation": (lambda: dpcvx.simulate(dpcvx.FTRL(X, Y, 8, 1.0), np.zeros((8, 3)), 2), ("mean regret",)),
    "change": (lambda: CHANGE, ("norm1", "change")),
    "set": (lambda: X, ("simplex(3)", "dimension")),
    "losses": (lambda: Y, ("&lt;losses&gt;", "diameter")),
    "certificate": (lambda: dpcvx.FTRL(X, Y, 8, 1.0).certificate, ("Privacy certificate",)),
}


class Balanced(HTMLParser):
    """Fails where a tag is closed that was not open."""

    def __init__(self, html):
        super().__init__()
        self.open = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(("make", "words"), SHOWN.values(), ids=SHOWN)
def test_a_notebook_shows_it_in_light_and_dark(make, words):
    html = make()._repr_html_()
    Balanced(html)
    assert html.startswith('<div class="dpcvx"><style>') and "<table>" in html.replace(' class="stacked"', "")
    for light, dark in markup.NAMED.values():
        assert light in html and dark in html
    assert all(word in html for word in words)
    assert "<losses>" not in html


def test_columns_of_numbers_are_aligned_to_the_right_and_others_are_not():
    html = markup.table([("a", "1.5 ±0.2", "x", "-"), ("b", "-3e+05", "7", "12 %")], ("name", "n", "mixed", "share"))
    assert html.count('<td class="number">') == 4 and html.count('<th scope="col" class="number">') == 2
    assert "<td>x</td>" in html and "<td>7</td>" in html


@pytest.mark.parametrize("space", [" ", "\N{NO-BREAK SPACE}", ""])
def test_numbers_with_their_errors_are_numbers_however_they_are_spaced(space):
    shown = markup.table([("a", f"-0.035{space}±{space}0.003"), ("b", "none")])
    assert shown.count('class="number"') == 2


def test_wide_tables_name_each_cell_for_narrow_windows():
    html = markup.table([("a", 1, 2, 3, 4)], ("name", "b", "c<", "d", "e"))
    assert '<table class="stacked">' in html and 'data-name="c&lt;"' in html
    assert "data-name" not in markup.table([("a", 1)], ("name", "b"))


IN_ONE_LINE = {
    "certificate": lambda: dpcvx.FTRL(X, Y, 8, 1.0).certificate,
    "composition": lambda: dpcvx.compose([dpcvx.FTRL(X, Y, 8, 1.0).certificate] * 3),
    "sums": lambda: dpcvx.PrivateSums(Y, 8, 1.0),
    "learner": lambda: dpcvx.FTRL(X, Y, 8, 1.0),
    "bandit": lambda: dpcvx.PrivateBandit(dpcvx.HybridBandit(X, Y, 8), 1.0),
    "bound": lambda: dpcvx.HybridBandit(X, Y, 8).regret_bound,
    "check": lambda: Y.check(np.zeros((40, 3))),
    "simulation": lambda: dpcvx.simulate(dpcvx.FTRL(X, Y, 8, 1.0), np.zeros((8, 3)), 2),
    "comparison": lambda: dpcvx.compare([dpcvx.simulate(dpcvx.FTRL(X, Y, 8, 1.0), np.zeros((8, 3)), 2)]),
    "rows of a sweep": lambda: dpcvx.SweepResult(Path("folder"), [{"rounds": 4, "seed": 0, "regret": 2.0}] * 9),
    "set": lambda: X,
    "losses": lambda: Y,
    "change": lambda: CHANGE,
}


@pytest.mark.parametrize("make", IN_ONE_LINE.values(), ids=IN_ONE_LINE)
def test_a_prompt_shows_it_in_one_line_of_plain_numbers(make):
    shown = repr(make())
    assert len(shown) < 260 and "\n" not in shown
    assert not any(word in shown for word in ("array(", "np.", "object at"))
