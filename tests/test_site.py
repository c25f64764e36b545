"""What looks at the built pages finds what is wrong with them: dead links, strangers, pages that are too wide."""

import importlib.util
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def loaded(name):
    made = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def page(body):
    return f"<!doctype html><html><head><title>t</title></head><body>{body}</body></html>"


def test_dead_links_and_foreign_scripts_are_found(tmp_path):
    (tmp_path / "a.html").write_text(page('<h1 id="top">a</h1><a href="b.html#there">b</a>'), encoding="utf-8")
    (tmp_path / "b.html").write_text(page('<p id="there"><a href="a.html#top">a</a></p>'), encoding="utf-8")
    check = loaded("check_links")
    assert check.faults(tmp_path) == ([], 2, 0)
    (tmp_path / "b.html").write_text(
        page('<a href="a.html#gone"></a><a href="c.html"></a><script src="https://x.example/y.js"></script>'),
        encoding="utf-8",
    )
    wrong, followed, elsewhere = check.faults(tmp_path)
    assert (len(wrong), followed, elsewhere) == (4, 3, 0)
    assert any("without that anchor" in words for words in wrong)
    assert any("no file" in words for words in wrong)
    assert any("another host" in words for words in wrong)


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), reason="no Chromium")
def test_pages_that_are_too_wide_or_lack_pictures_are_found(tmp_path):
    (tmp_path / "good.html").write_text(page("<p>words</p>"), encoding="utf-8")
    check = loaded("check_pages")
    with check.served(tmp_path) as address:
        assert check.layout_faults(tmp_path, address) == []
        (tmp_path / "wide.html").write_text(page('<div style="width:900px">wide</div>'), encoding="utf-8")
        (tmp_path / "torn.html").write_text(page('<img src="nothing.png">'), encoding="utf-8")
        wrong = check.layout_faults(tmp_path, address)
    assert [words.split()[0] for words in wrong] == ["torn.html", "torn.html", "wide.html"]
    assert "900" in wrong[-1] or "908" in wrong[-1]
