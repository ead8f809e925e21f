"""SLICE and STRIDED_SLICE: a part of a tensor, up to 5 dimensions.

float32, float16, bfloat16, int8, uint8, int16, int32, uint32, int64, bool, string; SLICE int4 too (two values a byte,
low nibble first).

SLICE: begin and size (-1: up to the end) are vectors of one type, int32 or int64. The output's shape follows from
`size`; where TensorFlow keeps a shape that the file gives, the bytes are the same or TensorFlow writes outside of the
tensor.

STRIDED_SLICE: begin, end, strides are int32 vectors; the masks have NumPy's meaning except in these corners:
  x = [0 1 2 3]; x[2] with begin_mask 1 set    -> x[0]: a shrunk axis obeys the mask
  x[-9] shrunk                                 -> x[0]: begin is clamped first
  x[7] shrunk, or shrunk with stride -1        -> refused; TensorFlow leaves the output unwritten
  offset: end counts from the (clamped) begin  -> refused where it leaves the axis; unwritten in TensorFlow, too
Everything constant: sliced in prepare.

Source: LiteRT:tflite/kernels/slice.cc, strided_slice.cc, internal/strided_slice_logic.h.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.strings cimport (
    StringWriter, append_string, begin_strings, has_strings, string_length, strings_head,
)
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, finish_walk, walk_copy, walk_source
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, INT4, INT8, INT16, INT32, INT64, STRING, Tensor, UINT8, UINT32,
    count, count_range, is_constant, type_name, type_size,
)
from tflm_cy.ops.operand cimport (
    accept, computed_in_prepare, expect_arity_between, index_at, operand, result, want_bytes, want_index_type, want_type_of,
)
from tflm_cy.schema.option_slots cimport (
    STRIDED_SLICE_BEGIN_MASK, STRIDED_SLICE_ELLIPSIS_MASK, STRIDED_SLICE_END_MASK, STRIDED_SLICE_NEW_AXIS_MASK,
    STRIDED_SLICE_OFFSET, STRIDED_SLICE_SHRINK_AXIS_MASK,
)
from tflm_cy.schema.table cimport table_bool, table_i32

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef enum:
    SLICE_RANK = 5
    MOST_INDICES = 31            # bits of a mask


cdef struct Part:                # of the input; strings and int4 are counted in elements, the rest in bytes
    Walk walk
    int64_t start


cdef int64_t unit(const Tensor* x) noexcept nogil:
    """What strides count: bytes, or elements of types without whole bytes."""
    return 1 if x.type == STRING or x.type == INT4 else type_size(x.type)


cdef void finish_part(Part* part, const Tensor* x) noexcept nogil:
    """Give the walk its output strides; elements that are fetched one by one keep their order."""
    cdef Walk* walk = &part.walk
    cdef int d
    for d in range(walk.rank - 1, -1, -1):
        walk.dst_strides[d] = unit(x) if d == walk.rank - 1 else walk.dst_strides[d + 1] * walk.extents[d + 1]
    if x.type != STRING and x.type != INT4:
        finish_walk(walk)


cdef int want_kernel(const Tensor* x, str name, bint now) except -1:
    """TensorFlow looks at the type when it computes, which is in prepare (now) where STRIDED_SLICE has nothing but constants; TFLM in prepare."""
    if x.type not in (
            FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT16, INT32, UINT32, INT64, BOOL, STRING,
            ) and not (x.type == INT4 and name == "Slice"):
        raise (ValueError if now else LateRefusalError)(f"Type {type_name(x.type)} is currently not supported by {name}.")
    return 0


cdef int prepare_slice(Context context, Node* node) except -1:
    cdef int32_t[SLICE_RANK] dims
    cdef const char* refusal
    cdef Part* part
    cdef bint sized = True
    cdef int d
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* begin = operand(context, node, 1)
    cdef Tensor* size = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    want_type_of(y, x)
    want_bytes(x)
    want_index_type(begin, "begin of SLICE")
    want_type_of(size, begin)
    if begin.rank != 1 or size.rank != 1 or begin.dims[0] != size.dims[0]:
        raise ValueError(f"NumElements(begin) != NumElements(size), or not a vector of {x.rank} elements")
    if x.rank > SLICE_RANK:
        raise ValueError(f"Slice op only supports 1D-5D input arrays, not {x.rank}D")
    if begin.dims[0] < x.rank:
        context.set_dynamic(y)
        raise OwnRefusalError(f"NumElements(begin) != NumElements(size), or not a vector of {x.rank} elements")
    part = <Part*>context.persistent(sizeof(Part))
    node.data = part
    node.invoke = slice_dynamic
    if is_constant(begin) and is_constant(size):
        refusal = plan_slice(part, x, begin, size, dims)
        if refusal != NULL and node.arithmetic != MICRO and y.rank > 0:      # TensorFlow keeps the shape that the file gives
            context.set_shape(y, y.rank, y.dims)
            raise OwnRefusalError(refusal.decode())
        accept(refusal)
        context.set_shape(y, x.rank, dims)
        node.invoke = copy_part
        return want_kernel(x, "Slice", False)
    if is_constant(size):
        for d in range(x.rank):
            sized = sized and 0 <= index_at(size.type, size.data, d) <= x.dims[d]
            dims[d] = <int32_t>index_at(size.type, size.data, d)
        if sized:
            context.set_shape(y, x.rank, dims)
            node.invoke = slice_sized
            return want_kernel(x, "Slice", False)
    context.set_dynamic(y)
    return want_kernel(x, "Slice", False)


cdef const char* plan_slice(
    Part* part, const Tensor* x, const Tensor* begin, const Tensor* size, int32_t* dims,
) noexcept nogil:
    cdef int64_t first, length, stride
    cdef int d
    part.start = 0
    begin_walk(&part.walk, unit(x))
    for d in range(x.rank):
        first = index_at(begin.type, begin.data, d)
        length = index_at(size.type, size.data, d)
        if first < 0 or first > x.dims[d]:
            return b"Invalid begin and size."
        if length == -1:
            length = x.dims[d] - first
        if length < 0:
            return b"Invalid size."
        if length > x.dims[d] - first:
            return b"Invalid begin and size."
        stride = count_range(x, d + 1, x.rank) * unit(x)
        part.start += first * stride
        add_axis(&part.walk, length, 0, stride)
        dims[d] = <int32_t>length
    finish_part(part, x)
    return NULL


cdef int slice_sized(Context context, Node* node) noexcept nogil:
    """begin arrives while invoking, the shape is known."""
    cdef int32_t[SLICE_RANK] dims
    cdef const char* refusal = plan_slice(
        <Part*>node.data, context.input(node, 0), context.input(node, 1), context.input(node, 2), dims)
    if refusal != NULL:
        return context.fail(refusal)
    return copy_part(context, node)


cdef int slice_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[SLICE_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    cdef const char* refusal = plan_slice(
        <Part*>node.data, x, context.input(node, 1), context.input(node, 2), dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return copy_part(context, node)


cdef struct Selection:           # of one dimension, as STRIDED_SLICE's kernel walks it
    int64_t first
    int64_t steps
    int64_t stride
    int64_t size                 # of the dimension
    bint shrunk                  # it is left out of the output


cdef struct Masks:               # of STRIDED_SLICE; axes are counted over input and new axes together
    int given                    # indices that the node has
    int32_t begin                # bit i: index i
    int32_t end
    int32_t shrink
    bint offset
    int axes
    int32_t ellipsis_axes        # bit i: axis i
    int32_t new_axes
    int ellipsis_start
    int expanded                 # axes that the ellipsis stands for beyond its own


cdef const char* UNWRITTEN = b"slice index of a shrunk dimension is out of bounds, or its stride is negative"


cdef int prepare_strided_slice(Context context, Node* node) except -1:
    cdef const char* refusal
    cdef int32_t[SLICE_RANK] dims
    cdef int rank = 0
    expect_arity_between(context, node, 4, 4, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* begin = operand(context, node, 1)
    cdef Tensor* end = operand(context, node, 2)
    cdef Tensor* strides = operand(context, node, 3)
    cdef Tensor* y = result(context, node, 0)
    cdef bint offset = table_bool(node.options, STRIDED_SLICE_OFFSET, False)
    want_type_of(y, x)
    want_bytes(x)
    if begin.type != INT32 or end.type != INT32 or strides.type != INT32:
        raise ValueError("begin, end and strides must be INT32: op_context.begin->type != kTfLiteInt32")
    if begin.rank != 1 or end.rank != 1 or strides.rank != 1 or begin.dims[0] != end.dims[0]:
        raise ValueError("NumElements(op_context.begin) != NumElements(op_context.end), or these are no vectors")
    if begin.dims[0] > MOST_INDICES:
        raise ValueError(f"{begin.dims[0]} indices are more than {MOST_INDICES}")
    if x.rank > SLICE_RANK:
        raise ValueError(f"StridedSlice op only supports 1D-5D input arrays, not {x.rank}D")
    node.data = context.persistent(sizeof(Part))
    if not is_constant(strides) or not is_constant(end) or not (offset or is_constant(begin)):
        context.set_dynamic(y)
        node.invoke = strided_slice_dynamic
        return want_kernel(x, "StridedSlice", node.arithmetic == MICRO)
    refusal = plan_strided_slice(node, x, begin if is_constant(begin) else NULL, end, strides, &rank, dims)
    if refusal != UNWRITTEN:
        accept(refusal)
    context.set_shape(y, rank, dims)
    if refusal == UNWRITTEN:
        raise OwnRefusalError(refusal.decode())
    node.invoke = copy_part if is_constant(begin) else strided_slice_sized
    want_kernel(x, "StridedSlice", node.arithmetic == MICRO or (is_constant(x) and is_constant(begin)))
    if is_constant(x) and is_constant(begin) and x.type != STRING:
        context.set_computed(y)
        copy_part(context, node)
        node.invoke = computed_in_prepare
    return 0


cdef bint bit(int32_t mask, int i) noexcept nogil:
    return i < 32 and (mask >> i) & 1 != 0


cdef Masks masks_of(const Node* node, const Tensor* x, int given) noexcept nogil:
    """The options' masks, and which axes of input and new axes together they mean."""
    cdef Masks m
    cdef int i = 0
    cdef int added = 0               # new axes in all
    cdef int ellipsis_end
    m.given = given
    m.begin = table_i32(node.options, STRIDED_SLICE_BEGIN_MASK, 0)
    m.end = table_i32(node.options, STRIDED_SLICE_END_MASK, 0)
    m.shrink = table_i32(node.options, STRIDED_SLICE_SHRINK_AXIS_MASK, 0)
    m.offset = table_bool(node.options, STRIDED_SLICE_OFFSET, False)
    cdef int32_t ellipsis = table_i32(node.options, STRIDED_SLICE_ELLIPSIS_MASK, 0)
    cdef int32_t new_axis = table_i32(node.options, STRIDED_SLICE_NEW_AXIS_MASK, 0)
    if node.arithmetic == MICRO:     # which does not know them
        ellipsis = new_axis = 0
    for i in range(given):
        if not bit(ellipsis, i) and bit(new_axis, i):
            added += 1
    m.axes = m.ellipsis_start = x.rank + added
    m.ellipsis_axes = m.new_axes = m.expanded = 0
    i = 0
    while i < m.axes and m.axes <= SLICE_RANK:
        if bit(ellipsis, i):
            m.ellipsis_start = i
            ellipsis_end = max(i + 1, min(i + 1 + added + x.rank - given, m.axes))
            m.expanded = ellipsis_end - i - 1
            while i < ellipsis_end:
                m.ellipsis_axes |= 1 << i
                i += 1
            continue
        if bit(new_axis, i - m.expanded):
            m.new_axes |= 1 << i
        i += 1
    return m


cdef const char* select_axis(
    const Masks* m, const Tensor* begin, const Tensor* end, const Tensor* strides, int i, Selection* s,
) noexcept nogil:
    """Select along axis i, which is one of the input."""
    cdef int in_ellipsis = max(0, min(i - m.ellipsis_start, m.expanded))         # axes that the ellipsis stands for beyond its own
    cdef int at = i - in_ellipsis
    if bit(m.ellipsis_axes, i) or i >= m.given + m.expanded:
        s.steps = s.size
        return NULL
    if at < 0 or at >= m.given:
        return b"StridedSlice: the masks name more indices than there are"
    s.stride = index_at(INT32, strides.data, at)
    if s.stride == 0:
        return b"stride value has to be non-zero"
    s.shrunk = bit(m.shrink, at)
    select_steps(
        s, index_at(INT32, begin.data, at) if begin != NULL else 0, index_at(INT32, end.data, at), m.offset, bit(m.begin, at), bit(m.end, at))
    return NULL


cdef const char* plan_strided_slice(
    Node* node, const Tensor* x, const Tensor* begin, const Tensor* end, const Tensor* strides, int* rank,
    int32_t* dims,
) noexcept nogil:
    """Select along every dimension of the input and every added one. Without `begin` (offset) only the shape counts."""
    cdef Part* part = <Part*>node.data
    cdef Masks m = masks_of(node, x, end.dims[0])
    cdef const char* refusal
    cdef int i
    cdef int axis = 0                # of the input
    cdef bint empty = False
    cdef bint nothing = False
    cdef int64_t wanted, input_stride
    cdef Selection s
    if strides.dims[0] < end.dims[0]:
        return b"StridedSlice: there are fewer strides than indices"
    if m.axes > SLICE_RANK:
        return b"StridedSlice op only supports up to 5D output including added axis."
    part.start = 0
    rank[0] = 0
    begin_walk(&part.walk, unit(x))
    for i in range(m.axes):
        s.shrunk = False
        s.stride = s.steps = 1
        s.first = input_stride = 0
        if bit(m.ellipsis_axes, i) or not bit(m.new_axes, i):
            if axis >= x.rank:
                return b"StridedSlice: the masks name more dimensions than the input has"
            s.size = x.dims[axis]
            input_stride = count_range(x, axis + 1, x.rank) * unit(x)
            axis += 1
            refusal = select_axis(&m, begin, end, strides, i, &s)
            if refusal != NULL:
                return refusal
        if m.offset and not s.shrunk and i < m.given:
            wanted = rounded_up(index_at(INT32, end.data, i), s.stride)
            if begin == NULL:
                s.steps = wanted
            elif s.steps != wanted:
                return b"StridedSlice: begin and offset leave the dimension"
        nothing = nothing or (s.shrunk and s.steps == 0)
        empty = empty or (not s.shrunk and s.steps == 0)
        if not s.shrunk:
            if s.steps > 0x7FFFFFFF:
                return b"StridedSlice: a dimension of the output is too large"
            dims[rank[0]] = <int32_t>s.steps
            rank[0] += 1
        part.start += s.first * input_stride
        add_axis(&part.walk, s.steps, 0, s.stride * input_stride)
    if axis < x.rank:
        return b"StridedSlice: the masks leave out dimensions of the input"
    if nothing and not empty and begin != NULL:
        return UNWRITTEN
    finish_part(part, x)
    return NULL


cdef int64_t rounded_up(int64_t length, int64_t stride) noexcept nogil:
    """Steps of a length; none when the signs differ."""
    if stride < 0:
        length = -length
        stride = -stride
    return (length + stride - 1) // stride if length > 0 else 0


cdef int64_t clamp(int64_t value, int64_t low, int64_t high) noexcept nogil:
    return high if high < value else low if value < low else value


cdef void select_steps(
    Selection* s, int64_t begin, int64_t end, bint offset, bint begin_masked, bint end_masked,
) noexcept nogil:
    """The first index and the number of steps along one dimension."""
    cdef int64_t low = 0 if s.stride > 0 else -1
    cdef int64_t high = s.size if s.stride > 0 else s.size - 1
    if begin < 0:
        begin += s.size
    begin = clamp(begin, low, high)
    if begin_masked:
        begin = 0 if s.stride > 0 else s.size - 1
    if s.shrunk:
        end = begin if begin >= s.size else begin + 1
    else:
        if offset:
            end += begin
        if end < 0:
            end += s.size
        end = clamp(end, low, high)
        if end_masked:
            end = s.size if s.stride > 0 else -1
    s.steps = rounded_up(end - begin, s.stride)
    s.first = begin if s.steps > 0 else 0


cdef int strided_slice_sized(Context context, Node* node) noexcept nogil:
    """begin arrives while invoking, the shape is known: end is an offset."""
    cdef int32_t[SLICE_RANK] dims
    cdef int rank
    cdef const char* refusal = plan_strided_slice(
        node, context.input(node, 0), context.input(node, 1), context.input(node, 2), context.input(node, 3), &rank,
        dims)
    cdef Tensor* y = context.output(node, 0)
    cdef int d
    if refusal != NULL:
        return context.fail(refusal)
    for d in range(rank):
        if dims[d] != y.dims[d]:
            return context.fail(b"StridedSlice: begin and offset leave the dimension")
    return copy_part(context, node)


cdef int strided_slice_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[SLICE_RANK] dims
    cdef int rank
    cdef const char* refusal = plan_strided_slice(
        node, context.input(node, 0), context.input(node, 1), context.input(node, 2), context.input(node, 3), &rank,
        dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), rank, dims) != 0:
        return -1
    return copy_part(context, node)


cdef int copy_part(Context context, Node* node) noexcept nogil:
    cdef const Part* part = <const Part*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if x.type == STRING:
        return copy_strings(context, part, x, y)
    if count(y) == 0:
        return 0
    if x.type == INT4:
        copy_int4(part, <const uint8_t*>x.data, y)
    else:
        walk_copy(&part.walk, <char*>y.data, <const char*>x.data + part.start)
    return 0


cdef void copy_int4(const Part* part, const uint8_t* x, Tensor* y) noexcept nogil:
    cdef uint8_t* to = <uint8_t*>y.data
    cdef int64_t i, source
    cdef uint8_t nibble
    memset(to, 0, y.bytes)
    for i in range(count(y)):
        source = part.start + walk_source(&part.walk, i)
        nibble = (x[source >> 1] >> (4 * (source & 1))) & 15
        to[i >> 1] |= nibble << (4 * (i & 1))


cdef int copy_strings(Context context, const Part* part, const Tensor* x, Tensor* y) noexcept nogil:
    cdef StringWriter writer
    cdef int64_t n = count(y)
    cdef int64_t total = strings_head(n)
    cdef int64_t i
    if not has_strings(x.data, x.bytes, count(x)):
        return context.fail(b"the input does not hold the strings of its shape")
    for i in range(n):
        total += string_length(x.data, part.start + walk_source(&part.walk, i))
        if total > 0x7FFFFFFF:
            return context.fail(b"a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        return -1
    begin_strings(&writer, y.data, <int32_t>n)
    for i in range(n):
        append_string(&writer, x.data, part.start + walk_source(&part.walk, i))
    return 0


OPERATORS = {
    "SLICE": register(prepare_slice, version=7, reference_version=7),
    "STRIDED_SLICE": register(prepare_strided_slice, version=8, reference_version=4),
}
