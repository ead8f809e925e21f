"""From the int32 sums of 8-bit products to bytes by fixed-point multipliers: what follows conv_i8 and depthwise_i8 outside of XNNPACK's arithmetic.

    RequantizeFixed f                                    # fill in the first part; zeros elsewhere
    if table.requantize_fixed.plan(&f):                   # else: the scalar definition
        f.packed = context.unfilled(f.packed_bytes)
        f.pack(&f)
    c.finish = table.requantize_fixed.finish              # of a ConvI8 or DepthwiseI8 before its plan, with c.params = &f

The definition is arithmetic/conv.pxd's `rescale`, both roundings, channel by channel: some may round halves up and others away from zero.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Factor


# Outputs of `rows` positions, n columns of a group from its column `first` on, where a vector begins. Sums and y: of column `first`; sums of whole
# vectors, `sum_row` from one position to the next.
ctypedef void (*RequantizeRow)(
    const void* params, ptrdiff_t group, ptrdiff_t first, ptrdiff_t n, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y,
    ptrdiff_t y_row,
) noexcept nogil

cdef enum:                       # halves of the second rounding, of which a column without a right shift has none
    ROUNDS_UP = 0
    ROUNDS_MIXED = 1
    ROUNDS_AWAY = 2              # from zero, with right shifts in all columns whose multiplier is not 0

cdef struct RequantizeFixed:
    ptrdiff_t groups
    ptrdiff_t columns            # of a group
    const Factor* factors        # one per column of all groups; NULL for the plan: still to come, without left shifts
    int rounding                 # of the columns; the plan finds it if it has the factors
    double most                  # no sum is larger, nor smaller than its negative
    bint is_signed               # y is int8, else uint8
    int32_t zero_point
    int32_t low
    int32_t high
    # the plan
    void (*pack)(RequantizeFixed* f) noexcept nogil
    ptrdiff_t packed_bytes
    # the caller's
    int32_t* packed              # constants per group and vector of columns

cdef struct RequantizeFixedKernels:
    bint (*plan)(RequantizeFixed* f) noexcept nogil
    RequantizeRow finish
