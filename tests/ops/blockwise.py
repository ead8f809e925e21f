"""A fully connected layer with one float16 scale per 32 weights of a row, in whole numbers.

    model, x, want, bias = layer(seed=7, version=13)

Everything is exact: whole steps of x, scales that are powers of two.
"""

import numpy as np

from compat.builder import Model, Tensor


def layer(seed, version):
    """The model, what it is fed [3, 64], its output [3, 5], and its bias [5]."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, (3, 64)).astype(np.float32)
    x[:, :2] = [-128, 127]
    w = rng.integers(-8, 8, (5, 64)).astype(np.int8)
    scales = (2.0 ** rng.integers(-4, 3, (5, 2))).astype(np.float16)
    bias = rng.integers(-9, 9, 5).astype(np.float32)
    model = Model()
    main = model.subgraph("main")
    scale = Tensor.constant(scales)
    main.tensor(scale)
    details = ("BlockwiseQuantization", {"scales": main.index_of(scale), "zero_points": -1, "block_size": 32})
    weights = Tensor.constant(w, "int4", quantization={"details": details, "quantized_dimension": 0})
    y = Tensor([3, 5], "float32")
    main.op("FULLY_CONNECTED", [Tensor(x.shape, "float32"), weights, Tensor.constant(bias)], [y], version)
    main.outputs = [y]
    want = x @ (w * np.repeat(scales.astype(np.float32), 32, 1)).T + bias
    return model, x, want.astype(np.float32), bias
