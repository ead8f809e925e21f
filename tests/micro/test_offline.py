"""Offline plans: read as TFLM reads them, judged as TFLM does not."""

import struct

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.micro.models import branches, chain, loaded, widening
from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import exported
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.offline import ENTRY, OfflinePlan, check_plan, read_plan
from tflm_cy.micro.safe_overlaps import aliases
from tflm_cy.micro.survey import Survey
from tflm_cy.schema import model as schema

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


def test_a_copy_may_lie_where_what_it_copies_lies():
    """RESHAPE is node 2 of chain(): tensor 3 of those that are planned is a copy of tensor 2."""
    graph = view(loaded(chain()))
    planned = [place for place in graph.tensor_places if not graph.tensor(place).constant]
    offsets = [-1] * TENSORS
    for (_, t), offset in zip(planned, [0, 256, 0, 0, 256], strict=True):
        offsets[t] = offset
    asked = demand(with_plan(OfflinePlan(offsets).to_bytes()))
    assert len(check_plan(asked.offline, asked.buffers)) == 1
    assert check_plan(asked.offline, asked.buffers, copies=aliases(asked)) == []


def test_the_word_for_the_subgraphs_counts_them():
    assert struct.unpack_from("<3i", OfflinePlan([0, -1], subgraphs=3).to_bytes()) == (1, 3, 2)
    content = exported(loaded(chain()), demand(loaded(chain())), demand(loaded(chain())).plan())
    assert read_plan(view(schema.Model.from_buffer(content))).subgraphs == 1


@pytest.mark.parametrize("name", [chain, branches, widening])
def test_a_plan_of_ours_is_not_called_wrong(name):
    for planner in ("greedy", "optimal", "overlap"):
        survey = Survey(schema.Model.from_buffer(Survey(loaded(name())).export(planner)))
        assert survey.demand.offline is not None and survey.offline_problems == []


def vela(between=0):
    """As Vela writes it: command stream, weights, two scratch tensors that are the arena, an input; a CPU's node behind."""
    model = Model()
    main = model.subgraph("main")
    stream, weights = (Tensor.constant(np.zeros(8, np.uint8)) for _ in range(2))
    scratch, fast, x, y = (Tensor([size], "uint8") for size in (256, 256, 16, 16))
    z = Tensor([16], "uint8")
    main.op("ethos-u", [stream, weights, scratch, fast, x], [y], custom_options=b"\1\4\1")
    main.op("RESHAPE", [y], [z], new_shape=[16])
    main.inputs, main.outputs = [x], [z]
    places = {id(scratch): 0, id(fast): 0, id(x): 64, id(y): 64, id(z): between}
    plan = OfflinePlan([places.get(id(t), -1) for t in main.tensors], version=0)
    model.metadata(ENTRY, plan.to_bytes())
    return loaded(model)


def test_what_an_ethos_u_uses_may_overlap():
    survey = Survey(vela(96))
    assert survey.offline_problems == [] and survey.allocates and survey.runs and survey.npu_nodes
    assert survey.plan("greedy").high_water_mark == 256 + 2 * 48  # the kernel keeps addresses and sizes of six tensors
    assert "resolver.AddEthosU()" in survey.firmware("arm32")
    with pytest.raises(ValueError, match="node 0 ethos-u runs on Arm's Ethos-U only"):
        MicroInterpreter(vela(96))
