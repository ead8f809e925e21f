"""compat.patches: the judge's part, on a model that ships; the rest needs tflite_micro and TensorFlow."""

from pathlib import Path

import tflm_cy.demo
from compat import patches
from tflm_cy.micro.patchwise import Wanted, export, search
from tflm_cy.schema.model import Model

MODEL = Path(tflm_cy.demo.__file__).with_name("digits_int8.tflite")


def test_pairs_that_lie_nearer_are_refused():
    found = search(Model.from_path(MODEL), Wanted(optimize="head"))
    judged = [0, 0]
    assert list(patches._judge(found.best, judged)) == []
    assert judged[0] == judged[1] > 0
    assert export(found)


def test_a_judge_that_believes_is_noticed(monkeypatch):
    found = search(Model.from_path(MODEL), Wanted(optimize="head"))
    monkeypatch.setattr(patches, "check", lambda *_: None)
    judged = [0, 0]
    assert len(list(patches._judge(found.best, judged))) == judged[0] and judged[1] == 0


def test_the_table():
    text = patches.table(["| a | 1 |"], Wanted())
    assert text.count("\n") == 2 and text.startswith("| model |") and "overlap" in text
    assert "| optimal |" in patches.table([], Wanted(optimize="head", strict=True))
    assert patches.markers(Wanted(optimize="head", strict=True))[1] == "<!-- /patches strict head -->"
