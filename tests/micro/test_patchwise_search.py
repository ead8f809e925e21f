"""The search for stages: it finds less, says so truly, and what it exports runs in the head that it promises."""

import numpy as np
import pytest

from compat.builder import Model as Builder
from compat.builder import Tensor
from tests.micro.models import activation, constant
from tests.micro.test_patchwise import computed
from tflm_cy.micro import patchwise
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.offline import ASSUMPTION, check_plan
from tflm_cy.micro.patchwise.costs import Costs
from tflm_cy.micro.patchwise.report import as_dict, lines, stage_rows
from tflm_cy.micro.patchwise.stage import Segments
from tflm_cy.micro.safe_overlaps import relaxed_rows
from tflm_cy.schema.model import Model


def pyramid():
    """Four convolutions: the first ones have large images and few weights."""
    rng = np.random.default_rng(0)
    model = Builder()
    main = model.subgraph("main")
    shapes = [(32, 3), (32, 16), (16, 16), (16, 24), (8, 24)]
    tensors = [activation(1, size, size, channels) for size, channels in shapes]
    for (size, depth), (out, channels), x, y in zip(shapes, shapes[1:], tensors, tensors[1:], strict=False):
        stride = size // out
        weights = constant(rng, [channels, 3, 3, depth], 0)
        bias = Tensor.constant(np.zeros(channels, np.int32), scale=[0.001] * channels, zero_point=[0] * channels)
        strides = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": 1, "dilation_w_factor": 1}
        main.op("CONV_2D", [x, weights, bias], [y], padding="SAME", **strides)
    return model.to_bytes()


@pytest.fixture(scope="module")
def content():
    return pyramid()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("optimize", ["total", "head"])
def test_it_finds_less_and_the_copy_has_it(content, optimize, strict):
    found = patchwise.search(Model.from_buffer(content), patchwise.Wanted(optimize=optimize, strict=strict))
    best, untouched = found.best, found.untouched
    assert best.stages and found.extra_macs <= 10
    assert (best.total < untouched.total) if optimize == "total" else (best.head < untouched.head)
    assert best.bound <= best.head
    copy = patchwise.export(found)
    asked = demand(Model.from_buffer(copy), "arm32")
    assert asked.plan().high_water_mark == best.head
    assert (ASSUMPTION.encode() in copy) is not strict
    rows = relaxed_rows(asked, strict=strict)
    assert check_plan(asked.offline, asked.buffers, rows, graph=asked.graph) == []
    values = np.random.default_rng(1).integers(-128, 128, (1, 32, 32, 3)).astype(np.int8)
    for resolver in ("BUILTIN_REF", "AUTO", "MICRO"):
        assert computed(copy, values, resolver) == computed(content, values, resolver)


def test_the_same_again(content):
    first, second = (patchwise.search(Model.from_buffer(content), patchwise.Wanted(work=400)) for _ in range(2))
    assert first.best.stages == second.best.stages and first.best.plan.offsets == second.best.plan.offsets


def test_limits_are_kept(content):
    none = patchwise.search(Model.from_buffer(content), patchwise.Wanted(extra_macs=0))
    assert none.extra_macs == 0
    short = patchwise.search(Model.from_buffer(content), patchwise.Wanted(seconds=0.001))
    assert short.late and short.best.total <= short.untouched.total


def test_progress_ends(content):
    shares = []
    patchwise.search(Model.from_buffer(content), progress=lambda what, share: shares.append((what, share)))
    assert {what for what, _ in shares} == {"stages", "plans"} and shares[-1][1] == 1.0
    assert all(0 <= share <= 1 for _, share in shares)


def test_what_it_says(content):
    model = Model.from_buffer(content)
    found = patchwise.search(model)
    greedy = demand(model, "arm32").plan()
    told = as_dict(found, greedy, 100)
    assert (
        told["total"] == found.best.head + found.best.tail and told["before"]["greedy_head"] == greedy.high_water_mark
    )
    assert len(stage_rows(found)[1]) == len(found.best.stages)
    assert f"{found.best.operators} operators instead of 4" in lines(found, 100)[0]


def test_estimates_are_near(content):
    """The estimated head of a stage is that of its plan, up to a tenth; extra multiplications are exact."""
    model = Model.from_buffer(content)
    asked = demand(model, "arm32")
    segments = Segments(asked.graph.subgraphs[0])
    costs = Costs(asked, segments)
    for grid in ((2, 1), (4, 1), (2, 2)):
        stage = patchwise.Stage(0, 1, *grid)
        cost = costs.stage(segments(0, 1), stage)
        patched = patchwise.rewrite(model, [stage])
        nodes = [node for node in patched.view.nodes if node.op == "CONV_2D"]
        macs = sum(node.output(0).elements * node.input(1).elements // node.output(0).shape[3] for node in nodes)
        assert cost.macs == macs - costs.macs


def test_a_model_that_tflm_refuses():
    model = Builder()
    main = model.subgraph("main")
    main.op("MyOp", [activation(1, 8, 8, 4)], [activation(1, 8, 8, 4)])
    with pytest.raises(ValueError, match="MyOp"):
        patchwise.search(Model.from_buffer(model.to_bytes()))
