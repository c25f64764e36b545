"""Tables of text: aligned columns, widths that fit or are given, and lines that keep their order."""

import pytest

from dpcvx.experiments.text_table import TextTable

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
