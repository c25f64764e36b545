"""The affine functions of which envelopes are made, at points of a set; and how few steps lead to minimisers."""

from dataclasses import replace
from math import comb

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE

from dpcvx import DecisionSet, UnsupportedConeError
from dpcvx.sets.geometry import primal_dual
from dpcvx.sets.geometry.envelopes import in_entries, together

SLOPE, VALUE = np.array([2.0, -1.0, 0.0, 3.0]), np.array([1.0, 5.0, -2.0, 0.5])


@pytest.mark.parametrize("offset", [0.0, 7.0])
def test_functions_of_entries_are_those_of_x_also_where_x_is_moved(offset):
    conic = CATALOGUE["polytope"][0]().geometry.conic
    conic = replace(conic, offset=conic.offset + offset)
    made = in_entries(conic, SLOPE, VALUE)
    factor = np.array([1.0, 2.0, 0.0, 4.0])
    both = together(made, made.scaled(factor))
    for v in np.random.default_rng(0).standard_normal((3, conic.columns)):
        wanted = VALUE + SLOPE * conic.point(v)
        assert made.value + made.slope @ v == pytest.approx(wanted, rel=1e-12)
        assert both.value + both.slope @ v == pytest.approx(np.concatenate([wanted, factor * wanted]), rel=1e-12)
    assert both.entry.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("name", ["polytope", "portfolio", "transport polytope"])
def test_few_steps_are_taken_however_large_the_covector_is(name, monkeypatch):
    chart, asked, real = CATALOGUE[name][0]().geometry.chart, [], primal_dual._factor
    monkeypatch.setattr(primal_dual, "_factor", lambda *parts: asked.append(1) or real(*parts))
    toward = chart.joint(np.random.default_rng(0).standard_normal((5, chart.width)))
    for size in (1e-3, 1.0, 1e3, 1e6):
        for one in toward:
            asked.clear()
            primal_dual.approach(chart.inequalities, chart.s0, size * one[None])
            assert len(asked) <= (4 if size < 1 else 16)


def test_a_polytope_that_may_have_too_many_vertices_is_refused_with_the_largest_number():
    """Of m inequalities in dimension 20 that is, after McMullen, the number of the cyclic polytope's facets."""
    x, rows = cp.Variable(20), np.random.default_rng(0).standard_normal((20, 20))
    X = DecisionSet(x, [x >= -1, x <= 1, rows @ x <= 3])
    most = comb(60 - 10, 10) + comb(60 - 11, 9)
    with pytest.raises(UnsupportedConeError, match=f"60 inequalities may have {most:.3g} vertices".replace("+", r"\+")):
        X.vertices()
