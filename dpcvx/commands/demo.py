"""``dpcvx demo``: learn routes through a small town with and without privacy, and report what it costs."""

import argparse
import itertools
import sys
from pathlib import Path

from dpcvx.commands.options import add_output
from dpcvx.commands.places import check_place, writing
from dpcvx.experiments.text_table import TextTable, folded
from dpcvx.studies import demo
from dpcvx.studies.settings import FULL_INFORMATION

HELP = "learn routes through a small town with and without privacy, and write a report on it"
_FILE = "dpcvx-demo.html"


def describe(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "dpcvx-demo.html", default=Path())
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds and runs: a quarter of a minute of computing"
    )


def run(arguments: argparse.Namespace) -> str:
    path = (arguments.output / _FILE).resolve()
    with writing("report", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        check_place(path)
    found = _findings(quick=arguments.quick)
    from dpcvx.report.demo_page import demo_page  # matplotlib is loaded only for a report

    with writing("report", path):
        demo_page(found, f"dpcvx demo{' --quick' if arguments.quick else ''}").write(path)
    return f"{_story(found)}\n\nReport: {path}"


def _findings(quick: bool) -> demo.Findings:
    stages = itertools.count(1)

    def tell(stage: str) -> None:
        print(folded(f"[{next(stages)}/{demo.STAGES}] {stage} ..."), file=sys.stderr, flush=True)

    return demo.run(demo.QUICK if quick else demo.Size(), tell)


def _story(found: demo.Findings) -> str:
    X, T = found.routes, found.size.horizon
    columns = TextTable(">>>>>>", (8, 18, 14, 16, 14, 16), between="", indent="  ")
    lines = [
        "DECLARED: the routes from home to work, as flows on the roads of a small town, in cvxpy",
        *(f"  {text}" for text in X.declared),
        "",
        "DERIVED from these constraints alone",
        f"  dimension {X.dim} of {X.size}, barrier parameter {X.nu:g}, |x| <= {X.norm_bound(2):.3g}; "
        f"one loss moves a sum by at most {float(found.times.diameter(1)):g}",
        "",
        f"PROMISED by a learner with exact noise, which played {found.size.secure_rounds} rounds",
        *(f"  {line}" for line in str(found.certificates[FULL_INFORMATION]).splitlines()),
        "",
        f"PAID per trip, over {T:,} trips: regret against the best fixed route, which costs {found.best:.3f} a trip",
        f"  (simulation; the idle player pays {found.idle:.3f} more than the best route.",
        "  Proved bounds hold for all losses there are; one above that says little about so few trips.",
        "  In practice: the adaptive bandit, whose rates follow the feedback, and for which no bound is proved.)",
        *columns.lines([demo.PRICE_HEADER, *found.price()]),
    ]
    return "\n".join(lines)
