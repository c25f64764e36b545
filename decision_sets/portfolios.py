"""Portfolios: shares of a wealth, limited by asset, by sector and by what may be traded."""

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import finite_array, positive, whole
from decision_sets.named import named
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


@named("20,4")
def portfolio(
    n: int,
    sectors: int = 4,
    *,
    asset_cap: float = 0.25,
    sector_cap: float = 0.4,
    turnover: float = 0.6,
    held: ArrayLike | None = None,
) -> DecisionSet:
    """Portfolios {x >= 0, sum(x) = 1, x <= asset_cap, sum of a sector <= sector_cap, |x - held|_1 <= turnover}.

    The n assets are dealt to the sectors in turn. ``held`` is what one starts from, by default the same of each.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.portfolio(8, sectors=4)
        >>> best = X.argmin([-1, 0, 0, 0, 0, 0, 0, 0])  # as much of the first asset as is allowed
        >>> round(float(best[0]), 6)
        0.25
    """
    n = whole(n, "n", at_least=2)
    sectors = whole(sectors, "sectors", at_least=1, at_most=n)
    caps = positive(asset_cap, "asset_cap"), positive(sector_cap, "sector_cap"), positive(turnover, "turnover")
    now = np.full(n, 1 / n) if held is None else finite_array(held, "held", ndim=1)
    if now.shape != (n,):
        raise ArgumentError(f"held must have length {n}, but a vector of length {now.size} came.")
    x = cp.Variable(n, nonneg=True)
    sums = np.equal.outer(np.arange(sectors), np.arange(n) % sectors).astype(float)
    limits = [x <= caps[0], sums @ x <= caps[1], cp.norm1(x - now) <= caps[2]]
    return DecisionSet(x, [cp.sum(x) == 1, *limits], name=f"portfolio({n} assets, {sectors} sectors)")
