"""Prepare of the kernels that esp-nn replaces: the reference kernels' and the library's scratch behind it.

Source: espressif/esp-tflite-micro:tensorflow/lite/micro/kernels/esp_nn.
"""

from tflm_cy.micro import esp_nn
from tflm_cy.micro.device import ESP_NN_ANSI
from tflm_cy.micro.esp_nn import Layer
from tflm_cy.micro.walks import reducing, weighted
from tflm_cy.micro.walks.padding import dilation_of, padding_of


def convolution(w):
    x, weights = w.tensor("i0"), w.tensor("i1")
    if x is not None and weights is not None:
        w.ensure(weights.shape[3] > 0, "input 1 has no input channels")
        w.equal("the rest of input 0's channels over input 1's", x.shape[3] % weights.shape[3], 0)
    weighted.convolution(w)
    if x.type == "INT8" and w.machine.kernels != ESP_NN_ANSI:
        _scratch(w, esp_nn.convolution(w.machine.features, _layer(w, x, weights)))


def depthwise_convolution(w):
    options, x, weights = w.node.options, w.tensor("i0"), w.tensor("i1")
    for name in ("i0", "i1", "o0"):
        if w.tensor(name) is not None:
            w.rank(name, 4)
    w.ensure(min(dilation_of(w)) > 0, "its dilation is not positive")
    if x is not None and weights is not None:
        w.equal("the first dimension of input 1", weights.shape[0], 1)
        w.ensure(x.shape[3] != 0, "input 0 has no channels")
        w.equal("the rest of input 1's channels over input 0's", weights.shape[3] % x.shape[3], 0)
    weighted.depthwise_convolution(w)
    if x.type == "INT8" and w.machine.kernels != ESP_NN_ANSI:
        _scratch(w, esp_nn.depthwise(w.machine.features, _layer(w, x, weights), options.depth_multiplier))


def softmax(w):
    reducing.softmax(w)
    x = w.tensor("i0")
    if x.type == w.type("o0") == "INT8" and w.machine.kernels != ESP_NN_ANSI:
        _scratch(w, esp_nn.softmax(x.shape[1] if x.rank > 1 else x.behind_shape))


def _layer(w, x, weights):
    y, options = w.tensor("o0"), w.node.options
    return Layer(
        x.shape[1:3],
        x.shape[3],
        weights.shape[1:3],
        y.shape[1:3],
        y.shape[3],
        (options.stride_h, options.stride_w),
        padding_of(w, x, weights),
    )


def _scratch(w, size):
    if size > 0:
        w.scratch(size)


WALKS = {
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": depthwise_convolution,
    "SOFTMAX": softmax,
}

# operator -> types of input 0 that the library computes; others run the reference kernels
REPLACED = {
    "ADD": "INT8",
    "AVERAGE_POOL_2D": "INT8",
    "CONV_2D": "INT8",
    "DEPTHWISE_CONV_2D": "INT8",
    "FULLY_CONNECTED": "INT8",
    "MAX_POOL_2D": "INT8",
    "MUL": "INT8",
    "SOFTMAX": "INT8",
}
