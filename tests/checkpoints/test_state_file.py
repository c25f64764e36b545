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
from dpcvx.checkpoints.state_file import read_state, write_state
from dpcvx.storage.fingerprint import fingerprint


def test_damage_and_other_formats_are_noticed(tmp_path):
    path = tmp_path / "state"
    dpcvx.save(FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match="checksum"):
        dpcvx.load(path)
    path.write_bytes(whole.replace(b'"format": 3', b'"format": 9', 1))
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
    magic, head, _ = path.read_bytes().split(b"\n", 2)
    body = pickle.dumps(Trap())
    header = json.loads(head) | {"format": 2, "sha256": fingerprint(body)}
    path.write_bytes(magic + b"\n" + json.dumps(header).encode() + b"\n" + body)
    with pytest.raises(CheckpointError) as caught:
        dpcvx.load(path)
    assert str(caught.value) == f"{path} has format 2; this version reads format 3."


def test_what_was_written_is_read_with_its_generation(tmp_path):
    for generation in (None, 7):
        write_state(tmp_path / "state", {"a": np.arange(3)}, "something", generation)
        content, found = read_state(tmp_path / "state", "something")
        assert content["a"].tolist() == [0, 1, 2] and found == generation


def test_a_class_that_is_gone_is_a_sentence_with_the_version_that_had_it(tmp_path):
    path = tmp_path / "state"
    write_state(path, 1, "learner")
    magic, head, _ = path.read_bytes().split(b"\n", 2)
    body = b"cdpcvx.nowhere\nGone\n."
    header = json.loads(head) | {"dpcvx": "0.0.1", "sha256": fingerprint(body)}
    path.write_bytes(magic + b"\n" + json.dumps(header).encode() + b"\n" + body)
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
    for header in (b"{}", b"[1]", b"hello"):
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
