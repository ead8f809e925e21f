"""`compat --placeholders`: what the cases hold, and that a case as a branch or a body still computes what it computed."""

import numpy as np
import pytest

from compat.builder import read_model
from compat.case import Case
from compat.cases import generated_cases
from compat.execute import execute
from compat.outcome import Outcome, difference
from compat.placeholders import placeholder_cases
from tflm_cy import Interpreter, OpResolverType


def case(what, op="MAX_POOL_2D", dtype="float32"):
    return next(c for c in placeholder_cases([0], 2, [op], dtype, what) if c.variant == what)


def generated(op):
    return next(c for c in generated_cases([0], 2, ops=[op], dtype="float32") if c.variant == "random")


def run(found):
    def opened(model, mode, threads):
        return Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType[mode])

    return execute(opened, found, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


@pytest.mark.parametrize(
    ("what", "kept"),
    [("all", []), ("batch", [1, 2, 3]), ("inside", [0, 3]), ("but channels", [3]), ("everywhere", [3])],
)
def test_sizes_of_one(what, kept):
    found = case(f"random, ones: {what}")
    fed = found.feeds[0][0].shape
    model = read_model(found.model)["subgraphs"][0]
    x, y = (model["tensors"][model[role][0]] for role in ("inputs", "outputs"))
    assert x["shape"].tolist() == [d if i in kept else 1 for i, d in enumerate(fed)]
    assert (y["shape"].tolist() == [1, 1, 1, 1]) == (what == "everywhere")
    assert found.origins == ("MAX_POOL_2D/float32/random#0",)
    assert len(found.before) == (1 if what == "but channels" else 0)


@pytest.mark.parametrize(("what", "rank"), [("more", 5), ("less", 3), ("flat", 1)])
def test_other_ranks(what, rank):
    """Before the case's own shapes, or after them; only where they are asked for."""
    before = case(f"random, rank: {what}")
    model = read_model(before.model)["subgraphs"][0]
    fed = list(before.feeds[0][0].shape)
    held = model["tensors"][model["inputs"][0]]["shape"].tolist()
    assert len(fed) == 4 and len(held) == rank and np.prod(held) == np.prod(fed)
    assert bool(before.before) == (what != "flat")
    after = case(f"random, to rank: {what}")
    assert [array[0].ndim for array in after.feeds[:2]] == [4, rank]
    assert not any("rank: " in found.variant for found in placeholder_cases([0], 1, ["ABS"], "float32", None))


@pytest.mark.parametrize("caller", ["IF", "WHILE", "CASE"])
def test_a_case_that_is_called_computes_what_it_computed(caller):
    found = case(f"random, {caller}", "ADD")
    alone = Case("ADD", "float32", "random", 0, generated("ADD").model, [found.feeds[-1][1:]])
    called, expected = run(found), run(alone)
    assert (called.status, expected.status) == ("ok", "ok")
    assert called.invokes[-1][-1].data == expected.invokes[0][0].data
    assert not np.frombuffer(called.invokes[-2][-1].data, np.float32).any()


def test_what_the_first_allocation_raises_counts_and_is_no_end():
    ok, early = Outcome("ok"), Outcome("ok", before=["RuntimeError", "allocate_tensors", "too small"])
    late = Outcome("ok", before=["RuntimeError", "invoke", "too small"])
    assert difference(ok, ok) is None and difference(early, early) is None
    assert difference(ok, late) == "before: ok  <>  raised RuntimeError in invoke: too small"
    assert "allocate_tensors" in difference(early, late)
    assert difference(early, late, calls=False) is None
    assert Outcome.from_json(late.to_json()).before == late.before
