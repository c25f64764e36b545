"""Every sampler has the law of its formula, and OpenDP's draws have it too.

The draws are real ones, of the operating system: each test fails by chance with the probability in its line.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from dpcvx.arrays import Array
from dpcvx.privacy.noise import Gaussian, Laplace, SecureSource
from dpcvx.privacy.samplers import categorical, coins, exponential_coins, gaussian, geometric, laplace, uniform_below
from dpcvx.privacy.samplers.entropy import words
from dpcvx.privacy.samplers.floors import floors

ALARM = 1e-8  # of one chi-square; all of this file together stay below 1e-6


def chi_square(observed: Array, probabilities: Array) -> float:
    """The probability of a statistic at least as large, over cells that expect at least 20; the rest is one cell."""
    expected = probabilities * observed.sum()
    order = np.argsort(-expected)
    observed, expected = observed[order].astype(float), expected[order]
    kept = expected >= 20
    rest = (observed[~kept].sum(), max(observed.sum() - expected[kept].sum(), 0.0))
    cells = [*zip(observed[kept], expected[kept], strict=True)]
    if rest[1] >= 5:
        cells.append(rest)
    elif rest[0] > 60:
        return 0.0
    return float(chi2.sf(sum((o - e) ** 2 / e for o, e in cells), max(len(cells) - 1, 1)))


def fits(draws: Array, tail: "Tail", edges: Array) -> float:
    """Of draws whose P(z >= edge) is known: the probability of such a distance in the cells between the edges."""
    survival = np.concatenate([[1.0], tail(edges), [0.0]])
    cells = np.searchsorted(edges, draws, side="right")
    return chi_square(np.bincount(cells, minlength=edges.size + 1), -np.diff(survival))


class Tail:
    """P(z >= k) by the formula of a law."""

    def __init__(self, law: str, scale: float) -> None:
        self.law, self.scale = law, scale
        if law == "gaussian":
            reach = int(40 * scale) + 5
            z = np.arange(-reach, reach + 1)
            mass = np.exp(-((z / scale) ** 2) / 2)
            self.low, self.above = -reach, np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]) / mass.sum()

    def __call__(self, k: Array) -> Array:
        q = np.exp(-1 / self.scale)
        if self.law == "geometric":
            return np.where(k <= 0, 1.0, np.exp(-np.maximum(k, 0) / self.scale))
        if self.law == "laplace":
            right = np.exp(-np.abs(np.where(k > 0, k, 1 - k)) / self.scale) / (1 + q)
            return np.where(k > 0, right, 1 - right)
        return self.above[np.clip(k - self.low, 0, self.above.size - 1)]


def edges_of(scale: float) -> Array:
    """Cells with as much in the tails as in the middle: up to 12 scales out, one integer wide where that is enough."""
    far = np.concatenate([np.arange(0, 12, 0.25) * scale, np.arange(12)])
    return np.unique(np.rint(np.concatenate([-far, far])).astype(np.int64))


SAMPLERS = {"geometric": geometric, "laplace": laplace, "gaussian": gaussian}
CASES = [
    (law, scale)
    for law in SAMPLERS
    for scale in (0.05, 0.3, 1.0, 2.75, 100.5, 2.0**20 + 0.3, 6e10, 2.0**37 * 1.3, 2.0**52 * 1.7, 2.0**55)
    if law != "gaussian" or scale < 1e4
]


@pytest.mark.parametrize(("law", "scale"), CASES)
def test_draws_follow_the_formula(law: str, scale: float) -> None:
    draws = SAMPLERS[law](scale, (400, 500))
    assert draws.dtype == np.int64 and draws.shape == (400, 500)
    assert fits(draws.ravel(), Tail(law, scale), edges_of(scale)) > ALARM


@pytest.mark.parametrize("scale", [6e10, 2.0**40, 2.0**52 * 1.7])
def test_wide_gaussian_draws_follow_the_continuous_law(scale: float) -> None:
    from scipy.stats import norm  # the sums over integers and over reals differ by less than exp(-2 pi^2 scale^2)

    edges = edges_of(scale)
    survival = np.concatenate([[1.0], norm.sf((edges - 0.5) / scale), [0.0]])
    draws = gaussian(scale, 200_000)
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
    assert chi_square(counts, -np.diff(survival)) > ALARM


@pytest.mark.parametrize("sampler", [geometric, laplace, gaussian])
@pytest.mark.parametrize("scale", [1000.25, 6e10, 2.0**37 * 1.3, 2.0**52 * 1.7])
def test_low_bits_are_uniform_where_the_scale_is_wide(sampler, scale: float) -> None:  # type: ignore[no-untyped-def]
    # mod 8 the law is uniform up to 8/scale, far below what 2e5 draws can see for the geometric draws of scale 1000
    low = np.bincount(sampler(scale, 200_000) & 7, minlength=8)
    assert chi_square(low, np.full(8, 1 / 8)) > ALARM


@pytest.mark.parametrize("scale", [0.5, 3.3, 2.0**33 * 1.1])
@pytest.mark.parametrize("law", [Laplace, Gaussian])
def test_draws_of_opendp_have_the_same_law(law: type, scale: float) -> None:
    source = SecureSource(law(scale), 100)
    theirs = np.sort(source.draw(np.zeros((100, 100), dtype=np.int64)).ravel())
    ours = SAMPLERS[law.key](scale, 40_000)
    edges = np.unique(np.quantile(theirs, np.linspace(0.005, 0.995, 60)).astype(np.int64))
    counts = [np.bincount(np.searchsorted(edges, z, side="right"), minlength=edges.size + 1) for z in (theirs, ours)]
    pooled = sum(counts) / sum(c.sum() for c in counts)
    statistic = sum(((c - c.sum() * pooled) ** 2 / np.maximum(c.sum() * pooled, 1e-9)).sum() for c in counts)
    assert chi2.sf(statistic, edges.size) > ALARM


def test_uniform_draws_are_uniform_below_each_bound() -> None:
    for bound in (1, 2, 3, 7, 100):
        draws = uniform_below(np.full((100, 1000), bound))
        assert chi_square(np.bincount(draws.ravel(), minlength=bound), np.full(bound, 1 / bound)) > ALARM
    for bound in (2**63, 2**62 + 1, 3 * 2**61):  # rejection matters here: one word in two is drawn again
        draws = uniform_below(np.full(100_000, bound, dtype=np.uint64))
        cells = (draws / bound * 64).astype(int).clip(0, 63)
        assert draws.min() >= 0 and draws.max() < bound
        assert chi_square(np.bincount(cells, minlength=64), np.full(64, 1 / 64)) > ALARM


def test_uniform_draws_without_rejection_are_seen() -> None:
    bound = 3 * 2**61
    draws = np.frombuffer(np.random.default_rng(30).bytes(800_000), dtype=np.uint64) % np.uint64(bound)
    cells = (draws / bound * 64).astype(int).clip(0, 63)
    assert chi_square(np.bincount(cells, minlength=64), np.full(64, 1 / 64)) < 1e-100


def test_mixed_bounds_hold_entry_by_entry() -> None:
    bounds = np.random.default_rng(31).integers(1, 50, (50, 400))
    draws = uniform_below(bounds)
    assert draws.shape == bounds.shape and np.all(draws < bounds) and np.all(draws >= 0)
    for bound in (2, 49):
        some = draws[bounds == bound]
        assert chi_square(np.bincount(some, minlength=bound), np.full(bound, 1 / bound)) > ALARM


@pytest.mark.parametrize(("cost", "scale"), [(0, 1.0), (1, 10.0), (3, 2.5), (10, 1.7), (10**15, 2e14)])
def test_exponential_coins_show_heads_as_often_as_they_should(cost: int, scale: float) -> None:
    heads = int(exponential_coins(np.full(200_000, cost), scale).sum())
    p = np.exp(-cost / scale)
    assert chi_square(np.array([heads, 200_000 - heads]), np.array([p, 1 - p])) > ALARM


def test_coins_with_wide_bounds_are_decided_by_their_brackets() -> None:
    ones = np.ones(20_000)
    shown = coins(0 * ones, ones, lambda i, bits: (2**bits // 3, 2**bits // 3 + 1))
    heads = int(shown.sum())
    assert chi_square(np.array([heads, 20_000 - heads]), np.array([1 / 3, 2 / 3])) > ALARM


def test_coins_above_1_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.031 is above 1"):
        coins(np.array([0.5, 1.031]), np.array([0.5, 1.04]), lambda i, bits: (0, 1))
    with pytest.raises(ValueError, match="probability above 1"):
        coins(np.array([0.0]), np.array([2.0]), lambda i, bits: (2**bits + 1, 2**bits + 2))


@pytest.mark.parametrize(
    ("scores", "scale"), [([0, 1, 2, 5], 1.5), ([7], 1.0), ([3, 3, 3], 0.1), ([-4, 10**400, -2], 2.0)]
)
def test_candidates_are_drawn_by_their_weights(scores: list[int], scale: float) -> None:
    drawn = np.bincount([categorical(scores, scale) for _ in range(4000)], minlength=len(scores))
    weights = np.array([np.exp(-float(min(s - min(scores), 10**6)) / scale) for s in scores])
    assert chi_square(drawn, weights / weights.sum()) > ALARM


def test_a_race_of_equals_is_decided_in_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(categorical.__globals__, "words", lambda count: np.full(count, 2**60, dtype=np.uint64))
    drawn = np.bincount([categorical([0, 0, 0], 1.0) for _ in range(400)], minlength=3)
    assert chi_square(drawn, np.full(3, 1 / 3)) > ALARM


def test_rounded_floats_fail_the_test_of_the_law() -> None:
    """A Laplace draw of floating-point numbers, rounded: another law at small scales, and idle low bits at large."""
    rng = np.random.default_rng(32)
    rounded = np.rint(rng.laplace(0, 1.0, 200_000)).astype(np.int64)
    assert fits(rounded, Tail("laplace", 1.0), edges_of(1.0)) < 1e-100
    wide = np.rint(np.log(1 - rng.random(200_000)) * -(2.0**55)).astype(np.int64)
    assert chi_square(np.bincount(wide & 7, minlength=8), np.full(8, 1 / 8)) < 1e-100


def test_deep_tails_follow_the_formula() -> None:
    """Given that U < 2^-40, floor(-t ln U) has the tail 2^40 exp(-k/t), 28 scales out: exact arithmetic decides."""
    scale, count = 1000.25, 2000
    found = floors(words(count) >> np.uint64(41), 63, scale)
    start = 40 * np.log(2) * scale
    edges = np.unique(np.rint(start + np.arange(0, 4, 0.25) * scale)).astype(np.int64)[1:]
    survival = np.concatenate([[1.0], 2.0**40 * np.exp(-edges / scale), [0.0]])
    counts = np.bincount(np.searchsorted(edges, found, side="right"), minlength=edges.size + 1)
    assert found.min() >= np.floor(start) and chi_square(counts, -np.diff(survival)) > ALARM
