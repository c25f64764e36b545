"""The lock between threads: taken again by its own thread, free in copies and children, and after interruptions."""

import copy
import pickle
import subprocess
import sys
import threading

from dpcvx.storage.thread_lock import ThreadLock

FORK = """
import os, signal, threading, time
from dpcvx.storage.thread_lock import ThreadLock

lock, held = ThreadLock(), threading.Event()

def hold():
    with lock:
        held.set()
        time.sleep(60)

threading.Thread(target=hold, daemon=True).start()
held.wait()
if os.fork() == 0:
    print("free" if lock.acquire(timeout=5) else "held", flush=True)
    os._exit(0)
os.wait()
print("held" if not lock.acquire(blocking=False) else "free", flush=True)
os._exit(0)
"""


def free(lock):
    """Whether another thread can take it."""
    taken = []

    def take():
        taken.append(lock.acquire(timeout=1))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


def test_its_thread_may_take_it_again_and_others_wait():
    lock = ThreadLock()
    with lock, lock:
        assert not free(lock)
    assert free(lock)


def test_copies_are_new_and_free():
    lock = ThreadLock()
    with lock:
        for other in (copy.copy(lock), copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert type(other) is ThreadLock and other is not lock and free(other)


def test_a_child_does_not_wait_for_threads_that_it_has_not():
    answer = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert answer.stdout.split() == ["free", "held"], answer.stderr
