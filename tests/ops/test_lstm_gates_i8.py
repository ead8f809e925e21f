"""LSTM's integer kernel with twelve intermediates against double precision, and what it refuses."""

import numpy as np
import pytest

from compat.builder import Tensor

from .recurrent import Lstm
from .successive import REFUSED, constant, outputs

BATCH, INPUTS, CELLS, OUTPUTS = 3, 10, 7, 5
X_SCALE, W_SCALE, H_SCALE, NORM_SCALE = 0.02, 0.015, 0.01, 2.0 / 32767


def tensors_of(layer, cell_scale=2.0**-15):
    def weight(values):
        return constant(np.clip(np.round(values / W_SCALE), -127, 127), "int8", scale=W_SCALE)

    tensors = layer.tensors(
        Tensor([BATCH, INPUTS], "int8", scale=X_SCALE, zero_point=5),
        Tensor([BATCH, OUTPUTS], "int8", scale=H_SCALE, zero_point=-3, variable=True),
        Tensor([BATCH, CELLS], "int16", scale=cell_scale, variable=True),
        weight,
        lambda values: constant(np.round(values / NORM_SCALE * 1024), "int32", scale=NORM_SCALE / 1024),
        norm=lambda values: constant(np.round(values / NORM_SCALE), "int16", scale=NORM_SCALE),
    )
    tensors[17] = constant(np.zeros(OUTPUTS), "int32", scale=W_SCALE * 2.0**-15)
    return tensors


def intermediates():
    """Of each gate: the sum, the input's product, the recurrent product."""
    scales = [2.0**-12, 0.04, 0.02]
    return [Tensor([], "int8", scale=scales[i % 3], zero_point=0) for i in range(12)]


def layer_of(seed):
    layer = Lstm(seed, INPUTS, CELLS, OUTPUTS, coupled=True, norm=True, projection=True)
    layer.n = {g: np.abs(v) for g, v in layer.n.items()}
    return layer


def run(layer, feeds, tensors, **options):
    y = Tensor([BATCH, OUTPUTS], "int8", scale=H_SCALE, zero_point=-3)
    return outputs("LSTM", tensors, [y], [[x] for x in feeds], 2, intermediates(), **options)


def random_feed(seed):
    return np.random.default_rng(seed).integers(-80, 80, (BATCH, INPUTS)).astype(np.int8)


def test_the_first_step_is_the_layer_in_real_numbers():
    """From states of zeros; later the kernel's output gate does not see its recurrent product."""
    layer, x = layer_of(1), random_feed(2)
    [got] = run(layer, [x], tensors_of(layer))
    h, c = np.zeros((BATCH, OUTPUTS)), np.zeros((BATCH, CELLS))
    want = layer.run((x[:, None].astype(float) - 5) * X_SCALE, h, c)[:, 0]
    assert got.dtype == np.int8
    assert np.abs((got + 3.0) * H_SCALE - want).max() < 0.06


def test_the_recurrent_product_of_the_output_gate_does_not_count():
    layer, feeds = layer_of(3), [random_feed(4), random_feed(5)]
    layer.r["o"] = np.zeros((CELLS, OUTPUTS))
    without = run(layer, feeds, tensors_of(layer))[1]
    layer.r["o"] = np.full((CELLS, OUTPUTS), 0.4)
    assert np.array_equal(run(layer, feeds, tensors_of(layer))[1], without)
    layer.r["f"] = layer.r["f"] + 0.4
    assert not np.array_equal(run(layer, feeds, tensors_of(layer))[1], without)


def test_the_input_gate_does_not_count():
    layer, feeds = layer_of(6), [random_feed(7), random_feed(8)]
    coupled = run(layer, feeds, tensors_of(layer))
    for table, shape in ((layer.w, (CELLS, INPUTS)), (layer.r, (CELLS, OUTPUTS)), (layer.b, CELLS), (layer.n, CELLS)):
        table["i"] = np.full(shape, 0.3)
    assert all(map(np.array_equal, run(layer, feeds, tensors_of(layer)), coupled))


def test_a_clip_of_the_projection():
    layer, x = layer_of(9), random_feed(10)
    [free] = run(layer, [x], tensors_of(layer))
    [clipped] = run(layer, [x], tensors_of(layer), proj_clip=0.05)
    assert np.array_equal(clipped, np.clip(free, -5, 5))
    [forgotten] = run(layer, [x], tensors_of(layer, cell_scale=2.0**-12), proj_clip=0.05)
    [wide] = run(layer, [x], tensors_of(layer, cell_scale=2.0**-12))
    assert np.array_equal(forgotten, wide)


@pytest.mark.parametrize("missing", [16, 17, 21, 22, 23])
def test_what_must_be_there(missing):
    layer = layer_of(11)
    tensors = tensors_of(layer)
    tensors[missing] = None
    with pytest.raises(REFUSED):
        run(layer, [random_feed(12)], tensors)
