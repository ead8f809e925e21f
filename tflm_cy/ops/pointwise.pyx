"""Rarer functions of each value: SIGN ATAN2 BITWISE_XOR RIGHT_SHIFT BITCAST BUCKETIZE FAKE_QUANT ADD_N.

SIGN: float32, float64, int32. ATAN2: float16, float32, float64, of shapes with as many values.
BITWISE_XOR and RIGHT_SHIFT: whole numbers of 8, 16 and 32 bits, broadcast. BITCAST: any type of whole bytes; a wider one
takes the last dimension away, a narrower one adds one.

BUCKETIZE: float32, float64, int32, int64 to int32. FAKE_QUANT: float32.
ADD_N: float32, int32, by TFLM's rules int8; with several threads asked TensorFlow adds up groups of inputs first, so float sums depend on
their number; on aarch64 threads but the caller's take denormals for zeros.

Source: LiteRT:tflite/kernels/{sign,atan2,bitwise_xor,right_shift,bitcast,bucketize,fake_quant,add_n}.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, RangeF, activation_range_f32, wrap32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.micro.sums8 cimport Sums8, coarse, fine, sums8
from tflm_cy.arithmetic.pointwise cimport (
    Buckets, FakeQuantization, accumulate_f32, accumulate_u32, accumulate_unbounded_f32, atan2_f32, atan2_f64, atan2_half, bucketize,
    fake_quantization, fake_quantize, shift_right, sign_of, xor_bits,
)
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, UINT16, UINT32,
    count, same_shape, type_name,
)
from tflm_cy.ops.elementwise cimport Binary, Unary, prepare_binary, prepare_unary
from tflm_cy.ops.operand cimport adopt_type, check_same_type, expect_arity_between, operand, result, want_bytes, want_element, want_type_of
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport BUCKETIZE_BOUNDARIES, FAKE_QUANT_MAX, FAKE_QUANT_MIN, FAKE_QUANT_NARROW_RANGE, FAKE_QUANT_NUM_BITS
from tflm_cy.schema.table cimport Vector, load_u32, table_bool, table_f32, table_i32, table_vector
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef struct Sum:
    int32_t groups
    int32_t scratch
    int64_t count
    bint unbounded               # TFLM's sums of floats; others stay within the finite numbers
    BinaryKernel add             # of floats, with these limits; NULL: no vector kernel
    RangeF limits


cdef int unsupported(const Tensor* x, str name) except -1:
    raise ValueError(f"Type {type_name(x.type)} is not supported by {name}.")


cdef int prepare_sign(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Unary* op = prepare_unary(context, node)
    want_type_of(context.output(node, 0), x)
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>sign_of[float]
    elif x.type == FLOAT64:
        op.kernel = <UnaryKernel>sign_of[double]
    elif x.type == INT32:
        op.kernel = <UnaryKernel>sign_of[int32_t]
    else:
        raise LateRefusalError(f"Unsupported datatype for sign output: {type_name(x.type)}")
    return 0


cdef int prepare_atan2(Context context, Node* node) except -1:
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* b = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if a.rank != b.rank:
        raise ValueError("ATAN2 wants two inputs of one shape")
    want_type_of(b, a)
    want_type_of(y, a)
    if a.type != FLOAT32 and a.type != FLOAT64 and a.type != FLOAT16:
        unsupported(a, "atan2")
    context.set_shape(y, a.rank, a.dims)
    if count(b) < count(a):
        raise OwnRefusalError("ATAN2 wants two inputs of one shape")
    node.invoke = angle
    return 0


cdef int angle(Context context, Node* node) noexcept nogil:
    cdef const Tensor* a = context.input(node, 0)
    cdef const void* b = context.input(node, 1).data
    cdef void* y = context.output(node, 0).data
    if a.type == FLOAT32:
        atan2_f32(<const float*>a.data, <const float*>b, <float*>y, count(a))
    elif a.type == FLOAT16:
        atan2_half(<const uint16_t*>a.data, <const uint16_t*>b, <uint16_t*>y, count(a))
    else:
        atan2_f64(<const double*>a.data, <const double*>b, <double*>y, count(a))
    return 0


# ---- bits
cdef Binary* prepare_bits(Context context, Node* node, str name) except NULL:
    cdef Tensor* a = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Binary* op
    check_same_type(a, operand(context, node, 1), name)
    if y != NULL:
        adopt_type(y, a.type)
    op = prepare_binary(context, node, name)
    if a.type not in (INT8, UINT8, INT16, UINT16, INT32, UINT32):
        raise LateRefusalError(
            f"{name.title().replace('_', '')} currently only supports 8-bit/16-bit/32-bit integer/unsigned integer, got {type_name(a.type)}")
    return op


cdef int prepare_bitwise_xor(Context context, Node* node) except -1:
    cdef Binary* op = prepare_bits(context, node, "BITWISE_XOR")
    if op.a_size == 1:
        op.kernel = <BinaryKernel>xor_bits[uint8_t]
    elif op.a_size == 2:
        op.kernel = <BinaryKernel>xor_bits[uint16_t]
    else:
        op.kernel = <BinaryKernel>xor_bits[uint32_t]
    return 0


cdef int prepare_right_shift(Context context, Node* node) except -1:
    cdef Binary* op = prepare_bits(context, node, "RIGHT_SHIFT")
    cdef int type = context.input(node, 0).type
    if type == INT8:
        op.kernel = <BinaryKernel>shift_right[int8_t]
    elif type == UINT8:
        op.kernel = <BinaryKernel>shift_right[uint8_t]
    elif type == INT16:
        op.kernel = <BinaryKernel>shift_right[int16_t]
    elif type == UINT16:
        op.kernel = <BinaryKernel>shift_right[uint16_t]
    elif type == INT32:
        op.kernel = <BinaryKernel>shift_right[int32_t]
    else:
        op.kernel = <BinaryKernel>shift_right[uint32_t]
    return 0


cdef int prepare_bitcast(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK + 1] dims
    cdef int64_t from_size, to_size
    cdef int rank, d
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    from_size = want_element(x)
    to_size = want_element(y)
    want_bytes(x)
    rank = x.rank
    for d in range(rank):
        dims[d] = x.dims[d]
    if from_size > to_size:
        dims[rank] = <int32_t>(from_size // to_size)
        rank += 1
        if rank > MAX_RANK:
            raise ValueError(f"BITCAST: rank {rank} is too high")
    elif from_size < to_size:
        if rank == 0 or dims[rank - 1] != to_size // from_size:
            raise ValueError(
                f"BITCAST: the last dimension must be {to_size // from_size}: input->dims->data[dims - 1] != output_type_size / "
                "input_type_size")
        rank -= 1
    context.set_shape(y, rank, dims)
    node.invoke = bitcast
    return 0


cdef int bitcast(Context context, Node* node) noexcept nogil:
    cdef const Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0:
        copy_bytes(y.data, x.data, y.bytes)
    return 0


# ---- buckets, fake quantization
cdef int prepare_bucketize(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Vector given = table_vector(node.options, BUCKETIZE_BOUNDARIES)
    cdef Buckets* buckets
    cdef float* values
    cdef uint32_t bits
    cdef uint32_t i
    if given.data == NULL and node.options != NULL:
        raise ValueError("boundaries array not provided for operation 'bucketize'.")
    if y != NULL:
        adopt_type(y, INT32)
    cdef Unary* op = prepare_unary(context, node)
    buckets = <Buckets*>context.persistent(sizeof(Buckets))
    values = <float*>context.persistent(4 * <size_t>given.length + 4)
    for i in range(given.length):
        bits = load_u32(given.data + 4 * <size_t>i)
        memcpy(values + i, &bits, 4)
        buckets.has_nan = buckets.has_nan or values[i] != values[i]
        if i > 0 and values[i] < values[i - 1]:
            raise ValueError("Expected sorted boundaries")
    buckets.boundaries = values
    buckets.count = given.length
    op.params = buckets
    if x.type == FLOAT32:
        op.kernel = <UnaryKernel>bucketize[float]
    elif x.type == FLOAT64:
        op.kernel = <UnaryKernel>bucketize[double]
    elif x.type == INT32:
        op.kernel = <UnaryKernel>bucketize[int32_t]
    elif x.type == INT64:
        op.kernel = <UnaryKernel>bucketize[int64_t]
    else:
        raise ValueError(f"Type '{type_name(x.type)}' is not supported by bucketize.")
    return 0


cdef int prepare_fake_quant(Context context, Node* node) except -1:
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int bits = table_i32(node.options, FAKE_QUANT_NUM_BITS, 0)
    cdef FakeQuantization* q
    if table_bool(node.options, FAKE_QUANT_NARROW_RANGE, False):
        raise ValueError("narrow_range FakeQuant is not currently supported at runtime.")
    if x.type != FLOAT32:
        unsupported(x, "FAKE_QUANT")
    if not 0 <= bits <= 30:
        raise ValueError(f"FAKE_QUANT: num_bits {bits} is out of range")
    if y != NULL:
        adopt_type(y, x.type)
    cdef Unary* op = prepare_unary(context, node)
    q = <FakeQuantization*>context.persistent(sizeof(FakeQuantization))
    q[0] = fake_quantization(table_f32(node.options, FAKE_QUANT_MIN, 0), table_f32(node.options, FAKE_QUANT_MAX, 0), bits)
    op.params = q
    op.kernel = <UnaryKernel>fake_quantize
    return 0


# ---- sums of many
cdef int prepare_add_n(Context context, Node* node) except -1:
    cdef Sum* op
    cdef Tensor* other
    cdef int i
    expect_arity_between(context, node, 2, 0x7FFFFFFF, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    for i in range(1, node.input_count):
        other = operand(context, node, i)
        want_type_of(other, x)
        if not same_shape(other, x):
            raise ValueError("ADD_N: HaveSameShapes(input1, input) was not true.")
    if node.arithmetic == MICRO and x.type == INT8:
        return prepare_add_n_8(context, node)
    adopt_type(y, x.type)
    context.set_shape(y, x.rank, x.dims)
    op = <Sum*>context.persistent(sizeof(Sum))
    op.groups = min(max(1, node.input_count // 2), max(1, context.num_threads))
    op.scratch = context.request_scratch(4 * count(x) if op.groups > 1 else 0)
    op.count = count(x)
    op.unbounded = node.arithmetic == MICRO
    op.add = NULL if op.unbounded else kernels().float32.add
    op.limits = activation_range_f32(ACT_NONE)
    node.data = op
    node.invoke = add_n
    if x.type != FLOAT32 and x.type != INT32:
        raise LateRefusalError(f"AddN only supports FLOAT32|INT32 now, got {type_name(x.type)}.")
    return 0


cdef int prepare_add_n_8(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef Sums8* op = <Sums8*>context.persistent(sizeof(Sums8))
    op[0] = sums8(x.scale, x.zero_point, y.scale, y.zero_point)
    context.set_shape(y, x.rank, x.dims)
    node.data = op
    node.invoke = add_n_8
    return 0


cdef int add_n_8(Context context, Node* node) noexcept nogil:
    cdef const Sums8* op = <const Sums8*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef int64_t n = count(y)
    cdef int64_t k
    cdef int32_t total
    cdef int i
    for k in range(n):
        total = fine(op, 0)
        for i in range(node.input_count):
            total = wrap32(<int64_t>total + fine(op, (<const int8_t*>context.input(node, i).data)[k]))
        (<int8_t*>y.data)[k] = coarse(op, total)
    return 0


cdef void accumulate(int type, const Sum* op, const void* x, void* y, int64_t n) noexcept nogil:
    if type == FLOAT32 and op.unbounded:
        accumulate_unbounded_f32(<const float*>x, <float*>y, n)
    elif type == FLOAT32 and op.add != NULL:
        op.add(&op.limits, y, x, y, n)
    elif type == FLOAT32:
        accumulate_f32(<const float*>x, <float*>y, n)
    else:
        accumulate_u32(<const uint32_t*>x, <uint32_t*>y, n)


cdef int add_n(Context context, Node* node) noexcept nogil:
    cdef const Sum* op = <const Sum*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef void* total
    cdef unsigned long long mode = 0
    cdef int first = 0
    cdef int group, last, i
    if y.bytes == 0:
        return 0
    for group in range(op.groups):
        last = first + (node.input_count - first) // (op.groups - group)
        total = y.data if group == 0 else context.scratch(op.scratch)
        if AARCH64 and group > 0:
            mode = flush_denormals()
        if op.add != NULL and y.type == FLOAT32 and last - first > 1:
            op.add(&op.limits, context.input(node, first).data, context.input(node, first + 1).data, total, op.count)
            first += 1
        else:
            copy_bytes(total, context.input(node, first).data, y.bytes)
        for i in range(first + 1, last):
            accumulate(y.type, op, context.input(node, i).data, total, op.count)
        if AARCH64 and group > 0:
            restore_denormals(mode)
        if group > 0:
            accumulate(y.type, op, total, y.data, op.count)
        first = last
    return 0


OPERATORS = {
    "ADD_N": register(prepare_add_n, version=1, reference_version=1),
    "ATAN2": register(prepare_atan2, version=1, reference_version=1),
    "BITCAST": register(prepare_bitcast, version=1, reference_version=1),
    "BITWISE_XOR": register(prepare_bitwise_xor, version=1, reference_version=1),
    "BUCKETIZE": register(prepare_bucketize, version=1, reference_version=1),
    "FAKE_QUANT": register(prepare_fake_quant, version=2, reference_version=2),
    "RIGHT_SHIFT": register(prepare_right_shift, version=1, reference_version=1),
    "SIGN": register(prepare_sign, version=2, reference_version=2),
}
