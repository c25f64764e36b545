"""What the documents say is so: what they name exists, and the version stands in one place."""

import re
import tomllib
from pathlib import Path

import pytest

from dpcvx.cli import main
from dpcvx.version import __version__

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def missing_paths(text):
    """Paths between backquotes that are not there; placeholders such as <cone> stand for anything."""
    named = re.findall(r"`((?:dpcvx|decision_sets|tests|benchmarks|examples|\.ci)/[^`\s]*)`", text)
    assert named
    return [path for path in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", path.rstrip("/"))))]


def missing_names(text):
    """`NAME` in `path`, where the file does not define it."""
    named = re.findall(r"`([A-Z_]{3,})` (?:in|of) `([^`]+\.py)`", text)
    assert named
    return [pair for pair in named if not re.search(rf"^{pair[0]}\b.*=", text_of(pair[1]), re.MULTILINE)]


def test_what_the_documents_name_is_there():
    guide = text_of("CONTRIBUTING.md")
    assert missing_paths(guide + text_of("ARCHITECTURE.md")) == []
    assert missing_names(guide) == []


def test_that_test_would_notice():
    assert missing_paths("`dpcvx/cli.py` `dpcvx/nowhere.py` `tests/<any>/test_cones.py` `dpcvx/barriers/`") == [
        "dpcvx/nowhere.py"
    ]
    assert missing_names("`COMMANDS` in `dpcvx/cli.py`, `NOTHING` of `dpcvx/cli.py`") == [("NOTHING", "dpcvx/cli.py")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_between_documents_lead_somewhere(name):
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text_of(name)) if "://" not in link]
    assert all((ROOT / link).exists() for link in links)


def test_the_version_stands_in_one_place(capsys):
    project = tomllib.loads(text_of("pyproject.toml"))
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dpcvx.version.__version__"}
    assert "\nversion:" not in text_of("CITATION.cff")
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"dpcvx {__version__}\n"


def test_the_changelog_tells_of_this_version():
    assert re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)[:2] == ["Unreleased", __version__]
