"""What rounding the stream of a factorisation costs a person whose rounds lie in several epochs, priced exactly."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import LossSet
from dpcvx.privacy.counters import Toeplitz
from dpcvx.privacy.noise import Source
from dpcvx.privacy.private_sums import PrivateSums

PEOPLE = 8  # rounds of a person, each the first of an epoch
EPOCHS = [16 * 2**number for number in range(2, 2 + PEOPLE)]  # the third of PrivateSums and those after it
LOW, STEP = 1.0, 2.0**-29
BEAM = 400


def narrow():
    """[1, 1 + 2 * 2^-30]: one unit of the grid wide, so that a rounded loss is one of two numbers."""
    loss = cp.Variable(1)
    return LossSet(loss, [loss >= LOW, loss <= LOW + STEP])


@cache
def bad_epoch(horizon):
    """Losses in units above the lower end, (horizon, 2): neighbours in round 0, their rounded streams far apart.

    The second stream is above the first by the first column of C, so they are rounded to different sides where the
    fractional part of the first is just below 1/2. One bit a round steers these parts; a beam keeps the choices with
    the most such entries so far.
    """
    f = Toeplitz.factors(horizon)
    column = (f.gains * f.poles ** np.arange(f.size)[:, None]).sum(axis=1)
    lowest = np.cumsum(column) * (LOW / STEP) % 1.0
    ties = np.random.default_rng(horizon).random(BEAM) / 2
    state, score, kept = np.zeros((len(f.poles), 1)), np.zeros(1), []
    for t in range(1, f.size):
        state = state * f.poles[:, None]
        part = (f.gains @ state + lowest[t] + 0.5) % 1.0
        score = score + (part >= 1 - column[t])
        keep = np.argsort(ties[: len(score)] - score)[: BEAM // 2]
        state = np.concatenate([state[:, keep], state[:, keep] + 1], axis=1)
        score = np.tile(score[keep], 2)
        kept.append(keep)
    at, bits = int(np.argmax(score)), [0]  # the last item of an epoch is released nowhere
    for keep in reversed(kept):
        bits.append(at // len(keep))
        at = keep[at % len(keep)]
    first = np.array([*bits, 0])[::-1]
    return np.stack([first, first + (np.arange(horizon) == 0)], axis=1)


class Recorded(Source):
    """Keeps the integers that noise is to be added to, and adds none."""

    secure = True

    def __init__(self):
        self.values = []

    def draw(self, values):
        self.values.append(values[0])
        return np.zeros_like(values)


def exact_price():
    """(rho of all releases of two neighbouring streams, from the integers behind them; rho of the certificate)."""
    sums = PrivateSums(narrow(), None, 1.0, 1e-6, counter="toeplitz", rounds_per_person=PEOPLE)
    price = 0.0
    for horizon in EPOCHS:
        plan, source = sums.planned(horizon), Recorded()
        assert plan.grid.step == STEP and plan.sensitivity.units == pytest.approx(1)
        counter = plan.make((2, 1), source)
        for items in bad_epoch(horizon):
            counter.update(plan.grid.round(LOW + STEP * items[:, None], toward_zero=False))
        streams = np.array(source.values)
        price += float(((streams[:, 0] - streams[:, 1]) ** 2).sum()) / (2 * plan.law.scale**2)
    return price, sums.certificate.rho


def test_a_person_in_several_epochs_pays_no_more_than_certified():
    """The slip of rounding was charged once per person, but every epoch with a round of the person pays it."""
    price, claimed = exact_price()
    assert claimed == pytest.approx(0.02436, rel=1e-3)
    assert 0 < price <= claimed


def test_a_slip_charged_once_is_found_out(monkeypatch):
    """The teeth: with the distance as it was before, the same two streams cost more than is certified."""

    def once(horizon, round_units, rounds, size, largest):
        f = Toeplitz.factors(horizon)
        slip = 1 + 2 * f.rounding_error(largest)
        return float(rounds * round_units * f.sensitivity + slip * np.sqrt(f.size * size))

    monkeypatch.setattr(Toeplitz, "moved", once)
    price, claimed = exact_price()
    assert price > 1.05 * claimed  # 0.0266 where 0.0244 is claimed


@pytest.mark.parametrize(
    ("counter", "delta"), [("tree", 0.0), ("tree", 1e-6), ("smooth", 0.0), ("smooth", 1e-6), ("toeplitz", 1e-6)]
)
def test_all_that_a_person_moves_counts_for_every_round(counter, delta):
    """Whatever part of the distance comes from rounding: k epochs with a round each cost no more than one with k."""
    one, several = (
        PrivateSums(narrow(), 64, 1.0, delta, counter=counter, rounds_per_person=people).plan.moved
        for people in (1, PEOPLE)
    )
    assert several == pytest.approx(PEOPLE * one, rel=1e-12)
