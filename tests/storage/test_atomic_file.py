"""Files in one step: whatever interrupts a write, there is the old file or the new one, for whom it should be."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from dpcvx.storage.atomic_file import PART, leftovers, regular_place, write_atomically

KILLED = """
import os, signal, sys
from pathlib import Path
from dpcvx.storage import atomic_file

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
atomic_file.write_atomically(Path(sys.argv[1]), b"new")
"""


@pytest.fixture
def umask():
    """Set the umask; the old one comes back."""
    old = os.umask(0o022)
    yield os.umask
    os.umask(old)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_the_new_content_takes_the_place_of_the_old_and_nothing_else_is_there(tmp_path):
    path = tmp_path / "file"
    for content in (b"old", b"\x00new\r\n", b""):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["file"]


def test_a_process_killed_between_write_and_rename_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert path.read_bytes() == b"old"
    [part] = leftovers(tmp_path)
    assert part.read_bytes() == b"new" and part.name.startswith(".file.") and part.name.endswith(PART)
    write_atomically(path, b"newer")  # what was left is in nobody's way
    assert path.read_bytes() == b"newer" and leftovers(tmp_path) == [part]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("interruption", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_no_part(tmp_path, monkeypatch, step, interruption):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupted(*_):
        raise interruption

    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupted)
        with pytest.raises(type(interruption)):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    steps = []
    for step in ("fsync", "replace"):
        original = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, step=step, original=original: (steps.append(step), original(*a))[1])
    write_atomically(tmp_path / "file", b"content")
    assert steps == ["fsync", "replace"]
    write_atomically(tmp_path / "file", b"content", lasting=True)
    assert steps[2:] == ["fsync", "replace", "fsync"]  # the name too, before anybody relies on it


@pytest.mark.parametrize(("mask", "mode"), [(0o000, 0o666), (0o022, 0o644), (0o077, 0o600)])
def test_a_private_file_is_for_its_owner_and_any_other_follows_the_umask(tmp_path, umask, monkeypatch, mask, mode):
    seen = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda part, path: (seen.append(part.stat().st_mode), replace(part, path))[1])
    umask(mask)
    write_atomically(tmp_path / "private", b"secret", private=True)
    write_atomically(tmp_path / "public", b"known")
    found = [(tmp_path / name).stat().st_mode for name in ("private", "public")]
    assert [stat.S_IMODE(each) for each in found] == [0o600, mode]
    assert seen == found  # never wider, not even before the rename


def test_a_file_that_was_open_to_all_becomes_private(tmp_path, umask):
    umask(0)
    path = tmp_path / "file"
    write_atomically(path, b"known")
    write_atomically(path, b"secret", private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["x" * 255, "ü" * 127, ".hidden", "a.part.csv"])
def test_any_name_will_do(tmp_path, name):
    write_atomically(tmp_path / name, b"content")
    assert names(tmp_path) == [name]


def test_leftovers_are_the_parts_alone(tmp_path):
    for name in ("whole.csv", ".hidden", "part", f".a.csv.0123{PART}", f"b.csv{PART}"):
        (tmp_path / name).write_bytes(b"")
    assert sorted(part.name for part in leftovers(tmp_path)) == [f".a.csv.0123{PART}", f"b.csv{PART}"]


def test_a_place_follows_links_and_refuses_what_is_no_regular_file(tmp_path):
    target, link, dangling, pipe = (tmp_path / name for name in ("target", "link", "dangling", "pipe"))
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "later")
    os.mkfifo(pipe)
    assert regular_place(link) == target and regular_place(str(target)) == target
    assert regular_place(dangling) == tmp_path / "later" and regular_place(tmp_path / "new") == tmp_path / "new"
    for other in (pipe, tmp_path):
        with pytest.raises(OSError, match="it is not a regular file"):
            regular_place(other)
