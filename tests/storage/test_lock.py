"""The lock of a folder: one holder at a time, whichever process or thread, and none that is dead."""

import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from dpcvx.storage import lock
from dpcvx.storage.lock import locked

HOLDER = """
import sys
from pathlib import Path
from dpcvx.storage.lock import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()  # until it is closed
print("released", flush=True)
"""
NO_WAIT = """
import sys
from pathlib import Path
from dpcvx.storage.lock import locked

try:
    with locked(Path(sys.argv[1]), wait=False):
        print("held")
except BlockingIOError:
    print("refused")
"""


@contextmanager
def held_by_another_process(folder):
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.stdin.close()


def asked_by_another_process(folder):
    """Whether another process, which does not wait, gets the folder."""
    command = [sys.executable, "-c", NO_WAIT, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def asked_here(folder):
    """The same for another thread of this process."""
    answers = []

    def ask():
        try:
            with locked(folder, wait=False):
                answers.append("held")
        except BlockingIOError:
            answers.append("refused")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(60)
    return answers[0]


@pytest.mark.slow
def test_a_folder_held_by_another_process_is_refused_without_waiting(tmp_path):
    with held_by_another_process(tmp_path):
        assert asked_here(tmp_path) == "refused"
    with locked(tmp_path):
        assert asked_by_another_process(tmp_path) == "refused"
    assert asked_by_another_process(tmp_path) == asked_here(tmp_path) == "held"


def test_who_waits_gets_the_folder_when_the_other_process_lets_go(tmp_path):
    entered, told = threading.Event(), []

    def wait():
        with locked(tmp_path):
            told.append(process.stdout.readline())
            entered.set()

    with held_by_another_process(tmp_path) as process:
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not entered.wait(0.3)  # still held by the other
        process.stdin.close()
        assert entered.wait(60)
        waiting.join()
    assert told == ["released\n"]


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    with held_by_another_process(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert asked_here(tmp_path) == "held"


def test_an_error_inside_lets_the_folder_go(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    assert asked_here(tmp_path) == "held"


def test_two_threads_exclude_each_other_and_two_folders_do_not(tmp_path):
    (tmp_path / "other").mkdir()
    with locked(tmp_path):
        assert asked_here(tmp_path) == "refused"
        assert asked_here(tmp_path / "other") == "held"


def test_without_such_locks_nothing_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with locked(tmp_path):
        assert asked_here(tmp_path) == "held"
