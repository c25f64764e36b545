"""Coupling: an exact audit without sampling.

Run a secure mechanism on two neighbouring streams, with every noisy release replaced by one script of outputs that
ignores the values. If privacy rests on the releases alone, all else is the same in both runs, to the bit; and the
recorded values of the releases give the exact price of what differs between the streams:

    Laplace noise of scale b    the sum of |u - u'|_1/b is epsilon;
    K-norm noise of scale s     the sum of G(u - u')/(s r) is epsilon, see `k_norm`;
    Gaussian noise of sigma     the sum of |u - u'|_2^2/(2 sigma^2) is rho;
    selections and coins        the largest log-ratio of the probabilities is epsilon.

One script and one pair of streams refute a claim for certain, or not at all: it proves nothing beyond them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arguments import kind_of
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.audit.transcript import Between, Step, Transcript, run
from dpcvx.privacy.change import Change
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.noise import Price, Spent

_SLACK = 1e-11  # relative; scales are rounded up by less than that
_CONVERTED = 1e4  # rho above which the conversion is not asked any more


@dataclass(frozen=True)
class Claim:
    """What is promised: (epsilon, delta), and the rho behind it for Gaussian noise."""

    epsilon: float
    delta: float = 0.0
    rho: float | None = None

    def spent(self, price: Price) -> Spent:
        """A price at the delta of the claim; with its rho where the claim has one or there was Gaussian noise."""
        whole = price.rho + price.pure_rho
        if not price.rho:
            return Spent(price.pure, whole if self.rho is not None else None)
        return Spent(min(price.pure + self._converted(price.rho), self._converted(whole)), whole)

    def _converted(self, rho: float) -> float:
        if not rho:
            return 0.0
        return zcdp_epsilon(rho, self.delta) if self.delta and rho < _CONVERTED else float("inf")

    def exceeded(self, price: Price) -> bool:
        """Whether releases of that price break the promise; where it rests on rho, rho decides."""
        spent = self.spent(price)
        if self.rho is not None and spent.rho is not None:
            return spent.rho > self.rho * (1 + _SLACK)
        return spent.epsilon > self.epsilon * (1 + _SLACK)

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:.6g}" + (f", delta = {self.delta:.3g}" if self.delta else "")


@dataclass(frozen=True)
class Coupling:
    """What a coupling found.

    Attributes:
        claimed: what is promised, at the end.
        price: what all releases of the two runs cost, exactly; of the runs up to where they differ.
        differences: sentences on what the runs show that differs, of the first round in which anything does.
        overspent: a sentence on the first round after which the releases cost more than was promised, or None.
        releases: how many there were.
        rounds: of each stream.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> first, second = np.zeros((4, 2)), np.zeros((4, 2))
        >>> second[1] = [1, -1]  # half of the largest change there is
        >>> make = lambda: dpcvx.PrivateSums(decision_sets.loss_box(2), horizon=4, epsilon=2.0)
        >>> found = dpcvx.couple(make, first, second)
        >>> print(str(found).partition(": ")[0])
        The mechanism holds its claim (epsilon = 2)
        >>> round(found.price.epsilon, 6), found.releases
        (1.0, 4)
    """

    claimed: Claim
    price: Spent
    differences: tuple[str, ...]
    overspent: str | None
    releases: int
    rounds: int

    @property
    def holds(self) -> bool:
        """Whether the runs show the same, and the releases cost no more than is promised."""
        return not self.differences and self.overspent is None

    def __str__(self) -> str:
        if self.holds:
            return (
                f"The mechanism holds its claim ({self.claimed}): two runs of {self.rounds} rounds show the same to "
                f"the bit, and their {self.releases} releases cost {_words(self.price)}."
            )
        found = [*self.differences, *([self.overspent] if self.overspent else [])]
        return "\n".join([f"The mechanism BREAKS its claim ({self.claimed}):", *(f"  {one}" for one in found)])


def couple(
    make: Callable[[], Any],
    first: Any,
    second: Any,
    *,
    neighbours: str | Neighbours | None = None,
    rounds: int | None = None,
    between: Between | None = None,
    claim: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    seed: int = 0,
) -> Coupling:
    """Check a secure mechanism on two neighbouring streams of losses: exactly, and without sampling.

    Args:
        make: builds a new secure mechanism, called once for each stream: a learner (`act`, `update`; a bandit, by
            `sees = "value"`, gets <loss, action>), private sums (`update`, `prefix`), or a function of a whole stream.
            It must make everything anew. Draws of its own, that depend on no loss, must be the same in both runs: those
            of learners of this package are, and others take a fixed seed, or `dpcvx.privacy.noise.own_generator()`.
            Noise of a mechanism of yours comes from `release`, `select` and `toss` in `dpcvx.privacy.noise.drawing`.
        first, second: (T, *shape), which differ as the certificate says neighbours do.
        neighbours: "replace", "zero-out" or a `Change`, as which the streams are checked; by default that of the
            mechanism, where it has one.
        rounds: how many rounds of them to play; by default all.
        between: `(mechanism, round) -> mechanism`, called after each round, say to save it and load it again; None goes
            on with the same one.
        claim, delta, rho: what is claimed; by default what the mechanism's certificate says after each round.
        seed: of the script; another one leads a learner elsewhere.

    Raises:
        ArgumentError: where the streams are no neighbours, the mechanism is a simulation, or nothing is claimed.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> Y = decision_sets.loss_box(3)
        >>> first = np.full((8, 3), -1.0)
        >>> second = first.copy()
        >>> second[0] = 1.0  # the neighbour: one round's loss is another
        >>> found = dpcvx.couple(lambda: dpcvx.PrivateSums(Y, horizon=8, epsilon=1.0), first, second)
        >>> found.differences, found.overspent is None, round(found.price.epsilon, 6)
        ((), True, 1.0)
    """
    given = [np.asarray(stream, dtype=float) for stream in (first, second)]
    streams = [stream[:rounds] if stream.ndim else stream for stream in given]
    if streams[0].shape != streams[1].shape or not streams[0].ndim:
        raise ArgumentError(f"The streams must have one shape, not {streams[0].shape} and {streams[1].shape}.")
    if not callable(make):
        raise ArgumentError(f"make must be a function that makes a mechanism, not {kind_of(make)}; write lambda: ...")
    promised = None if claim is None else Claim(float(claim), float(delta), rho)
    (one, left), (other, right) = (run(make, stream, seed, between) for stream in streams)
    if one is other and not callable(one):
        raise ArgumentError("make returned the same mechanism twice; it must make a new one for each stream.")
    certificate = getattr(one, "certificate", None)
    by = getattr(one, "relation", getattr(certificate, "neighbours", None)) if neighbours is None else neighbours
    _check_neighbours(streams, certificate, by)
    end, differences = _compare(left, right)
    price, overspent, last = _priced(left, right, end, promised)
    return Coupling(
        last,
        last.spent(price),
        tuple(differences),
        overspent,
        len(left.releases),
        len(streams[0]),
    )


def _check_neighbours(streams: list[Array], certificate: Any, by: Any) -> None:
    """Refuse streams for which the certificate promises nothing, and streams that are the same."""
    flat = [stream.reshape(len(stream), -1) for stream in streams]
    apart = (flat[0] != flat[1]).any(axis=1)
    if not apart.any():
        raise ArgumentError("The two streams are the same; there is nothing to audit.")
    if certificate is not None and not np.isfinite(certificate.epsilon):
        raise ArgumentError("The mechanism claims nothing: it was made without an epsilon.")
    if certificate is not None and not certificate.secure:
        raise ArgumentError("A simulation keeps no claim; make the mechanism without a seed.")
    if certificate is not None and apart.sum() > certificate.rounds_per_person:
        raise ArgumentError(
            f"The streams differ in {apart.sum()} rounds; the certificate is for {certificate.rounds_per_person}."
        )
    if isinstance(by, Change):
        slip = 2.0**-50 * max(float(np.abs(stream).max()) for stream in streams)
        if not all(by.contains(streams[0][t] - streams[1][t], slip) for t in np.flatnonzero(apart)):
            raise ArgumentError("The streams differ by more than the declared change; nothing is promised about them.")
    elif (by if isinstance(by, str) else getattr(by, "key", "")) == "zero-out" and all(
        one[apart].any(axis=1).any() for one in flat
    ):
        raise ArgumentError('Under "zero-out" one of the two streams must be 0 wherever they differ.')


def _compare(left: Transcript, right: Transcript) -> tuple[int, list[str]]:
    """How many releases the runs share, and sentences on the first round in which they show anything different."""
    found: list[str] = []
    shared, place = 0, -1
    for one, other in zip(left.steps, right.steps, strict=False):
        if found and one.round != place:
            break
        place = one.round
        apart = _apart(one, other) + _released_apart(left, right, shared, one, other)
        found += [f"In round {place}, {words}" for words in apart]
        if not found:
            shared = one.releases
    if not found and len(left.steps) != len(right.steps):
        found = ["The runs have different numbers of steps."]
    flaws = [f"Release {n}: {release.flaw}." for n, release in enumerate(left.releases, 1) if release.flaw is not None]
    return shared if found else len(left.releases), list(dict.fromkeys(found)) + flaws[:1]


def _apart(one: Step, other: Step) -> list[str]:
    """What two steps show that differs."""
    found = []
    for name in {**one.shown, **other.shown}:
        a, b = one.shown.get(name), other.shown.get(name)
        if a is None or b is None:
            found.append(f"{name} is there in one run only: {' '.join(each.text for each in (a, b) if each)}.")
        elif a.bits != b.bits:
            found.append(f"{name} differs: {a.text} and {b.text}.")
    return found


def _released_apart(left: Transcript, right: Transcript, start: int, one: Step, other: Step) -> list[str]:
    """What is public about the releases of a step and differs."""
    found = []
    if one.releases != other.releases:
        found.append(f"{one.name} has made {one.releases} releases in one run and {other.releases} in the other.")
    pairs = zip(left.releases[start : one.releases], right.releases[start : other.releases], strict=False)
    for number, (a, b) in enumerate(pairs, start + 1):
        apart = "its kind" if type(a) is not type(b) else a.told_apart(b)
        if apart is not None:
            found.append(f"release {number} depends on the losses by more than its values: {apart}.")
    return found


def _priced(left: Transcript, right: Transcript, end: int, given: Claim | None) -> tuple[Price, str | None, Claim]:
    """What the first `end` releases cost, a sentence where that is ever more than was promised, and the promise."""
    price, counted, overspent = Price(), 0, None
    claim = given
    for step in left.steps:
        for a, b in zip(left.releases[counted : min(step.releases, end)], right.releases[counted:], strict=False):
            price += a.price(b)
            counted += 1
        if given is None and step.certificate is not None:
            c = step.certificate
            claim = Claim(c.epsilon, c.delta, c.rho)
            if overspent is None and claim.exceeded(price):
                overspent = _sentence(step.round, counted, claim, price)
    if claim is None:
        raise ArgumentError("The mechanism has no certificate; say by claim, and delta, what is claimed.")
    if overspent is None and claim.exceeded(price):
        overspent = _sentence(len(left.steps) and left.steps[-1].round, counted, claim, price)
    return price, overspent, claim


def _sentence(round: int, count: int, claim: Claim, price: Price) -> str:
    rho = "" if claim.rho is None else f", rho = {claim.rho:.6g}"
    return f"After round {round} the {count} releases cost {_words(claim.spent(price))}; claimed is {claim}{rho}."


def _words(spent: Spent) -> str:
    return f"epsilon = {spent.epsilon:.6g}" + ("" if spent.rho is None else f", rho = {spent.rho:.6g}")
