"""The table of the audit: every shipped mechanism with claimed, exact, audited and coupled epsilon, then broken ones.

"The paper" is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.progress import progress_bar
from dpcvx.experiments.text_table import TextTable
from dpcvx.privacy.audit import bits
from dpcvx.privacy.audit.coupling import Coupling, couple
from dpcvx.privacy.audit.density import certify
from dpcvx.privacy.audit.likelihood import exact_view
from dpcvx.privacy.audit.lower_bound import AuditResult, audit
from dpcvx.privacy.audit.outputs import Maker, prefix_outputs
from dpcvx.privacy.audit.padded_tree import padded_tree_ratio
from dpcvx.privacy.audit.worst_case import worst_neighbours
from dpcvx.privacy.change import Change
from dpcvx.privacy.counters import COUNTERS, Counter, Toeplitz, default_counters
from dpcvx.privacy.neighbours import RELATIONS, relation_for
from dpcvx.privacy.noise import LAWS, SAMPLERS, Laplace, Law
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.sets import LossSet
from dpcvx.studies import broken_mechanisms as broken
from dpcvx.studies.coupled_mechanisms import changed_mechanisms, coupled_mechanisms, declared_changes

EPSILON = 2.0  # of the pure mechanisms
GAUSSIAN = (4.0, 1e-3)  # sampling has power where mu is not small
_VERDICTS = {(True, False): "holds", (True, True): "EXCEEDED", (False, True): "flagged", (False, False): "MISSED"}
_ALIGNED = "<>>>><<"
_OTHERS = 54  # rows that are no cases, about: how far the audit is needs no more
_FAR = 50.0  # scales at which the density of the padded tree is compared


@dataclass(frozen=True)
class Row:
    """One mechanism: what it claims, what is exact, what sampling found."""

    name: str
    shipped: bool
    claimed: float
    exact: float | None
    audited: float | None
    exceeded: bool
    note: str = ""
    coupled: float | None = None  # infinite where two coupled runs show different things

    @property
    def as_expected(self) -> bool:
        """Shipped mechanisms must hold their claim, broken ones must be flagged."""
        return self.exceeded != self.shipped

    def cells(self) -> tuple[str, ...]:
        verdict = _VERDICTS[self.shipped, self.exceeded]
        found = _number(self.exact), _number(self.audited), _number(self.coupled)
        return self.name, f"{self.claimed:.3f}", *found, verdict, self.note


@dataclass(frozen=True)
class Case:
    """A mechanism of the table: how to make it, on which streams it is audited, and how."""

    name: str
    make: Maker
    streams: tuple[Array, Array]
    claim: float
    delta: float = 0.0
    shipped: bool = True
    samples: int = 0  # 0: certificate only
    learned: bool = False  # by learned events on the (unpadded) prefixes instead of the exact likelihood ratio
    note: str = ""
    secure: Callable[[], PrivateSums] | None = None  # makes its secure form, which is coupled

    def row(self, seed: int) -> Row:
        certificate = certify(self.make, claim=self.claim, delta=self.delta)
        result = self._sampled(seed) if self.samples else None
        coupling = None if self.secure is None else couple(self.secure, *self.streams, seed=seed)
        exceeded = certificate.exceeded or (result is not None and result.exceeded)
        exceeded = exceeded or (coupling is not None and not coupling.holds)
        note = self.note
        if certificate.rho is not None and certificate.claimed_rho is not None and not self.shipped:
            note = f"rho {certificate.rho:.5f}, claimed {certificate.claimed_rho:.5f}"
        bound = None if result is None else result.lower_bound
        cost = None if coupling is None else _cost(coupling)
        return Row(self.name, self.shipped, self.claim, certificate.epsilon, bound, exceeded, note, cost)

    def _sampled(self, seed: int) -> AuditResult:
        if self.learned:
            first, second = (prefix_outputs(self.make, stream, padding=False) for stream in self.streams)
            score = None
        else:
            view = exact_view(self.make, *self.streams)
            first, second, score = view.first, view.second, view.score
        run = partial(audit, first, second, claim=self.claim, delta=self.delta, samples=self.samples, seed=seed)
        return run(score=score, bits=False)  # of simulations too, whose bits keep no claim


def interval(lower: float, upper: float, size: int = 1) -> LossSet:
    """The box [lower, upper]^size."""
    variable = cp.Variable(size)
    return LossSet(variable, [variable >= lower, variable <= upper], name=f"[{lower:g}, {upper:g}]^{size}")


def simulated(kind: type[PrivateSums], *arguments: Any, **settings: Any) -> Maker:
    """`make(rng, n)` of a simulation."""

    def make(rng: np.random.Generator, n: int) -> PrivateSums:
        return kind(*arguments, seed=rng, replicas=n, **settings)

    return make


def unseeded(kind: type[PrivateSums], *arguments: Any, **settings: Any) -> Callable[[], PrivateSums]:
    """`make()` of secure sums, for a coupling."""
    return lambda: kind(*arguments, **settings)


def secure(*arguments: Any, **settings: Any) -> Maker:
    """`make(rng, n)` of secure sums, which take neither."""

    def make(rng: np.random.Generator, n: int) -> PrivateSums:
        return PrivateSums(*arguments, **settings)

    return make


def shipped_cases(samples: int, secure_samples: int) -> Iterator[Case]:
    """Every counter with every law that it goes with, under both neighbouring relations, simulated and secure.

    Then the usual counter under every kind of declared change; as learners they are coupled further below.
    """
    for neighbours in RELATIONS:
        for law in LAWS.values():
            for counter in COUNTERS.values():
                if counter.refusal(law) is None:
                    for horizon in counter.audited_horizons(law):
                        yield from _shipped(counter, law, horizon, neighbours, samples, secure_samples)
    for name, change in declared_changes(Change).items():
        counter = default_counters(Laplace, 8)[0]
        cases = _shipped(counter, Laplace, 8, change, samples, secure_samples // 4, size=change.size)
        yield from (replace(case, name=case.name.replace("change", name)) for case in cases)


def _shipped(
    counter: type[Counter],
    law: type[Law],
    horizon: int,
    neighbours: str | Change,
    samples: int,
    secure_samples: int,
    size: int = 1,
) -> Iterator[Case]:
    loss_set = interval(-1, 1, 2 if law.joint else size)
    epsilon, delta = (EPSILON, 0.0) if law.accepts(0.0) else GAUSSIAN
    streams = worst_neighbours(loss_set, horizon, neighbours, norm=law.norm)
    settings = {"delta": delta, "counter": counter.key, "noise": law.key, "neighbours": neighbours}
    name = f"{counter.key}, {law.key}, T = {horizon}, {relation_for(neighbours, loss_set).key}"
    make = simulated(PrivateSums, loss_set, horizon, epsilon, **settings)
    yield Case(f"{name}, simulated", make, streams, epsilon, delta, samples=samples)
    if law.exact_sampler:
        for sampler in SAMPLERS:
            again = unseeded(PrivateSums, loss_set, horizon, epsilon, sampler=sampler, **settings)
            make = secure(loss_set, horizon, epsilon, sampler=sampler, **settings)
            title = f"{name}, secure, {sampler}"
            yield Case(title, make, streams, epsilon, delta, samples=secure_samples, secure=again)


def broken_cases(samples: int) -> Iterator[Case]:
    """The broken counters; the attacks on arithmetic are rows of their own."""
    box, unit = interval(-1, 1), interval(0, 1)
    paper = {"counter": "tree", "calibration": "paper"}
    by_nodes: tuple[tuple[str, type[PrivateSums], LossSet, int, dict[str, str]], ...] = (
        ("half the noise", broken.HalfTheNoise, box, 8, {"counter": "tree"}),
        ("half the K-norm noise", broken.HalfTheNoise, interval(-1, 1, 3), 8, {"noise": "knorm"}),
        ("radius instead of diameter", broken.RadiusForDiameter, box, 8, {"counter": "tree"}),
        ("natural logarithm", broken.NaturalLogarithm, unit, 8, {"counter": "tree"}),
        ("missing ceiling at T = 5", broken.MissingCeiling, unit, 5, {"counter": "tree"}),
        ("L_T released, one level too few", broken.LastPrefixReleased, unit, 8, {"counter": "tree"}),
        ("the paper's scale under replace", broken.PaperUnderReplace, box, 8, paper),
        ("smooth tree with scale z - 1", broken.OneZeroTooFew, box, 64, {"counter": "smooth"}),
        ("smooth tree, codewords out of order", broken.CodewordsOutOfOrder, box, 64, {"counter": "smooth"}),
    )
    for name, kind, loss_set, horizon, settings in by_nodes:
        make = simulated(kind, loss_set, horizon, EPSILON, **settings)
        again = unseeded(kind, loss_set, horizon, EPSILON, **settings)
        streams = worst_neighbours(loss_set, horizon)
        yield Case(name, make, streams, EPSILON, shipped=False, samples=samples, secure=again)
    by_prefixes: tuple[tuple[str, type[PrivateSums], str, int], ...] = (
        ("a node's noise reused", broken.NodeNoiseReused, "tree", 2),
        ("smooth tree, dropped noise reused", broken.DroppedNoiseReused, "smooth", 7),
    )
    for name, kind, counter, item in by_prefixes:
        streams, again = worst_neighbours(box, 8, item=item), unseeded(kind, box, 8, EPSILON, counter=counter)
        by_learning = partial(Case, shipped=False, samples=samples // 10, learned=True, note="learned", secure=again)
        yield by_learning(name, simulated(kind, box, 8, EPSILON, counter=counter), streams, EPSILON)
    epsilon, delta = GAUSSIAN
    make = simulated(broken.HalfTheNoise, box, 8, epsilon, delta=delta, counter="toeplitz")
    again = unseeded(broken.HalfTheNoise, box, 8, epsilon, delta=delta, counter="toeplitz")
    streams = worst_neighbours(box, 8, norm=2)
    yield Case("Toeplitz with sigma/2", make, streams, epsilon, delta, False, samples, secure=again)
    long = 2**20
    make = simulated(broken.SensitivityOfB, box, long, epsilon, delta=delta, counter="toeplitz")
    empty = np.zeros((0, 1))
    yield Case("Toeplitz, norm of B for C, T = 2^20", make, (empty, empty), epsilon, delta, False)


def padded_rows() -> Iterator[Row]:
    """The padded tree of the paper by its density at (c, ..., c), with the corrected and with the paper's scale."""
    for name, shipped, levels in (("corrected scale", True, 6.0), ("the paper's scale", False, 3.0)):
        scale = levels / EPSILON  # levels = 3 times the diameter 2, or the radius 1
        ratio = padded_tree_ratio(1.0, -1.0, scale, _FAR * scale)
        title = f"padded tree, T = 8, {name}"
        yield Row(title, shipped, EPSILON, ratio, None, ratio > EPSILON, f"density at c = {_FAR:g} scales")


def attack_rows(samples: int, secure_samples: int, seed: int) -> Iterator[Row]:
    """The attacks on arithmetic, on wrong mechanisms and on the shipped ones."""
    run = partial(audit, claim=1.0, seed=seed)
    result = run(
        broken.float_releases(0.0, 1.0),
        broken.float_releases(1.0, 1.0),
        score=bits.bits_score(0.0, 1.0, 1.0),
        samples=samples,
    )
    yield _attacked("plain float Laplace noise", False, result)
    unit = interval(0, 1)
    for sampler in SAMPLERS:
        make = secure(unit, 2, 1.0, counter="smooth", sampler=sampler)
        step = make(np.random.default_rng(0), 1).plan.grid.step
        first, second = (_last(prefix_outputs(make, np.full((2, 1), value))) for value in (0.0, 1.0))
        result = run(first, second, score=bits.grid_score(0.0, 1 / step, 1.0), samples=secure_samples)
        yield _attacked(f"the same attack on secure noise, {sampler}", True, result)
    wrong = broken.wrong_toeplitz_releases(0, 8, 1e6), broken.wrong_toeplitz_releases(1000, 8, 1e6)
    weight = Toeplitz.factors(8).second_entry
    result = run(*wrong, score=bits.fraction_score(0, 1000, weight), samples=secure_samples)
    yield _attacked("Toeplitz released as A x + B z", False, result)
    streams = np.zeros((2, 2, 1))
    streams[1, 0] = 1.0
    for sampler in SAMPLERS:
        make = secure(unit, 8, 1.0, delta=1e-3, counter="toeplitz", sampler=sampler)
        units = int(1 / make(np.random.default_rng(0), 1).plan.grid.step)
        first, second = (_after_empty(prefix_outputs(make, stream)) for stream in streams)
        result = run(first, second, score=bits.fraction_score(0, units, weight), samples=secure_samples, delta=1e-3)
        yield _attacked(f"the same attack on the secure Toeplitz, {sampler}", True, result)


def coupled_rows(seed: int) -> Iterator[Row]:
    """What is only coupled: learners, and mechanisms that leak where sampling has no power."""
    for each in (*coupled_mechanisms(), *changed_mechanisms()):
        found = [couple(each.make, *pair, seed=seed) for pair in each.streams]
        coupling = max(found, key=lambda one: (not one.holds, _cost(one)))  # the worst of them
        note = coupling.differences[0].split(" differs")[0] if coupling.differences else ""
        claim, exceeded = coupling.claimed.epsilon, not coupling.holds
        yield Row(each.name, each.shipped, claim, None, None, exceeded, note, _cost(coupling))


def _attacked(name: str, shipped: bool, result: AuditResult) -> Row:
    note = "" if shipped else f"{result.counts[0] / (result.samples // 2):.0%} identified"
    return Row(name, shipped, result.claimed, None, result.lower_bound, result.exceeded, note)


def _last(sampler: Callable[[np.random.Generator, int], Array]) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: sampler(rng, n)[:, -1:]


def _after_empty(sampler: Callable[[np.random.Generator, int], Array]) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: sampler(rng, n)[:, 1:]


def audit_rows(quick: bool = False, seed: int = 0, *, progress: bool | None = False) -> list[Row]:
    """All rows of the table.

    Args:
        quick: fewer runs; less power and the same validity.
        seed: of the simulated mechanisms.
        progress: whether to show progress on stderr; None shows it on a terminal.
    """
    samples, secure_samples = (100_000, 8_000) if quick else (400_000, 40_000)
    cases = [*shipped_cases(samples, secure_samples), *broken_cases(max(samples, 200_000))]
    others = [padded_rows(), attack_rows(samples, secure_samples, seed), coupled_rows(seed)]
    rows = []
    with progress_bar(len(cases) + _OTHERS, progress) as bar:
        for row in chain((case.row(seed + index) for index, case in enumerate(cases)), *others):
            rows.append(row)
            bar.tell(row.name, len(rows))
    return rows


def to_pandas(rows: list[Row]) -> Any:
    """The rows as a pandas DataFrame, with the verdict of each."""
    return data_frame([{**asdict(row), "as_expected": row.as_expected} for row in rows])


def render(rows: list[Row]) -> str:
    """The table as text: shipped mechanisms first, then the broken ones."""
    head = ("mechanism", "claimed", "exact", "audited", "coupled", "verdict", "")
    cells: dict[bool, list[tuple[str, ...]]] = {True: [head], False: [head]}
    for row in rows:
        cells[row.shipped].append(row.cells())
    columns = TextTable.fitting(cells[True] + cells[False], _ALIGNED)

    def lines(part: list[tuple[str, ...]]) -> str:
        return "\n".join(line.rstrip() for line in columns.lines(part))

    wrong = [row.name for row in rows if not row.as_expected]
    summary = "Every shipped mechanism holds its claim and every broken one is flagged."
    if wrong:
        summary = f"NOT as it must be: {'; '.join(wrong)}."
    return (
        f"Shipped mechanisms: audited must not exceed claimed\n{lines(cells[True])}\n\n"
        f"Deliberately broken mechanisms: each must be flagged\n{lines(cells[False])}\n\n"
        "exact: the epsilon that the counter has, from its nodes or its density, without sampling; audited: a lower "
        "confidence bound from sampling (one-sided confidence 1 - 1e-6); coupled: what the releases of two runs on one "
        f"script cost exactly, inf where the runs show anything else that differs.\n{summary}"
    )


def _cost(coupling: Coupling) -> float:
    """The number in the column of couplings."""
    return float("inf") if coupling.differences else coupling.price.epsilon


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
