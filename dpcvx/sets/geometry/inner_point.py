"""A strictly feasible point by our own path-following method, where an outside solver finds none.

Newton's method does not see the units of coordinates and cones, which an outside solver does. The set is enlarged until
a given point is well inside, b - A v + r d in K with r = 1 there, and r is then pushed down along the central path: as
soon as it is below 0, the point is strictly inside the set itself, since the direction d is.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts import DenseChart
from dpcvx.sets.geometry.newton import minimise

_REACH = 1e4  # how far from the start, in units of its size, a point is looked for
_STRENGTHS = 10.0 ** np.arange(0, 16)


def inner_point(conic: ConicSet, v: Array) -> Array | None:
    """A point of the set from which r < 0 was reached, starting at v on the equalities; None where it was not.

    Whether it is strictly inside beyond rounding is the caller's to judge.
    """
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
            return _pushed(enlarged, chart_at(np.append(v, 1.0)))
    except np.linalg.LinAlgError:
        return None


def _pushed(enlarged: ConicSet, chart: DenseChart) -> Array | None:
    """Along the central path of strength r + F until r < 0."""
    z = np.zeros(chart.size)
    covector = chart.pull(np.append(np.zeros(enlarged.columns - 1), 1.0))
    best: Array | None = None
    for strength in _STRENGTHS:
        found = minimise(chart, strength * covector, z, tolerance=1e-3)
        if not np.isfinite(found.z).all() or found.decrement > 1:
            break
        z = found.z
        lifted = chart.lifted(z)
        if lifted[-1] < 0:
            best = lifted[:-1]
            if lifted[-1] < -1 / strength:  # about as far below 0 as the path will go
                break
    return best
