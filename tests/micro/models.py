"""Small models that the tests of this room share."""

import numpy as np

from compat.builder import Model, Tensor
from tflm_cy.schema import model as schema

SCALE = {"scale": 0.05, "zero_point": 3}


def loaded(model):
    """A builder's Model, loaded."""
    return schema.Model.from_buffer(model.to_bytes())


def activation(*shape):
    return Tensor(list(shape), "int8", **SCALE)


def constant(rng, shape, axis=None):
    count = 1 if axis is None else shape[axis]
    values = rng.integers(-9, 10, shape).astype(np.int8)
    return Tensor.constant(values, scale=[0.02] * count, zero_point=[0] * count, axis=axis or 0)


def convolution(stride=1, padding="SAME", op="CONV_2D", size=(6, 5), channels=(3, 4), kernel=(3, 3), **options):
    """One int8 convolution."""
    rng = np.random.default_rng(0)
    height, width = size
    depth, out = channels
    shape = [out, *kernel, depth] if op == "CONV_2D" else [1, *kernel, out]
    bias = Tensor.constant(np.zeros(out, np.int32), scale=[0.001] * out, zero_point=[0] * out)
    if padding == "SAME":
        h, w = -(-height // stride), -(-width // stride)
    else:
        h, w = (height - kernel[0]) // stride + 1, (width - kernel[1]) // stride + 1
    weights = constant(rng, shape, 0 if op == "CONV_2D" else 3)
    extra = {"depth_multiplier": out // depth} if op == "DEPTHWISE_CONV_2D" else {}
    strides = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": 1, "dilation_w_factor": 1}
    inputs = [activation(1, height, width, depth), weights, bias]
    return Model.single(op, inputs, [activation(1, h, w, out)], padding=padding, **strides, **extra, **options)


def chain():
    """Two convolutions, RESHAPE and SOFTMAX: four operators in a row, one copy among them."""
    rng = np.random.default_rng(1)
    model = Model()
    main = model.subgraph("main")
    x, a, b = activation(1, 8, 8, 4), activation(1, 8, 8, 8), activation(1, 4, 4, 8)
    flat = activation(1, 128)
    for source, out, stride in ((x, a, 1), (a, b, 2)):
        weights = constant(rng, [8, 3, 3, source.shape[3]], 0)
        bias = Tensor.constant(np.zeros(8, np.int32), scale=[0.001] * 8, zero_point=[0] * 8)
        strides = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": 1, "dilation_w_factor": 1}
        main.op("CONV_2D", [source, weights, bias], [out], padding="SAME", **strides)
    main.op("RESHAPE", [b], [flat], new_shape=[1, 128])
    probabilities = Tensor([1, 128], "int8", scale=1 / 256, zero_point=-128)
    main.op("SOFTMAX", [flat], [probabilities], beta=1.0)
    return model


def branches():
    """x is read by two branches of different size, which are added at the end; a variable and a tensor of nobody."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = (activation(1, 40) for _ in range(4))
    wide, axis = activation(1, 80), Tensor.constant(np.array([1], np.int32))
    mean = activation(1, 1)
    main.op("ADD", [x, x], [a])
    main.op("CONCATENATION", [x, a], [wide], axis=1)
    main.op("MEAN", [wide, axis], [mean], keep_dims=True)
    main.op("ADD", [a, mean], [b])
    main.op("ADD", [b, mean], [y])
    main.tensor(activation(1, 99))
    main.tensor(Tensor([1, 24], "int8", **SCALE, variable=True))
    main.inputs, main.outputs = [x], [y, mean]
    return model


def widening(branches_count=3):
    """Branches that widen and narrow again; the file runs all wide operators first."""
    model = Model()
    main = model.subgraph("main")
    x = activation(1, 16)
    wide = [activation(1, 160) for _ in range(branches_count)]
    for y in wide:
        main.op("CONCATENATION", [x] * 10, [y], axis=1)
    narrow = []
    for y in wide:
        axis = Tensor.constant(np.array([1], np.int32))
        narrow += main.op("MEAN", [y, axis], [activation(1, 1)], keep_dims=True)
    out = activation(1, branches_count)
    main.op("CONCATENATION", narrow, [out], axis=1)
    main.inputs, main.outputs = [x], [out]
    return model
