"""How convolutions of int16 images with int8 filters use the vector kernels for columns: packed filters, int32 sums of some positions, rescaled in vectors.

    if plan_columns_i16(context, &v, w, depth, columns, groups, depth, &rescale):     # else: the scalar definition
    conv_columns_i16(context, &v, &shape, x, &rescale, first, end, worker, y)          # some output positions

The sums of the narrow arithmetic wrap at 32 bits. Those of the wide one are exact: an int32 holds the whole sum where the weights of each column are small
enough, else stretches of LONGEST_16 products are added up in int64.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t
from libc.string cimport memset

from tflm_cy.arithmetic.conv cimport gather_patch
from tflm_cy.arithmetic.multipliers cimport Factor
from tflm_cy.arithmetic.row_kernels cimport (
    COLUMN_BLOCK, RESCALE_ADDED, RESCALE_BIAS, RESCALE_CONSTANTS, RESCALE_LEFT, RESCALE_LOST, RESCALE_SHIFT, RESCALE_VALUE, RowKernels,
)
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale, rescale_sums
from tflm_cy.graph.context cimport Context
from tflm_cy.ops.kernels.rows_i16 cimport longest_sum
from tflm_cy.simd.table cimport row_kernels

cdef enum:
    POSITIONS_16 = 8             # that meet the filters together

cdef struct ColumnsI16:
    const RowKernels* rows
    ptrdiff_t groups
    ptrdiff_t columns            # of a group
    ptrdiff_t whole              # the same, up to whole vectors
    ptrdiff_t depth
    ptrdiff_t longest
    int8_t* packed               # one group after the other
    ptrdiff_t packed_step
    int64_t* constants           # of all groups; NULL: the definition rescales
    bint wide
    int32_t low
    int32_t high
    int scratch
    ptrdiff_t bytes              # of each worker: positions' values, sums in int32 (sums_at), a row of sums in int64


cdef inline ptrdiff_t sums_at(const ColumnsI16* v) noexcept nogil:
    """Where in a worker's scratch memory the sums begin."""
    return (2 * POSITIONS_16 * v.depth + 63) / 64 * 64


cdef inline bint plan_columns_i16(
    Context context, ColumnsI16* v, const int8_t* w, ptrdiff_t row, ptrdiff_t columns, ptrdiff_t groups, ptrdiff_t depth, const Rescale* out,
) except -1:
    """w: constant, `row` from one column's weights to the next's; out: with its bias."""
    cdef ptrdiff_t group
    v.rows = row_kernels()
    if v.rows == NULL or w == NULL or columns <= 0 or groups <= 0 or depth < 0:
        return False
    v.groups, v.columns, v.depth, v.wide = groups, columns, depth, out.wide
    v.low, v.high = out.low, out.high
    v.whole = (columns + COLUMN_BLOCK - 1) // COLUMN_BLOCK * COLUMN_BLOCK
    v.longest = max(longest_sum(w, groups * columns, row, depth) if out.wide else depth, <ptrdiff_t>1)
    v.packed_step = v.whole * ((depth + 1) // 2 * 2)
    v.packed = <int8_t*>context.unfilled(groups * v.packed_step + 1)
    for group in range(groups):
        v.rows.pack_columns(w + group * columns * row, row, 1, columns, depth, v.packed + group * v.packed_step)
    v.constants = NULL
    if v.longest >= depth and out.zero_point == 0 and -32768 <= out.low and out.high <= 32767:
        fill_constants(context, v, out)
    v.bytes = sums_at(v) + 4 * POSITIONS_16 * v.whole + 8 * columns + 64
    v.scratch = context.request_scratch(context.for_all_workers(v.bytes))
    return True


cdef inline int fill_constants(Context context, ColumnsI16* v, const Rescale* out) except -1:
    """Left out where a multiplier is negative: the definition then rescales."""
    cdef int64_t* k
    cdef const Factor* f
    cdef ptrdiff_t c
    cdef int64_t total
    for c in range(v.groups * v.columns):
        if out.factors[c].value < 0:
            return 0
    v.constants = <int64_t*>context.persistent(8 * RESCALE_CONSTANTS * v.groups * v.whole + 8)
    for c in range(v.groups * v.columns):
        f = &out.factors[c]
        k = v.constants + (c // v.columns) * RESCALE_CONSTANTS * v.whole + c % v.columns
        k[RESCALE_BIAS * v.whole] = out.bias[c]
        if out.wide:             # fixed_point.multiply_wide
            total = 15 - (f.left - f.right)
            k[RESCALE_VALUE * v.whole] = (<int64_t>f.value + (1 << 15)) >> 16 if f.value < 0x7FFF0000 else 0x7FFF
            k[RESCALE_ADDED * v.whole] = <int64_t>1 << (total - 1 & 63)
            k[RESCALE_SHIFT * v.whole] = total & 63
        else:                    # conv.rescale, both shifts as one
            k[RESCALE_VALUE * v.whole] = f.value
            k[RESCALE_ADDED * v.whole] = ((<int64_t>1 << 30) & ~<int64_t>f.cut) + (<int64_t>f.half << 31)
            k[RESCALE_SHIFT * v.whole] = 31 + f.right
            k[RESCALE_LEFT * v.whole] = f.left & 31
            k[RESCALE_LOST * v.whole] = <int64_t>1 << 31 if f.away else 0
    return 0


cdef inline void rescale_position(const ColumnsI16* v, ptrdiff_t group, const int32_t* sums, int16_t* y) noexcept nogil:
    """The outputs of one position: a group's columns."""
    v.rows.rescale_columns(v.constants + group * RESCALE_CONSTANTS * v.whole, v.whole, v.wide, v.low, v.high, sums, v.columns, y)


cdef inline void multiply_columns_i16(
    const ColumnsI16* v, const int16_t* const* x, int count, ptrdiff_t group, const Rescale* out, char* scratch, int16_t* y, ptrdiff_t y_step,
) noexcept nogil:
    """The outputs of some positions: a group's columns. scratch: behind the positions' values."""
    cdef int32_t* sums = <int32_t*>scratch
    cdef const int8_t* packed = v.packed + group * v.packed_step
    cdef int i
    if v.constants == NULL:
        for i in range(count):
            rescale_long(v, x + i, packed, group, out, scratch, y + i * y_step)
        return
    v.rows.multiply_columns(x, count, packed, v.columns, v.depth, 0, v.depth, sums, v.whole)
    for i in range(count):
        rescale_position(v, group, sums + i * v.whole, y + i * y_step)


cdef inline void rescale_long(
    const ColumnsI16* v, const int16_t* const* x, const int8_t* packed, ptrdiff_t group, const Rescale* out, char* scratch, int16_t* y,
) noexcept nogil:
    """One position's, in int64."""
    cdef int32_t* found = <int32_t*>scratch
    cdef int64_t* sums = <int64_t*>(scratch + 4 * POSITIONS_16 * v.whole)
    cdef Rescale rest = out[0]
    cdef ptrdiff_t start = 0
    cdef ptrdiff_t n, c
    memset(sums, 0, 8 * v.columns)
    while start < v.depth:
        n = min(v.longest, v.depth - start)
        v.rows.multiply_columns(x, 1, packed, v.columns, v.depth, start, n, found, v.whole)
        for c in range(v.columns):
            sums[c] += found[c]
        start += n
    rest.bias += group * v.columns
    rest.factors += group * v.columns
    rescale_sums(sums, &rest, v.columns, y)


cdef inline bint reads_pixels(const ConvShape* g) noexcept nogil:
    """Each window is one pixel of the image."""
    return (g.kh == 1 and g.kw == 1 and g.pad_h == 0 and g.pad_w == 0 and (g.oh - 1) * g.stride_h < g.ih
            and (g.ow - 1) * g.stride_w < g.iw)


cdef inline void conv_columns_i16(
    Context context, const ColumnsI16* v, const ConvShape* g, const int16_t* x, const Rescale* out, int64_t first, int64_t end, int worker,
    int16_t* y,
) noexcept nogil:
    """Output positions first .. end - 1, counted over all images."""
    cdef char* scratch = <char*>context.worker_scratch(v.scratch, v.bytes, worker)
    cdef int16_t* patches = <int16_t*>scratch
    cdef const int16_t* rows[POSITIONS_16]
    cdef bint direct = reads_pixels(g)
    cdef ptrdiff_t image = g.ih * g.iw * g.ic
    cdef ptrdiff_t ox = first % g.ow
    cdef ptrdiff_t oy = first / g.ow % g.oh
    cdef ptrdiff_t n = first / (g.ow * g.oh)
    cdef ptrdiff_t[POSITIONS_16] at_n
    cdef ptrdiff_t[POSITIONS_16] at_y
    cdef ptrdiff_t[POSITIONS_16] at_x
    cdef ptrdiff_t group
    cdef int count, i
    scratch += sums_at(v)
    while first < end:
        count = <int>min(<int64_t>POSITIONS_16, end - first)
        for i in range(count):
            at_n[i], at_y[i], at_x[i] = n, oy, ox
            ox += 1
            if ox == g.ow:
                ox = 0
                oy += 1
                if oy == g.oh:
                    oy = 0
                    n += 1
        for group in range(g.groups):
            for i in range(count):
                if direct:
                    rows[i] = (x + at_n[i] * image + (at_y[i] * g.stride_h * g.iw + at_x[i] * g.stride_w) * g.ic + group * g.group_ic)
                    continue
                gather_patch(g, x + at_n[i] * image, 0, group, at_y[i], at_x[i], patches + i * v.depth)
                rows[i] = patches + i * v.depth
            multiply_columns_i16(v, rows, count, group, out, scratch, y + first * g.oc + group * v.columns, g.oc)
        first += count
