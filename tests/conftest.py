"""Settings of all tests: small matrices are faster on one thread, and of many cases only some are quick."""

import os
from collections import Counter

import pytest

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@pytest.hookimpl(tryfirst=True)  # before it is chosen which tests run
def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1
