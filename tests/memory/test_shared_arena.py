"""SharedArena: one head of the largest plan, tails that add up, tenants that cannot harm each other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import examples
from tflm_cy.memory import ArenaExhausted, SharedArena, SingleArena


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 500), st.lists(st.integers(0, 100), max_size=5)), min_size=1, max_size=6))
def test_the_largest_head_and_the_sum_of_the_tails(models):
    shared = SharedArena(SingleArena(1 << 16))
    tenants = []
    for head, tail in models:
        tenant = shared.tenant()
        for size in tail:
            tenant.tail(size)
        tenant.release(tenant.temp(64))
        tenant.reset_temp()
        tenant.head(head)
        tenants.append(tenant)
    assert shared.head_size == max(head for head, _ in models)
    assert [tenant.head_size for tenant in tenants] == [head for head, _ in models]
    assert len({tenant.head_address for tenant in tenants}) == 1
    assert shared.tail_used == sum(tenant.tail_used for tenant in tenants)
    assert shared.used_bytes == shared.head_size + shared.tail_used


def test_a_smaller_plan_leaves_the_head_as_it_is():
    shared = SharedArena(SingleArena(1024))
    first, second = shared.tenant(), shared.tenant()
    first.head(600)
    second.head(100)
    temporary = second.temp(16)
    assert temporary >= first.head_address + 600
    with pytest.raises(ArenaExhausted):
        second.tail(500)


def test_a_tenant_is_rewound_while_nobody_lies_behind_it():
    shared = SharedArena(SingleArena(1024))
    first, second = shared.tenant(), shared.tenant()
    first.tail(32)
    mark = first.mark()
    for _ in range(3):
        first.rewind(mark)
        first.tail(64)
    second.tail(16)
    first.rewind(first.mark())
    with pytest.raises(RuntimeError, match="another model"):
        first.rewind(mark)
    assert (first.tail_used, second.tail_used, shared.tail_used) == (96, 16, 112)
    second.rewind(0)
    first.rewind(mark)
    assert (first.tail_used, second.tail_used, shared.tail_used) == (32, 0, 32)


def test_no_arena():
    with pytest.raises(TypeError):
        SharedArena(None)
