"""The documentation names what there is: every public name in its reference, and no path that is not there."""

import re
from pathlib import Path

from test_docstrings import public_names

DOCS = Path(__file__).parents[1] / "docs"
ROOT = DOCS.parent


def referenced(text):
    """The names that have a page of their own."""
    return set(re.findall(r"^   ((?:dpcvx|decision_sets)\.[\w.]+)$", text, re.MULTILINE))


def missing_paths(text):
    named = re.findall(r"`(?:python )?((?:dpcvx|decision_sets|tests|benchmarks|examples)/[^`\s]*)", text)
    return [path for path in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", path.rstrip("/"))))]


def test_every_public_name_is_in_the_reference():
    listed = referenced((DOCS / "api" / "index.rst").read_text(encoding="utf-8"))
    assert set(public_names()) <= listed


def test_a_name_that_was_left_out_is_found():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    assert not set(public_names()) <= referenced(text.replace("   dpcvx.FTRL\n", ""))


def test_files_that_the_pages_name_are_there():
    pages = [*DOCS.glob("*.md"), *DOCS.glob("start/*.md"), *DOCS.glob("theory/*.md"), *DOCS.glob("scripts/*/*.py")]
    assert len(pages) > 15
    for page in pages:
        if page.name != "changelog.md":
            assert missing_paths(page.read_text(encoding="utf-8")) == [], page.name
    assert missing_paths("`python benchmarks/nothing.py`") == ["benchmarks/nothing.py"]
