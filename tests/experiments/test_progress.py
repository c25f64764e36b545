"""The progress bar: how far the loop is, and how much longer it will take."""

import io

from dpcvx.experiments import progress


def test_the_progress_bar_tells_the_time_left(monkeypatch):
    terminal, now = io.StringIO(), [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.ProgressBar(1000, terminal) as bar:
        now[0] = 100.0
        bar.show(250)
        assert " 25 %  250/1000  5:00 left" in terminal.getvalue()
        written = len(terminal.getvalue())
        now[0] = 100.1
        bar.show(251)
        assert len(terminal.getvalue()) == written
        now[0] = 20_000.0
        bar.show(500)
        assert "5:33:20 left" in terminal.getvalue()
