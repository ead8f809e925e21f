"""FILL, ZEROS_LIKE, RANGE, ONE_HOT, MATRIX_DIAG, MATRIX_SET_DIAG: tensors written from a few values.

FILL: int8, int16, int32, int64, float16, float32, bool, string; dimensions int32 or int64.
ZEROS_LIKE: int32, int64, float32.

RANGE: int32, int64, float32; each value is the one before plus delta, rounded to float32 at every step;
known in prepare when all three inputs are constant.

ONE_HOT: float32, int32, int64, int8, uint8, bool; indices int32
or int64; an index outside of the depth gives a row of off values.

MATRIX_DIAG and MATRIX_SET_DIAG: float32, uint32, int8,
uint8, int16, int32, int64.

Dimensions or a depth that are not constant make the output dynamic.

Source: LiteRT:tflite/kernels/fill.cc, zeros_like.cc, range.cc, one_hot.cc, matrix_diag.cc, matrix_set_diag.cc.
"""
from libc.math cimport ceilf, fabsf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.copy_runs cimport copy_runs, fill
from tflm_cy.arithmetic.strings cimport (
    StringWriter, append_string, begin_strings, has_strings, string_length, strings_head,
)
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT16, FLOAT32, INT8, INT16, INT32, INT64, MAX_RANK, STRING, Tensor, UINT8, UINT32, bytes_of, count, count_range,
    is_constant, type_name, type_size,
)
from tflm_cy.ops.operand cimport (
    accept, adopt_type, computed_in_prepare, expect_arity_between, index_at, operand, result, want_bytes, want_index_type, want_one,
    want_same_quantization, want_symmetric, want_type_of,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport ONE_HOT_AXIS
from tflm_cy.schema.table cimport table_i32

from tflm_cy.graph.refusal import LateRefusalError

cdef extern from *:
    """
    #include "x86.h"
    /* A row for each depth: on where an index is that depth, else off. */
    #define TFLM_CY_MARKS(NAME, TYPE) \
      X86_TWICE( \
          NAME, (const int32_t *restrict indices, int64_t n, int32_t depth, TYPE on, TYPE off, TYPE *restrict y, int64_t row), \
          (indices, n, depth, on, off, y, row), { \
        for (int32_t d = 0; d < depth; d++, y += row) \
          for (int64_t i = 0; i < n; i++) y[i] = off ^ ((on ^ off) & (TYPE)-(int32_t)(indices[i] == d)); \
      })
    TFLM_CY_MARKS(tflm_cy_mark_8, uint8_t)
    TFLM_CY_MARKS(tflm_cy_mark_32, uint32_t)
    TFLM_CY_MARKS(tflm_cy_mark_64, uint64_t)
    """
    void mark_8 "tflm_cy_mark_8"(
        const int32_t* indices, int64_t n, int32_t depth, uint8_t on, uint8_t off, uint8_t* y, int64_t row) noexcept nogil
    void mark_32 "tflm_cy_mark_32"(
        const int32_t* indices, int64_t n, int32_t depth, uint32_t on, uint32_t off, uint32_t* y, int64_t row) noexcept nogil
    void mark_64 "tflm_cy_mark_64"(
        const int32_t* indices, int64_t n, int32_t depth, uint64_t on, uint64_t off, uint64_t* y, int64_t row) noexcept nogil

cdef enum:
    COMPARED = 8                 # ONE_HOT: the fewest indices of a row, and the most depths, that are compared
    INDEX_BLOCK = 256            # indices that are narrowed at once

ctypedef fused Index:
    int32_t
    int64_t

ctypedef fused Element:
    uint8_t
    uint32_t
    uint64_t


cdef int prepare_fill(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* shape = operand(context, node, 0)
    cdef Tensor* value = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_index_type(shape, "dims of FILL")
    if shape.rank != 1 or shape.dims[0] > MAX_RANK:
        raise ValueError(f"NumDimensions(dims) != 1, or more than {MAX_RANK} dimensions")
    if value.rank != 0:
        raise ValueError(f"NumDimensions(value) != 0: {value.rank}")
    adopt_type(y, value.type)
    want_same_quantization(y, value)
    want_symmetric(value)
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = fill_dynamic
    else:
        accept(read_dims(shape, dims))
        context.set_shape(y, shape.dims[0], dims)
        node.invoke = fill_strings if y.type == STRING else fill_value
    if value.type not in (INT8, INT16, INT32, INT64, FLOAT16, FLOAT32, BOOL, STRING):
        raise LateRefusalError(
            "Fill only currently supports int8, int16, int32, int64, float32, bool, string for input 1, "
            f"got {type_name(value.type)}.")
    return 0


cdef const char* read_dims(const Tensor* shape, int32_t* dims) noexcept nogil:
    cdef int64_t value
    cdef int d
    for d in range(shape.dims[0]):
        value = index_at(shape.type, shape.data, d)
        if value < 0 or value > 0x7FFFFFFF:
            return b"Fill dimensions must be >= 0 and fit 32 bits"
        dims[d] = <int32_t>value
    return NULL


cdef int fill_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* shape = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef const char* refusal = read_dims(shape, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(y, shape.dims[0], dims) != 0:
        return -1
    return fill_strings(context, node) if y.type == STRING else fill_value(context, node)


cdef int fill_value(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    fill(<char*>y.data, y.bytes, <const char*>context.input(node, 1).data, type_size(y.type))
    return 0


cdef int fill_strings(Context context, Node* node) noexcept nogil:
    cdef Tensor* value = context.input(node, 1)
    cdef Tensor* y = context.output(node, 0)
    cdef StringWriter writer
    cdef int64_t n = count(y)
    cdef int64_t total, _i
    if not has_strings(value.data, value.bytes, 1):
        return context.fail(b"the value of FILL holds no string")
    if bytes_of(UINT8, y.rank, y.dims) < 0 or n > 0x1FFFFFFF:
        return context.fail(b"a string tensor holds at most 2 GiB")
    total = strings_head(n) + n * string_length(value.data, 0)
    if total > 0x7FFFFFFF:
        return context.fail(b"a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        return -1
    begin_strings(&writer, y.data, <int32_t>n)
    for _i in range(n):
        append_string(&writer, value.data, 0)
    return 0


cdef int prepare_zeros_like(Context context, Node* node) except -1:
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    adopt_type(y, x.type)
    context.set_shape(y, x.rank, x.dims)
    node.invoke = zeros
    if x.type not in (INT64, INT32, FLOAT32) and not (x.type == INT8 and node.arithmetic == MICRO):
        raise LateRefusalError(f"ZerosLike only currently supports int64, int32, and float32, got {type_name(x.type)}.")
    return 0


cdef int zeros(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0:
        memset(y.data, 0, y.bytes)
    return 0


cdef int prepare_range(Context context, Node* node) except -1:
    cdef Tensor* t
    cdef int32_t length
    cdef int i
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* start = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if start.type != FLOAT32 and start.type != INT32 and start.type != INT64:
        raise ValueError(f"Unknown index output data type: {type_name(start.type)}")
    for i in range(3):
        t = operand(context, node, i)
        want_type_of(t, start)
        if t.rank != 0:
            raise ValueError(f"start, limit and delta of RANGE must be scalars: NumDimensions is {t.rank}, not 0")
    adopt_type(y, start.type)
    if is_constant(start) and is_constant(context.input(node, 1)) and is_constant(context.input(node, 2)):
        accept(range_length(start, context.input(node, 1), context.input(node, 2), &length))
        context.set_shape(y, 1, &length)
        context.set_computed(y)
        write_range(y, start, context.input(node, 2))
        node.invoke = computed_in_prepare
        return 0
    context.set_dynamic(y)
    node.invoke = range_dynamic
    return 0


cdef const char* range_length(
    const Tensor* start, const Tensor* limit, const Tensor* delta, int32_t* length,
) noexcept nogil:
    cdef float from_f, to_f, by_f
    cdef int64_t first, last, by
    cdef uint64_t distance, step
    if start.type == FLOAT32:
        memcpy(&from_f, start.data, 4)
        memcpy(&to_f, limit.data, 4)
        memcpy(&by_f, delta.data, 4)
        if not ((from_f >= to_f and by_f < 0) or (from_f <= to_f and by_f > 0)):
            return b"(start >= limit && delta < 0) || (start <= limit && delta > 0) was not true"
        by_f = ceilf(fabsf((to_f - from_f) / by_f))
        if not by_f < 2147483648.0:
            return b"the output of RANGE is too long"
        length[0] = <int32_t>by_f
        return NULL
    first = index_at(start.type, start.data, 0)
    last = index_at(limit.type, limit.data, 0)
    by = index_at(delta.type, delta.data, 0)
    if not ((first >= last and by < 0) or (first <= last and by > 0)):
        return b"(start >= limit && delta < 0) || (start <= limit && delta > 0) was not true"
    distance = <uint64_t>last - <uint64_t>first if last >= first else <uint64_t>first - <uint64_t>last
    step = <uint64_t>by if by > 0 else <uint64_t>0 - <uint64_t>by
    distance = distance // step + (1 if distance % step != 0 else 0)
    if distance > 0x7FFFFFFF:
        return b"the output of RANGE is too long"
    length[0] = <int32_t>distance
    return NULL


cdef void write_range(Tensor* y, const Tensor* start, const Tensor* delta) noexcept nogil:
    cdef float value_f, by_f
    cdef uint64_t value, by
    cdef int64_t i
    if y.type == FLOAT32:
        memcpy(&value_f, start.data, 4)
        memcpy(&by_f, delta.data, 4)
        for i in range(y.dims[0]):
            (<float*>y.data)[i] = value_f
            value_f += by_f
        return
    value = <uint64_t>index_at(start.type, start.data, 0)
    by = <uint64_t>index_at(delta.type, delta.data, 0)
    for i in range(y.dims[0]):
        if y.type == INT32:
            (<int32_t*>y.data)[i] = <int32_t><uint32_t>value
        else:
            (<int64_t*>y.data)[i] = <int64_t>value
        value += by


cdef int range_dynamic(Context context, Node* node) noexcept nogil:
    cdef Tensor* start = context.input(node, 0)
    cdef Tensor* delta = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t length
    cdef const char* refusal = range_length(start, context.input(node, 1), delta, &length)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(y, 1, &length) != 0:
        return -1
    write_range(y, start, delta)
    return 0


cdef int prepare_one_hot(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK + 1] dims
    cdef int axis = table_i32(node.options, ONE_HOT_AXIS, 0)
    cdef int64_t depth
    cdef Tensor* t
    cdef int i
    expect_arity_between(context, node, 4, 4, 1)
    cdef Tensor* indices = operand(context, node, 0)
    cdef Tensor* depth_tensor = operand(context, node, 1)
    cdef Tensor* on = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    if on.type not in (FLOAT32, INT32, INT64, INT8, INT16, UINT8, BOOL):
        raise ValueError(f"Unknown output data type: {type_name(on.type)}")
    adopt_type(y, on.type)
    want_index_type(indices, "indices of ONE_HOT")
    want_index_type(depth_tensor, "depth of ONE_HOT")
    want_type_of(operand(context, node, 3), on)
    for i in range(1, 4):
        t = operand(context, node, i)
        want_one(t, "depth, on and off value of ONE_HOT")
    if axis == -1:
        axis = indices.rank
    if not 0 <= axis <= indices.rank or indices.rank >= MAX_RANK:
        raise ValueError(
            f"op_context.axis < op_context.output_dims was not true: axis {axis}, indices of rank {indices.rank}")
    node.data = context.persistent(sizeof(int32_t))
    (<int32_t*>node.data)[0] = axis
    if not is_constant(depth_tensor):
        context.set_dynamic(y)
        node.invoke = one_hot_dynamic
    else:
        depth = index_at(INT32, depth_tensor.data, 0)
        if depth < 0:
            raise ValueError(f"*op_context.depth->data.i32 >= 0 was not true: {depth}")
        one_hot_dims(indices, axis, <int32_t>depth, dims)
        context.set_shape(y, indices.rank + 1, dims)
        node.invoke = one_hot
    if on.type == INT16:                     # which prepare lets pass
        raise LateRefusalError("Unknown output data type: INT16")
    return 0


cdef void one_hot_dims(const Tensor* indices, int axis, int32_t depth, int32_t* dims) noexcept nogil:
    cdef int d
    for d in range(indices.rank + 1):
        dims[d] = indices.dims[d] if d < axis else depth if d == axis else indices.dims[d - 1]


cdef int one_hot_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK + 1] dims
    cdef Tensor* indices = context.input(node, 0)
    cdef int32_t depth = <int32_t>index_at(INT32, context.input(node, 1).data, 0)
    if depth < 0:
        return context.fail(b"*op_context.depth->data.i32 >= 0 was not true")
    one_hot_dims(indices, (<int32_t*>node.data)[0], depth, dims)
    if context.resize(context.output(node, 0), indices.rank + 1, dims) != 0:
        return -1
    return one_hot(context, node)


cdef int one_hot(Context context, Node* node) noexcept nogil:
    cdef Tensor* indices = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef const void* on = context.input(node, 2).data
    cdef const void* off = context.input(node, 3).data
    cdef int axis = (<int32_t*>node.data)[0]
    cdef int64_t outer = count_range(y, 0, axis)
    cdef int64_t inner = count_range(y, axis + 1, y.rank)
    if y.bytes == 0:
        return 0
    if indices.type == INT32:
        one_hot_values(y, <const int32_t*>indices.data, on, off, outer, y.dims[axis], inner)
    else:
        one_hot_values(y, <const int64_t*>indices.data, on, off, outer, y.dims[axis], inner)
    return 0


cdef void one_hot_values(Tensor* y, const Index* indices, const void* on, const void* off, int64_t outer, int64_t depth,
                         int64_t inner) noexcept nogil:
    cdef int64_t size = type_size(y.type)
    if size == 1:
        write_one_hot(<uint8_t*>y.data, indices, (<const uint8_t*>on)[0], (<const uint8_t*>off)[0], outer, depth, inner)
    elif size == 4:
        write_one_hot(<uint32_t*>y.data, indices, (<const uint32_t*>on)[0], (<const uint32_t*>off)[0], outer, depth, inner)
    else:
        write_one_hot(<uint64_t*>y.data, indices, (<const uint64_t*>on)[0], (<const uint64_t*>off)[0], outer, depth, inner)


cdef void write_one_hot(Element* y, const Index* indices, Element on, Element off, int64_t outer, int64_t depth, int64_t inner) noexcept nogil:
    """Long rows of few depths by comparison. The others are off, but for an on value per index that lies inside of the depth."""
    cdef int64_t o, i
    cdef int64_t at, inside
    if inner >= COMPARED and depth <= COMPARED:
        for o in range(outer):
            compare_indices(y + o * depth * inner, indices + o * inner, on, off, depth, inner)
        return
    fill(<char*>y, outer * depth * inner * sizeof(Element), <const char*>&off, sizeof(Element))
    for o in range(outer):
        for i in range(inner):
            at = indices[i]
            inside = -<int64_t>(<uint64_t>at < <uint64_t>depth)     # all ones or 0: which it is cannot be foretold, so no branch
            y[(at & inside) * inner + i] = off ^ ((on ^ off) & <Element>inside)       # off is there anyway
        y += depth * inner
        indices += inner


cdef inline void compare_indices(Element* y, const Index* indices, Element on, Element off, int64_t depth, int64_t inner) noexcept nogil:
    """A row of y for each depth. Indices of 64 bits become 32 first, some at a time, and -1 where they are more: vectors of any CPU compare those."""
    cdef int64_t size = inner if Index is int32_t else INDEX_BLOCK
    cdef int32_t[INDEX_BLOCK] narrow
    cdef const int32_t* at
    cdef int64_t block, first, n, i
    for block in range((inner + size - 1) // size):
        first = block * size
        n = min(inner - first, size)
        if Index is int32_t:
            at = indices + first
        else:
            for i in range(n):
                narrow[i] = <int32_t>indices[first + i] | -<int32_t>(<uint32_t>(<uint64_t>indices[first + i] >> 32) != 0)
            at = narrow
        if Element is uint8_t:
            mark_8(at, n, <int32_t>depth, on, off, y + first, inner)
        elif Element is uint32_t:
            mark_32(at, n, <int32_t>depth, on, off, y + first, inner)
        else:
            mark_64(at, n, <int32_t>depth, on, off, y + first, inner)


cdef int want_matrix_type(const Tensor* x) except -1:
    if x.type not in (FLOAT32, INT8, UINT8, INT16, INT32, UINT32, INT64):
        raise ValueError(f"Type {type_name(x.type)} is not supported by MATRIX_DIAG and MATRIX_SET_DIAG.")
    want_bytes(x)
    return 0


cdef int prepare_matrix_diag(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK + 1] dims
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    want_matrix_type(x)
    if not 1 <= x.rank < MAX_RANK:
        raise ValueError(f"input_dims_size >= 1 was not true: {x.rank}")
    adopt_type(y, x.type)
    memcpy(dims, x.dims, x.rank * sizeof(int32_t))
    dims[x.rank] = x.dims[x.rank - 1]
    context.set_shape(y, x.rank + 1, dims)
    node.invoke = matrix_diag
    return 0


cdef int matrix_diag(Context context, Node* node) noexcept nogil:
    zeros(context, node)
    write_diagonals(context.output(node, 0), context.input(node, 0))
    return 0


cdef int prepare_matrix_set_diag(Context context, Node* node) except -1:
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* diagonal = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    want_matrix_type(x)
    want_matrix_type(diagonal)
    want_type_of(diagonal, x)
    if x.rank < 2:
        raise ValueError(f"input_dims_size >= 2 was not true: {x.rank}")
    adopt_type(y, x.type)
    context.set_shape(y, x.rank, x.dims)
    node.invoke = matrix_set_diag
    return 0


cdef int matrix_set_diag(Context context, Node* node) noexcept nogil:
    """TensorFlow reads behind diagonals that are too few, here; it does not look when it prepares the node."""
    cdef Tensor* y = context.output(node, 0)
    cdef const Tensor* diagonal = context.input(node, 1)
    cdef int64_t wanted = count_range(y, 0, y.rank - 2) * min(y.dims[y.rank - 2], y.dims[y.rank - 1])
    if count(diagonal) < wanted:
        return context.fail_with(b"the diagonals have %ld of %ld elements", count(diagonal), wanted)
    if y.bytes > 0:
        copy_bytes(y.data, context.input(node, 0).data, y.bytes)
    write_diagonals(y, diagonal)
    return 0


cdef void write_diagonals(Tensor* y, const Tensor* diagonal) noexcept nogil:
    """One diagonal after the other into matrices of the last two dimensions."""
    cdef int64_t size = type_size(y.type)
    cdef int64_t columns = y.dims[y.rank - 1]
    cdef int64_t steps = min(<int64_t>y.dims[y.rank - 2], columns)
    cdef int64_t b
    for b in range(count_range(y, 0, y.rank - 2)):
        copy_runs(
            <char*>y.data + b * y.dims[y.rank - 2] * columns * size, (columns + 1) * size,
            <const char*>diagonal.data + b * steps * size, size, size, steps)


OPERATORS = {
    "FILL": register(prepare_fill, version=4, reference_version=3),
    "ZEROS_LIKE": register(prepare_zeros_like, version=1, reference_version=1),
    "RANGE": register(prepare_range, version=2, reference_version=1),
    "ONE_HOT": register(prepare_one_hot, version=1, reference_version=1),
    "MATRIX_DIAG": register(prepare_matrix_diag, version=1, reference_version=1),
    "MATRIX_SET_DIAG": register(prepare_matrix_set_diag, version=1, reference_version=1),
}
