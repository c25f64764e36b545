"""``dpcvx route``: learn routes through a road network in private, for one pair of nodes or for a whole city."""

import argparse
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decision_sets.networks import Network, RoutesWarning, read_network
from dpcvx.commands.options import add_output, add_scheduler, add_workers, checked_workers
from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing
from dpcvx.errors import DpcvxError
from dpcvx.experiments.text_table import folded
from dpcvx.studies.routing.city import City, play_city
from dpcvx.studies.routing.days import Days, travel_days
from dpcvx.studies.routing.declared import CEILING
from dpcvx.studies.routing.pair import Wish, study_pair
from dpcvx.studies.routing.pairs import wanted_pairs
from dpcvx.studies.routing.words import city_words, pair_words

HELP = "learn routes through a road network in private, for one pair of nodes or for a whole city"
_FILE = "route.html"
_DAYS, _FEWEST, _ENTRIES = 200, 20, 2_000_000  # different days, of networks with few links and with many


def describe(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("network", metavar="NETWORK", help="a TNTP _net.tntp, a GMNS link.csv or its folder, or a GraphML file")
    add("--nodes", type=Path, metavar="FILE", help="coordinates: a TNTP _node.tntp or a GMNS node.csv")
    add("--trips", type=Path, metavar="FILE", help="demand, from which traffic follows: a _trips.tntp or a demand.csv")
    add("--from", dest="origin", metavar="NODE", help="where trips begin")
    add("--to", dest="destination", metavar="NODE", help="where they end")
    add(
        "--pairs",
        metavar="FILE",
        help='"all" pairs of --trips, or a file with an origin and a destination a line',
    )
    add("--epsilon", type=float, default=1.0, metavar="E", help="privacy of all routes of all days together (1)")
    add("--delta", type=float, default=1e-6, help="for Gaussian noise with full information (1e-6); 0 for none")
    add("--days", type=int, default=10_000, metavar="T", help="rounds (10000)")
    add("--drivers", type=int, metavar="N", help="protect one of N drivers whose mean is the times (1000 beside a day)")
    add(
        "--ceiling",
        type=float,
        default=CEILING,
        metavar="K",
        help=f"largest time of a link, in empty ones ({CEILING:g})",
    )
    cycles = ("toward", "hops", "capped")
    words = "how routes are cut down: toward (default), hops or capped"
    add("--cycles", choices=cycles, default="toward", metavar="WAY", help=words)
    add("--hops", type=int, metavar="K", help="with --cycles hops: the largest number of links")
    add("--replicas", type=int, default=4, help="runs of every learner of one pair (4)")
    add("--seed", type=int, default=0, help="of days and simulated noise (0)")
    add_output(parser, f"{_FILE}, a report with a map, and with --pairs finished ones, to go on after an interruption")
    add_workers(parser, "with --pairs: ")
    add_scheduler(parser, "with --pairs: ")


def run(arguments: argparse.Namespace) -> str:
    _check(arguments)
    with _sentences():
        wish = Wish(
            epsilon=arguments.epsilon,
            delta=arguments.delta,
            horizon=arguments.days,
            drivers=1000 if arguments.drivers is None else arguments.drivers,
            ceiling=arguments.ceiling,
            cycles=arguments.cycles,
            hops=arguments.hops,
            replicas=arguments.replicas,
            seed=arguments.seed,
        )
        report = _report(arguments)
        if report is not None:
            with writing("report", report):
                report.parent.mkdir(parents=True, exist_ok=True)
                check_place(report)
        _tell("Reading the network")
        network = read_network(arguments.network, arguments.nodes, arguments.trips)
        found = _city(arguments, network, wish) if arguments.pairs else _pair(arguments, network, wish)
    return found if report is None else f"{found}\n\nReport: {report}"


def _report(arguments: argparse.Namespace) -> Path | None:
    return None if arguments.output is None else arguments.output / _FILE


def _check(arguments: argparse.Namespace) -> None:
    """That one pair is asked for, or many."""
    ends = (arguments.origin, arguments.destination)
    if arguments.pairs is None and None in ends:
        raise InputError("Say by --from and --to which trips are meant, or by --pairs that many are.")
    if arguments.pairs is not None and ends != (None, None):
        raise InputError("--pairs says which trips are meant; leave --from and --to out.")
    for name in ("workers", "scheduler"):
        if arguments.pairs is None and getattr(arguments, name) is not None:
            raise InputError(f"--{name} goes with --pairs; one pair is played here.")
    checked_workers(arguments)


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn what is wrong with the input into one sentence, and warnings about routes into lines."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RoutesWarning)
            yield
    except (DpcvxError, ValueError, OverflowError, FileNotFoundError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror or error}.") from error
    for message in dict.fromkeys(str(each.message) for each in caught):
        print(folded(f"Note: {message}"), file=sys.stderr)


def _travelled(network: Network, seed: int) -> Days:
    _tell("Drawing days")
    count = max(_FEWEST, min(_DAYS, _ENTRIES // len(network.links)))
    return travel_days(network, count, seed, progress=True)


def _pair(arguments: argparse.Namespace, network: Network, wish: Wish) -> str:
    origin = network.nodes[network.number_of(arguments.origin, "--from")]
    destination = network.nodes[network.number_of(arguments.destination, "--to")]
    wish.to(network, origin, destination, network.times)  # says early what is wrong with the two
    found = study_pair(network, _travelled(network, wish.seed), origin, destination, wish, _tell)
    report = _report(arguments)
    if report is not None:
        _tell("Drawing the report")
        from dpcvx.report.route_page import pair_page  # matplotlib is loaded only for a report

        with writing("report", report):
            pair_page(found, _command(arguments)).write(report)
    return pair_words(found, Path(arguments.network).name)


def _city(arguments: argparse.Namespace, network: Network, wish: Wish) -> str:
    pairs = wanted_pairs(arguments.pairs, network)
    city = City(network, _travelled(network, wish.seed), wish, pairs, by_driver=arguments.drivers is not None)
    assert city.declared  # says here, and not in a part that is played somewhere, what is wrong with it
    _tell(f"Playing {wish.horizon:,} days for {len(pairs)} pairs on one sum of {len(network.links)} links")
    with _kept(None if arguments.output is None else arguments.output / "pairs") as folder:
        swept = play_city(city, folder, workers=arguments.workers, scheduler=arguments.scheduler, progress=True)
    report = _report(arguments)
    if report is not None:
        _tell("Drawing the report")
        from dpcvx.report.route_page import city_page

        with writing("report", report):
            city_page(city, swept.rows, _command(arguments)).write(report)
    return city_words(city, swept.rows, Path(arguments.network).name)


@contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """A folder for finished parts; one that is gone afterwards where none was asked for."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made) / "pairs"


def _tell(stage: str) -> None:
    print(folded(f"{stage} ..."), file=sys.stderr, flush=True)


def _command(arguments: argparse.Namespace) -> str:
    """The call that makes the same report again."""
    words: list[Any] = ["dpcvx", "route", arguments.network]
    names = {"origin": "from", "destination": "to"}
    kept = ("nodes", "trips", "origin", "destination", "pairs", "epsilon", "delta", "days", "drivers", "ceiling")
    for name in (*kept, "cycles", "hops", "replicas", "seed", "output"):
        value = getattr(arguments, name)
        if value is not None:
            words += [f"--{names.get(name, name)}", value]
    return shlex.join(map(str, words))
