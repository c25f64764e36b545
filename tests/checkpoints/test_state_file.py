"""The file of a checkpoint: whole or as it was, and whatever else is found in its place is named."""

import json
import os
import pickle

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx import FTPL, FTRL, CheckpointError, DecisionSet
from dpcvx.checkpoints.state_file import Stamp, read_state, stamp_in, write_state
from dpcvx.storage.fingerprint import fingerprint


def forge(path, body, **changed):
    """Put another body and another header into a file, with the checksum that they should have."""
    magic, head, _ = path.read_bytes().split(b"\n", 2)
    head = json.dumps(json.loads(head) | changed).encode() + b"\n"
    path.write_bytes(magic + b"\n" + head + fingerprint(head, body).encode() + b"\n" + body)


def test_damage_and_other_formats_are_noticed(tmp_path):
    path = tmp_path / "state"
    dpcvx.save(FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match="checksum"):
        dpcvx.load(path)
    path.write_bytes(whole.replace(b'"format": 7', b'"format": 9', 1))
    with pytest.raises(CheckpointError, match="format 9"):
        dpcvx.load(path)
    path.write_bytes(b"hello")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        dpcvx.load(path)


class Trap:
    """Unpickling it is noticed."""

    def __reduce__(self):
        return (pytest.fail, ("the pickle of another format was opened",))


def test_a_file_of_the_format_before_modules_moved_is_refused_unopened(tmp_path):
    path = tmp_path / "state"
    write_state(path, 1, "learner")
    forge(path, pickle.dumps(Trap()), format=2)
    with pytest.raises(CheckpointError) as caught:
        dpcvx.load(path)
    assert str(caught.value) == f"{path} has format 2; this version reads format 7."


def test_what_was_written_is_read_with_its_stamp(tmp_path):
    path = tmp_path / "state"
    assert stamp_in(path) is None
    for stamp in (None, Stamp(7, "own", "before")):
        write_state(path, {"a": np.arange(3)}, "something", stamp)
        content, found = read_state(path, "something")
        assert content["a"].tolist() == [0, 1, 2] and found == stamp == stamp_in(path)


@pytest.mark.parametrize(
    "stamp",
    [7, "7", True, [], {}, [7], [7, "a"], [7, "a", None], [7.0, "a", "b"], [True, "a", "b"], ["7", "a", "b"]]
    + [[number, "a", "b"] for number in (0, -1, 2**63, 10**40)],
)
def test_a_stamp_of_a_wrong_kind_is_damage_and_opens_no_pickle(tmp_path, stamp):
    path = tmp_path / "state"
    write_state(path, 1, "learner")
    forge(path, pickle.dumps(Trap()), stamp=stamp)
    with pytest.raises(CheckpointError, match="is damaged: its header holds no stamp"):
        dpcvx.load(path)


def test_a_secure_learner_without_a_stamp_is_not_loaded(tmp_path):
    path = tmp_path / "state"
    for seed, stamp in ((None, None), (1, Stamp(1, "a", "b"))):
        write_state(path, FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=seed), "learner", stamp)
        with pytest.raises(CheckpointError, match="a secure learner has a generation, and no other has"):
            dpcvx.load(path)


def test_names_that_are_none_are_told_in_a_sentence(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0)
    with pytest.raises(TypeError, match="must be a text or a path, not a NoneType"):
        dpcvx.save(learner, None)
    with pytest.raises(CheckpointError, match="No checkpoint can have the name"):
        dpcvx.load("a\0b")
    with pytest.raises(CheckpointError, match="is a folder, not a checkpoint"):
        dpcvx.save(learner, tmp_path)
    with pytest.raises(CheckpointError, match="There is no folder"):
        dpcvx.save(learner, tmp_path / "nowhere" / "state")
    with pytest.raises(FileNotFoundError, match=r"There is no checkpoint .*state\.$") as missing:
        dpcvx.load(tmp_path / "state")
    assert isinstance(missing.value, CheckpointError) and not list(tmp_path.iterdir())


def test_a_class_that_is_gone_is_a_sentence_with_the_version_that_had_it(tmp_path):
    path = tmp_path / "state"
    write_state(path, 1, "learner")
    forge(path, b"cdpcvx.nowhere\nGone\n.", dpcvx="0.0.1")
    with pytest.raises(CheckpointError, match=r"was written by version 0\.0\.1 and cannot be read: No module named"):
        dpcvx.load(path)


def test_an_own_oracle_that_cannot_be_written_is_named(tmp_path):
    x = cp.Variable(3, name="x")
    X = DecisionSet(x, [cp.abs(x) <= 1], oracle=lambda c: -np.sign(c))
    with pytest.raises(CheckpointError, match="lambda"):
        dpcvx.save(FTPL(X, box_losses(3), 10, epsilon=1.0, seed=0), tmp_path / "state")


def test_files_of_another_kind_and_odd_headers_are_named(tmp_path):
    path = tmp_path / "state"
    write_state(path, 1, "simulation")
    with pytest.raises(CheckpointError, match="holds a simulation"):
        dpcvx.load(path)
    for header in (b"{}", b"[1]", b"hello", b"null", b"7", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"format": [4]}'):
        path.write_bytes(b"dpcvx checkpoint\n" + header + b"\n")
        with pytest.raises(CheckpointError):
            dpcvx.load(path)
    with pytest.raises(CheckpointError, match="folder"):
        dpcvx.load(tmp_path)


def test_an_interrupted_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    learner = FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1)
    dpcvx.save(learner, tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    learner.act()
    learner.update(np.zeros(5))

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        dpcvx.save(learner, tmp_path / "state")
    assert [file.name for file in tmp_path.iterdir()] == ["state"] and (tmp_path / "state").read_bytes() == before
