"""TFLM's Signal operators up to the spectrum: SignalWindow, SignalFftAutoScale, SignalRfft, SignalIrfft, SignalEnergy.

| operator | options | inputs -> outputs |
| --- | --- | --- |
| SignalWindow | shift | int16 [.., n], int16 weights [n] -> int16 |
| SignalFftAutoScale | | int16 [n] -> int16 [n], int32: the left shift that leaves one bit of headroom |
| SignalRfft | T, fft_length | T [.., at most L] -> T [.., L + 2], pairs (re, im); T int16, int32, float32 |
| SignalIrfft | T, fft_length | T [.., L + 2] -> T [.., L]; float32 is divided by L |
| SignalEnergy | start_index, end_index | int16 pairs -> uint32; elements outside of start .. end are not written |

Lengths of transforms are powers of two from 4 on.

Source: tensorflow/tflite-micro:signal/src, signal/micro/kernels.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.micro.fft cimport Fft, fill_fft, irfft, rfft
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT16, INT32, UINT32, Tensor, count, type_name, type_size
from tflm_cy.ops.flex_options cimport option, options_of
from tflm_cy.ops.operand cimport expect_arity_between, operand, result

cdef enum:
    LONGEST_FFT = 1 << 20

cdef struct Window:
    int32_t shift
    ptrdiff_t rows
    ptrdiff_t length

cdef struct Transform:
    Fft fft
    ptrdiff_t rows
    ptrdiff_t x_length
    ptrdiff_t length             # reals
    int padded                   # scratch handles
    int buffer

cdef struct Energy:
    ptrdiff_t start
    ptrdiff_t end


cdef int want_type(const Tensor* tensor, int type, str name) except -1:
    if tensor.type != type:
        raise ValueError(f"{name}: tensor {tensor.index} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0


cdef int prepare_window(Context context, Node* node) except -1:
    cdef const Tensor* x
    cdef const Tensor* w
    cdef Window* op
    expect_arity_between(context, node, 2, 2, 1)
    x, w = operand(context, node, 0), operand(context, node, 1)
    want_type(x, INT16, "SignalWindow")
    want_type(w, INT16, "SignalWindow")
    want_type(result(context, node, 0), INT16, "SignalWindow")
    op = <Window*>context.persistent(sizeof(Window))
    op.shift = <int32_t>option(options_of(node), "shift", 0, 31)
    op.length = count(w)
    if x.rank < 1 or x.dims[x.rank - 1] != op.length:
        raise ValueError(f"SignalWindow: {op.length} weights do not fit the input's last dimension")
    op.rows = count(x) / op.length if op.length else 0
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = window
    return 0


cdef int window(Context context, Node* node) noexcept nogil:
    cdef const Window* op = <const Window*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef const int16_t* w = <const int16_t*>context.input(node, 1).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef ptrdiff_t row, i
    cdef int32_t value
    for row in range(op.rows):
        for i in range(op.length):
            value = (<int32_t>x[row * op.length + i] * w[i]) >> op.shift
            y[row * op.length + i] = <int16_t>max(-32768, min(value, 32767))
    return 0


cdef int prepare_auto_scale(Context context, Node* node) except -1:
    cdef const Tensor* x
    expect_arity_between(context, node, 1, 1, 2)
    x = operand(context, node, 0)
    want_type(x, INT16, "SignalFftAutoScale")
    want_type(result(context, node, 0), INT16, "SignalFftAutoScale")
    want_type(result(context, node, 1), INT32, "SignalFftAutoScale")
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    if count(result(context, node, 1)) != 1:
        raise ValueError("SignalFftAutoScale: the second output is one number")
    node.invoke = auto_scale
    return 0


cdef int auto_scale(Context context, Node* node) noexcept nogil:
    """The magnitude of -32768 wraps, so that there is no room above it."""
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int64_t i, n = count(context.input(node, 0))
    cdef int32_t top = 0
    cdef int32_t bits = 0
    for i in range(n):
        top = max(top, <int32_t>x[i] if x[i] >= 0 else -<int32_t>x[i])
    if 0 < top < 32768:
        while top << (bits + 1) < 32768:
            bits += 1
    for i in range(n):
        y[i] = <int16_t><uint16_t>(<uint32_t><int32_t>x[i] << bits)
    (<int32_t*>context.output(node, 1).data)[0] = bits
    return 0


cdef Transform* prepare_transform(Context context, Node* node, bint inverse, str name) except NULL:
    cdef const Tensor* x
    cdef Tensor* y
    cdef Transform* op
    cdef dict options = options_of(node)
    cdef int64_t length = option(options, "fft_length", 4, LONGEST_FFT)
    cdef int32_t[16] dims
    cdef void* twiddles
    cdef void* super_twiddles
    cdef int d, size
    expect_arity_between(context, node, 1, 1, 1)
    x, y = operand(context, node, 0), result(context, node, 0)
    want_type(x, <int>option(options, "T", 0, 20), name)
    want_type(y, x.type, name)
    if x.type != INT16 and x.type != INT32 and x.type != FLOAT32:
        raise ValueError(f"{name}: type {type_name(x.type)} is not supported")
    if length & (length - 1):
        raise ValueError(f"{name}: fft_length {length} is no power of two")
    op = <Transform*>context.persistent(sizeof(Transform))
    op.length = length
    op.x_length = x.dims[x.rank - 1] if x.rank else 1
    if op.x_length < 1 or op.x_length > length + (2 if inverse else 0) or (inverse and op.x_length != length + 2):
        raise ValueError(f"{name}: rows of {op.x_length} numbers do not go with fft_length {length}")
    op.rows = count(x) / op.x_length
    for d in range(x.rank):
        dims[d] = x.dims[d]
    dims[max(x.rank - 1, 0)] = <int32_t>(length + (0 if inverse else 2))
    context.set_shape(y, max(x.rank, 1), dims)
    size = type_size(x.type)
    twiddles = context.persistent(size * length)
    super_twiddles = context.persistent(size * length)
    if x.type == INT16:
        fill_fft(&op.fft, length, inverse, <int16_t*>twiddles, <int16_t*>super_twiddles)
    elif x.type == INT32:
        fill_fft(&op.fft, length, inverse, <int32_t*>twiddles, <int32_t*>super_twiddles)
    else:
        fill_fft(&op.fft, length, inverse, <float*>twiddles, <float*>super_twiddles)
    op.padded = context.request_scratch(size * length)
    op.buffer = context.request_scratch(size * length)
    node.data = op
    return op


cdef int prepare_rfft(Context context, Node* node) except -1:
    prepare_transform(context, node, False, "SignalRfft")
    node.invoke = run_rfft
    return 0


cdef int prepare_irfft(Context context, Node* node) except -1:
    prepare_transform(context, node, True, "SignalIrfft")
    node.invoke = run_irfft
    return 0


cdef int run_rfft(Context context, Node* node) noexcept nogil:
    cdef const Transform* op = <const Transform*>node.data
    cdef int type = context.input(node, 0).type
    cdef size_t size = 2 if type == INT16 else 4
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef char* padded = <char*>context.scratch(op.padded)
    cdef void* buffer = context.scratch(op.buffer)
    cdef ptrdiff_t row
    memset(padded, 0, size * op.length)
    for row in range(op.rows):
        memcpy(padded, x + row * op.x_length * size, op.x_length * size)
        if type == INT16:
            rfft(&op.fft, <const int16_t*>padded, <int16_t*>buffer, <int16_t*>y)
        elif type == INT32:
            rfft(&op.fft, <const int32_t*>padded, <int32_t*>buffer, <int32_t*>y)
        else:
            rfft(&op.fft, <const float*>padded, <float*>buffer, <float*>y)
        y += size * (op.length + 2)
    return 0


cdef int run_irfft(Context context, Node* node) noexcept nogil:
    cdef const Transform* op = <const Transform*>node.data
    cdef int type = context.input(node, 0).type
    cdef size_t size = 2 if type == INT16 else 4
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef void* buffer = context.scratch(op.buffer)
    cdef ptrdiff_t row, i
    for row in range(op.rows):
        if type == INT16:
            irfft(&op.fft, <const int16_t*>x, <int16_t*>buffer, <int16_t*>y)
        elif type == INT32:
            irfft(&op.fft, <const int32_t*>x, <int32_t*>buffer, <int32_t*>y)
        else:
            irfft(&op.fft, <const float*>x, <float*>buffer, <float*>y)
            for i in range(op.length):
                (<float*>y)[i] /= <float>op.length
        x += size * op.x_length
        y += size * op.length
    return 0


cdef int prepare_energy(Context context, Node* node) except -1:
    cdef const Tensor* x
    cdef Tensor* y
    cdef Energy* op
    cdef dict options = options_of(node)
    expect_arity_between(context, node, 1, 1, 1)
    x, y = operand(context, node, 0), result(context, node, 0)
    want_type(x, INT16, "SignalEnergy")
    want_type(y, UINT32, "SignalEnergy")
    op = <Energy*>context.persistent(sizeof(Energy))
    op.end = option(options, "end_index", 0, min(count(x) / 2, count(y)))
    op.start = option(options, "start_index", 0, op.end)
    node.data = op
    node.invoke = energy
    return 0


cdef int energy(Context context, Node* node) noexcept nogil:
    cdef const Energy* op = <const Energy*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef uint32_t* y = <uint32_t*>context.output(node, 0).data
    cdef ptrdiff_t i
    for i in range(op.start, op.end):
        y[i] = <uint32_t>(<int32_t>x[2 * i] * x[2 * i]) + <uint32_t>(<int32_t>x[2 * i + 1] * x[2 * i + 1])
    return 0


MICRO_OPERATORS = {
    "SignalWindow": register(prepare_window, version=1),
    "SignalFftAutoScale": register(prepare_auto_scale, version=1),
    "SignalRfft": register(prepare_rfft, version=1),
    "SignalIrfft": register(prepare_irfft, version=1),
    "SignalEnergy": register(prepare_energy, version=1),
}
