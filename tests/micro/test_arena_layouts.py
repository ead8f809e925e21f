"""Several models in one arena, two arenas for one model, and what goes into a small fast memory."""

import shutil
from itertools import combinations

import numpy as np
import pytest

from tests.micro.models import branches, chain, loaded, widening
from tests.micro.test_firmware import compiled, variables
from tflm_cy.memory.check import check
from tflm_cy.memory.problem import Plan, Problem
from tflm_cy.micro.arena_layouts import shared, split
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.figures import figures
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.resolver import firmware_shared, firmware_split
from tflm_cy.micro.two_memories import _plan, divide, items_of

TARGETS = ("host64", "arm-linux", "cortex-m4", "cortex-m55", "esp32s3")
MODELS = {"chain": chain, "branches": branches, "widening": widening}


def asked(name, target):
    return demand(loaded(MODELS[name]()), target)


@pytest.mark.parametrize("target", TARGETS)
def test_one_model_shares_with_nobody(target):
    for name in MODELS:
        alone, found = figures(asked(name, target)), shared([asked(name, target)])
        assert (found.head, found.smallest_arena) == (alone.head, alone.smallest_arena) and found.alone == [
            alone.smallest_arena
        ]
        assert abs(found.tail - alone.tail) < 16


@pytest.mark.parametrize("target", TARGETS)
def test_heads_are_shared_and_tails_are_not(target):
    demands = [asked(name, target) for name in MODELS]
    found = shared(demands)
    assert found.head == max(figures(d).head for d in demands)
    assert max(found.alone) < found.smallest_arena < sum(found.alone)
    assert found.smallest_arena >= found.head + found.tail - 15
    for tail, d in zip(found.tails[1:], demands[1:], strict=True):  # without the allocator's own objects
        assert tail < figures(d).tail


def test_one_target():
    with pytest.raises(ValueError, match="one target"):
        shared([asked("chain", "cortex-m4"), asked("chain", "cortex-m55")])
    with pytest.raises(ValueError, match="one target"):
        shared([])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_two_arenas(target, name):
    d = demand(loaded(MODELS[name]()), target, recording=False)
    found, one = split(d), figures(d)
    assert found.persistent % 16 == found.non_persistent % 16 == 0
    assert found.non_persistent >= found.head == one.head
    more = found.persistent - one.tail  # the second allocator's object, and rounding
    assert 0 < more < 96
    assert found.persistent + found.non_persistent >= one.smallest_arena - 31


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_the_lines_compile(tmp_path):
    graphs = [view(loaded(make())) for make in (chain, branches, lambda: variables(("", "a"), ("", "b")))]
    models = "extern const tflite::Model *model_a, *model_b, *model_c;\n"
    assert compiled(models + firmware_shared(graphs, ["model_a", "model_b", "model_c"], 1999), tmp_path) == ""
    for graph in graphs:
        assert compiled(firmware_split(graph, 1024, 2048), tmp_path) == ""


# ---------------------------------------------------------------- fast and slow memory


def judged(found, fast, slow):
    """The plans, checked apart from what made them, and the bytes counted again."""
    moved = 0
    for inside, plan, capacity in ((True, found.fast_plan, fast), (False, found.slow_plan, slow)):
        items = [item for item, here in zip(found.items, found.fast, strict=True) if here == inside]
        problem = Problem([i.size for i in items], [i.first for i in items], [i.last for i in items], alignment=16)
        check(problem, plan)
        assert plan.high_water_mark <= capacity
        moved += 0 if inside else sum(item.moved for item in items)
    assert found.moved == moved and found.bound <= found.moved <= found.first_fit


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fast", [0, 64, 256, 512, 1024, 1 << 20])
def test_divided(name, fast):
    found = divide(asked(name, "cortex-m4"), fast, 1 << 20)
    judged(found, fast, 1 << 20)
    if fast == 0:
        assert not any(i and item.size for i, item in zip(found.fast, found.items, strict=True)) and found.proven
    if fast == 1 << 20:
        assert all(found.fast) and found.moved == 0


def test_no_choice_moves_fewer_than_the_bound():
    """All subsets of a small model."""
    d = asked("chain", "cortex-m4")
    items = items_of(d, weights=False)
    for fast in (256, 512, 768, 1024):
        found = divide(d, fast, 1 << 20, weights=False)
        least = min(
            sum(item.moved for k, item in enumerate(items) if k not in chosen)
            for n in range(len(items) + 1)
            for chosen in map(set, combinations(range(len(items)), n))
            if _plan([items[k] for k in sorted(chosen)], fast) is not None
        )
        assert found.bound <= least <= found.moved <= least * 1.1


def test_what_does_not_fit_anywhere():
    with pytest.raises(ValueError, match="slow memory"):
        divide(asked("chain", "cortex-m4"), 64, 128)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed, monkeypatch):
    """Random items: never more than first-fit by size, plans judged, the bound never above."""
    from tflm_cy.micro import two_memories

    rng = np.random.default_rng(seed)
    count = int(rng.integers(5, 40))
    items = []
    for k in range(count):
        first = int(rng.integers(0, 12))
        size = 16 * int(rng.integers(1, 60))
        last = first + int(rng.integers(0, 5))
        items.append(two_memories.Item(f"t{k}", (0, k), size, first, last, size * int(rng.integers(1, 6)), "tensor"))
    monkeypatch.setattr(two_memories, "items_of", lambda *_: items)
    fast = 16 * int(rng.integers(4, 200))
    judged(divide(None, fast, 1 << 20), fast, 1 << 20)


def test_the_judge_finds_an_overlap():
    found = divide(asked("chain", "cortex-m4"), 512, 1 << 20)
    offsets = [0] * len(found.slow_plan.offsets)
    items = [item for item, here in zip(found.items, found.fast, strict=True) if not here]
    problem = Problem([i.size for i in items], [i.first for i in items], [i.last for i in items], alignment=16)
    with pytest.raises(ValueError, match="overlap"):
        check(problem, Plan(offsets, max(i.size for i in items)))
