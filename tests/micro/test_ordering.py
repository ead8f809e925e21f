"""Other orders of operators: a lower head, the same bytes, and what may not be exchanged."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import SCALE, activation, branches, chain, loaded, widening
from tests.micro.outputs import outputs
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import REFERENCE_KERNELS, exported
from tflm_cy.micro.ordering import better_order
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model as Loaded


@pytest.mark.parametrize("planner", ["greedy", "optimal", "overlap"])
def test_a_better_order_has_the_lower_head_in_the_exported_copy_too(planner):
    model = loaded(widening())
    asked = demand(model)
    found = better_order(model, asked, planner)
    given = better_order(model, asked, planner, states=0)
    assert found.changed and not given.changed and found.plan.high_water_mark < given.plan.high_water_mark
    assumption = REFERENCE_KERNELS if found.relaxed else None
    content = exported(found.model, found.demand, found.plan, relaxed=found.relaxed, assumption=assumption)
    survey = Survey(Loaded.from_buffer(content))
    assert survey.plan("greedy").high_water_mark == found.plan.high_water_mark and not survey.offline_problems
    assert outputs(content) == outputs(memoryview(model))


def test_the_least_of_any_order_is_proven():
    model = loaded(widening())
    found = better_order(model, demand(model), "optimal")
    assert found.proven and found.states > 0
    assert not better_order(model, demand(model), "overlap").proven


def test_a_chain_keeps_its_order():
    for make in (chain, branches):
        model = loaded(make())
        found = better_order(model, demand(model), "optimal")
        assert found.plan.high_water_mark <= demand(model).plan().high_water_mark
        assert sorted(found.order) == list(range(len(found.order)))


def test_operators_with_state_stay_in_their_order():
    model = Model()
    main = model.subgraph("main")
    x, out = activation(1, 16), activation(1, 2)
    narrow, wide = [], [activation(1, 160), activation(1, 160)]
    for y in wide:
        main.op("CONCATENATION", [x] * 10, [y], axis=1)
    for y in wide:
        random = Tensor([1, 1], "int8", **SCALE)
        main.op("SVDF", *svdf(y, random), rank=1)
        narrow.append(random)
    main.op("CONCATENATION", narrow, [out], axis=1)
    main.inputs, main.outputs = [x], [out]
    loaded_model = loaded(model)
    found = better_order(loaded_model, demand(loaded_model, refuse=False), "optimal")
    order = list(found.order)
    assert found.changed and order.index(2) < order.index(3)


def svdf(source, output):
    depth = source.shape[1]
    weights = Tensor.constant(np.ones((1, depth), np.int8), scale=0.02, zero_point=0)
    time = Tensor.constant(np.ones((1, 2), np.int16), scale=0.02, zero_point=0)
    bias = Tensor.constant(np.zeros(1, np.int32), scale=0.001, zero_point=0)
    state = Tensor([1, 2], "int16", scale=0.02, zero_point=0, variable=True)
    return [source, weights, time, bias, state], [output]


def test_an_offline_plan_in_the_file_is_left_alone():
    model = loaded(widening())
    asked = demand(model)
    planned = Loaded.from_buffer(exported(model, asked, asked.plan()))
    assert not better_order(planned, demand(planned), "optimal").changed


def test_inputs_that_are_kept_stay_kept():
    survey = Survey(loaded(widening()), keep_inputs=True)
    assert survey.in_better_order("optimal").demand.keeps_inputs
    ordered = survey.better_order("optimal")
    last = max(buffer.last for buffer in ordered.demand.buffers)
    assert [b.last for b in ordered.demand.buffers if b.place == (0, 0)] == [last]
