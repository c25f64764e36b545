"""What an audit runs on: streams that are as far apart as can be, counted releases, and densities by quadrature."""

import itertools
import math
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses
from scipy.integrate import quad

from dpcvx import Change, LossSet
from dpcvx.errors import WeakPrivacyWarning
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.audit import exact_view, worst_neighbours
from dpcvx.privacy.audit.density import certify
from dpcvx.privacy.audit.nodes import NodeEvidence, TouchCount, UnitNoise, noise_matrix, prefixes_are_hidden
from dpcvx.privacy.audit.outputs import RecordingSource, Runs, prefix_outputs, record
from dpcvx.privacy.audit.padded_tree import padded_tree_ratio
from dpcvx.privacy.audit.worst_case import _ends
from dpcvx.privacy.counters import SmoothTree
from dpcvx.privacy.noise import Source
from dpcvx.privacy.weakness import told_once
from dpcvx.studies.audit_table import interval, secure, simulated

# worst streams


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 6, 7])
def test_ends_are_the_farthest_pair_of_corners(size, norm):
    """Of the hull of random points, by all pairs; and the point that is farthest from 0."""
    corners = np.random.default_rng(size).normal(size=(9, size)) + 0.7
    hull = SimpleNamespace(
        size=size, recognised=SimpleNamespace(farthest=lambda direction: corners[np.argmax(corners @ direction)])
    )
    pairs = max(np.linalg.norm(a - b, norm) for a, b in itertools.combinations(corners, 2))
    high, low = _ends(hull, norm, to_zero=False)
    assert np.linalg.norm(high - low, norm) == pytest.approx(pairs, rel=1e-12)
    assert high in corners and low in corners
    high, low = _ends(hull, norm, to_zero=True)
    assert np.linalg.norm(high, norm) == pytest.approx(max(np.linalg.norm(corners, norm, axis=1)), rel=1e-12)
    assert high in corners and not low.any()


def test_one_round_differs_and_the_others_are_0_or_the_center():
    away = box_losses((2, 2), 1.0, 3.0)
    for item in (1, 3):
        first, second = worst_neighbours(away, 3, item=item)
        others = [t for t in range(3) if t != item - 1]
        assert np.allclose(first[others], 2.0, atol=1e-6) and np.array_equal(first[others], second[others])
        assert np.abs(first[item - 1] - second[item - 1]).tolist() == [[2.0, 2.0]] * 2
        assert first.shape == second.shape == (3, 2, 2)
    assert not np.delete(worst_neighbours(interval(-1, 1, 2), 4, item=2), 1, axis=1).any()
    for wrong in (0, 4):
        with pytest.raises(ValueError, match=f"item must be a round from 1 to 3, not {wrong}"):
            worst_neighbours(away, 3, item=wrong)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("low", [(0.3, 0.3), (-0.53, 0.27)])
def test_declared_changes_cross_one_more_middle_than_they_have_whole_steps(low, replace):
    """From an end of the bounding box on: rounded, each entry moves by floor(|d|/step) + 1 steps, away from it."""
    d, step = cp.Variable(2), 2.0**-5
    ends = np.array(low), np.add(low, [0.0, 0.31 if replace else 0.0])
    change = Change(d, [d >= np.minimum(*ends), d <= np.maximum(*ends)] if replace else [d == low], replace=replace)
    loss_set = box_losses(2, -1.01, 1.03)
    first, second = worst_neighbours(loss_set, 3, change, norm=1, item=2, step=step)
    moved = first[1] - second[1]
    expected = np.abs(ends[1] - ends[0]) if replace else np.abs(low)
    assert np.abs(moved) == pytest.approx(expected, abs=1e-6)
    units = np.rint(first[1] / step) - np.rint(second[1] / step)
    whole = np.floor(np.abs(moved) / step) + (np.abs(moved) > 1e-6)
    assert np.abs(units).tolist() == whole.tolist()
    at_end = np.where(moved >= 0, second[1] + 1.01, 1.03 - second[1])  # within a step of the end where it starts
    assert ((at_end >= 0) & (at_end < 2 * step)).all() and loss_set.contains(first[1]) and loss_set.contains(second[1])
    first, second = worst_neighbours(loss_set, 3, change, norm=1, item=2)
    assert np.where(moved >= 0, second[1] + 1.01, 1.03 - second[1]) == pytest.approx(np.zeros(2), abs=1e-9)


# the padded tree


@pytest.mark.parametrize(("first", "second"), [(0.4, -0.3), (2.0, 0.0), (-1.0, 5.0)])
@pytest.mark.parametrize("at", [-3.0, 0.0, 0.4, 70.0])
def test_the_density_of_the_padded_tree_is_that_of_its_integrals(first, second, at):
    """By adaptive quadrature, over the shared node of two noises and that of four; in units of which 2 are a scale."""

    def integral(c, shift, rest):
        ends = sorted({c, shift, min(c, shift) - 60, max(c, shift) + 60, (c + shift) / 2})
        parts = [quad(lambda v: rest(v), a, b, epsabs=0, epsrel=1e-11) for a, b in itertools.pairwise(ends)]
        return math.log(sum(part for part, _ in parts))

    def shared(u):
        return 4 / 3 * math.exp(-u) - 2 / 3 * math.exp(-2 * u)

    def log_density(c, shift):
        x, scaled = abs(c - shift), abs(c - shift)  # all integrands are divided by e^(-x), so that none vanishes

        def two(u):
            return (1 + u) * math.exp(-u)

        pair = integral(c, shift, lambda v: math.exp(x - abs(v - shift)) * two(abs(c - v)) ** 2)
        four = integral(c, shift, lambda v: math.exp(x - abs(v - shift)) * two(abs(c - v)) ** 2 * shared(abs(c - v)))
        return math.log(3 + 3 * x + x * x) - 3 * scaled + pair + four

    for u in (0.0, 0.7, 4.0):
        ends = ((-50, 0), (0, u), (u, 50))
        parts = [quad(lambda e, u=u: math.exp(-abs(e) - 2 * abs(u - e)), a, b) for a, b in ends]
        assert sum(part for part, _ in parts) == pytest.approx(shared(u), rel=1e-8)
    exact = log_density(at, first) - log_density(at, second)
    assert padded_tree_ratio(2 * first, 2 * second, 2.0, 2 * at) == pytest.approx(exact, abs=1e-8)


# releases that are counted


class Ones(Source):
    """Noise 1, 2, 3, ... for one release after the other."""

    def __init__(self, secure=False):
        self.secure, self.seen = secure, []

    def draw(self, values):
        start = len(self.seen)
        self.seen.extend(value.copy() for value in values)
        steps = np.arange(start + 1, len(self.seen) + 1, dtype=values.dtype)
        return np.broadcast_to(steps.reshape(-1, *(1 for _ in values.shape[1:])), values.shape).copy()


def test_a_recording_keeps_the_releases_that_it_is_asked_for():
    inner = Ones()
    source = RecordingSource(inner, frozenset([1, 4]))
    values = np.arange(12.0).reshape(6, 2)
    noise = [source.draw(values[:3]), source.draw(values[3:4]), source.draw(values[4:])]
    assert np.vstack(noise)[:, 0].tolist() == [0, 1, 0, 0, 2, 0]
    assert [row.tolist() for row in source.values] == values[[1, 4]].tolist() == [row.tolist() for row in inner.seen]
    assert [row.tolist() for row in source.nodes] == [[3, 4], [10, 11]]
    values += 100  # what was kept is no view
    assert source.values[0].tolist() == [2, 3]
    everything = RecordingSource(Ones(secure=True))
    everything.draw(np.zeros((2, 3), dtype=np.int64))
    assert everything.secure and [row.tolist() for row in everything.nodes] == [[1] * 3, [2] * 3]


def test_touches_and_noises_are_counted_release_by_release():
    source = TouchCount(3)
    for values in ([[[1.0], [0.0], [-2.0]], [[0.0], [0.0], [3.0]]], [[[1.0], [0.0], [0.0]]]):
        assert not source.draw(np.array(values)).any()
    assert source.touched.tolist() == [2, 0, 2] and not source.secure
    unit = UnitNoise()
    assert unit.draw(np.zeros((2, 3, 1)))[..., 0].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert unit.draw(np.zeros((2, 3, 1)))[..., 0].tolist() == [[0, 0, 1], [0, 0, 0]] and unit.count == 4


class Bare(SmoothTree):
    """Its first prefixes carry no noise that later ones do not."""

    def _first_noise(self):
        super()._first_noise()
        return np.zeros(self.shape)

    def _next_noise(self, item):
        noise = super()._next_noise(item)
        return noise if self.items > 2 else np.zeros(self.shape)


class BareSums(PrivateSums):
    def planned(self, horizon):
        right = super().planned(horizon)
        object.__setattr__(right, "counter", Bare)
        return right


def test_prefixes_without_noise_are_found_and_cost_everything():
    make = simulated(BareSums, interval(-1, 1), 5, 1.0)
    assert not prefixes_are_hidden(make) and NodeEvidence(make, padding=True).influence() == math.inf
    assert not noise_matrix(make)[:3].any() and noise_matrix(make)[3:].any()
    found = certify(make, claim=1.0)
    assert found.epsilon == math.inf and found.exceeded and found.rho is None
    sound = simulated(PrivateSums, interval(-1, 1), 5, 1.0)
    touches = sound(np.random.default_rng(0), 1).plan.touches
    assert prefixes_are_hidden(sound) and NodeEvidence(sound, padding=True).influence() == touches
    assert prefixes_are_hidden(simulated(PrivateSums, interval(-1, 1), 1, 1.0))  # nothing is released after an item


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_the_density_of_trees_is_all_that_was_planned(rounds, delta):
    """Scales go by the distance of the plan, to the unit, and by the rounds of a person."""
    x = cp.Variable(3)
    for loss_set in (interval(-1, 1, 2), LossSet(x, [x >= 0, cp.sum(x) == 1])):
        settings = {"counter": "smooth", "noise": None if delta else "laplace", "rounds_per_person": rounds}
        found = certify(secure(loss_set, 20, 1.5, delta, **settings), claim=1.5, delta=delta)
        if delta:
            assert found.rho == pytest.approx(found.claimed_rho, rel=1e-10)
        else:
            assert found.epsilon == pytest.approx(1.5, rel=1e-10) and found.rho is None


# runs


@pytest.fixture
def hardly_private():
    """Sums of epsilon 10^9, told once that they protect nobody; noise beyond 10^-6 has a chance of e^-80."""
    with pytest.warns(WeakPrivacyWarning), told_once(1e9):
        yield


@pytest.mark.usefixtures("hardly_private")
@pytest.mark.parametrize("maker", [lambda *a: simulated(PrivateSums, *a), secure])
def test_runs_hold_the_same_losses_side_by_side(maker):
    loss_set, losses = interval(-1, 1, 3), np.linspace(-0.9, 1, 12).reshape(4, 3)
    made = maker(loss_set, 4, 1e9)(np.random.default_rng(0), 5)
    step = made.plan.grid.step
    runs = Runs(maker(loss_set, 4, 1e9), np.random.default_rng(0), 5)
    for loss in losses[:3]:
        runs.take(loss)
    assert runs.released().shape == (5, 3)
    np.testing.assert_allclose(runs.released() * step, np.tile(losses[:3].sum(axis=0), (5, 1)), atol=1e-6)
    outputs = prefix_outputs(maker(loss_set, 4, 1e9), losses)(np.random.default_rng(0), 2)
    sums = np.vstack([np.zeros(3), np.cumsum(losses, axis=0)[:3]]).ravel()
    np.testing.assert_allclose(outputs * step, np.tile(sums, (2, 1)), atol=1e-6)
    short = prefix_outputs(maker(loss_set, 4, 1e9), losses[:2])(np.random.default_rng(0), 2)
    np.testing.assert_allclose(short * step, np.tile(sums[:9], (2, 1)), atol=1e-6)
    values, nodes = record(maker(loss_set, 4, 1e9), losses, np.random.default_rng(0), 2)
    for value, node in zip(values, nodes, strict=True):
        assert value.shape == node.shape == (2, 3) and np.array_equal(value[0], value[1])
    some = record(maker(loss_set, 4, 1e9), losses, np.random.default_rng(0), 2, frozenset([0, 3]))[0]
    assert len(some) == 2 and np.array_equal(some[1], values[3])


def test_replicas_that_were_not_made_are_refused():
    with pytest.raises(ValueError, match=r"make\(rng, n\) must return sums with replicas=n, here 4"):
        Runs(lambda rng, n: PrivateSums(interval(-1, 1), 4, 1.0, seed=rng, replicas=n + 1), np.random.default_rng(0), 4)


def test_streams_without_a_difference_have_no_view():
    losses = np.zeros((4, 1))
    with pytest.raises(ValueError, match="No node differs between the two streams; there is nothing to audit"):
        exact_view(simulated(PrivateSums, interval(-1, 1), 4, 1.0), losses, losses)
