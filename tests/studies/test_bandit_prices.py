"""The price of private bandits: what the theory says of noise, batches, learners and growth, measured."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcvx import Exp2, HybridBandit, PrivateBandit, SCRiBLe, simulate
from dpcvx.cli import main
from dpcvx.commands import bandits
from dpcvx.studies import bandit_prices
from dpcvx.studies.bandit_prices.contests import (
    Contest,
    ContestRow,
    choices,
    extreme,
    flows,
    hardest,
)
from dpcvx.studies.bandit_prices.growth import EXPECTED, arm_growth, ball_growth
from dpcvx.studies.bandit_prices.report import growth_table, price_table
from dpcvx.studies.bandit_prices.tables import ARM_LEARNERS, arm_row, arm_rows, batch_rows, cube_rows, noise_rows
from dpcvx.studies.playing_sets import arms, ball, cube

TINY = replace(
    bandit_prices.QUICK,
    noise=16,
    flows=8,
    batches=32,
    epsilons=(1.0, 0.3),
    arms=(32,),
    cube=16,
    growth=(16, 32),
    sizes=16,
    counts=(2, 3),
    dims=(2, 3),
    sides=(4, 6),
    many=4,
    few=3,
)


def by_name(rows):
    """Rows by contest and learner."""
    return {(row.contest.split(", T")[0], row.learner): row for row in rows}


def apart(lower, higher):
    """Whether the intervals of two rows do not meet."""
    return lower.interval[1] < higher.interval[0]


def made_up(contest, learner, mean, **changes):
    row = ContestRow(contest, learner, 100, 1.0, 1, (mean - 1.0, mean, mean + 1.0), 0.5, 2.0, True, False)
    return replace(row, **changes)


# rows


def test_a_row_holds_the_worst_run_and_its_interval():
    """Exactly: of two constant losses the larger gap is worse for a learner that cannot learn in 3 rounds."""
    sets = arms(3)
    apart = np.array([-1.0, 1.0, 1.0])
    contest = Contest("three arms", sets, 3, 0.01, np.stack([0.1 * apart, apart]), 50)
    row = contest.row("EXP2", Exp2(*sets, 3), batch=1)
    assert row.idle == pytest.approx(4 / 3)
    assert set(row.regrets) <= {0.0, 2.0, 4.0, 6.0}
    low, high = row.interval
    assert (high - low) / 2 == pytest.approx(2.0096 * row.standard_error, rel=1e-4)  # Student, 49 degrees of freedom
    assert low < row.mean < high and row.per_round == row.mean / 3


def test_no_run_that_is_left_out_is_worse():
    sets = arms(3)
    losses = hardest(np.array([1.0, -1.0, 1.0]), 0.1, (0.1, 0.5, 2, 8))
    row = Contest("three arms", sets, 200, 2.0, losses, 6).row("EXP2", Exp2(*sets, 200), batch=1)
    private = PrivateBandit(Exp2(*sets, 200), 2.0, batch=1, seed=0)
    runs = [simulate(private, np.tile(loss, (200, 1)), 6, seed=k).regret[:, -1] for k, loss in enumerate(losses)]
    assert row.regrets == pytest.approx(max(runs, key=np.mean))


@pytest.mark.slow
def test_the_paper_guarantees_half_of_what_it_says():
    row = arm_row("EXP2, the paper's constants", "", 8, 1.0, 3)
    assert row.epsilon == pytest.approx(2.0) and not row.is_rival and math.isinf(row.bound)
    assert all(arm_row(kind, "", 8, 1.0, 3).is_rival for kind in list(ARM_LEARNERS)[1:])


def test_what_is_marked_is_the_choice_of_private_bandit():
    sets = cube(3)
    contest = Contest("cube", sets, 50, 1.0, np.full((1, 3), 0.1), 2)
    rows = [
        contest.row("by corners", HybridBandit(*sets, 50)),
        contest.row("as a body", SCRiBLe(*sets, 50)),
        contest.row("held", Exp2(*sets, 50), batch=50),
    ]
    assert contest.pick.name == "private HybridBandit" and [row.is_picked for row in rows] == [True, False, False]


def test_a_choice_is_compared_with_its_rivals_only():
    rows = [
        made_up("a", "cheap but weaker", 10.0, is_rival=False),
        made_up("a", "best", 20.0),
        made_up("a", "picked", 25.0, is_picked=True),
        made_up("b", "picked", 7.0, is_picked=True),
        made_up("c", "nobody", 7.0),
    ]
    assert [choice.ratio for choice in choices(rows)] == [1.25, 1.0]
    text = price_table(rows)
    assert "1.25 times the best of these, best" in text and text.count("*") == 2


def test_hard_gaps_scale_and_stay_in_the_loss_set():
    losses = hardest(np.array([1.0, -1.0]), 0.2, (0.5, 1, 4, 8, 16))
    assert np.allclose(losses[:, 0], [0.1, 0.2, 0.8, 1.0])


def test_flows_have_more_than_sixty_edges_and_all_sets_their_losses():
    X, _ = flows()
    assert X.size == 65 and X.dim == 10
    for sets in (flows(), ball(4), cube(4), arms(4)):
        assert sets[1].contains(extreme(sets))


# the report


@pytest.mark.slow
def test_the_command_prints_all_tables_and_draws_them(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bandit_prices, "QUICK", TINY)
    folder = tmp_path / "new"
    assert main(["bandits", "--quick", "--output", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert (folder / "price_of_bandits.png").read_bytes().startswith(b"\x89PNG")
    for part in ("simulation", "95%", "(i)", "(ii)", "(iii)", "(iv)", "(v)", "* ", "polygons, SCRiBLe"):
        assert part in printed


def test_the_command_refuses_a_file_as_its_folder_before_measuring(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bandit_prices, "measure", None)
    taken = tmp_path / "taken"
    taken.write_text("")
    assert main(["bandits", "--output", str(taken)]) == 2
    assert capsys.readouterr().err.startswith("The picture cannot be written to")
    assert bandits.HELP


# what the theory says
#
# Seeds are fixed. Comparisons of means were sized, from the standard errors of earlier runs, for margins of about 5 of
# them. The exponents are not: their intervals hold the truth in 95 of 100 cases, and that of the log-barrier meets
# EXPECTED near its lower end, so another seed may well raise an alarm there. Rows are shared by tests with REPLICAS.

REPLICAS = 24


@pytest.mark.slow
def test_noise_on_the_number_costs_less_than_noise_on_the_vector():
    rows = by_name(noise_rows(2**12, 2**13, 16))
    for contest in ("ball N = 20", "cube N = 20", "flows on 65 edges"):
        assert apart(rows[contest, "SCRiBLe, scalar noise"], rows[contest, "SCRiBLe, vector noise"])
    assert all(choice.ratio <= 1.1 for choice in choices(rows.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "horizon"), [(1.0, 2**14), (0.3, 2**12), (0.1, 2**12)])
def test_batches_lower_the_price(epsilon, horizon):
    """At epsilon 0.1 the log-barrier does little more than nothing in so few rounds."""
    rows = by_name(batch_rows(horizon, (epsilon,), REPLICAS))
    players = [("10 arms", "EXP2 by moments"), ("ball N = 5", "SCRiBLe"), ("10 arms", "log-barrier")]
    for contest, learner in players[: 2 if epsilon == 0.1 else 3]:
        assert rows[contest, f"{learner}, batches"].mean < rows[contest, learner].mean


FIGURES = {
    "EXP2, the paper's constants": 4429,
    "EXP2, noise cut": 6235,
    "EXP2 by moments": 3281,
    "EXP2 by moments, batches": 3023,
}
CUT = {"log-barrier": 2516, "log-barrier, batches": 2287}  # with the rate of the proof that cuts the noise


@pytest.mark.slow
def test_ten_arms_cost_what_the_theory_measured_and_in_its_order():
    """The log-barrier costs less than was measured in theory: its proof needs no cut of the noise, nor its rate."""
    rows = {row.learner: row for row in arm_rows([2**14], REPLICAS)}
    for learner, figure in FIGURES.items():
        assert rows[learner].mean == pytest.approx(figure, rel=0.15)
    for learner, figure in CUT.items():
        assert rows[learner].mean < 0.95 * figure
    order = ["log-barrier", "EXP2 by moments", "EXP2, the paper's constants", "EXP2, noise cut"]
    assert all(apart(rows[lower], rows[higher]) for lower, higher in itertools.pairwise(order))
    assert rows["log-barrier, batches"].mean < rows["log-barrier"].mean
    (choice,) = choices(rows.values())
    assert choice.ratio <= 1.1


@pytest.mark.slow
def test_the_cube_by_its_corners_costs_half_of_what_it_costs_as_a_body():
    """With batches the body gains more: 2.1 times was measured, with an error of 0.05."""
    rows = {row.learner: row for row in cube_rows(10**5, 24)}
    for batch, factor in (("", 2.0), (", batches", 1.8)):
        corners, body = rows["EXP2 by moments" + batch], rows["SCRiBLe" + batch]
        assert corners.idle == body.idle == pytest.approx(0.5)
        assert corners.per_round <= 0.15 and corners.bound < 0.25
        assert body.mean >= factor * corners.mean
    assert all(choice.ratio <= 1.1 for choice in choices(rows.values()))


@pytest.mark.slow
def test_regret_grows_as_the_root_of_the_rounds():
    growths = [
        arm_growth("EXP2 by moments", "", 1.0, (2**12, 2**13, 2**14), REPLICAS),
        arm_growth("log-barrier", "", 10.0, (2**12, 2**13, 2**14), REPLICAS),  # at 1: 0.31, rising with T
        ball_growth(1.0, (2**12, 2**14), REPLICAS),
    ]
    assert all(growth.exponent.meets(*EXPECTED) for growth in growths), growth_table(growths)
