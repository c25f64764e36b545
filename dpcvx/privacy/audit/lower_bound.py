"""The audit itself: run a mechanism many times on two neighbouring streams and bound its epsilon from below."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.audit.confidence import CONFIDENCE, epsilon_lower_bound
from dpcvx.privacy.audit.events import Score, best_event
from dpcvx.privacy.audit.learned_score import learn_score
from dpcvx.privacy.audit.low_bits import learn_low_bits
from dpcvx.streams import stream

Sampler = Callable[[np.random.Generator, int], Array]  # (rng, n) -> (n, features): n runs of the whole output sequence
_CHUNK = 2**15


@dataclass(frozen=True)
class AuditResult:
    """What an audit found: epsilon is at least `lower_bound`, except with probability 1 - confidence.

    An audit can refute a claim and cannot prove one: a lower bound below the claim says nothing against it.
    """

    claimed: float
    delta: float
    lower_bound: float
    confidence: float
    samples: int  # runs on each stream, both halves together
    counts: tuple[int, int]  # of the event in the second half, on the stream it favours and on the other

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.claimed

    def __str__(self) -> str:
        verdict = "EXCEEDS the claim" if self.exceeded else "is consistent with the claim"
        claim = f"epsilon = {self.claimed:.4g}" + (f", delta = {self.delta:.3g}" if self.delta else "")
        return (
            f"The mechanism {verdict} ({claim}): epsilon >= {self.lower_bound:.4f} except with probability "
            f"{1 - self.confidence:.1g}, from {self.samples} runs on each of two neighbouring streams."
        )


def audit(
    first: Sampler,
    second: Sampler,
    *,
    claim: float,
    delta: float = 0.0,
    score: Score | None = None,
    bits: bool = True,
    samples: int = 100_000,
    confidence: float = CONFIDENCE,
    seed: int | np.random.Generator | None = 0,
) -> AuditResult:
    """A lower confidence bound on the epsilon of a mechanism or learner, from its outputs on two neighbouring streams.

    Half of the runs choose an event (and learn scores, where none is given: one on the values of the outputs, one on
    their bits, which floating-point noise gives away), the other half bounds its probabilities, so the bound is valid
    whatever was chosen.

    Args:
        first, second: `(rng, n) -> (n, features)`, n independent runs on the first and on the second stream; see
            `prefix_outputs`, `node_outputs`, `learner_outputs`.
        claim: the epsilon that is claimed; delta: the delta.
        score: a function of the outputs that is large where the first stream is likelier, best the exact
            log-likelihood ratio (`exact_view`); by default scores are learned.
        bits: whether learned scores look at the bits of the outputs too. A simulation, whose noise is floating-point,
            does not keep its claim then; False asks about the law of its noise alone.
        samples: runs on each stream.
        confidence: one-sided.
        seed: of the generators that are handed to the samplers; mechanisms that draw secure noise ignore them.

    Example:
        >>> import dpcvx
        >>> def noisy(value):  # Laplace noise of scale 1 on a number that may move by 1: epsilon 1
        ...     return lambda rng, n: value + rng.laplace(0, 1, (n, 1))
        >>> dpcvx.audit(noisy(0), noisy(1), claim=1.0, bits=False, samples=20_000).exceeded
        False
        >>> dpcvx.audit(noisy(0), noisy(1), claim=0.5, bits=False, samples=20_000).exceeded  # a claim that is too good
        True
    """
    if samples < 8:
        raise ArgumentError(f"An audit needs at least 8 runs on each stream, not {samples}.")
    if not claim >= 0 or not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ArgumentError(
            f"claim must be at least 0, delta in [0, 1), confidence in (0, 1); {claim}, {delta}, {confidence} came."
        )
    rngs = stream(seed, "audit").spawn(6)
    half = samples // 2
    choosing, scores = half, [score] if score is not None else []
    if not scores:
        choosing = half // 2
        known = [_outputs(sampler, rng, half - choosing) for sampler, rng in ((first, rngs[0]), (second, rngs[1]))]
        scores = [learn_score(*known), *([learn_low_bits(*known)] if bits else [])]
    seen = [_scores(sampler, rng, choosing, scores) for sampler, rng in ((first, rngs[2]), (second, rngs[3]))]
    best, event = best_event(*seen, delta=delta, confidence=confidence)
    judged = [_scores(sampler, rng, half, [scores[best]])[0] for sampler, rng in ((first, rngs[4]), (second, rngs[5]))]
    counts = event.count(judged[0]), event.count(judged[1])
    likely, unlikely = counts if event.favours == "first" else counts[::-1]
    bound = float(epsilon_lower_bound(likely, unlikely, half, delta=delta, confidence=confidence))
    return AuditResult(float(claim), float(delta), bound, confidence, 2 * half, (likely, unlikely))


def _outputs(sampler: Sampler, rng: np.random.Generator, n: int) -> Array:
    outputs = np.asarray(sampler(rng, n), dtype=float)
    if outputs.ndim != 2 or len(outputs) != n:
        raise ArgumentError(
            f"A sampler must return an array of {n} rows, one for each run, not one of shape {outputs.shape}."
        )
    return outputs


def _scores(sampler: Sampler, rng: np.random.Generator, n: int, scores: list[Score]) -> Array:
    """(scores, n): every score of n runs."""
    parts = []
    for start in range(0, n, _CHUNK):
        outputs = _outputs(sampler, rng, min(_CHUNK, n - start))
        parts.append(np.stack([np.asarray(score(outputs)) for score in scores]))
    return np.hstack(parts)
