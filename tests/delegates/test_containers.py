"""Where TensorFlow's named resources lie; the names need TensorFlow's list of operators."""

import gc

import pytest

from tflm_cy.delegates import containers
from tflm_cy.delegates.containers import Container


def test_every_interpreter_has_a_name_of_its_own():
    assert Container().name != Container().name


def test_what_is_left_behind_waits_to_be_destroyed(monkeypatch):
    destroyed = []
    monkeypatch.setattr(containers, "destroy", destroyed.append)
    containers.destroy_abandoned()
    destroyed.clear()
    container = Container()
    container.makers["a"] = "the definition"
    containers.destroy_abandoned()
    assert destroyed == []
    del container
    gc.collect()
    containers.destroy_abandoned()
    containers.destroy_abandoned()
    assert destroyed == ["the definition"]


@pytest.mark.parametrize(
    ("op", "before", "wanted"),
    [
        ("MutableHashTableV2", "", "{}"),
        ("MutableHashTableV2", "mine", "{}/mine"),
        ("VarHandleOp", "", "{}"),
        ("Erf", "", None),
        ("NoOperatorOfThisName", "", None),
    ],
)
def test_what_a_node_makes_lies_in_the_container(op, before, wanted):
    pytest.importorskip("tensorflow", reason="which operators make resources only TensorFlow knows")
    from tensorflow.core.framework import node_def_pb2

    container, definition = Container(), node_def_pb2.NodeDef(name="n1", op=op)
    if before:
        definition.attr["container"].s = before.encode()
    definition.attr["shared_name"].s = b"table"
    container.place_resource(definition)
    if wanted is None:
        assert "container" not in definition.attr
        assert container.makers == {}
    else:
        name = wanted.format(container.name).encode()
        assert definition.attr["container"].s == name
        assert list(container.makers) == [(name, b"table")]
