"""How threads share copies: those of pieces of rows by rows, or by blocks of the only row; a walk by its units.

    share_rows(context, node, join_range, rows, row, inputs)    # in prepare; row: bytes; inputs: those read row by row, if rows are positions
    part = part_of_rows(rows, row, first, end)                  # in join_range: which bytes of which rows
    share_walk(context, node, walk_range, &walk, nanoseconds)   # walk_range: copy_units(&walk, first, end, y, x)
    while next_block(&part, row, &block): ...                   # rows of which each tensor's pieces are copied while a cache has them
        prefetch_block(&block, row, rows, writes)
"""
from libc.stdint cimport int64_t, uint32_t

from tflm_cy.arithmetic.walk cimport COPY_BLOCK, Walk, units_of_walk
from tflm_cy.graph.context cimport Context, Node, WorkFunction, iteration_space, position_space

cdef extern from *:
    """
    static inline void tflm_cy_prefetch_line(const void *p, int writes) {
      if (writes) __builtin_prefetch(p, 1, 2);
      else __builtin_prefetch(p, 0, 2);
    }
    """
    void prefetch_line "tflm_cy_prefetch_line"(const void* p, bint writes) noexcept nogil

cdef enum:
    CACHED = 65536               # bytes of rows whose pieces are copied together: with their copies they fit a second-level cache
    FAR = 1 << 20                # bytes that may be in no near cache

cdef struct RowPart:             # the same bytes of some rows
    int64_t row
    int64_t rows
    int64_t byte
    int64_t bytes
    bint far                     # of a part that is too large for a near cache


cdef inline int share_rows(Context context, Node* node, WorkFunction work, int64_t rows, int64_t row, uint32_t elementwise_inputs) except -1:
    if rows == 1 or row == 0 or elementwise_inputs == 0:
        return share_units(context, node, work, rows if rows != 1 else (row + COPY_BLOCK - 1) // COPY_BLOCK, copy_time(rows * row))
    return context.parallelize(node, work, position_space(rows, 1, elementwise_inputs), copy_time(rows * row))


cdef inline int share_walk(Context context, Node* node, WorkFunction work, const Walk* walk, double time) except -1:
    return share_units(context, node, work, units_of_walk(walk), time)


cdef inline int share_units(Context context, Node* node, WorkFunction work, int64_t units, double time) except -1:
    if units < 2 or time == 0:
        return 0
    return context.parallelize(node, work, iteration_space(units, 1), time)


cdef inline double copy_time(int64_t bytes) noexcept nogil:
    """Nanoseconds of long runs."""
    return 0.05 * bytes


cdef inline RowPart whole_rows(int64_t rows, int64_t row) noexcept nogil:
    cdef RowPart part
    part.row, part.rows, part.byte, part.bytes, part.far = 0, rows, 0, row, rows * row > FAR
    return part


cdef inline RowPart part_of_rows(int64_t rows, int64_t row, int64_t first, int64_t end) noexcept nogil:
    cdef RowPart part = whole_rows(rows, row)
    if rows != 1:
        part.row, part.rows = first, end - first
    else:
        part.byte = first * COPY_BLOCK
        part.bytes = min(end * COPY_BLOCK, row) - part.byte
    return part


cdef inline bint next_block(RowPart* part, int64_t row, RowPart* block) noexcept nogil:
    """Take a block of rows off the part. A row's pieces share lines of memory: one tensor after the other would fetch a large part's lines for each."""
    block[0] = part[0]
    block.rows = min(part.rows, max(<int64_t>1, CACHED // max(<int64_t>1, row)))
    block.far = part.far and block.rows > 1
    part.row += block.rows
    part.rows -= block.rows
    return block.rows > 0


cdef inline void prefetch_block(const RowPart* block, int64_t row, char* rows, bint writes) noexcept nogil:
    """Its lines, in the order in which they lie: a tensor's pieces leave gaps, at which the processor's own prefetching stops. rows: where all begin."""
    cdef int64_t i
    if block.far:
        for i in range(0, block.rows * row, 64):
            prefetch_line(rows + block.row * row + i, writes)
