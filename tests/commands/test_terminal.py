"""The command line in real terminals: narrow ones, ASCII ones, pipes, and Ctrl-C in the middle."""

import io
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from dpcvx.cli import COMMANDS, main
from dpcvx.commands.terminal import speak_any_language
from dpcvx.experiments.text_table import TextTable, folded, paragraph, window

SLEEPING = """
import time
import dpcvx

def task(seed, level):
    time.sleep(0.2 if level < 2 else 60)
    return {"value": level}

sweep = dpcvx.Sweep(task, {"level": [0, 1, 2, 3, 4, 5]}, 1)
"""


def test_signs_that_a_terminal_lacks_are_written_in_letters():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    speak_any_language(stream)
    stream.write("3 ± 1, x ≥ 2, ∞")
    assert raw.getvalue() == b"3 +- 1, x >= 2, ?"


def test_without_that_an_ascii_terminal_fails():
    with pytest.raises(UnicodeEncodeError):
        io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True).write("±")


@pytest.mark.slow
def test_price_survives_an_ascii_locale(tmp_path):
    words = ["price", "cube:1", "--epsilon", "1", "--horizon", "8", "--replicas", "2", "--workers", "1"]
    finished = subprocess.run(
        [sys.executable, "-m", "dpcvx", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert b"+-" in finished.stdout and finished.stdout.isascii()


ROWS = [("name", "alpha", "beta", "gamma"), ("first", "1", "22", "333"), ("second", "4444", "5", "6")]


def test_a_narrow_window_shows_columns_below_each_other_with_their_names():
    table = TextTable.fitting(ROWS, "<>>>")
    assert len(table.lines(ROWS)) == 3
    with window(18):
        lines = table.lines(ROWS)
    assert max(map(len, lines)) <= 18
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) == 3 and all(block.startswith("name") and "second" in block for block in blocks)
    shown = {word for line in lines for word in line.split()}
    assert shown == {word for row in ROWS for word in row}
    with window(200):
        assert table.lines(ROWS) == [table.line(row) for row in ROWS]


def test_a_header_above_is_repeated_only_where_columns_are_split():
    table = TextTable.fitting(ROWS, "<>>>")
    assert table.lines_under(ROWS[0], ROWS[1:]) == table.lines(ROWS)[1:]
    with window(18):
        assert table.lines_under(ROWS[0], ROWS[1:])[0].startswith("name")


def test_counters_need_no_horizon(capsys):
    assert main(["counters"]) == 0
    assert "horizon 16384" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_fits_forty_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 40


def test_counters_fit_forty_columns(capsys, monkeypatch):
    monkeypatch.setattr("dpcvx.cli.columns_of", lambda stream: 40)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["counters", "--horizon", "64"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 40
    assert sum(line.strip().startswith("counter") for line in lines) > 1


def test_lines_too_long_for_a_window_are_broken_between_words_and_no_others_are_touched():
    table, path = "    1  epsilon   2.5", "/a/very/long/path/that/has/no/blank/in/it/report.html"
    prose = "  regret       at most 10.3 over 500 rounds, in expectation"
    with window(40):
        lines = folded(f"{table}\n{prose}\nReport: {path}\n").split("\n")
    assert lines == [
        table,
        "  regret       at most 10.3 over 500",
        "    rounds, in expectation",
        "Report:",
        f"  {path}",
        "",
    ]
    assert folded(prose * 9) == prose * 9  # a file or a pipe


def test_a_paragraph_fits_the_window_and_is_never_wider_than_120():
    words = "privacy is free down to epsilon one " * 9
    with window(40):
        assert max(len(line) for line in paragraph(words).split("\n")) <= 40
    with window(300):
        assert 100 < max(len(line) for line in paragraph(words).split("\n")) <= 120


def test_errors_and_findings_fit_forty_columns(capsys, monkeypatch):
    monkeypatch.setattr("dpcvx.cli.columns_of", lambda stream: 40)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert main(["price", "octahedron:3"]) == 2
    assert main(["inspect", "simplex:3"]) == 0
    said = capsys.readouterr()
    assert max(len(line) for line in (said.out + said.err).splitlines()) <= 40
    assert "permutahedron," in said.err and "multiplier" in said.out  # whole words


def test_an_interruption_tells_of_what_is_kept_only_where_something_is(tmp_path, capsys, monkeypatch):
    (tmp_path / "mine.py").write_text(SLEEPING)

    def interrupted(self, folder, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcvx.experiments.sweep.task.Sweep.run", interrupted)
    words = ["sweep", str(tmp_path / "mine.py"), "--output", str(tmp_path / "s")]
    assert main(words) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / f"level=1-{'0' * 16}.csv").touch()
    assert main(words) == 130
    assert "what was finished is kept in" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX systems is needed")
def test_control_c_in_a_terminal_ends_a_sweep_without_tracebacks(tmp_path):
    """A real terminal of 40 columns: Ctrl-C reaches the command and its workers at once."""
    import fcntl
    import pty
    import struct
    import termios

    (tmp_path / "mine.py").write_text(SLEEPING)
    pid, terminal = pty.fork()
    if not pid:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell in the background leaves it ignored
        os.execv(
            sys.executable,
            [
                sys.executable,
                "-m",
                "dpcvx",
                "sweep",
                str(tmp_path / "mine.py"),
                "--output",
                str(tmp_path / "s"),
                "--workers",
                "2",
            ],
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    seen = b""
    until = time.monotonic() + 150
    pressed = False
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                more = os.read(terminal, 4096)
            except OSError:
                break
            if not more:
                break
            seen += more
        if not pressed and len(list((tmp_path / "s").glob("*.csv"))) >= 2:
            os.write(terminal, b"\x03")
            pressed = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = seen.decode()
    assert pressed and os.waitstatus_to_exitcode(status) == 130, text
    assert "Traceback" not in text and "KeyboardInterrupt" not in text
    assert "what was finished is kept in" in text
    bars = [re.sub(r"\x1b\[K|\^C", "", part) for part in re.split(r"[\r\n]", text) if part.startswith("[")]
    assert bars and max(map(len, bars)) <= 40


def test_the_help_of_every_command_fits_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 70 and "``" not in shown
