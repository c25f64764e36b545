"""Public networks beside the package, where they are."""

from pathlib import Path

import pytest

import decision_sets as ds

DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def sioux_falls() -> ds.Network:
    """Sioux Falls, with coordinates and demand."""
    files = [DATA / f"SiouxFalls_{part}.tntp" for part in ("net", "node", "trips")]
    if not all(file.exists() for file in files):
        pytest.skip("the files of Sioux Falls are not beside the package")
    return ds.read_network(*files)
