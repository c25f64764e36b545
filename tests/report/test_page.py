"""A page is one deterministic file that needs nothing else, with everything escaped and figures that do not clash."""

import os
import re

import cvxpy as cp
import numpy as np
import pytest
from matplotlib.figure import Figure
from report_outline import Outline

from dpcvx import FTRL, DecisionSet, LossSet
from dpcvx.report import Page, certificate, declaration, figure, paragraph, preformatted, reproduce, side_by_side, table
from dpcvx.report.style import COLOURS, NAMED

HOSTILE = '<script>alert("1")</script> & more'


def curve(shift=0.0, **style):
    drawn = Figure(figsize=(4, 3))
    ax = drawn.add_subplot()
    ax.plot([1, 10, 100], [1 + shift, 2, 3], marker="o", label="a < b", **style)
    ax.fill_between([1, 100], [0, 0], [1, 1], alpha=0.2)
    ax.set(xscale="log", title="tom & jerry")
    ax.legend()
    return drawn


def sets():
    x, loss = cp.Variable(4, nonneg=True, name="x"), cp.Variable(4, name="loss")
    return DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4]), LossSet(loss, [loss >= 0, loss <= 1])


def full_page():
    X, Y = sets()
    learner = FTRL(X, Y, horizon=64, epsilon=1.0)
    page = Page(HOSTILE, "a `code` word")
    page.add("Words", "plain", paragraph("marked `x < 1`"), preformatted("a <b>\n  c"))
    page.add("Numbers", table(("name", "value"), [("one", 1), ("two", HOSTILE)], caption="counts"))
    page.add("Pictures", side_by_side(figure(curve(), alternative='a "curve"'), figure(curve(1.0), alternative="two")))
    page.add("Sets", declaration(X), declaration(Y), certificate(learner.certificate))
    return page.add("Again", reproduce(["dpcvx demo"])).render()


@pytest.fixture(scope="module")
def html():
    return full_page()


def test_a_page_is_well_formed_and_escapes_all_words(html):
    outline = Outline(html)
    assert "<script" not in html and html.count("&lt;script&gt;") == 3
    assert [tag for tag, _ in outline.elements if tag in ("h1", "h2")] == ["h1"] + ["h2"] * 5
    assert "<code>x &lt; 1</code>" in html


def test_a_page_loads_nothing_from_elsewhere(html):
    assert "://" not in html and "@import" not in html
    assert all(link.startswith(("#", "data:")) for link in Outline(html).having("href"))
    assert not Outline(html).having("src")


def test_the_same_page_is_the_same_file(html):
    assert full_page() == html


def test_ids_of_several_figures_do_not_clash_and_every_reference_is_met(html):
    ids = Outline(html).having("id")
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', html))
    assert len(ids) == len(set(ids)) and used == set(ids) and len(used) > 4


def test_figures_have_words_and_take_their_colours_from_the_page():
    block = figure(curve(), alternative='a "curve"', caption="below")
    [svg] = [attrs for tag, attrs in Outline(block).elements if tag == "svg"]
    assert svg["role"] == "img" and svg["aria-label"] == 'a "curve"' and "width" not in svg
    assert "<figcaption>below</figcaption>" in block and "tom &amp; jerry" in block
    assert "stroke: currentColor" in block and not re.search(r": #(000000|ffffff|1f77b4)", block)
    assert "var(--c0, #1f77b4)" in block and "DejaVu" not in block
    with pytest.raises(ValueError, match="alternative must say"):
        figure(curve(), alternative=" ")


@pytest.mark.parametrize("dark", [False, True])
def test_colours_contrast_with_the_page(dark):
    def luminance(colour):
        channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    page, panel = NAMED["page"][dark], NAMED["panel"][dark]
    for pair in (*COLOURS.values(), NAMED["quiet"], NAMED["ink"]):
        assert contrast(pair[dark], page) >= 4.5 and contrast(pair[dark], panel) >= 4.5
    assert any(contrast(usual, "#15181d") < 4.5 for usual in COLOURS)  # matplotlib's own would fail


def test_the_declaration_shows_the_constraints_as_cvxpy_prints_them():
    X, Y = sets()
    html = declaration(X)
    assert X.declared == ("sum(x) == 1.0", "x[0] <= 0.4", "x is nonneg")
    assert "x[0] &lt;= 0.4" in html and "3 of 4 entries are free" in html and "How it was derived" in html
    assert "loss &lt;= 1.0" in declaration(Y) and "diameter, 1-norm" in declaration(Y)


def test_notebooks_show_sets_and_certificates_escaped():
    X, Y = sets()
    assert "x[0] &lt;= 0.4" in X._repr_html_() and "nu" in X._repr_html_()
    assert "diameter (p=inf)" in Y._repr_html_()
    secure, simulated = FTRL(X, Y, 64, 1.0), FTRL(X, Y, 64, 1.0, seed=0)
    assert "Privacy certificate" in secure.certificate._repr_html_()
    assert "Simulation: not private" in simulated.certificate._repr_html_()
    for shown in (X, Y, secure.certificate):
        Outline(shown._repr_html_())


def test_the_declaration_of_a_curved_set_takes_its_size_from_the_dikin_ellipsoid():
    S = cp.Variable((12, 12), symmetric=True)
    X = DecisionSet(S, [S >> 0, cp.trace(S) == 1, S[0, 1] <= 0.3])
    assert "by its Dikin ellipsoid" in declaration(X)
    assert X.geometry.central_radius >= np.linalg.norm(np.diag([1.0] + [0.0] * 11) - X.center)


def test_long_constants_do_not_fill_the_page():
    x = cp.Variable(3000)
    X = DecisionSet(x, [x >= np.arange(3000.0), x <= np.arange(3000.0) + 1])
    assert len(declaration(X)) < 4000


def test_writing_replaces_the_file_in_one_step_or_leaves_it(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    page = Page("new")

    def broken(*_):
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", broken)
        with pytest.raises(OSError, match="no"):
            page.write(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    assert page.write(path) == path and "<h1>new</h1>" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_what_is_no_file_stays(tmp_path):
    target, link, pipe = tmp_path / "target.html", tmp_path / "link.html", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    Page("new").write(link)
    assert link.is_symlink() and "new" in target.read_text()
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        Page("new").write(pipe)
    assert pipe.is_fifo()
