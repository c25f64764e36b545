"""What counters say of themselves, against running them and against all that could be chosen instead."""

import math

import numpy as np
import pytest

from dpcvx.errors import HorizonError
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.audit import exact_view
from dpcvx.privacy.audit.nodes import UnitNoise, noise_matrix
from dpcvx.privacy.audit.shown import looks, outcome, shown
from dpcvx.privacy.audit.transcript import run
from dpcvx.privacy.counters import (
    COUNTERS,
    BinaryTree,
    SmoothTree,
    Toeplitz,
    codeword_shape,
    paper_counter,
    tree_levels,
)
from dpcvx.privacy.noise import Gaussian, Laplace, SimulatedSource, Source
from dpcvx.studies.audit_table import interval, simulated


class Drawn(Source):
    """No noise; counts the draws."""

    secure, needs_values = False, False

    def __init__(self):
        self.count = 0

    def draw(self, values):
        self.count += len(values)
        return np.zeros(values.shape)


@pytest.mark.parametrize("balanced", [False, True])
def test_codewords_are_the_cheapest_of_all_shapes(balanced):
    """z a or z^2 a is least among all with binom(z + a, a) >= T, and of equals the fewest zeros are taken."""
    for horizon in (*range(2, 60), 84, 85, 330, 331, 1000, 2**20, 2**40 + 1):
        shapes = []
        for zeros in range(1, 65):
            low, ones = 0, horizon
            while ones - low > 1:
                middle = (low + ones) // 2
                low, ones = (low, middle) if math.comb(zeros + middle, zeros) >= horizon else (middle, ones)
            shapes.append(((zeros if balanced else zeros**2) * ones, zeros, ones))
        assert codeword_shape(horizon, balanced) == min(shapes)[1:]
    assert codeword_shape(1, balanced) == (0, 0)


def test_structures_and_deviations_are_those_of_the_codewords():
    for horizon in (2, 9, 100, 5000):
        for norm in (1, 2):
            zeros, ones = codeword_shape(horizon, norm == 2)
            assert SmoothTree.structure(horizon, norm) == (zeros, ones)
            assert SmoothTree.deviation(horizon, norm) == pytest.approx(math.sqrt(ones))
            smooth = zeros * math.sqrt(2 * ones) if norm == 1 else math.sqrt(zeros * ones)
            assert SmoothTree.relative_deviation(horizon, norm) == pytest.approx(smooth)
            levels, terms = tree_levels(horizon), int(math.log2(horizon))
            assert BinaryTree.structure(horizon, norm) == (levels, terms) and levels == math.ceil(math.log2(horizon))
            tree = levels * math.sqrt(2 * terms) if norm == 1 else math.sqrt(levels * terms)
            assert BinaryTree.relative_deviation(horizon, norm) == pytest.approx(tree)
    assert [kind.title(norm) for kind in (SmoothTree, BinaryTree) for norm in (1, 2)] == [
        "smooth tree",
        "smooth tree, balanced",
        "binary tree, padded",
        "binary tree, padded",
    ]
    assert paper_counter() is BinaryTree and [kind.roundings(70) for kind in COUNTERS.values()] == [1, 1, 70]
    assert [kind.moved(70, 2.5, 3, 4, 1.0) for kind in (SmoothTree, BinaryTree)] == [7.5, 7.5]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("kind", [SmoothTree, BinaryTree])
def test_a_round_draws_as_many_noises_as_is_said(kind, norm):
    """Over all codewords of a shape but the last, of one run of ones, and over all times of so many bits but 0."""
    zeros, ones = codeword_shape(1_000, norm == 2)
    horizon = math.comb(zeros + ones, ones) if kind is SmoothTree else 2**10
    source = Drawn()
    counter = kind(horizon, (1,), source, norm=norm)
    assert kind is BinaryTree or (counter.touches, counter.terms) == (zeros, ones)
    assert source.count == counter.terms and kind.structure(horizon, norm) == (counter.touches, counter.terms)
    for _ in range(horizon - 1):
        counter.update(np.zeros(1))
    drawn = source.count - counter.terms + (ones if kind is SmoothTree else 11)
    assert drawn / horizon == pytest.approx(kind.noises_per_round(horizon, norm), rel=1e-12)
    assert SmoothTree.noises_per_round(1, norm) == Toeplitz.noises_per_round(1, 2) == 0.0
    assert Toeplitz.noises_per_round(9, 2) == 1.0


def test_padding_is_noise_beside_the_set_bits_of_the_time():
    make = simulated(PrivateSums, interval(-1, 1), 21, 1.0, counter="tree")
    bare, padded = noise_matrix(make, padding=False), noise_matrix(make)
    for t in range(21):
        assert bare[t].sum() == t.bit_count() and padded[t].sum() == 4
        assert (bare[t] <= padded[t]).all()
    smooth = simulated(PrivateSums, interval(-1, 1), 21, 1.0, counter="smooth")
    assert np.array_equal(noise_matrix(smooth, padding=False), noise_matrix(smooth))


@pytest.mark.parametrize("kind", [BinaryTree, SmoothTree])
def test_unpadded_prefixes_hold_the_true_sum(kind):
    counter = kind(9, (2, 1), Drawn())
    for t in range(9):
        assert counter.unpadded.ravel().tolist() == [3.0 * t] * 2 == counter.prefix.ravel().tolist()
        counter.update(np.full((2, 1), 3.0))
    tree = BinaryTree(8, (8, 1), UnitNoise())
    tree.update(np.ones((8, 1)))
    assert tree.unpadded.sum() == 9 and tree.prefix.sum() == 8 + 3


@pytest.mark.parametrize("kind", COUNTERS.values())
def test_horizons_begin_with_1(kind):
    for wrong in (0, -3):
        with pytest.raises(ValueError, match=f"The horizon must be at least 1, not {wrong}"):
            kind(wrong, (1,), Drawn())
    counter = kind(1, (1,), Drawn())
    assert counter.prefix.tolist() == [0.0]
    counter.update(np.ones(1))
    with pytest.raises(HorizonError, match="The horizon of 1 rounds is used up; nothing more is released"):
        _ = counter.prefix
    with pytest.raises(HorizonError, match="The horizon of 1 rounds is used up; the item was not taken"):
        counter.update(np.ones(1))
    assert counter.items == 1 and counter.total.tolist() == [1.0]


# the factorisation


@pytest.mark.parametrize("largest", [1.0, 1e15])
def test_a_stream_moves_by_its_longest_column_and_the_slip_of_its_rounding(largest):
    f = Toeplitz.factors(50)
    assert f.size == 49 and Toeplitz.factors(1).size == Toeplitz.factors(2).size == 1
    error = f.rounding_error(largest)
    assert (2 * error > 1) == (largest > 1)  # so that either part of the slip counts once
    expected = 3 * (2.5 * f.sensitivity + (1 + 2 * error) * math.sqrt(49 * 7))
    assert Toeplitz.moved(50, 2.5, 3, 7, largest) == pytest.approx(expected, rel=1e-13)
    assert Toeplitz.refusal(Gaussian) is None
    assert '"toeplitz" counter is for Gaussian noise' in Toeplitz.refusal(Laplace)


@pytest.mark.parametrize(("shape", "ahead"), [((4,), 16), ((2048,), 16), ((2, 2048), 8), ((40_000,), 1), ((0,), 16)])
def test_noise_is_filtered_ahead_as_far_as_a_block_holds(shape, ahead):
    counter = Toeplitz(64, shape, SimulatedSource(Gaussian(1.0), np.random.default_rng(0)), norm=2)
    assert counter._ahead == ahead
    counter.update(np.zeros(shape))
    assert len(counter._coming) == ahead - 1
    assert Toeplitz(64, shape, UnitNoise(), norm=2)._ahead == 1  # which may look at the values


@pytest.mark.parametrize("size", [1, 2])
def test_the_score_of_a_stream_is_the_likelihood_ratio_of_what_was_released(size):
    """y = C x + z of deviation sigma for each coordinate, and the prefixes are B y."""
    make = simulated(PrivateSums, interval(-1, 1, size), 6, 2.0, delta=1e-3, counter="toeplitz")
    plan = make(np.random.default_rng(0), 1).plan
    rng = np.random.default_rng(1)
    first, second = rng.uniform(-1, 1, (2, 6, size))
    view, (B, C) = exact_view(make, first, second), Toeplitz.factors(6).matrices(5)
    prefixes = view.first(np.random.default_rng(2), 40)
    assert prefixes.shape == (40, 6 * size) and not prefixes[:, :size].any()
    step, sigma = plan.grid.step, plan.law.scale
    exact = []
    for row in prefixes:
        y = np.linalg.solve(B, row.reshape(6, size)[1:])
        far, near = (((y - C @ stream[:5] / step) ** 2).sum() for stream in (second, first))
        exact.append((far - near) / (2 * sigma**2))
    np.testing.assert_allclose(view.score(prefixes), exact, rtol=1e-6, atol=1e-6)
    short = exact_view(make, first[:3], second[:3])
    assert short.score(short.first(np.random.default_rng(2), 4)).shape == (4,)


# what runs show


def test_values_are_shown_by_their_bits_and_in_few_words():
    assert shown("x" * 120).text == "x" * 120 and shown("x" * 121).text == "x" * 120 + "..."
    assert shown(0.0).bits != shown(-0.0).bits and shown(1).bits != shown(True).bits != shown(1.0).bits
    assert shown(None).bits == ("NoneType", None) and shown(object()) is None and shown([1, object()]) is None
    assert shown({"a": 1}).bits != shown({"a": 2}).bits and shown((1, 2)).bits == shown([1, 2]).bits
    assert shown(np.array([object()])) is None and shown(np.arange(3)).bits != shown(np.arange(3.0)).bits
    value, said = outcome(lambda: print("hello") or 7)
    assert value == 7 and said[""].text == "7" and said[" (printed text)"].bits == "hello\n"
    error, said = outcome(lambda: 1 // 0)
    assert isinstance(error, ZeroDivisionError) and said[""].text.startswith("ZeroDivisionError: ")


def test_all_public_attributes_are_looked_at_and_no_methods():
    class Thing:
        seen, _hidden = 5, 6

        def method(self):
            raise AssertionError("no method is called")

        def summary(self):
            return "in short"

    found = looks(Thing())
    assert found["seen"].text == "5" and found["summary"].text == "in short"
    assert set(found) == {"repr", "str", "seen", "summary"}


def test_hooks_between_rounds_go_on_with_what_they_return():
    class Sums:
        prefix = 0

        def __init__(self, number):
            self.number = number

        def update(self, loss):
            self.number += 1

    made = []

    def hook(mechanism, round):
        made.append((mechanism.number, round))
        if round == 2:
            raise ValueError("nothing is saved")
        return Sums(100) if round == 1 else None

    _, told = run(lambda: Sums(0), np.zeros((3, 1)), 0, hook)
    assert made == [(1, 1), (101, 2), (102, 3)]
    steps = [(step.round, step.name) for step in told.steps]
    assert steps[:4] == [(0, "prefix"), (1, "update"), (1, "between"), (1, "prefix")]
    with pytest.raises(TypeError, match="not a int"):
        run(lambda: 3, np.zeros((3, 1)), 0)
