"""A strictly feasible point by our own path-following method, where an outside solver finds none.

Newton's method does not see the units of coordinates and cones, which an outside solver does. The set is enlarged until
a given point is well inside, b - A v + r d in K with r = 1 there, and r is then pushed down along the central path: as
soon as it is below 0, the point is strictly inside the set itself, since the direction d is. Where it stays above 0,
the gradient of the barrier on the path, one Newton step ahead, is a dual of the rows strictly inside the dual cones: a
normal that may prove why.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts import DenseChart
from dpcvx.sets.geometry.newton import Minimum, decrement, minimise

_REACH = 1e4  # how far from the start, in units of its size, a point is looked for
_STRENGTHS = 10.0 ** np.arange(0, 16)
_SETTLED = 30.0  # times that r must be above what the path can still take from it, to be known to stay above 0


@dataclass(frozen=True)
class PathEnd:
    """Where the path ended.

    Attributes:
        v: a point on the equalities with slack in the cones, or nearly so.
        short: r there; where it is below 0, v is strictly inside, though perhaps by no more than rounding.
        dual: of the rows of the set, equalities without.
    """

    v: Array
    short: float
    dual: Array


def inner_point(conic: ConicSet, v: Array) -> PathEnd | None:
    """The end of the path that starts at v on the equalities; None where it could not be followed at all."""
    if conic.columns + 1 > DENSE_LIMIT:
        return None
    k = conic.columns
    slack = conic.slack(v)
    unit = 2 * max(1.0, float(np.abs(slack).max(initial=0.0)))
    push = unit * conic.cones.identity() - slack  # so that the slack at r = 1 is that of the identity
    reach = _REACH * max(1.0, float(np.abs(v).max(initial=0.0)))
    box = sparse.hstack([sparse.vstack([sparse.eye_array(k), -sparse.eye_array(k)]), sparse.csr_array((2 * k, 1))])
    ends = sparse.csr_array(np.append(np.zeros(k), 1.0)[None, :])
    A = sparse.vstack([sparse.hstack([conic.A, sparse.csr_array(-push[:, None])]), box, ends, -ends])
    b = np.concatenate([conic.b, reach + np.concatenate([v, -v]), [2.0, 1.0]])
    enlarged = replace(
        conic,
        A=sparse.csr_array(A),
        b=b,
        cones=Product([*conic.cones.cones, Nonnegative(2 * k + 2)]),
        source=np.concatenate([conic.source, np.full(2 * k + 2, -1)]),
        E=sparse.csr_array(sparse.hstack([conic.E, sparse.csr_array((conic.E.shape[0], 1))])),
        P=sparse.csr_array(sparse.eye_array(k + 1)),
        offset=np.zeros(k + 1),
    )
    chart_at = DenseChart.fit(enlarged)
    assert chart_at is not None
    try:
        with np.errstate(all="ignore"):
            return _pushed(enlarged, chart_at(np.append(v, 1.0)), len(conic.b))
    except np.linalg.LinAlgError:
        return None


def _pushed(enlarged: ConicSet, chart: DenseChart, m: int) -> PathEnd:
    """Along the central path of strength r + F until r < 0, or until it is settled that r stays above 0.

    On the path r is at most nu / strength above its least value. Duals are best in the middle of it: early on the far
    box and the barrier have a share in them, later rounding has.

    Args:
        enlarged: the set with r as its last coordinate.
        chart: of it, at the start.
        m: the rows of the set itself, the first ones.
    """
    covector = chart.pull(np.append(np.zeros(enlarged.columns - 1), 1.0))
    directions = enlarged.A[:m, :-1] @ chart.W[:-1]
    directions /= np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
    z = np.zeros(chart.size)
    least, best, end = np.inf, np.zeros(m), chart.v0
    for strength in _STRENGTHS:
        found = minimise(chart, strength * covector, z, tolerance=1e-3)
        if not np.isfinite(found.z).all() or found.decrement > 1:
            break
        z = found.z
        lifted = chart.lifted(z)
        if end[-1] < 0 <= lifted[-1]:
            continue
        end = lifted
        dual = _dual(enlarged, chart, found, strength * covector)[:m]
        changing = float(np.abs(dual @ directions).max(initial=0.0) / np.abs(dual).max(initial=np.finfo(float).tiny))
        off = changing + abs(float(lifted[-1]))
        if off < least:
            least, best = off, dual
        if lifted[-1] < -1 / strength or lifted[-1] > _SETTLED * enlarged.cones.nu / strength:
            break
    return PathEnd(end[:-1], float(end[-1]), best)


def _dual(enlarged: ConicSet, chart: DenseChart, found: Minimum, covector: Array) -> Array:
    """-F'(s) - F''(s) ds for the Newton step ds: on the equations of the dual, and inside its cones."""
    slack = enlarged.slack(chart.lifted(found.z))
    step, _ = decrement(found.factor, chart.joint(covector))
    ds = -(enlarged.A @ (chart.W @ step))
    return np.asarray(-enlarged.cones.gradient(slack) - enlarged.cones.hessian_product(slack, ds))
