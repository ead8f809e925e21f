"""BATCH_MATMUL of bytes, or with dynamic range, by the vector kernels: one plan for all matrices, which threads share by bands of the output's matrices.

    if plan_batched_i8(context, node, &b, x, w):     # prepare; the caller has filled in the first part of b.plan, and b's first part
        ...                                        # else: the scalar definition
    multiply_batch8(context, &b, x, w, y, x_matrix, w_matrix, row, stop, worker)

Constant right sides are packed in prepare, a plan for each. Others are packed in scratch memory while invoking, once for each band.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.graph.context cimport Context, per_worker
from tflm_cy.graph.tensor cimport Tensor, is_constant
from tflm_cy.ops.kernels.packed cimport plan_packed, reserve_packed
from tflm_cy.ops.kernels.transpose_blocks cimport transpose_of
from tflm_cy.simd.conv_i8 cimport ConvI8, x_size

cdef struct Batched8:
    ptrdiff_t m
    ptrdiff_t n
    ptrdiff_t k
    bint adj_x               # matrices of x are k x m
    bint adj_y               # matrices of w are n x k
    # the plan
    ConvI8 plan
    TransposeBlocks transpose          # matrices of w
    TransposeBlocks transpose_rows     # of x
    ConvI8* packed            # of each constant matrix; NULL: none is constant
    int scratch
    ptrdiff_t rows_at        # where in a worker's scratch memory: a matrix of x as m rows (adj_x),
    ptrdiff_t columns_at     # a matrix of w as n rows,
    ptrdiff_t packed_at      # that one packed
    ptrdiff_t worker_bytes


cdef inline ptrdiff_t on_line(ptrdiff_t bytes) noexcept nogil:
    """Rounded up, with room behind it that a kernel may read."""
    return (bytes + 127) // 64 * 64


cdef inline void pack_matrix8(const Batched8* b, ConvI8* c, const int8_t* w, int8_t* columns) noexcept nogil:
    """Pack a matrix of w; `columns` has room for it as n rows, where it is not made of them."""
    if not b.adj_y:
        b.transpose(<const uint8_t*>w, b.n, b.k, b.n, <uint8_t*>columns, b.k)
        w = columns
    memset(c.packed, 0, c.packed_bytes - c.spare_bytes)
    c.pack(c, w, b.k)


cdef inline bint plan_batched_i8(Context context, Batched8* b, const Tensor* x, const Tensor* w, ptrdiff_t matrices) except -1:
    """True when `multiply_batch8` will serve."""
    cdef ConvI8* c = &b.plan
    cdef ptrdiff_t i
    cdef int8_t* columns
    c.slack = context.aligned_slack and not is_constant(x)
    c.w, c.w_row = NULL, b.k
    if b.m <= 0 or b.n <= 0 or b.k <= 0 or not plan_packed(c):
        return False
    b.transpose = transpose_of(1)
    b.transpose_rows = transpose_of(x_size(c))
    b.packed = NULL
    b.rows_at = on_line(c.scratch_bytes)
    b.columns_at = b.rows_at + (on_line(b.m * b.k * x_size(c)) if b.adj_x else 0)
    b.packed_at = b.columns_at
    b.worker_bytes = b.packed_at
    if is_constant(w):
        b.packed = <ConvI8*>context.persistent(max(matrices, 1) * sizeof(ConvI8))
        columns = <int8_t*>context.persistent(b.n * b.k + 64)
        for i in range(matrices):
            b.packed[i] = c[0]
            reserve_packed(context, &b.packed[i])
            pack_matrix8(b, &b.packed[i], <const int8_t*>w.data + i * b.n * b.k, columns)
    else:
        b.packed_at = b.columns_at + (0 if b.adj_y else on_line(b.n * b.k))
        b.worker_bytes = b.packed_at + on_line(c.packed_bytes)
    b.scratch = context.request_scratch(context.for_all_workers(b.worker_bytes))
    return True


cdef inline void multiply_batch8(
    Context context, const Batched8* b, const void* x, const int8_t* w, void* y, ptrdiff_t x_matrix, ptrdiff_t w_matrix, ptrdiff_t row,
    ptrdiff_t stop, int worker,
) noexcept nogil:
    """Rows row .. stop - 1 of one matrix of the output, which begins at y."""
    cdef char* scratch = <char*>context.worker_scratch(b.scratch, b.worker_bytes, worker)
    cdef ptrdiff_t size = x_size(&b.plan)
    cdef const char* rows = <const char*>x + x_matrix * b.m * b.k * size
    cdef ConvI8 band
    if b.adj_x:
        b.transpose_rows(<const uint8_t*>rows + row * size, b.m * size, b.k, stop - row, <uint8_t*>scratch + b.rows_at, b.k * size)
        rows = scratch + b.rows_at
    else:
        rows += row * b.k * size
    if b.packed != NULL:
        band = b.packed[w_matrix]
    else:
        band = b.plan
        band.packed = <uint8_t*>scratch + b.packed_at
        pack_matrix8(b, &band, w + w_matrix * b.n * b.k, <int8_t*>scratch + b.columns_at)
    band.shape.batches = stop - row
    band.run(&band, rows, scratch, <char*>y + row * b.n * b.plan.y_size)
