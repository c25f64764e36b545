"""The demo's report in a real browser: no complaint, nothing loaded, every figure visible, no wider than a phone.

The page is put into a frame of a given width, and the page around it writes down what the browser made of it.
"""

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpcvx.cli import main
from dpcvx.markup import Html
from dpcvx.report import Page, table

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE, DESK = 360, 1100

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium found; install it to test reports in a browser"),
]
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--enable-logging=stderr", "--v=0", "--dump-dom", "--window-size=1600,900"),
)
AROUND = """<!DOCTYPE html><title>test</title><pre id="seen"></pre><script>
function look(frame) {
  const page = frame.contentDocument, root = page.documentElement, style = frame.contentWindow.getComputedStyle;
  const figures = [...page.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect(), text = svg.querySelector("text");
    return {width: box.width, height: box.height, role: svg.getAttribute("role"), label: svg.ariaLabel,
            drawn: svg.getBBox().width, ink: text ? style(text).fill : null};
  });
  document.getElementById("seen").textContent = JSON.stringify({
    width: root.clientWidth, needed: root.scrollWidth, figures,
    headings: [...page.querySelectorAll("h1, h2, h3")].map(heading => heading.tagName),
    loaded: frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name),
    background: style(page.body).backgroundColor, colour: style(page.body).color,
  });
}
</script><iframe style="width:%dpx;height:800px;border:0" onload="look(this)" srcdoc="%s"></iframe>"""


@dataclass
class Seen:
    """What the browser made of a page: its messages, and measures of the page."""

    messages: list[str]
    measures: dict

    @property
    def overflow(self) -> int:
        return self.measures["needed"] - self.measures["width"]


@pytest.fixture
def look(tmp_path):
    def look(page: str, width: int, *, dark: bool = False) -> Seen:
        around = tmp_path / "around.html"
        around.write_text(AROUND % (width, html.escape(page)), encoding="utf-8")
        scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
        command = [BROWSER, *OPTIONS, scheme, f"--user-data-dir={tmp_path / 'profile'}", around.as_uri()]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        [seen] = re.findall(r'<pre id="seen">(.*?)</pre>', ran.stdout, re.DOTALL)
        messages = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
        return Seen(messages, json.loads(html.unescape(seen)))

    return look


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    assert main(["demo", "--quick", "--output", str(folder)]) == 0
    return (folder / "dpcvx-demo.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def route_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("route")
    town = Path(__file__).parents[2] / "examples" / "small_town"
    ends = ["--from", "1", "--to", "30", "--days", "40", "--replicas", "2"]
    assert main(["route", str(town), *ends, "--output", str(folder)]) == 0
    return (folder / "route.html").read_text(encoding="utf-8")


WIDTHS = [(PHONE, False), (PHONE, True), (DESK, False), (DESK, True)]


@pytest.mark.parametrize(("width", "dark"), WIDTHS)
def test_the_demo_report_is_right_in_a_browser(look, report, width, dark):
    looks_right(look(report, width, dark=dark), width, dark, figures=8)


@pytest.mark.parametrize(("width", "dark"), [(400, False), (400, True), (1400, False), (1400, True)])
def test_the_report_on_routes_is_right_in_a_browser(look, route_report, width, dark):
    looks_right(look(route_report, width, dark=dark), width, dark, figures=6)


def looks_right(seen: Seen, width: int, dark: bool, figures: int) -> None:
    """The page fits, is drawn as a whole in its own colours, and loads nothing."""
    assert seen.messages == [] and seen.measures["loaded"] == []
    assert seen.measures["width"] in range(width - 20, width + 1) and seen.overflow == 0
    drawn = seen.measures["figures"]
    assert len(drawn) == figures
    for each in drawn:
        assert 250 < each["width"] <= width and each["height"] > 100 and each["drawn"] > 100
        assert each["role"] == "img" and len(each["label"]) > 40
        assert each["ink"] == seen.measures["colour"]
    assert len({each["label"] for each in drawn}) == len(drawn)
    headings = seen.measures["headings"]
    assert headings[0] == "H1" and headings.count("H1") == 1 and headings.count("H2") >= 5 and headings[1] == "H2"
    brightness = sum(map(int, re.findall(r"\d+", seen.measures["background"])[:3]))
    assert brightness < 150 if dark else brightness == 3 * 255


def test_a_broken_script_and_what_is_loaded_from_elsewhere_are_seen(look):
    broken = Page("broken").add("part", Html("<script>no_such_thing()</script>")).render()
    assert any("no_such_thing" in line for line in look(broken, PHONE).messages)
    loading = Page("loading").add("part", Html('<img src="http://localhost:9/picture.png">')).render()
    assert look(loading, PHONE).measures["loaded"] == ["http://localhost:9/picture.png"]


def test_a_table_is_caught_where_it_makes_the_page_too_wide_and_scrolls_within_its_box(look):
    rows = [["word" * 10] * 12]
    bare = Page("wide").add("part", Html(f"<div>{table((), rows)}</div>".replace(' class="wide"', ""))).render()
    assert look(bare, PHONE).overflow > 500
    boxed = Page("wide").add("part", table((), rows)).render()
    assert look(boxed, PHONE).overflow == 0
