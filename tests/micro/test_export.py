"""Plans and orders written into copies of models, which still compute what they computed."""

from types import SimpleNamespace

import pytest

from compat.builder import Model
from tests.micro.models import activation, branches, chain, loaded
from tests.micro.outputs import outputs
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.problem import Plan
from tflm_cy.micro import export
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import REFERENCE_KERNELS, exported, reordered
from tflm_cy.micro.offline import ASSUMPTION, ENTRY, read_plan
from tflm_cy.micro.planners import plan_with, planners
from tflm_cy.micro.safe_overlaps import relaxed_rows
from tflm_cy.schema import model as schema


@pytest.mark.parametrize("name", planners())
@pytest.mark.parametrize("make", [chain, branches])
def test_the_copy_has_the_plans_head_and_computes_the_same(make, name):
    model = loaded(make())
    asked = demand(model)
    plan, relaxed = plan_with(name, asked)
    content = exported(model, asked, plan, relaxed=relaxed, assumption=REFERENCE_KERNELS if relaxed else None)
    copy = schema.Model.from_buffer(content)
    head = demand(copy).plan().high_water_mark
    assert head == plan.high_water_mark or (name == "linear" and head < plan.high_water_mark)  # scratch shares memory
    tensors = {b.place: offset for b, offset in zip(asked.buffers, plan.offsets, strict=True) if not b.scratch}
    offsets = read_plan(demand(copy).graph).offsets
    assert offsets == [tensors.get(place, -1) for place in asked.graph.tensor_places]
    assert outputs(content) == outputs(memoryview(model))


def test_a_plan_is_replaced_not_added():
    model = loaded(chain())
    asked = demand(model)
    once = schema.Model.from_buffer(exported(model, asked, linear(asked.problem())))
    unplanned = demand(model).problem()
    twice = schema.Model.from_buffer(exported(once, asked, greedy(unplanned)))
    entries = [name for name, _ in demand(twice).graph.metadata]
    assert entries.count(ENTRY) == 1
    assert demand(twice).plan().high_water_mark == greedy(unplanned).high_water_mark


def test_an_unsound_plan_is_not_written():
    model = loaded(chain())
    asked = demand(model)
    with pytest.raises(ValueError, match="overlap"):
        exported(model, asked, Plan([0] * 5, 512))


def test_an_overlap_needs_its_assumption():
    model = loaded(chain())
    asked = demand(model)
    rows = relaxed_rows(asked)
    d = next(d for output, source, d in rows if (output, source) == (1, 0))
    offsets = [d, 0, 512, 640, 768]  # the input lies over the first output, as far up as it must
    plan = Plan(offsets, 896)
    with pytest.raises(ValueError, match="assumption"):
        exported(model, asked, plan, relaxed=rows)
    content = exported(model, asked, plan, relaxed=rows, assumption=REFERENCE_KERNELS)
    assert bytes(schema.Model.from_buffer(content).metadata[ASSUMPTION]).decode() == REFERENCE_KERNELS
    with pytest.raises(ValueError, match="overlap"):
        exported(model, asked, Plan([d - 16, *offsets[1:]], 896), relaxed=rows, assumption=REFERENCE_KERNELS)


def two_branches(stateful=False):
    model = Model()
    main = model.subgraph("main")
    x, a, b, c, d, y = (activation(1, 40) for _ in range(6))
    main.op("RELU", [x], [a])
    main.op("RELU", [x], [b])
    main.op("MyOp" if stateful else "RELU6", [a], [c])
    main.op("MyOp" if stateful else "ADD", [b] if stateful else [b, x], [d])
    main.op("ADD", [c, d], [y])
    return model


def test_another_order_runs_and_computes_the_same():
    model = loaded(two_branches())
    copy = reordered(model, [1, 3, 0, 2, 4], demand(model))
    assert [node.op for node in demand(copy).graph.nodes] == ["RELU", "ADD", "RELU", "RELU6", "ADD"]
    assert outputs(memoryview(copy)) == outputs(memoryview(model))


@pytest.mark.parametrize(
    "order, reason",
    [([0, 1, 2, 3], "no permutation"), ([0, 0, 1, 2, 3], "no permutation"), ([2, 0, 1, 3, 4], "whose output it reads")],
)
def test_orders_that_are_none(order, reason):
    model = loaded(two_branches())
    with pytest.raises(ValueError, match=reason):
        reordered(model, order, demand(model))


def test_operators_with_state_keep_their_order():
    model = loaded(two_branches(stateful=True))
    asked = demand(model, refuse=False)
    with pytest.raises(ValueError, match="keep state"):
        reordered(model, [1, 3, 0, 2, 4], asked)
    reordered(model, [1, 0, 2, 3, 4], asked)


def test_scratch_that_tflm_places_higher_is_noticed(monkeypatch):
    model = loaded(chain())
    asked = demand(model)
    monkeypatch.setattr(export, "demand_of", lambda *_: SimpleNamespace(plan=lambda: Plan([], 4096)))
    with pytest.raises(ValueError, match="would need 4096 bytes, 3328 more"):
        exported(model, asked, greedy(asked.problem()))
