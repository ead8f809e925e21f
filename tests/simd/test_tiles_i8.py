"""Convolutions of the shapes that decide how products of bytes are cut into tiles (simd/amx.pyx), on every instruction set."""

import numpy as np
import pytest

from tests.machine import delegated

from .instruction_sets import ISAS, check, telling
from .products_i8 import node, weights

pytestmark = delegated

SHAPES = {  # image, filter, stride, channels in and out
    "more tiles than are described at once": [((35, 24), (4, 7), 1, 8, 40), ((64, 40), (3, 3), 1, 2, 16)],
    "three tiles of positions, long windows": [((6, 6), (3, 3), 1, 64, 40), ((6, 7), (1, 1), 1, 520, 17)],
    "four tiles": [((7, 7), (3, 3), 1, 57, 80), ((8, 8), (1, 1), 1, 512, 16)],
    "tiles across rows": [((5, 17), (3, 3), 1, 16, 32), ((24, 24), (3, 3), 1, 8, 16), ((3, 33), (2, 2), 1, 33, 20)],
    "whole windows": [
        ((20, 37), (3, 3), 2, 3, 8),
        ((9, 9), (3, 3), 1, 1, 16),
        ((5, 4), (3, 3), 1, 4, 130),
        ((33, 33), (3, 3), 2, 7, 24),
    ],
    "several chunks, the last columns in part": [
        ((24, 24), (1, 1), 1, 64, 120),
        ((28, 20), (1, 1), 1, 70, 30),
        ((40, 20), (1, 1), 1, 30, 13),
    ],
    "pixels of neighbours": [
        ((16, 64), (1, 1), 1, 8, 16),
        ((20, 22), (1, 1), 1, 20, 31),
        ((36, 12), (1, 1), 1, 16, 13),
    ],
    "windows of neighbours": [
        ((20, 36), (3, 3), 2, 3, 8),
        ((31, 16), (3, 3), 1, 1, 5),
        ((24, 24), (3, 3), 1, 2, 16),
        ((40, 17), (2, 2), 1, 4, 32),
        ((33, 16), (3, 3), 1, 3, 13),
    ],
    "many rows of few bytes": [((24, 24), (7, 7), 2, 3, 64), ((19, 10), (10, 4), 2, 1, 64)],
    "one step": [((9, 9), (1, 1), 1, 64, 256), ((12, 12), (1, 1), 1, 8, 48), ((6, 11), (1, 1), 1, 16, 16)],
}


def draw(rng, dtype, image, kernel, stride, ic, oc):
    """SAME or VALID, with every law of values and of scales of products_i8."""
    same = rng.random() < 0.5
    out = [
        -(-size // stride) if same else (size - taps) // stride + 1 for size, taps in zip(image, kernel, strict=True)
    ]
    batch = 2 if rng.random() < 0.4 else 1
    w = weights(rng, dtype, [oc, *kernel, ic], oc, 0)
    options = {"padding": "SAME" if same else "VALID", "stride_h": stride, "stride_w": stride}
    depth = kernel[0] * kernel[1] * ic
    shapes = [batch, *image, ic], [batch, *out, oc]
    return node(rng, "CONV_2D", dtype, *shapes, w, oc, depth, 5 if dtype == "float32" else 3, **options)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_cuts(shapes, dtype):
    for seed in range(12):
        for shape in shapes:
            blob, feeds = draw(np.random.default_rng(seed), dtype, *shape)
            with telling(f"seed {seed}, {shape}"):
                check(ISAS, blob, feeds)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("exponent", range(-2, 6))
def test_scales_around_what_is_rounded_by_a_sum(exponent, dtype):
    """From products that are all near zero to those of which most saturate, beyond the limit up to which AMX rounds by a sum."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        w = weights(rng, dtype, [32, 1, 1, 64], 32, 0)
        blob, feeds = node(
            rng, "CONV_2D", dtype, [1, 9, 9, 64], [1, 9, 9, 32], w, 32, 64 * 16.0**exponent, 3,
            padding="SAME", stride_h=1, stride_w=1,
        )  # fmt: skip
        check(ISAS, blob, feeds)
