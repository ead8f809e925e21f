"""Hybrid, recurrent and int16 operators with weights: every instruction set against the scalar definition, on cases of compat's generators.

Each kind is drawn at its own sizes and at some thousand elements, where rows fill vectors.
"""

import pytest

from benchmarks.sized import sized_case
from compat.cases import kinds
from tests.draws import KERNEL_CASES
from tflm_cy.experimental import OpResolverType

from .instruction_sets import ISAS, check, telling

CASES = max(KERNEL_CASES // 20, 1)
MODES = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
KINDS = {
    "FULLY_CONNECTED": ("hybrid", "int16x8"),
    "CONV_2D": ("hybrid", "int16x8"),
    "DEPTHWISE_CONV_2D": ("hybrid", "int16x8"),
    "TRANSPOSE_CONV": ("float32", "hybrid", "int"),
    "BATCH_MATMUL": ("hybrid", "int"),
    "CONV_3D": ("float32",),
    "CONV_3D_TRANSPOSE": ("float32",),
    "SVDF": ("float32", "hybrid", "int8"),
    "RNN": ("float32", "hybrid"),
    "LSTM": ("float32", "hybrid", "int8", "uint8"),
    "UNIDIRECTIONAL_SEQUENCE_RNN": ("float32", "hybrid"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": ("float32", "hybrid", "int8"),
    "BIDIRECTIONAL_SEQUENCE_RNN": ("float32", "hybrid"),
    "BIDIRECTIONAL_SEQUENCE_LSTM": ("float32", "hybrid"),
}


def cases(op):
    """Those that are not refused, with their names."""
    for kind in kinds([op]):
        if not kind.dtype.startswith(KINDS[op]) or isinstance(kind.function, tuple):
            continue
        for seed in range(CASES):
            for size in (None, 1500 * (seed + 1), 30_000):
                case = kind.case(seed, 1) if size is None else sized_case(kind, seed, size)
                if case is not None and not case.refused and case.feeds:
                    yield f"{op}/{kind.dtype}/{kind.variant}#{seed} {size}", case


@pytest.mark.parametrize("op", KINDS)
def test_kinds(op):
    compared = 0
    for name, case in cases(op):
        for mode in MODES:
            with telling(f"{name} {mode.name}"):
                try:
                    check(ISAS, case.model, case.feeds[0], experimental_op_resolver_type=mode)
                    compared += 1
                except (RuntimeError, ValueError):  # what a mode does not take is another test's matter
                    continue
    assert compared > 0
