"""From runs to verdicts: the bound of an audit, the event it rests on, and the limits of what it takes."""

import inspect
import math

import numpy as np
import pytest
from scipy.stats import beta

from dpcvx.privacy.audit import AuditResult, audit, lower_bound
from dpcvx.privacy.audit.confidence import CONFIDENCE, epsilon_lower_bound, lower_probability, upper_probability
from dpcvx.privacy.audit.density import DensityCertificate
from dpcvx.privacy.audit.events import Event, best_event, choose_event


def bound(likely, unlikely, n, delta=0.0, confidence=CONFIDENCE):
    """ln of (lower - delta) over upper, by the quantiles of the beta law, half of the error probability for each."""
    alpha = (1 - confidence) / 2
    low = beta.ppf(alpha, likely, n - likely + 1) if likely else 0.0
    high = beta.ppf(1 - alpha, unlikely + 1, n - unlikely) if unlikely < n else 1.0
    return max(math.log(max((low - delta) / high, 1e-300)), 0.0)


@pytest.mark.parametrize("confidence", [0.9, CONFIDENCE])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_bound_is_that_of_both_quantiles(delta, confidence):
    n, some = 60, np.array([0, 1, 2, 17, 40, 58, 59, 60])
    likely, unlikely = (grid.ravel() for grid in np.meshgrid(some, some))
    found = epsilon_lower_bound(likely, unlikely, n, delta=delta, confidence=confidence)
    expected = [bound(a, b, n, delta, confidence) for a, b in zip(likely.tolist(), unlikely.tolist(), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    assert found.max() > 1 and (found == 0).any()
    assert epsilon_lower_bound(40, 3, n) == pytest.approx(bound(40, 3, n)) and CONFIDENCE == 1 - 1e-6
    assert float(lower_probability(1, 1, 0.1)) == pytest.approx(0.1) == 1 - float(upper_probability(0, 1, 0.1))
    assert lower_probability(0, 1, 0.1) == 0 and upper_probability(1, 1, 0.1) == 1


# events


def whole_best(first, second, delta, confidence):
    """The largest bound of any event above or below a number."""
    n, found = len(first), 0.0
    for t in np.concatenate([first, second]):
        above, below = ((first >= t).sum(), (second >= t).sum()), ((second <= t).sum(), (first <= t).sum())
        found = max(found, *(bound(int(a), int(b), n, delta, confidence) for a, b in (above, below)))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shift", [1.5, -1.5])
def test_the_chosen_event_has_the_largest_bound_of_all(seed, shift):
    rng = np.random.default_rng(seed)
    n, delta, confidence = 12, 0.05, 0.8
    first, second = np.round(rng.normal(size=n) + shift, 1), np.round(rng.standard_t(2, size=n) * 2, 1)
    event = choose_event(first, second, delta=delta, confidence=confidence)
    counts = event.count(first), event.count(second)
    likely, unlikely = counts if event.favours == "first" else counts[::-1]
    assert bound(likely, unlikely, n, delta, confidence) == pytest.approx(whole_best(first, second, delta, confidence))


def test_events_end_a_billionth_of_the_range_beyond_an_atom():
    first, second = np.repeat([1.0, 3.0], [30, 70]), np.repeat([-1.0, 1.0], [50, 50])
    event = choose_event(first, second)
    assert event.favours == "first" and event.threshold == pytest.approx(3 - 4e-9, abs=1e-12)
    assert (event.count(first), event.count(second)) == (70, 0)
    event = choose_event(-second, -first)
    assert event.favours == "second" and event.threshold == pytest.approx(-3 + 4e-9, abs=1e-12)
    even = choose_event(np.ones(100), np.zeros(100))  # neither is better: that of large scores is taken
    assert even.favours == "first" and even.threshold == pytest.approx(1 - 1e-9, abs=1e-12)
    assert choose_event(np.ones(9), np.ones(9)).count(np.ones(9)) == 9
    scores = np.array([0.9, 1.0, 1.0, 1.1])
    assert Event(1.0, "first").count(scores) == 3 == Event(1.0, "second").count(scores)


def test_the_best_score_is_the_one_whose_event_has_the_largest_bound():
    rng = np.random.default_rng(0)
    useless, good, fair = (
        rng.normal(size=(2, 200)),
        np.repeat([1.0, 0.0], 200).reshape(2, 200),
        rng.normal(size=(2, 200)),
    )
    fair[0] += 1
    at, event = best_event(*np.stack([useless, fair, good], axis=1))
    assert at == 2 and event.count(good[0]) == 200 and event.count(good[1]) == 0
    assert best_event(*np.stack([useless, good, fair], axis=1))[0] == 1
    # with delta = 1/2 only what is seen in more than half of the runs counts
    rare = np.stack([np.repeat([1.0, 0.0], [80, 120]), np.zeros(200)])
    often = np.stack([np.repeat([1.0, 0.0], [190, 10]), np.repeat([1.0, 0.0], [2, 198])])
    scores = np.stack([rare, often], axis=1)
    assert best_event(*scores, delta=0.5)[0] == 1 and best_event(*scores[:, ::-1], delta=0.5)[0] == 0
    assert choose_event(*rare) == choose_event(*rare, delta=0.0) == best_event(*rare[:, None])[1]


# verdicts


def rows(value):
    return lambda rng, n: np.full((n, 1), value)


@pytest.mark.parametrize("favours", ["first", "second"])
@pytest.mark.parametrize("samples", [1_000, 1_001])
def test_counts_are_those_of_the_second_half_on_the_stream_that_the_event_favours(favours, samples):
    parts = {"first": (0.7, 0.0), "second": (0.0, 0.7)}[favours]  # shares of an atom at 2 or at -2, the others at 0

    def stream_of(share, atom):
        return lambda rng, n: np.where(np.arange(n) < share * n, atom, 0.0)[:, None]

    samplers = [stream_of(share, atom) for share, atom in zip(parts, (2.0, -2.0), strict=True)]
    result = audit(*samplers, claim=1.0, delta=0.01, score=lambda y: y[:, 0], samples=samples, confidence=0.99)
    assert result.counts == (350, 0) and result.samples == 1_000 and result.delta == 0.01
    assert result.lower_bound == pytest.approx(bound(350, 0, 500, 0.01, 0.99)) and result.confidence == 0.99


@pytest.mark.parametrize("score", [None, lambda y: y[:, 0]])
def test_every_request_has_a_generator_of_its_own(score):
    given, drawn = [], []

    def release(value):
        return lambda rng, n: given.append(rng) or drawn.append(rng.random()) or value + np.arange(n)[:, None] % 3.0

    for seed in (0, 0, 1):
        audit(release(0), release(1), claim=1.0, score=score, bits=False, samples=400, seed=seed)
    requests = 6 if score is None else 4
    assert len(drawn) == len({id(rng) for rng in given}) == 3 * requests
    first, again, other = (drawn[k * requests : (k + 1) * requests] for k in range(3))
    assert first == again and len({*first, *other}) == 2 * requests  # the seed decides
    defaults = {name: each.default for name, each in inspect.signature(audit).parameters.items()}
    assert (defaults["samples"], defaults["seed"], defaults["delta"]) == (100_000, 0, 0.0)


def test_runs_are_made_in_parts_and_all_are_scored(monkeypatch):
    monkeypatch.setattr(lower_bound, "_CHUNK", 30)
    asked, scored = [], []

    def first(rng, n):
        asked.append(n)
        return np.ones((n, 2))

    result = audit(first, rows(0.0), claim=1.0, score=lambda y: scored.append(len(y)) or y[:, 0], samples=200)
    assert asked == [30, 30, 30, 10] * 2 and sum(scored) == 400 and result.counts == (100, 0)


def test_limits_of_arguments_belong_to_what_is_taken():
    taken = {"claim": 0.0, "delta": 0.0, "samples": 8, "score": lambda y: y[:, 0]}
    assert audit(rows(1.0), rows(0.0), **taken).samples == 8
    for wrong in ({"samples": 7}, {"claim": -1e-9}, {"delta": -1e-9}, {"confidence": 0.0}, {"confidence": 1.0}):
        with pytest.raises(ValueError, match=r"at least 8 runs|must be at least 0"):
            audit(rows(1.0), rows(0.0), **(taken | wrong))
    for sampler in (lambda rng, n: np.ones(n), lambda rng, n: np.ones((n + 1, 1)), lambda rng, n: np.ones((n, 1, 1))):
        with pytest.raises(ValueError, match="an array of 4 rows, one for each run"):
            audit(sampler, rows(0.0), **taken)


def test_a_claim_is_exceeded_above_it_alone_and_the_sentence_has_the_error_probability():
    result = AuditResult(1.5, 0.0, 1.5, 1 - 1e-6, 100, (5, 0))
    assert not result.exceeded and AuditResult(1.5, 0.0, 1.5 + 1e-12, 0.9, 100, (5, 0)).exceeded
    assert str(result) == (
        "The mechanism is consistent with the claim (epsilon = 1.5): epsilon >= 1.5000 except with probability "
        "1e-06, from 100 runs on each of two neighbouring streams."
    )
    assert "(epsilon = 1.5, delta = 0.01)" in str(AuditResult(1.5, 0.01, 1.5, 0.9, 100, (5, 0)))


@pytest.mark.parametrize("size", [0.3, 1.0, 40.0])
def test_a_density_exceeds_its_claim_by_more_than_a_billionth(size):
    within, beyond = size * (1 + 9e-10), size * (1 + 1.1e-9)
    assert not DensityCertificate(size, 0.0, size).exceeded and not DensityCertificate(size, 0.0, within).exceeded
    assert DensityCertificate(size, 0.0, beyond).exceeded
    assert not DensityCertificate(1.0, 1e-6, 1.0, size, within).exceeded
    assert DensityCertificate(1.0, 1e-6, 1.0, size, beyond).exceeded
    assert DensityCertificate(1.0, 1e-6, 1.1, size, within).exceeded
    assert not DensityCertificate(1.0, 0.0, 1.0, None, beyond).exceeded
    assert not DensityCertificate(1.0, 0.0, 1.0, size, None).exceeded
