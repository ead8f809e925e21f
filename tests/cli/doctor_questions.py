"""Questions of TFLM's users from public threads, with their models rebuilt as far as the question needs them.

    for question in QUESTIONS: question.thread, question.model(), question.arguments, question.runs, question.answers

`thread` is the part of the address behind github.com/. `answers` are texts that doctor says; docs/doctor.md lists all.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compat.builder import Model, Tensor

_Q = {"scale": 0.05, "zero_point": 3}


@dataclass(frozen=True)
class Question:
    thread: str
    model: Any
    answers: tuple
    runs: bool = False
    arguments: tuple = ()
    silent: tuple = field(default=())  # what must not be said


def f32(*shape):
    return Tensor(list(shape), "float32")


def i8(*shape):
    return Tensor(list(shape), "int8", **_Q)


def ints(*values):
    return Tensor.constant(np.array(values, np.int32))


def weights(*shape, scale=0.02):
    return Tensor.constant(np.ones(shape, np.int8), scale=[scale], zero_point=[0])


def bias(channels, scale=0.001):
    """A bias of zeros for int8 activations."""
    return Tensor.constant(np.zeros(channels, np.int32), scale=[scale], zero_point=[0])


def flattened():
    """magic_wand: CONV_2D, MAX_POOL_2D, RESHAPE, FULLY_CONNECTED, SOFTMAX."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, c, d, y = f32(1, 16, 3, 1), f32(1, 16, 3, 8), f32(1, 5, 1, 8), f32(1, 40), f32(1, 4), f32(1, 4)
    main.op(
        "CONV_2D",
        [x, Tensor.constant(np.ones((8, 4, 3, 1), np.float32)), Tensor.constant(np.zeros(8, np.float32))],
        [a],
        padding="SAME",
        stride_h=1,
        stride_w=1,
    )
    main.op("MAX_POOL_2D", [a], [b], padding="VALID", stride_h=3, stride_w=3, filter_height=3, filter_width=3)
    main.op("RESHAPE", [b], [c], new_shape=[1, 40])
    main.op("FULLY_CONNECTED", [c, Tensor.constant(np.ones((4, 40), np.float32)), None], [d])
    main.op("SOFTMAX", [d], [y], beta=1.0)
    return model


def quantized_ends():
    """QUANTIZE, FULLY_CONNECTED, DEQUANTIZE: what quantization-aware training leaves at a model's ends."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = f32(1, 16), i8(1, 16), i8(1, 4), f32(1, 4)
    main.op("QUANTIZE", [x], [a])
    main.op("FULLY_CONNECTED", [a, weights(4, 16), None], [b])
    main.op("DEQUANTIZE", [b], [y])
    return model


def large_images(size=160, kind="float32"):
    """The first layers of a mobile net."""
    model = Model()
    main = model.subgraph("main")
    make = f32 if kind == "float32" else i8
    x, a, b = make(1, size, size, 3), make(1, size // 2, size // 2, 8), make(1, size // 2, size // 2, 8)
    first = np.ones((8, 3, 3, 3), np.float32 if kind == "float32" else np.int8)
    second = np.ones((1, 3, 3, 8), first.dtype)
    quantized = {} if kind == "float32" else {"scale": [0.02], "zero_point": [0]}
    strides = {"padding": "SAME", "dilation_h_factor": 1, "dilation_w_factor": 1}
    zeros = Tensor.constant(np.zeros(8, np.float32)) if kind == "float32" else bias(8)
    main.op("CONV_2D", [x, Tensor.constant(first, **quantized), zeros], [a], stride_h=2, stride_w=2, **strides)
    main.op(
        "DEPTHWISE_CONV_2D",
        [a, Tensor.constant(second, **quantized), zeros],
        [b],
        stride_h=1,
        stride_w=1,
        depth_multiplier=1,
        **strides,
    )
    return model


def many_tensors(count=87):
    """An element by element model of many small tensors: the tail is larger than the head."""
    model = Model()
    main = model.subgraph("main")
    x = f32(1, 4)
    main.inputs = [x]
    for _ in range(count - 1):
        [x] = main.op("RELU", [x], [f32(1, 4)])
    main.outputs = [x]
    return model


def hybrid(op="FULLY_CONNECTED"):
    """Dynamic range quantization: int8 weights, float32 activations."""
    if op == "FULLY_CONNECTED":
        return Model.single(op, [f32(1, 16), weights(4, 16), None], [f32(1, 4)])
    strides = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
    return Model.single(op, [f32(1, 64, 1, 1), weights(2, 3, 1, 1), None], [f32(1, 64, 1, 2)], **strides)


def sixteen_bits():
    x, y = (Tensor([1, n], "int16", scale=0.01, zero_point=0) for n in (16, 4))
    bias = Tensor.constant(np.zeros(4, np.int64), scale=[0.0002], zero_point=[0])
    return Model.single("FULLY_CONNECTED", [x, weights(4, 16), bias], [y])


def convolution_1d():
    """Keras' Conv1D: EXPAND_DIMS, CONV_2D, RESHAPE."""
    model = Model()
    main = model.subgraph("main")
    x, a, b, y = i8(1, 50, 4), i8(1, 1, 50, 4), i8(1, 1, 50, 8), i8(1, 50, 8)
    main.op("EXPAND_DIMS", [x, ints(1)], [a])
    main.op("CONV_2D", [a, weights(8, 1, 3, 4), bias(8)], [b], padding="SAME", stride_h=1, stride_w=1)
    main.op("RESHAPE", [b], [y], new_shape=[1, 50, 8])
    return model


def normalized():
    """LayerNormalization: MEAN, SQUARED_DIFFERENCE, and what follows; SUM stands for reduce_sum."""
    model = Model()
    main = model.subgraph("main")
    x, m, s, t = f32(1, 8), f32(1, 1), f32(1, 8), f32(1, 1)
    main.op("MEAN", [x, ints(1)], [m], keep_dims=True)
    main.op("SQUARED_DIFFERENCE", [x, m], [s])
    main.op("SUM", [s, ints(1)], [t], keep_dims=True)
    return model


def conditional():
    """tf.cond: IF over two graphs."""
    model = Model()
    main = model.subgraph("main")
    condition, x, y = Tensor([1], "bool"), f32(1, 4), f32(1, 4)
    for name, op in (("then", "RELU"), ("else", "NEG")):
        branch = model.subgraph(name)
        a, b = f32(1, 4), f32(1, 4)
        branch.op(op, [a], [b])
    main.op("IF", [condition, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    return model


def unsigned_camera():
    """A uint8 picture that QUANTIZE makes int8: 50 becomes -78."""
    x = Tensor([1, 8, 8, 1], "uint8", scale=1 / 255, zero_point=0)
    y = Tensor([1, 8, 8, 1], "int8", scale=1 / 255, zero_point=-128)
    return Model.single("QUANTIZE", [x], [y])


def uint8_net():
    """A net quantized by TensorFlow 1."""
    x, y = (Tensor([1, 8, 8, n], "uint8", scale=0.05, zero_point=128) for n in (3, 4))
    w = Tensor.constant(np.full((4, 3, 3, 3), 128, np.uint8), scale=[0.02], zero_point=[128])
    return Model.single("CONV_2D", [x, w, bias(4)], [y], padding="SAME", stride_h=1, stride_w=1)


def lists_of_tensors():
    """A GRU that was converted to a loop: TensorFlow's own list operators."""
    return Model.single("FlexTensorListReserve", [ints(1), ints(4)], [Tensor([1], "variant")])


def half_weights():
    return Model.single("DEQUANTIZE", [Tensor.constant(np.ones((4, 4), np.float16))], [f32(4, 4)])


def single(op, inputs, outputs, **options):
    return lambda: Model.single(op, inputs, outputs, **options)


QUESTIONS = (
    Question(
        "tensorflow/tflite-micro/issues/1157",
        flattened,
        ("MicroMutableOpResolver<5>", "resolver.AddReshape()", "resolver.AddSoftmax()", "runs on cortex-m4"),
        runs=True,
    ),
    Question(
        "tensorflow/tflite-micro/issues/2196",
        quantized_ends,
        ("MicroMutableOpResolver<3>", "resolver.AddQuantize()", "resolver.AddDequantize()"),
        runs=True,
        arguments=("--target", "esp32s3"),
    ),
    Question(
        "tensorflow/tflite-micro/issues/284",
        large_images,
        ("too small", "kTensorArenaSize = ", "Requested: ", "quantize to INT8", "alive at node 0 CONV_2D"),
        arguments=("--arena", "200K"),
    ),
    Question(
        "mocleiri/tensorflow-micropython-examples/issues/81",
        single("RANGE", [ints(0), ints(4), ints(1)], [Tensor([4], "int32")]),
        ("Didn't find op for builtin opcode 'RANGE'", "TFLM has no operator RANGE", "Replace RANGE"),
        silent=("AddRange",),
    ),
    Question(
        "tensorflow/tensorflow/issues/59042",
        single("REVERSE_V2", [f32(1, 8), ints(1)], [f32(1, 8)]),
        ("resolver.AddReverseV2()",),
        runs=True,
    ),
    Question(
        "tensorflow/tflite-micro/issues/515",
        normalized,
        ("resolver.AddSum()", "resolver.AddSquaredDifference()"),
        runs=True,
    ),
    Question(
        "tensorflow/tensorflow/issues/43386",
        hybrid,
        ("Hybrid models are not supported on TFLite Micro.", "representative_dataset", "FLOAT32>INT8"),
    ),
    Question(
        "tensorflow/tflite-micro/issues/1556",
        lambda: hybrid("CONV_2D"),
        ("Hybrid models are not supported on TFLite Micro.", "node 0 CONV_2D", "representative_dataset"),
        arguments=("--target", "cortex-m7"),
    ),
    Question("tensorflow/tflite-micro/issues/344", sixteen_bits, ("FULLY_CONNECTED", "equal the desktop's"), runs=True),
    Question(
        "tensorflow/tensorflow/issues/35070",
        flattened,
        ("needed", "also room to make the plan: kTensorArenaSize", "constexpr int kTensorArenaSize = "),
        runs=True,
    ),
    Question(
        "tensorflow/tflite-micro/issues/1249",
        lambda: large_images(96, "int8"),
        ("Requested: ", "too small by", "kTensorArenaSize = "),
        arguments=("--arena", "40K"),
    ),
    Question(
        "tensorflow/tflite-micro/issues/1458",
        many_tensors,
        ("Failed to allocate tail memory. Requested: 1044", "TfLiteEvalTensor", "kTensorArenaSize = "),
        arguments=("--target", "arm-linux", "--arena", "1200"),
    ),
    Question(
        "tensorflow/tflite-micro/issues/438",
        convolution_1d,
        ("resolver.AddExpandDims()", "needed", "equal the desktop's"),
        runs=True,
    ),
    Question(
        "espressif/esp-tflite-micro/issues/30",
        single("CAST", [Tensor([1, 8, 8, 3], "uint8")], [f32(1, 8, 8, 3)]),
        ("Invoke fails", "node 0 CAST", "UINT8>FLOAT32", "TFLM casts no UINT8"),
        silent=("dynamic range quantization",),
        arguments=("--target", "esp32s3"),
    ),
    Question(
        "espressif/esp-tflite-micro/issues/3",
        lambda: large_images(96, "int8"),
        ("esp-nn 1.2.3", "scratch of node 1 DEPTHWISE_CONV_2D", "needed"),
        runs=True,
        arguments=("--target", "esp32s3", "--arena", "250K"),
    ),
    Question(
        "tensorflow/tensorflow/issues/36688",
        lists_of_tensors,
        ("FlexTensorListReserve", "a loop over lists of tensors", "unroll=True"),
    ),
    Question("tensorflow/tflite-micro/issues/2020", conditional, ("resolver.AddIf()", "resolver.AddNeg()"), runs=True),
    Question(
        "tensorflow/tflite-micro/issues/960",
        convolution_1d,
        ("TFLM's reference kernels equal the desktop's bytes (BUILTIN_REF) on random inputs",),
        runs=True,
    ),
    Question(
        "tensorflow/tflite-micro/issues/2615",
        unsigned_camera,
        ("equal the desktop's bytes", "resolver.AddQuantize()"),
        runs=True,
        arguments=("--target", "esp32"),
    ),
    Question(
        "tensorflow/tensorflow/issues/43238",
        uint8_net,
        ("UINT8", "convert it again from its source with TensorFlow 2", "CONV_2D"),
        arguments=("--target", "cortex-m4", "--kernels", "reference"),
    ),
    Question(
        "tensorflow/tflite-micro/issues/1794",
        single("PAD", [i8(1, 4), ints((0, 0), (1, 1))], [i8(1, 6)], version=2),
        ("resolver.AddPad()",),
        runs=True,
    ),
)
