"""How much noise each counter puts on one prefix, as a table."""

import math

from dpcvx.experiments.text_table import TextTable
from dpcvx.privacy.counters import Toeplitz, codeword_shape, tree_levels
from dpcvx.privacy.counters.toeplitz import factors
from dpcvx.privacy.factorisation import prefix_lower_bound

_COLUMNS = TextTable("<<><>", (32, 9, 12, 16, 20), between=" ", indent="  ")


def rows(horizon: int) -> list[tuple[str, str, float, float | None]]:
    """(counter, unit, standard deviation of one coordinate of the worst prefix, ratio to the lower bound or None).

    Laplace noise in units of D1/epsilon, Gaussian noise in units of D2 times the multiplier sigma/D2 of one release.
    """
    levels, padding = tree_levels(horizon), horizon.bit_length() - 1
    zeros, ones = codeword_shape(horizon, False)
    balanced_zeros, balanced_ones = codeword_shape(horizon, True)
    laplace, gauss = "D1/epsilon", "D2 x multiplier"
    least = prefix_lower_bound(max(horizon - 1, 1))
    gaussian = [
        ("binary tree, padded", math.sqrt(levels * padding)),
        ("smooth tree, balanced", math.sqrt(balanced_zeros * balanced_ones)),
        ("Toeplitz square root (default)", factors(horizon).sensitivity * Toeplitz.row_norm(horizon)),
    ]
    return [
        ("binary tree, padded", laplace, levels * math.sqrt(2 * padding), None),
        ("smooth tree (default)", laplace, zeros * math.sqrt(2 * ones), None),
        *((name, gauss, value, value / least) for name, value in gaussian),
    ]


def table(horizon: int) -> str:
    """The rows as text."""
    lines = [("counter", "noise", "deviation", "unit", "over the lower bound")]
    for name, unit, value, ratio in rows(horizon):
        noise = "Laplace" if unit.startswith("D1") else "Gaussian"
        lines.append((name, noise, f"{value:.4g}", unit, "" if ratio is None else f"{ratio:.4f}"))
    title = f"Standard deviation of one coordinate of a prefix, horizon {horizon}"
    return "\n".join([title, *_COLUMNS.lines(lines)])
