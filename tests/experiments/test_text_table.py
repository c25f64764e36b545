"""Tables of text: aligned columns, widths that fit or are given, and lines that keep their order."""

import pytest

from dpcvx.experiments.text_table import TextTable, window

ROWS = [("name", "n"), ("a", "100"), ("long one", "2")]


def test_columns_are_as_wide_as_their_widest_cells_and_aligned_to_their_sides():
    table = TextTable.fitting(ROWS, "<>")
    assert table.lines(ROWS) == ["name        n", "a         100", "long one    2"]
    assert table.rule() == "--------  ---"


def test_given_widths_separators_and_indents_are_kept():
    table = TextTable(">>", (3, 4), between="|", indent="  ")
    assert table.line(("a", "b")) == "    a|   b"


def test_a_cell_that_is_too_long_moves_only_its_own_line():
    table = TextTable("<<", (3, 2), between=" ")
    assert table.lines([("ab", "x"), ("abcdef", "x")]) == ["ab  x ", "abcdef x "]


@pytest.mark.parametrize("cells", [("a",), ("a", "b", "c")])
def test_a_row_with_another_number_of_cells_is_refused(cells):
    with pytest.raises(ValueError, match="zip"):
        TextTable("<>", (1, 1)).line(cells)


def test_names_of_rows_are_broken_between_words_where_one_column_has_no_room_beside_them():
    rows = [("mechanism", "claimed", "verdict"), ("smooth tree, codewords out of order", "2.000", "flagged")]
    with window(30):
        lines = TextTable.fitting(rows, "<><").lines(rows)
    assert max(map(len, lines)) <= 30
    assert lines[1].split() == ["smooth", "tree,", "2.000"]  # cells stand beside the first part of a name
    shown = [word for line in lines for word in line.split()]
    assert all(shown.count(word) == 2 for word in ("mechanism", "codewords", "order"))
