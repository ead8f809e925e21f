"""The coverage table: what a report says arrives in the file, differences included."""

import pytest

from compat.coverage import insert, table

REPORT = {
    "a": "tensorflow:BUILTIN_REF",
    "b": "tflm_cy:BUILTIN_REF",
    "total": {"equal": 7, "differs": 1},
    "rows": [
        {"op": "ADD", "dtype": "int8", "equal": 4},
        {"op": "ADD", "dtype": "float32", "equal": 3, "refused": 2},
        {"op": "NEG", "dtype": "float32", "differs": 1},
    ],
    "deviations": [{"reason": "on purpose", "count": 3}],
}


def test_counts_by_type():
    assert "| ADD | float32 3, int8 4 | 2 |  |" in table(REPORT)


def test_differences_are_not_hidden():
    text = table(REPORT)
    assert "| NEG | - |  | float32: 1 differing |" in text
    assert "7 cases equal, 1 differing" in text
    assert "on purpose" in text


def test_only_what_stands_between_the_markers_changes():
    text = "a\n<!-- coverage -->\nold\n<!-- /coverage -->\nb\n"
    assert insert(text, "new") == "a\n<!-- coverage -->\nnew\n<!-- /coverage -->\nb\n"
    with pytest.raises(SystemExit):
        insert("no markers", "new")
