"""int4 weights with a scale for each block: every instruction set against the scalar definition."""

import numpy as np

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tests.machine import delegated

from .instruction_sets import ISAS, check, telling
from .products_i8 import activation, floats

pytestmark = delegated


def blockwise(rng):
    """Blocks that are one chunk of sums, several, or none of a power of two; all rows of a tile, some, and what is left over."""
    size = int(rng.choice([16, 32, 48, 64, 96, 128, 256]))
    rows, depth, columns = int(rng.integers(1, 38)), size * int(rng.integers(1, 5)), int(rng.integers(1, 40))
    model = Model()
    main = model.subgraph("main")
    low = rng.choice([0.01, 1e-7])
    scales = Tensor.constant(rng.uniform(low, 0.1, [columns, depth // size]).astype(np.float16))
    main.tensor(scales)
    details = ("BlockwiseQuantization", {"scales": main.index_of(scales), "zero_points": -1, "block_size": size})
    data = rng.choice([-8, 7], [columns, depth]) if rng.random() < 0.2 else rng.integers(-8, 8, [columns, depth])
    w = Tensor.constant(data.astype(np.int8), "int4", quantization={"details": details, "quantized_dimension": 0})
    bias = Tensor.constant(rng.normal(size=columns).astype(np.float32)) if rng.random() < 0.5 else None
    x, y = Tensor([rows, depth], "float32"), Tensor([rows, columns], "float32")
    main.op("FULLY_CONNECTED", [x, w, bias], [y], 13, fused_activation_function=activation(rng))
    feed = floats(rng, [rows, depth])
    if rng.random() < 0.2:
        feed[rng.integers(rows), rng.integers(depth)] = rng.choice([np.nan, np.inf, -np.inf, 3e38])
    return model.to_bytes(), [feed]


def test_blocks():
    for seed in range(KERNEL_CASES):
        blob, feeds = blockwise(np.random.default_rng(seed))
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)
