"""Kernels that may write over their inputs: generated models of each operator, the output as near as it is permitted."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.cases import generated_cases
from tests.micro.models import SCALE, activation, chain, constant, convolution, loaded
from tflm_cy.memory.check import check
from tflm_cy.memory.problem import Problem
from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import REFERENCE_KERNELS, exported
from tflm_cy.micro.planners import plan_with
from tflm_cy.ops.overlaps import ASCENDING, READ_AGAIN, permits
from tflm_cy.schema.model import Model as Loaded


def outputs(interpreter, feed):
    for i, value in enumerate(feed):
        interpreter.set_input(i, value)
    interpreter.invoke()
    return [interpreter.output(i).tobytes() for i in range(len(interpreter.outputs))]


def overlaps(interpreter):
    """Whether any two buffers alive at one time share bytes."""
    problem = interpreter.problem
    strict = Problem(problem.sizes, problem.first_use, problem.last_use, alignment=problem.alignment)
    try:
        check(strict, interpreter.plan)
    except ValueError:
        return True
    return False


def refused(case):
    try:
        MicroInterpreter(case.model)
    except (ValueError, RuntimeError):
        return True
    return False


@pytest.mark.parametrize("op", sorted(ASCENDING))
def test_every_case_gives_the_same_bytes(op):
    met = 0
    for case in generated_cases(range(2), ops=[op]):
        if refused(case):
            continue
        apart, near = MicroInterpreter(case.model), MicroInterpreter(case.model, planner="overlap")
        met += overlaps(near)
        try:
            wanted = outputs(apart, case.feeds[0])
        except (ValueError, RuntimeError):  # fails when it runs, or is to be resized
            continue
        assert outputs(near, case.feeds[0]) == wanted, case.id
    assert met, f"no case of {op} overlaps: the test says nothing"


def large(op):
    """One operator on more than any block of its loops: 150 channels, 130 columns."""
    rng = np.random.default_rng(0)
    if op in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        channels = (3, 150) if op == "CONV_2D" else (150, 150)
        return convolution(2, "SAME", op, (9, 131), channels)
    x, y = activation(1, 9, 130, 150), activation(1, 9, 130, 150)
    if op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        window = {"filter_height": 2, "filter_width": 3, "stride_h": 1, "stride_w": 1}
        return Model.single(op, [x], [y], padding="SAME", **window)
    if op == "PAD":
        paddings = Tensor.constant(np.array([[0, 0], [1, 1], [2, 0], [0, 3]], np.int32))
        return Model.single(op, [x, paddings], [activation(1, 11, 132, 153)])
    if op == "ADD":
        return Model.single(op, [x, constant(rng, (150,))], [y])
    if op == "SOFTMAX":
        return Model.single(op, [x], [Tensor([1, 9, 130, 150], "int8", scale=1 / 256, zero_point=-128)], beta=1.0)
    rows = activation(5, 700)
    bias = Tensor.constant(np.zeros(300, np.int32), scale=SCALE["scale"] * 0.02, zero_point=0)
    return Model.single("FULLY_CONNECTED", [rows, constant(rng, (300, 700)), bias], [activation(5, 300)])


@pytest.mark.parametrize(
    "op", ["CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "PAD", "ADD", "SOFTMAX", "FULLY_CONNECTED"]
)
def test_large_images_and_rows(op):
    model = loaded(large(op))
    near, apart = MicroInterpreter(model, planner="overlap"), MicroInterpreter(model)
    assert overlaps(near) and near.head_bytes < apart.head_bytes
    shape = near.input_details(0)["shape"]
    feed = [np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)]
    assert outputs(near, feed) == outputs(apart, feed)


def test_a_plan_in_the_file_that_overlaps_is_obeyed_if_our_kernels_permit_it():
    model = loaded(chain())
    asked = demand(model)
    plan, relaxed = plan_with("overlap", asked)
    planned = Loaded.from_buffer(exported(model, asked, plan, relaxed=relaxed, assumption=REFERENCE_KERNELS))
    interpreter, apart = MicroInterpreter(planned), MicroInterpreter(model)
    feed = [np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)]
    assert outputs(interpreter, feed) == outputs(apart, feed)
    assert overlaps(interpreter) and interpreter.head_bytes < apart.head_bytes


def test_who_reads_again_is_kept_apart():
    assert not any(permits(*pair) for pair in READ_AGAIN)
    assert not permits("SPLIT", "INT8") and not permits("CONCATENATION", "INT8")
    model = loaded(
        Model.single(
            "SPLIT",
            [Tensor.constant(np.int32(1)), activation(2, 8)],
            [activation(2, 4), activation(2, 4)],
            num_splits=2,
        )
    )
    assert not overlaps(MicroInterpreter(model, planner="overlap"))
