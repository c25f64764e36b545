"""Where a command may write: a file, new or old, and nothing that a file must not replace."""

import os

import pytest

from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing


def test_a_place_for_a_file_is_let_pass_and_left_as_it_was(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    for name in ("old", "link", "new"):
        check_place(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old"]
    assert (tmp_path / "old").read_text() == "old"


def test_what_is_no_regular_file_is_refused_in_one_sentence(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "pipe", "it is not a regular file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none" / "file", "No such file or directory"),
    ):
        with pytest.raises(InputError) as caught, writing("report", path):
            check_place(path)
        assert str(caught.value) == f"The report cannot be written to {path}: {words}."
    assert (tmp_path / "pipe").is_fifo()
