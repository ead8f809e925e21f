"""Spectra: RFFT2D and the custom operators AudioSpectrogram, Mfcc, aeq.hadamard_rotation."""

import numpy as np
from flatbuffers import flexbuffers

from ..builder import Model, Tensor
from . import cases


def map_of(**numbers):
    """A flexbuffer map."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for key, value in numbers.items():
            if isinstance(value, list):
                with builder.Vector(key):
                    for item in value:
                        builder.Int(item)
            else:
                (builder.Bool if isinstance(value, bool) else builder.Int)(key, value)
    return bytes(builder.Finish())


@cases(
    "RFFT2D",
    dtypes=("float32",),
    variants=("random", "fed", "cut", "filled", "zeros", "impulse", "not a power", "long", "narrow"),
)
@cases("RFFT2D", dtypes=("int32",))
def rfft2d(d):
    lengths = np.array([2 ** int(np.log2(d.width(2, 32))) for _ in range(2)], np.int32)
    if d.variant == "long":
        lengths = np.array([2 ** d.between(1, 2), 2 ** d.between(8, 11)], np.int32)
    if d.variant == "narrow":
        lengths = np.array([2 ** d.between(0, 4), 1], np.int32)
    size = [int(n) for n in lengths]
    if d.variant == "cut":
        size = [n + d.between(0, 3) for n in size]
    elif d.variant == "filled":
        size = [d.between(1, n) for n in size]
    elif d.variant == "not a power":
        lengths[d.between(0, 1)] = 6
    shape = [*d.shape(d.between(0, 2), 3), *size]
    x, y = Tensor(shape, d.dtype), Tensor([*shape[:-2], lengths[0], lengths[1] // 2 + 1], "complex64")
    fed = d.variant == "fed"
    model = Model.single(d.op, [x, Tensor([2], "int32") if fed else Tensor.constant(lengths)], [y])

    def feed():
        values = d.values(x)
        if d.variant in ("zeros", "impulse"):
            values[...] = 0
        if d.variant == "impulse":
            values.flat[d.between(0, values.size - 1)] = 1
        return [values, lengths] if fed else [values]

    return d.case(model, feed, refused=d.dtype == "int32" or d.variant == "not a power")


@cases("AudioSpectrogram", dtypes=("float32",), variants=("magnitude", "squared", "short", "window of 1"))
@cases("AudioSpectrogram", dtypes=("int16",))
def spectrogram(d):
    window, stride = d.between(2, 500), d.between(1, 300)
    if d.variant == "window of 1":
        window = 1
    samples = window - 1 if d.variant == "short" else window + d.between(0, 900)
    options = map_of(window_size=window, stride=stride, magnitude_squared=d.variant == "squared")
    x, y = Tensor([samples, d.between(1, 2)], d.dtype), Tensor([1, 1, 1], d.dtype)
    refused = d.dtype == "int16" or d.variant == "window of 1"
    model = Model.single(d.op, [x], [y], custom_options=options)
    return d.case(model, lambda: [d.values(x)], refused=refused)


@cases("Mfcc", dtypes=("float32",), variants=("random", "spectrum too short", "more coefficients than bands"))
@cases("Mfcc", dtypes=("int32",))
def mfcc(d):
    bins, bands = d.between(60, 300), d.between(3, 40)
    coefficients = bands + 1 if d.variant == "more coefficients than bands" else d.between(1, bands)
    low, rate = d.between(0, 200), d.choice(8000, 16000, 44100)
    options = map_of(
        upper_frequency_limit=rate if d.variant == "spectrum too short" else low + d.between(1000, 3500),
        lower_frequency_limit=low,
        filterbank_channel_count=bands,
        dct_coefficient_count=coefficients,
    )
    x, y = Tensor([d.between(1, 2), d.between(1, 5), bins], d.dtype), Tensor([1, 1, 1], d.dtype)
    model = Model.single(d.op, [x, Tensor([1], "int32")], [y], custom_options=options)

    def feed():
        return [(d.rng.random(x.shape) * 9).astype(d.dtype), np.array([rate], np.int32)]

    return d.case(model, feed, refused=d.dtype == "int32" or coefficients > bands)


@cases("aeq.hadamard_rotation", dtypes=("float32",), variants=("random", "rank 3", "rest", "not a power"))
@cases("aeq.hadamard_rotation", dtypes=("int8",))
def rotation(d):
    size = 6 if d.variant == "not a power" else 2 ** d.between(0, 8)
    width = size * d.between(1, 3) + (d.between(1, 5) if d.variant == "rest" else 0)
    shape = [*d.shape(2 if d.variant == "rank 3" else 1, 4), width]
    options = map_of(hadamard_size=size, random_binary_vector=[d.choice(-1, 1) for _ in range(size)])
    x = Tensor(shape, d.dtype)
    model = Model.single(d.op, [x], [Tensor(shape, d.dtype)], custom_options=options)
    return d.case(model, lambda: [d.values(x)], refused=d.dtype == "int8" or None)  # BUILTIN_REF lacks it
