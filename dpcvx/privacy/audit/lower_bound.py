"""The audit itself: run a mechanism many times on two neighbouring streams and bound its epsilon from below."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit.confidence import CONFIDENCE, epsilon_lower_bound
from dpcvx.privacy.audit.events import Score, choose_event
from dpcvx.privacy.audit.learned_score import learn_score
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
    samples: int = 100_000,
    confidence: float = CONFIDENCE,
    seed: int | np.random.Generator | None = 0,
) -> AuditResult:
    """A lower confidence bound on the epsilon of a mechanism or learner, from its outputs on two neighbouring streams.

    Half of the runs choose an event (and learn the score, where none is given), the other half bounds its
    probabilities, so the bound is valid whatever was chosen.

    Args:
        first, second: `(rng, n) -> (n, features)`, n independent runs on the first and on the second stream; see
            `prefix_outputs`, `node_outputs`, `learner_outputs`.
        claim: the epsilon that is claimed; delta: the delta.
        score: a function of the outputs that is large where the first stream is likelier, best the exact
            log-likelihood ratio (`exact_view`); by default it is learned.
        samples: runs on each stream.
        confidence: one-sided.
        seed: of the generators that are handed to the samplers; mechanisms that draw secure noise ignore them.
    """
    if samples < 8:
        raise ValueError(f"An audit needs at least 8 runs on each stream, not {samples}.")
    if not claim >= 0 or not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"claim must be at least 0, delta in [0, 1), confidence in (0, 1); {claim}, {delta}, {confidence} came."
        )
    rngs = stream(seed, "audit").spawn(6)
    half = samples // 2
    choosing = half
    if score is None:
        choosing = half // 2
        score = learn_score(_outputs(first, rngs[0], half - choosing), _outputs(second, rngs[1], half - choosing))
    event = choose_event(
        _scores(first, rngs[2], choosing, score),
        _scores(second, rngs[3], choosing, score),
        delta=delta,
        confidence=confidence,
    )
    counts = (event.count(_scores(first, rngs[4], half, score)), event.count(_scores(second, rngs[5], half, score)))
    likely, unlikely = counts if event.favours == "first" else counts[::-1]
    bound = float(epsilon_lower_bound(likely, unlikely, half, delta=delta, confidence=confidence))
    return AuditResult(float(claim), float(delta), bound, confidence, 2 * half, (likely, unlikely))


def _outputs(sampler: Sampler, rng: np.random.Generator, n: int) -> Array:
    outputs = np.asarray(sampler(rng, n), dtype=float)
    if outputs.ndim != 2 or len(outputs) != n:
        raise ValueError(
            f"A sampler must return an array of {n} rows, one for each run, not one of shape {outputs.shape}."
        )
    return outputs


def _scores(sampler: Sampler, rng: np.random.Generator, n: int, score: Score) -> Array:
    sizes = [min(_CHUNK, n - start) for start in range(0, n, _CHUNK)]
    return np.concatenate([np.asarray(score(_outputs(sampler, rng, size))) for size in sizes])
