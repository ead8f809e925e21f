"""A trained net as .tflite, in float32 and in int8: the input `image` (n, 8, 8, 1), the output `probabilities` (n, 10).

Both have the signature `serving_default` and take any number of images after a resize: the first dimension is -1 in
their shape signatures.
"""

import numpy as np

from compat.builder import Model, Tensor

from .quantize import PROBABILITIES, activation_scale, quantize_bias, quantize_weights, weight_scales

# The quantized dimension of weights, and the operator's version for float32 and int8.
_CHANNEL = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": None}
_VERSIONS = {
    "CONV_2D": (1, 3),
    "DEPTHWISE_CONV_2D": (1, 3),
    "FULLY_CONNECTED": (1, 4),
    "MAX_POOL_2D": (1, 2),
    "SOFTMAX": (1, 2),
}
_OPTIONS = {
    "CONV_2D": {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU"},
    "DEPTHWISE_CONV_2D": {
        "padding": "SAME",
        "stride_w": 1,
        "stride_h": 1,
        "depth_multiplier": 1,
        "fused_activation_function": "RELU",
    },
    "MAX_POOL_2D": {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2},
    "SOFTMAX": {"beta": 1.0},
}


def to_float(net, images):
    """The bytes of the float32 model; `images` only give shapes."""
    model = Model("handwritten digits, 8 x 8, float32")
    graph = model.subgraph("main")
    image = x = _activation("image", images, None)
    for position, (layer, values) in enumerate(zip(net.layers, net.activations(images), strict=True)):
        y = _activation(f"{position}/{layer.name.lower()}", values, None)
        constants = []
        if hasattr(layer, "weights"):
            constants = [
                Tensor.constant(layer.weights, name=f"{position}/weights"),
                Tensor.constant(layer.bias, name=f"{position}/bias"),
            ]
        _append(graph, layer.name, x, constants, y, False)
        x = y
    return _finish(model, graph, image, x, None, False)


def to_int8(net, images):
    """The bytes of the int8 model, calibrated on `images`."""
    model = Model("handwritten digits, 8 x 8, int8")
    graph = model.subgraph("main")
    image = x = _activation("image", images, activation_scale(images))
    for position, (layer, values) in enumerate(zip(net.layers, net.activations(images), strict=True)):
        constants = []
        if hasattr(layer, "weights"):
            y = _activation(f"{position}/{layer.name.lower()}", values, activation_scale(values))
            constants = _quantized_constants(layer, x.scale, f"{position}/")
        else:
            y = _activation(f"{position}/{layer.name.lower()}", values, x)
        _append(graph, layer.name, x, constants, y, True)
        x = y
    return _finish(model, graph, image, x, PROBABILITIES, True)


def _quantized_constants(layer, input_scale, prefix):
    """Weights and bias of a layer as int8 and int32 tensors."""
    axis = _CHANNEL[layer.name]
    scales = weight_scales(layer.weights, axis)
    weights = quantize_weights(layer.weights, scales, axis)
    bias = quantize_bias(layer.bias, input_scale, scales)
    return [
        Tensor.constant(weights, scale=scales, axis=axis or 0, name=prefix + "weights"),
        Tensor.constant(bias, scale=input_scale * scales, name=prefix + "bias"),
    ]


def _activation(name, values, scale):
    """A tensor for one image, of the shape of `values`; `scale` is anything with scale and zero_point, or None: float32."""
    shape = [1, *values.shape[1:]]
    quantization = {} if scale is None else {"scale": scale.scale, "zero_point": scale.zero_point}
    dtype = "float32" if scale is None else "int8"
    return Tensor(shape, dtype, name=name, shape_signature=[-1, *shape[1:]], **quantization)


def _append(graph, name, x, constants, y, quantized):
    options = _OPTIONS.get(name, {})
    if name == "RESHAPE":
        constants = [Tensor.constant(np.array([-1, y.shape[1]], np.int32), name="flat_shape")]
    graph.op(name, [x, *constants], [y], version=_VERSIONS.get(name, (1, 1))[quantized], **options)


def _finish(model, graph, image, scores, scale, quantized):
    probabilities = _activation("probabilities", np.empty(scores.shape), scale)
    _append(graph, "SOFTMAX", scores, [], probabilities, quantized)
    model.signature("serving_default", inputs={"image": image}, outputs={"probabilities": probabilities})
    return model.to_bytes()
