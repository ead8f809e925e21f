# tflm_cy: optimize=loops
"""CUMSUM of float32, int32 and int64 along one axis; exclusive and reverse. Sums are sequential, integers wrap. TFLM: int8, too.

The axis may be known only while invoking; the output's shape is the input's.

Source: LiteRT:tflite/kernels/cumsum.cc.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from tflm_cy.arithmetic.micro.sums8 cimport Sums8, cumulate8, sums8
from tflm_cy.arithmetic.nan_order cimport add_first, add_runs
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT32, INT64, Tensor, count, count_range, is_constant, type_name
from tflm_cy.ops.operand cimport expect_arity
from tflm_cy.schema.option_slots cimport CUMSUM_EXCLUSIVE, CUMSUM_REVERSE
from tflm_cy.schema.table cimport table_bool

cdef enum:
    STRIP = 8                    # columns of short rows that are summed together
    TOGETHER = 4
    MIN_ROW = 17                 # elements from which on rows are added one to the next

cdef struct CumSum:
    bint exclusive
    bint reverse
    bint known_axis
    int32_t axis
    Sums8 sums                   # of int8

ctypedef fused summable:         # the unsigned types stand for the signed ones: they wrap
    float
    uint32_t
    uint64_t


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* axis
    cdef Tensor* y
    cdef CumSum* s
    expect_arity(context, node, 2, 1)
    x, axis, y = context.input(node, 0), context.input(node, 1), context.output(node, 0)
    if x.type not in (FLOAT32, INT32, INT64) and not (node.arithmetic == MICRO and x.type == INT8):
        raise ValueError(f"CUMSUM: input->type == kTfLiteInt32 || kTfLiteFloat32 || kTfLiteInt64 was not true ({type_name(x.type)})")
    if axis.type != INT32:
        raise ValueError(f"axis->type != kTfLiteInt32 ({type_name(axis.type)} != INT32)")
    if count(axis) != 1:
        raise ValueError(f"NumElements(axis) != 1 ({count(axis)} != 1)")
    if x.rank < 1:
        raise ValueError("NumDimensions(input) >= 1 was not true.")
    if y.type != x.type:
        raise ValueError(f"output->type != input->type ({type_name(y.type)} != {type_name(x.type)})")
    s = <CumSum*>context.persistent(sizeof(CumSum))
    s.exclusive = table_bool(node.options, CUMSUM_EXCLUSIVE, False)
    s.reverse = table_bool(node.options, CUMSUM_REVERSE, False)
    s.sums = sums8(x.scale, x.zero_point, y.scale, y.zero_point)
    s.known_axis = is_constant(axis)
    if s.known_axis:
        s.axis = (<const int32_t*>axis.data)[0]
    context.set_shape(y, x.rank, x.dims)
    node.data = s
    node.invoke = cumsum
    return 0


cdef inline summable added(summable total, summable x) noexcept nogil:
    """Of two NaN the sum's stays."""
    if summable is float:
        return add_first(total, x)
    else:
        return total + x


cdef inline void accumulate_row(const summable* x, summable* y, int64_t size, int64_t step) noexcept nogil:
    """A row of single elements, four at a time."""
    cdef summable[TOGETHER] sums
    cdef summable total = 0
    cdef int64_t i = 0
    cdef int k
    while i + TOGETHER <= size:
        for k in range(TOGETHER):
            sums[k] = total = added(total, x[k * step])
        for k in range(TOGETHER):
            y[k * step] = sums[k]
        x += TOGETHER * step
        y += TOGETHER * step
        i += TOGETHER
    while i < size:
        total = added(total, x[0])
        y[0] = total
        x += step
        y += step
        i += 1


cdef inline void accumulate_strip(const summable* x, summable* y, int64_t size, int64_t stride, int width) noexcept nogil:
    """`width` columns of integers, a literal number, whose sums stay in registers; the first row is there."""
    cdef summable[STRIP] total
    cdef int64_t i
    cdef int k
    for k in range(width):
        total[k] = y[k]
    for i in range(size - 1):
        y += stride
        for k in range(width):
            total[k] = total[k] + x[k]
        for k in range(width):
            y[k] = total[k]
        x += stride


cdef inline void accumulate_strips(const summable* x, summable* y, int64_t size, int64_t stride, int64_t inner) noexcept nogil:
    """Short rows of integers: strip after strip of columns."""
    cdef int64_t k = 0
    while k + STRIP <= inner:
        accumulate_strip(x + k, y + k, size, stride, STRIP)
        k += STRIP
    if inner - k >= 4:
        accumulate_strip(x + k, y + k, size, stride, 4)
        k += 4
    if inner - k >= 2:
        accumulate_strip(x + k, y + k, size, stride, 2)
        k += 2
    if k < inner:
        accumulate_strip(x + k, y + k, size, stride, 1)


cdef void accumulate(const summable* x, summable* y, int64_t outer, int64_t size, int64_t inner, bint exclusive, bint reverse) noexcept nogil:
    """Over [outer, size, inner], row after row of `inner` elements."""
    cdef int64_t o, i, k, before, stride
    cdef const summable* source
    if size == 1:
        inner *= outer
        outer = 1
    stride = -inner if reverse else inner
    for o in range(outer):
        before = (o * size + (size - 1 if reverse else 0)) * inner
        if inner == 1:
            if exclusive:
                y[before] = 0
            accumulate_row(x + before, y + before + (stride if exclusive else 0), size - exclusive, stride)
            continue
        source = x + (before if exclusive else before + stride)
        if exclusive:
            memset(y + before, 0, inner * sizeof(summable))
        else:
            for k in range(inner):
                y[before + k] = 0 + x[before + k]     # -0.0 becomes 0.0
        if summable is not float:
            if inner < MIN_ROW:
                accumulate_strips(source, y + before, size, stride, inner)
                continue
        for i in range(1, size):
            if summable is float:
                add_runs(y + before, source, y + before + stride, inner)
            else:
                for k in range(inner):
                    y[before + stride + k] = y[before + k] + source[k]
            source += stride
            before += stride


cdef int cumsum(Context context, Node* node) noexcept nogil:
    cdef CumSum* s = <CumSum*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef int32_t axis = s.axis if s.known_axis else (<const int32_t*>context.input(node, 1).data)[0]
    cdef int64_t outer, size, inner
    if axis < -x.rank or axis >= x.rank:
        return context.fail_with(b"Invalid axis: %ld for an input of rank %ld", axis, x.rank)
    if axis < 0:
        axis += x.rank
    if count(x) == 0:
        return 0
    outer, size, inner = count_range(x, 0, axis), x.dims[axis], count_range(x, axis + 1, x.rank)
    if x.type == INT8:
        cumulate8(&s.sums, <const int8_t*>x.data, <int8_t*>y.data, outer, size, inner, s.exclusive, s.reverse)
    elif x.type == FLOAT32:
        accumulate(<const float*>x.data, <float*>y.data, outer, size, inner, s.exclusive, s.reverse)
    elif x.type == INT32:
        accumulate(<const uint32_t*>x.data, <uint32_t*>y.data, outer, size, inner, s.exclusive, s.reverse)
    else:
        accumulate(<const uint64_t*>x.data, <uint64_t*>y.data, outer, size, inner, s.exclusive, s.reverse)
    return 0


OPERATORS = {
    "CUMSUM": register(prepare, version=1, reference_version=1),
}
