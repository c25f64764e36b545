"""Network files in three formats: what is read, and the line of what cannot be."""

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx.errors import DpcvxError

NET = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 5
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 7
<END OF METADATA>


~ \tInit node \tTerm node \tCapacity (veh/h) \tLength (ft) \tFree Flow Time (min)\tB\tPower\tSpeed\tToll\tType\t;
\t1\t3\t100\t0\t0\t0.15\t4\t0\t0\t1\t;
\t3\t4\t50\t2\t2.5\t0.15\t4\t0\t0\t1\t;
\t3\t4\t60\t2\t2\t0.15\t4\t0\t0\t1\t;
\t4\t3\t50\t2\t2.5\t0.15\t4\t0\t0\t1\t;
\t4\t2\t100\t0\t0\t0.15\t4\t0\t0\t1;

\t5\t5\t100\t0\t0\t0.15\t4\t0\t0\t1\t;
\t3\t5\t100\t0\t1\t0.15\t4\t0\t0\t1\t; ~ a comment
"""
TRIPS = """<NUMBER OF ZONES> 2
<TOTAL OD FLOW> 30
<END OF METADATA>

Origin \t1
    1 :      4.0;     2 :    10.0;
Origin  2
    1 :    20.0;     2 : 0.0;
"""
NODES = "Node\tX\tY\t;\n1\t0\t0\t;\n2\t3\t0\t;\n3\t1\t0.5;\n4\t2\t-0.5\t;\n5\t1\t1\t;\n"
LINKS = """link_id,from_node_id,to_node_id,directed,length,lanes,capacity,free_speed
10,a,b,true,2,2,100,4
11,b,c,false,3,1,50,6
12,a,b,1,8,1,100,4
"""
POINTS = "node_id,x_coord,y_coord,zone_id\na,0,0,1\nb,1,0,\nc,2,1,2\n"


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_a_tntp_network_is_read(write):
    network = ds.read_network(write("t_net.tntp", NET), write("t_node.tntp", NODES), write("t_trips.tntp", TRIPS))
    assert network.nodes == (1, 2, 3, 4, 5)
    assert network.links == ((1, 3), (3, 4, 0), (3, 4, 1), (4, 3), (4, 2), (3, 5))
    assert network.times.tolist() == [0, 2.5, 2, 2.5, 0, 1]
    assert network.capacity.tolist() == [100, 50, 60, 50, 100, 100] and set(network.power) == {4.0}
    assert network.closed.tolist() == [True, True, False, False, False]
    assert network.trips == {(1, 2): 10.0, (2, 1): 20.0}
    assert network.positions[3].tolist() == [2, -0.5]
    assert len(network.notes) == 1 and "from a node to itself" in network.notes[0]


def test_zones_are_not_passed_and_connectors_of_time_0_join(write):
    network = ds.read_network(write("t_net.tntp", NET))
    X = ds.routes(network, 1, "2")
    assert X.edges == ((1, 3), (3, 4, 0), (3, 4, 1), (4, 2))
    assert X.path(X.argmin(network.times[X.links])) == [(1, 3), (3, 4, 1), (4, 2)]


def test_columns_follow_the_header(write):
    swapped = "<END OF METADATA>\n~ free_flow_time init_node term_node capacity b power ;\n7 1 2 100 0.15 4 ;\n"
    network = ds.read_network(write("t_net.tntp", swapped))
    assert network.links == ((1, 2),) and network.times.tolist() == [7] and network.b.tolist() == [0.15]


@pytest.mark.parametrize(
    "header",
    [
        "~ Init node  Term node  Capacity  Length  Free Flow Time  B  Power  Speed limit  Toll  Type ;",
        "~ From node To node Capacity veh/h Length mi Free flow time min B Power Speed Toll Type ;",
        "~ init_node term_node capacity length free_flow_time b power speed toll link_type ;",
        "~ a b c",
        "",
    ],
)
def test_names_of_columns_may_be_parted_by_blanks_alone(write, header):
    old = next(line for line in NET.splitlines() if line.startswith("~"))
    network = ds.read_network(write("t_net.tntp", NET.replace(old, header).replace("\t", " ").replace("\n", "\r\n")))
    assert network.times.tolist() == [0, 2.5, 2, 2.5, 0, 1]
    assert network.capacity.tolist() == [100, 50, 60, 50, 100, 100] and set(network.b) == {0.15}


def test_trips_may_follow_their_origin_after_a_tab(write):
    text = TRIPS.replace("Origin \t1\n", "Origin\t1\t")
    network = ds.read_network(write("t_net.tntp", NET), trips=write("t_trips.tntp", text))
    assert network.trips == {(1, 2): 10.0, (2, 1): 20.0}


def test_a_count_of_links_that_is_wrong_is_noted(write):
    network = ds.read_network(write("t_net.tntp", NET.replace("LINKS> 7", "LINKS> 9")))
    assert any("announces 9 links and has 7" in note for note in network.notes)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("\t4\t3\t50\t2\t2.5", "\t4\tx\t50\t2\t2.5", r"t_net.tntp, line 12: a node is a whole number, not 'x'"),
        ("\t4\t3\t50\t2\t2.5", "\t4\t3\t50\t2\t-1", r"t_net.tntp, line 12: time must be at least 0, not -1"),
        ("\t4\t3\t50\t2\t2.5", "\t4\t3\t50\t2\tnan", r"t_net.tntp, line 12: a finite number was expected, not 'nan'"),
        ("\t4\t3\t50\t2\t2.5", "\t4\t3\t-5\t2\t2.5", r"t_net.tntp, line 12: capacity must be at least 0, not -5"),
        ("\t4\t3\t50\t2\t2.5\t0.15\t4\t0\t0\t1", "\t4\t3\t50", r"line 12: a link has at least 5 columns, but 3 came"),
        ("\t4\t3\t50\t2\t2.5\t0.15", "\t4\t3\t50\t2\t\t0.15", r"line 12: most links have 10 columns, but 9 came"),
        ("\t4\t3\t50\t2\t2.5", "\t4\t3\t50\t2\t2.5\t7", r"line 12: most links have 10 columns, but 11 came"),
        ("\t4\t3\t50\t2\t", "\t4\t3\t50\tfar\t", r"line 12: a finite number was expected, not 'far'"),
        (
            "1\t;\n\t4\t3\t50",
            "1\t; 4\t3\t50",
            r"line 11: a line holds one link, but after its semicolon came '4\\t3\\t50",
        ),
        ("NODE> 3", "NODE> many", r"line 3: <FIRST THRU NODE> must be followed by a whole number, not 'many'"),
    ],
)
def test_a_malformed_line_of_a_tntp_net_is_named(write, old, new, sentence):
    assert old in NET
    with pytest.raises(ValueError, match=sentence):
        ds.read_network(write("t_net.tntp", NET.replace(old, new)))


def test_blanks_in_a_tag_do_not_open_the_zones(write):
    network = ds.read_network(write("t_net.tntp", NET.replace("FIRST THRU NODE", "First  Thru\tNode ")))
    assert network.closed.tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "NODE> 3",
            "NODE> 3.5",
            r"t_net.tntp, line 3: <FIRST THRU NODE> must be followed by a whole number, not '3.5'",
        ),
        ("ZONES> 2", "ZONES> 99999999999", r"t_net.tntp, line 1: 99999999999 zones are announced, but no more"),
        ("\t4\t3\t50\t2\t2.5", "\t4\tx\t50\t2\t2.5", r"t_net.tntp, line 12: a node is a whole number, not 'x'"),
    ],
)
def test_what_is_wrong_with_a_file_is_an_error_of_the_package(write, old, new, sentence):
    with pytest.raises(DpcvxError, match=sentence):
        ds.read_network(write("t_net.tntp", NET.replace(old, new)))


def test_a_net_of_self_loops_alone_is_a_sentence(write):
    head, _, links = NET.partition("<END OF METADATA>")
    loop = next(line for line in links.splitlines() if line.startswith("\t")).split("\t")
    text = head + "<END OF METADATA>\n" + "\t".join([*loop[:2], loop[1], *loop[3:]]) + "\n"
    with pytest.raises(DpcvxError):
        ds.routes(ds.read_network(write("t_net.tntp", text)), 1, 2)


def test_large_numbers_of_nodes_keep_all_their_digits(write):
    network = ds.read_network(write("t_net.tntp", NET.replace("\t3\t5\t", "\t3\t99999999999999999999999\t")))
    assert network.nodes[-1] == 99999999999999999999999


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TRIPS.replace("Origin  2", ""), None),
        (TRIPS.replace("Origin \t1\n", ""), r"t_trips.tntp, line 5: trips must follow a line `Origin n`"),
        (TRIPS.replace("20.0", "-20.0"), r"t_trips.tntp, line 8: demand must be at least 0, not -20.0"),
        (
            TRIPS.replace("1 :    20.0", "1     20.0"),
            r"t_trips.tntp, line 8: trips are written `destination : demand;`",
        ),
        (TRIPS.replace("Origin  2", "Origin  zwei"), r"t_trips.tntp, line 7: a node is a whole number, not 'zwei'"),
    ],
)
def test_a_malformed_line_of_trips_is_named(write, text, sentence):
    files = write("t_net.tntp", NET), None, write("t_trips.tntp", text)
    if sentence is None:
        assert ds.read_network(*files).trips == {(1, 2): 10.0}
        return
    with pytest.raises(ValueError, match=sentence):
        ds.read_network(*files)


def test_coordinates_are_read_by_the_names_of_their_columns(write):
    straight = "Node\tX\tY\n" + "".join(f"{node}\t2\t{node}\t;\n" for node in range(1, 6))
    turned = "Node\tLat\tLon\n" + "".join(f"{node}\t{node}\t2\t;\n" for node in range(1, 6))
    found = [ds.read_network(write("t_net.tntp", NET), write("t_node.tntp", text)) for text in (straight, turned)]
    assert found[0].positions.tolist() == found[1].positions.tolist() == [[2.0, float(node)] for node in range(1, 6)]


def test_a_malformed_line_of_coordinates_is_named(write):
    with pytest.raises(ValueError, match=r"t_node.tntp, line 3: a finite number was expected, not 'north'"):
        ds.read_network(write("t_net.tntp", NET), write("t_node.tntp", NODES.replace("2\t3\t0", "2\t3\tnorth")))
    net = write("t_net.tntp", NET)
    with pytest.raises(ValueError, match=r"t_net.tntp, line 11: node 3 has other coordinates than above"):
        ds.read_network(net, net)
    twice = write("t_node.tntp", NODES + "5\t1\t1\t;\n")
    assert ds.read_network(net, twice).positions is not None


def test_a_gmns_folder_is_read(write, tmp_path):
    write("link.csv", LINKS)
    write("node.csv", POINTS)
    write("demand.csv", "o_zone_id,d_zone_id,volume\n1,2,7\n2,1,0\n")
    network = ds.read_network(tmp_path)
    assert network.links == (("a", "b", "10"), ("b", "c"), ("c", "b"), ("a", "b", "12"))
    assert network.times.tolist() == [0.5, 0.5, 0.5, 2.0]
    assert network.capacity.tolist() == [200, 50, 50, 100]
    assert network.trips == {("a", "c"): 7.0} and network.positions.shape == (3, 2)
    assert ds.routes(network, "a", "c", times=network.times).dim == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("11,b,c,false,3", "11,b,,false,3", r"link.csv, line 3: to_node_id is missing"),
        (
            "11,b,c,false,3",
            "11,b,c,false,three",
            r"link.csv, line 3: length must be a finite number of at least 0, not",
        ),
        ("11,b,c,false", "11,b,c,maybe", r"link.csv, line 3: directed must be true or false, not 'maybe'"),
        (",50,6", ",50,0", r"link.csv, line 3: free_speed must be above 0, not 0"),
        (",50,6", ",-50,6", r"link.csv, line 3: capacity must be a finite number of at least 0, not '-50'"),
        (",50,6", ",50,6,9,9", r"link.csv, line 3: 8 fields were expected, 10 came"),
        ("from_node_id", "start", r"link.csv, line 1: the column from_node_id is missing"),
    ],
)
def test_a_malformed_line_of_a_gmns_file_is_named(write, old, new, sentence):
    with pytest.raises(ValueError, match=sentence):
        ds.read_network(write("link.csv", LINKS.replace(old, new)))


@pytest.mark.parametrize(
    "after", ['13,c,a,1,1,1,1,4,"Old" Road\n', "", '13,c,a,1,1,1,1,4,"Old Road"\n', "1,a,b\n" * 30_000]
)
def test_a_quote_that_is_left_open_does_not_swallow_the_links_after_it(write, after):
    head, *rows = LINKS.splitlines()
    text = "".join(f"{row}\n" for row in [f"{head},name", f'{rows[0]},"High\nStreet"', f'{rows[1]},"Main St', rows[2]])
    with pytest.raises(DpcvxError, match=r"link.csv, line 4: the row is no CSV, perhaps by a quote"):
        ds.read_network(write("link.csv", text + after))


def test_a_row_of_several_lines_is_named_by_its_first(write):
    head, *rows = LINKS.splitlines()
    text = "".join(f"{row}\n" for row in [f"{head},name", f'{rows[0]},"High\nStreet"', f'{rows[1]},7,"Main\nStreet"'])
    with pytest.raises(ValueError, match=r"link.csv, line 4: 9 fields were expected, 10 came"):
        ds.read_network(write("link.csv", text))


def test_gmns_values_that_are_left_out_are_noted_and_never_mix_units(write):
    head = "link_id,name,from_node_id,to_node_id,directed,length,lanes,capacity,free_speed\n"
    rows = ["1,'A, B',1,2,1.0,2,,90,4", '2,"C, D",2,3,0.0,3,2,,', "3,,1,3,TRUE,8,1,100,2", "4,,1,3,1,8,1,100,1"]
    path = write("link.csv", "\ufeff" + head + "\r\n".join(rows[1:]) + "\r\n")
    network = ds.read_network(path)
    assert network.times.tolist() == [2.0, 2.0, 4.0, 8.0]  # the median of 2 and 1 is 1.5
    assert network.capacity is None
    assert "for 2 of 4 links without free_speed the median of the others, 1.5" in network.notes[0]
    assert "no capacity of 2 of 4 links" in network.notes[1]
    bare = ds.read_network(write("link.csv", "from_node_id,to_node_id,length\n1,2,5\n1,2,7\n"))
    assert bare.times.tolist() == [5.0, 7.0] and bare.links == (("1", "2", 0), ("1", "2", 1))
    assert bare.notes == ("link.csv has neither times nor speeds; lengths stand for times.",)
    timed = "from_node_id,to_node_id,length,free_speed,travel_time\n1,2,5,2,3\n1,3,7,2,\n"
    with pytest.raises(ValueError, match=r"link.csv, line 3: the time is missing, which other links have"):
        ds.read_network(write("link.csv", timed))


def test_a_file_in_another_encoding_is_named_with_its_line(write, tmp_path):
    (tmp_path / "link.csv").write_bytes((LINKS + "13,a,\xe9,1,1,1,1,1\n").encode("latin-1"))
    with pytest.raises(ValueError, match=r"link.csv, line 5: the byte 0xe9 is no UTF-8"):
        ds.read_network(tmp_path)
    with pytest.raises(ValueError, match=r"link.csv is empty"):
        ds.read_network(write("link.csv", ""))


def test_times_that_some_edges_lack_are_told_of(tmp_path):
    graph = nx.MultiDiGraph()
    graph.add_node("b", closed="False")
    graph.add_edge("a", "b", travel_time="3", length="30")
    graph.add_edge("b", "c", length="10")
    nx.write_graphml(graph, tmp_path / "town.graphml")
    network = ds.read_network(tmp_path / "town.graphml")
    assert sorted(network.times) == [10.0, 30.0] and not network.closed.any()
    assert network.notes[0] == "1 of 2 links have no travel_time, such as ('b', 'c'); it is not used."


def test_names_with_zeros_in_front_stay_apart(tmp_path):
    streets = nx.DiGraph([("0", "00"), ("00", "1"), ("0", "-0"), ("-0", "1")])
    nx.write_graphml(streets, tmp_path / "streets.graphml")
    network = ds.read_network(tmp_path / "streets.graphml")
    assert network.nodes == ("0", "00", "1", "-0") and len(network.links) == 4
    assert network.number_of("00") != network.number_of("0")


def test_graphml_with_texts_for_numbers_is_read(tmp_path):
    streets = nx.MultiDiGraph(crs="epsg:4326")
    for node in (11, 12, 13):
        streets.add_node(node, x=str(node / 10), y="1.5")
    for u, v, key, seconds in [(11, 12, 0, 5), (11, 12, 1, 7), (12, 11, 0, 5), (12, 13, 0, 2), (13, 13, 0, 1)]:
        streets.add_edge(u, v, key=key, length="3.0", travel_time=str(seconds))
    nx.write_graphml(streets, tmp_path / "streets.graphml")
    network = ds.read_network(tmp_path / "streets.graphml")
    assert network.nodes == (11, 12, 13) and network.links == ((11, 12, 0), (11, 12, 1), (12, 11), (12, 13))
    assert network.times.tolist() == [5, 7, 5, 2] and network.positions[0].tolist() == [1.1, 1.5]
    assert ds.routes(network, 11, 13).edges == ((11, 12, 0), (11, 12, 1), (12, 13))


def test_graphs_that_are_no_networks_are_refused(tmp_path):
    nx.write_graphml(nx.path_graph(3), tmp_path / "path.graphml")
    with pytest.raises(ValueError, match="The graph is undirected; a route needs directed links"):
        ds.read_network(tmp_path / "path.graphml")
    (tmp_path / "broken.graphml").write_text("<graphml>\n<graph edgedefault='directed'>\n</graphml>\n")
    with pytest.raises(ValueError, match=r"broken.graphml, line 3: the XML is malformed"):
        ds.read_network(tmp_path / "broken.graphml")
    (tmp_path / "roads.shp").write_text("")
    with pytest.raises(ValueError, match=r"roads.shp is no network that is read here; convert it to GraphML"):
        ds.read_network(tmp_path / "roads.shp")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        ds.read_network(tmp_path / "none_net.tntp")


def test_graphs_and_arrays_go_through_one_door():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=1.0)
    graph.add_edge("b", "b", weight=1.0)
    arrays = {"tails": ["a", "b", "b"], "heads": ["b", "c", "b"], "times": [2.0, 1.0, 1.0]}
    for given in (graph, arrays):
        network = ds.as_network(given)
        assert network.links == (("a", "b"), ("b", "c")) and network.times.tolist() == [2.0, 1.0]
        assert "dropped" in network.notes[0]


def test_sioux_falls_is_read(sioux_falls):
    assert (len(sioux_falls.nodes), len(sioux_falls.links), len(sioux_falls.trips)) == (24, 76, 528)
    assert sum(sioux_falls.trips.values()) == pytest.approx(360_600)
    assert np.isfinite(sioux_falls.positions).all() and not sioux_falls.closed.any()


def test_a_number_of_links_that_is_not_known_as_their_time_is_named(tmp_path):
    roads = nx.DiGraph()
    roads.add_edge("home", "work", minutes=12.0)
    nx.write_graphml(roads, tmp_path / "own.graphml")
    with pytest.warns(
        ds.RoutesWarning, match="each counts as 1: of their numbers 'minutes' none is called travel_time"
    ):
        assert ds.read_network(tmp_path / "own.graphml").times.tolist() == [1.0]
    assert ds.as_network(roads, known_times=True).times.tolist() == [1.0]  # and not a word


def test_other_files_than_those_of_links_are_told_from_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="a folder is read as GMNS"):
        ds.read_network(tmp_path)
    (tmp_path / "trips.tntp").write_text("<NUMBER OF ZONES> 2\n<END OF METADATA>\nOrigin 1\n 2 : 5.0;\n")
    with pytest.raises(ValueError, match="looks like a trips file, which belongs to trips="):
        ds.read_network(tmp_path / "trips.tntp")
