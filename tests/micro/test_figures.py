"""TFLM's figures: as the tflite_micro package prints them (`python -m compat.arena` compares thousands more)."""

from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import Model, Tensor
from tests.micro.models import activation, branches, chain, loaded
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.figures import figures
from tflm_cy.micro.target import NAMES
from tflm_cy.schema import model as schema

FOLDER = Path(tflm_cy.demo.__file__).parent


def digits(name):
    return schema.Model.from_path(FOLDER / f"digits_{name}.tflite")


def said(head, tail, tensors, ends, quantization, persistent, nodes, variables=None):
    """What the package says: the lines of kinds as (used, requested, count)."""
    kinds = {
        "TfLiteEvalTensor data": (24 * tensors, 24 * tensors, tensors),
        "Persistent TfLiteTensor data": (64 * ends, 64 * ends, ends),
        "Persistent TfLiteTensor quantization data": quantization,
        "Persistent buffer data": persistent,
        "TfLiteTensor variable buffer data": variables,
        "NodeAndRegistration struct": (64 * nodes, 64 * nodes, nodes),
    }
    return head, tail, {kind: record for kind, record in kinds.items() if record}


CASES = {
    "digits_int8": (lambda: digits("int8"), 100_000, said(2048, 3088, 20, 2, (64, 64, 4), (1188, 1160, 17), 8)),
    "digits_float": (lambda: digits("float"), 100_007, said(8192, 3031, 20, 2, None, (1188, 1160, 17), 8)),
    "chain": (lambda: loaded(chain()), 20_001, said(768, 1649, 9, 2, (64, 64, 4), (400, 384, 9), 4)),
    "branches": (
        lambda: loaded(branches()),
        20_010,
        said(192, 1754, 9, 3, (96, 96, 6), (356, 328, 7), 5, variables=(24, 24, 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_package_prints_them(name):
    load, arena_size, (head, tail, kinds) = CASES[name]
    found = figures(load(), "host64", arena_size)
    assert (found.head, found.tail, found.total) == (head, tail, head + tail)
    assert {kind: (r.used, r.requested, r.count) for kind, r in found.kinds.items()} == kinds


def test_the_text_has_the_packages_form():
    lines = figures(loaded(branches()), "host64", 20_010).text().split("\n")
    assert lines[0] == "[RecordingMicroAllocator] Arena allocation total 1946 bytes"
    assert lines[7] == (
        "[RecordingMicroAllocator] 'TfLiteTensor variable buffer data' used 24 bytes with alignment overhead "
        "(requested 24 bytes for 1 allocations)"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_arena_fits_and_a_byte_less_does_not(name):
    for model in (digits("int8"), loaded(chain()), loaded(branches())):
        asked = demand(model, name)
        least = figures(asked).smallest_arena
        assert [figures(asked, arena_size=least + more).fits for more in (-17, -1, 0, 1, 5, 16)] == [False] * 2 + [
            True
        ] * 4


def test_the_tail_depends_on_where_the_arena_ends():
    asked = demand(digits("int8"), "host64")
    tails = [figures(asked, arena_size=50_000 + k).tail for k in range(33)]
    assert tails[0] == tails[16] == tails[32] and len(set(tails)) > 1
    assert max(tails) - min(tails) < 16


def test_targets_differ_in_the_tail_only():
    found = {name: figures(digits("int8"), name, 100_000) for name in NAMES}
    assert {name: f.head for name, f in found.items()} == dict.fromkeys(NAMES, 2048)
    assert [found[name].tail for name in NAMES] == [3088, 2800, 2012, 2004]
    assert figures(digits("int8"), "arm32", 100_000, recording=True).tail == 2124


def test_preserving_all_tensors():
    found = figures(loaded(chain()), "host64", 30_000, preserve_all=True)
    assert found.head == 256 + 512 + 128 + 128 + 128
    assert found.plan.offsets == (0, 256, 768, 896, 1024)


def test_a_variable_that_the_offline_plan_places_leaves_the_tail():
    model = branches()
    offsets = [-1] * 9
    offsets[-1] = 4096
    from tflm_cy.micro.offline import ENTRY, OfflinePlan

    model.metadata(ENTRY, OfflinePlan(offsets).to_bytes())
    found = figures(loaded(model), "host64", 20_010)
    assert "TfLiteTensor variable buffer data" not in found.kinds
    assert found.head == 4096 + 32


def test_what_tflm_refuses_has_a_reason():
    x, y = Tensor([4], "float32"), Tensor([8], "float32")
    tile = loaded(Model.single("TILE", [x, Tensor.constant(np.array([2], np.int32))], [y]))
    with pytest.raises(ValueError, match="TFLM has no operator TILE"):
        figures(tile)
    found = figures(tile, refuse=False)
    assert found.demand.refusals == ["TFLM has no operator TILE"] and found.head == 48
    broken = loaded(Model.single("CONV_2D", [activation(1, 4, 4, 1)], [activation(1, 4, 4, 1)]))
    with pytest.raises(ValueError, match="node 0 CONV_2D has not the inputs"):
        figures(broken)
    empty = loaded(Model.single("RELU", [Tensor([2, 3], "float32")], [Tensor([2, 0], "float32")]))
    with pytest.raises(ValueError, match="dynamic"):
        figures(empty)
    with pytest.raises(ValueError, match="no target"):
        figures(tile, "z80")
    with pytest.raises(ValueError, match="arena of -1 bytes"):
        figures(loaded(chain()), arena_size=-1)


def test_another_plan_moves_the_head_only():
    asked = demand(loaded(chain()), "host64")
    from tflm_cy.memory.linear import linear

    usual, apart = figures(asked), figures(asked, plan=linear(asked.problem()))
    assert (usual.tail, usual.kinds) == (apart.tail, apart.kinds)
    assert apart.smallest_arena - usual.smallest_arena == apart.head - usual.head == 384


def test_inputs_that_are_kept():
    asked = demand(loaded(chain()), "host64")
    kept = asked.keeping_inputs()
    assert [b.last for b in asked.buffers] == [1, 2, 3, 4, 4] and [b.last for b in kept.buffers] == [4, 2, 3, 4, 4]
    assert asked.plan().high_water_mark == 768 and kept.plan().high_water_mark == 256 + 512 + 128
