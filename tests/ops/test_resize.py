"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: known pictures, every mode against plain numpy, sizes fed while running."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.harness import allocated, run
from tests.machine import of_x86_64
from tflm_cy import OpResolverType

from .successive import REFUSED, constant, outputs, same

F = np.float32
MODES = [(False, False), (True, False), (False, True)]


def resize(op, x, size, align=False, half=False, fed=False):
    quantization = {} if x.dtype == np.float32 else {"scale": 0.1, "zero_point": 0}
    where = Tensor([2], "int32") if fed else constant(size, "int32")
    y = Tensor([x.shape[0], *(max(n, 1) for n in size), x.shape[3]], x.dtype, **quantization)
    feed = [x, np.array(size, np.int32)] if fed else [x]
    options = {"align_corners": align, "half_pixel_centers": half}
    return outputs(op, [Tensor(x.shape, x.dtype, **quantization), where], [y], [feed], 3, **options)[0]


def places(size, out, align, half):
    scale = F(size - 1) / F(out - 1) if align and out > 1 else F(size) / F(out)
    steps = np.arange(out, dtype=F)
    return (steps + F(0.5)) * scale - F(0.5) if half else steps * scale


def bilinear(x, size, align, half):
    """In float32, four products added left to right."""
    at_y, at_x = (places(n, out, align, half) for n, out in zip(x.shape[1:3], size, strict=True))
    top, left = (np.maximum(np.floor(p), 0).astype(int) for p in (at_y, at_x))
    bottom, right = (np.minimum(np.ceil(p), n - 1).astype(int) for p, n in zip((at_y, at_x), x.shape[1:3], strict=True))
    down = (at_y - top.astype(F))[None, :, None, None]
    across = (at_x - left.astype(F))[None, None, :, None]
    up, back = F(1) - down, F(1) - across
    pixel = lambda rows, cols: x[:, rows][:, :, cols].astype(F)  # noqa: E731
    return (
        pixel(top, left) * up * back
        + pixel(bottom, left) * down * back
        + pixel(top, right) * up * across
        + pixel(bottom, right) * down * across
    )


@of_x86_64
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(("align", "half"), MODES)
@pytest.mark.parametrize("size", [(9, 70), (2, 3), (1, 1), (4, 5)])
def test_bilinear(size, align, half, fed):
    x = np.random.default_rng(1).standard_normal((2, 4, 5, 3)).astype(F)
    same(resize("RESIZE_BILINEAR", x, size, align, half, fed), bilinear(x, size, align, half))
    pixels = (np.abs(x) * 60).astype(np.uint8)
    same(
        resize("RESIZE_BILINEAR", pixels, size, align, half, fed),
        np.trunc(bilinear(pixels, size, align, half) + F(0.5)).astype(np.uint8),
    )


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("align", "half"), MODES)
def test_bilinear_in_fixed_point_is_near_the_real_one(dtype, align, half):
    limits = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(limits.min, limits.max + 1, (1, 6, 5, 2)).astype(dtype)
    got = resize("RESIZE_BILINEAR", x, (13, 8), align, half)
    spread = (limits.max - limits.min) * 13 / 1024  # coordinates are rounded to 1/1024 per output step
    assert np.abs(got - bilinear(x, (13, 8), align, half)).max() <= spread + 1


def test_rounded_steps_that_leave_a_row_go_on_in_the_next_one():
    """A step of 479 (of 1024) for 1510 / 3231: the last columns lie behind the row's end."""
    x = np.random.default_rng(4).integers(-128, 128, (1, 4, 1510, 1)).astype(np.int8)
    got = resize("RESIZE_BILINEAR", x, (2, 3231))
    at = np.arange(3231) * 479
    low, high, across = at // 1024, np.minimum((at + 1023) // 1024, 1509), at % 1024
    assert low.max() == 1510
    for row in range(2):  # twice the distance: no row between two
        pixels = x.ravel().astype(int)[1510 * 2 * row :]
        mixed = (pixels[low] * (1024 - across) + pixels[high] * across) * 1024
        same(got[0, row, :, 0], np.trunc((mixed + np.where(mixed > 0, 1 << 19, -(1 << 19))) / (1 << 20)), np.int8)


def test_bilinear_halves():
    """Twice the size: the middle of -3 and 4 is 0.5, rounded away from zero."""
    x = np.array([-3, 4], np.int8).reshape(1, 1, 2, 1)
    same(resize("RESIZE_BILINEAR", x, (1, 4)).ravel(), [-3, 1, 4, 4], np.int8)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize(("align", "half"), [*MODES, (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int16"])
def test_nearest_neighbor(dtype, align, half, fed):
    x = np.random.default_rng(3).integers(0, 100, (2, 5, 7, 3)).astype(dtype)
    size = (11, 66)
    index = []
    for n, out in zip(x.shape[1:3], size, strict=True):
        scale = F(n - 1) / F(out - 1) if align else F(n) / F(out)
        at = (np.arange(out, dtype=F) + F(0.5 if half else 0)) * scale
        at = np.floor(at + F(0.5)) if align else np.floor(at)
        index.append(np.clip(at.astype(int), 0, n - 1))
    got = resize("RESIZE_NEAREST_NEIGHBOR", x, size, align, half, fed)
    same(got, x[:, index[0]][:, :, index[1]])


@of_x86_64
def test_nearest_neighbors_of_optimized_uint8_are_found_in_fixed_point():
    x = np.random.default_rng(5).integers(0, 256, (1, 1, 587, 1)).astype(np.uint8)
    at = np.minimum(np.arange(3913) * ((587 << 16) // 3913 + 1) >> 16, 586)
    plain = np.floor(np.arange(3913, dtype=F) * (F(587) / F(3913))).astype(int)
    assert (at != plain).any()
    y = Tensor([1, 1, 3913, 1], np.uint8)
    model = Model.single("RESIZE_NEAREST_NEIGHBOR", [Tensor(x.shape, x.dtype), constant([1, 3913], "int32")], [y], 3)
    for mode, columns in (
        (OpResolverType.BUILTIN_REF, plain),
        (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, at),
        (OpResolverType.AUTO, at),
    ):
        same(run(allocated(model, experimental_op_resolver_type=mode), x)[0], x[:, :, columns])


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("size", [(0, 3), (-1, 3), (3, -(2**31))])
def test_sizes_without_pixels_are_refused(size, fed):
    with pytest.raises(REFUSED):
        resize("RESIZE_BILINEAR", np.zeros((1, 2, 2, 1), F), size, fed=fed)


def test_contradicting_modes_are_refused():
    with pytest.raises(REFUSED, match="align_corners"):
        resize("RESIZE_BILINEAR", np.zeros((1, 2, 2, 1), F), (3, 3), True, True)


def test_other_types_are_refused():
    for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        with pytest.raises(REFUSED):
            resize(op, np.zeros((1, 2, 2, 1), np.int64), (3, 3))
