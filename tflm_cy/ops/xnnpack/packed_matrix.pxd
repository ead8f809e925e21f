"""Products with a matrix that is packed while invoking, by the vector kernels or the scalar definition.

    set_product(&plan, rows, depth, columns, limits, order)           # prepare
    vector = plan_packed(&plan)
    bytes = packed_matrix_bytes(&plan, vector)                         # of memory for each worker, at `room`
    request_workers(context, &plan)
    columns = pack_matrix(&plan, vector, y, column_stride, k_stride, room)                # invoke
    multiply_matrix(context, &plan, vector, x, rows, columns, z, worker)
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.fixed_point cimport RangeF
from tflm_cy.arithmetic.shapes cimport matrix_shape
from tflm_cy.arithmetic.xnnpack.product cimport matrix_f32, pack_filters, packed_size
from tflm_cy.graph.context cimport Context
from tflm_cy.simd.conv_f32 cimport ConvF32


cdef inline void set_product(ConvF32* c, ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t columns, RangeF limits, int order) noexcept nogil:
    c.shape = matrix_shape(rows, depth, columns)
    c.low, c.high = limits.low, limits.high
    c.order = order


cdef inline ptrdiff_t packed_matrix_bytes(const ConvF32* plan, bint vector) noexcept nogil:
    return plan.packed_bytes if vector else packed_size(plan.shape.oc, plan.shape.ic) * <ptrdiff_t>sizeof(float)


cdef inline float* pack_matrix(
    const ConvF32* plan, bint vector, const float* y, ptrdiff_t column_stride, ptrdiff_t k_stride, float* room,
) noexcept nogil:
    """Strides in floats. Returns where in `room` the packed matrix begins."""
    cdef ConvF32 own
    if not vector:
        pack_filters(y, NULL, plan.shape.oc, plan.shape.ic, column_stride, k_stride, room)
        return room
    own = plan[0]
    own.packed = room
    own.pack(&own, y, NULL, column_stride, k_stride)
    return own.packed


cdef inline void multiply_matrix(
    Context context, const ConvF32* plan, bint vector, const float* x, ptrdiff_t rows, float* columns, float* z, int worker,
) noexcept nogil:
    cdef ConvF32 own
    if not vector:
        matrix_f32(x, rows, plan.shape.ic, columns, plan.shape.oc, plan.low, plan.high, plan.order, z)
        return
    own = plan[0]
    own.packed = columns
    own.shape.batches = rows
    own.run(&own, x, context.worker_scratch(plan.scratch, plan.scratch_bytes, worker), z)
