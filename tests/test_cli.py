"""The command line: demo and gallery write their files, and inspect answers with a summary or one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from dpcvx.cli import main
from dpcvx.studies import demo

DECLARATION = """
import cvxpy as cp
import dpcvx

def pair():
    x = cp.Variable(2)
    return dpcvx.DecisionSet(x, [x >= 0, cp.sum(x) == 1])

X = pair()
loss = cp.Variable(2)
losses = dpcvx.LossSet(loss, [loss >= 0, loss <= 1], name="losses of mine")
moved = cp.Variable(2)
change = dpcvx.Change(moved, [cp.norm1(moved) <= 0.01], name="change of mine")
number = 3

def with_argument(n):
    return pair()

def returns_a_list():
    return [pair()]

def empty():
    x = cp.Variable(2)
    return dpcvx.DecisionSet(x, [x >= 1, cp.sum(x) <= 1])
"""


@pytest.fixture
def inspect(tmp_path, capsys):
    """Run ``dpcvx inspect`` on a file with the given text; return exit code, standard output and error."""

    def run(text: str, name: str, file: str = "mine.py") -> tuple[int, str, str]:
        path = tmp_path / file
        path.write_text(text)
        code = main(["inspect", f"{path}:{name}"])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def assert_one_sentence(answer: tuple[int, str, str], *parts: str) -> None:
    code, output, error = answer
    assert code == 2
    assert output == ""
    assert error.count("\n") == 1
    assert "Traceback" not in error
    for part in parts:
        assert part in error


@pytest.mark.parametrize("name", ["X", "pair"])
def test_inspect_prints_the_summary_of_a_set_or_of_a_function_that_makes_one(inspect, name):
    code, output, error = inspect(DECLARATION, name)
    assert (code, error) == (0, "")
    assert len(output) > 40


def test_inspect_takes_loss_sets_changes_and_sets_of_the_catalogue(inspect, capsys):
    code, output, _ = inspect(DECLARATION, "losses")
    assert code == 0 and "losses of mine" in output and "diameter" in output
    code, output, _ = inspect(DECLARATION, "change")
    assert code == 0 and "change of mine" in output
    assert main(["inspect", "simplex:3"]) == 0 and "simplex(3)" in capsys.readouterr().out


def test_inspect_without_a_name_shows_all_that_a_file_declares(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(DECLARATION)
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "losses of mine" in shown and "change of mine" in shown and shown.startswith("set: variable")
    path.write_text("number = 3")
    assert main(["inspect", str(path)]) == 2
    assert "defines no DecisionSet and no LossSet and no Change." in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "other.py")]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_inspect_says_what_is_wrong_with_an_empty_set_made_by_a_function(inspect):
    assert_one_sentence(inspect(DECLARATION, "empty"))


def test_inspect_says_what_is_wrong_with_a_set_made_while_the_file_is_read(inspect):
    text = "import cvxpy as cp, dpcvx\nx = cp.Variable(3)\nX = dpcvx.DecisionSet(x, [x >= 0])\n"
    assert_one_sentence(inspect(text, "X"), "unbounded")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Y", "does not define Y; it defines X, losses, change."),
        ("number", "must be a DecisionSet, a LossSet or a Change or a function that returns one, but it has type int."),
        ("with_argument", "must work without arguments, but it needs n."),
        ("returns_a_list", "must return a DecisionSet, a LossSet or a Change, but it returned a value of type list."),
    ],
)
def test_inspect_names_what_it_found_instead_of_a_set(inspect, name, sentence):
    assert_one_sentence(inspect(DECLARATION, name), sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1\nb = a / 0\n", "raised ZeroDivisionError at line 2: division by zero"),
        ("def broken(:\n", "raised SyntaxError at line 1: "),
        ("import sys\nsys.exit(3)\n", "raised SystemExit at line 2: 3"),
        ("import no_such_module\n", "raised ModuleNotFoundError at line 1: No module named 'no_such_module'"),
        ("raise RuntimeError('two\\nlines')\n", "raised RuntimeError at line 1: two lines"),
        ("raise RuntimeError\n", "raised RuntimeError at line 1: no message."),
    ],
)
def test_inspect_reports_a_file_that_raises_in_one_sentence(inspect, text, sentence):
    assert_one_sentence(inspect(text, "X"), sentence)


def test_inspect_imports_modules_that_lie_beside_the_file(inspect, tmp_path):
    (tmp_path / "my_bounds.py").write_text("upper = 2.0\n")
    text = "import cvxpy as cp, dpcvx\nfrom my_bounds import upper\nx = cp.Variable(2)\n"
    path_before = list(sys.path)
    assert inspect(text + "X = dpcvx.DecisionSet(x, [x >= 0, x <= upper])\n", "X")[0] == 0
    assert sys.path == path_before
    del sys.modules["my_bounds"]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nowhere.py:X", "There is no file nowhere.py."),
        ("nowhere.py", "There is no file nowhere.py."),
        ("nowhere.py:", "What is wanted must be given as FILE.py:NAME, but 'nowhere.py:' came."),
    ],
)
def test_inspect_says_which_part_of_its_argument_is_wrong(capsys, target, sentence):
    assert main(["inspect", target]) == 2
    assert capsys.readouterr().err == sentence + "\n"


def test_inspect_names_the_catalogue_where_there_is_neither_file_nor_set(capsys):
    assert main(["inspect", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("There is no set 'nowhere': give FILE.py:NAME, or one of birkhoff, ")


def test_inspect_refuses_a_file_that_is_not_python(inspect):
    assert_one_sentence(inspect("X = 1", "X", file="mine.txt"), "its name must end in .py.")


def test_gallery_prints_a_table_and_draws_a_picture(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    assert main(["gallery", "--output", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert (folder / "gallery.png").read_bytes().startswith(b"\x89PNG")
    assert str(folder / "gallery.png") in printed
    assert sum("density" in line or "flows" in line or "polygon" in line for line in printed.splitlines()) == 3


def test_gallery_refuses_a_file_as_its_folder(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("")
    assert main(["gallery", "--output", str(taken)]) == 2
    assert capsys.readouterr().err.startswith(f"The picture cannot be written to {taken / 'gallery.png'}: ")


@pytest.mark.slow
def test_demo_tells_the_story_and_ends_with_the_path_of_the_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "QUICK", demo.Size(horizon=64, replicas=2, secure_rounds=3))
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--quick", "--output", str(folder)]) == 0
    printed = capsys.readouterr()
    story, _, place = printed.out.rpartition("Report: ")
    assert Path(place.strip()).is_absolute() and Path(place.strip()) == folder / "dpcvx-demo.html"
    assert list(folder.iterdir()) == [folder / "dpcvx-demo.html"]
    for part in ("DECLARED", "flow[0] + flow[1] + flow[2] == 1.0", "DERIVED", "PROMISED", "secure", "3 of 64", "PAID"):
        assert part in story
    assert printed.err.count(" ...\n") >= 10
    report = (folder / "dpcvx-demo.html").read_text(encoding="utf-8")
    assert "flow[9] + flow[11] == flow[14]" in report and "Privacy certificate: bandit" in report
    assert report.count('<svg role="img"') == 8 and "dpcvx demo --quick" in report


@pytest.mark.parametrize("place", ["taken", "taken/below", "locked"])
def test_demo_refuses_a_folder_in_which_it_cannot_write_before_it_works(tmp_path, capsys, monkeypatch, place):
    def locked(**_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "taken").write_text("")
    (tmp_path / "locked").mkdir()
    if place == "locked":
        monkeypatch.setattr("tempfile.TemporaryFile", locked)
    monkeypatch.setattr(demo, "run", None)  # calling it would raise
    assert main(["demo", "--output", str(tmp_path / place)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"The report cannot be written to {tmp_path / place / 'dpcvx-demo.html'}: ")
    assert error.count("\n") == 1 and not list((tmp_path / "locked").iterdir())


def test_an_unknown_command_exits_with_two(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fly"])
    assert stopped.value.code == 2
    assert "fly" in capsys.readouterr().err


def test_the_installed_command_runs(tmp_path):
    command = Path(sys.executable).with_name("dpcvx")
    if not command.exists():
        pytest.skip("the package is not installed with its console script")
    finished = subprocess.run(
        [command, "inspect", "nowhere.py:X"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert finished.stderr == "There is no file nowhere.py.\n"


def test_asking_for_help_does_not_load_the_drawing_code(tmp_path):
    check = (
        "import sys; from dpcvx.cli import main\ntry: main(['--help'])\nfinally: assert 'matplotlib' not in sys.modules"
    )
    finished = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "AssertionError" not in finished.stderr
    assert "usage: dpcvx" in finished.stdout


def test_an_interruption_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr("dpcvx.studies.counter_table.table", lambda horizon: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["counters", "--horizon", "8"]) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."
