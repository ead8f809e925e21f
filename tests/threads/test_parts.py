"""Shared nodes have the bytes of nodes that run by themselves: random nodes, every family, every instruction set.

TFLM_CY_KERNEL_CASES=2000 pytest tests/threads
"""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tests.machine import delegated
from tests.simd import float32, products_i8, test_elementwise_i8
from tests.simd.instruction_sets import ISAS, run
from tflm_cy.threads import pool

pytestmark = delegated


ELEMENTWISE8 = {
    "ADD SUB MUL": test_elementwise_i8.draw_pair,
    "QUANTIZE QUANTIZE_F32 DEQUANTIZE LOGISTIC TANH": test_elementwise_i8.draw_one,
    "MAX_POOL_2D RESIZE_BILINEAR MEAN": test_elementwise_i8.draw_image,
}


def draws():
    for op, draw in float32.DRAWS.items():
        yield pytest.param(lambda rng, draw=draw: draw(rng), id=f"{op}-float32-float32")
    for op, draw in products_i8.DRAWS.items():
        for dtype in ("int8", "uint8", "float32"):
            if not (op.startswith("DEPTHWISE_CONV_2D") and dtype == "float32"):
                yield pytest.param(lambda rng, draw=draw, dtype=dtype: draw(rng, dtype), id=f"{op}-8-{dtype}")
    for names, draw in ELEMENTWISE8.items():
        for op in names.split():
            for dtype in ("int8", "uint8"):
                yield pytest.param(lambda rng, draw=draw, op=op, dtype=dtype: draw(rng, dtype, op), id=f"{op}-{dtype}")


@pytest.mark.parametrize("draw", list(draws()))
def test_parts(draw):
    for seed in range(KERNEL_CASES):
        blob, feeds = draw(np.random.default_rng(seed))
        for isa in [*ISAS, "scalar"]:
            threads = 2 + seed % 3
            wanted = run(isa, blob, feeds)
            for got, want in zip(run(isa, blob, feeds, num_threads=threads), wanted, strict=True):
                assert got.tobytes() == want.tobytes(), f"seed {seed}, {isa}, {threads} threads"


def test_nodes_are_shared():
    """The test above would not fail if nothing were."""
    before = pool.state()["jobs"]
    blob, feeds = float32.DRAWS["CONV_2D"](np.random.default_rng(0))
    for _ in range(5):
        run(ISAS[0], blob, feeds, num_threads=4)
    assert pool.state()["jobs"] > before
    assert pool.state()["workers"] >= 3


def test_columns_of_one_row_are_shared():
    """128 columns, which one thread computes at once."""
    rng = np.random.default_rng(0)
    w, bias = rng.normal(size=(128, 512)).astype(np.float32), rng.normal(size=128).astype(np.float32)
    x, y = Tensor([1, 512], "float32"), Tensor([1, 128], "float32")
    blob = Model.single("FULLY_CONNECTED", [x, Tensor.constant(w), Tensor.constant(bias)], [y]).to_bytes()
    feeds = [rng.normal(size=(1, 512)).astype(np.float32)]
    before = pool.state()["jobs"]
    for _ in range(5):  # as above: another thread may have the pool
        [got] = run(ISAS[0], blob, feeds, num_threads=2)
    assert pool.state()["jobs"] > before
    [wanted] = run(ISAS[0], blob, feeds)
    assert got.tobytes() == wanted.tobytes()


ROWS = {"SOFTMAX": {"beta": 0.5}, "LOG_SOFTMAX": {}}  # beta: the delegate takes 1 alone
SHARED_VALUES = [  # of one position and of few, with a last block that is not full; long enough to wake the threads for
    *(
        pytest.param(op, shape, {}, id=f"{op}-{shape}")
        for op in ("ELU", "TANH", "ABS")
        for shape in ([400001], [1, 3, 150001])
    ),
    *(pytest.param(op, [41, 6001], options, id=f"{op}-rows") for op, options in ROWS.items()),
]


@pytest.mark.parametrize("op, shape, options", SHARED_VALUES)
def test_values_of_few_positions_and_rows_are_shared(op, shape, options):
    blob = Model.single(op, [Tensor(shape, "float32")], [Tensor(shape, "float32")], **options).to_bytes()
    feeds = [np.random.default_rng(0).normal(0, 3, shape).astype(np.float32)]
    for isa in [*ISAS, "scalar"]:
        [wanted] = run(isa, blob, feeds)
        before = pool.state()["jobs"]
        for threads in (2, 3):
            [got] = run(isa, blob, feeds, num_threads=threads)
            assert got.tobytes() == wanted.tobytes(), (isa, threads)
        assert isa == "scalar" or pool.state()["jobs"] > before, isa


def test_operands_of_few_positions_are_shared():
    """One of the operands is repeated along the whole, and the last block is not full."""
    rng = np.random.default_rng(0)
    x, y = Tensor([700001], "float32"), Tensor([700001], "float32")
    blob = Model.single("MUL", [x, Tensor([1], "float32")], [y]).to_bytes()
    feeds = [rng.normal(size=700001).astype(np.float32), np.float32([3])]
    [wanted] = run(ISAS[0], blob, feeds)
    before = pool.state()["jobs"]
    [got] = run(ISAS[0], blob, feeds, num_threads=2)
    assert pool.state()["jobs"] > before
    assert got.tobytes() == wanted.tobytes()
