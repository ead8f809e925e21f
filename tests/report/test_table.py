"""Text tables: alignment, what cells look like, names that try to move the cursor."""

import pytest

from tflm_cy.report import byte_size, duration, printable, text_table
from tflm_cy.report.table import display_width


def test_numbers_stand_right_and_texts_left():
    table = text_table(["name", "n", "time"], [["a", 5, "12.3 us"], ["long name", 1234, "4.56 ms"]])
    assert table.splitlines() == [
        "name          n     time",
        "---------  ----  -------",
        "a             5  12.3 us",
        "long name  1234  4.56 ms",
    ]


def test_one_text_makes_a_column_left():
    assert text_table(["value"], [[12345], ["none"]]).splitlines()[2:] == ["12345", "none"]
    assert text_table(["x"], [[True], [False]]).splitlines()[2] == "True"


def test_empty_cells_do_not_decide_the_alignment():
    assert text_table(["value"], [[None], [7], [""]]).split("\n")[2:] == ["", "    7", ""]


def test_alignment_can_be_said():
    lines = text_table(["name", "n"], [["ab", 1], ["c", 20]], "><").splitlines()
    assert lines[2:] == ["  ab  1", "   c  20"]


def test_no_rows():
    assert text_table(["a", "bc"], []) == "a  bc\n-  --"


def test_floats_have_six_significant_digits():
    assert text_table(["x"], [[1 / 3], [2e-10]]).splitlines()[2:] == ["0.333333", "   2e-10"]


@pytest.mark.parametrize("rows, align", [([[1]], None), ([[1, 2]], "<"), ([[1, 2]], "<^")])
def test_what_does_not_fit_is_refused(rows, align):
    with pytest.raises(ValueError):
        text_table(["a", "b"], rows, align)


def test_names_cannot_break_lines_or_move_the_cursor():
    table = text_table(["name"], [["a\nb\x1b[2J\x00\u202e"]])
    assert table.splitlines()[2] == r"a\nb\x1b[2J\x00\u202e"
    assert all(line.isprintable() for line in table.splitlines())
    assert printable("conv/\udc80é") == "conv/\\udc80é"


def test_wide_and_combining_characters_keep_the_columns():
    lines = text_table(["name", "n"], [["数字", 1], ["e\u0301", 2], ["abcd", 3]]).splitlines()
    assert [display_width(line) for line in lines[2:]] == [7, 7, 7]


@pytest.mark.parametrize(
    "count, text", [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 << 10, "1.5 MiB"), (3 << 30, "3.0 GiB")]
)
def test_byte_sizes(count, text):
    assert byte_size(count) == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0.00 ns"),
        (9.994e-9, "9.99 ns"),
        (9.996e-6, "10.0 us"),
        (999.4e-6, "999 us"),
        (999.6e-6, "1.00 ms"),
        (75, "75.0 s"),
    ],
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text
