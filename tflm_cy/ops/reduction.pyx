"""MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL over any set of axes, known before or while invoking.

| operator | types |
| --- | --- |
| MEAN | float32 int32 int64; int8 uint8 int16 rescaled |
| SUM | float32 int32 int64 bool; int8 uint8 int16 rescaled |
| REDUCE_PROD | float32 int32 int64 bool uint8; int8 int16, rescaled when quantized |
| REDUCE_MAX, REDUCE_MIN | float32 int32 int64 bool; int8 uint8 int16 of equal quantization |
| REDUCE_ANY, REDUCE_ALL | bool |

Copied from TensorFlow: the reference SUM of int8 reads and writes its bytes as uint8, so that [-1] with scale 1 and zero point 0 sums to
255, stored as -1, and [-1, -1] to 255 as well (clamped at 255). Its SUM of int16 writes only a part of the output; here it is the
rescaled sum. The mean of nothing is NaN in float32, 0 in integers.
A product of constants (at most 8 results) is known in prepare.
The optimized arithmetic has formulas of its own for MEAN of images and rows and for quantized SUM, starts floats' folds with their first
element, and refuses to fold booleans but by REDUCE_ANY and REDUCE_ALL.
An axis that is outside is refused in prepare; where dimensions are kept, in invoke; MEAN of float32, int32 and int64 gives zeros then.

Source: LiteRT:tflite/kernels/reduce.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.multipliers cimport Multiplier
from tflm_cy.arithmetic.optimized.reduction cimport mean_image_channels, mean_rows_f32, scaled_sums
from tflm_cy.arithmetic.reduction cimport (
    FOLD_ALL, FOLD_ANY, FOLD_MAX, FOLD_MIN, FOLD_PROD, FOLD_SUM, MAX_AXES, FoldShape, fold_shape, mean_multiplier,
    product_multiplier, product_narrow, requantize_sums,
)
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.arithmetic.truths cimport fold_odd_truths, has_odd_truths
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport BOOL, FLOAT32, INT8, INT16, INT32, INT64, UINT8, Tensor, count, is_constant, type_name
from tflm_cy.ops.float_folds cimport fold_by_threads, fold_floats, sum_floats
from tflm_cy.ops.integer_folds cimport fold_any_bits, fold_integers, fold_type, sum_integers, sum_words
from tflm_cy.ops.operand cimport computed_in_prepare, expect_arity
from tflm_cy.ops.reduced_dims cimport count_of, output_dims, read_axes
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport REDUCER_KEEP_DIMS
from tflm_cy.schema.table cimport table_bool
from tflm_cy.simd.folds cimport FOLD_OF_S64
from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.table cimport kernels, row_kernels

from tflm_cy.graph.refusal import LateRefusalError

cdef enum:
    MAX_COMPUTED = 8             # results of a product of constants that are computed in prepare

cdef struct Reduction:
    FoldShape shape
    int32_t folding
    const Kernels* fast
    const RowKernels* rows       # MEAN
    int32_t scratch              # handle of the accumulators, -1: the output accumulates
    bint keep_dims
    bint known_axes
    bint outside                 # an axis is, of dimensions that are kept: TensorFlow finds that when it reduces
    bint refused                 # the optimized kernels do not fold booleans but with REDUCE_ANY and REDUCE_ALL
    Multiplier m


cdef Reduction* prepare_shapes(Context context, Node* node, int accumulator_size) except NULL:
    """Checks, the output's shape when the axes are known, room for accumulators when the output cannot serve (size 0: it can)."""
    cdef Tensor* x
    cdef Tensor* axes
    cdef Tensor* y
    cdef Reduction* r
    cdef int64_t reduced
    cdef int32_t[MAX_AXES] dims
    cdef int32_t rank
    expect_arity(context, node, 2, 1)
    x, axes, y = context.input(node, 0), context.input(node, 1), context.output(node, 0)
    if axes.type != INT32:
        raise ValueError(f"op_context.axis->type != kTfLiteInt32 ({type_name(axes.type)} != INT32)")
    if x.type != y.type:
        raise ValueError(f"input->type != output->type ({type_name(x.type)} != {type_name(y.type)})")
    if x.type == INT16 and (x.zero_point != 0 or y.zero_point != 0):
        raise ValueError("op_context.input->params.zero_point != 0: int16 wants zero points of 0")
    r = <Reduction*>context.persistent(sizeof(Reduction))
    node.data = r
    r.keep_dims = table_bool(node.options, REDUCER_KEEP_DIMS, False)
    r.known_axes = is_constant(axes)
    r.fast = kernels()
    r.scratch = -1
    if not r.known_axes:
        context.set_dynamic(y)
        if accumulator_size:
            r.scratch = context.request_scratch(count(x) * accumulator_size + accumulator_size)
        return r
    reduced = read_axes(axes, x.rank)
    if reduced < 0:
        if not (r.keep_dims and node.arithmetic != MICRO):
            raise ValueError(f"Invalid axis index for an input of rank {x.rank}.")
        r.outside = True
        reduced = read_axes(axes, x.rank, True)
    rank = output_dims(x, <uint32_t>reduced, r.keep_dims, dims)
    if node.arithmetic != MICRO or count(y) != count_of(rank, dims):       # TFLM leaves the shape as it is
        context.set_shape(y, rank, dims)
    r.shape = fold_shape(x.rank, x.dims, <uint32_t>reduced)
    if r.outside and (context.operator_name(node) != "MEAN" or is_narrow(x.type)):
        raise LateRefusalError(f"Invalid axis index for an input of rank {x.rank}.")
    if accumulator_size:
        r.scratch = context.request_scratch(count(y) * accumulator_size)
    return r


cdef int resize_output(Context context, Node* node) noexcept nogil:
    """At the start of invoke: axes that only become known now."""
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef int32_t[MAX_AXES] dims
    cdef int64_t reduced
    cdef int32_t rank
    if r.known_axes:
        return 0
    reduced = read_axes(context.input(node, 1), x.rank)
    if reduced < 0:
        return context.fail(b"Invalid axis index.")
    r.shape = fold_shape(x.rank, x.dims, <uint32_t>reduced)
    rank = output_dims(x, <uint32_t>reduced, r.keep_dims, dims)
    return context.resize(context.output(node, 0), rank, dims)


cdef Multiplier rescale_of(const Tensor* x, const Tensor* y) noexcept nogil:
    return quantize_multiplier(<double>x.scale / <double>y.scale)


cdef int prepare_mean(Context context, Node* node) except -1:
    cdef Reduction* r
    cdef int type
    expect_arity(context, node, 2, 1)
    type = context.input(node, 0).type
    r = prepare_shapes(context, node, 8 if type == INT32 else 4 if is_narrow(type) else 0)
    r.m = rescale_of(context.input(node, 0), context.output(node, 0))
    r.rows = row_kernels()
    if type == FLOAT32:
        node.invoke = mean_f32_optimized if node.arithmetic == OPTIMIZED else mean_f32
    elif type == INT32:
        node.invoke = mean_s32
    elif type == INT64:
        node.invoke = mean_s64
    elif is_narrow(type):
        node.invoke = mean_quantized_optimized if node.arithmetic == OPTIMIZED else mean_quantized
    elif type == BOOL:                       # which prepare lets pass
        raise LateRefusalError("MEAN: type BOOL is not supported.")
    else:
        raise ValueError(f"MEAN: type {type_name(type)} is not supported.")
    if r.outside:
        node.invoke = mean_of_axes_outside
    return 0


cdef int mean_of_axes_outside(Context context, Node* node) noexcept nogil:
    """As the reference kernel, which does not look whether its axes were refused."""
    memset(context.output(node, 0).data, 0, context.output(node, 0).bytes)
    return 0


cdef int prepare_sum(Context context, Node* node) except -1:
    cdef Reduction* r
    cdef int type
    expect_arity(context, node, 2, 1)
    type = context.input(node, 0).type
    if not is_narrow(type):
        return prepare_folding(context, node, FOLD_SUM)
    r = prepare_shapes(context, node, 4)
    r.m = rescale_of(context.input(node, 0), context.output(node, 0))
    node.invoke = sum_quantized_optimized if node.arithmetic == OPTIMIZED else sum_quantized
    return 0


cdef int prepare_max(Context context, Node* node) except -1:
    return prepare_folding(context, node, FOLD_MAX)


cdef int prepare_min(Context context, Node* node) except -1:
    return prepare_folding(context, node, FOLD_MIN)


cdef int prepare_any(Context context, Node* node) except -1:
    expect_bool(context, node)
    return prepare_folding(context, node, FOLD_ANY)


cdef int prepare_all(Context context, Node* node) except -1:
    expect_bool(context, node)
    return prepare_folding(context, node, FOLD_ALL)


cdef int prepare_prod(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* y
    cdef Reduction* r
    expect_arity(context, node, 2, 1)
    x, y = context.input(node, 0), context.output(node, 0)
    if x.scale_count == 0:
        prepare_folding(context, node, FOLD_PROD)
        r = <Reduction*>node.data
        if r.known_axes and is_constant(x) and count(y) <= MAX_COMPUTED:
            context.set_computed(y)
            node.invoke(context, node)
            node.invoke = computed_in_prepare
        return 0
    if x.type not in (INT8, INT16, UINT8, INT32, INT64, FLOAT32, BOOL):
        raise ValueError(f"REDUCE_PROD: type {type_name(x.type)} is not supported.")
    r = prepare_shapes(context, node, 4)
    if x.type != INT8 and x.type != INT16:
        raise LateRefusalError(f"Unsupported quantized data type: {type_name(x.type)}")
    node.invoke = prod_quantized
    return 0


cdef int expect_bool(Context context, Node* node) except -1:
    expect_arity(context, node, 2, 1)
    if context.input(node, 0).type != BOOL:
        raise ValueError(f"input->type != kTfLiteBool ({type_name(context.input(node, 0).type)} != BOOL)")
    return 0


cdef int prepare_folding(Context context, Node* node, int folding) except -1:
    """Operators whose accumulators are of the input's type."""
    cdef Reduction* r = prepare_shapes(context, node, 0)
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if is_narrow(x.type) and (x.scale != y.scale or x.zero_point != y.zero_point):
        raise LateRefusalError("input->params.scale != op_context.output->params.scale: input and output must be quantized alike")
    if x.type == BOOL:
        r.folding = FOLD_ALL if folding in (FOLD_PROD, FOLD_MIN, FOLD_ALL) else FOLD_ANY
        r.refused = node.arithmetic == OPTIMIZED and folding != FOLD_ALL and folding != FOLD_ANY
    elif x.type in (FLOAT32, INT32, INT64) or is_narrow(x.type):
        r.folding = folding
    else:
        raise ValueError(f"{context.operator_name(node)}: type {type_name(x.type)} is not supported.")
    node.invoke = fold_elements_optimized if node.arithmetic == OPTIMIZED else fold_elements
    return 0


cdef inline bint is_narrow(int type) noexcept nogil:
    return type == INT8 or type == UINT8 or type == INT16


cdef int fold_elements(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if resize_output(context, node):
        return -1
    if x.type == FLOAT32:
        if node.arithmetic == MICRO and (r.folding == FOLD_MAX or r.folding == FOLD_MIN):
            r.shape.whole = False            # TFLM's begin with the type's limit, so that a first NaN is lost
        fold_by_threads(&r.fast.reductions, &r.shape, r.folding, context.num_threads, <const float*>x.data, <float*>y.data)
    elif r.shape.folded == 1 and r.shape.inputs and x.type != BOOL:
        copy_bytes(y.data, x.data, y.bytes)
    elif x.type == BOOL and node.arithmetic != OPTIMIZED and has_odd_truths(x.data, r.shape.inputs):
        fold_odd_truths(r.folding, r.shape.whole and node.arithmetic != MICRO, &r.shape, <const uint8_t*>x.data, <uint8_t*>y.data)
    else:
        fold_type(&r.fast.folds, &r.shape, r.folding, x.type, x.data, y.data)
    return 0


cdef int fold_elements_optimized(Context context, Node* node) noexcept nogil:
    """Only floats tell where a fold begins. One of single values copies them: signalling NaN stay what they are, and truths."""
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if x.type != FLOAT32 and x.type != BOOL:
        return fold_elements(context, node)
    if resize_output(context, node):
        return -1
    if r.shape.folded == 1:
        copy_bytes(y.data, x.data, x.bytes)
    elif r.refused:
        return context.fail(b"booleans are reduced by REDUCE_ANY and REDUCE_ALL only (optimized_ops::ReduceGeneric was not true)")
    elif x.type == BOOL and r.folding == FOLD_ANY and r.shape.strides[r.shape.rank - 1] != 0:
        fold_any_bits(&r.fast.folds, &r.shape, <const uint8_t*>x.data, <uint8_t*>y.data)
    elif x.type == BOOL:
        fold_type(&r.fast.folds, &r.shape, r.folding, x.type, x.data, y.data)
    else:
        fold_floats(&r.fast.reductions, &r.shape, r.folding, True, <const float*>x.data, <float*>y.data)
    return 0


cdef int mean_f32_optimized(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y
    cdef int64_t i
    if resize_output(context, node):
        return -1
    y = <float*>context.output(node, 0).data
    if r.shape.folded == 1 and r.shape.inputs:
        copy_bytes(y, x, r.shape.inputs * sizeof(float))
        return 0
    if r.shape.inputs and r.shape.rank == 2 and r.shape.strides[1] == 0:
        mean_rows_f32(x, y, r.shape.dims[0], r.shape.dims[1], r.rows)
        return 0
    if r.shape.inputs == 0:
        return mean_f32(context, node)
    fold_floats(&r.fast.reductions, &r.shape, FOLD_SUM, True, x, y)
    for i in range(r.shape.outputs):
        y[i] = y[i] / <float>r.shape.folded
    return 0


cdef int mean_f32(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef float* y
    cdef int64_t i
    if resize_output(context, node):
        return -1
    y = <float*>context.output(node, 0).data
    for i in range(r.shape.outputs):
        y[i] = 0
    sum_floats(&r.fast.reductions, &r.shape, <const float*>context.input(node, 0).data, y)
    if r.shape.inputs == 0:
        for i in range(r.shape.outputs):
            (<uint32_t*>y)[i] = 0x7FC00000
        return 0
    for i in range(r.shape.outputs):
        y[i] = y[i] / <float>r.shape.folded
    return 0


cdef int mean_s32(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef int64_t* a
    cdef int32_t* y
    cdef int64_t i
    if resize_output(context, node):
        return -1
    if r.shape.inputs == 0:      # there may be more outputs than accumulators
        memset(context.output(node, 0).data, 0, context.output(node, 0).bytes)
        return 0
    a = <int64_t*>context.scratch(r.scratch)
    y = <int32_t*>context.output(node, 0).data
    if r.shape.folded == 1:
        copy_bytes(y, context.input(node, 0).data, r.shape.outputs * sizeof(int32_t))
        return 0
    memset(a, 0, r.shape.outputs * sizeof(int64_t))
    sum_words(&r.fast.folds, &r.shape, <const int32_t*>context.input(node, 0).data, a)
    for i in range(r.shape.outputs):
        y[i] = <int32_t>(a[i] / r.shape.folded)
    return 0


cdef int mean_s64(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef int64_t* y
    cdef int64_t i
    if resize_output(context, node):
        return -1
    y = <int64_t*>context.output(node, 0).data
    if r.shape.folded == 1 and r.shape.inputs:
        copy_bytes(y, context.input(node, 0).data, r.shape.outputs * sizeof(int64_t))
        return 0
    memset(y, 0, r.shape.outputs * sizeof(int64_t))
    if r.shape.inputs:
        fold_integers(&r.fast.folds, &r.shape, FOLD_SUM, FOLD_OF_S64, <const int64_t*>context.input(node, 0).data, y)
    for i in range(r.shape.outputs):
        y[i] = y[i] / r.shape.folded if r.shape.inputs else 0
    return 0


cdef int32_t* sums_of(Context context, Node* node, int type) noexcept nogil:
    """In scratch; the input's values taken for those of a type of the same size."""
    cdef Reduction* r = <Reduction*>node.data
    cdef const void* x = context.input(node, 0).data
    cdef int32_t* a = <int32_t*>context.scratch(r.scratch)
    cdef int64_t i
    if r.shape.folded == 1:
        for i in range(r.shape.outputs):
            a[i] = (<const uint8_t*>x)[i] if type == UINT8 else (<const int8_t*>x)[i] if type == INT8 else (<const int16_t*>x)[i]
        return a
    memset(a, 0, r.shape.outputs * sizeof(int32_t))
    if type == UINT8:
        sum_integers(r.fast, &r.shape, <const uint8_t*>x, a)
    elif type == INT8:
        sum_integers(r.fast, &r.shape, <const int8_t*>x, a)
    else:
        sum_integers(r.fast, &r.shape, <const int16_t*>x, a)
    return a


cdef int mean_quantized(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    if resize_output(context, node):
        return -1
    if r.shape.inputs == 0:
        memset(context.output(node, 0).data, 0, context.output(node, 0).bytes)
        return 0
    return rescaled_sums(context, node, context.input(node, 0).type, mean_multiplier(r.m, r.shape.folded))


cdef int mean_quantized_optimized(Context context, Node* node) noexcept nogil:
    """Over height and width of images whose rank stays 4, the axes counted from the front; else as the reference."""
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Tensor* axes = context.input(node, 1)
    cdef const int32_t* axis = <const int32_t*>axes.data
    cdef int32_t* a
    cdef int64_t channels
    if resize_output(context, node):
        return -1
    if x.type == INT16 or x.rank != 4 or not r.keep_dims or r.shape.inputs == 0 or count(axes) != 2:
        return mean_quantized(context, node)
    if not (axis[0] == 1 and axis[1] == 2 or axis[0] == 2 and axis[1] == 1):
        return mean_quantized(context, node)
    a = sums_of(context, node, x.type)
    channels = x.dims[3]
    if x.type == UINT8:
        mean_image_channels(a, <uint8_t*>y.data, r.shape.outputs, channels, r.shape.folded, x.scale, x.zero_point, y.scale,
                            y.zero_point, context.num_threads)
    else:
        mean_image_channels(a, <int8_t*>y.data, r.shape.outputs, channels, r.shape.folded, x.scale, x.zero_point, y.scale,
                            y.zero_point, context.num_threads)
    return 0


cdef int sum_quantized_optimized(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef FoldShape* s = &r.shape
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t* a
    if resize_output(context, node):
        return -1
    if s.inputs == 0:
        memset(y.data, 0, y.bytes)
        return 0
    a = sums_of(context, node, x.type)
    if x.type == UINT8:
        scaled_sums(a, <uint8_t*>y.data, s.outputs, s.folded, x.scale, x.zero_point, y.scale, y.zero_point)
    elif x.type == INT8:
        scaled_sums(a, <int8_t*>y.data, s.outputs, s.folded, x.scale, x.zero_point, y.scale, y.zero_point)
    else:
        scaled_sums(a, <int16_t*>y.data, s.outputs, s.folded, x.scale, x.zero_point, y.scale, y.zero_point)
    return 0


cdef int sum_quantized(Context context, Node* node) noexcept nogil:
    """The reference kernel takes int8 for uint8, TFLM's does not."""
    cdef Reduction* r = <Reduction*>node.data
    cdef int type = context.input(node, 0).type
    if resize_output(context, node):
        return -1
    if r.shape.inputs == 0:
        memset(context.output(node, 0).data, 0, context.output(node, 0).bytes)
        return 0
    return rescaled_sums(context, node, UINT8 if type == INT8 and node.arithmetic != MICRO else type, r.m)


cdef int rescaled_sums(Context context, Node* node, int type, Multiplier m) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef FoldShape* s = &r.shape
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t* a = sums_of(context, node, type)
    if type == UINT8:
        requantize_sums(a, <uint8_t*>y.data, s.outputs, m, s.folded, x.zero_point, y.zero_point)
    elif type == INT8:
        requantize_sums(a, <int8_t*>y.data, s.outputs, m, s.folded, x.zero_point, y.zero_point)
    else:
        requantize_sums(a, <int16_t*>y.data, s.outputs, m, s.folded, x.zero_point, y.zero_point)
    return 0


cdef int prod_quantized(Context context, Node* node) noexcept nogil:
    cdef Reduction* r = <Reduction*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t* a
    cdef Multiplier m
    if resize_output(context, node):
        return -1
    if r.shape.inputs == 0:
        memset(y.data, 0, y.bytes)
        return 0
    a = <int32_t*>context.scratch(r.scratch)
    m = product_multiplier(x.scale, y.scale, r.shape.folded)
    if x.type == INT8:
        product_narrow(&r.shape, <const int8_t*>x.data, <int8_t*>y.data, a, m, x.zero_point, y.zero_point)
    else:
        product_narrow(&r.shape, <const int16_t*>x.data, <int16_t*>y.data, a, m, x.zero_point, y.zero_point)
    return 0


OPERATORS = {
    "MEAN": register(prepare_mean, version=3, reference_version=3),
    "SUM": register(prepare_sum, version=2, reference_version=2),
    "REDUCE_PROD": register(prepare_prod, version=2, reference_version=2),
    "REDUCE_MAX": register(prepare_max, version=3, reference_version=3),
    "REDUCE_MIN": register(prepare_min, version=3, reference_version=3),
    "REDUCE_ANY": register(prepare_any, version=1, reference_version=1),
    "REDUCE_ALL": register(prepare_all, version=1, reference_version=1),
}
