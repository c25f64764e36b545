"""How a page looks: one style sheet for light, dark, phones and paper.

The lines of a plot take their colours from the page. A figure is drawn with matplotlib's usual ones, which stand here
as keys; each has a value for light and one for dark, both with a contrast of at least 4.5 to the page behind.
"""

from dpcvx.markup import NAMED

__all__ = ["COLOURS", "NAMED", "SHEET", "variable"]

COLOURS = {
    "#1f77b4": ("#1a66a0", "#6cb2eb"),
    "#ff7f0e": ("#ab4c00", "#ff9f4a"),
    "#2ca02c": ("#1f7a1f", "#63c963"),
    "#d62728": ("#c01f20", "#ff7b78"),
    "#9467bd": ("#7a4aa8", "#c09be6"),
    "#8c564b": ("#7d4a40", "#cf9a8d"),
    "#e377c2": ("#b03488", "#f095d2"),
    "#7f7f7f": ("#666666", "#a3a8b0"),
    "#bcbd22": ("#6f7000", "#d0d13f"),
    "#17becf": ("#08727d", "#45cfde"),
}


def variable(colour: str) -> str:
    """The name of the variable that stands for a colour of a plot."""
    return f"--c{list(COLOURS).index(colour)}"


def _values(dark: bool) -> str:
    pairs = [(variable(key), pair) for key, pair in COLOURS.items()]
    pairs += [(f"--{name}", pair) for name, pair in NAMED.items()]
    return " ".join(f"{name}: {pair[dark]};" for name, pair in pairs)


SHEET = f"""
:root {{ color-scheme: light dark; {_values(dark=False)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_values(dark=True)} }} }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }}
main {{ max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 4rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }}
h2 {{ font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }}
h3 {{ font-size: 1.05rem; margin: 1.4rem 0 .2rem; }}
p {{ max-width: 44rem; margin: .6rem 0; overflow-wrap: anywhere; }}
.subtitle {{ color: var(--quiet); font-size: 1.1rem; }}
code, pre {{ font-family: ui-monospace, monospace; font-size: .85rem; }}
pre {{ background: var(--panel); padding: .8rem 1rem; border-radius: 6px; }}
.wide, pre {{ overflow-x: auto; max-width: 100%; }}
.wide:focus-visible, pre:focus-visible {{ outline: 2px solid var(--c0); }}
.wide {{ margin: 1rem 0; }}
table {{ border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }}
caption {{ caption-side: bottom; text-align: left; color: var(--quiet); padding-top: .4rem; }}
th, td {{ padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }}
.number {{ text-align: right; white-space: nowrap; }}
thead th {{ border-bottom: 2px solid var(--line); }}
tbody th {{ font-weight: 600; }}
figure {{ margin: 1.2rem 0; min-width: 0; max-width: 36rem; }}
figure svg {{ display: block; width: 100%; height: auto; fill: currentColor; stroke-linejoin: round; }}
figcaption {{ color: var(--quiet); font-size: .92rem; margin-top: .4rem; }}
.beside {{ display: grid; gap: 0 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }}
@media screen and (max-width: 42rem) {{
  .stacked thead {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }}
  .stacked, .stacked tbody, .stacked tr, .stacked caption {{ display: block; }}
  .stacked tr {{ padding: .5rem 0; border-bottom: 2px solid var(--line); }}
  .stacked th, .stacked td {{ display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0; border: 0; }}
  .stacked td:empty {{ display: none; }}
  .stacked [data-name]::before {{ content: attr(data-name); color: var(--quiet); font-weight: 400; }}
}}
@media print {{
  main {{ max-width: none; padding: 0; }}
  h2, h3 {{ break-after: avoid; }}
  .beside {{ grid-template-columns: 1fr 1fr; }}
  figure, tr {{ break-inside: avoid; }}
  .wide, pre {{ overflow: visible; }}
  pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
}}
"""
