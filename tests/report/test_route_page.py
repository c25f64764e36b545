"""The page on routes: no text of a figure is cut off or runs into another, and every number on it is one."""

import itertools
from dataclasses import replace

import matplotlib.text
import numpy as np
import pytest
from routing_networks import grid

from decision_sets import routes
from dpcvx.markup import Html
from dpcvx.report import route_map, route_page
from dpcvx.report.route_map import link_map, places
from dpcvx.report.sections import declaration
from dpcvx.studies.routing import pair
from dpcvx.studies.routing.days import travel_days
from dpcvx.studies.routing.pair import Wish, study_pair
from dpcvx.studies.settings import FULL_INFORMATION


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are drawn."""
    found = []

    def caught(drawn, **_):
        found.append(drawn)
        return Html("")

    for module in (route_map, route_page):
        monkeypatch.setattr(module, "figure", caught)
    return found


def test_a_long_name_of_an_end_leaves_the_whole_title_in_the_map(drawn):
    town = grid(3)
    named = replace(town, nodes=tuple(f"crossing {10**9 + k}" for k in range(9)))
    title = "after:\nfull information: a whole day, epsilon 1, delta 1e-06"
    link_map(named, places(named), np.ones(len(named.links)), title, "a map", ends=(0, 8))
    [page] = drawn
    [told] = [text for text in page.findobj(matplotlib.text.Text) if text.get_text() == title]
    page.draw_without_rendering()
    extent = told.get_window_extent()
    assert page.bbox.x0 <= extent.x0 and extent.x1 <= page.bbox.x1


def test_days_below_a_curve_do_not_run_into_each_other(drawn, monkeypatch):
    town, one = grid(3), pair.cases
    monkeypatch.setattr(pair, "cases", lambda *about: one(*about)[:1])
    found = study_pair(town, travel_days(town, 12, 0), 0, 8, Wish(horizon=20, replicas=1), lambda stage: None)
    for days in (1000, 1600, 10_000, 10**6):
        route_page._curves(replace(found, wish=replace(found.wish, horizon=days)), FULL_INFORMATION)
        page, axis = drawn[-1], drawn[-1].axes[0].xaxis
        page.draw_without_rendering()
        first, last = axis.get_view_interval()
        places_and_names = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        names = [name.get_window_extent() for place, name in places_and_names if first <= place <= last]
        assert len(names) >= 2
        assert all(name.x1 < after.x0 for name, after in itertools.pairwise(names))


def test_the_size_of_large_routes_is_a_number():
    town = grid(11)
    X = routes(town, 0, 120, times=town.times, cycles="hops", hops=22)
    assert 200 < X.size < 2000 and np.isinf(X.geometry.central_radius)
    told = declaration(X)
    assert "between 0 and 1" in told and "inf " not in told
