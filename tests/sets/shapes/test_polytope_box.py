"""The box of a polytope of many entries, found by few programs: never inside that of two programs for each entry."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.shapes import polytope
from dpcvx.sets.shapes.polytope import Polytope


def two_way_flow():
    graph = nx.DiGraph(nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6)))
    return ds.routes(graph, 0, 35, cycles="capped", capacity=0.7)


def cut_cube():
    """A cube with a few dense rows: some entries do not attain their bounds."""
    rng = np.random.default_rng(0)
    x = cp.Variable(120)
    cuts = [rng.random((3, 120)) @ x <= 2, x[:4] + x[4:8] <= 0.5, x[:4] - x[4:8] <= 0.1]
    return DecisionSet(x, [x >= -1, x <= 1, *cuts])


def portfolio():
    x = cp.Variable(110, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 1, x <= 0.05, cp.sum(x[:50]) <= 0.3])


@pytest.mark.parametrize("make", [two_way_flow, cut_cube, portfolio], ids=lambda make: make.__name__)
def test_the_box_holds_the_set_and_is_as_tight_as_by_two_programs_for_each_entry(make):
    X = make()
    shape = X.recognised
    assert isinstance(shape, Polytope) and X.size > polytope._MANY
    lower, upper = shape.box
    for i in np.random.default_rng(1).choice(X.size, 25, replace=False):
        unit = np.eye(X.size)[i]
        low, high = float(unit @ X.flatten(X.argmin(unit))), float(unit @ X.flatten(X.argmin(-unit)))
        assert lower[i] <= low + 1e-12 and high - 1e-12 <= upper[i]
        assert lower[i] >= low - 1e-7 and upper[i] <= high + 1e-7


@pytest.mark.parametrize("make", [two_way_flow, cut_cube, portfolio], ids=lambda make: make.__name__)
def test_points_that_attain_many_bounds_leave_few_programs(make, monkeypatch):
    """Two for each entry would be more than 200."""
    asked, real = [], Polytope.support_bound
    X = make()
    monkeypatch.setattr(Polytope, "support_bound", lambda self, c: asked.append(c) or real(self, c))
    lower, upper = X.recognised.box
    assert len(asked) <= 8 and np.all(lower < upper)


def test_a_bound_that_no_point_attains_is_not_left_as_it_is(monkeypatch):
    """The teeth: with a distance that calls every bound attained, the box of the cut cube stays too wide."""
    assert cut_cube().recognised.box[1].max() < 1 + 1e-9
    tight = cut_cube().recognised.box[1]
    monkeypatch.setattr(polytope, "_ATTAINED", 10.0)
    assert (cut_cube().recognised.box[1] - tight).max() > 0.01


def test_ends_that_were_declared_are_never_inside_by_rounding():
    rng = np.random.default_rng(0)
    low = np.append(rng.uniform(0, 0.4, 149), 0.0)
    high = low + rng.uniform(0.01, 0.9, 150)
    x = cp.Variable(150)
    lower, upper = DecisionSet(x, [x >= low, x <= high, cp.sum(x) <= 0.9 * high.sum()]).recognised.box
    assert (lower <= low).all() and (upper >= high).all() and lower[-1] == 0
    assert max((low - lower).max(), (upper - high).max()) <= 1e-14
