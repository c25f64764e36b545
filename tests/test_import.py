"""What `import dpcvx` loads beyond cvxpy: itself, and nothing that only some of its users need."""

import subprocess
import sys

import pytest

LOADED = """
import sys
import cvxpy
before = set(sys.modules)
import dpcvx
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
LAZY = {"dask", "distributed", "joblib", "mabwiser", "matplotlib", "networkx", "opendp", "pandas", "river"}


@pytest.fixture(scope="module")
def loaded():
    """The packages that the import adds to those of cvxpy, with warnings as errors."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOADED], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return set(finished.stdout.split())


def test_an_import_loads_nothing_that_few_need(loaded):
    assert not loaded & LAZY


def test_an_import_loads_the_package_and_what_its_sets_need(loaded):
    assert {name for name in loaded if name not in sys.stdlib_module_names} <= {
        "dpcvx",
        "cloudpickle",
        "highspy",
        "daqp",
        "clarabel",
    }
    assert "dpcvx" in loaded
