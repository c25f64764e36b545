"""The guard of a process: a forked child is refused, whoever loads a state is not."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

from dpcvx import ProtocolError
from dpcvx.storage.process import ProcessGuard

FORK = """
import os, pickle
from dpcvx.errors import ProtocolError
from dpcvx.storage.process import ProcessGuard

guard = ProcessGuard()
if os.fork() == 0:
    try:
        guard.check()
        print("passed", flush=True)
    except ProtocolError as error:
        print(error, flush=True)
    ProcessGuard().check()
    pickle.loads(pickle.dumps(guard)).check()
    print("its own pass", flush=True)
    os._exit(0)
os.wait()
guard.check()
print("the parent passes")
"""


def test_a_forked_child_is_refused_and_may_make_or_load_its_own():
    answer = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    refusal, *rest = answer.stdout.splitlines()
    assert refusal.startswith("A private learner was used after a fork;"), answer.stderr
    assert rest == ["its own pass", "the parent passes"], answer.stderr


def test_a_copy_belongs_to_the_process_that_makes_it(monkeypatch):
    guard = ProcessGuard()
    guard.check()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ProtocolError, match="after a fork"):
        guard.check()
    for made in (ProcessGuard(), pickle.loads(pickle.dumps(guard)), copy.copy(guard), copy.deepcopy(guard)):
        made.check()
