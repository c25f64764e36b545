"""``dpcvx route``: a story, a page with maps, and one sentence for whatever is wrong with a network or a pair."""

import networkx as nx
import pytest
from report_outline import Outline

from dpcvx.cli import main

NET = """<NUMBER OF ZONES> 6
<NUMBER OF NODES> 6
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 14
<END OF METADATA>
~ init term capacity length time b power speed toll type ;
"""
LINKS = [
    "1 3 0",
    "3 1 0",
    "6 2 0",
    "2 6 0",
    "3 4 2",
    "4 3 2",
    "3 5 3",
    "5 3 3",
    "4 6 3",
    "6 4 3",
    "5 6 2",
    "6 5 2",
    "4 5 1",
    "5 4 1",
]
TRIPS = """<NUMBER OF ZONES> 6
<TOTAL OD FLOW> 90
<END OF METADATA>
Origin 1
 2 : 60.0; 1 : 0.0;
Origin 2
 1 : 30.0;
"""
NODES = "Node X Y ;\n1 0 0 ;\n2 4 0 ;\n3 1 0 ;\n4 2 1 ;\n5 2 -1 ;\n6 3 0 ;\n"
SHORT = ["--days", "40", "--replicas", "2"]


@pytest.fixture
def town(tmp_path):
    lines = [f"{a} {b} {40 + 5 * int(t)} {t} {t} 0.5 4 0 0 1 ;" for a, b, t in map(str.split, LINKS)]
    (tmp_path / "net.tntp").write_text(NET + "\n".join(lines) + "\n")
    (tmp_path / "trips.tntp").write_text(TRIPS)
    (tmp_path / "node.tntp").write_text(NODES)
    return tmp_path


def call(town, *words, net="net.tntp"):
    return main(["route", str(town / net), *map(str, words)])


def test_one_pair_gives_a_story_and_a_page_with_maps(town, capsys):
    page = town / "found" / "route.html"
    files = ["--nodes", town / "node.tntp", "--trips", town / "trips.tntp"]
    assert call(town, *files, "--from", 1, "--to", 2, *SHORT, "--drivers", 50, "--output", page.parent) == 0
    printed, html = capsys.readouterr(), page.read_text()
    told = printed.out
    assert "6 nodes, 2 of which are not passed through, 14 links, 90 trips a day" in told
    assert "epsilon = 1, delta = 1e-06" in told and "one of 50 drivers" in told and "doing nothing" in told
    assert "link-days" in told and "user equilibrium" in told and "Playing 40 days" in printed.err
    assert html.count("<svg") == 6 and html.count('aria-label="Map of the links between 1 and 2') == 4
    assert "Privacy certificate: full information: a whole day" in html and "--drivers 50" in html
    Outline(html)


@pytest.mark.slow
def test_all_pairs_give_one_table_and_one_page_and_are_kept(town, capsys):
    page, kept = town / "found" / "route.html", town / "found" / "pairs"
    words = ["--trips", town / "trips.tntp", "--pairs", "all", "--days", 30, "--workers", 1]
    assert call(town, *words, "--output", page.parent) == 0
    told, html = capsys.readouterr().out, page.read_text()
    assert "one private sum of 14 links serves all 2 pairs" in told and "by 2 pairs (simulation)" in told
    assert "bandits: 2 of epsilon = 1 each" in told and len(list(kept.glob("*.csv"))) == 1
    assert html.count("<svg") == 2 and "the sum that all pairs share" in html and "usual traffic" in html
    rows = {path: path.stat().st_mtime_ns for path in kept.glob("*.csv")}
    assert call(town, *words, "--output", page.parent) == 0
    assert capsys.readouterr().out == told and all(path.stat().st_mtime_ns == then for path, then in rows.items())
    Outline(html)


@pytest.mark.slow
def test_a_network_without_demand_says_what_was_assumed(tmp_path, capsys):
    graph = nx.MultiDiGraph()
    for a, b, time in (
        ("a", "b", 1.0),
        ("b", "a", 1.0),
        ("b", "c", 2.0),
        ("a", "c", 2.5),
        ("a", "c", 3.5),
        ("c", "b", 2.0),
    ):
        graph.add_edge(a, b, travel_time=time)
    nx.write_graphml(graph, tmp_path / "town.graphml")
    page = tmp_path / "found" / "route.html"
    assert call(tmp_path, "--from", "a", "--to", "c", *SHORT, "--output", page.parent, net="town.graphml") == 0
    assert "Traffic does not follow from this network" in capsys.readouterr().out
    assert "the layout is computed" in page.read_text()


def test_one_route_is_told_of_and_drawn(tmp_path, capsys):
    graph = nx.path_graph(6, create_using=nx.DiGraph)
    nx.set_node_attributes(graph, {node: node for node in graph}, "x")
    nx.set_node_attributes(graph, 0, "y")
    nx.write_graphml(graph, tmp_path / "line.graphml")
    words = ["--from", 0, "--to", 5, *SHORT, "--output", tmp_path / "found"]
    assert call(tmp_path, *words, net="line.graphml") == 0
    printed = capsys.readouterr()
    assert "there is one route, which every player takes" in printed.out and "-0.0000" not in printed.out
    assert "Note:" not in printed.err  # such as that no room is left for a map of one line


def test_capped_routes_say_once_why_no_bandit_plays(town, capsys):
    assert call(town, "--from", 1, "--to", 2, *SHORT, "--cycles", "capped") == 0
    told = capsys.readouterr().out
    assert told.count("for full information only") == 1 and "not here" not in told


def test_demand_beyond_all_capacity_is_played_in_finite_times(town, capsys):
    path = town / "trips.tntp"
    path.write_text(path.read_text().replace("60.0", "1e200"))
    assert call(town, "--trips", path, "--from", 1, "--to", 2, *SHORT) == 0
    told = capsys.readouterr().out
    assert "of all link-days" in told and "unit of inf" not in told and "nan" not in told


@pytest.mark.slow
def test_pairs_without_a_route_do_not_hide_what_bandits_cost(town, capsys):
    net = town / "net.tntp"
    net.write_text("\n".join(line for line in net.read_text().splitlines() if not line.startswith("2 6")) + "\n")
    (town / "pairs.csv").write_text("2,1\n1,2\n")
    assert call(town, "--pairs", town / "pairs.csv", "--days", 20) == 0
    told = capsys.readouterr().out
    assert "bandits: 2 of epsilon = 1 each" in told and "1 pairs have no route" in told
    (town / "pairs.csv").write_text("2,1\n")
    assert call(town, "--pairs", town / "pairs.csv", "--days", 20) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("None of the 1 pairs is joined by a route")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "1"], "Say by --from and --to which trips are meant"),
        (["--from", "1", "--to", "2", "--pairs", "all"], "leave --from and --to out"),
        (["--from", "1", "--to", "2", "--workers", "2"], "--workers goes with --pairs"),
        (["--pairs", "all"], "there is none; give --trips"),
        (["--pairs", "nowhere.csv"], "There is no file 'nowhere.csv' of pairs"),
        (["--pairs", "all", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["--from", "1", "--to", "77"], "'77' is not one of the 6"),
        (["--from", "1", "--to", "1"], "origin and destination must be two nodes"),
        (["--from", "1", "--to", "2", "--epsilon", "0"], "epsilon must be"),
        (["--from", "1", "--to", "2", "--delta", "2"], "delta must be"),
        (["--from", "1", "--to", "2", "--days", "0"], "horizon must be"),
        (["--from", "1", "--to", "2", "--ceiling", "1"], "ceiling must be above 1"),
        (["--from", "1", "--to", "2", "--drivers", "0"], "drivers must be"),
        (["--from", "1", "--to", "2", "--hops", "3"], "hops goes with"),
        (["--from", "1", "--to", "2", "--nodes", "nowhere.tntp"], "There is no file 'nowhere.tntp'"),
        (["--from", "1", "--to", "2", "--output", "/dev/null/below"], "The report cannot be written"),
    ],
)
def test_what_is_wrong_is_one_sentence(town, capsys, words, said):
    assert call(town, *words) == 2
    printed = capsys.readouterr()
    assert said in printed.err.splitlines()[-1] and printed.out == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"origin_node;dest\n1;77\n", "pairs.csv, line 2: destination must be a node, but '77' is not one of the 6"),
        (b'1,2\n"2","2"\n', "pairs.csv, line 2: origin and destination are both 2"),
        (b"1,2\n\xe9,2\n", "pairs.csv, line 2: the byte 0xe9 is no UTF-8"),
        (b"1\n", "pairs.csv, line 1: an origin and a destination are needed"),
        (b"from,to\n", "holds no pair of nodes"),
    ],
)
def test_a_file_of_pairs_that_cannot_be_read_is_named_with_its_line(town, capsys, text, said):
    (town / "pairs.csv").write_bytes(text)
    assert call(town, "--pairs", town / "pairs.csv") == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_malformed_line_is_named(town, capsys):
    path = town / "net.tntp"
    path.write_text(path.read_text().replace("3 4 50 2", "3 4 fifty 2"))
    assert call(town, "--from", 1, "--to", 2) == 2
    assert "net.tntp, line 11" in capsys.readouterr().err


def test_a_pair_that_zones_keep_apart_is_refused(town, capsys):
    path = town / "net.tntp"
    path.write_text(path.read_text().replace("<FIRST THRU NODE> 3", "<FIRST THRU NODE> 7"))
    assert call(town, "--from", 1, "--to", 2) == 2
    assert "1" in capsys.readouterr().err.splitlines()[-1]
