"""Sweeps: every setting and seed once, the same files whatever interrupts or shuffles them, and sentences otherwise."""

import io
import json
import math
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sweep_files import snapshot

from dpcvx import Sweep, SweepError, read_sweep, sweep
from dpcvx.experiments.sweep import folder as sweep_folder
from dpcvx.experiments.sweep import task as sweeping
from dpcvx.experiments.sweep.folder import SweepFolder, file_name
from dpcvx.experiments.sweep.workers import Pool

GRID = {"horizon": [4, 8, 16], "epsilon": [0.1, 1.0]}
CALLS = []
DONE = {}


def noisy(seed, horizon, epsilon):
    CALLS.append((horizon, epsilon, seed))
    return {"regret": np.random.default_rng([seed, horizon]).normal() / epsilon, "learner": "FTRL"}


def backwards(seed, horizon, epsilon):
    """With a worker for each, the last seed ends first."""
    if DONE:
        if seed < 4:
            assert DONE[horizon, epsilon, seed + 1].wait(60)
            time.sleep(0.01)
        DONE[horizon, epsilon, seed].set()
    return noisy(seed, horizon, epsilon)


def echo(seed, value):
    return {"same": value}


@pytest.fixture(autouse=True)
def fresh():
    CALLS.clear()


@pytest.fixture
def threads(monkeypatch):
    """Threads of this process instead of processes: as many as workers are asked for."""

    @contextmanager
    def local(workers):
        with ThreadPoolExecutor(workers or 1) as pool:
            yield Pool(pool.submit, as_completed)

    monkeypatch.setattr(sweeping, "local", local)


def test_every_setting_meets_every_seed_once(threads, tmp_path):
    result = sweep(noisy, GRID, 5, folder=tmp_path / "s")
    wanted = [(horizon, epsilon, seed) for horizon in (4, 8, 16) for epsilon in (0.1, 1.0) for seed in range(5)]
    assert sorted(CALLS) == sorted(wanted)
    assert [(row["horizon"], row["epsilon"], row["seed"]) for row in result.rows] == wanted
    assert all(row["regret"] == noisy(row["seed"], row["horizon"], row["epsilon"])["regret"] for row in result.rows)
    assert len(list((tmp_path / "s").glob("*.csv"))) == 6
    by_name = {path.name.rpartition("-")[0]: path for path in (tmp_path / "s").glob("*.csv")}
    lines = by_name["epsilon=0.1_horizon=4"].read_text().splitlines()
    assert lines[0] == "epsilon,horizon,seed,regret,learner"
    assert lines[1] == f"0.1,4,0,{float(np.random.default_rng([0, 4]).normal()) / 0.1!r},FTRL"


def test_a_list_of_settings_a_list_of_seeds_and_several_rows_for_one_seed(threads, tmp_path):
    def curve(seed, horizon, epsilon=None):
        return [{"round": k, "regret": np.float64(seed + k)} for k in (1, horizon)]

    settings = [{"horizon": 5}, {"horizon": 7, "epsilon": 2.0}]
    result = sweep(curve, settings, [9, 3], folder=tmp_path / "s")
    rows = [(row["horizon"], row["seed"], row["round"], row["regret"]) for row in result.rows]
    assert rows == [(h, seed, k, float(seed + k)) for h in (5, 7) for seed in (3, 9) for k in (1, h)]
    assert result.means() == [
        {"horizon": 5, "round": 3.0, "regret": 9.0},
        {"epsilon": 2.0, "horizon": 7, "round": 4.0, "regret": 10.0},
    ]


def test_values_come_back_bit_for_bit_and_need_no_care_with_names(threads, tmp_path):
    numbers = [0.1 + 0.2, 1e-300, -0.0, math.inf, 10**40, True, None, 1, 1.0]
    texts = ['a,b\n"c"\'\r\n;ü', "../../x", " padded ", "1.50", "x" * 5000, ".hidden", "CON", "NUL/\\:*?<>|", "1"]
    values = numbers + texts
    result = sweep(echo, {"value": values}, 1, folder=tmp_path / "s")
    names = [file_name({"value": value}) for value in values]
    assert len({name.lower() for name in names}) == len(values) and max(map(len, names)) < 140
    assert set(snapshot(tmp_path / "s")) == {*names, "sweep.json"}
    for value, row in zip(values, result.rows, strict=True):
        assert repr(row["value"]) == repr(value)
        assert repr(row["same"]) == (repr(value) if value != "1" else "1")  # a result that looks like a number is one
    assert math.isnan(sweep(echo, {"value": [math.nan]}, 1, folder=tmp_path / "n").rows[0]["same"])


def test_only_what_is_missing_is_run_again(threads, tmp_path):
    folder = tmp_path / "s"
    whole = sweep(noisy, GRID, 5, folder=folder)
    files = snapshot(folder)
    lost = next(iter(sorted(folder.glob("epsilon=1.0_horizon=8-*.csv"))))
    lost.unlink()
    (folder / f"{lost.name}.part").write_text("half a li")
    CALLS.clear()
    again = sweep(noisy, GRID, 5, folder=folder)
    assert sorted(CALLS) == [(8, 1.0, seed) for seed in range(5)]
    assert snapshot(folder) == files and again.rows == whole.rows


def test_a_grid_may_grow_and_shrink(threads, tmp_path):
    sweep(noisy, {"horizon": [8], "epsilon": [1.0]}, [1, 3], folder=tmp_path / "grown")
    CALLS.clear()
    sweep(noisy, GRID, 5, folder=tmp_path / "grown")
    assert len(CALLS) == 28  # of 30, two were there
    sweep(noisy, GRID, 5, folder=tmp_path / "fresh")
    assert snapshot(tmp_path / "grown") == snapshot(tmp_path / "fresh")
    CALLS.clear()
    part = sweep(noisy, {"horizon": [4], "epsilon": [0.1]}, 2, folder=tmp_path / "grown")
    assert not CALLS and [row["seed"] for row in part.rows] == [0, 1]
    assert snapshot(tmp_path / "grown") == snapshot(tmp_path / "fresh")
    everything = read_sweep(tmp_path / "grown").rows
    assert len(everything) == 30 and all(row in everything for row in part.rows)


def reordered(tmp_path):
    sweep(backwards, GRID, 5, folder=tmp_path / "one", workers=1)
    DONE.update({call: threading.Event() for call in CALLS})
    sweep(backwards, GRID, 5, folder=tmp_path / "many", workers=30)
    DONE.clear()
    return CALLS[:30] != CALLS[30:] and snapshot(tmp_path / "one") == snapshot(tmp_path / "many")


def test_the_order_in_which_tasks_end_leaves_no_trace(threads, tmp_path):
    assert reordered(tmp_path)


def test_that_test_would_notice_rows_in_the_order_of_arrival(threads, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_folder, "sorted", lambda rows, key=None: list(rows), raising=False)
    assert not reordered(tmp_path)


def test_a_folder_of_something_else_is_refused_and_left_alone(threads, tmp_path):
    folder = tmp_path / "s"
    sweep(echo, {"value": [1]}, 1, folder=folder)
    files = snapshot(folder)
    with pytest.raises(SweepError, match=r"holds a sweep of test_sweep.py:echo, not of test_sweep.py:noisy\."):
        sweep(noisy, GRID, folder=folder)
    assert snapshot(folder) == files
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    for call in (lambda: sweep(noisy, GRID, folder=tmp_path / "notes"), lambda: read_sweep(tmp_path / "notes")):
        with pytest.raises(SweepError, match="is not the folder of a sweep"):
            call()
    assert list(snapshot(tmp_path / "notes")) == ["a.txt"]
    (folder / "sweep.json").write_text("{")
    with pytest.raises(SweepError, match="is damaged"):
        sweep(echo, {"value": [1]}, 1, folder=folder)


def test_results_of_a_task_from_before_it_was_changed_are_refused(threads, tmp_path):
    def version(text):
        path = tmp_path / "task.py"
        path.write_text(text)
        found = {}
        exec(compile(text, str(path), "exec"), found)
        return Sweep(found["task"], {"value": [1]}, 1)

    import linecache

    old = version("def task(seed, value):\n    return {'same': value}\n")
    old.run(tmp_path / "s")
    linecache.clearcache()
    version("def task(seed,  value):  # said why\n    return {'same': value}\n").run(tmp_path / "s")
    linecache.clearcache()
    new = version("def task(seed, value):\n    return {'same': value + 1}\n")
    with pytest.raises(SweepError, match="from before it was changed"):
        new.run(tmp_path / "s")
    manifest = json.loads((tmp_path / "s" / "sweep.json").read_text())
    del manifest["source"]
    (tmp_path / "s" / "sweep.json").write_text(json.dumps(manifest))
    assert new.run(tmp_path / "s").rows == [{"value": 1, "seed": 0, "same": 1}]  # kept, as was asked for


def test_a_task_made_by_a_function_belongs_to_the_values_it_was_made_with(threads, tmp_path):
    def made(factor):
        def task(seed, a):
            return {"v": a * factor}

        return task

    assert [row["v"] for row in sweep(made(2), {"a": [1, 2]}, 1, folder=tmp_path / "f").rows] == [2, 4]
    assert [row["v"] for row in sweep(made(2), {"a": [1, 3]}, 1, folder=tmp_path / "f").rows] == [2, 6]
    with pytest.raises(SweepError, match="from before it was changed"):
        sweep(made(100), {"a": [1, 2]}, 1, folder=tmp_path / "f")


@pytest.mark.parametrize("text", ["x\ry", "x\r\ny", "\n", 'a,"b"', "ε"])
def test_any_text_comes_back(threads, tmp_path, text):
    def task(seed, a):
        return {"v": text}

    assert [row["v"] for row in sweep(task, {"a": [1]}, 1, folder=tmp_path / "f").rows] == [text]


def test_two_sweeps_do_not_write_to_one_folder_at_once(threads, tmp_path):
    task = Sweep(echo, {"value": [1]})
    with (
        SweepFolder(tmp_path / "s").opened(task._identity()),
        pytest.raises(SweepError, match="Another sweep is writing to"),
    ):
        task.run(tmp_path / "s")
    task.run(tmp_path / "s")


def test_what_a_killed_sweep_left_is_removed_by_the_next_that_holds_the_folder(threads, tmp_path):
    task = Sweep(echo, {"value": [1]})
    folder = SweepFolder(tmp_path / "s")
    part = folder.path / f".{file_name({'value': 1})}.0123456789abcdef.part"
    with folder.opened(task._identity()):
        part.write_text("half a li")
        with pytest.raises(SweepError, match="Another sweep is writing to"):
            task.run(folder.path)
        assert part.exists()  # it may be the part of the sweep that runs
    task.run(folder.path)
    assert set(snapshot(folder.path)) == {file_name({"value": 1}), "sweep.json"}


def test_a_folder_in_which_a_sweep_was_killed_before_its_first_file_is_taken(threads, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / ".sweep.json.0123456789abcdef.part").write_text("{")
    sweep(echo, {"value": [1]}, 1, folder=tmp_path / "s")
    assert set(snapshot(tmp_path / "s")) == {file_name({"value": 1}), "sweep.json"}


def test_a_damaged_file_is_named(threads, tmp_path):
    sweep(echo, {"value": [1]}, folder=tmp_path / "s")
    path = tmp_path / "s" / file_name({"value": 1})
    for content in ("", "value,seed,same\n1,0\n", "value,same\n1,1\n"):
        path.write_text(content)
        with pytest.raises(SweepError, match=f"{path.name} is damaged and must be removed"):
            sweep(echo, {"value": [1]}, folder=tmp_path / "s")


def fragile(seed, level):
    if level == 2 and seed == 1:
        raise ZeroDivisionError("division\nby zero")
    return {"value": level}


def test_a_task_that_raises_is_named_with_its_setting_and_seed_and_what_is_finished_stays(threads, tmp_path):
    with pytest.raises(SweepError) as caught:
        sweep(fragile, {"level": [1, 2, 3]}, 2, folder=tmp_path / "s", workers=1)
    line = fragile.__code__.co_firstlineno + 2
    assert str(caught.value) == f"fragile raised ZeroDivisionError at line {line} for level=2, seed=1: division by zero"
    assert "in fragile" in caught.value.__notes__[0]
    assert [row["level"] for row in read_sweep(tmp_path / "s").rows] == [1, 1, 3, 3]  # the rest went on
    assert caught.value.failures == (str(caught.value),)
    assert [row["level"] for row in caught.value.result.rows] == [1, 1, 3, 3]
    (record,) = (tmp_path / "s").glob("*.failed")
    assert record.name.startswith("level=2-") and "division by zero" in record.read_text()


def recovering(seed, level, path):
    if not Path(path).exists():
        raise RuntimeError("not yet")
    return {"value": level}


def test_the_record_of_a_failure_goes_once_its_setting_is_finished(threads, tmp_path):
    there = {"level": [1, 2], "path": [str(tmp_path / "there")]}
    with pytest.raises(SweepError, match=r"not yet; and 1 other setting of 2 failed\."):
        sweep(recovering, there, 1, folder=tmp_path / "s", workers=1)
    assert len(list((tmp_path / "s").glob("*.failed"))) == 2
    (tmp_path / "there").touch()
    assert len(sweep(recovering, there, 1, folder=tmp_path / "s", workers=1).rows) == 2
    assert not list((tmp_path / "s").glob("*.failed"))


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (3.0, "a task must return a dict of names and numbers, or a list of them, not 3.0"),
        ([], "a task must return a dict"),
        ({}, "a task must return a dict"),
        ("ab", "a task must return a dict"),
        ({"regret": np.ones(2)}, "regret must be a number, a text, a truth value or None, not array"),
        ({"seed": 1}, "a result must have a name that is not one of the setting, not 'seed'"),
        ({"level": 1}, "a result must have a name that is not one of the setting, not 'level'"),
        ({1: 1}, "a result must have a name"),
    ],
)
def test_what_a_task_returns_is_looked_at(threads, tmp_path, returned, words):
    def task(seed, level):
        return returned

    with pytest.raises(SweepError, match="raised ArgumentError for level=1, seed=0: " + words):
        sweep(task, {"level": [1]}, 1, folder=tmp_path / "s")


def test_rows_of_one_setting_have_the_same_names(threads, tmp_path):
    def task(seed, level):
        return {"a" if seed else "b": 1}

    with pytest.raises(SweepError, match=r"The rows for level=1 differ in their names: seed 0 has .*, seed 1 has "):
        sweep(task, {"level": [1]}, 2, folder=tmp_path / "s")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((print, GRID), "task must be a function, not "),
        ((noisy, {"horizon": [1]}), "task noisy cannot be called with seed, horizon=1: missing a required argument"),
        ((noisy, {**GRID, "more": [1]}), "got an unexpected keyword argument 'more'"),
        ((noisy, {**GRID, "seed": [1]}), "settings must not have the name seed"),
        ((noisy, {}), "task noisy cannot be called with seed, the empty setting"),
        ((noisy, []), "settings must hold at least one setting"),
        ((noisy, {"horizon": [], "epsilon": [1]}), "settings must hold at least one setting"),
        ((noisy, {"horizon": 3, "epsilon": [1]}), "settings must give a list of values for horizon, not 3"),
        ((noisy, {"horizon": "34", "epsilon": [1]}), "settings must give a list of values for horizon, not '34'"),
        ((noisy, {3: [1]}), "settings must have texts as names, not 3"),
        ((noisy, 3), "settings must be a dict of lists or a list of dicts, not 3"),
        ((noisy, [3]), "settings must be a dict of lists or a list of dicts, but it holds 3"),
        ((echo, {"value": [1, 1]}), "settings holds value=1 twice"),
        ((echo, {"value": [[1]]}), r"The setting value must be a number, a text, a truth value or None, not \[1\]"),
        ((echo, {"value": [1]}, 0), "seeds must be a whole number of at least 1, not 0"),
        ((echo, {"value": [1]}, []), "seeds must hold at least one seed"),
        ((echo, {"value": [1]}, [-1]), "A seed must be a whole number of at least 0, not -1"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_written(threads, tmp_path, arguments, words):
    with pytest.raises(ValueError, match=words):
        sweep(*arguments, folder=tmp_path / "s")
    assert not list(tmp_path.iterdir())


def test_a_task_that_cannot_travel_and_workers_that_cannot_be(threads, tmp_path):
    lock = threading.Lock()

    def task(seed, value):
        return {"locked": lock.locked()}

    with pytest.raises(ValueError, match="cannot be sent to workers: "):
        sweep(task, {"value": [1]}, folder=tmp_path / "s")
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, not 0"):
        sweep(echo, {"value": [1]}, folder=tmp_path / "s", workers=0)
    with pytest.raises(ValueError, match="workers is for this machine; a scheduler has its own"):
        sweep(echo, {"value": [1]}, folder=tmp_path / "s", workers=1, scheduler="tcp://127.0.0.1:1")
    assert not list(tmp_path.iterdir())


def test_a_result_shows_a_few_settings_and_becomes_a_frame(threads, tmp_path, monkeypatch):
    result = sweep(echo, {"value": range(100)}, 2, folder=tmp_path / "<s>")
    lines = str(result).splitlines()
    assert lines[0].endswith("<s>: 100 settings, 2 seeds, means over 200 rows")
    assert [line.split() for line in (lines[1], lines[2], lines[-1])] == [["value", "same"], ["0", "0"], ["99", "99"]]
    assert len(lines) == 14
    assert "&lt;s&gt;: 100 settings" in result._repr_html_() and result._repr_html_().count("<tr>") == 13
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert result.to_pandas() == result.rows
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_pandas()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal(threads, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    sweep(echo, {"value": [1, 2]}, 3, folder=tmp_path / "s")
    assert "100 %  6/6  took 0:00" in terminal.getvalue()
    written = len(terminal.getvalue())
    sweep(echo, {"value": [1, 2, 3]}, 3, folder=tmp_path / "quiet", progress=False)
    sweep(echo, {"value": [1, 2]}, 3, folder=tmp_path / "s")
    assert len(terminal.getvalue()) == written
