"""Attention: every instruction set against the scalar definition, with one thread and with two."""

import numpy as np
from flatbuffers import flexbuffers

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES
from tests.machine import delegated

from .instruction_sets import ISAS, check, telling

pytestmark = delegated


def attention(rng):
    """Heads that share keys or have their own, batches that broadcast, masks; more rows than a tile has."""
    depth, keys, batch = int(rng.integers(1, 40)), int(rng.integers(1, 90)), int(rng.integers(1, 3))
    queries = int(rng.choice([1, rng.integers(1, 9), rng.integers(60, 140)]))
    key_heads = int(rng.choice([1, 2, 3]))
    heads = key_heads * int(rng.integers(1, 4))
    key_batch = batch if key_heads < heads or rng.random() < 0.5 else 1
    shapes = [[batch, queries, heads, depth], *[[key_batch, keys, key_heads, depth]] * 2]
    if rng.random() < 0.5 and (key_heads > 1 or key_batch == 1):
        shapes.append([[1, 1, queries, keys], [batch, heads, 1, keys], [queries, keys]][rng.integers(3)])
    feeds = [rng.normal(size=shape, scale=rng.choice([0.3, 3])).astype(np.float32) for shape in shapes]
    if rng.random() < 0.2:
        feeds[0].flat[rng.integers(feeds[0].size)] = rng.choice([np.nan, np.inf, 3e38])
    attributes = {"logit_cap": float(rng.uniform(0.5, 30))} if rng.random() < 0.4 else {}
    inputs = [Tensor(shape, "float32") for shape in shapes]
    model = Model.single(
        "odml.scaled_dot_product_attention",
        inputs,
        [Tensor(shapes[0], "float32")],
        custom_options=bytes(flexbuffers.Dumps(attributes)),
    )
    return model.to_bytes(), feeds


def test_attention():
    for seed in range(KERNEL_CASES):
        blob, feeds = attention(np.random.default_rng(seed))
        with telling(f"seed {seed}"):
            check(ISAS, blob, feeds)
            check(ISAS, blob, feeds, num_threads=2)
