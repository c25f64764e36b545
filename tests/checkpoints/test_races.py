"""Real processes that reach for one checkpoint at the same instant: one of them releases, and locks see to that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpcvx.storage import lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="there are no locks on this system")
TESTS = Path(__file__).parents[1]


def raced(folder, locks):
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH", "")])
    answer = subprocess.run(
        [sys.executable, str(TESTS / "races.py"), str(folder), locks],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_one_of_two_processes_goes_on(tmp_path):
    """No test ran two loaders at once, so every lock of checkpoints could be removed without one that failed."""
    one = ["refused", "released"]
    assert raced(tmp_path, "locked") == {
        "outdate": one,
        "outdate, bandit": one,
        "save": one,
        "load": one,
        "rollback": ["1", "2"],  # each is counted
    }


@pytest.mark.slow
def test_without_their_lock_both_would(tmp_path):
    both = ["released", "released"]
    expected = {"outdate": both, "outdate, bandit": both, "save": both, "load": both, "rollback": ["1", "1"]}
    found = {}
    for attempt in ("first", "second", "third"):  # on a busy machine one process may be late for its race
        folder = tmp_path / attempt
        folder.mkdir()
        found = raced(folder, "unlocked")
        if found == expected:
            break
    assert found == expected
