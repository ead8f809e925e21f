"""Problems as CSV text."""

import pytest
from hypothesis import given, settings

from tests.draws import examples
from tflm_cy.memory import Problem
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy

from .problems import problems

LADDER = """id,lower,upper,size
a,0,10,4096
b,10,20,1024
c,5,15,2048
d,19,30,512
"""


def test_lifetimes_are_half_open_in_the_file():
    problem = Problem.from_csv(LADDER)
    assert problem.sizes == (4096, 1024, 2048, 512)
    assert problem.first_use == (0, 10, 5, 19)
    assert problem.last_use == (9, 19, 14, 29)
    assert problem.alignment == 1
    plan = greedy(problem)
    check(problem, plan)
    assert plan.offsets == (0, 0, 4096, 1024)
    assert plan.high_water_mark == plan.proven_lower_bound == 6144


def test_columns_are_found_by_name():
    problem = Problem.from_csv("size, upper, id, lower\n7, 3, x, 1\n", alignment=16)
    assert (problem.sizes, problem.first_use, problem.last_use) == ((7,), (1,), (2,))
    assert problem.alignment == 16


def test_offsets_are_fixed_where_they_are_given():
    problem = Problem.from_csv("id,lower,upper,size,offset\n0,0,1,8,\n1,0,1,8,32\n")
    assert problem.fixed_offsets == (-1, 32)


@settings(max_examples=examples(100), deadline=None)
@given(problems(alignments=(16,)))
def test_what_is_written_is_read_again(problem):
    again = Problem.from_csv(problem.to_csv(), problem.alignment)
    for name in ("sizes", "first_use", "last_use", "fixed_offsets"):
        assert getattr(again, name) == getattr(problem, name)


@settings(max_examples=examples(100), deadline=None)
@given(problems(fixed=False))
def test_with_a_plan_nothing_is_left_to_choose(problem):
    plan = greedy(problem)
    again = Problem.from_csv(problem.to_csv(plan), problem.alignment)
    assert (again.fixed_offsets or ()) == plan.offsets
    assert greedy(again).offsets == plan.offsets


def test_a_plan_of_another_problem():
    with pytest.raises(ValueError, match="1 offsets for 2 buffers"):
        Problem([1, 2], [0, 0], [0, 0]).to_csv(greedy(Problem([1], [0], [0])))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "columns .* missing"),
        ("id,lower,upper\n1,2,3\n", r"\['size'\] are missing"),
        ("id,lower,upper,size,gaps\n1,2,3,4,5\n", r"\['gaps'\] are not known"),
        ("id,lower,upper,size\n1,0,1,8\n2,0,x,8\n", "line 3"),
        ("id,lower,upper,size\n1,0\n", "line 2"),
        ("id,lower,upper,size\n1,5,5,8\n", "buffer 0 is used last at 4, but first at 5"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_csv(text)
