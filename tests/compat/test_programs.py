"""Programs: what a sequence of calls records, what a structure changes, names that find a case again."""

import numpy as np
import pytest

from compat.builder import Model, Tensor, read_model
from compat.builder.tensor import pack_bits
from compat.calls import fitted, packed_bytes
from compat.case import Case
from compat.cases import generated_cases
from compat.execute import execute
from compat.outcome import Outcome, difference
from compat.programs import program_cases
from compat.sides import load_side
from compat.structures import STRUCTURES


def run(program, **options):
    x, y = Tensor([2, 3], "float32"), Tensor([2, 3], "float32")
    model = Model.single("ABS", [x], [y]).to_bytes()
    feeds = [[np.full([2, 3], -k, np.float32)] for k in (1, 2)]
    case = Case("ABS", "float32", "program", 0, model, feeds, options=options, program=tuple(program))
    return execute(load_side("tflm_cy").start(), case, "BUILTIN_REF")


def test_each_call_says_what_it_raises_or_gives():
    outcome = run(
        [("invoke",), ("allocate_tensors",), ("set_tensor", 1), ("invoke",), ("get_outputs",), ("get_tensor", -1)]
    )
    assert [call[1] for call in outcome.calls] == ["RuntimeError", "", "", "", "", "ValueError"]
    assert outcome.invokes[0][0].values().tolist() == [[2] * 3] * 2


def test_a_call_that_another_side_refuses_is_a_difference_and_so_are_bytes_before_it():
    program = [("allocate_tensors",), ("set_tensor", 0), ("invoke",), ("get_outputs",), ("get_details",)]
    a, b = run(program), run([*program[:-1], ("get_tensor", -1)])
    b.calls[-1][0] = a.calls[-1][0]
    assert "raised ValueError" in difference(a, b)
    b.invokes[0][0].data = bytes(24)
    assert difference(a, b).startswith("invoke 0, output 0")
    assert difference(a, run(program)) is None
    assert Outcome.from_json(a.to_json()).calls == a.calls


def test_what_is_not_defined_is_not_read():
    program = [
        ("allocate_tensors",),
        ("get_outputs",),
        ("get_tensor", 1),
        ("hold", 0),
        ("invoke",),
        ("drop",),
        ("invoke",),
    ]
    outcome = run(program)
    assert not outcome.invokes
    assert [outcome.calls[k][2] for k in (2, 4)] == ["not defined", "not fed"]
    assert run([*program[:1], ("set_tensor", 0), ("hold", 0), ("invoke",)]).calls[-1][1] == "RuntimeError"


def test_values_of_another_shape():
    array = np.arange(6).reshape(2, 3)
    assert fitted(array, [3, 2]).tolist() == [[0, 1], [3, 4], [0, 1]]
    assert fitted(array, [0, 3]).shape == (0, 3)
    assert fitted(array, [1, 2, 3]).shape == (1, 2, 3)


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_keeps_a_model_that_can_be_read(name):
    case = next(generated_cases([1], 1, ops=["GRAPH"], dtype="float32", variant="outputs"))
    model = read_model(case.model)
    before = str(model)
    places = STRUCTURES[name](model, np.random.default_rng(3))
    assert places is None or (str(model) != before and len(places) == len(model["subgraphs"][0]["inputs"]))


def test_a_name_finds_its_case_again():
    cases = list(program_cases([3], 1, ops=["MUL", "GRAPH"], dtype="float32"))
    assert len({case.id for case in cases}) == len(cases)
    again = next(program_cases([3], 1, ops=[cases[0].op], dtype="float32", variant=cases[0].variant))
    assert (again.id, again.digest()) == (cases[0].id, cases[0].digest())


@pytest.mark.parametrize(("bits", "values"), [(2, [-2, 1, -1, 0, 1]), (4, [9, 8, 15, 0, 3])])
def test_packed_values_are_compared_as_they_lie_in_memory(bits, values):
    """A side gives each value a byte; another one the bytes in memory, and what lies behind them."""
    values = np.resize(np.int8(values), (3, 7))
    memory = np.frombuffer(pack_bits(values, bits), np.int8)
    behind = np.concatenate([memory, np.full(21 - memory.size, 99, np.int8)]).reshape(3, 7)
    assert packed_bytes(values, bits).tolist() == packed_bytes(behind, bits).tolist() == memory.tolist()
