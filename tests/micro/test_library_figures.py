"""Figures for boards and libraries of kernels: as builds of TFLM for these processors print them."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import activation, chain, convolution, loaded
from tflm_cy.memory.check import check
from tflm_cy.micro import cmsis_nn, esp_nn
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.device import COMPARED, DEVICES, resolve
from tflm_cy.micro.esp_nn import Layer
from tflm_cy.micro.figures import figures
from tflm_cy.micro.library_bytes import other_bytes
from tflm_cy.micro.operator_usage import usage
from tflm_cy.micro.planners import plan_with
from tflm_cy.micro.safe_overlaps import relaxed_rows
from tflm_cy.micro.survey import Survey
from tflm_cy.micro.target import target
from tflm_cy.schema import model as schema

MODELS = {
    "depthwise": lambda: convolution(op="DEPTHWISE_CONV_2D", channels=(1, 8)),
    "strided": lambda: convolution(padding="VALID", stride=2),
    "pointwise": lambda: convolution(kernel=(1, 1)),
}
# (head, tail with the recording allocator, total without, persistent buffers (used, requested, count)), measured
MEASURED = {
    ("cortex-m3+reference", "depthwise"): (272, 596, 772, (148, 128, 5)),
    ("cortex-m3+reference", "strided"): (112, 564, 580, (116, 96, 5)),
    ("cortex-m3+reference", "pointwise"): (224, 564, 692, (116, 96, 5)),
    ("cortex-m3+cmsis-nn", "depthwise"): (272, 612, 772, (164, 132, 5)),
    ("cortex-m3+cmsis-nn", "strided"): (224, 580, 692, (128, 100, 5)),
    ("cortex-m3+cmsis-nn", "pointwise"): (224, 580, 692, (132, 100, 5)),
    ("cortex-m4+cmsis-nn", "depthwise"): (272, 612, 772, (164, 132, 5)),
    ("cortex-m4+cmsis-nn", "strided"): (224, 580, 692, (128, 100, 5)),
    ("cortex-m4+cmsis-nn", "pointwise"): (224, 580, 692, (132, 100, 5)),
    ("cortex-m55+cmsis-nn", "depthwise"): (416, 612, 916, (160, 132, 5)),
    ("cortex-m55+cmsis-nn", "strided"): (240, 580, 708, (128, 100, 5)),
    ("cortex-m55+cmsis-nn", "pointwise"): (224, 580, 692, (132, 100, 5)),
}


@pytest.mark.parametrize(("name", "model"), MEASURED)
def test_as_measured(name, model):
    head, tail, plain, persistent = MEASURED[name, model]
    graph = loaded(MODELS[model]())
    found = figures(demand(graph, name, recording=True), arena_size=1 << 20)
    record = found.kinds["Persistent buffer data"]
    assert (found.head, found.tail) == (head, tail)
    assert (record.used, record.requested, record.count) == persistent
    assert figures(demand(graph, name, recording=False), arena_size=1 << 20).total == plain


@pytest.mark.parametrize("name", [*DEVICES, *COMPARED, "cortex-m33+nodsp", "cortex-m55+nomve", "esp32s3+esp-nn-ansi"])
def test_the_smallest_arena_fits_and_a_byte_less_does_not(name):
    asked = demand(loaded(chain()), name)
    least = figures(asked).smallest_arena
    assert [figures(asked, arena_size=least + more).fits for more in (-17, -1, 0, 16)] == [False, False, True, True]


def test_names():
    assert resolve("cortex-m4").name == "cortex-m4+cmsis-nn" and resolve("arm32").name == "arm32"
    assert resolve("cortex-m55+nomve").features == {"dsp"} and resolve("cortex-m55+nodsp").features == frozenset()
    assert target("cortex-m55+nomve").features == {"dsp"}
    for wrong in ("m4", "cortex-m3+nodsp", "cortex-m4+esp-nn", "esp32+cmsis-nn+reference", "host64+cmsis-nn", ""):
        with pytest.raises(ValueError, match=r"target|kernels"):
            resolve(wrong)
    with pytest.raises(ValueError, match="name one library"):
        resolve("cortex-m4+reference", "cmsis-nn")


def test_extensions_that_are_left_out():
    """A Cortex-M55 without MVE asks for what a Cortex-M4 asks for, one without DSP for what a Cortex-M3 does."""
    for model in MODELS.values():
        heads = {
            name: figures(loaded(model()), name).head
            for name in ("cortex-m3", "cortex-m4", "cortex-m33+nodsp", "cortex-m55+nomve", "cortex-m55+nodsp")
        }
        assert heads["cortex-m55+nomve"] == heads["cortex-m4"]
        assert heads["cortex-m3"] == heads["cortex-m33+nodsp"] == heads["cortex-m55+nodsp"]


def product(constant, biased=True):
    """A FULLY_CONNECTED with 7 outputs, whose weights may be computed."""
    rng = np.random.default_rng(0)
    values = rng.integers(-9, 10, (7, 16)).astype(np.int8)
    quantized = {"scale": [0.02], "zero_point": [0]}
    weights = Tensor.constant(values, **quantized) if constant else Tensor([7, 16], "int8", **quantized)
    bias = Tensor.constant(np.zeros(7, np.int32), scale=[0.001], zero_point=[0]) if biased else None
    return Model.single("FULLY_CONNECTED", [activation(1, 16), weights, bias], [activation(1, 7)])


def test_sums_of_weights_are_kept_where_the_weights_are_constant():
    plain = usage(demand(loaded(product(True)), "cortex-m4"))["FULLY_CONNECTED"]
    kept = usage(demand(loaded(product(True)), "cortex-m55"))["FULLY_CONNECTED"]
    computed = usage(demand(loaded(product(False)), "cortex-m55"))["FULLY_CONNECTED"]
    assert (kept.persistent - plain.persistent, kept.scratch) == (4 * 7, 0)
    assert (computed.persistent, computed.scratch) == (plain.persistent, 4 * 7)


def loaded_again(content):
    return schema.Model.from_buffer(content)


def test_libraries_keep_inputs_and_outputs_apart():
    model = loaded(chain())
    assert relaxed_rows(demand(model, "cortex-m4+reference"))
    strict = demand(model, "cortex-m4+cmsis-nn")
    rows = relaxed_rows(strict)
    assert len(rows) < len(relaxed_rows(demand(model, "cortex-m4+reference")))
    plan, rows = plan_with("overlap", strict)
    check(strict.problem(rows), plan)
    copy = loaded_again(Survey(model, targets=("cortex-m4",)).export("overlap"))
    assert figures(copy, "cortex-m4").head <= plan.high_water_mark


def test_no_scratch_of_the_c_version():
    layer = Layer((12, 12), 8, (3, 3), (12, 12), 8, (1, 1), (1, 1))
    assert esp_nn.convolution(frozenset(), layer) == esp_nn.depthwise(frozenset(), layer, 1) == 0
    assert esp_nn.convolution({"s3"}, layer) > 0 and esp_nn.convolution({"p4"}, layer) > 0
    assert cmsis_nn.average_pool({"dsp"}, 5) == 20 and cmsis_nn.average_pool({"dsp", "mve"}, 5) == 0


def test_a_softmax_with_one_dimension_asks_for_what_follows_its_shape():
    """esp-nn's kernel reads the second dimension, also of a tensor that has one."""
    x = Tensor([5], "int8", scale=0.1, zero_point=3)
    y = Tensor([5], "int8", scale=1 / 256, zero_point=-128)
    model = loaded(Model.single("SOFTMAX", [x], [y], beta=1.0))
    asked = demand(model, "esp32")
    following = asked.graph.nodes[0].input(0).behind_shape
    scratch = [buffer.nbytes for buffer in asked.buffers if buffer.scratch]
    assert scratch == ([4 * following] if following > 0 else [])


def test_where_a_library_computes_other_values():
    x = activation(1, 6, 5, 4)
    groups = Tensor.constant(np.ones((2, 1, 1, 2), np.int8), scale=[0.02], zero_point=[0])
    strides = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    model = loaded(Model.single("CONV_2D", [x, groups, None], [activation(1, 6, 5, 2)], **strides))
    for name, expected in (("cortex-m4", "bias"), ("cortex-m4+reference", None), ("esp32", "no bias")):
        asked = demand(model, name, refuse=False)
        said = other_bytes(asked.graph.nodes[0], asked.target)
        assert said is None if expected is None else expected in said
    plain = demand(loaded(convolution()), "cortex-m55")
    assert other_bytes(plain.graph.nodes[0], plain.target) is None
    for name, expected in (("esp32", None), ("esp32s3", "fast")):
        asked = demand(loaded(convolution()), name)
        said = other_bytes(asked.graph.nodes[0], asked.target)
        assert said is None if expected is None else expected in said


def test_a_missing_bias_is_a_crash_on_an_esp():
    x, y = activation(1, 6, 5, 4), activation(1, 6, 5, 2)
    weights = Tensor.constant(np.ones((2, 1, 1, 4), np.int8), scale=[0.02], zero_point=[0])
    model = loaded(Model.single("CONV_2D", [x, weights, None], [y], padding="SAME", stride_h=1, stride_w=1))
    assert [fault.reason for fault in Survey(model, targets=("esp32",)).faults if "no bias" in fault.reason]
    assert not [fault for fault in Survey(model, targets=("cortex-m4",)).faults if "no bias" in fault.reason]


def along_a_row(width, window, channels, stride):
    """An int8 DEPTHWISE_CONV_2D of one row and one channel with SAME padding."""
    x, y = activation(1, 1, width, 1), activation(1, 1, -(-width // stride), channels)
    weights = Tensor.constant(
        np.ones((1, 1, window, channels), np.int8), scale=[0.02] * channels, zero_point=[0] * channels, axis=3
    )
    strides = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "depth_multiplier": channels}
    bias = Tensor.constant(np.zeros(channels, np.int32), scale=[0.001] * channels, zero_point=[0] * channels)
    return loaded(Model.single("DEPTHWISE_CONV_2D", [x, weights, bias], [y], **strides))


@pytest.mark.parametrize(
    ("shape", "head"), [((20, 2, 4, 2), 96), ((20, 5, 4, 1), 144), ((20, 1, 4, 2), 96), ((20, 5, 4, 4), 96)]
)
def test_what_is_asked_for_before_the_stride_is_set(shape, head):
    """Heads as a build for cortex-m55 asks for them: the kernel may write more, which is said."""
    asked = demand(along_a_row(*shape), "cortex-m55+cmsis-nn")
    assert asked.plan().high_water_mark == head
    said = other_bytes(asked.graph.nodes[0], asked.target)
    assert (said is not None and "before it has set the stride" in said) == (shape[1] > 1 and shape[3] % 4 != 0)
    assert other_bytes(asked.graph.nodes[0], target("cortex-m4+cmsis-nn")) is None
