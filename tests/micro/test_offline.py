"""Offline plans: read as TFLM reads them, judged as TFLM does not."""

import struct

import pytest

from tests.micro.models import chain, loaded
from tflm_cy.micro.demand import demand
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.offline import ENTRY, OfflinePlan, check_plan, read_plan

TENSORS = 9  # of chain(): five that are planned


def with_plan(*contents):
    model = chain()
    for content in contents:
        model.metadata(ENTRY, content)
    return loaded(model)


def problems(**fields):
    """check_plan of offsets of the five planned tensors."""
    graph = view(loaded(chain()))
    planned = [place for place in graph.tensor_places if not graph.tensor(place).constant]
    offsets = [-1] * TENSORS
    for (_, t), offset in zip(planned, fields.pop("offsets"), strict=True):
        offsets[t] = offset
    relaxed = fields.pop("relaxed", ())
    asked = demand(with_plan(OfflinePlan(offsets, **fields).to_bytes()))
    return check_plan(asked.offline, asked.buffers, relaxed)


def test_no_plan_and_the_last_of_several():
    assert read_plan(view(loaded(chain()))) is None
    first, last = OfflinePlan([-1] * TENSORS), OfflinePlan([16] * TENSORS, version=0)
    assert read_plan(view(with_plan(first.to_bytes(), last.to_bytes()))) == last


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"\1\0\0\0", "4 bytes"),
        (OfflinePlan([-1] * 8).to_bytes(), "8 offsets for 9 tensors"),
        (struct.pack("<4i", 1, 0, TENSORS, 0), "too few for its 9 offsets"),
    ],
)
def test_what_tflm_refuses(content, reason):
    with pytest.raises(ValueError, match=reason):
        read_plan(view(with_plan(content)))


def test_a_sound_plan_and_one_that_leaves_all_to_the_planner():
    assert problems(offsets=[0, 256, 0, 256, 0]) == []
    assert problems(offsets=[-1] * 5) == []


def test_what_tflm_does_not_notice():
    [overlap] = problems(offsets=[0, 128, -1, -1, -1])
    assert "tensor 0" in overlap and "alive together" in overlap
    [unaligned] = problems(offsets=[0, 257, -1, -1, -1])
    assert "257 is no multiple of 16" in unaligned
    assert "format version 7" in problems(offsets=[-1] * 5, version=7)[0]
    assert problems(offsets=[-1] * 5, subgraphs=0) == problems(offsets=[-1] * 5, subgraphs=3) == []


def test_an_offset_before_the_arena():
    offsets = [-1] * TENSORS
    offsets[0] = -16
    asked = demand(with_plan(OfflinePlan(offsets).to_bytes()))
    assert "lies before the arena" in check_plan(asked.offline, asked.buffers)[0]
    with pytest.raises(ValueError, match="offset below -1"):
        asked.plan()


def test_an_overlap_that_is_permitted():
    assert problems(offsets=[304, 0, -1, -1, -1], relaxed=[(1, 0, 304)]) == []
    assert len(problems(offsets=[288, 0, -1, -1, -1], relaxed=[(1, 0, 304)])) == 1
