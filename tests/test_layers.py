"""The layers of the package: imports go down, never round, and take no private names; the check itself is checked."""

import subprocess
import sys

import pytest
from import_graph import Arrangement, arrows, draw
from layers import LAYERS, ROOT, Import, cycle, misplaced, modules_in, place_of, read, upward


@pytest.fixture(scope="module")
def modules():
    return modules_in(ROOT)


@pytest.fixture(scope="module")
def reading(modules):
    return read(modules)


def test_no_module_imports_itself_by_a_detour(reading):
    assert cycle(reading.imports) == []


def test_every_module_stands_in_a_layer_and_every_layer_is_there(modules):
    assert misplaced(modules) == []


def test_every_import_goes_down(reading):
    assert list(upward(reading.imports)) == []


def test_private_names_stay_in_their_modules_and_targets_are_written_down(reading):
    assert list(reading.offences) == []


def test_most_imports_were_read(reading):
    """Some that are known: from a package, of a module, in a function, for types."""
    found = {(each.importer, each.imported) for each in reading.imports}
    assert len(found) > 700
    assert ("dpcvx.learners.player", "dpcvx.checkpoints") in found
    assert ("dpcvx.report.page", "dpcvx.markup") in found
    assert ("dpcvx.commands.demo", "dpcvx.report.demo_page") in found


def test_the_package_does_not_load_the_catalogue():
    check = "import sys, dpcvx; sys.exit('decision_sets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


TREE = {
    "dpcvx/__init__.py": "from dpcvx.high.top import thing",
    "dpcvx/low/__init__.py": "",
    "dpcvx/low/ground.py": "thing = 1\n_hidden = 2",
    "dpcvx/low/beside.py": "from . import ground",
    "dpcvx/high/__init__.py": "",
    "dpcvx/high/top.py": "import dpcvx.low.ground\nfrom dpcvx.low.ground import thing",
    "dpcvx/other.py": "",
    "decision_sets/__init__.py": "",
}
ROWS = (("dpcvx.low", "dpcvx.other"), ("decision_sets",), ("dpcvx.high",), ("dpcvx",))


@pytest.fixture
def tree(tmp_path):
    """Read a small made-up tree, in which some files are replaced."""

    def made(**changed):
        for name, text in (TREE | {name.replace("__", "/") + ".py": text for name, text in changed.items()}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return modules_in(tmp_path)

    return made


def test_a_tree_in_order_is_let_pass(tree):
    modules = tree()
    found = read(modules)
    assert not (cycle(found.imports) or upward(found.imports, ROWS) or misplaced(modules, ROWS) or found.offences)
    pairs = sorted({(each.importer, each.imported) for each in found.imports})
    assert pairs == [
        ("dpcvx", "dpcvx.high.top"),
        ("dpcvx.high.top", "dpcvx.low.ground"),
        ("dpcvx.low.beside", "dpcvx.low.ground"),
    ]


def test_a_cycle_is_found_within_one_layer_too(tree):
    found = read(tree(dpcvx__low__ground="def late():\n    from dpcvx.low.beside import ground"))
    assert upward(found.imports, ROWS) == []
    assert sorted(set(cycle(found.imports))) == ["dpcvx.low.beside", "dpcvx.low.ground"]


@pytest.mark.parametrize(
    "text",
    [
        "import dpcvx.high.top",
        "from dpcvx.high import top",
        "from dpcvx.high.top import thing",
        "from dpcvx.high import *",
        "from ..high.top import thing",
        "import dpcvx",
        "def late():\n    import dpcvx.high.top as high",
        "class Kind:\n    async def late(self):\n        from dpcvx.high import top",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dpcvx.high.top import thing",
        "try:\n    import dpcvx.high.top\nexcept ImportError:\n    pass",
        "import importlib\ntop = importlib.import_module('dpcvx.high.top')",
        "import importlib as i\ndef late(): return i.import_module('..high.top', __package__)",
        "from importlib import import_module as load\ntop = [load('dpcvx.high.top').thing]",
        "top = __import__('dpcvx.high.top')",
        "import builtins\ntop = (lambda: builtins.__import__('dpcvx.high'))()",
        "from importlib import import_module\nimport_module(import_module('dpcvx.high.top').thing)",
        "import dpcvx.other",  # beside it
    ],
)
def test_an_upward_import_is_found_wherever_it_hides(tree, text):
    found = read(tree(dpcvx__low__beside=text))
    [offence] = upward(found.imports, ROWS)
    assert offence.startswith("dpcvx.low.beside, line ") and offence.endswith(", which does not stand below it")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from dpcvx.low.ground import _hidden", "takes the private name _hidden from dpcvx.low.ground"),
        ("from .ground import thing, _hidden as seen", "takes the private name _hidden from dpcvx.low.ground"),
        ("from dpcvx.low import ground\nground._hidden", "takes the private name _hidden from dpcvx.low.ground"),
        ("import dpcvx.low.ground\nprint(dpcvx.low.ground._hidden)", "takes the private name _hidden from dpcvx.low"),
        ("import dpcvx.low.ground as g\nlambda: g._hidden()", "takes the private name _hidden from dpcvx.low.ground"),
        ("import importlib\nimportlib.import_module('dpcvx.' + 'high')", "imports a module whose name is not written"),
        ("name = 'dpcvx.high'\n__import__(name)", "imports a module whose name is not written there"),
        ("import importlib\nload = importlib.import_module", "hands on a function that imports modules"),
        ("from importlib import import_module\nlist(map(import_module, []))", "hands on a function that imports"),
    ],
)
def test_private_names_and_hidden_targets_are_found(tree, text, words):
    [offence] = read(tree(dpcvx__low__beside=text)).offences
    assert offence.startswith("dpcvx.low.beside, line ") and words in offence


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp._private",
        "from dpcvx.low.ground import thing\nthing._own",
        "import dpcvx.low.ground\n_x = 1\n_x",
    ],
)
def test_private_names_of_others_and_of_objects_are_not_its_business(tree, text):
    assert read(tree(dpcvx__low__beside=text)).offences == ()


def test_a_module_without_a_layer_and_a_layer_without_a_module_are_named(tree):
    modules = tree(dpcvx__lower="", dpcvx__new__room="")
    assert misplaced(modules, (*ROWS, ("dpcvx.gone",))) == [
        "dpcvx.lower stands in no layer",
        "dpcvx.new.room stands in no layer",
        "dpcvx.gone is no module",
    ]


def test_a_module_belongs_to_the_longest_name_that_begins_its_own():
    rows = (("dpcvx.sets.conic",), ("dpcvx.sets",), ("dpcvx",))
    assert place_of("dpcvx.sets.conic.lift", rows) == (0, "dpcvx.sets.conic")
    assert place_of("dpcvx.sets.conics", rows) == place_of("dpcvx.sets", rows) == (1, "dpcvx.sets")
    assert place_of("dpcvx", rows) == (2, "dpcvx") and place_of("dpcvx.setsuna", rows) == (-1, "")


@pytest.mark.slow
def test_the_picture_shows_every_package_and_arrows_that_say_something_new(reading, tmp_path):
    rows = (("dpcvx.a",), ("dpcvx.b",), ("dpcvx.c",), ("dpcvx.d",))
    pairs = [("d", "c"), ("c", "b"), ("d", "b"), ("d", "a"), ("b", "a"), ("a", "d")]
    found = arrows([Import(f"dpcvx.{a}.x", f"dpcvx.{b}.x", 1) for a, b in pairs], rows)
    assert found == {("dpcvx.d", "dpcvx.c"), ("dpcvx.c", "dpcvx.b")}
    placed = Arrangement(arrows(reading.imports))
    assert placed.ways and all(
        [row for row, _ in way] == list(range(way[0][0], way[-1][0] - 1, -1)) for way in placed.ways
    )
    draw().savefig(tmp_path / "graph.svg", metadata={"Date": None})
    svg = (tmp_path / "graph.svg").read_text()
    assert all(f"<!-- {name.removeprefix('dpcvx.')} -->" in svg for beside in LAYERS for name in beside)
