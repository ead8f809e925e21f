# tflm_cy: again=avx2
"""SOFTMAX and LOG_SOFTMAX over the last axis.

SOFTMAX: float32; int8 -> int8 (output scale 1/256, zero point -128), uint8 -> uint8, int8 or uint8 -> int16; int16 -> int16 (scale 1/32768).
LOG_SOFTMAX: float32; int8, uint8 (output scale 1/16, zero point 127 or 255).

Where TensorFlow ends the process we go on or raise: a step of the input below 2^-26 is refused, and more than 511 equal maxima in an 8-bit
row give the type's lowest value.

Source: LiteRT:tflite/kernels/activations.cc.
"""
from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

from tflm_cy.arithmetic.copy_runs cimport fill
from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.lookup cimport fill_16
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.optimized.softmax cimport (
    SHORT_ROW,
    fill_exponentials,
    log_softmax_row_eigen,
    log_softmax_short_rows_eigen,
    log_softmax_rows_table,
    softmax_row_eigen,
    softmax_short_rows_eigen,
    softmax_rows_table,
    tasks_of,
)
from tflm_cy.arithmetic.optimized.softmax_neon cimport fill_exponentials_16, softmax_rows_16
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.softmax cimport (
    ExpTable,
    LogRange,
    Tables16,
    fill_exp_table,
    fill_tables16,
    log_softmax_row_8,
    log_softmax_row_f32,
    softmax_row_8,
    softmax_row_f32,
    softmax_row_s16,
)
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, WorkFunction, position_space, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, UINT8, Tensor, count_range, type_name, type_size
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals
from tflm_cy.schema.option_slots cimport SOFTMAX_BETA
from tflm_cy.schema.table cimport table_f32
from tflm_cy.simd.table cimport kernels, row_kernels

from tflm_cy.graph.refusal import LateRefusalError

cdef enum:
    TOGETHER = 1024              # values of short rows whose exponentials are computed at once

cdef struct Softmax:
    int64_t rows
    int64_t depth
    float beta
    LogRange back                # LOG_SOFTMAX on 8 bit
    ExpTable exps                # 8 bit
    Tables16 tables              # int16
    float exponentials[256]      # 8 bit, optimized arithmetic
    uint16_t exponentials_16[256]
    const RowKernels* fast       # float32, optimized arithmetic
    UnaryKernel lookup           # 8 bit, optimized arithmetic
    WorkFunction work
    WorkFunction any_row         # of rows that are alike


cdef Softmax* prepare_shapes(Context context, Node* node) except NULL:
    cdef Tensor* x
    cdef Softmax* s
    expect_arity(context, node, 1, 1)
    x = context.input(node, 0)
    if x.rank < 1:
        raise ValueError("NumDimensions(input) >= 1 was not true.")
    s = <Softmax*>context.persistent(sizeof(Softmax))
    s.depth = x.dims[x.rank - 1]
    s.rows = count_range(x, 0, x.rank - 1) if s.depth else 0
    context.set_shape(context.output(node, 0), x.rank, x.dims)
    s.fast = row_kernels()
    node.data = s
    return s


cdef int prepare_softmax(Context context, Node* node) except -1:
    cdef Softmax* s = prepare_shapes(context, node)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Multiplier m
    cdef WorkFunction work
    s.beta = table_f32(node.options, SOFTMAX_BETA, 0)
    if x.type == FLOAT32 and y.type == FLOAT32:
        if node.arithmetic == OPTIMIZED:
            return share_rows(context, node, softmax_f32_optimized, 0.5)
        return share_rows(context, node, softmax_f32, 5)
    if x.type == INT16 and y.type == INT16:
        expect_output(y, 1.0 / 32768, 0.001 / 32768, 0)
        if x.zero_point != 0:
            raise ValueError(f"input->params.zero_point != 0 ({x.zero_point} != 0)")
        if x.rank > 4 and node.arithmetic != MICRO:
            raise LateRefusalError("Only 1D, 2D, 3D and 4D tensors supported for int16 input with int16 output")
        m = quantize_multiplier(<double><float>(x.scale * s.beta) / (10.0 / 65535.0))
        s.tables.value, s.tables.shift = m.value, m.shift
        fill_tables16(&s.tables)
        if node.arithmetic == MICRO:           # there the second table is made in float32
            fill_16(s.tables.inverse, inverse_f32, 0, <float>(1.0 / 65535), -32768, <float>(2.0 / 65535), 0)
        return share_integers(context, node, softmax_s16, 3)
    if x.type == INT8 and y.type == INT8:
        expect_output(y, 1.0 / 256, 0.001 / 256, -128)
        work = softmax_s8
    elif x.type == UINT8 and y.type == UINT8:
        work = softmax_u8
    elif x.type == INT8 and y.type == INT16:
        work = softmax_s8_s16
    elif x.type == UINT8 and y.type == INT16:
        work = softmax_u8_s16
    elif x.type == INT8 or x.type == UINT8:
        name = "int8_t" if x.type == INT8 else "uint8_t"
        raise LateRefusalError(f"Only {name} and int16_t outputs are supported with {name} inputs currently, got {type_name(y.type)}.")
    elif x.type == FLOAT32 or x.type == INT16:     # whose outputs TensorFlow does not look at
        raise ValueError(f"SOFTMAX: an output of {type_name(y.type)} for an input of {type_name(x.type)}")
    else:
        raise LateRefusalError(f"Only float32, uint8_t, Int8_t, Int16_t are supported currently, got {type_name(x.type)}.")
    if node.arithmetic == OPTIMIZED:
        s.lookup = kernels().bytes.lookup
        fill_exponentials(s.exponentials, x.scale, s.beta)
        fill_exponentials_16(s.exponentials_16, x.scale, s.beta)
        return share_integers(context, node, softmax_optimized_16 if AARCH64 and x.type == y.type else softmax_optimized, 1)
    if not fill_exp_table(&s.exps, <double>s.beta * x.scale):
        raise ValueError(f"SOFTMAX: beta * input scale = {s.beta * x.scale} is too small for its fixed point")
    return share_integers(context, node, work, 5)


cdef float inverse_f32(float x, float parameter) noexcept nogil:
    return <float>1.0 / (<float>1.0 + x)


cdef int prepare_log_softmax(Context context, Node* node) except -1:
    cdef Softmax* s = prepare_shapes(context, node)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Multiplier m, back
    if x.type != y.type:
        raise ValueError(f"input->type != output->type ({type_name(x.type)} != {type_name(y.type)})")
    if x.type == FLOAT32:
        if node.arithmetic == OPTIMIZED:
            return share_rows(context, node, log_softmax_f32_optimized, 0.5)
        return share_rows(context, node, log_softmax_f32, 5)
    if x.type != INT8 and x.type != UINT8:
        raise LateRefusalError(f"Only float32, uint8 and int8 are supported currently, got {type_name(x.type)}.")
    expect_output(y, 16.0 / 256, 0, 127 if x.type == INT8 else 255)
    if node.arithmetic == OPTIMIZED:
        s.lookup = kernels().bytes.lookup
        fill_exponentials(s.exponentials, x.scale, 1)
        return share_rows(context, node, log_softmax_optimized, 1)
    if not fill_exp_table(&s.exps, <double>x.scale):
        raise ValueError(f"LOG_SOFTMAX: input scale = {x.scale} is too small for its fixed point")
    m = quantize_multiplier(min(<double>x.scale * (1 << 26), 2147483647.0))
    back = quantize_multiplier(<double>(<int64_t>1 << (31 - m.shift)) / <double>m.value)
    if back.shift > 0:
        raise ValueError(f"LOG_SOFTMAX: input scale = {x.scale} is too small for its fixed point")
    s.back.value, s.back.right_shift = back.value, -back.shift
    return share_rows(context, node, log_softmax_s8 if x.type == INT8 else log_softmax_u8, 3)


cdef int expect_output(const Tensor* y, double scale, double tolerance, int32_t zero_point) except -1:
    if y.zero_point != zero_point:
        raise ValueError(f"output->params.zero_point != {zero_point} ({y.zero_point} != {zero_point})")
    if fabs(y.scale - scale) > tolerance or (tolerance == 0 and y.scale != scale):         # NaN is near, but equal to nothing
        raise ValueError(f"output->params.scale not near {scale} ({y.scale})")
    return 0


cdef int share_integers(Context context, Node* node, WorkFunction work, double time) except -1:
    """SOFTMAX: of rows of single integers all are alike."""
    cdef Softmax* s = <Softmax*>node.data
    if s.depth != 1:
        return share_rows(context, node, work, time)
    s.any_row = work
    return share_rows(context, node, rows_of_one, 0.1)


# ---- how rows are computed: ranges of them, which threads share
cdef int share_rows(Context context, Node* node, WorkFunction work, double time) except -1:
    """time: nanoseconds a value."""
    cdef Softmax* s = <Softmax*>node.data
    s.work = work
    node.invoke = all_rows
    return context.parallelize(node, work, position_space(s.rows, 1, 1), time * s.rows * s.depth)


cdef int all_rows(Context context, Node* node) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    s.work(context, node, 0, s.rows, 0)
    return 0


cdef void rows_of_one(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t size = type_size(y.type)
    cdef char* row = <char*>y.data + first * size
    if first < end:
        (<Softmax*>node.data).any_row(context, node, first, first + 1, worker)
        fill(row + size, (end - first - 1) * size, row, size)


cdef void softmax_f32(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_f32(x + row * s.depth, y + row * s.depth, s.depth, s.beta)


cdef void softmax_f32_optimized(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float[TOGETHER] tops
    cdef int64_t own = s.rows / tasks_of(s.rows, context.num_threads) if AARCH64 else s.rows
    cdef int64_t row = first
    cdef int64_t count
    cdef unsigned long long mode = 0
    while not AARCH64 and s.fast != NULL and 0 < s.depth < SHORT_ROW and row < end:
        count = min(end - row, TOGETHER / s.depth)
        softmax_short_rows_eigen(x + row * s.depth, y + row * s.depth, row, count, s.depth, s.beta, s.fast, tops)
        row += count
    for row in range(row, end):
        if row >= own:
            mode = flush_denormals()
        softmax_row_eigen(x + row * s.depth, y + row * s.depth, row, s.rows, s.depth, s.beta, context.num_threads, s.fast)
        if row >= own:
            restore_denormals(mode)


cdef void softmax_optimized(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """8-bit inputs, 8- and 16-bit outputs."""
    cdef Softmax* s = <Softmax*>node.data
    cdef Tensor* t = context.input(node, 0)
    cdef Tensor* out = context.output(node, 0)
    cdef const char* x = <const char*>t.data + first * s.depth
    cdef char* y = <char*>out.data + first * s.depth * (2 if out.type == INT16 else 1)
    if t.type == INT8 and out.type == INT8:
        softmax_rows_table(s.exponentials, <const int8_t*>x, <int8_t*>y, end - first, s.depth, out.scale, out.zero_point, s.lookup)
    elif t.type == UINT8 and out.type == UINT8:
        softmax_rows_table(s.exponentials, <const uint8_t*>x, <uint8_t*>y, end - first, s.depth, out.scale, out.zero_point, s.lookup)
    elif t.type == INT8:
        softmax_rows_table(s.exponentials, <const int8_t*>x, <int16_t*>y, end - first, s.depth, out.scale, out.zero_point, s.lookup)
    else:
        softmax_rows_table(s.exponentials, <const uint8_t*>x, <int16_t*>y, end - first, s.depth, out.scale, out.zero_point, s.lookup)


cdef void softmax_optimized_16(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """8-bit inputs, 8-bit outputs."""
    cdef Softmax* s = <Softmax*>node.data
    cdef Tensor* out = context.output(node, 0)
    cdef const char* x = <const char*>context.input(node, 0).data + first * s.depth
    cdef char* y = <char*>out.data + first * s.depth
    if out.type == INT8:
        softmax_rows_16(s.exponentials_16, <const int8_t*>x, <int8_t*>y, end - first, s.depth, out.scale, out.zero_point)
    else:
        softmax_rows_16(s.exponentials_16, <const uint8_t*>x, <uint8_t*>y, end - first, s.depth, out.scale, out.zero_point)


cdef void log_softmax_f32_optimized(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float[TOGETHER] tops
    cdef int64_t row = first
    cdef int64_t count
    while not AARCH64 and s.fast != NULL and 8 <= s.depth < SHORT_ROW and row < end:
        count = min(end - row, TOGETHER / s.depth)
        log_softmax_short_rows_eigen(x + row * s.depth, y + row * s.depth, row, count, s.depth, s.fast, tops)
        row += count
    for row in range(row, end):
        log_softmax_row_eigen(x + row * s.depth, y + row * s.depth, row, s.depth, s.fast)


cdef void log_softmax_optimized(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef Tensor* t = context.input(node, 0)
    cdef Tensor* out = context.output(node, 0)
    cdef const char* x = <const char*>t.data + first * s.depth
    cdef char* y = <char*>out.data + first * s.depth
    if t.type == INT8:
        log_softmax_rows_table(
            s.exponentials, <const int8_t*>x, <int8_t*>y, end - first, s.depth, t.scale, out.scale, out.zero_point, s.lookup)
    else:
        log_softmax_rows_table(
            s.exponentials, <const uint8_t*>x, <uint8_t*>y, end - first, s.depth, t.scale, out.scale, out.zero_point, s.lookup)


cdef void softmax_s8(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const int8_t* x = <const int8_t*>context.input(node, 0).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_8(&s.exps, x + row * s.depth, y + row * s.depth, s.depth)


cdef void softmax_u8(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const uint8_t* x = <const uint8_t*>context.input(node, 0).data
    cdef uint8_t* y = <uint8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_8(&s.exps, x + row * s.depth, y + row * s.depth, s.depth)


cdef void softmax_s8_s16(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const int8_t* x = <const int8_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_8(&s.exps, x + row * s.depth, y + row * s.depth, s.depth)


cdef void softmax_u8_s16(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const uint8_t* x = <const uint8_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_8(&s.exps, x + row * s.depth, y + row * s.depth, s.depth)


cdef void softmax_s16(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        softmax_row_s16(&s.tables, x + row * s.depth, y + row * s.depth, s.depth)


cdef void log_softmax_f32(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        log_softmax_row_f32(x + row * s.depth, y + row * s.depth, s.depth)


cdef void log_softmax_s8(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const int8_t* x = <const int8_t*>context.input(node, 0).data
    cdef int8_t* y = <int8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        log_softmax_row_8(&s.exps, s.back, x + row * s.depth, y + row * s.depth, s.depth)


cdef void log_softmax_u8(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Softmax* s = <Softmax*>node.data
    cdef const uint8_t* x = <const uint8_t*>context.input(node, 0).data
    cdef uint8_t* y = <uint8_t*>context.output(node, 0).data
    cdef int64_t row
    for row in range(first, end):
        log_softmax_row_8(&s.exps, s.back, x + row * s.depth, y + row * s.depth, s.depth)


OPERATORS = {
    "SOFTMAX": register(prepare_softmax, version=3, reference_version=3),
    "LOG_SOFTMAX": register(prepare_log_softmax, version=2, reference_version=2),
}
