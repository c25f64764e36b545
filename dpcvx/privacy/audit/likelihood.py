"""Exact log-likelihood ratios of two streams, where the law of the noise is known: the sharpest scores there are."""

from typing import Any

import numpy as np

from dpcvx.privacy.audit.evidence import Evidence, View
from dpcvx.privacy.audit.nodes import NodeEvidence
from dpcvx.privacy.audit.outputs import Maker
from dpcvx.privacy.audit.stream import StreamEvidence


def evidence_of(make: Maker, *, padding: bool = True) -> Evidence:
    """The noisy releases behind the prefixes of the counter that `make` builds."""
    plan = make(np.random.default_rng(0), 1).plan
    factors = plan.counter.factors(plan.horizon)
    return NodeEvidence(make, padding=padding) if factors is None else StreamEvidence(make, factors)


def exact_view(make: Maker, first: Any, second: Any) -> View:
    """The sharpest view of private sums on two streams (T, *shape): the noisy releases that differ."""
    return evidence_of(make).view(first, second)
