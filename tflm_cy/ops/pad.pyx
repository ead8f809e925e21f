"""PAD, PADV2, MIRROR_PAD: a tensor with a border, of one value or mirrored. PAD up to 5 dimensions.

PAD and PADV2: float32, float16, bfloat16, int8, uint8, int16, int32, int64, bool. The border is the third input if
there is one (PADV2), else the output's zero point (quantized int8 and int16, uint8), else 0. Quantized value tensors
must share the output's parameters; TensorFlow notices, and leaves the output unwritten. Paddings: [rank, 2] of int8,
int16, int32 or int64, none negative. A scalar's output is dynamic.

MIRROR_PAD: float32, int8, uint8, int16, int32, int64. Paddings int32 or int64. What TensorFlow's index rule does
outside of its purpose:
  [0 1 2], reflect, after = 4   -> [0 1 2 1 0 0 0]: a longer border repeats element 0
  [0 1 2 3], before = -1        -> [1 2 3]: a negative border cuts off
A border before that is longer than the dimension (reflect: minus 1) reads outside and is refused.

Source: LiteRT:tflite/kernels/pad.cc, mirror_pad.cc.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.arithmetic.padding cimport Padding, pad_tensor, plan_padding
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, bytes_of, count,
    is_constant, type_name, type_size,
)
from tflm_cy.ops.operand cimport (
    accept, expect_arity_between, index_at, operand, result, want_bytes, want_index_type, want_one, want_same_quantization,
    want_symmetric, want_type_of,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport MIRROR_PAD_MODE
from tflm_cy.schema.table cimport table_i8

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    PAD_RANK = 5

cdef int prepare_pad(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int32_t zero_point = 0
    cdef int lowest
    cdef Padding* data
    expect_arity_between(context, node, 2, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* paddings = operand(context, node, 1)
    cdef Tensor* value = context.input(node, 2)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    if x.rank > PAD_RANK:
        raise ValueError(f"op_context.dims <= reference_ops::PadKernelMaxDimensionCount() was not true: {x.rank}")
    want_paddings(context, x, paddings, y, False)
    if value != NULL:
        want_type_of(value, x)
        want_one(value, "the padding value")
        if node.arithmetic == MICRO and (x.type == UINT8 or x.scale_count > 0) and x.type in (UINT8, INT8, INT16):
            want_same_quantization(value, y)
    elif x.type == UINT8 or (x.scale_count > 0 and x.type in (INT8, INT16)):
        zero_point = y.zero_point if y.scale_count == 1 else 0
        lowest = {UINT8: 0, INT8: -128, INT16: -32768}[x.type]
        if not lowest <= zero_point <= (32767 if x.type == INT16 else lowest + 255):
            raise ValueError(f"the zero point {zero_point} does not fit {type_name(x.type)}")
    data = <Padding*>context.persistent(sizeof(Padding))
    data.value_size = type_size(x.type)
    data.apart = node.arithmetic != MICRO
    memcpy(data.value, &zero_point, 4)
    node.data = data
    if x.rank == 0 or not is_constant(paddings):
        context.set_dynamic(y)
        node.invoke = pad_dynamic
    else:
        accept(plan_pad(data, x, paddings, dims))
        context.set_shape(y, x.rank, dims)
        node.invoke = pad
    if x.type not in (FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT16, INT32, INT64, BOOL):
        raise LateRefusalError(f"Type {type_name(x.type)} is currently not supported by Pad.")
    return 0


cdef int want_paddings(Context context, const Tensor* x, const Tensor* paddings, Tensor* y, bint mirrored) except -1:
    """PAD looks at the shape of paddings that are fed when it runs, MIRROR_PAD at the second dimension."""
    if paddings.type not in (INT32, INT64, INT8, INT16):
        raise ValueError(f"Padding type {type_name(paddings.type)} is currently not supported by Pad.")
    if paddings.rank != 2 or paddings.dims[0] != x.rank or paddings.dims[1] != 2:
        text = f"SizeOfDimension(op_context->paddings, 0) != op_context->dims: paddings must be [{x.rank}, 2]"
        if is_constant(paddings) or (mirrored and (paddings.rank == 0 or paddings.dims[0] != x.rank)):
            raise ValueError(text)
        context.set_dynamic(y)
        raise LateRefusalError(text)
    want_bytes(x)
    return 0


cdef const char* plan_pad(Padding* data, const Tensor* x, const Tensor* paddings, int32_t* dims) noexcept nogil:
    """The output's shape, and the dimensions that have a border."""
    cdef int64_t before, after
    cdef int d
    for d in range(x.rank):
        before = index_at(paddings.type, paddings.data, 2 * d)
        after = index_at(paddings.type, paddings.data, 2 * d + 1)
        if before < -0x80000000LL or before > 0x7FFFFFFF or after < -0x80000000LL or after > 0x7FFFFFFF:
            return b"INT64 padding overflow. Only support value between INT32_MIN and INT32_MAX."
        if before < 0 or after < 0:
            return b"Pad value has to be greater than equal to 0."
        if x.dims[d] + before + after > 0x7FFFFFFF:
            return b"Pad output dimension overflowed."
        dims[d] = <int32_t>(x.dims[d] + before + after)
    return plan_borders(data, x, paddings, dims)


cdef const char* plan_borders(
    Padding* data, const Tensor* x, const Tensor* paddings, const int32_t* dims,
) noexcept nogil:
    """Note every dimension's border."""
    cdef int d
    if bytes_of(x.type, x.rank, dims) < 0:
        return b"Pad output size overflowed."
    for d in range(x.rank):
        data.before[d] = index_at(paddings.type, paddings.data, 2 * d)
        data.after[d] = index_at(paddings.type, paddings.data, 2 * d + 1)
    plan_padding(data, x.rank, x.dims, type_size(x.type))
    return NULL


cdef int pad_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_pad(<Padding*>node.data, x, context.input(node, 1), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return pad(context, node)


cdef int pad(Context context, Node* node) noexcept nogil:
    cdef Padding* data = <Padding*>node.data
    cdef Tensor* value = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    if value != NULL:
        memcpy(data.value, value.data, data.value_size)
    if count(y) > 0:
        pad_tensor(data, <char*>y.data, <const char*>context.input(node, 0).data)
    return 0


cdef int prepare_mirror_pad(Context context, Node* node) except -1:
    cdef const char* refusal
    cdef int32_t[MAX_RANK] dims
    cdef Padding* data
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* paddings = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    want_index_type(paddings, "paddings of MIRROR_PAD")
    want_paddings(context, x, paddings, y, True)
    if x.type == UINT8 or x.type == INT8 or x.type == INT16:
        want_same_quantization(x, y)
        want_symmetric(x)
    data = <Padding*>context.persistent(sizeof(Padding))
    data.offset = 1 if node.options != NULL and table_i8(node.options, MIRROR_PAD_MODE, 0) == 0 else 0
    node.data = data
    if not is_constant(paddings):
        context.set_dynamic(y)
        node.invoke = mirror_pad_dynamic
    else:
        accept(mirrored_shape(x, paddings, dims))
        context.set_shape(y, x.rank, dims)
        refusal = plan_mirror_pad(data, x, paddings, dims)
        if refusal != NULL:
            raise OwnRefusalError(refusal.decode())
        node.invoke = mirror_pad
    if x.type not in (FLOAT32, INT32, UINT8, INT8, INT64, INT16):
        raise LateRefusalError(f"Type {type_name(x.type)} is not supported by MIRROR_PAD.")
    return 0


cdef const char* mirrored_shape(const Tensor* x, const Tensor* paddings, int32_t* dims) noexcept nogil:
    cdef int64_t before, after, size
    cdef int d
    for d in range(x.rank):
        before = index_at(paddings.type, paddings.data, 2 * d)
        after = index_at(paddings.type, paddings.data, 2 * d + 1)
        if before < -0x80000000LL or before > 0x7FFFFFFF or after < -0x80000000LL or after > 0x7FFFFFFF:
            return b"MirrorPad output dimension overflowed."
        size = x.dims[d] + before + after
        if size < 0 or size > 0x7FFFFFFF:
            return b"MirrorPad output dimension overflowed."
        dims[d] = <int32_t>size
    return NULL


cdef const char* plan_mirror_pad(Padding* data, const Tensor* x, const Tensor* paddings, int32_t* dims) noexcept nogil:
    cdef const char* refusal = mirrored_shape(x, paddings, dims)
    cdef int d
    if refusal != NULL:
        return refusal
    for d in range(x.rank):
        if (index_at(paddings.type, paddings.data, 2 * d) > max(0, x.dims[d] - data.offset)) or (x.dims[d] == 0 and dims[d] > 0):
            return b"MirrorPad paddings must be no greater than the input dimension size minus the mode offset."
    return plan_borders(data, x, paddings, dims)


cdef int mirror_pad_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_mirror_pad(<Padding*>node.data, x, context.input(node, 1), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return mirror_pad(context, node)


cdef int mirror_pad(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    if count(y) > 0:
        mirror_axis(<const Padding*>node.data, 0, <char*>y.data, <const char*>context.input(node, 0).data)
    return 0


cdef int64_t mirrored(const Padding* data, int d, int64_t i) noexcept nogil:
    """Index in the input of index i of the output, along one dimension."""
    cdef int64_t edge
    if i < data.before[d]:
        edge = data.before[d] + data.offset - 1
        return edge - min(i, edge - data.offset)
    i -= data.before[d]
    if i >= data.size[d]:
        edge = data.size[d] - 1 - data.offset
        return edge - min(i - data.size[d], edge)
    return i


cdef void mirror_axis(const Padding* data, int d, char* dst, const char* src) noexcept nogil:
    """Every index of the output from the one it mirrors."""
    cdef int64_t end, i
    if d == data.rank:
        if data.run > 0:
            copy_bytes(dst, src, data.run)
        return
    if d == data.rank - 1 and data.before[d] >= 0 and data.after[d] >= 0 and data.size[d] > 0:
        mirror_last_axis(data, d, dst, src)
        return
    end = data.before[d] + data.size[d] + data.after[d]
    for i in range(end):
        if d == data.rank - 1:
            copy_runs(dst + i * data.step[d], data.run, src + mirrored(data, d, i) * data.run, data.run, data.run, 1)
        else:
            mirror_axis(data, d + 1, dst + i * data.step[d], src + mirrored(data, d, i) * data.source[d])


cdef void mirror_last_axis(const Padding* data, int d, char* dst, const char* src) noexcept nogil:
    """`mirrored` of all indices, as runs; behind the last that is mirrored it is the first one again and again."""
    cdef int64_t run = data.run
    cdef int64_t before = data.before[d]
    cdef int64_t last = data.size[d] - 1 - data.offset
    cdef int64_t turned = min(data.after[d], max(last + 1, <int64_t>0))
    copy_runs(dst, run, src + (before + data.offset - 1) * run, -run, run, before)
    copy_bytes(dst + before * run, src, data.size[d] * run)
    dst += (before + data.size[d]) * run
    copy_runs(dst, run, src + last * run, -run, run, turned)
    copy_runs(dst + turned * run, run, src, 0, run, data.after[d] - turned)


OPERATORS = {
    "PAD": register(prepare_pad, version=5, reference_version=4),
    "PADV2": register(prepare_pad, version=5, reference_version=4),
    "MIRROR_PAD": register(prepare_mirror_pad, version=3, reference_version=3),
}
