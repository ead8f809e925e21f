"""Operators at everyday sizes: which cases are drawn, and what a change of files touches."""

import numpy as np
import pytest

from benchmarks.bars import MET, MISSED, judge
from benchmarks.changed import changed_operators
from benchmarks.operators import operator_cases
from benchmarks.sized import NEAR
from compat.builder import read_model


@pytest.mark.parametrize("op", ["ADD", "CONV_2D", "SOFTMAX", "BATCH_MATMUL", "TRANSPOSE", "GELU"])
def test_sizes_are_near_what_is_asked(op):
    found = [(sized, sized.case()) for sized in operator_cases(sizes=(1_000, 50_000), ops=[op], quick=True)]
    cases = [(sized, case) for sized, case in found if case is not None]
    assert len(cases) > len(found) / 2
    for sized, case in cases:
        assert sized.size * 0.6 / NEAR <= case.elements <= sized.size * 1.6 * NEAR


def test_a_kind_seed_and_size_always_make_the_same_case():
    first, second = ([sized.case().digest() for sized in operator_cases(sizes=(900,), ops=["RELU"])] for _ in range(2))
    assert first == second


def test_uneven_shapes_are_long_and_flat():
    found = [sized.case() for sized in operator_cases(range(20), (50_000,), ["SOFTMAX"], "float32/random", uneven=True)]
    shapes = [
        shape for case in found if case for shape in [read_model(case.model)["subgraphs"][0]["tensors"][0]["shape"]]
    ]
    assert len(shapes) > 10
    assert any(max(shape) > 10_000 and min(shape) < 4 for shape in shapes) and any(1 in shape for shape in shapes)
    assert all(50_000 * 0.6 / NEAR <= np.prod(shape) <= 50_000 * 1.6 * NEAR for shape in shapes)


def test_malformed_kinds_are_left_out():
    assert not any("special" in sized.name or "zero" in sized.name for sized in operator_cases(ops=["ADD", "MEAN"]))


def test_changed_files_reach_operators():
    assert changed_operators(files=["tflm_cy/ops/cumsum.pyx"]) == {"CUMSUM"}
    assert {"ARG_MAX", "ARG_MIN"} <= changed_operators(files=["tflm_cy/arithmetic/arg_reduction.pxd"])
    assert "ARG_MAX" in changed_operators(files=["tflm_cy/simd/bytes.h"])
    assert changed_operators(files=["tflm_cy/graph/context.pxd"]) is None
    assert changed_operators(files=[]) == set()


def row(ratio, name="ADD/float32/random#0 1k"):
    return {
        "model": name,
        "mode": "AUTO",
        "theirs": "tensorflow",
        "threads": 1,
        "ratio_min": 1 / ratio,
        "ratio_median": 1 / ratio,
    }


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.5] * 99, MET),
        ([0.6], MISSED),
        ([0.4] * 99 + [1.1], MET),
        ([0.4] * 9 + [1.1], MISSED),
        ([0.4] * 99 + [1.4], MISSED),
    ],
)
def test_bars(ratios, verdict):
    [bar] = [
        bar
        for bar in judge({"operators": [row(r, str(i)) for i, r in enumerate(ratios)]})
        if "operators, AUTO, one" in bar.text
    ]
    assert bar.verdict == verdict
