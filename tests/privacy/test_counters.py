"""Private prefix sums: exact at zero noise, counts of noises and touches, one law over time, streaming = dense."""

import copy

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.stats import ks_2samp, kstest

from dpcvx import HorizonError, ProtocolError
from dpcvx.privacy.counters import (
    COUNTERS,
    BinaryTree,
    SmoothTree,
    Toeplitz,
    codeword_shape,
    default_counters,
    tree_levels,
)
from dpcvx.privacy.counters.factorisation import Factorisation
from dpcvx.privacy.counters.tree import Tree
from dpcvx.privacy.noise import Gaussian, Laplace, SecureSource, SimulatedSource, Source

TREES = [
    pytest.param(kind, {"norm": norm}, id=f"{kind.key}, norm {norm}")
    for kind in COUNTERS.values()
    if issubclass(kind, Tree)
    for norm in (1, 2)
]


class Zero(Source):
    secure = False

    def draw(self, values):
        return np.zeros(values.shape)


class Numbered(Source):
    """Every noise is its own unit vector, so that a prefix shows which noises it holds; node sums are recorded."""

    secure = False

    def __init__(self, size):
        self.size, self.drawn, self.values = size, 0, []

    def draw(self, values):
        noise = np.zeros((len(values), self.size))
        for row, value in zip(noise, values, strict=True):
            row[self.drawn] = 1
            self.drawn += 1
            self.values.append(value.copy())
        return noise


@pytest.mark.parametrize(("kind", "options"), TREES)
def test_prefixes_are_exact_without_noise_and_hold_the_promised_number_of_noises(kind, options):
    # two replicas of one counter: the first without noise, in the second every noise is 1
    class ZeroAndOne(Source):
        secure = False

        def draw(self, values):
            return np.broadcast_to([[0.0], [1.0]], values.shape).copy()

    for horizon in (*range(1, 70), 127, 128, 129, 255, 256, 257, 300):
        counter = kind(horizon, (2, 1), ZeroAndOne(), **options)
        total = 0
        for t in range(1, horizon + 1):
            assert counter.prefix.ravel().tolist() == [total, total + counter.terms]
            total += t
            counter.update(np.array([float(t)]))
        with pytest.raises(HorizonError):
            _ = counter.prefix
        with pytest.raises(HorizonError):
            counter.update(np.ones(1))


@pytest.mark.slow
def test_a_million_rounds_are_exact_without_noise():
    horizon = 2**20
    for kind, options in ((SmoothTree, {}), (BinaryTree, {})):
        counter = kind(horizon, (1,), Zero(), **options)
        one = np.ones(1)
        for _ in range(horizon - 1):
            counter.update(one)
        assert counter.prefix[0] == horizon - 1


@pytest.mark.parametrize(("kind", "options"), TREES)
@pytest.mark.parametrize("horizon", [2, 3, 4, 5, 7, 8, 9, 16, 20, 21, 33, 64])
def test_one_item_enters_as_many_used_nodes_as_the_proof_says_and_every_noise_is_drawn_once(kind, options, horizon):
    # item i is the i-th unit vector: a node's sum shows which items it holds
    class Recorder(Numbered):
        def draw(self, values):
            self.values.extend(v.copy() for v in values)
            self.drawn += len(values)
            return np.zeros(values.shape)

    source = Recorder(horizon)
    counter = kind(horizon, (horizon,), source, **options)
    for i in range(horizon):
        counter.update(np.eye(horizon)[i])
    nodes = np.array(source.values)
    touched = (nodes != 0).sum(axis=0)
    assert touched.max() <= counter.touches
    assert touched[0] == counter.touches or isinstance(counter, SmoothTree)
    # a node is released once: no two non-empty nodes are equal, and the prefixes are sums of them
    filled = nodes[nodes.any(axis=1)]
    assert len({row.tobytes() for row in filled}) == len(filled)
    if isinstance(counter, SmoothTree):
        assert touched.max() == counter.touches


@pytest.mark.parametrize(("kind", "options"), TREES)
def test_noises_of_a_prefix_are_different_draws_and_dropped_ones_never_return(kind, options):
    horizon, size = 40, 400
    source = Numbered(size)
    counter = kind(horizon, (size,), source, **options)
    last, gone = set(), set()
    for _ in range(horizon):
        if counter.items < horizon:
            noise = counter.prefix
            assert set(np.unique(noise)) <= {0.0, 1.0}
            held = set(np.flatnonzero(noise))
            assert len(held) == counter.terms
            assert not held & gone
            gone |= last - held
            last = held
            counter.update(np.zeros(size))


def test_counts_follow_the_formulas():
    expected = {2: (1, 1), 3: (2, 1), 4: (2, 2), 5: (3, 2), 8: (3, 3), 9: (4, 3), 1000: (10, 9), 1024: (10, 10)}
    for horizon, (levels, noises) in expected.items():
        assert (tree_levels(horizon), horizon.bit_length() - 1) == (levels, noises)
    assert codeword_shape(1024, False) == (3, 17)
    assert codeword_shape(2**14, False) == (4, 23)
    assert codeword_shape(2**20, False) == (6, 27)
    assert codeword_shape(1, False) == (0, 0)
    assert [Toeplitz.structure(horizon, 2) for horizon in (1, 2, 1000)] == [(0, 0), (1, 1), (1, 1)]


def test_more_than_one_counter_is_looked_at_only_where_either_may_win():
    assert default_counters(Laplace, 100) == [SmoothTree] and default_counters(Gaussian, 2**24) == [Toeplitz]
    assert default_counters(Gaussian, 2**24 + 1) == default_counters(Gaussian, 2, fine=True) == [Toeplitz, SmoothTree]
    assert default_counters(Gaussian, Toeplitz.largest_horizon) == [Toeplitz, SmoothTree]
    assert default_counters(Gaussian, Toeplitz.largest_horizon + 1) == [SmoothTree]


def _dense_prefix_law(kind, options, horizon):
    """The matrix whose rows say which unit noises each prefix holds."""
    size = 60 * horizon
    counter = kind(horizon, (size,), Numbered(size), **options)
    rows = []
    for _ in range(horizon):
        rows.append(counter.prefix)
        counter.update(np.zeros(size))
    return np.array(rows)


@pytest.mark.parametrize(("kind", "options"), TREES)
def test_noise_has_one_law_over_time(kind, options):
    # deterministic: each prefix is a sum of the same number of different independent noises
    rows = _dense_prefix_law(kind, options, 32)
    assert len(set(rows.sum(axis=1))) == 1
    assert rows.max() == 1
    # and by sampling: 20,000 replicas; the variance of a sum of k Laplace noises has relative deviation below
    # sqrt(5/20000) = 0.016, so 6 of them are exceeded with probability below 1e-8 for each of 32 times
    counter = kind(32, (20_000, 1), SimulatedSource(Laplace(1.0), np.random.default_rng(0)), **options)
    first = counter.prefix.copy()
    for _ in range(32):
        assert counter.prefix.var() == pytest.approx(2 * counter.terms, rel=0.1)
        counter.update(np.zeros(1))
        if counter.items in (13, 31):  # two samples of the same law: the p-value is below 1e-8 with probability 1e-8
            assert ks_2samp(first.ravel(), counter.prefix.ravel()).pvalue > 1e-8


@pytest.mark.parametrize("horizon", [2, 3, 5, 17, 64])
def test_streaming_toeplitz_equals_the_dense_matrices(horizon):
    f = Toeplitz.factors(horizon)
    m = horizon - 1
    powers = np.arange(m)
    B_entries = (f.omega[:, None] * f.theta[:, None] ** powers).sum(axis=0)
    C_entries = (f.gains[:, None] * f.poles[:, None] ** powers).sum(axis=0)
    B, C = (np.array([[e[i - j] if i >= j else 0 for j in range(m)] for i in range(m)]) for e in (B_entries, C_entries))
    assert np.allclose(B @ C, np.tril(np.ones((m, m))), atol=1e-10)

    class Fixed(Source):
        def __init__(self, secure):
            self.secure, self.z = secure, iter(np.random.default_rng(1).integers(-50, 50, m))

        def draw(self, values):
            return np.full(values.shape, next(self.z), dtype=values.dtype)

    x = 2 * np.random.default_rng(2).integers(-500, 500, m)  # even: halves would be rounded either way
    z = np.random.default_rng(1).integers(-50, 50, m)
    simulated, secure = Toeplitz(horizon, (1,), Fixed(False)), Toeplitz(horizon, (1,), Fixed(True))
    for t in range(m):
        simulated.update(np.array([float(x[t])]))
        secure.update(np.array([x[t]], dtype=np.int64))
        assert simulated.prefix[0] == pytest.approx((np.cumsum(x) + B @ z)[t], abs=1e-8)
        assert secure.prefix[0] == pytest.approx((B @ (np.rint(C @ x) + z))[t], abs=1e-6)
    assert float(f.sensitivity) >= np.linalg.norm(C_entries) * (1 - 1e-15)


def test_the_noise_of_each_prefix_has_the_length_of_its_row():
    rows = np.array(list(Toeplitz.factors(9).b_filter((8,)).steps(np.eye(8))))
    for items, row in enumerate(rows, 1):
        assert Toeplitz.deviation(9, 2, items) == pytest.approx(np.linalg.norm(row), rel=1e-9)
    assert Toeplitz.deviation(9, 2) == Toeplitz.deviation(9, 2, 8) and Toeplitz.deviation(9, 2, 0) == 0.0
    assert Toeplitz.deviation(1, 2) == 0.0 < Toeplitz.deviation(2, 2)
    product = Toeplitz.factors(9).sensitivity * Toeplitz.deviation(9, 2)
    assert Toeplitz.relative_deviation(9, 2) == pytest.approx(product, rel=1e-12)


def test_toeplitz_is_exact_without_noise_in_simulation():
    counter = Toeplitz(200, (1,), Zero())
    for t in range(199):
        assert counter.prefix[0] == t * (t + 1) / 2
        counter.update(np.array([t + 1.0]))


def test_secure_sums_are_integers_end_to_end():
    for law, kind in ((Laplace(7.0), SmoothTree), (Laplace(7.0), BinaryTree), (Gaussian(7.0), SmoothTree)):
        counter = kind(20, (3,), SecureSource(law, 3))
        for _ in range(19):
            counter.update(np.array([1, 2, 3]))
            assert counter.prefix.dtype == np.int64
            assert counter.total.dtype == np.int64
    with pytest.raises(TypeError, match="integers"):
        SecureSource(Laplace(7.0), 3).draw(np.zeros((1, 3)))


ALL = [
    *TREES,
    *(pytest.param(kind, {}, id=kind.key) for kind in COUNTERS.values() if issubclass(kind, Factorisation)),
]


def _simulated(kind, options, horizon=2**20, shape=(4,), seed=0):
    law = Gaussian(1.0) if kind is Toeplitz or options else Laplace(1.0)
    return kind(horizon, shape, SimulatedSource(law, np.random.default_rng(seed)), **options)


@pytest.mark.parametrize("source", ["simulated", "secure"])
@pytest.mark.parametrize(("kind", "options"), TREES)
def test_a_tree_holds_one_array_for_each_node_and_none_is_a_view_of_a_block(kind, options, source):
    law = Gaussian(9.0) if options else Laplace(9.0)
    made = SimulatedSource(law, np.random.default_rng(0)) if source == "simulated" else SecureSource(law, 4)
    counter = kind(2**20, (4,), made, **options)
    for _ in range(150):
        counter.update(np.ones(4, dtype=counter.dtype))
        held = [*counter._carried, *counter._covered, counter._noise, counter.total]
        assert len(held) <= 2 * (counter.terms + 1) + 2
        assert all(array.base is None and array.shape == (4,) for array in held)


def test_the_toeplitz_counter_holds_its_filter_and_few_steps_ahead():
    counter = _simulated(Toeplitz, {})
    for _ in range(500):
        counter.update(np.ones(4))
        assert counter._b.state.shape == (Toeplitz.factors(counter.horizon).theta.size, 4)
        assert len(counter._coming) < 16
        assert counter._noise.base.nbytes <= 16 * 4 * 8
    assert _simulated(Toeplitz, {}, shape=(100_000, 1))._ahead == 1  # large states are not multiplied


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_a_release_stays_the_same_until_the_next_item_whatever_is_done_with_it(kind, options):
    counter = _simulated(kind, options)
    for _ in range(40):
        counter.update(np.ones(4))
        first = counter.prefix
        kept = first.copy()
        first += 1e6
        assert np.array_equal(counter.prefix, kept)
    secure = Toeplitz(64, (2,), SecureSource(Gaussian(5.0), 2))
    secure.update(np.ones(2, dtype=np.int64))
    first = secure.prefix
    kept = first.copy()
    first += 1e6
    assert np.array_equal(secure.prefix, kept)


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_a_copy_of_a_simulation_goes_on_like_the_original(kind, options):
    counter = _simulated(kind, options)
    for _ in range(21):
        counter.update(np.ones(4))
    twin = copy.copy(counter)
    for _ in range(60):
        before = twin.prefix
        for one in (counter, twin):
            one.update(np.ones(4))
        assert np.array_equal(counter.prefix, twin.prefix)
        assert not np.any(twin.prefix == before + 1)  # new noise


@pytest.mark.parametrize(("kind", "options"), ALL)
def test_a_simulation_that_was_interrupted_releases_nothing_more(kind, options):
    counter = _simulated(kind, options)
    counter.update(np.ones(4))
    if kind is Toeplitz:
        counter._coming.clear()

    def interrupted(count, shape):
        raise KeyboardInterrupt

    counter.source.fresh = interrupted
    with pytest.raises(KeyboardInterrupt):
        counter.update(np.ones(4))
    with pytest.raises(ProtocolError, match="interrupted"):
        _ = counter.prefix
    with pytest.raises(ProtocolError, match="interrupted"):
        counter.update(np.ones(4))


def test_a_simulated_source_hands_out_every_draw_once():
    source = SimulatedSource(Laplace(1.0), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    handed = []
    for _ in range(600):
        shape = ((100,), (3,), (40, 30))[rng.choice(3, p=(0.7, 0.28, 0.02))]
        count = int(rng.integers(1, 30))
        noise = source.fresh(count, shape)
        assert noise.shape == (count, *shape)
        handed.append(noise.ravel().copy())
    everything = np.concatenate(handed)
    assert len(np.unique(everything)) == len(everything)  # of 1e6 draws of 53 bits two agree with probability 1e-4


@pytest.mark.parametrize("law", [Laplace(1.7), Gaussian(0.4)])
def test_simulated_noise_has_its_law(law):
    # a correct sampler has a p-value below 1e-6 with probability 1e-6
    noise = law.simulate(np.random.default_rng(5), (200, 500)).ravel()
    name = "laplace" if isinstance(law, Laplace) else "norm"
    assert kstest(noise / law.scale, name).pvalue > 1e-6
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 5 / np.sqrt(noise.size)  # probability below 1e-6


@pytest.mark.parametrize("horizon", [2, 17, 50])
def test_noise_filtered_ahead_is_the_dense_product(horizon):
    class Remembered(SimulatedSource):
        def fresh(self, count, shape):
            noise = super().fresh(count, shape)
            drawn.extend(noise.copy())
            return noise

    drawn = []
    counter = Toeplitz(horizon, (2, 3), Remembered(Gaussian(1.0), np.random.default_rng(0)))
    releases = []
    for _ in range(horizon - 1):
        counter.update(np.zeros(3))
        releases.append(counter.prefix)
    assert len(drawn) == horizon - 1  # no more than is released
    f = Toeplitz.factors(horizon)
    entries = (f.omega[:, None] * f.theta[:, None] ** np.arange(horizon - 1)).sum(axis=0)
    B = toeplitz(entries, np.zeros(horizon - 1))
    assert np.allclose(releases, np.einsum("ij,jab->iab", B, drawn), rtol=0, atol=1e-12)


def test_batches_are_independent_replicas():
    counter = SmoothTree(16, (5, 3), SimulatedSource(Laplace(1.0), np.random.default_rng(0)))
    counter.update(np.arange(3.0))
    prefix = counter.prefix
    assert prefix.shape == (5, 3)
    assert len(np.unique(prefix)) == 15
