"""TFLM's Signal operators on the channels of a filter bank.

| operator | options | inputs -> outputs |
| --- | --- | --- |
| SignalFilterBank | num_channels n | uint32 spectrum, int16 weights, unweights, then n + 1 each: frequency starts, weight starts, widths -> uint64 [n] |
| SignalFilterBankSquareRoot | | uint64, int32 shift -> uint32 |
| SignalFilterBankSpectralSubtraction | see below | uint32 -> uint32, uint32 noise estimate, which is a state |
| SignalPCAN | snr_shift | uint32 signal, uint32 noise, int16 table of gains -> uint32 |
| SignalFilterBankLog | input_correction_bits, output_scale | uint32 -> int16 |

Source: tensorflow/tflite-micro:signal/src, signal/micro/kernels.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.micro.filter_bank cimport (
    GAIN_TABLE, LOG_TABLE, Subtraction, control_gain, fill_log_table, filter_channels, rounded_root, scaled_log, subtract_noise,
)
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport INT16, INT32, UINT32, UINT64, Tensor, count, shape_of, type_name
from tflm_cy.ops.flex_options cimport option, options_of
from tflm_cy.ops.operand cimport expect_arity_between, operand, result
from tflm_cy.ops.state cimport new_state

cdef enum:
    LARGEST = 0x7FFFFFFF

cdef struct NoiseFilter:
    Subtraction params
    uint32_t* noise

cdef struct Gain:
    int32_t shift

cdef struct Logarithm:
    int32_t correction_bits
    uint32_t scale
    int32_t[LOG_TABLE] table


cdef int want_type(Context context, const Node* node, const Tensor* tensor, int type) except -1:
    if tensor.type != type:
        raise ValueError(
            f"{context.operator_name(node)}: tensor {tensor.index} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0


cdef int want_count(Context context, const Node* node, const Tensor* tensor, int64_t least) except -1:
    if count(tensor) < least:
        raise ValueError(f"{context.operator_name(node)}: tensor {tensor.index} of shape {shape_of(tensor)}, {least} elements are needed")
    return 0


cdef int prepare_filter_bank(Context context, Node* node) except -1:
    cdef int64_t channels = option(options_of(node), "num_channels", 1, 1 << 20)
    cdef int i
    expect_arity_between(context, node, 6, 6, 1)
    want_type(context, node, operand(context, node, 0), UINT32)
    for i in range(1, 6):
        want_type(context, node, operand(context, node, i), INT16)
    for i in range(3, 6):
        want_count(context, node, operand(context, node, i), channels + 1)
    want_type(context, node, result(context, node, 0), UINT64)
    want_count(context, node, result(context, node, 0), channels)
    node.data = context.persistent(sizeof(int64_t))
    (<int64_t*>node.data)[0] = channels
    node.invoke = filter_bank
    return 0


cdef int filter_bank(Context context, Node* node) noexcept nogil:
    cdef ptrdiff_t channels = <ptrdiff_t>(<const int64_t*>node.data)[0]
    cdef const int16_t* starts = <const int16_t*>context.input(node, 3).data
    cdef const int16_t* weight_starts = <const int16_t*>context.input(node, 4).data
    cdef const int16_t* widths = <const int16_t*>context.input(node, 5).data
    cdef int64_t bins = count(context.input(node, 0))
    cdef int64_t weights = min(count(context.input(node, 1)), count(context.input(node, 2)))
    cdef ptrdiff_t i
    for i in range(channels + 1):
        if widths[i] > 0 and (starts[i] < 0 or weight_starts[i] < 0 or starts[i] + widths[i] > bins or weight_starts[i] + widths[i] > weights):
            return context.fail_with(b"SignalFilterBank: channel %ld of width %ld lies outside of the spectrum or the weights", i, widths[i])
    filter_channels(
        <const uint32_t*>context.input(node, 0).data, <const int16_t*>context.input(node, 1).data,
        <const int16_t*>context.input(node, 2).data, starts, weight_starts, widths, channels, <uint64_t*>context.output(node, 0).data)
    return 0


cdef int prepare_square_root(Context context, Node* node) except -1:
    cdef const Tensor* x
    expect_arity_between(context, node, 2, 2, 1)
    x = operand(context, node, 0)
    want_type(context, node, x, UINT64)
    want_type(context, node, operand(context, node, 1), INT32)
    want_count(context, node, operand(context, node, 1), 1)
    want_type(context, node, result(context, node, 0), UINT32)
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.invoke = square_root
    return 0


cdef int square_root(Context context, Node* node) noexcept nogil:
    cdef const uint64_t* x = <const uint64_t*>context.input(node, 0).data
    cdef uint32_t* y = <uint32_t*>context.output(node, 0).data
    cdef int32_t shift = (<const int32_t*>context.input(node, 1).data)[0]
    cdef int64_t i
    if shift < 0 or shift > 31:
        return context.fail_with(b"SignalFilterBankSquareRoot: a shift by %ld", shift, 0)
    for i in range(count(context.input(node, 0))):
        y[i] = rounded_root(x[i]) >> shift
    return 0


cdef int prepare_subtraction(Context context, Node* node) except -1:
    cdef dict options = options_of(node)
    cdef const Tensor* x
    cdef NoiseFilter* op
    expect_arity_between(context, node, 1, 1, 2)
    x = operand(context, node, 0)
    want_type(context, node, x, UINT32)
    want_type(context, node, result(context, node, 0), UINT32)
    want_type(context, node, result(context, node, 1), UINT32)
    if option(options, "num_channels", 1, LARGEST) != count(x):
        raise ValueError(f"{context.operator_name(node)}: num_channels is {options['num_channels']}, the input has {count(x)}")
    op = <NoiseFilter*>context.persistent(sizeof(NoiseFilter))
    op.params.smoothing = <uint32_t>option(options, "smoothing", 0, LARGEST)
    op.params.one_minus_smoothing = <uint32_t>option(options, "one_minus_smoothing", 0, LARGEST)
    op.params.alternate_smoothing = <uint32_t>option(options, "alternate_smoothing", 0, LARGEST)
    op.params.alternate_one_minus_smoothing = <uint32_t>option(options, "alternate_one_minus_smoothing", 0, LARGEST)
    op.params.least = <uint32_t>option(options, "min_signal_remaining", 0, LARGEST)
    op.params.smoothing_bits = <int32_t>option(options, "smoothing_bits", 0, 31)
    op.params.bits = <int32_t>option(options, "spectral_subtraction_bits", 0, 63)
    op.params.clamping = option(options, "clamping", 0, 1)
    op.noise = <uint32_t*>new_state(context, 4 * count(x))
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    context.set_shape(result(context, node, 1), x.rank, x.dims)
    node.data = op
    node.invoke = subtraction
    return 0


cdef int subtraction(Context context, Node* node) noexcept nogil:
    cdef NoiseFilter* op = <NoiseFilter*>node.data
    cdef const uint32_t* x = <const uint32_t*>context.input(node, 0).data
    cdef uint32_t* y = <uint32_t*>context.output(node, 0).data
    cdef int64_t i, n = count(context.input(node, 0))
    for i in range(n):
        y[i] = subtract_noise(&op.params, x[i], i & 1, &op.noise[i])
    memcpy(context.output(node, 1).data, op.noise, 4 * n)
    return 0


cdef int prepare_gain(Context context, Node* node) except -1:
    cdef const Tensor* x
    cdef Gain* op
    expect_arity_between(context, node, 3, 3, 1)
    x = operand(context, node, 0)
    want_type(context, node, x, UINT32)
    want_type(context, node, operand(context, node, 1), UINT32)
    want_type(context, node, operand(context, node, 2), INT16)
    want_type(context, node, result(context, node, 0), UINT32)
    want_count(context, node, operand(context, node, 1), count(x))
    want_count(context, node, operand(context, node, 2), GAIN_TABLE)
    op = <Gain*>context.persistent(sizeof(Gain))
    op.shift = <int32_t>option(options_of(node), "snr_shift", 0, 63)
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = gain
    return 0


cdef int gain(Context context, Node* node) noexcept nogil:
    cdef const Gain* op = <const Gain*>node.data
    cdef const uint32_t* x = <const uint32_t*>context.input(node, 0).data
    cdef const uint32_t* noise = <const uint32_t*>context.input(node, 1).data
    cdef const int16_t* table = <const int16_t*>context.input(node, 2).data
    cdef uint32_t* y = <uint32_t*>context.output(node, 0).data
    cdef int64_t i
    for i in range(count(context.input(node, 0))):
        y[i] = control_gain(x[i], noise[i], table, op.shift)
    return 0


cdef int prepare_log(Context context, Node* node) except -1:
    cdef dict options = options_of(node)
    cdef const Tensor* x
    cdef Logarithm* op
    expect_arity_between(context, node, 1, 1, 1)
    x = operand(context, node, 0)
    want_type(context, node, x, UINT32)
    want_type(context, node, result(context, node, 0), INT16)
    op = <Logarithm*>context.persistent(sizeof(Logarithm))
    op.correction_bits = <int32_t>option(options, "input_correction_bits", 0, 31)
    op.scale = <uint32_t>option(options, "output_scale", 0, LARGEST)
    fill_log_table(op.table)
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = logarithm
    return 0


cdef int logarithm(Context context, Node* node) noexcept nogil:
    cdef const Logarithm* op = <const Logarithm*>node.data
    cdef const uint32_t* x = <const uint32_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int64_t i
    for i in range(count(context.input(node, 0))):
        y[i] = scaled_log(x[i], op.correction_bits, op.scale, op.table)
    return 0


MICRO_OPERATORS = {
    "SignalFilterBank": register(prepare_filter_bank, version=1),
    "SignalFilterBankSquareRoot": register(prepare_square_root, version=1),
    "SignalFilterBankSpectralSubtraction": register(prepare_subtraction, version=1),
    "SignalPCAN": register(prepare_gain, version=1),
    "SignalFilterBankLog": register(prepare_log, version=1),
}
