"""Certificates on either side of every limit: what is written, read, refused, converted, composed and told."""

import json
import math
import sys
import types
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

from dpcvx import Certificate, Change, PrivateSums, compose
from dpcvx.privacy import certificate_words
from dpcvx.privacy.certificate_record import plain, read, to_text
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.optimal_composition import composed_epsilon

Y = box_losses(3)
PURE = PrivateSums(Y, 64, 0.5, noise="laplace", counter="smooth").certificate
GAUSS = PrivateSums(Y, 64, 0.5, 1e-6, counter="smooth").certificate
LOOSE = replace(GAUSS, rho=None)
UNKNOWN = replace(GAUSS, grounds=None)


@pytest.fixture
def events(monkeypatch):
    """The names of dp-accounting's events, for machines without it: each keeps what it was given."""
    names = ("GaussianDpEvent", "RandomizedResponseDpEvent", "ZCDpEvent", "NonPrivateDpEvent", "ComposedDpEvent")
    package = types.ModuleType("dp_accounting")
    package.dp_event = types.SimpleNamespace(**{name: lambda *given, name=name: (name, *given) for name in names})
    monkeypatch.setitem(sys.modules, "dp_accounting", package)


# conversions


def test_noise_on_integers_is_told_as_gaussian_where_it_is_that_up_to_a_millionth(events):
    """The slack is 201 n (grid/scale)^2, with n numbers in each of the rounds."""
    numbers = GAUSS.grounds.numbers
    assert numbers == 3 * GAUSS.releases_per_loss
    fine, coarse = (math.sqrt(share * 1e-6 / (201 * 5 * numbers)) for share in (0.999, 1.001))
    for ratio, name in ((fine, "GaussianDpEvent"), (coarse, "ZCDpEvent")):
        one = replace(GAUSS, grid=ratio * GAUSS.scale, rounds_per_person=5)
        assert one.gaussian_slack == pytest.approx(201 * 5 * numbers * ratio**2, rel=1e-12)
        event = one.to_dp_accounting("REPLACE_SPECIAL")
        expected = 1 / math.sqrt(2 * one.rho) if name == "GaussianDpEvent" else one.rho
        assert event == (name, pytest.approx(expected, rel=1e-12))
    assert GAUSS.to_dp_accounting() == ("GaussianDpEvent", pytest.approx(2 / math.sqrt(2 * GAUSS.rho)))
    assert replace(GAUSS, rho=0.0).to_dp_accounting() == ("ZCDpEvent", 0.0)
    assert UNKNOWN.to_dp_accounting() == ("ZCDpEvent", GAUSS.rho) and UNKNOWN.gaussian_slack is None
    assert PURE.gaussian_slack is None and PURE.to_dp_accounting()[0] == "RandomizedResponseDpEvent"
    endless = replace(GAUSS, grounds=replace(GAUSS.grounds, numbers=None))
    assert endless.gaussian_slack is None
    assert replace(PURE, epsilon=math.inf).to_dp_accounting() == ("NonPrivateDpEvent",)
    with pytest.raises(ValueError, match=r"no event for \(epsilon, delta\) without rho"):
        LOOSE.to_dp_accounting()


def test_other_neighbours_of_gaussian_noise_cost_the_square_of_how_much_farther_they_are():
    (one,) = GAUSS.grounds.hidden
    for farther in (3.0, 0.5):
        wide = replace(GAUSS, grounds=replace(GAUSS.grounds, hidden=(replace(one, zero_out=farther * one.own),)))
        assert wide.epsilon_for("zero-out") == pytest.approx(zcdp_epsilon(farther**2 * GAUSS.rho, 1e-6), rel=1e-9)
        loose = replace(wide, rho=None)
        if farther > 1:
            with pytest.raises(ValueError, match="nothing is known of more than was declared at delta = 1e-06"):
                loose.epsilon_for("zero-out")
        else:
            assert loose.epsilon_for("zero-out") == 0.5  # no less is known without rho
        pure = replace(PURE, grounds=replace(PURE.grounds, hidden=wide.grounds.hidden))
        assert pure.epsilon_for("zero-out") == pytest.approx(farther * 0.5, rel=1e-12)
    same = replace(LOOSE, grounds=replace(GAUSS.grounds, hidden=(replace(one, zero_out=one.own),)))
    assert same.epsilon_for("zero-out") == 0.5
    endless = replace(GAUSS, grounds=replace(GAUSS.grounds, hidden=(replace(one, own=0.0),)))
    assert endless.epsilon_for("zero-out") == math.inf
    assert replace(PURE, epsilon=math.inf, grounds=None).epsilon_for("zero-out") == math.inf


def test_rollbacks_count_for_what_the_noise_hides_too():
    assert GAUSS.after_rollbacks(2).grounds.numbers == 3 * GAUSS.grounds.numbers
    assert UNKNOWN.after_rollbacks(2).grounds is None
    assert replace(LOOSE, delta=0.3).after_rollbacks(2).delta == pytest.approx(0.9)
    assert GAUSS.group(2).after_rollbacks(0).rho == 4 * GAUSS.rho


# compositions


def test_a_small_pure_epsilon_is_cheaper_as_rho_where_only_that_is_known():
    """rho + e^2/2 is below rho, converted, and e; and where delta is lost already it cannot be used."""
    small = replace(PURE, epsilon=0.02)
    together = compose(UNKNOWN, small, small, delta=1e-6)
    assert together.rho == pytest.approx(GAUSS.rho + 0.02**2, rel=1e-12)
    assert together.epsilon == zcdp_epsilon(math.fsum([GAUSS.rho, math.fsum([0.0002, 0.0002])]), 1e-6)
    assert together.method == "the sum of rho, all as zCDP"
    with_loose = compose(UNKNOWN, small, replace(LOOSE, epsilon=0.02, delta=1e-9), delta=1e-6)
    assert with_loose.method == "the sum of pure epsilons and of rho" and with_loose.rho is None
    large = replace(PURE, epsilon=3.0)
    assert compose(UNKNOWN, large, delta=1e-6).method == "the sum of pure epsilons and of rho"
    assert compose(UNKNOWN, delta=1e-6).method == "the sum of rho"


def test_what_integers_are_apart_from_continuous_noise_is_paid_in_epsilon_and_delta():
    """201 n (grid/scale)^2 of 0.005 each: a continuous Gaussian at e^-0.01 delta, and 0.01 on top."""
    coarse = replace(GAUSS, grid=GAUSS.scale * math.sqrt(0.005 / (201 * GAUSS.grounds.numbers)))
    together = compose([coarse, coarse], delta=1e-6)
    expected = composed_epsilon([], math.sqrt(4 * GAUSS.rho), 1e-6 * math.exp(-0.01)) + 0.01
    assert together.epsilon == pytest.approx(expected, rel=1e-9) and together.method == "optimal composition"
    beyond = replace(coarse, grid=coarse.grid * math.sqrt(200.1))  # a slack of 1 and more
    assert compose(beyond, delta=1e-6).epsilon == zcdp_epsilon(GAUSS.rho, 1e-6)


def test_a_composition_takes_the_largest_delta_of_gaussian_parts_and_what_others_lost():
    finer = replace(GAUSS, delta=1e-9)
    assert compose(GAUSS, finer).delta == compose(finer, GAUSS).delta == 1e-6
    assert compose(PURE, PURE).delta == 0.0 and compose(PURE, PURE).rho == pytest.approx(0.25)
    lost = replace(LOOSE, delta=0.25)
    assert compose(lost, GAUSS).delta == pytest.approx(0.25 + 1e-6, rel=1e-12)
    assert compose(replace(LOOSE, delta=0.999999999), GAUSS).delta == 1.0
    exactly = -math.expm1(math.log1p(-0.25))
    assert compose(lost, delta=exactly).epsilon == lost.epsilon
    with pytest.raises(ValueError, match=r"delta = 0\.24 is below 0\.25, what certificates without rho have spent"):
        compose(lost, delta=0.24)
    with pytest.raises(ValueError, match=r"no epsilon at delta = 0\.25, of which 0\.25 is spent by other parts\."):
        compose(lost, replace(GAUSS, delta=0.0))
    with pytest.raises(ValueError, match=r"no epsilon at delta = 0; give delta > 0\."):
        compose(PURE, replace(GAUSS, delta=0.0))
    with pytest.raises(TypeError, match=r"takes certificates, not a PrivateSums: give its certificate\."):
        compose(PrivateSums(Y, 8, 1.0))


# records


def test_values_of_records_are_plain():
    record = {"a": np.float32(0.5), 3: (np.int64(2), math.inf, -math.inf, math.nan), "b": [np.bool_(True), None, "c"]}
    assert plain(record) == {"a": 0.5, "3": [2, None, None, None], "b": [True, None, "c"]}
    assert type(plain(np.int64(2))) is int and type(plain(np.bool_(True))) is bool and type(plain(1.0)) is float
    assert to_text({"a": [1]}) == json.dumps({"a": [1]}, indent=1)


def test_records_are_read_by_the_types_of_their_fields():
    assert read(int | None, None, "it") is None and read(float, None, "it") == math.inf
    assert read(int, 3.0, "it") == 3 and type(read(int, np.float64(3.0), "it")) is int
    assert read(float, 3, "it") == 3.0 and type(read(float, 3, "it")) is float
    assert read(tuple[float, ...], [1, None], "it") == (1.0, math.inf)
    assert read(dict[str, int], {"a": {"b": [1, "c", 2.5, None]}}, "it") == {"a": {"b": [1, "c", 2.5, None]}}
    for kind, value, words in (
        (int, 3.5, "it must be a whole number, not 3.5."),
        (int, True, "it must be a number, not True."),
        (float, math.nan, "it must be a number, not nan."),
        (str, 3, "it must be a text, not 3."),
        (bool, "yes", "it must be true or false, not 'yes'."),
        (tuple[int, ...], 3, "it must be a list, not 3."),
        (tuple[int, ...], [1, "x"], r"it\[1\] must be a number, not 'x'."),
        (dict[str, int], {1: 2}, "it must be a record with names, not {1: 2}."),
        (dict[str, int], {"a": {"b": math.inf}}, r"it\.a\.b must be a plain value, not inf."),
        (dict[str, int], {"a": [math.nan]}, r"it\.a must be a plain value, not nan."),
    ):
        with pytest.raises(ValueError, match=f"^{words}$"):
            read(kind, value, "it")


def test_what_is_wrong_in_a_record_is_shown_up_to_sixty_characters():
    for length, shown in ((58, "'" + 58 * "x" + "'"), (59, "'" + 59 * "x" + "...")):
        with pytest.raises(ValueError, match=f"^it must be a number, not {shown}".replace("...", r"\.\.\.") + r"\.$"):
            read(float, length * "x", "it")


def test_the_least_and_largest_that_a_certificate_may_say_are_read_and_no_more():
    good = GAUSS.to_dict()
    for name, values in {
        "epsilon": (0.0, -1e-300),
        "delta": (0.0, -1e-300),
        "rho": (0.0, -1e-300),
        "rounds_per_person": (1, 0),
        "rounds": (0, -1),
        "releases_per_loss": (0, -1),
        "terms_per_prefix": (0, -1),
        "scale": (0.0, -1e-300),
        "grid": (0.0, -1e-300),
        "sensitivity": (0.0, -1e-300),
    }.items():
        allowed, wrong = ({**good, name: value} for value in values)
        assert getattr(Certificate.from_dict(allowed), name) == values[0]
        with pytest.raises(ValueError, match="certificate is damaged"):
            Certificate.from_dict(wrong)
    assert Certificate.from_dict({**good, "delta": 1.0}).delta == 1.0
    with pytest.raises(ValueError, match="damaged"):
        Certificate.from_dict({**good, "delta": 1.0 + 1e-15})
    assert Certificate.from_dict({**good, "rho": None}).rho is None
    without = {name: value for name, value in good.items() if name not in ("protects", "arithmetic")}
    assert Certificate.from_dict(without) == GAUSS
    damaged = {**good, "protects": "all", "arithmetic": "none"}
    with pytest.raises(ValueError, match="its 'arithmetic' does not follow"):  # the first of them
        Certificate.from_dict(damaged)
    with pytest.raises(ValueError, match="has a field 'a' that is not known"):
        Certificate.from_dict({**good, "b": 1, "a": 2})
    with pytest.raises(ValueError, match="has no field 'delta'"):
        Certificate.from_dict({name: value for name, value in good.items() if name not in ("delta", "epsilon")})


# words


def test_what_is_proved_of_the_regret_is_told_where_it_says_something():
    bound = {"rounds": 1, "learning": 3.0, "privacy": 2.0, "total": 5.0, "theorem": "T"}
    assert certificate_words.regret(bound) == [
        ("regret", "at most 5 over 1 round, in expectation, against oblivious losses: 3 for learning, 2 for privacy"),
        ("theorem", "T"),
    ]
    for largest in (0.0, None, 5.5):
        assert certificate_words.regret({**bound, "largest": largest}) == certificate_words.regret(bound)
    (_, vacuous), *_ = rows = certificate_words.regret({**bound, "largest": 4.0, "useful_from": 70})
    assert "no sequence of losses costs more" in vacuous and rows[1] == (
        "bound",
        "the proved bound, 5, is above the largest possible regret, 4: it says nothing yet; useful from T = 70; "
        "it is 3 for learning, 2 for privacy",
    )


def test_a_certificate_tells_whom_it_protects_and_of_whom_it_knows():
    rows = dict(GAUSS.rows())
    assert rows["groups"].startswith(f"of 2 persons: epsilon = {GAUSS.group(2).epsilon:.6g}, delta = 1e-06")
    assert (
        rows["sampler"].startswith("opendp: ") and rows["protects"] == "one round's loss vector, neighbours by replace"
    )
    assert rows["rounds"] == "0 of 64" and "whole round" not in rows and "declared" not in rows
    assert "clipped" not in dict(UNKNOWN.rows()) and "sampler" not in dict(replace(GAUSS, sampler=None).rows())
    assert dict(replace(GAUSS, sampler="own").rows())["sampler"] == "own"
    assert "neighbours='replace', smooth tree, round 0 of 64)" in repr(GAUSS)
    open_sums = dict(replace(PURE, epsilon=math.inf).rows())
    assert open_sums["claim"] == "none: the sums carry no noise" and not {"noise", "groups"} & set(open_sums)
    d = cp.Variable(3)
    changed = PrivateSums(Y, 64, 0.5, neighbours=Change(d, [cp.norm1(d) <= 0.5])).certificate
    assert {"declared", "whole round", "clipped"} <= set(dict(changed.rows()))
    assert "whole round" not in dict(replace(changed, grounds=None).rows())
