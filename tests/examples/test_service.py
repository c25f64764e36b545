"""The example of a service, killed and asked to stop: real processes, real signals."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dpcvx

SERVICE = Path(__file__).parents[2] / "examples" / "service.py"
SECRET = "0.7351937"
WAIT = 120  # seconds for a process that is expected to end by itself

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the service uses signals and locks of POSIX systems")


class Service:
    """A running service: losses in, lines out."""

    def __init__(self, folder, *arguments):
        self.log = folder.with_name(f"{folder.name}.log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(SERVICE), "--folder", str(folder), "--losses", "-", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def shown(self):
        """The next round and action."""
        line = self.process.stdout.readline()
        assert line, Path(self.log.name).read_text()
        return json.loads(line)

    def send(self, *numbers):
        self.process.stdin.write(" ".join(map(str, numbers)) + "\n")
        self.process.stdin.flush()

    def end(self, number):
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self):
        code = self.process.wait(WAIT)
        for file in (self.process.stdin, self.process.stdout, self.log):
            file.close()
        return code


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


@pytest.mark.slow
def test_a_killed_service_shows_the_same_action_again_and_goes_on(folder):
    service = Service(folder, "--rounds", "0")
    for _ in range(4):
        last = service.shown()
        service.send(SECRET, 0.25, 1)
    last = service.shown()
    assert service.end(signal.SIGKILL) == -signal.SIGKILL
    service = Service(folder, "--rounds", "0")
    assert service.shown() == last and last["round"] == 4
    service.send("no", "loss", SECRET)
    assert service.shown()["round"] == 5
    assert service.end(signal.SIGTERM) == 0
    learner = dpcvx.load(folder / "learner")
    assert learner.rounds == 5 and learner.lineage.rollbacks == 0
    told = folder.with_name("state.log").read_text()
    assert "goes on after round 4" in told and "asked to stop" in told and "stops after round 5" in told
    assert "counts as one without news" in told and SECRET not in told and "0.25" not in told


@pytest.mark.slow
def test_a_service_that_is_killed_at_any_moment_releases_nothing_twice(folder):
    """Kills between and within the steps of a round, at moments that differ from run to run."""
    known, shown = 0, {}
    for attempt in range(6):
        service = Service(folder, "--rounds", "0")
        for step in range(3 + attempt % 3):
            line = service.shown()
            assert line["round"] in (known, known + 1)
            known = line["round"]
            assert shown.setdefault(known, line["action"]) == line["action"]
            service.send(0.5, SECRET, 0.1 * step)
        service.process.send_signal(signal.SIGKILL)  # while the last loss is read, learned or saved
        service.ended()
    learner = dpcvx.load(folder / "learner")
    assert learner.rounds in (known, known + 1) and learner.lineage.rollbacks == 0
    assert known >= 12  # 22 losses were sent; of each run the last may be lost
    assert SECRET not in folder.with_name("state.log").read_text()


@pytest.mark.slow
def test_two_services_do_not_play_in_one_folder(folder):
    first = Service(folder, "--rounds", "0")
    first.shown()
    second = Service(folder, "--rounds", "0")
    assert second.ended() == 1
    assert "Another service plays" in folder.with_name("state.log").read_text()
    first.process.stdin.close()
    assert first.ended() == 0


@pytest.mark.slow
def test_a_state_from_a_backup_is_refused_and_continued_only_on_request(folder):
    service = Service(folder, "--rounds", "2")
    for _ in range(2):
        service.shown()
        service.send(0.5, 0.5, 0.5)
    assert service.ended() == 0
    shutil.copy(folder / "learner", folder.with_name("backup"))
    service = Service(folder, "--rounds", "4")
    for _ in range(2):
        service.shown()
        service.send(0.5, 0.5, 0.5)
    assert service.ended() == 0
    shutil.copy(folder.with_name("backup"), folder / "learner")
    assert Service(folder).ended() == 1
    assert re.search(r"would release losses\s+twice", folder.with_name("state.log").read_text())
    service = Service(folder, "--allow-rollback")
    assert service.shown()["round"] == 2
    assert service.end(signal.SIGTERM) == 0
    assert "is continued although" in folder.with_name("state.log").read_text()
