"""Progress: how far the loop is, how much longer it will take, on terminals of any width and where there is none."""

import io

import pytest

from dpcvx.experiments import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_progress_bar_tells_the_time_left(clock):
    terminal = Terminal()
    with progress.ProgressBar(1000, terminal) as bar:
        clock[0] = 100.0
        bar.show(250)
        assert " 25 %  250/1000  5:00 left" in terminal.getvalue()
        written = len(terminal.getvalue())
        clock[0] = 100.1
        bar.show(251)
        assert len(terminal.getvalue()) == written
        clock[0] = 20_000.0
        bar.show(500)
        assert "5:33:20 left" in terminal.getvalue()


@pytest.mark.parametrize("columns", [20, 39, 60, 119])
def test_a_line_fits_its_terminal_and_shows_at_least_the_share(clock, columns):
    bar = progress.ProgressBar(123_456, Terminal(), label="measuring something that has a very long name")
    for done in (0, 1, 60_000, 123_456):
        bar._done = done
        line = bar.line(3600.0, columns)
        assert len(line) <= columns and f"{100 * done // 123_456} %" in line
    assert "[" in bar.line(3600.0, 39) and (bar.label in bar.line(3600.0, 119))


def test_where_there_is_no_terminal_a_line_is_written_every_ten_seconds(clock):
    pipe = io.StringIO()
    with progress.ProgressBar(100, pipe) as bar:
        for second in range(1, 31):
            clock[0] = float(second)
            bar.show(second)
    lines = pipe.getvalue().splitlines()
    assert [next(word for word in line.split() if "/" in word) for line in lines] == ["10/100", "20/100", "30/100"]
    assert "\r" not in pipe.getvalue() and "\x1b" not in pipe.getvalue()


def test_a_long_first_step_is_no_silence(monkeypatch):
    """The sign of life comes from another thread, while the loop has not finished anything."""
    monkeypatch.setattr(progress, "_FIRST", 0.01)
    terminal = Terminal()
    with progress.ProgressBar(3, terminal, label="thinking") as bar:
        for _ in range(500):
            if terminal.getvalue():
                break
            bar._ended.wait(0.01)
    assert "  0 %  0/3" in terminal.getvalue() and "thinking" in terminal.getvalue()


def test_what_is_not_wanted_is_not_shown(capsys):
    for bar in (progress.progress_bar(2, False), progress.progress_bar(2, None)):
        with bar:
            bar.show(2)
    assert capsys.readouterr().err == ""


def test_a_notebook_is_watched_like_a_terminal_and_its_line_is_written_over(clock, monkeypatch):
    """The output of a cell is no terminal, and knows no escape sequences that erase."""
    cell = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(progress.sys, "stderr", cell)
    with progress.progress_bar(100, None) as bar:
        for second, done in ((60, 1), (61, 99)):
            clock[0] = float(second)
            bar.show(done)
    assert "\x1b" not in cell.getvalue() and cell.getvalue().count("\r") == 2
    first, second = cell.getvalue().rstrip("\n").split("\r")[1:]
    assert len(second) >= len(first) and "99 %" in second
    pipe = io.StringIO()
    monkeypatch.setattr(progress.sys, "stderr", pipe)
    assert progress.progress_bar(100, None).stream is None  # what nobody watches stays silent
