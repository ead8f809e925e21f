"""TFLM_DECODE in the arena: its states, what TFLM refuses of it, and the firmware's line."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.builder.encoded import LOOK_UP_TABLES, constants, header, huffman, pruned, tables
from tests.micro.models import loaded
from tflm_cy.micro import MicroInterpreter, runtime
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.decode_requests import method
from tflm_cy.micro.figures import figures
from tflm_cy.micro.survey import Survey

VALUES = np.array([[3, 4, 3], [4, 3, 3]], np.int8)
SCALES = {"scale": [0.5, 0.25], "axis": 0}


def decoding(*pairs):
    """A node for each (encoded, ancillary, output), all of them outputs of the graph."""
    model = Model()
    main = model.subgraph("main")
    for encoded, ancillary, y in pairs:
        main.op("TFLM_DECODE", constants(encoded, ancillary), [y])
    main.inputs, main.outputs = [], [y for *_, y in pairs]
    return model


def three(zero_points=(0, 0)):
    y = [Tensor(VALUES.shape, "int8", zero_point=list(zero_points), **SCALES) for _ in range(3)]
    zero = np.array(zero_points, np.int8).reshape(2, 1)
    return decoding((*tables(VALUES, 1, 0), y[0]), (*huffman(VALUES), y[1]), (*pruned(VALUES, zero), y[2]))


def asked(model, target):
    """Sizes of what the nodes' prepare asks for."""
    found = demand(loaded(model), target).before
    return [allocation.size for allocation in found if "TFLM_DECODE prepare" in allocation.what]


@pytest.mark.parametrize(
    ("target", "pointer", "lut", "codes", "prune"),
    [("host64", 8, 72, 56, 80), ("x64", 8, 72, 56, 80), ("arm32", 4, 36, 28, 40), ("arm32_short", 4, 36, 28, 40)],
)
def test_a_pointer_and_a_state_for_each_output(target, pointer, lut, codes, prune):
    assert asked(three(), target) == [pointer, lut, pointer, codes, pointer, prune]
    assert asked(three((0, 3)), target) == [pointer, lut, pointer, codes, pointer, prune, 2]  # and zero points


def test_one_node_with_several_outputs():
    model = Model()
    main = model.subgraph("main")
    outputs = [Tensor(VALUES.shape, "int8", scale=0.1, zero_point=2) for _ in range(2)]
    main.op("TFLM_DECODE", [*constants(*tables(VALUES, 1)), *constants(*pruned(VALUES, 2))], outputs)
    main.inputs, main.outputs = [], outputs
    assert asked(model, "host64") == [16, 72, 80]


def test_as_the_package_prints_them():
    """Measured: three nodes, 9 tensors of which 3 are outputs."""
    found = figures(loaded(three((0, 3))), arena_size=20_003)
    kinds = {kind: (r.used, r.requested, r.count) for kind, r in found.kinds.items()}
    assert (found.head, found.tail) == (48, 1527)
    assert kinds == {
        "TfLiteEvalTensor data": (216, 216, 9),
        "Persistent TfLiteTensor data": (200, 192, 3),
        "Persistent TfLiteTensor quantization data": (108, 108, 6),
        "Persistent buffer data": (320, 258, 9),
        "NodeAndRegistration struct": (192, 192, 3),
    }


def test_what_is_decoded_is_planned_for_its_readers():
    y = Tensor(VALUES.shape, "int8", zero_point=[0, 0], name="weights", **SCALES)
    model = decoding((*tables(VALUES, 1, 0), y))
    main = model.subgraphs[0]
    x, sums, last = (Tensor(shape, "int8", scale=0.5, name="") for shape in ([1, 3], [1, 2], [1, 2]))
    main.op("FULLY_CONNECTED", [x, y, None], [sums])
    main.op("RELU", [sums], [last])
    main.inputs, main.outputs = [x], [last]
    lives = {buffer.label: (buffer.first, buffer.last) for buffer in demand(loaded(model)).buffers}
    assert lives[y.name] == (1, 2)


def test_fewer_tables_than_scales_are_told():
    y = Tensor([2, 3], "int8", zero_point=[0, 0], name="weights", **SCALES)
    one, two = (Survey(loaded(decoding((*tables(VALUES, 1, axis), y)))) for axis in (None, 0))
    assert one.refusals == two.refusals == two.misread == []
    [text] = one.misread
    assert "node 0 TFLM_DECODE: output 0 'weights' has 2 scales and 1 look-up table;" in text
    assert "Compress this tensor per channel" in text


@pytest.mark.parametrize(("size", "planned"), [(0, 2), (5, 2), (6, 1), (21, 1), (22, 0)])
def test_a_memory_of_its_own(size, planned):
    """Two outputs of 6 bytes in one node: the second begins at 16."""
    model = Model()
    main = model.subgraph("main")
    outputs = [Tensor(VALUES.shape, "int8", scale=0.1) for _ in range(2)]
    main.op("TFLM_DECODE", [*constants(*tables(VALUES, 1)), *constants(*pruned(VALUES))], outputs)
    main.inputs, main.outputs = [], outputs
    found = demand(loaded(model), decompression_memory=size)
    assert len(found.buffers) == planned
    assert len(found.before) - len(demand(loaded(model)).before) == (size > 0)
    shown = runtime.Interpreter.from_bytes(model.to_bytes(), alt_decompression_memory_size=size)
    shown.invoke()
    assert np.array_equal(shown.get_output(1), VALUES)


def test_the_firmwares_line():
    lines = Survey(loaded(three())).firmware("arm32")
    assert "MicroMutableOpResolver<1> resolver;" in lines
    assert "resolver.AddDecode()" in lines


@pytest.mark.parametrize(
    ("ancillary", "text"),
    [
        (header(7), "method 7"),
        (header(LOOK_UP_TABLES, 1, 2, 0), "version 0"),
        (header(LOOK_UP_TABLES, 1, 2, 1, 2), "version 2 of DecodeLut"),
        (header(LOOK_UP_TABLES)[:8], "8 bytes"),
    ],
)
def test_refused(ancillary, text):
    model = decoding((b"\0", ancillary, Tensor([8], "int8")))
    [refusal] = Survey(loaded(model)).refusals
    assert "node 0 TFLM_DECODE" in refusal and text in refusal
    with pytest.raises(ValueError, match=text):
        method(ancillary)


def test_the_plan_holds_every_decoded_tensor_until_it_is_read():
    interpreter = MicroInterpreter(three().to_bytes(), planner="optimal")
    interpreter.invoke()
    assert all(np.array_equal(interpreter.output(i), VALUES) for i in range(3))
