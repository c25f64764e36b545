"""``dpcvx audit``: attack every private mechanism, and broken ones, and print the findings."""

import argparse

from dpcvx.commands.outcomes import Refutation

HELP = "attack every private mechanism, and broken ones, and print the findings"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="fewer runs: two or three minutes of computing")


def run(arguments: argparse.Namespace) -> str:
    from dpcvx.studies.audit_table import audit_rows, render

    rows = audit_rows(quick=arguments.quick, progress=True)
    if not all(row.as_expected for row in rows):
        raise Refutation(render(rows))
    return render(rows)
