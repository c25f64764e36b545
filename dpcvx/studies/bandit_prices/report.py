"""All tables on the price of private bandits, as one report.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.text_table import TextTable
from dpcvx.studies.bandit_prices.contests import LEVEL, ContestRow, choices
from dpcvx.studies.bandit_prices.growth import EXPECTED, Growth, growth_over_rounds, growth_over_sizes
from dpcvx.studies.bandit_prices.tables import arm_rows, batch_rows, cube_rows, noise_rows

TITLES = {
    "noise": "(i) Noise on the number against the paper's noise on the vector, at the same true epsilon",
    "batches": "(ii) Batches against none",
    "arms": "(iii) Ten arms at their hardest gap, losses in [-1, 1]",
    "cube": "(iv) The cube by its corners and as a body; the idle player pays 0.5 per round",
}

_HEADER = ("", "", "batch", "epsilon", "regret", "interval", "per round", "idle", "bound")
_PRICES = TextTable("<<>>>>>>>", (1, 32, 5, 7, 8, 18, 9, 8, 8), between=" ", indent="  ", keys=2)
_GROWTH = TextTable("<>>><<", (44, 2, 10, 6, 20, 0), indent="    ")


@dataclass(frozen=True)
class Effort:
    """How much is measured: numbers of rounds, sizes and replicas.

    Attributes:
        noise, flows: rounds of (i), on ball and cube, and on flows.
        batches, epsilons: rounds and epsilons of (ii).
        arms: rounds of (iii).
        cube: rounds of (iv).
        growth: rounds to which exponents are fitted.
        sizes: rounds in which dimensions are compared.
        counts, dims, sides: numbers of arms, dimensions of cubes and simplices, sides of polygons.
        many, few: replicas; few in (i) and in comparisons of dimensions and sides, where rounds are slow.
    """

    noise: int
    flows: int
    batches: int
    epsilons: tuple[float, ...]
    arms: tuple[int, ...]
    cube: int
    growth: tuple[int, ...]
    sizes: int
    counts: tuple[int, ...]
    dims: tuple[int, ...]
    sides: tuple[int, ...]
    many: int
    few: int


QUICK = Effort(
    noise=2**12,
    flows=2**12,
    batches=2**11,
    epsilons=(1.0, 0.3, 0.1),
    arms=(2**12,),
    cube=2**14,
    growth=(2**10, 2**11, 2**12),
    sizes=2**10,
    counts=(4, 8, 16),
    dims=(2, 4),
    sides=(8, 32),
    many=24,
    few=6,
)
FULL = Effort(
    noise=2**16,
    flows=2**14,
    batches=2**14,
    epsilons=(1.0, 0.3, 0.1),
    arms=(2**14, 2**16),
    cube=10**5,
    growth=(2**12, 2**13, 2**14, 2**16),
    sizes=2**13,
    counts=(4, 8, 16, 32),
    dims=(2, 4, 8),
    sides=(8, 16, 32, 64),
    many=32,
    few=8,
)


@dataclass(frozen=True)
class Report:
    """What was measured.

    Attributes:
        tables: rows by the names of `TITLES`.
        growths: fitted exponents.
        replicas: many and few, see `Effort`.
        seconds: how long it took.
    """

    tables: dict[str, list[ContestRow]]
    growths: list[Growth]
    replicas: tuple[int, int]
    seconds: float

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each learner of each contest; `regret` is the mean of the replicas."""
        return data_frame(
            [
                {
                    "table": name,
                    **{key: value for key, value in asdict(row).items() if key != "regrets"},
                    "regret": row.mean,
                }
                for name, rows in self.tables.items()
                for row in rows
            ]
        )

    def __str__(self) -> str:
        many, few = self.replicas
        head = (
            f"The price of private bandits: simulation, {self.seconds:.0f} s, {LEVEL:.0%} intervals of mean regret.\n"
            f"{many} replicas, {few} in (i) and for the dimensions of (v); of several gaps, the worst counts.\n"
            "* is what private_bandit chooses; idle: always playing the center; bound: proved; both per round."
        )
        parts = [f"{TITLES[name]}\n{price_table(rows)}" for name, rows in self.tables.items()]
        return "\n\n".join([head, *parts, growth_table(self.growths)])


STAGES = len(TITLES) + 2  # of which `measure` tells


def measure(effort: Effort, tell: Callable[[str], None] = lambda stage: None) -> Report:
    """Play everything; `tell` is called with a few words at the beginning of each of the `STAGES`."""
    started = time.perf_counter()
    many, few = effort.many, effort.few
    tables: dict[str, list[ContestRow]] = {}
    plans: dict[str, Callable[[], list[ContestRow]]] = {
        "noise": lambda: noise_rows(effort.noise, effort.flows, few),
        "batches": lambda: batch_rows(effort.batches, effort.epsilons, many),
        "arms": lambda: arm_rows(effort.arms, many),
        "cube": lambda: cube_rows(effort.cube, many),
    }
    for name, play in plans.items():
        tell(f"{TITLES[name].split()[0]} {name}")
        tables[name] = play()
    tell("(v) growth in rounds")
    growths = [*growth_over_rounds(effort.growth, many)]
    tell("(v) growth in sizes")
    growths += growth_over_sizes(effort.sizes, effort.counts, effort.dims, effort.sides, many, few)
    return Report(tables, growths, (many, few), time.perf_counter() - started)


def price_table(rows: Iterable[ContestRow]) -> str:
    """Rows by contest, each with its interval, and how good the choice of `private_bandit` was."""
    contests: dict[str, list[ContestRow]] = {}
    for row in rows:
        contests.setdefault(row.contest, []).append(row)
    lines = [_PRICES.line(_HEADER)]
    for name, members in contests.items():
        lines.append(f"  {name}")
        lines += _PRICES.lines_under(_HEADER, [_cells(row) for row in members])
        lines += [
            f"    its choice costs {choice.ratio:.2f} times the best of these, {choice.best.learner}"
            for choice in choices(members)
        ]
    return "\n".join(lines)


def _cells(row: ContestRow) -> tuple[str, ...]:
    low, high = row.interval
    return (
        "*" if row.is_picked else "",
        row.learner,
        f"{row.batch}",
        f"{row.epsilon:.3g}",
        f"{row.mean:.0f}",
        f"[{low:.0f}, {high:.0f}]",
        f"{row.per_round:.3f}",
        f"{row.idle:.3f}",
        "none" if math.isinf(row.bound) else f"{row.bound:.3f}",
    )


def growth_table(growths: Iterable[Growth]) -> str:
    """Fitted exponents beside those of the theory."""
    lines = [
        "(v) Growth of the regret at the hardest gap: exponents, fitted and of the proved bound",
    ]
    rows = [("", "in", "divided by", "theory", "fitted", "mean regrets")]
    for growth in growths:
        means = ", ".join(f"{size:g}: {mean:.0f}" for size, mean in zip(growth.sizes, growth.means, strict=True))
        divided = f"sqrt(ln {growth.over})" if growth.is_divided else ""
        cells = (growth.name, growth.over, divided, f"{growth.theory:.2g}", f"{growth.exponent}", means)
        rows.append(cells)
    lines += _GROWTH.lines(rows)
    low, high = EXPECTED
    note = f"    In T, intervals should meet [{low}, {high}]; with batches they are only shown."
    return "\n".join([*lines, note])
