"""From the int32 sums of 8-bit products to bytes by doubles: what follows conv8 in the reference's FULLY_CONNECTED.

The definition is arithmetic/fully_connected.pxd's `rescale_whole`. The limits are within those of the type; of the scales whole vectors are read.
"""
from tflm_cy.simd.fixed8 cimport Finish8

cdef struct Double8Kernels:
    Finish8 finish               # of a Conv8 with one group, with c.how = a DoubleRescale
