"""Certificates: words, records that can be read anywhere, and what they are worth for other neighbours."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from declared_changes import KINDS, draw, one_path
from loss_sets import ball_losses, box_losses

import decision_sets as ds
import dpcvx
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.studies.baselines.per_step_noise import PerStepNoise

BOX = box_losses(4, 0.0, 1.0)
SMALL = KINDS["small sum"](4)


def simplex_losses(size):
    l = cp.Variable(size, nonneg=True)  # noqa: E741
    return dpcvx.LossSet(l, [cp.sum(l) <= 1])


def after_epochs():
    sums = PrivateSums(BOX, None, 1.0, neighbours=SMALL)
    for _ in range(40):
        sums.update(np.full(4, 0.5))
    return sums.certificate


def rolled_back():
    return PrivateSums(BOX, 16, 1.0, 1e-6).certificate.after_rollbacks(2)


def of_sums(law, counter, neighbours):
    delta = 0.0 if law == "laplace" else 1e-6
    return PrivateSums(BOX, 16, 1.0, delta, counter=counter, neighbours=neighbours).certificate


COUNTERS = [("laplace", "tree"), ("laplace", "smooth"), ("gaussian", "smooth"), ("gaussian", "toeplitz")]
RELATIONS = {"replace": "replace", "zero-out": "zero-out", "change": SMALL}
MADE = {
    **{
        f"{law} {counter} {name}": partial(of_sums, law, counter, neighbours)
        for law, counter in COUNTERS
        for name, neighbours in RELATIONS.items()
    },
    "K-norm": lambda: PrivateSums(BOX, 16, 1.0, noise="knorm", seed=0).certificate,
    "K-norm change": lambda: PrivateSums(BOX, 16, 1.0, noise="knorm", neighbours=SMALL, seed=0).certificate,
    "K-norm ball": lambda: PrivateSums(ball_losses(4), 16, 1.0, noise="knorm", seed=0).certificate,
    "paper": lambda: PrivateSums(BOX, 16, 1.0, counter="tree", calibration="paper").certificate,
    "any horizon": after_epochs,
    "rollbacks": rolled_back,
    "group": lambda: PrivateSums(BOX, 16, 1.0, 1e-6, rounds_per_person=2).certificate.group(3),
    "projected": lambda: PrivateSums(simplex_losses(4), 16, 1.0).certificate,
    "one round": lambda: PrivateSums(BOX, 1, 1.0).certificate,
    "FTRL": lambda: dpcvx.FTRL(ds.simplex(4), BOX, 64, 1.0, neighbours=SMALL).certificate,
    "FTRL simulated": lambda: dpcvx.FTRL(ds.simplex(4), BOX, 64, 1.0, seed=1).certificate,
    "FTRL without privacy": lambda: dpcvx.FTRL(ds.simplex(4), BOX, 64).certificate,
    "FTRL without privacy or horizon": lambda: dpcvx.FTRL(ds.simplex(4), BOX, None).certificate,
    "FTPL": lambda: dpcvx.FTPL(ds.simplex(4), BOX, 64, 1.0, 1e-6).certificate,
    "matrices": lambda: dpcvx.FTPL(ds.birkhoff(3), box_losses((3, 3)), 64, 1.0).certificate,
    "SCRiBLe": lambda: dpcvx.PrivateBandit(dpcvx.SCRiBLe(ds.simplex(4), BOX, 64), 1.0).certificate,
    "Exp2 change": lambda: dpcvx.PrivateBandit(dpcvx.Exp2(np.eye(4), BOX, 64), 1.0, neighbours=SMALL).certificate,
    "arms zero-out": lambda: (
        dpcvx.PrivateBandit(dpcvx.LogBarrierBandit(4, BOX, 64), 1.0, neighbours="zero-out").certificate
    ),
    "vector noise": lambda: (
        dpcvx.PrivateBandit(dpcvx.LogBarrierBandit(4, BOX, 64), 1.0, noise="vector", seed=0).certificate
    ),
    "noise on every loss": lambda: PerStepNoise(ds.simplex(4), BOX, 16, 1.0).certificate,
}


def values_in(record):
    """All values of a record, out of lists and dictionaries."""
    if isinstance(record, dict | list):
        for one in record.values() if isinstance(record, dict) else record:
            yield from values_in(one)
    else:
        yield record


@pytest.mark.parametrize("name", MADE)
def test_a_certificate_reads_back_as_it_was_written(name):
    written = MADE[name]()
    for read in (dpcvx.Certificate.from_dict(written.to_dict()), dpcvx.Certificate.from_json(written.to_json())):
        assert read == written and str(read) == str(written) and read._repr_html_() == written._repr_html_()
        assert read.to_dict() == written.to_dict()
    assert {type(value) for value in values_in(written.to_dict())} <= {float, int, str, bool, type(None)}
    assert all(math.isfinite(v) for v in values_in(written.to_dict()) if isinstance(v, float))
    assert written.to_dict()["schema"] == 1
    assert replace(written, rounds=written.rounds + 1) != written


def test_a_certificate_read_in_another_process_says_the_same(tmp_path):
    """Also of other neighbours, named and declared there again."""
    certificates = [MADE[name]() for name in ("laplace smooth change", "Exp2 change", "any horizon", "FTRL")]
    path = tmp_path / "certificates.json"
    path.write_text(json.dumps([one.to_json() for one in certificates]))
    program = f"""
import json, cvxpy as cp, dpcvx
d = cp.Variable(4)
other = dpcvx.Change(d, [cp.norm1(d) <= 0.02])
for text in json.load(open({str(path)!r})):
    read = dpcvx.Certificate.from_json(text)
    print(read)
    print(read.epsilon_for("replace"), read.epsilon_for("zero-out"), read.epsilon_for(other))
"""
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    d = cp.Variable(4)
    other = dpcvx.Change(d, [cp.norm1(d) <= 0.02])
    here = [
        f"{one}\n{one.epsilon_for('replace')} {one.epsilon_for('zero-out')} {one.epsilon_for(other)}"
        for one in certificates
    ]
    assert there.splitlines() == "\n".join(here).splitlines()


@pytest.mark.parametrize("own", ["replace", "zero-out"])
def test_other_neighbours_of_gaussian_sums_cost_as_the_euclidean_lengths_of_their_changes(own):
    """Entries in [-1, 2] and [0, 4] move by (3, 4) where a loss is replaced, and by (2, 4) where it becomes 0."""
    loss = cp.Variable(2)
    Y = dpcvx.LossSet(loss, [loss >= np.array([-1.0, 0.0]), loss <= np.array([2.0, 4.0])])
    made = dpcvx.PrivateSums(Y, 64, 1.0, 1e-6, neighbours=own).certificate
    other, ratio = ("zero-out", math.sqrt(20) / 5) if own == "replace" else ("replace", 5 / math.sqrt(20))
    assert made.epsilon_for(other) == pytest.approx(zcdp_epsilon(made.rho * ratio**2, 1e-6), rel=1e-5)


def test_damaged_and_unknown_records_are_refused_in_sentences():
    good = MADE["laplace smooth change"]().to_dict()
    read = dpcvx.Certificate.from_dict
    for wrong, message in [
        ({"schema": 2}, "of schema 2, and this version of dpcvx reads schema 1"),
        ({"schema": True}, "of schema True"),
        ({"epsilon": "one"}, r"epsilon must be a number, not 'one'"),
        ({"epsilon": -1.0}, "damaged: epsilon = -1.0"),
        ({"epsilon": math.nan}, "must be a number, not nan"),
        ({"delta": 1.5}, "damaged: epsilon = 1.0, delta = 1.5"),
        ({"rounds": 1.5}, "rounds must be a whole number"),
        ({"rounds": -1}, "negative"),
        ({"secure": 1}, "secure must be true or false"),
        ({"notes": "none"}, "notes must be a list"),
        ({"notes": [1]}, r"notes\[0\] must be a text"),
        ({"neighbours": "removal"}, "no neighbours by 'removal'"),
        ({"neighbours": "replace"}, "a change is to be declared where"),
        ({"change": None}, "a change is to be declared where"),
        ({"change": {"constraints": ["d <= 1"], "replace": False}}, "has no field 'fingerprint'"),
        ({"grounds": {"released": "noise"}}, "grounds must be of sums or feedback"),
        ({"grounds": 3}, "grounds must be of sums or feedback"),
        ({"grounds": {**good["grounds"], "norm": None}}, "norm must be a number"),
        ({"grounds": {**good["grounds"], "hidden": [{}]}}, r"hidden\[0\] has no field"),
        ({"regret_bound": [1]}, "must be a record with names"),
        ({"protects": "everything"}, "its 'protects' does not follow"),
        ({"colour": "red"}, "has a field 'colour' that is not known here"),
    ]:
        with pytest.raises(ValueError, match=message):
            read({**good, **wrong})
    with pytest.raises(ValueError, match="has no field 'delta'"):
        read({key: value for key, value in good.items() if key != "delta"})
    with pytest.raises(ValueError, match="has no field 'schema'"):
        read({key: value for key, value in good.items() if key != "schema"})
    with pytest.raises(ValueError, match="must be a record"):
        read([1])
    with pytest.raises(ValueError, match="is no JSON"):
        dpcvx.Certificate.from_json("{")
    with pytest.raises(TypeError, match="takes a text, not a dict"):
        dpcvx.Certificate.from_json(good)
    assert read(good) == MADE["laplace smooth change"]()


@pytest.fixture(scope="module")
def rerouted():
    return one_path(5, 1000)


def test_the_whole_round_of_a_thousand_people_costs_2500_times_one_of_them(rerouted):
    """The 1-norm: 40 edges in [0, 1] for the round, 0.016 for one who takes another path."""
    Y = box_losses(40, 0.0, 1.0)
    certificate = PrivateSums(Y, 2048, 1.0, neighbours=rerouted).certificate
    assert certificate.epsilon == certificate.epsilon_for(rerouted) == 1.0
    assert certificate.epsilon_for(one_path(5, 1000)) == 1.0  # declared again
    assert certificate.epsilon_for("replace") == pytest.approx(2500, rel=1e-3)
    assert certificate.epsilon_for("zero-out") == pytest.approx(2500, rel=1e-3)
    assert certificate.epsilon_for(one_path(5, 500)) == pytest.approx(2, rel=1e-3)
    assert certificate.epsilon_for(one_path(5, 1000, replace=False)) == pytest.approx(0.5, rel=1e-3)
    assert certificate.group(2).epsilon_for("replace") == pytest.approx(5000, rel=1e-3)
    assert certificate.after_rollbacks(1).epsilon_for("replace") == pytest.approx(5000, rel=1e-3)
    gaussian = PrivateSums(Y, 2048, 1.0, 1e-6, neighbours=rerouted, counter="smooth").certificate
    ratio = math.sqrt(40) / 0.004
    assert gaussian.epsilon_for("replace") == pytest.approx(zcdp_epsilon(gaussian.rho * ratio**2, 1e-6), rel=1e-2)


def test_a_certificate_says_what_is_protected_and_what_was_only_declared(rerouted):
    text = str(PrivateSums(box_losses(40, 0.0, 1.0), 2048, 1.0, neighbours=rerouted).certificate)
    for words in (
        "sequences that differ in one round by c' - c, c and c' in {",
        "is the user's declaration; it is not checked",
        "entry by entry to the box [0, 1]^40",
        "epsilon = 2499.",
        "each in at most 1 round",
        "of 2 persons: epsilon = 2",
    ):
        assert words in text
    text = str(PrivateSums(BOX, 64, 1.0, neighbours=SMALL, rounds_per_person=3).certificate)
    assert "differ in up to 3 rounds, in each of them by d or -d, d in {norm1(d) <= 0.01, " in text
    assert "nearest point of the loss set" in str(MADE["projected"]())
    assert "each value to its interval over the loss set" in str(MADE["Exp2 change"]())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own", ["replace", "zero-out", "comes"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_change_of_a_loss_costs_more_than_the_certificate_says_of_it(kind, own, delta):
    """150 random pairs of losses, inside and outside the box: what they cost, by their whole numbers.

    The teeth: some of them cost more than half of what is said, so that nothing of the other half could be left out.
    """
    change, size = KINDS[kind](4), 4
    sums = PrivateSums(BOX, 16, 1.0, delta, neighbours=KINDS[own](size) if own in KINDS else own, counter="smooth")
    certificate, plan = sums.certificate, sums.plan
    said = certificate.epsilon_for(change)
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(150):
        loss = rng.choice([0.0, 0.5, 1.0, 2.0], size) + rng.choice([0.0, 1e-3, 1e-9]) * rng.standard_normal(size)
        other = loss + rng.choice([-1, 1]) * draw(change, rng)
        shift = [int(one) for one in sums.mechanism.units(other) - sums.mechanism.units(loss)]
        price = plan.law.price(shift)
        worst = max(worst, plan.touches * (price.rho if delta else price.pure))
    cost = zcdp_epsilon(worst, delta) if delta else worst
    assert said / 2 < cost <= said


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["replace", "zero-out"])
@pytest.mark.parametrize("own", ["replace", "zero-out", "change"])
@pytest.mark.parametrize("losses", ["box", "simplex", "ball", "away"])
def test_named_neighbours_cost_no_more_than_the_certificate_says(name, own, losses):
    """The farthest pairs that the set has, and random ones; the teeth as above."""
    Y = {"box": BOX, "simplex": simplex_losses(4), "ball": ball_losses(4), "away": box_losses(4, 1.0, 3.0)}[losses]
    sums = PrivateSums(Y, 16, 1.0, neighbours=SMALL if own == "change" else own)
    said, plan = sums.certificate.epsilon_for(name), sums.plan
    rng, worst = np.random.default_rng(4), 0.0
    corners = np.vstack([3 * np.eye(4), -3 * np.eye(4), np.full((1, 4), 5.0), np.full((1, 4), -5.0), np.zeros((1, 4))])
    corners = np.vstack([corners, 4 * rng.standard_normal((30, 4)), [[2, -2, 2, -2], [-2, 2, -2, 2]]])
    units = [sums.mechanism.units(one) for one in corners]
    others = [sums.mechanism.units(np.zeros(4))] if name == "zero-out" else units
    for first in units:
        for second in others:
            worst = max(worst, plan.touches * plan.law.price([int(one) for one in first - second]).pure)
    assert said / 2.1 < worst <= said * (1 + 1e-12)


def test_projected_losses_are_not_said_to_cost_less_for_a_small_change():
    certificate = MADE["projected"]()
    assert certificate.epsilon_for(SMALL) == certificate.epsilon == 1.0
    large = PrivateSums(simplex_losses(4), 16, 1.0, noise="laplace", neighbours=SMALL).certificate  # by entries
    assert large.epsilon_for("replace") == pytest.approx(400, rel=1e-3)


def test_what_cannot_be_told_is_refused_in_a_sentence():
    certificate = MADE["laplace smooth change"]()
    with pytest.raises(ValueError, match="not 'remove'"):
        certificate.epsilon_for("remove")
    with pytest.raises(ValueError, match="not a int"):
        certificate.epsilon_for(3)
    with pytest.raises(ValueError, match=r"shape \(3,\) and losses \(4,\)"):
        certificate.epsilon_for(KINDS["comes"](3))
    with pytest.raises(ValueError, match="what other neighbours cost: noise on every single loss"):
        MADE["noise on every loss"]().epsilon_for("zero-out")
    unstated = replace(MADE["gaussian smooth change"](), rho=None)
    with pytest.raises(ValueError, match="Without rho"):
        unstated.epsilon_for("replace")
    assert math.isinf(MADE["FTRL without privacy"]().epsilon_for(SMALL))


def test_nothing_changes_costs_nothing_and_a_round_everything():
    d = cp.Variable(4)
    nothing = PrivateSums(BOX, 16, 1.0, neighbours=dpcvx.Change(d, [d == 0])).certificate
    assert math.isinf(nothing.epsilon_for("replace")) and "no noise is drawn" in str(nothing)
    assert dpcvx.Certificate.from_json(nothing.to_json()) == nothing


def test_bandits_say_what_a_round_costs():
    """One scale for all actions: the largest interval over what one person moves."""
    arms = MADE["Exp2 change"]()
    assert arms.epsilon_for("replace") == pytest.approx(1 / 0.004, rel=1e-3)
    assert arms.epsilon_for("zero-out") == pytest.approx(1 / 0.004, rel=1e-3)
    d = cp.Variable(4)
    assert 2 * (1 - 1e-3) <= arms.epsilon_for(dpcvx.Change(d, [cp.norm_inf(d) <= 0.008, cp.norm1(d) <= 0.008])) <= 4.01
    for own in ("replace", "zero-out"):
        bandit = dpcvx.PrivateBandit(dpcvx.LogBarrierBandit(4, BOX, 64), 1.0, neighbours=own).certificate
        assert bandit.epsilon_for("replace") == bandit.epsilon_for("zero-out") == bandit.epsilon_for(SMALL) == 1.0
    signed = dpcvx.PrivateBandit(dpcvx.LogBarrierBandit(4, box_losses(4), 64), 1.0, neighbours="zero-out").certificate
    assert signed.epsilon_for("replace") == 2.0


def test_bandits_never_understate_another_change():
    """The bound by the box of the actions against the truth at every path; the teeth: it is at most 3 times that."""
    X = ds.simplex(4)
    rng = np.random.default_rng(0)
    points = np.vstack([np.eye(4), rng.dirichlet(np.ones(4), 20)])
    certificate = dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, BOX, 64), 1.0, neighbours=SMALL).certificate
    for kind in ("comes", "rerouted", "ellipsoid"):
        change = KINDS[kind](4)
        truth = max(change.reach(x) for x in points) / max(SMALL.reach(x) for x in points)
        assert truth * (1 - 1e-6) <= certificate.epsilon_for(change) <= 3 * truth


def test_a_declared_change_is_told_in_plain_words(rerouted):
    """The same in every process: no numbers of cvxpy's variables and parameters, no matrices."""
    assert rerouted.declared == ("0.0 <= c", "(matrix) @ c == (vector)")
    shift, limit = cp.Variable(3, name="shift"), cp.Parameter(value=0.25)
    told = dpcvx.Change(shift, [cp.norm1(shift) <= limit, cp.sum(shift) == 0]).declared
    assert told == ("norm1(shift) <= 0.25", "sum(shift) == 0.0")
