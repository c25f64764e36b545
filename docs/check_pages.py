"""Look at the built pages in a real browser: `python docs/check_pages.py docs/_build/html`.

Every page is laid out 400 and 1400 pixels wide and must not be wider than that, and its pictures must load; and the
search of the site must find pages by words that stand on them. Needs Chromium; pages are served on this machine only.
"""

import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WIDTHS = (400, 1400)
SEARCHES = {  # words, and a page that they must find
    "smooth tree": "how_it_works/3_counters.html",
    "LazyWeights": "api/generated/dpcvx.LazyWeights.html",
    "oblivious": "glossary.html",
    "rollback": "tutorials/6_a_learner_in_a_service.html",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
LOOK = """<!doctype html><body><pre id="found">waiting</pre><script>
const pages = %s, widths = %s, found = [];
async function look(page, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = page;
  await new Promise((done) => { frame.onload = done; document.body.append(frame); });
  const inside = frame.contentDocument, wide = inside.scrollingElement.scrollWidth;
  const pictures = [...inside.images].filter((one) => one.complete && !one.naturalWidth);
  found.push([page, width, wide, pictures.length, inside.title]);
  frame.remove();
}
(async () => {
  for (const page of pages) for (const width of widths) await look(page, width);
  document.getElementById("found").textContent = JSON.stringify(found);
})();
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which a folder can be seen."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def shown(address: str, milliseconds: int) -> str:
    """What a page looks like to the browser once its scripts have run."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        sys.exit("There is no Chromium; the pages were not looked at.")
    with tempfile.TemporaryDirectory() as profile:
        options = [*FLAGS, f"--user-data-dir={profile}", f"--virtual-time-budget={milliseconds}", "--dump-dom"]
        ran = subprocess.run([browser, *options, address], capture_output=True, text=True, timeout=300, check=True)
    return ran.stdout


def layout_faults(folder: Path, address: str) -> list[str]:
    """A sentence on each page that is wider than its window or lacks a picture."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    pages = [name for name in names if not name.startswith(("_", "genindex", "py-modindex"))]
    check = folder / "_look.html"
    wrong, seen = [], 0
    try:
        for begin in range(0, len(pages), 20):
            check.write_text(LOOK % (json.dumps(pages[begin : begin + 20]), json.dumps(WIDTHS)), encoding="utf-8")
            found = re.search(r'<pre id="found">(.*?)</pre>', shown(f"{address}/_look.html", 120_000), re.DOTALL)
            assert found is not None
            for page, width, wide, missing, title in json.loads(html.unescape(found[1])):
                seen += 1
                if wide > width + 1:
                    wrong.append(f"{page} is {wide} pixels wide in a window of {width}.")
                if missing or not title:
                    wrong.append(f"{page} lacks {missing} pictures, title {title!r}.")
    finally:
        check.unlink(missing_ok=True)
    print(f"{seen} looks at {len(pages)} pages, {' and '.join(map(str, WIDTHS))} pixels wide")
    return wrong if seen == len(WIDTHS) * len(pages) else [*wrong, "Some pages were not looked at."]


def search_faults(address: str) -> list[str]:
    """A sentence on each search that does not find its page."""
    wrong = []
    for words, page in SEARCHES.items():
        result = shown(f"{address}/search.html?q={words.replace(' ', '+')}", 20_000)
        hits = re.findall(r'<li class="[^"]*kind-[^"]*">\s*<a href="([^"?]+)', result)
        print(f"search for {words!r}: {len(hits)} pages")
        if page not in hits:
            wrong.append(f"The search for {words!r} does not find {page}, but {hits[:5]}.")
    return wrong


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    with served(folder) as address:
        wrong = layout_faults(folder, address) + search_faults(address)
    print("\n".join(wrong))
    print(f"{len(wrong)} faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
