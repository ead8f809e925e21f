"""The coverage table: what a report says arrives in the file, differences included."""

import pytest

from compat.coverage import insert, table

REPORT = {
    "a": "tensorflow",
    "b": "tflm_cy",
    "total": {"equal": 11, "differs": 1},
    "rows": [
        {"op": "ADD", "dtype": "int8", "mode": "BUILTIN_REF", "equal": 4},
        {"op": "ADD", "dtype": "int8", "mode": "AUTO", "equal": 4},
        {"op": "ADD", "dtype": "float32", "mode": "BUILTIN_REF", "equal": 3, "refused": 2},
        {"op": "NEG", "dtype": "float32", "mode": "AUTO", "differs": 1},
    ],
    "deviations": [{"reason": "on purpose", "count": 3}],
}


def test_counts_by_mode():
    assert "| ADD | float32 (REF), int8 | 7, 2 refused | 4 |" in table(REPORT)


def test_differences_are_not_hidden():
    text = table(REPORT)
    assert "| NEG | - | - | 1 DIFFER |" in text
    assert "11 cases equal, 1 differing" in text
    assert "on purpose" in text


def test_only_what_stands_between_the_markers_changes():
    text = "a\n<!-- coverage -->\nold\n<!-- /coverage -->\nb\n"
    assert insert(text, "new") == "a\n<!-- coverage -->\nnew\n<!-- /coverage -->\nb\n"
    with pytest.raises(SystemExit):
        insert("no markers", "new")
