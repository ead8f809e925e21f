"""A choice of two memories as an offline plan: where TFLM puts what, and what it moves."""

import pytest

from compat.memories import random_graph
from tests.micro.models import chain, loaded
from tflm_cy.memory.check import check
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.two_memories import divide
from tflm_cy.micro.two_memory_plan import follow, moved, one_range
from tflm_cy.schema.model import Model


@pytest.mark.parametrize("seed", range(6))
def test_tensors_lie_where_they_were_put(seed):
    model = random_graph(seed)
    asked = demand(model, "arm32")
    fast = -(-asked.plan().high_water_mark // 32) * 16
    found = divide(asked, fast, 1 << 30, weights=False)
    plan = one_range(asked, found, fast)
    check(asked.problem(), plan)
    followed = follow(model, asked, found, fast)
    assert list(followed.plan.offsets) == list(plan.offsets)  # there is no scratch here, which TFLM would place
    assert followed.moved == found.moved == moved(asked, plan, fast)
    copy = demand(Model.from_buffer(followed.content), "arm32", recording=False)
    assert copy.plan().high_water_mark == plan.high_water_mark <= followed.non_persistent


def test_scratch_is_counted_where_tflm_puts_it():
    model = random_graph(1)
    asked = demand(model, "cortex-m7")
    assert any(buffer.scratch for buffer in asked.buffers)
    found = divide(asked, 2048, 1 << 30, weights=False)
    followed = follow(model, asked, found, 2048)
    for buffer, offset, planned in zip(
        followed.demand.buffers, followed.plan.offsets, one_range(asked, found, 2048).offsets, strict=True
    ):
        assert buffer.scratch or offset == planned


def test_a_buffer_across_the_border_counts_by_its_share():
    asked = demand(loaded(chain()), "arm32")
    plan = asked.plan()
    everything = moved(asked, plan, 0)
    assert 0 == moved(asked, plan, plan.high_water_mark) < moved(asked, plan, 40) < everything


def test_a_choice_for_another_model():
    asked = demand(loaded(chain()), "arm32")
    with pytest.raises(ValueError, match="buffers"):
        one_range(demand(random_graph(2), "arm32"), divide(asked, 64, 1 << 20), 64)
