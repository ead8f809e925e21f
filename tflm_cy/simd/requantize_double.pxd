"""From the int32 sums of 8-bit products to bytes by doubles: what follows conv_i8 in the reference's FULLY_CONNECTED.

The definition is arithmetic/fully_connected.pxd's `rescale_whole`. The limits are within those of the type; of the scales whole vectors are read.
"""
from tflm_cy.simd.requantize_fixed cimport RequantizeRow

cdef struct RequantizeDoubleKernels:
    RequantizeRow finish               # of a ConvI8 with one group, with c.params = a DoubleRescale
