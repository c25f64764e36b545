"""Sweeps in processes: the command, workers that die, sweeps that are killed, and a cluster."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sweep_files import snapshot

from dpcvx import SweepError, read_sweep, sweep
from dpcvx.cli import main
from dpcvx.experiments.sweep.workers import local

# Tasks of a file with a module beside it, neither of which a worker can import.
DECLARATION = """
import os, time
from functools import cache
import dpcvx
from beside import scaled

@cache
def root(horizon):
    return horizon ** 0.5

def noisy(seed, horizon, epsilon):
    time.sleep(0.004)
    regret = scaled(seed, horizon) * root(horizon) / epsilon
    return {"regret": regret, "threads": os.environ.get("OPENBLAS_NUM_THREADS", "many")}

def fails(seed, level):
    if level == 2 and seed == 1:
        raise RuntimeError("two\\nlines")
    return {"value": level}

def dies(seed, level):
    if level == 2:
        os._exit(3)
    return {"value": level}

sweep = dpcvx.Sweep(noisy, {"horizon": [4, 8, 16], "epsilon": [0.1, 1.0]}, 3)
large = dpcvx.Sweep(noisy, {"horizon": range(1, 41), "epsilon": [0.1, 0.2, 0.5, 1.0, 2.0]}, 5)
failing = dpcvx.Sweep(fails, {"level": [1, 2, 3]}, 2)
dying = dpcvx.Sweep(dies, {"level": [1, 2]}, 2)
number = 3
"""
BESIDE = """
from functools import lru_cache
import numpy as np

@lru_cache(maxsize=7)
def scaled(seed, horizon):
    return float(np.random.default_rng([seed, horizon]).normal())
"""


@pytest.fixture
def declared(tmp_path):
    (tmp_path / "beside.py").write_text(BESIDE)
    path = tmp_path / "mine.py"
    path.write_text(DECLARATION)
    yield path
    sys.modules.pop("beside", None)


def test_the_command_runs_a_file_on_one_and_two_processes_to_the_same_bytes(declared, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # of the caller; workers have one
    for workers in "12":
        assert main(["sweep", f"{declared}", "--output", str(tmp_path / workers), "--workers", workers]) == 0
    assert snapshot(tmp_path / "1") == snapshot(tmp_path / "2") and len(snapshot(tmp_path / "1")) == 7
    rows = read_sweep(tmp_path / "1").rows
    assert len(rows) == 18 and {row["threads"] for row in rows} == {1}
    assert "6 settings, 3 seeds, means over 18 rows" in capsys.readouterr().out
    assert main(["sweep", f"{declared}:failing", "--output", str(tmp_path / "f"), "--workers", "2"]) == 2
    assert sentences(capsys) == ["fails raised RuntimeError at line 18 for level=2, seed=1: two lines"]


def sentences(capsys):
    """What was written to stderr, but for signs of life on a slow machine."""
    return [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("nothing", [], "mine.py does not define nothing"),
        ("number", [], "number in {file} must be a Sweep or a function that returns one, but it has type int."),
        ("sweep", ["--workers", "0"], "--workers must be at least 1, not 0."),
        ("sweep", ["--scheduler", "nonsense"], "cannot be reached: the address must look like tcp://host:8786."),
        ("sweep", ["--scheduler", "tcp://127.0.0.1:{port}"], "cannot be reached: Connection refused."),
        ("sweep", ["--output", "{file}/below"], "The sweep cannot be written to {file}/below: Not a directory."),
        ("sweep", ["--output", "/proc/sweep"], "The sweep cannot be written to /proc/sweep: No such file"),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(declared, tmp_path, capsys, name, options, sentence):
    values = {"file": declared, "port": free_port()}
    options = [option.format(**values) for option in options]
    before = sorted(tmp_path.iterdir())
    begun = time.monotonic()
    assert main(["sweep", f"{declared}:{name}", "--output", str(tmp_path / "s"), *options]) == 2
    printed = capsys.readouterr()
    assert sentence.format(**values) in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert sorted(path for path in tmp_path.iterdir() if path.name != "__pycache__") == before
    assert time.monotonic() - begun < 10


def test_a_folder_that_may_not_be_written_is_one_sentence(declared, tmp_path, capsys, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["sweep", f"{declared}", "--output", str(tmp_path / "s")]) == 2
    assert capsys.readouterr().err == f"The sweep cannot be written to {tmp_path / 's'}: Permission denied.\n"


def test_a_missing_extra_is_named(declared, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    options = ["--output", str(tmp_path / "s"), "--scheduler", "tcp://127.0.0.1:1"]
    assert main(["sweep", f"{declared}", *options]) == 2
    assert capsys.readouterr().err.endswith("not installed: pip install 'dpcvx[cluster]'.\n")
    assert not (tmp_path / "s").exists()


def echo(seed, value):
    return {"same": value}


@pytest.mark.slow
def test_a_server_of_another_kind_is_no_scheduler(tmp_path):
    def answer(server):
        for _ in range(2):
            connection, _ = server.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(SweepError, match=f"The scheduler {address} cannot be reached: "):
            sweep(echo, {"value": [1]}, folder=tmp_path / "s", scheduler=address)
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_a_worker_process_that_dies_is_one_sentence_and_what_is_finished_stays(declared, tmp_path, capsys):
    assert main(["sweep", f"{declared}:dying", "--output", str(tmp_path / "s"), "--workers", "1"]) == 2
    (error,) = sentences(capsys)
    assert error.startswith("A worker or the scheduler was lost, as when memory runs out, with level=")
    assert "the same call goes on from there." in error
    assert {row["level"] for row in read_sweep(tmp_path / "s").rows} <= {1}


def command(file, folder, *options):
    return [sys.executable, "-m", "dpcvx", "sweep", f"{file}:large", "--output", str(folder), *options]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The file, and what 200 settings with 5 seeds give when nothing happens."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "beside.py").write_text(BESIDE)
    (folder / "mine.py").write_text(DECLARATION)
    subprocess.run(command(folder / "mine.py", folder / "s", "--workers", "1"), check=True, capture_output=True)
    files = snapshot(folder / "s")
    assert len(files) == 201
    return folder / "mine.py", files


def finished(folder):
    return len(list(folder.glob("*.csv")))


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.slow
def test_a_sweep_killed_three_times_equals_an_undisturbed_one_file_by_file(undisturbed, tmp_path):
    file, files = undisturbed
    folder = tmp_path / "s"
    rng = np.random.default_rng(6)
    for enough in sorted(rng.choice(np.arange(1, 180), 3, replace=False)):
        with subprocess.Popen(command(file, folder, "--workers", "2"), stderr=subprocess.PIPE) as process:
            wait_for(lambda enough=enough: finished(folder) >= enough)
            time.sleep(rng.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert enough <= finished(folder) < 200
    times = {path: path.stat().st_mtime_ns for path in folder.glob("*.csv")}
    subprocess.run(command(file, folder, "--workers", "2"), check=True, capture_output=True)
    assert snapshot(folder) == files
    assert all(path.stat().st_mtime_ns == then for path, then in times.items())


@pytest.fixture
def cluster():
    """A scheduler, two worker processes, and a client to look at them."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield made.scheduler_address, client


@pytest.mark.slow
def test_a_cluster_of_two_processes_gives_the_same_files(undisturbed, cluster, tmp_path):
    file, files = undisturbed
    address, client = cluster
    subprocess.run(command(file, tmp_path / "s", "--scheduler", address), check=True, capture_output=True)
    assert snapshot(tmp_path / "s") == files
    pids = client.run(os.getpid).values()
    assert len(set(pids)) == 2 and os.getpid() not in pids


@pytest.mark.slow
def test_a_worker_of_the_cluster_killed_in_the_middle_loses_nothing(undisturbed, cluster, tmp_path):
    file, files = undisturbed
    address, client = cluster
    folder = tmp_path / "s"
    victim = next(iter(client.run(os.getpid).values()))
    with subprocess.Popen(command(file, folder, "--scheduler", address), stderr=subprocess.PIPE) as process:
        wait_for(lambda: finished(folder) >= 60)
        os.kill(victim, signal.SIGKILL)
        assert finished(folder) < 200
        assert process.wait(120) == 0
    assert snapshot(folder) == files
    assert victim not in client.run(os.getpid).values()


@pytest.mark.parametrize(("error", "told"), [(KeyError, []), (ValueError, [ValueError])])
def test_an_interruption_says_nothing_of_tasks_that_wait(monkeypatch, error, told):
    """Of loky's thread, once workers are ended, a task that it threw away is no news; anything else is."""
    heard = []

    def fail():
        raise error(38)

    class Manager(threading.Thread):
        __module__ = "joblib.externals.loky.process_executor"

    class Executor:
        def shutdown(self, kill_workers):
            assert kill_workers
            manager = Manager(target=fail)
            manager.start()
            manager.join()

    monkeypatch.setattr("joblib.externals.loky.get_reusable_executor", lambda *_, **__: Executor())
    monkeypatch.setattr(threading, "excepthook", lambda found: heard.append(found.exc_type))
    with pytest.raises(KeyboardInterrupt), local(1):
        raise KeyboardInterrupt
    assert heard == told
