"""Plans of a model's demand by name: copies apart or in place, and what is proven about them."""

import pytest

from compat.builder import Model
from tests.micro.models import activation, loaded
from tflm_cy.memory.check import check
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.planners import plan_with, planners


def copies(count, also_read):
    """LOGISTIC and RESHAPE in turn; with `also_read` an ADD at the end reads the first copy's source as well."""
    model = Model()
    main = model.subgraph("main")
    x = main.tensor(activation(1, 64))
    y, first = x, None
    for _ in range(count):
        y = main.op("ADD", [y, y], [activation(1, 64)])[0]
        first = first or y
        y = main.op("RESHAPE", [y], [activation(1, 64)], new_shape=[1, 64])[0]
    if also_read:
        y = main.op("ADD", [y, first], [activation(1, 64)])[0]
    main.inputs, main.outputs = [x], [y]
    return loaded(model)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("also_read", [False, True])
def test_few_and_many_copies_are_proven_least(count, also_read):
    asked = demand(copies(count, also_read))
    plan, relaxed = plan_with("overlap", asked)
    check(asked.problem(relaxed), plan)
    least = 128 if also_read and count > 1 else 64
    assert (plan.high_water_mark, plan.proven_lower_bound) == (least, least)


def test_names():
    asked = demand(copies(1, False))
    assert planners()[0] == "greedy" and plan_with("greedy", asked)[1] == ()
    with pytest.raises(ValueError, match="no planner 'best'"):
        plan_with("best", asked)
