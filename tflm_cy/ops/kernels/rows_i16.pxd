"""How the operators on int16 values with int8 weights use the vector kernels for rows: exact int64 sums of some rows, then the definition's rescaling.

    if plan_rows_i16(context, &v, w, row, columns, depth):     # else: the scalar definition
    multiply_rows_i16(context, &v, x, w, &rescale, first, end, worker, y)               # some rows of x

An int32 holds the whole sum where the weights of each row are small enough, else stretches of LONGEST_16 products.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.stdlib cimport abs

from tflm_cy.arithmetic.fully_connected cimport DoubleRescale, rescale_double
from tflm_cy.arithmetic.row_kernels cimport RowKernels
from tflm_cy.graph.context cimport Context
from tflm_cy.simd.table cimport row_kernels

cdef enum:
    TOGETHER_16 = 4              # rows of values
    LONGEST_16 = 480             # products of int16 and int8 that fit an int32, whole vectors
    LIMIT_16 = 65535             # sum of weights without their signs, below which any products do
    MOST_COUNTED_16 = 1 << 23    # weights of a row whose sum is looked at: it fits an int32

cdef struct RowsI16:
    const RowKernels* rows
    ptrdiff_t columns            # of all groups
    ptrdiff_t depth
    ptrdiff_t row                # from one row of weights to the next
    ptrdiff_t longest
    int scratch
    ptrdiff_t sums32_at          # where in a worker's scratch memory
    ptrdiff_t bytes


cdef inline int32_t sum_of_magnitudes(const int8_t* w, ptrdiff_t count) noexcept nogil:
    cdef int32_t total = 0
    cdef ptrdiff_t k
    for k in range(count):
        total += abs(w[k])
    return total


cdef inline ptrdiff_t longest_sum(const int8_t* w, ptrdiff_t rows, ptrdiff_t row, ptrdiff_t depth) noexcept nogil:
    """Of few weights any sum fits; of others those of each row say it."""
    cdef ptrdiff_t r
    if depth * 128 < LIMIT_16:
        return depth
    if depth > MOST_COUNTED_16:
        return LONGEST_16
    for r in range(rows):
        if sum_of_magnitudes(w + r * row, depth) >= LIMIT_16:
            return LONGEST_16
    return depth


cdef inline bint plan_rows_i16(Context context, RowsI16* v, const int8_t* w, ptrdiff_t row, ptrdiff_t columns, ptrdiff_t depth) except -1:
    """w: constant."""
    v.rows = row_kernels()
    if v.rows == NULL or w == NULL or depth <= 0 or columns <= 0:
        return False
    v.columns, v.depth, v.row = columns, depth, row
    v.longest = max(longest_sum(w, columns, row, depth), <ptrdiff_t>1)
    v.sums32_at = 8 * TOGETHER_16 * columns
    v.bytes = v.sums32_at + 4 * TOGETHER_16 * columns + 64
    v.scratch = context.request_scratch(context.for_all_workers(v.bytes))
    return True


cdef inline void add_sums_i16(
    const RowsI16* v, const int16_t* x, ptrdiff_t x_step, int count, const int8_t* w, ptrdiff_t columns, int32_t* found, int64_t* sums,
) noexcept nogil:
    """sums[i * v.columns + c] = x[i] . w[c]"""
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t n, c
    cdef int i
    for i in range(count):
        for c in range(columns):
            sums[i * v.columns + c] = 0
    while start < v.depth:
        n = min(v.longest, v.depth - start)
        v.rows.multiply(x + start, x_step, count, w + start, v.row, columns, n, False, found, columns)
        for i in range(count):
            for c in range(columns):
                sums[i * v.columns + c] += found[i * columns + c]
        start += n


cdef inline void multiply_rows_i16(
    Context context, const RowsI16* v, const int16_t* x, const int8_t* w, const DoubleRescale* out, int64_t first, int64_t end, int worker,
    int16_t* y,
) noexcept nogil:
    """Rows first .. end - 1 of x, whose weights have no zero point."""
    cdef char* scratch = <char*>context.worker_scratch(v.scratch, v.bytes, worker)
    cdef int64_t* sums = <int64_t*>scratch
    cdef int count, i
    while first < end:
        count = <int>min(<int64_t>TOGETHER_16, end - first)
        add_sums_i16(v, x + first * v.depth, v.depth, count, w, v.columns, <int32_t*>(scratch + v.sums32_at), sums)
        for i in range(count):
            rescale_double(sums + i * v.columns, out, v.columns, y + (first + i) * v.columns)
        first += count
