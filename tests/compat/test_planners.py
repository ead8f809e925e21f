"""The table of planners: heads of the models that ship, and what is marked."""

from compat.planners import REORDERED, heads, table
from tflm_cy.demo import __file__ as demo

FOLDER = demo.rpartition("/")[0]


def test_heads_never_grow_from_planner_to_planner():
    found = heads(f"{FOLDER}/digits_int8.tflite")
    assert found["greedy"][0] >= found["optimal"][0] >= found["overlap"][0] >= found[REORDERED][0] > 0


def test_what_cannot_be_read_has_no_heads(tmp_path):
    (tmp_path / "x.tflite").write_bytes(b"no model")
    assert heads(tmp_path / "x.tflite") is None


def test_unproven_heads_are_marked():
    row = {"greedy": (2000, False), "optimal": (1500, False), "overlap": (1000, True), REORDERED: (800, None)}
    assert "| m | 2,000 | 1,500* | 1,000 | 800 | 60% |" in table([("m", row)])
