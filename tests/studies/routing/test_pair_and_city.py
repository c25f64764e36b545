"""Routes are learnt for one pair; and all pairs of a city play by one noisy sum, whose epsilon is paid once."""

from dataclasses import replace

import numpy as np
import pytest
from playing import City as Service
from routing_networks import grid, network

from dpcvx import FTRL, PrivateSums, couple
from dpcvx.learners import FTPL
from dpcvx.studies.routing import pair
from dpcvx.studies.routing.city import City, Totals, play_city
from dpcvx.studies.routing.days import travel_days
from dpcvx.studies.routing.pair import Wish, cases, study_pair
from dpcvx.studies.routing.pairs import wanted_pairs
from dpcvx.studies.routing.play import Tally, drawn_days, play
from dpcvx.studies.routing.words import city_promises, city_words, pair_rows, pair_words
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION

TOWN = grid(3)
DAYS = travel_days(TOWN, 12, 0)
WISH = Wish(horizon=100, replicas=2, drivers=100)
PAIRS = ((0, 8), (8, 0), (2, 6), (0, 2))


@pytest.fixture(scope="module")
def found():
    return study_pair(TOWN, DAYS, 0, 8, WISH, lambda stage: None)


def test_what_was_played_costs_what_it_says(found):
    rng = np.random.default_rng(0)
    X, losses = found.X, found.declared.days
    actions = np.array([X.argmin(rng.standard_normal(X.size)) for _ in found.rounds])

    class Listed:
        sees, regret_bound = "loss", None
        played = iter(actions)

        def simulated(self, replicas, seed):
            return self

        def act(self):
            return next(self.played)[None]

        def update(self, loss):
            assert loss.shape == X.shape

    ran = play(Listed(), X, losses, found.rounds, 1, 0)
    paid = float((actions * losses[found.rounds]).sum())
    total = losses[found.rounds].sum(axis=0)
    assert ran.regret[0, -1] == pytest.approx(paid - total @ X.argmin(total)) and ran.rounds[-1] == WISH.horizon
    assert np.allclose(ran.first, actions[0]) and np.allclose(ran.last, actions[-10:].mean(axis=0))


def test_the_study_of_a_pair_tells_of_all_learners(found):
    names = [one.case.name for one in found.outcomes]
    assert len(names) == len(set(names)) == 10 and not any(one.reason for one in found.outcomes)
    private = [one for one in found.outcomes if one.case.epsilon is not None]
    assert all(one.certificate.secure and one.certificate.epsilon <= 1 + 1e-9 for one in private)
    assert {one.certificate.neighbours for one in private} == {"replace", "change"}
    assert all(one.certificate.rounds == 25 for one in private)
    free, driver, day, bold, pure = (one.played.per_trip for one in found.outcomes[:5])
    assert abs(driver - free) < 0.1 * found.idle and free < min(day, pure)
    assert bold < day and found.outcomes[4].certificate.noise == "K-norm"
    bounds = [found.outcomes[k].played.bound.proved for k in (2, 3)]
    assert bounds[0] < bounds[1]
    rows, told = pair_rows(found), pair_words(found, "town")
    assert len(rows) == 12 and "100 drivers" in told and "usual trip takes" in told and "850 trips" in told
    assert found.best + found.idle >= found.best and found.usual >= -1e-12


def test_losses_are_declared_on_the_links_of_the_routes_alone(found):
    assert found.declared.loss_set.shape == (found.X.size,) and found.X.size < len(TOWN.links)


@pytest.mark.slow
def test_layered_routes_keep_their_losses_in_links():
    wish = Wish(horizon=60, replicas=2, cycles="hops", hops=6)
    hopped = study_pair(TOWN, DAYS, 0, 8, wish, lambda stage: None)
    used = np.unique(hopped.X.links)
    widths = np.subtract(*reversed(hopped.declared.loss_set.bounding_box()))
    assert len(widths) == len(TOWN.links) < hopped.X.size
    assert set(np.flatnonzero(widths > 2e-4)) <= set(used.tolist())
    full = [one for one in hopped.outcomes if one.case.setting == FULL_INFORMATION]
    assert all(one.played is not None and one.played.per_trip <= hopped.idle * 1.5 for one in full)


def test_bandits_that_a_set_does_not_admit_are_named_with_the_reason():
    wish = Wish(horizon=30, replicas=1, cycles="capped")
    capped = study_pair(TOWN, DAYS, 0, 8, wish, lambda stage: None)
    assert not [one for one in capped.outcomes if one.case.setting == BANDIT]
    assert pair_words(capped, "town").count("for full information only: a bandit sees") == 1
    assert all(one.played is not None for one in capped.outcomes if one.case.setting == FULL_INFORMATION)


def test_large_sets_are_played_by_shortest_paths(monkeypatch, found):
    monkeypatch.setattr(pair, "PROJECTED", 3)
    monkeypatch.setattr(pair, "BANDITS_UP_TO", 3)
    listed = cases(found.X, found.declared.loss_set, found.declared.change(9), WISH)
    assert [one.setting for one in listed] == [FULL_INFORMATION] * 4 and not any(one.manner for one in listed)
    assert isinstance(listed[0].make(), FTPL)
    assert found.left_out == "" and "above 3 none is quick" in replace(found, outcomes=()).left_out


def city(**changes):
    return City(TOWN, DAYS, Wish(horizon=60, **changes), PAIRS)


def test_all_pairs_of_a_city_cost_one_epsilon_together():
    town = city()

    def service():
        sums = town.sums(None)
        return Service(sums, [FTRL(town.routes(*each), sums=sums, regularizer="euclidean") for each in PAIRS])

    lower, upper = town.declared.loss_set.bounding_box()
    first = town.declared.days[drawn_days(12, 8, 0)]
    second = first.copy()
    first[3], second[3] = lower, upper
    held, sums = couple(service, first, second), couple(lambda: town.sums(None), first, second)
    assert held.holds and held.price == sums.price and held.price.epsilon > 0.5  # by the first 8 of 60 releases
    assert town.certificate.epsilon <= 1 and town.bandits().epsilon > 3
    said = city_promises(town)
    assert "serves all 4 pairs" in said[0] and "epsilon = 1, delta = 1e-06, once" in said[0] and "bandits: 4" in said[2]


def test_parts_of_a_city_look_at_one_noisy_sum(monkeypatch):
    town = city(epsilon=0.5)
    whole = town.play(0, 3)
    monkeypatch.setattr("dpcvx.studies.routing.city._PART", 1)
    assert town.parts == 4
    parts = [town.play(part, 3)[0] for part in range(4)]
    assert parts == whole and [row["destination"] for row in parts] == ["8", "0", "6", "2"]
    assert town.play(0, 4)[0]["private"] != whole[0]["private"]


@pytest.mark.slow
def test_a_city_is_swept_and_resumed(tmp_path):
    town = city()
    rows = play_city(town, tmp_path / "kept", workers=1, progress=False).rows
    assert play_city(town, tmp_path / "kept", workers=1, progress=False).rows == rows and len(rows) == 4
    totals = Totals.of(rows)
    assert totals.pairs == (4, 0) and 0 < totals.means["free"] < totals.means["nothing"]
    told = city_words(town, rows, "town")
    assert "by 4 pairs" in told and "doing nothing" in told and "100.0 %" in told
    with pytest.raises(RuntimeError, match="before it was changed"):
        play_city(city(epsilon=2.0), tmp_path / "kept", workers=1, progress=False)


def test_a_pair_without_a_route_is_left_out_with_a_note():
    lone = network([0, 1, 3, 0], [1, 2, 0, 2], [1.0, 1.0, 1.0, 3.0])
    town = City(lone, travel_days(lone, 5, 0), Wish(horizon=12), ((0, 2), (2, 3), (3, 0)))
    rows = town.play(0, 0)
    assert [row["links"] for row in rows] == [3, None, 1] and "2" in rows[1]["note"]
    assert rows[2]["private"] == rows[2]["nothing"] == 0
    assert Totals.of(rows).pairs == (2, 1) and "1 pairs have no route" in city_words(town, rows, "lone")


@pytest.mark.parametrize(
    "text", ["0,8\n2 6\n", "origin;destination\n# none\n\n0;8\n2;6\n0;8\n", "from\tto\n0\t8\n2\t6\t9\n"]
)
def test_pairs_are_read_from_lines(tmp_path, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    assert wanted_pairs(str(path), TOWN) == ((0, 8), (2, 6))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,8\n3\n", "line 2: an origin and a destination"),
        ("0,8\n\n0,77\n", "line 3: .*'77' is not one"),
        ("4,4\n", "line 1: origin and destination are both 4"),
        ("# nothing\n", "no pair of nodes"),
    ],
)
def test_a_wrong_line_of_pairs_is_named(tmp_path, text, said):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        wanted_pairs(str(path), TOWN)


def test_all_pairs_are_those_with_demand():
    assert set(wanted_pairs("all", TOWN)) == set(PAIRS)
    with pytest.raises(ValueError, match="there is none; give --trips"):
        wanted_pairs("all", grid(3, demand=False))


def test_sums_of_a_city_may_protect_one_driver():
    town = City(TOWN, DAYS, Wish(horizon=60, drivers=50), PAIRS, by_driver=True)
    assert town.certificate.neighbours == "change" and "one of 50 drivers" in city_promises(town)[0]
    whole = PrivateSums(town.declared.loss_set, 60, 1.0, 1e-6, seed=0)
    assert town.sums(0).plan.prefix_deviation < whole.plan.prefix_deviation / 30


def test_rounds_taken_together_cost_what_they_cost_one_by_one(found):
    rng = np.random.default_rng(1)
    X, losses, days = found.X, found.declared.days, found.rounds
    actions = np.array([[X.argmin(rng.standard_normal(X.size)) for _ in range(2)] for _ in days])
    one, all_, some = (Tally(X, losses, len(days), 2) for _ in range(3))
    for action, day in zip(actions, days.tolist(), strict=True):
        one.take(action, day)
    all_.take_all(actions, days)
    for start in range(0, len(days), 7):
        some.take_all(actions[start : start + 7], days[start : start + 7])
    for tally in (all_, some):
        told, known = tally.played(None, None), one.played(None, None)
        assert np.allclose(told.regret, known.regret, atol=1e-10) and np.abs(known.regret[:, -1]).min() > 1
        assert np.allclose(told.first, known.first) and np.allclose(told.last, known.last)
