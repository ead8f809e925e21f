"""RFFT2D, and the custom operators AudioSpectrogram, Mfcc and aeq.hadamard_rotation.

| operator | input | output |
| --- | --- | --- |
| RFFT2D | float32 [.., height, width], int32 lengths (powers of two; dynamic output unless constant) | complex64 [.., height, width / 2 + 1] |
| AudioSpectrogram | float32 [samples, channels] | float32 [channels, windows, bins], squared magnitudes or magnitudes |
| Mfcc | float32 squared spectra [channels, windows, bins], int32 sample rate | float32 [channels, windows, coefficients] |
| aeq.hadamard_rotation | float32 [.., features], whose runs of `hadamard_size` are rotated; absent from BUILTIN_REF | as the input |

The options of the custom operators are flexbuffers.

Source: LiteRT:tflite/kernels/{rfft2d,audio_spectrogram,mfcc,hadamard_rotation}.cc.
"""
from libc.math cimport cos
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tflm_cy.arithmetic.fourier cimport LANES
from tflm_cy.arithmetic.spectrum cimport (
    FEWEST_LANES, MelBank, Plane, cosine_sum, design_bank, fill_cosines, fill_turns, hadamard, mel_logarithms, rfft2d, rfft2d_narrow,
    rfft2d_single_rows, squared_spectra,
)
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport COMPLEX64, FLOAT32, INT32, MAX_RANK, Tensor, bytes_of, count, count_range, is_constant, shape_of, type_name
from tflm_cy.ops.flex_options cimport options_of
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, index_at, operand, result
from tflm_cy.platform.long_copy cimport copy_bytes

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    LONGEST = 1 << 24            # of a window or a transform
    SIDE_BY_SIDE = 1 << 13       # points of transforms that are computed together

cdef struct Spectrogram:
    int32_t window
    int32_t stride
    int32_t length               # of the transform
    int32_t rows
    bint squared
    double* shape                # Hann's
    double* turns
    int32_t lanes                # windows that are transformed together
    int32_t points               # scratch

cdef struct Cepstrum:
    MelBank bank
    int32_t coefficients
    float low, high
    double* cosines
    double* working


cdef int64_t whole(dict options, str key) except? -1:
    """A number cut to an integer of 32 bits; 0 when it is not there."""
    cdef object value = options.get(key, 0)
    if not -2147483648 <= value <= 2147483647:
        raise ValueError(f"the option {key} is {value}")
    return <int64_t>int(value)


cdef int expect_f32(const Tensor* x, const Tensor* y) except -1:
    if x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"input->type != output->type: {type_name(x.type)} and {type_name(y.type)}, both must be FLOAT32")
    return 0


# ---------------------------------------------------------------- RFFT2D

cdef bint is_power_of_two(int64_t n) noexcept nogil:
    return n > 0 and n & (n - 1) == 0


cdef bint plan_plane(Plane* p, const Tensor* x, const Tensor* lengths, int32_t* dims) noexcept nogil:
    """The transform's sizes and the output's shape; False when a length is no power of two or too long."""
    cdef int d
    for d in range(x.rank):
        dims[d] = x.dims[d]
    p.in_height, p.in_width = x.dims[x.rank - 2], x.dims[x.rank - 1]
    p.height, p.width = index_at(INT32, lengths.data, 0), index_at(INT32, lengths.data, 1)
    if not is_power_of_two(p.height) or not is_power_of_two(p.width) or p.height * p.width > LONGEST:
        return False
    dims[x.rank - 2] = <int32_t>p.height
    dims[x.rank - 1] = <int32_t>(p.width // 2 + 1)
    return bytes_of(COMPLEX64, x.rank, dims) >= 0


cdef size_t working_doubles(const Plane* p) noexcept nogil:
    return p.width + p.height + 2 * LANES * max(p.width // 2, p.height) + 2 * (LANES if p.height == 1 else p.height) * (p.width // 2 + 1)


cdef void place_working(Plane* p, double* room) noexcept nogil:
    p.turns = room
    p.lanes = p.turns + p.width + p.height
    p.rows = p.lanes + 2 * LANES * max(p.width // 2, p.height)
    fill_turns(p.turns, p.width)
    fill_turns(p.turns + (p.width & ~<ptrdiff_t>1), p.height)


cdef int prepare_rfft2d(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef Plane* p
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* lengths = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if x.rank < 2:
        raise ValueError(f"NumDimensions(input) >= 2 was not true: {shape_of(x)}")
    if x.type != FLOAT32:
        raise ValueError(f"Type '{type_name(x.type)}' for input is not supported by rfft2d.")
    if lengths.rank != 1 or lengths.dims[0] != 2:
        raise ValueError(f"fft_length_shape.Dims(0) != 2: {shape_of(lengths)}")
    if lengths.type != INT32:
        raise ValueError(f"Type '{type_name(lengths.type)}' for fft_length is not supported by rfft2d.")
    adopt_type(y, COMPLEX64)
    p = <Plane*>context.persistent(sizeof(Plane))
    node.data = p
    if not is_constant(lengths):
        context.set_dynamic(y)
        node.invoke = rfft2d_dynamic
        return 0
    if not plan_plane(p, x, lengths, dims):
        raise ValueError("IsPowerOfTwo(fft_length_data[0]) was not true, or a length is too long")
    context.set_shape(y, x.rank, dims)
    place_working(p, <double*>context.persistent(working_doubles(p) * sizeof(double)))
    node.invoke = rfft2d_slices
    return 0


cdef int rfft2d_dynamic(Context context, Node* node) noexcept nogil:
    cdef Plane* p = <Plane*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef int32_t[MAX_RANK] dims
    cdef double* room
    if not plan_plane(p, x, context.input(node, 1), dims):
        return context.fail(b"IsPowerOfTwo(fft_length_data[0]) was not true, or a length is too long")
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    room = <double*>malloc(working_doubles(p) * sizeof(double))
    if room == NULL:
        return context.fail(b"no memory for the transform")
    place_working(p, room)
    rfft2d_slices(context, node)
    free(room)
    return 0


cdef int rfft2d_slices(Context context, Node* node) noexcept nogil:
    cdef const Plane* p = <const Plane*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef float* y = <float*>context.output(node, 0).data
    cdef const float* slice
    cdef int64_t slices = count_range(x, 0, x.rank - 2)
    cdef int64_t i = 0
    cdef int together
    while i < slices:
        slice = <const float*>x.data + i * p.in_height * p.in_width
        together = 1
        if p.width == 1:
            rfft2d_narrow(p, slice, y)
        elif p.height == 1:
            together = <int>min(slices - i, <int64_t>LANES)
            rfft2d_single_rows(p, slice, together, y)
        else:
            rfft2d(p, slice, y)
        i += together
        y += together * 2 * p.height * (p.width // 2 + 1)
    return 0


# ---------------------------------------------------------------- AudioSpectrogram

cdef int prepare_spectrogram(Context context, Node* node) except -1:
    cdef int32_t[3] dims
    cdef Spectrogram* s
    cdef int64_t window, stride
    cdef int i
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    options = options_of(node)
    if x.rank != 2:
        raise ValueError(f"NumDimensions(input) != 2 ({x.rank} != 2)")
    expect_f32(x, y)
    window, stride = whole(options, "window_size"), whole(options, "stride")
    if not 2 <= window <= LONGEST or stride < 1:
        raise ValueError(f"params->spectrogram->Initialize was not true: a window of {window}, a stride of {stride}")
    s = <Spectrogram*>context.persistent(sizeof(Spectrogram))
    s.window, s.stride = <int32_t>window, <int32_t>stride
    s.squared = bool(options.get("magnitude_squared", False))
    s.length = 2
    while s.length < window:
        s.length *= 2
    s.rows = 0 if x.dims[0] < window else <int32_t>(1 + (x.dims[0] - window) // stride)
    s.shape = <double*>context.persistent(window * sizeof(double))
    for i in range(s.window):
        s.shape[i] = 0.5 - 0.5 * cos((2.0 * 3.14159265358979323846 * i) / s.window)
    s.turns = <double*>context.persistent(s.length * sizeof(double))
    fill_turns(s.turns, s.length)
    s.lanes = LANES if s.rows >= FEWEST_LANES and s.length <= SIDE_BY_SIDE else 1
    s.points = context.request_scratch(2 * <size_t>s.length * s.lanes * sizeof(double))
    dims[0], dims[1], dims[2] = x.dims[1], s.rows, s.length // 2 + 1
    context.set_shape(y, 3, dims)
    node.data = s
    node.invoke = spectrogram
    return 0


cdef int spectrogram(Context context, Node* node) noexcept nogil:
    cdef const Spectrogram* s = <const Spectrogram*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef float* y = <float*>context.output(node, 0).data
    cdef ptrdiff_t channels = x.dims[1]
    cdef ptrdiff_t channel, row, windows
    for channel in range(channels):
        row = 0
        while row < s.rows:
            windows = min(<ptrdiff_t>s.rows - row, <ptrdiff_t>s.lanes)
            squared_spectra(
                <const float*>x.data + row * s.stride * channels + channel, channels, s.stride * channels, windows, s.lanes, s.shape,
                s.window, s.length, s.turns, <double*>context.scratch(s.points), s.squared, y)
            y += windows * (s.length // 2 + 1)
            row += windows
    return 0


# ---------------------------------------------------------------- Mfcc

cdef int prepare_mfcc(Context context, Node* node) except -1:
    cdef int32_t[3] dims
    cdef Cepstrum* s
    cdef int64_t bands, coefficients
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* rate = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    options = options_of(node)
    if x.rank != 3 or count(rate) != 1:
        raise ValueError(f"NumDimensions(input_wav) != 3, or more than one rate: {shape_of(x)}, {shape_of(rate)}")
    expect_f32(x, y)
    if rate.type != INT32:
        raise ValueError(f"input_rate->type != kTfLiteInt32 ({type_name(rate.type)})")
    bands, coefficients = whole(options, "filterbank_channel_count"), whole(options, "dct_coefficient_count")
    s = <Cepstrum*>context.persistent(sizeof(Cepstrum))
    if 1 <= bands < coefficients:
        dims[0], dims[1], dims[2] = x.dims[0], x.dims[1], <int32_t>coefficients
        context.set_shape(y, 3, dims)
        raise LateRefusalError(f"params->dct_coefficient_count != mfcc_output.size(): Mfcc of {coefficients} coefficients of {bands} bands")
    s.low, s.high = <float>whole(options, "lower_frequency_limit"), <float>whole(options, "upper_frequency_limit")
    if not 1 <= coefficients <= bands or bands * coefficients > LONGEST or x.dims[2] < 2 or s.low < 0 or s.high <= s.low:
        dims[0], dims[1], dims[2] = x.dims[0], x.dims[1], <int32_t>coefficients
        context.set_shape(y, 3, dims)
        raise LateRefusalError(
            f"Mfcc: {coefficients} coefficients of {bands} bands from {s.low} to {s.high} Hz over {x.dims[2]} bins")
    s.coefficients = <int32_t>coefficients
    s.bank.bins, s.bank.bands = x.dims[2], <int32_t>bands
    s.bank.band = <int32_t*>context.persistent(x.dims[2] * sizeof(int32_t))
    s.bank.weight = <double*>context.persistent(x.dims[2] * sizeof(double))
    s.bank.centre = <double*>context.persistent((bands + 1) * sizeof(double))
    s.working = <double*>context.persistent(bands * sizeof(double))
    s.cosines = <double*>context.persistent(bands * coefficients * sizeof(double))
    fill_cosines(s.cosines, s.coefficients, s.bank.bands)
    dims[0], dims[1], dims[2] = x.dims[0], x.dims[1], s.coefficients
    context.set_shape(y, 3, dims)
    node.data = s
    node.invoke = mfcc
    return 0


cdef int mfcc(Context context, Node* node) noexcept nogil:
    cdef Cepstrum* s = <Cepstrum*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef int32_t rate = <int32_t>index_at(INT32, context.input(node, 1).data, 0)
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t row
    cdef ptrdiff_t i
    cdef bint known
    if rate <= 0:
        return context.fail_with(b"Mfcc: a sample rate of %ld", rate, 0)
    design_bank(&s.bank, rate, s.low, s.high)
    for row in range(<int64_t>x.dims[0] * x.dims[1]):
        known = mel_logarithms(&s.bank, <const float*>x.data + row * s.bank.bins, s.working)
        for i in range(s.coefficients):
            y[i] = <float>cosine_sum(s.cosines + i * s.bank.bands, s.working, s.bank.bands) if known else 0
        y += s.coefficients
    return 0


# ---------------------------------------------------------------- aeq.hadamard_rotation

cdef int prepare_hadamard(Context context, Node* node) except -1:
    cdef int32_t* size
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if x.type != FLOAT32 and x.type != INT32:
        raise ValueError(f"input_tensor->type == kTfLiteFloat32 was not true: {type_name(x.type)}")
    size = <int32_t*>context.persistent(sizeof(int32_t))
    size[0] = <int32_t>whole(options_of(node), "hadamard_size")
    context.set_shape(y, y.rank, y.dims)
    if size[0] < 1 or x.rank < 2 or x.bytes > 0 and x.bytes != <size_t>bytes_of(y.type, y.rank, y.dims):
        raise OwnRefusalError(f"aeq.hadamard_rotation: runs of {size[0]} values in {shape_of(x)}, output {shape_of(y)}")
    node.data = size
    node.invoke = rotate
    return 0


cdef int rotate(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t n = (<const int32_t*>node.data)[0]
    cdef int64_t runs
    cdef int64_t i
    if x.rank == 3:
        runs = <int64_t>x.dims[0] * x.dims[1] * (x.dims[2] // n)
    else:
        runs = <int64_t>x.dims[0] * (x.dims[1] // n)
    if x.bytes == 0:
        memset(y, 0, context.output(node, 0).bytes)
        return 0
    runs = min(runs, <int64_t>x.bytes // (4 * n)) if is_power_of_two(n) else 0
    for i in range(runs):
        hadamard(<const float*>x.data + i * n, y + i * n, n)
    copy_bytes(y + runs * n, <const float*>x.data + runs * n, x.bytes - 4 * n * runs)
    return 0


OPERATORS = {
    "RFFT2D": register(prepare_rfft2d, version=1, reference_version=1),
}
CUSTOM_OPERATORS = {
    "AudioSpectrogram": register(prepare_spectrogram, version=1),
    "Mfcc": register(prepare_mfcc, version=1),
    "aeq.hadamard_rotation": register(prepare_hadamard, version=1, reference_version=0),
}
